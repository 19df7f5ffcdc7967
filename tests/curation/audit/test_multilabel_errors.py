"""Label errors of multilabel data: labels that are missing and labels too much, found, proposed and cleaned."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from unnaive.apps.cli.main import exit_code
from unnaive.curation.audit.audit_input import AuditData
from unnaive.curation.audit.multilabel_errors import (
    MultilabelEvidence,
    estimate_label_errors,
    label_table,
    multilabel_evidence,
    multilabel_findings,
)
from unnaive.data.corpus import Corpus

WORDS = {
    "oil": "barrel crude opec drill well",
    "gas": "pipe methane lng meter valve",
    "corn": "bushel field crop acre seed",
}


def planted(n_docs=240, missing=6, too_many=6, seed=0):
    """(texts, labels as given, labels as they should be): words of each label; the first few are changed."""
    draw = np.random.default_rng(seed)
    names = list(WORDS)
    texts, right = [], []
    for _ in range(n_docs):
        labels = tuple(sorted(draw.choice(names, size=draw.integers(1, 3), replace=False)))
        texts.append(" ".join(word for label in labels for word in draw.choice(WORDS[label].split(), 3)))
        right.append(labels)
    given = list(right)
    two = [row for row, labels in enumerate(right) if len(labels) == 2][:missing]
    one = [row for row, labels in enumerate(right) if len(labels) == 1][:too_many]
    for row in two:
        given[row] = right[row][:1]
    for row in one:
        given[row] = (*right[row], next(name for name in names if name not in right[row]))
    return texts, given, right


def evidence_of(texts, labels):
    from unnaive.text.counting import TextCounter

    data = AuditData.of(Corpus(texts, labels))
    rows = np.arange(len(data))
    return data, rows, multilabel_evidence(TextCounter().count(texts, grow=True), label_table(data, rows))


def test_planted_errors_come_first_and_the_right_labels_are_proposed():
    texts, given, right = planted()
    data, rows, evidence = evidence_of(texts, given)
    wrong = {row for row in range(len(texts)) if given[row] != right[row]}
    assert set(evidence.ranking()[:12].tolist()) == wrong
    found = list(multilabel_findings(data, rows, evidence, 12))
    for one in found:
        assert sorted(one.proposed.split(";")) == sorted(right[one.row - 1])
        assert one.label == ";".join(given[one.row - 1])
    estimate = estimate_label_errors(evidence)
    assert estimate.low <= 12 <= estimate.high


def test_doubt_by_hand():
    """Has the first label with p .2 (doubt .8) and lacks the second with p .4; the other document is certain of all."""
    found = MultilabelEvidence(
        np.array([[True, False], [True, False]]), np.array([[0.2, 0.4], [0.9, 0.1]]), np.ones((2, 2), bool)
    )
    np.testing.assert_allclose(found.answers, [[0.2, 0.6], [0.9, 0.9]])
    np.testing.assert_allclose(found.doubt, [0.8, 0.1])
    assert found.ranking().tolist() == [0]


def test_a_label_that_is_the_only_one_is_not_proposed_away():
    """With nothing in its place there is nothing to relabel with: the finding is only to be looked at."""
    data = AuditData.of(Corpus(["barrel"], [("oil",)]))
    found = MultilabelEvidence(np.array([[True]]), np.array([[0.1]]), np.ones((1, 1), bool))
    (one,) = multilabel_findings(data, np.array([0]), found, 5)
    assert (one.action, one.proposed) == ("look", "")


def test_nothing_is_said_of_empty_texts_and_classes_of_one_document():
    texts, given, _ = planted()
    _, _, evidence = evidence_of([*texts, "", "barrel crude opec"], [*given, ("oil",), ("oil", "rare")])
    assert not evidence.judged[len(texts)].any()
    assert evidence.judged[-1].tolist() == [True, True, True, False]


@pytest.mark.parametrize("form", ["separator", "lists", "jsonl"])
def test_audit_and_clean_mend_multilabel_data(tmp_path, monkeypatch, form):
    """From the command line, whatever way the labels are written in: all that was planted is put right."""
    monkeypatch.chdir(tmp_path)
    texts, given, right = planted()
    name, options = (
        ("data.jsonl" if form == "jsonl" else "data.csv"),
        ("--label-separator", ";") if form == "separator" else (),
    )
    with Path(name).open("w", newline="") as file:
        if form == "jsonl":
            file.writelines(
                json.dumps({"text": text, "label": list(labels)}) + "\n"
                for text, labels in zip(texts, given, strict=True)
            )
        else:
            spell = ";".join if form == "separator" else lambda labels: json.dumps(list(labels))
            table = csv.writer(file)
            table.writerows([("text", "label"), *((t, spell(labels)) for t, labels in zip(texts, given, strict=True))])
    assert exit_code(["audit", name, *options, "--report", "findings.csv"]) == 0
    accept = ("--accept", "label-error", "--min-score", "0.9")
    with Path("findings.csv").open() as file:
        wanted = {
            int(one["row"])
            for one in csv.DictReader(file)
            if one["kind"] == "label-error" and float(one["score"]) >= 0.9
        }
    out = "fixed" + name[4:]
    assert exit_code(["clean", name, "findings.csv", *options, *accept, "-o", out]) == 0
    from unnaive.io.datafiles import DataFile

    fixed = DataFile((out,), separator=";" if form == "separator" else None).corpus()
    kept = [row for row in range(len(texts)) if texts[row] not in texts[:row]]  # the second copy of a text is dropped
    for row in wanted & {one + 1 for one in kept}:
        place = [texts[one] for one in kept].index(texts[row - 1])
        assert sorted(fixed.labels[place]) == sorted(right[row - 1])
    assert len(wanted) >= 8  # of the twelve
