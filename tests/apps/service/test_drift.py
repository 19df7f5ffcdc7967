"""The drift of recent requests: by hand, against a law, and through /metrics; no text is kept."""

from __future__ import annotations

import gc
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

from unnaive import TextClassifier
from unnaive.apps.service.drift import FEWEST, WINDOW, RecentScores, measure_drift

from .conftest import tickets


def test_the_ring_keeps_the_last_rows() -> None:
    recent, expected = RecentScores(), np.zeros((0, 2))
    rng = np.random.default_rng(3)
    for size in (1, 0, 700, 1, 1999, 2000, 2001, 5, 4500, 64):
        rows = rng.random((size, 2))
        recent.note(("a", "b"), rows)
        expected = np.concatenate([expected, rows])[-WINDOW:]
        assert sorted(recent.scores().tolist()) == sorted(expected.tolist())
    recent.note(("a", "b", "c"), np.ones((2, 3)))  # another model: what was before is of no use
    assert recent.scores().tolist() == [[1.0] * 3] * 2


def test_shares_by_hand() -> None:
    """Two classes that no text leaves in doubt, learnt half and half; of the new texts three in four are of one."""
    fitted = TextClassifier("multinomial").fit(["ball " * 50, "vote " * 50], ["sport", "politics"]).fitted_
    texts = ["ball " * 50] * 75 + ["vote " * 50] * 25
    drift = measure_drift(fitted, fitted.scores(texts))
    assert drift is not None
    assert drift.learnt.tolist() == [0.5, 0.5]
    assert drift.recent == pytest.approx([0.25, 0.75], abs=1e-9)  # politics, sport
    assert drift.distance == pytest.approx(0.25, abs=1e-9)


def test_where_drift_cannot_be_told() -> None:
    texts = ["ball", "vote"] * FEWEST
    single = TextClassifier("multinomial").fit(texts, ["a", "b"] * FEWEST).fitted_
    several = TextClassifier("multinomial").fit(texts, [["a"], ["b"]] * FEWEST).fitted_
    assert measure_drift(single, single.scores(texts[: FEWEST - 1])) is None
    assert measure_drift(single, single.scores(texts[:FEWEST])) is not None
    assert measure_drift(several, several.scores(texts)) is None


def test_shares_are_mean_probabilities_corrected_by_their_held_out_error() -> None:
    """Held-out documents tell how far off they are; without any the mean stands as it is, far from the true shares."""
    texts, labels = tickets()
    fitted = TextClassifier("multinomial", calibrate=True).fit(texts[:600], labels[:600]).fitted_
    scores = fitted.scores(texts[600:])
    mean = fitted.probabilities(scores).mean(axis=0)
    drift = measure_drift(fitted, scores)
    assert drift is not None
    # mean_p is kept in single precision, whose rounding the normalisation of the shares spreads
    assert drift.recent == pytest.approx(drift.learnt + mean - fitted.conformal.mean_p, abs=1e-7)
    bare = measure_drift(replace(fitted, conformal=None), scores)
    assert bare is not None
    assert bare.recent == pytest.approx(mean)
    truth = np.array([labels[600:].count(label) for label in fitted.classes]) / len(labels[600:])
    off, off_without = (np.abs(one.recent - truth).sum() / 2 for one in (drift, bare))
    assert off < off_without / 2


def metric(client: TestClient, name: str) -> float | None:
    found = re.search(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return None if found is None else float(found.group(1))


def test_metrics_show_a_change_of_class_shares(client: TestClient, model_file: Path) -> None:
    texts, labels = tickets()
    texts, labels = texts[600:], labels[600:]
    assert metric(client, 'unnaive_drift{model="tickets"}') is None  # nothing was asked yet
    client.post("/v1/classify", json={"texts": texts})
    usual = metric(client, 'unnaive_drift{model="tickets"}')
    assert metric(client, 'unnaive_drift_texts{model="tickets"}') == len(texts)
    billing = [text for text, label in zip(texts, labels, strict=True) if label == "billing"]
    for _ in range(WINDOW // len(billing) + 1):
        client.post("/v1/classify", json={"texts": billing})
    moved = metric(client, 'unnaive_drift{model="tickets"}')
    assert usual is not None
    assert moved is not None
    # the model gives most of them their label, so nearly all that is not billing would have to change
    learnt = metric(client, 'unnaive_class_share{label="billing",model="tickets",of="learnt"}')
    assert learnt == pytest.approx(131 / 600)
    assert usual < 0.2 < 0.6 < moved <= 1 - learnt + 1e-9
    assert metric(client, 'unnaive_class_share{label="billing",model="tickets",of="recent"}') > 0.9  # type: ignore[operator]


def test_gauges_of_classes_that_are_gone_are_removed(client: TestClient, model_file: Path) -> None:
    """Another model file with other classes, of which there are too few texts, and then enough."""
    client.post("/v1/classify", json={"texts": tickets()[0][600:]})
    shown = client.get("/metrics").text
    assert 'unnaive_class_share{label="billing"' in shown
    TextClassifier("multinomial").fit(["good ball", "fair vote"] * 3, ["sport", "politics"] * 3).save(model_file)
    while client.get("/v1/models").json()["models"][0]["classes"] != 2:
        time.sleep(0.01)
    client.post("/v1/classify", json={"text": "ball"})
    shown = client.get("/metrics").text
    assert "unnaive_class_share{" not in shown
    assert "unnaive_drift{" not in shown
    assert "unnaive_drift_texts{" not in shown
    client.post("/v1/classify", json={"texts": ["ball"] * FEWEST})
    shown = client.get("/metrics").text
    assert set(re.findall(r'unnaive_class_share\{label="(.*?)"', shown)) == {"sport", "politics"}
    assert metric(client, 'unnaive_drift_texts{model="tickets"}') == FEWEST + 1


def test_no_text_is_kept(client: TestClient) -> None:
    word = "quixotry" + "zephyr"
    client.post("/v1/classify", json={"texts": [f"{word} invoice {number}" for number in range(FEWEST)]})
    client.get("/metrics")
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, (list, tuple)) and len(one) == FEWEST]
    assert not any(isinstance(text, str) and text.startswith(word) for one in kept for text in one)
    assert word not in client.get("/metrics").text
