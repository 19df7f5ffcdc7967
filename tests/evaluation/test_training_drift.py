"""Whether `evaluate` tells that documents are not like those of training: same source, other words, another mix."""

import json

import numpy as np
import pytest

from unnaive import TextClassifier, evaluate
from unnaive.apps.cli.main import exit_code
from unnaive.evaluation import training_drift
from unnaive.evaluation.evaluation_report import as_dict, as_markdown
from unnaive.evaluation.training_drift import TrainingDrift
from unnaive.io.tickets import load_tickets


@pytest.fixture(scope="module")
def halves():
    corpus = load_tickets()
    rows = np.random.default_rng(5).permutation(len(corpus))
    return corpus.take(rows[:450]), corpus.take(rows[450:900])


def labels(corpus):
    return [names[0] for names in corpus.labels]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["multinomial", "nbsvm"])
def test_the_same_source_and_another(model, halves):
    """Sums, or documents: random halves are alike; other words, and a class three times as frequent, are not."""
    old, new = halves
    made = TextClassifier(model).fit(old.texts, labels(old))
    alike = evaluate(made, new.texts, labels(new)).drift
    assert not alike.differs
    assert alike.sentence() == ""
    other = [text.replace("the ", "ye ").replace(" a ", " an olde ") for text in new.texts]
    changed = evaluate(made, other, labels(new)).drift
    assert changed.differs
    assert "their words differ by more than chance (p " in changed.sentence()
    rows = [row for row, label in enumerate(labels(new)) for _ in range(1) if label == "billing" or row % 4 == 0]
    mixed = evaluate(made, [new.texts[row] for row in rows], [labels(new)[row] for row in rows]).drift
    assert mixed.p_classes < 1e-3
    assert mixed.differs


def test_copies_are_one_observation(halves):
    """Forty copies of one text are no evidence by their number; by the shares of the classes they would be."""
    old, new = halves
    made = TextClassifier("nbsvm").fit(old.texts, labels(old))
    once = evaluate(made, new.texts, labels(new)).drift
    copied = evaluate(made, [*new.texts, *[new.texts[0]] * 40], [*labels(new), *[labels(new)[0]] * 40]).drift
    assert copied.p_classes == pytest.approx(once.p_classes)
    assert not copied.differs


def test_there_is_nothing_to_compare_with_in_a_frozen_model_or_of_few_documents(halves, tmp_path):
    old, new = halves
    made = TextClassifier("multinomial").fit(old.texts, labels(old))
    assert evaluate(made, new.texts[:19], labels(new)[:19]).drift is None
    made.save(tmp_path / "a.model", frozen=True)
    found = evaluate(TextClassifier.load(tmp_path / "a.model"), new.texts, labels(new))
    assert found.drift is None
    assert as_dict(found)["drift"] is None


def test_a_model_file_tells_the_same(halves, tmp_path):
    old, new = halves
    made = TextClassifier("nbsvm").fit(old.texts, labels(old))
    made.save(tmp_path / "a.model")
    loaded = TextClassifier.load(tmp_path / "a.model")
    assert evaluate(loaded, new.texts, labels(new)).drift == evaluate(made, new.texts, labels(new)).drift


def test_both_tests_together_by_hand():
    assert TrainingDrift(0.03, 0.5).p == 0.06
    assert not TrainingDrift(0.03, 0.5).differs
    both = TrainingDrift(0.02, 0.01)
    assert both.p == 0.02
    assert "their words and shares of the classes differ by more than chance (p 0.02)" in both.sentence()


def test_it_is_printed(halves, tmp_path, capsys):
    old, new = halves
    made = TextClassifier("multinomial").fit(old.texts, labels(old))
    made.save(tmp_path / "a.model")
    rows = [
        {"text": text.replace("the ", "ye "), "label": label}
        for text, label in zip(new.texts, labels(new), strict=True)
    ]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert exit_code(["evaluate", str(tmp_path / "a.model"), str(tmp_path / "new.jsonl")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "not a random split of one source: their words differ by more than chance (p " in shown
    assert exit_code(["evaluate", str(tmp_path / "a.model"), str(tmp_path / "new.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["drift"]["differs"] is True
    other = evaluate(made, [row["text"] for row in rows], [row["label"] for row in rows])
    assert "Note: these documents and the training documents are not a random split" in as_markdown(other)


def test_of_many_documents_only_the_sample_is_unpacked(halves, tmp_path, monkeypatch):
    """The verdict is that of the sample, and the model's file is not unpacked for it."""
    old, new = halves
    TextClassifier("nbsvm").fit(old.texts, labels(old)).save(tmp_path / "a.model")
    monkeypatch.setattr(training_drift, "MOST", 200)
    made = TextClassifier.load(tmp_path / "a.model")
    found = evaluate(made, new.texts, labels(new)).drift
    assert not found.differs
    assert "documents" not in vars(made.fitted_.documents)
    other = [text.replace("the ", "ye ").replace(" a ", " an olde ") for text in new.texts]
    assert evaluate(made, other, labels(new)).drift.differs
