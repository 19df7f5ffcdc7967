"""The verbs on data: people label texts, labels are exported and read again, findings of an audit are applied."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from statemachine import data
from statemachine.data import CLASSES, MISSPELT, Document, Model, refusal
from statemachine.draws import Draws
from statemachine.verbs import Verbs
from unnaive import UnnaiveError
from unnaive.apps.cli.main import exit_code
from unnaive.apps.labelling.command import start_from
from unnaive.curation.labelling.importing import import_labels
from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.curation.labelling.labelling_session import Labelling
from unnaive.curation.labelling.moving import LABEL_STUDIO, PRODIGY, SEPARATOR, export_labels
from unnaive.io.datafiles import DataFile

PEOPLE = ("ann", "bob")
ANSWERS = ("label", "label", "label", "label", "skip", "flag", "reject", "class", "undo")
TEXTS = ("ball goal", "ball vote law", "soup vote", "law law goal")  # that are always among those to label
DECISIONS = range(2, 9)  # how many are taken of a record
FORMS = {"csv": "csv", "tsv": "tsv", "jsonl": "jsonl", "parquet": "parquet", PRODIGY: "jsonl", LABEL_STUDIO: "json"}


class DataVerbs(Verbs):
    """All verbs on models, and those on the data that models are made of."""

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.records: list[Path] = []

    def label(self, draws: Draws, model: Model) -> Model | None:
        """Label texts, by two people who may take back what they said, and train on the record."""
        texts = list(dict.fromkeys([*TEXTS, *(text for text, _ in draws.documents(multilabel=model.multilabel))]))
        path = self.new_path("db")
        record = LabelRecord.create(path, texts, classes=CLASSES[:2], multilabel=model.multilabel)
        try:
            labelling = Labelling(record, threads=1)
            if model.entrance == "texts" and model.fitted.probabilistic and draws.choose((False, True)):
                start = self.new_path("model")
                model.open().save(start)
                start_from(labelling, start)
            for _ in range(draws.choose(DECISIONS)):
                decide(draws, labelling)
                check_labelling(labelling)
        finally:
            record.close()
        self.records.append(path)
        separator = "list" if model.multilabel else None
        return self._train_on(draws, DataFile(str(path), separator=separator), labelled_rows(path))

    def export(self, draws: Draws) -> Model | None:
        """Export the labels of a record in some format, read them again, and train on them."""
        if not self.records:
            return None
        path, form = draws.choose(self.records), draws.choose(tuple(FORMS))
        rows, out = labelled_rows(path), self.new_path(FORMS[form])
        record = LabelRecord(path)
        try:
            if not rows:
                self._check_nothing_to_export(record, out, form)
                return None
            everything = form in (PRODIGY, LABEL_STUDIO)  # the answers of everybody, skips among them
            written = export_labels(record, out, form)
            assert written >= len(rows) if everything else written == len(rows)
            if not everything:
                several = SEPARATOR if form in ("csv", "tsv") else "list"
                about = {"text": ("text",), "label": "label", "separator": several if record.multilabel else None}
                return self._train_on(draws, DataFile(str(out), **about), rows)
            other = LabelRecord.create(self.new_path("db"), record.texts(), multilabel=record.multilabel)
            try:
                imported, unknown = import_labels(other, out)
                assert unknown == 0
                assert imported >= len(rows)
                assert other.final() == record.final(), f"{form} did not bring back what was exported"
            finally:
                other.close()
        finally:
            record.close()
        return None

    def _check_nothing_to_export(self, record: LabelRecord, out: Path, form: str) -> None:
        try:
            export_labels(record, out, form)
        except UnnaiveError as error:
            refusal(error)
            self.refused += 1
        assert not out.exists(), "a record without labels was exported"

    def _train_on(self, draws: Draws, source: DataFile, rows: list[Document]) -> Model | None:
        """A model of what a file says, which must be `rows`."""
        if not rows:
            return None
        corpus = source.corpus()
        assert list(zip(corpus.texts, corpus.labels, strict=True)) == rows, f"{source.name} does not say {rows}"
        name, multilabel = draws.choose(self.names), bool(source.multilabel)
        return self.attempt(lambda: data.train(name, "texts", {}, rows, multilabel=multilabel), rows)

    def clean(self, draws: Draws) -> Model | None:
        """Audit a file with copies, empty texts and misspelt labels, accept some findings, train on what is left."""
        multilabel = draws.choose((False, True))
        rows = draws.documents(multilabel=multilabel)
        rows = [*rows, *draws.some(rows), ("", rows[0][1]), (rows[0][0], tuple(map(misspell, rows[0][1])))]
        ending = "jsonl" if multilabel else draws.choose(("csv", "jsonl"))
        file, findings, out = self.new_path(ending), self.new_path("csv"), self.new_path(ending)
        write_documents(file, rows, multilabel=multilabel)
        before = file.read_bytes()
        columns = ("--text", "text", "--label", "label")
        if run_command("audit", file, *columns, "--fast", "--report", findings) is not None:
            self.refused += 1
            return None
        accepted = accept_findings(draws, findings)
        problem = run_command("clean", file, findings, *columns, "-o", out)
        assert file.read_bytes() == before, "clean changed its input"
        if problem is not None:
            assert not out.exists(), f"a file was written though: {problem}"
            self.refused += 1
            return None
        expected = apply_findings(rows, accepted)
        assert read_documents(out, multilabel=multilabel) == expected, f"{accepted} made something else of {rows}"
        name = draws.choose(self.names)
        return self.attempt(lambda: data.train(name, "texts", {}, expected, multilabel=multilabel), expected)


def decide(draws: Draws, labelling: Labelling) -> None:
    """One person decides something, mostly of the text that is shown."""
    who, kind = draws.choose(PEOPLE), draws.choose(ANSWERS)
    if kind == "undo":
        labelling.undo(who)
        return
    if kind == "class":
        add_class(labelling, who)
        return
    shown = labelling.show(who)
    if shown is None:
        assert labelling.why_done(who)
        return
    check_shown(labelling, shown)
    classes = labelling.pool.classes
    labels: list[str] = []
    if kind in ("label", "reject"):
        several = kind == "label" and labelling.pool.multilabel
        labels = draws.some(classes) if several else [draws.choose(classes)]
    labelling.answer(who, shown.text, kind, labels, shown.seen)


def add_class(labelling: Labelling, who: str) -> None:
    """The third class; a second time it is refused."""
    known = CLASSES[2] in labelling.pool.classes
    try:
        labelling.add_class(who, CLASSES[2])
    except UnnaiveError as error:
        refusal(error)
        assert known
    else:
        assert not known


def check_shown(labelling: Labelling, shown: Any) -> None:
    """Probabilities are some, the suggestion is a class, and its explanation is of that class."""
    values = np.array(list(shown.probabilities.values()))
    assert np.isfinite(values).all()
    assert ((values >= 0) & (values <= 1)).all()
    if len(values) and not labelling.pool.multilabel:
        np.testing.assert_allclose(values.sum(), 1.0, rtol=1e-6)
    assert shown.suggested is None or shown.suggested in labelling.pool.classes
    explanation = labelling.explain(shown)
    assert explanation is None or explanation.label == shown.suggested


def check_labelling(labelling: Labelling) -> None:
    """The record says what its decisions say, the pool follows it, and so does whoever opens it."""
    expected = count_votes(labelling.record)
    assert labelling.record.final() == expected
    assert dict(labelling.pool.labels) == expected
    other = LabelRecord(labelling.record.path)
    try:
        assert other.final() == expected
        assert set(other.classes()) <= set(labelling.pool.classes)
    finally:
        other.close()


def count_votes(record: LabelRecord) -> dict[int, tuple[str, ...]]:
    """The label of each text that most people gave last, of equals the latest: counted here once more."""
    decisions = record.decisions()
    undone = {one.undoes for one in decisions if one.kind == "undo"}
    last = {
        (one.text, one.who): one
        for one in decisions
        if one.kind in ("label", "skip", "flag") and one.id not in undone and one.text is not None
    }
    votes: dict[int, dict[tuple[str, ...], list[int]]] = {}
    for (text, _), one in last.items():
        if one.kind == "label":
            votes.setdefault(text, {}).setdefault(one.labels, []).append(one.id)
    return {text: max(found, key=lambda labels: (len(found[labels]), max(found[labels]))) for text, found in
            sorted(votes.items())}  # fmt: skip


def labelled_rows(path: Path) -> list[Document]:
    """The texts of a record that have labels, with these, in their order."""
    record = LabelRecord(path)
    try:
        texts = record.texts()
        return [(texts[text], labels) for text, labels in record.final().items()]
    finally:
        record.close()


def misspell(label: str) -> str:
    """A label as somebody may have typed it."""
    return MISSPELT.get(label, label)


def write_documents(path: Path, rows: Iterable[Document], *, multilabel: bool) -> None:
    """A table of texts and labels."""
    table = [{"text": text, "label": list(labels) if multilabel else labels[0]} for text, labels in rows]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table), encoding="utf-8")
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["text", "label"])
        writer.writeheader()
        writer.writerows(table)


def read_documents(path: Path, *, multilabel: bool) -> list[Document]:
    """What `write_documents` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file] if path.suffix == ".jsonl" else list(csv.DictReader(file))
    return [(row["text"], tuple(row["label"]) if multilabel else (row["label"],)) for row in rows]


