"""Serialise scores of many texts as JSON, without a Python object for each class of each text."""

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
    """The result for each text as JSON: its label with the value, and at most `limit` classes with theirs.

    `more` is added to each result, such as the model version in a stream.

    The parts that do not depend on the text (`{"label":"spam","probability":`) are built once per version, numbers are
    formatted in one call for all texts, and a result is the two joined. Multilabel models, whose rows differ in
    structure, use `plain_rows`, which gives the same JSON.
    """
    answers = Answers.of(version.fitted, scores)
    if answers.fitted.multilabel or not answers.fitted.decision.exclusive:
        return render_plain(answers, limit, separator, more)
    order, values = answers.best(limit)
    n_texts, shown = order.shape
    width = 2 * shown + 3
    parts: list[bytes] = [b""] * (n_texts * width)
    if not n_texts:
        return Rendered(parts, width, separator)
    pieces = version.json_pieces
    numbers = orjson.dumps(values.ravel(), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    chosen = answers.fitted.decide(scores).indices
    parts[0::width] = map(pieces.heads.__getitem__, chosen.tolist())
    parts[1::width] = numbers[::shown]  # the first class is the label
    for rank in range(shown):
        names = pieces.following if rank else pieces.first
        parts[2 * rank + 2 :: width] = map(names.__getitem__, order[:, rank].tolist())
        parts[2 * rank + 3 :: width] = numbers[rank::shown]
    end = b"}]}" if not more else b"}]," + orjson.dumps(more)[1:]
    parts[width - 1 :: width] = [end + separator] * n_texts
    return Rendered(parts, width, separator)


@dataclass(frozen=True)
class Rendered:
    """JSON results in parts, `width` for each text; the last part ends with the separator."""

    parts: list[bytes]
    width: int
    separator: bytes

    def joined(self, start: int, stop: int) -> bytes:
        """The results of the texts from `start` to `stop`, with separators between them."""
        return b"".join(self.parts[start * self.width : stop * self.width]).removesuffix(self.separator)


def render_plain(
    answers: Answers | TopAnswers, limit: int | None, separator: bytes, more: dict[str, Any] | None = None
) -> Rendered:
    """The same for rows that differ in structure, or for texts with only their best classes scored."""
    rows = plain_rows(answers, limit)
    return Rendered([orjson.dumps(row | (more or {})) + separator for row in rows], 1, separator)


def plain_rows(answers: Answers | TopAnswers, limit: int | None) -> list[dict[str, object]]:
    """The same as values."""
    name = answers.fitted.value_name
    return [
        {"label": labels[0] if labels else None, "labels": labels, name: ranked[0][1] if labels else None,
         "classes": [{"label": label, name: value} for label, value in ranked]}
        for labels, ranked in zip(answers.labels(), answers.ranked(limit), strict=True)
    ]  # fmt: skip
