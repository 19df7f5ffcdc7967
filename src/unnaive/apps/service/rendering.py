"""Scores → the JSON of many answers at once, without a Python object for each class of each text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from unnaive.apps.service.answers import Answers, TopAnswers
from unnaive.apps.service.version import Version
from unnaive.base.types import Floats


def render_rows(
    version: Version, scores: Floats, limit: int | None, separator: bytes, more: dict[str, Any] | None = None
) -> Rendered:
    """What the model says of each text: its label, and at most `limit` classes with their values, as JSON.

    `more` stands in each answer, such as the version of the model in those of a stream.

    The pieces that do not depend on the text (`{"label":"spam","probability":`) are made once for a version, numbers
    are written by one call for all texts, and an answer is the two joined. Multilabel models, whose rows differ in
    form, take the plain way, `plain_rows`, which says the same.
    """
    answers = Answers.of(version.fitted, scores)
    if answers.fitted.multilabel or not answers.fitted.decision.exclusive:
        return render_plain(answers, limit, separator, more)
    order, values = answers.best(limit)
    n_texts, shown = order.shape
    width = 2 * shown + 2
    parts: list[bytes] = [b""] * (n_texts * width)
    if not n_texts:
        return Rendered(parts, width, separator)
    pieces = version.json_pieces
    numbers = orjson.dumps(values.ravel(), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    chosen = answers.fitted.decide(scores).indices
    parts[0::width] = map(pieces.heads.__getitem__, chosen.tolist())
    for place in range(shown):
        names = pieces.following if place else pieces.first
        parts[2 * place + 1 :: width] = map(names.__getitem__, order[:, place].tolist())
        parts[2 * place + 2 :: width] = numbers[place::shown]
    end = b"}]}" if not more else b"}]," + orjson.dumps(more)[1:]
    parts[width - 1 :: width] = [end + separator] * n_texts
    return Rendered(parts, width, separator)


@dataclass(frozen=True)
class Rendered:
    """Answers as JSON in parts, `width` of them for each text; the last one ends with the separator."""

    parts: list[bytes]
    width: int
    separator: bytes

    def joined(self, start: int, stop: int) -> bytes:
        """The answers of the texts from `start` to `stop`, with separators between them."""
        return b"".join(self.parts[start * self.width : stop * self.width]).removesuffix(self.separator)


def render_plain(
    answers: Answers | TopAnswers, limit: int | None, separator: bytes, more: dict[str, Any] | None = None
) -> Rendered:
    """The same of rows that differ in form, or of texts whose best classes alone were scored."""
    rows = plain_rows(answers, limit)
    return Rendered([orjson.dumps(row | (more or {})) + separator for row in rows], 1, separator)


def plain_rows(answers: Answers | TopAnswers, limit: int | None, above: float | None = None) -> list[dict[str, object]]:
    """The same as values; only classes with a value of at least `above`."""
    name = answers.value_name
    return [
        {"label": labels[0] if labels else None, "labels": labels,
         "classes": [{"label": label, name: value} for label, value in ranked]}
        for labels, ranked in zip(answers.labels(), answers.ranked(limit, above), strict=True)
    ]  # fmt: skip