def run_command(*words: object) -> str | None:
    """Run a command; None if it succeeded, else its one sentence."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = exit_code([str(word) for word in words])
    if code == 0:
        return None
    said = err.getvalue().splitlines()[-1]
    assert code == 2, f"exit code {code}: {err.getvalue()}"
    assert re.fullmatch(r"unnaive: .*[^.\s]", said), said
    assert "Traceback" not in err.getvalue()
    return said


def accept_findings(draws: Draws, path: Path) -> list[dict[str, str]]:
    """Somebody writes yes or no into the findings; those that were accepted."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        return []
    for row in rows:
        may = row["action"] != "look" and row["proposed"][:1] != "'"
        row["accept"] = draws.choose(("yes", "yes", "no")) if may else draws.choose(("no",) * 9 + ("yes",))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return [row for row in rows if row["accept"] == "yes"]


def apply_findings(rows: list[Document], accepted: list[dict[str, str]]) -> list[Document]:
    """What `clean` should make of the rows: dropped, given another label, or with a label spelt anew."""
    dropped = {int(one["row"]) for one in accepted if one["action"] == "drop"}
    given = {int(one["row"]): one["proposed"] for one in accepted if one["action"] != "drop" and one["row"]}
    renamed = {one["label"]: one["proposed"] for one in accepted if one["action"] != "drop" and not one["row"]}
    left: list[Document] = []
    for number, (text, labels) in enumerate(rows, start=1):
        if number in dropped:
            continue
        found = tuple(given[number].split(";")) if number in given else labels
        if number not in given:
            for _ in renamed:
                found = tuple(dict.fromkeys(renamed.get(label, label) for label in found))
        left.append((text, found))
    return left
