"""Probabilities as labels: `train --soft-labels` and `unnaive.soft_labels` learn the expected labels."""

import json

import numpy as np
import pytest

from unnaive import BadData, TextClassifier, soft_labels
from unnaive.apps.cli.main import exit_code
from unnaive.classifier.model_file import load_model
from unnaive.io.fields.columns import Columns

pytestmark = pytest.mark.slow

TEXTS = ["fine prose here", "prose with style", "buy now", "buy cheap prose", "cheap now cheap", "style and prose"]
GOOD = [0.9, 1.0, 0.0, 0.25, 0.1, 0.8]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "judged.jsonl"
    rows = [
        {"text": text, "p_good": p, "p_bad": round(1 - p, 2), "id": n}
        for n, (text, p) in enumerate(zip(TEXTS, GOOD, strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def train(path, *words):
    output = path.with_suffix(".model")
    return exit_code(["train", str(path), "--text", "text", "-o", str(output), *words]), output


def test_sums_are_those_of_the_expected_labels():
    """N_ct = Σ_d p(c|d) x_dt: "prose" is .9 + 1 + .25 + .8 times in good texts, and .1 + .75 + .2 in others."""
    model = TextClassifier("multinomial").fit(*soft_labels(TEXTS, {"good": GOOD}))
    counts = model.fitted_.counts
    column = counts.vocabulary.terms.index("prose")
    assert counts.classes == ("good", "not good")
    np.testing.assert_allclose(counts.counts.class_terms.toarray()[:, column], [2.95, 1.05])
    np.testing.assert_allclose(counts.counts.class_docs, [sum(GOOD), 6 - sum(GOOD)])
    assert counts.counts.n_docs == pytest.approx(6)


@pytest.mark.parametrize("model", ["multinomial", "nbsvm", "sharded-nbsvm", "maxent"])
def test_the_command_learns_what_python_learns(model, table):
    code, output = train(table, "-m", model, "--soft-labels", "p_*")
    assert code == 0
    found = load_model(output)
    local = TextClassifier(model).fit(*soft_labels(TEXTS, {"good": GOOD, "bad": [round(1 - p, 2) for p in GOOD]}))
    assert found.classes == ("bad", "good")
    np.testing.assert_array_equal(found.scores(TEXTS), local.fitted_.scores(TEXTS))
    assert Columns.of_section(found.source).label is None  # the next file has labels, or none


@pytest.mark.parametrize("model", ["multinomial", "nbsvm", "sharded-nbsvm", "maxent"])
def test_documents_on_disk_give_the_model_of_training_in_memory(model, table, monkeypatch):
    """With blocks of two rows, and with so little room for terms that rare ones are left out, in either order."""
    words = ["-m", model, "--soft-labels", "p_good", "--set", "min-df=2"]
    texts, rows = [*TEXTS, "of no class"], table.read_text() + '{"text": "of no class", "p_good": 1e-300}\n'
    table.write_text(rows)
    code, output = train(table, *words)
    assert code == 0
    expected = load_model(output)
    monkeypatch.setattr("unnaive.scaleout.read_ahead.BLOCK", 60)
    for lines in (rows.splitlines(), rows.splitlines()[::-1]):
        table.write_text("\n".join(lines) + "\n")
        assert train(table, *words, "--memory", "256M") == (0, output)
        found = load_model(output)
        assert found.classes == expected.classes == ("good", "not good")
        assert found.vocabulary == expected.vocabulary
        np.testing.assert_allclose(found.scores(texts), expected.scores(texts), rtol=1e-12)
        assert np.array_equal(found.text_hashes.values, expected.text_hashes.values)
    for module in ("scaleout.matrix", "data.accumulator"):  # room for four terms, of which five are in two texts
        monkeypatch.setattr(f"unnaive.{module}.table_budget", lambda memory: 4 * 100)
    assert train(table, *words, "--memory", "256M") == (0, output)
    assert list(load_model(output).vocabulary.terms) == ["prose"]


def test_certain_probabilities_are_labels(tmp_path):
    certain = [round(p) for p in GOOD]
    labels = ["good" if p else "not good" for p in certain]
    soft = TextClassifier("nbsvm").fit(*soft_labels(TEXTS, {"good": certain}))
    np.testing.assert_array_equal(soft.scores(TEXTS), TextClassifier("nbsvm").fit(TEXTS, labels).scores(TEXTS))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-m", "nbsvm", "--soft-labels", "q_*"], "matches q_*; it has text, p_good, p_bad, id"),
        (["-m", "nbsvm", "--soft-labels", "id"], "the probability of 'id' in row 3 is 2; give a number from 0 to 1"),
        (
            ["-m", "knn", "--soft-labels", "p_good", "--holdout", "0.2"],
            "--soft-labels cannot be combined with --holdout",
        ),
        (
            ["-m", "nbsvm", "--soft-labels", "p_good", "--set", "cache=kept"],
            "--soft-labels cannot be combined with --set cache",
        ),
        (["-m", "nbsvm", "--soft-labels", "*"], "the probability of 'text' in row 1 is 'fine prose here"),
        (["-m", "nbsvm", "--soft-labels", "id", "--memory", "1G"], "the probability of 'id' in row 3 is 2; give a"),
    ],
)
def test_mistakes_are_one_sentence(words, sentence, table, capsys):
    code, output = train(table, *words)
    said = " ".join(capsys.readouterr().err.split())
    assert code == 2
    assert sentence in said
    assert not output.exists()


def test_as_many_probabilities_as_texts():
    with pytest.raises(BadData, match="6 texts came with 2 probabilities of 'good'"):
        soft_labels(TEXTS, {"good": [0.5, 0.5]})


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(BadData, match=f"in row 1 is '{'x' * 56}...; give a number from 0 to 1"):
        soft_labels(["fine"], {"good": ["x" * 1000]})


@pytest.mark.parametrize("memory", [(), ("--memory", "256M")])
def test_probabilities_that_do_not_sum_to_one_are_told(table, capsys, memory):
    rows = [(0.9, 0.3), (0.5, 0.5), (0.33, 0.66), (0, 0), (0.25, 0.75)]
    lines = [{"text": TEXTS[n], "p_good": good, "p_bad": bad} for n, (good, bad) in enumerate(rows)]
    table.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, output = train(table, "-m", "multinomial", "--soft-labels", "p_*", *memory)
    assert code == 0
    told = (
        "the probabilities of 2 of 5 texts do not sum to 1; such a text is learnt with the sum as its weight; 1 text of"
    )
    assert told in capsys.readouterr().err
    assert load_model(output).counts.counts.n_docs == pytest.approx(0.9 + 0.3 + 1 + 0.99 + 1)


def test_a_label_column_beside_soft_labels_is_only_for_the_test(table, capsys):
    words = ["-m", "multinomial", "--soft-labels", "p_good", "--label", "judged"]
    assert train(table, *words)[0] == 2
    assert "--soft-labels cannot be combined with --label" in capsys.readouterr().err
    held = table.with_name("held.jsonl")
    held.write_text('{"text": "fine style", "judged": "good"}\n{"text": "cheap now", "judged": "not good"}\n')
    assert train(table, *words, "--test", str(held))[0] == 0
    assert "95 % interval 34.2 to 100.0 %, macro F1 1.000 on 2 documents of the test file" in capsys.readouterr().out


def judged_texts(n=300):
    """(texts, probabilities): the share of fine words in a text of ten is the probability that it is good."""
    rng = np.random.default_rng(5)
    texts, good = [], []
    for n_fine in rng.integers(11, size=n).tolist():
        words = [f"fine{word}" for word in rng.integers(30, size=n_fine)]
        words += [f"poor{word}" for word in rng.integers(30, size=10 - n_fine)]
        texts.append(" ".join(words))
        good.append(n_fine / 10)
    return texts, np.array(good)


@pytest.mark.parametrize("calibrate", ["temperature", "platt", "isotonic"])
@pytest.mark.parametrize("model", ["nbsvm", "multinomial"])
def test_calibrated_probabilities_are_those_of_the_teacher(model, calibrate):
    """Measured: off by .02 to .05 on new texts; probabilities of .5 everywhere would be off by .27."""
    texts, good = judged_texts()
    documents, labels, weight = soft_labels(texts[:200], {"good": good[:200]})
    found = TextClassifier(model, calibrate=calibrate).fit(documents, labels, sample_weight=weight)
    assert np.abs(found.predict_proba(texts[200:])[:, 0] - good[200:]).mean() < 0.08
    assert found.fitted_.conformal.n_documents == 200  # each text once, by the weights of its labels
    backwards = TextClassifier(model, calibrate=calibrate).fit(
        documents[::-1], labels[::-1], sample_weight=weight[::-1]
    )
    assert backwards.fitted_.calibration == found.fitted_.calibration


def test_a_calibrated_model_filters_by_the_probability_of_the_teacher(tmp_path):
    texts, good = judged_texts()
    rows = [json.dumps({"text": text, "p_good": p}) + "\n" for text, p in zip(texts, good.tolist(), strict=True)]
    (tmp_path / "judged.jsonl").write_text("".join(rows[:200]))
    (tmp_path / "new.jsonl").write_text("".join(rows[200:]))
    words = ["-m", "sharded-nbsvm", "--soft-labels", "p_good", "--calibrate", "platt"]
    code, output = train(tmp_path / "judged.jsonl", *words)
    assert code == 0
    expected = load_model(output)
    assert train(tmp_path / "judged.jsonl", *words, "--memory", "256M") == (0, output)
    found = load_model(output)
    assert found.calibration == expected.calibration
    np.testing.assert_array_equal(found.predict_proba(texts), expected.predict_proba(texts))
    kept = tmp_path / "kept.jsonl"
    new = ["filter", str(output), str(tmp_path / "new.jsonl"), "-o", str(kept), "--class", "good", "--above", "0.7"]
    assert exit_code(new) == 0
    judged = [json.loads(line)["p_good"] for line in kept.read_text().splitlines()]
    assert min(judged) >= 0.5
    assert len(judged) >= np.count_nonzero(good[200:] >= 0.8)
