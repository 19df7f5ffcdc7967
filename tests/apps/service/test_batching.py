"""Requests that are scored and written together say what each would say alone."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.apps.service.answers import Answers
from unnaive.apps.service.batching import MOST, Batcher, Scored
from unnaive.apps.service.rendering import plain_rows, render_rows
from unnaive.apps.service.served import ServedModel
from unnaive.apps.service.version import Version
from unnaive.learning.decisions import Proportional

from .conftest import tickets

TEXTS = ["my invoice was charged twice", "the page crashes", "", "invoice crash password"]
LABELS: dict[str, list[Any]] = {
    "words": ["billing", "bug", "bug", "account"],
    "escapes": ['with "quotes"', "a,b\n", "a,b\n", "é, \u2028 </script>"],
    "numbers": [3, 1, 1, 2],
    "sets": [["billing"], ["bug", "app"], [], ["account"]],
}


@pytest.mark.parametrize("model", ["multinomial", "rocchio"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("limit", [1, 2, 5, None])
def test_written_at_once_is_written_one_by_one(model: str, labels: list[Any], limit: int | None) -> None:
    fitted = TextClassifier(model).fit(TEXTS, labels).fitted_
    version, scores = Version(fitted, 0), fitted.scores(TEXTS)
    expected = json.loads(json.dumps(plain_rows(Answers.of(fitted, scores), limit)))
    assert json.loads(b"[" + render_rows(version, scores, limit, b",").joined(0, len(TEXTS)) + b"]") == expected
    lines = render_rows(version, scores, limit, b"\n").joined(1, 3).split(b"\n")
    assert [json.loads(line) for line in lines] == expected[1:3]
    assert render_rows(version, scores[:0], limit, b",").joined(0, 0) == b""


def test_requests_at_the_same_time_get_their_own_answers(model_file: Path) -> None:
    """Of one text to more than fit into one call, with other numbers of classes each."""
    model = ServedModel("tickets", model_file, teachable=False)
    texts = tickets()[0]
    sizes = [1, 1, 64, 0, 2, MOST // 2, MOST // 2 + 1, 100, 100, 500, 1]
    asked = [(texts[at : at + size], (1, 3, None)[at % 3]) for at, size in enumerate(sizes)]

    async def ask() -> list[Scored]:
        with ThreadPoolExecutor(1) as executor:
            batcher = Batcher(model, executor)
            return await asyncio.gather(*(batcher.score(*one) for one in asked))

    fitted = model.version.fitted
    for (given, limit), scored in zip(asked, asyncio.run(ask()), strict=True):
        alone = fitted.scores(given)
        assert np.array_equal(scored.scores, alone)
        expected = json.loads(json.dumps(plain_rows(Answers.of(fitted, alone), limit)))
        assert json.loads(b"[" + scored.json() + b"]") == expected


def test_a_decision_about_all_documents_is_made_for_each_request(model_file: Path) -> None:
    """Proportional gives a class to its share of the documents: those of one client, not those of two."""
    fitted = TextClassifier("multinomial").fit(TEXTS, LABELS["sets"]).fitted_
    version = Version(replace(fitted, decision=Proportional((1 / 3,) * len(fitted.classes))), 0)
    assert version.fitted.decision.per_batch
    parts = [version.fitted.scores(TEXTS[:3]), version.fitted.scores(TEXTS[1:])]
    together: list[Scored] = []
    together += [Scored(version, scores, 2, together) for scores in parts]
    for one, scores in zip(together, parts, strict=True):
        assert one.json() == Scored(version, scores, 2).json()
