"""Labels leave and come back as they were, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unnaive.base.errors import BadData
from unnaive.curation.labelling.hints import read_hints
from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.curation.labelling.moving import export_labels, find_queue, import_labels
from unnaive.data.fields.fields import encode_records
from unnaive.io.datafiles import DataFile
from unnaive.text.field import read_fields

TEXTS = ["good ball", 'a "quoted", vote', "çay\nköfte", "rain"]


@pytest.fixture(params=[False, True], ids=["single", "multilabel"])
def record(request: pytest.FixtureRequest, tmp_path: Path) -> LabelRecord:
    made = LabelRecord.create(tmp_path / "labels.db", TEXTS, classes=["a", "b"], multilabel=request.param)
    made.add("ann", "label", 0, ["a"])
    made.add("ann", "label", 1, ["a", "b"] if request.param else ["b"])
    made.add("ann", "label", 2, ["b"])
    made.add("ann", "skip", 3)
    return made


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_what_is_exported_is_read_again(record: LabelRecord, tmp_path: Path, name: str) -> None:
    assert export_labels(record, tmp_path / name) == 3
    separator = ";" if record.multilabel and name.endswith("csv") else None
    corpus = DataFile(str(tmp_path / name), text=("text",), label="label", separator=separator).corpus()
    assert list(corpus.texts) == TEXTS[:3]
    assert list(corpus.labels) == list(record.final().values())


@pytest.mark.parametrize(("name", "form"), [("out.jsonl", "prodigy"), ("out.json", "label-studio")])
def test_other_tools_files_come_back(record: LabelRecord, tmp_path: Path, name: str, form: str) -> None:
    export_labels(record, tmp_path / name, form)
    other = LabelRecord.create(tmp_path / "other.db", [*TEXTS[1:], "more"], multilabel=record.multilabel)
    assert import_labels(other, tmp_path / name) == (2, 1)
    assert other.final() == {text - 1: labels for text, labels in record.final().items() if text}


FIELDS = read_fields(["body:text", "tags:category", "age:number", "opened:date", "v:vector(2)"])
ROWS = {
    "body": ["good ball", "", "fair vote"], "tags": [["x", "new york"], None, "y"], "age": [3, None, -1.5],
    "opened": ["2024-03-05 14:30", None, "2024-03-06"], "v": [[0.1, -2.5], [1e-3, 0.0], None],
}  # fmt: skip


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet", "out.json", "prodigy.jsonl"])
def test_records_are_exported_by_field(tmp_path: Path, name: str) -> None:
    """Tables have a column for each field, which give the same records again; other tools get lines to read."""
    texts = encode_records(ROWS, FIELDS)
    record = LabelRecord.create(tmp_path / "labels.db", texts, classes=["a", "b"], fields=FIELDS)
    for row, label in enumerate("aba"):
        record.add("ann", "label", row, [label])
    export_labels(record, tmp_path / name, "prodigy" if name == "prodigy.jsonl" else None)
    written = (tmp_path / name).read_bytes().decode("latin-1")
    assert "\\u001e" not in written
    assert "\x1e" not in written or name == "out.parquet"  # where it may be any number
    if name in ("out.json", "prodigy.jsonl"):
        other = LabelRecord.create(tmp_path / "other.db", texts[:2], fields=FIELDS)
        assert import_labels(other, tmp_path / name) == (2, 1)
        assert other.final() == {0: ("a",), 1: ("b",)}
        return
    columns = {"category": ("tags",), "number": ("age",), "date": ("opened",), "vector": ("v",)}
    corpus = DataFile(str(tmp_path / name), text=("body",), label="label", **columns).corpus()
    first = 1 if name == "out.csv" else 0  # a list of categories is one cell of text there
    assert list(corpus.texts)[first:] == texts[first:]
    assert list(corpus.labels) == [("a",), ("b",), ("a",)]


def test_answers_of_prodigy(tmp_path: Path) -> None:
    lines = [
        {"text": "good ball", "label": "a", "answer": "accept", "_annotator_id": "ann"},
        {"text": "good ball", "label": "b", "answer": "reject"},
        {"text": "rain", "accept": ["b"], "answer": "ignore"},
        {"text": "rain", "accept": ["b"], "answer": "accept"},
    ]
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    record = LabelRecord.create(tmp_path / "labels.db", TEXTS)
    assert import_labels(record, path) == (2, 0)
    assert [(text, who, labels) for text, who, _, labels in record.votes()] == [
        (0, "ann", ("a",)),
        (3, "import", ("b",)),
    ]
    assert record.undo("ann") is None  # what was taken over is not what a person did here


def test_people_of_label_studio(tmp_path: Path) -> None:
    def annotation(by: object, *labels: str, cancelled: bool = False) -> dict[str, object]:
        return {"completed_by": by, "was_cancelled": cancelled, "result": [{"value": {"choices": list(labels)}}]}

    tasks = [
        {"id": 7, "data": {"body": "rain"}, "annotations": [annotation(1, "a"), annotation({"email": "x@y"}, "b")]},
        {"id": 8, "data": {"text": "good ball"}, "annotations": [annotation(1, "a", cancelled=True)]},
    ]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    record = LabelRecord.create(tmp_path / "labels.db", TEXTS)
    assert import_labels(record, path) == (2, 0)
    assert [who for _, who, _, _ in record.votes()] == ["label-studio 1", "label-studio x@y"]


@pytest.mark.parametrize("words", ["{", '"text"', "[1]", '{"label": "a"}', '{"text": "rain"}', '[{"data": {}}]'])
def test_other_files_are_refused_and_nothing_is_taken(tmp_path: Path, words: str) -> None:
    (tmp_path / "odd.json").write_text(words)
    record = LabelRecord.create(tmp_path / "labels.db", TEXTS)
    with pytest.raises(BadData):
        import_labels(record, tmp_path / "odd.json")
    assert record.decisions() == []


def test_nothing_to_export(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "labels.db", TEXTS)
    with pytest.raises(BadData, match="no label yet"):
        export_labels(record, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_a_record_is_not_written_over(record: LabelRecord) -> None:
    before = record.path.read_bytes()
    with pytest.raises(BadData, match="name another file"):
        export_labels(record, record.path, "csv")
    assert record.path.read_bytes() == before


def test_queue() -> None:
    rows = [{"id": "", "row": "2", "text": ""}, {"id": "x", "row": "", "text": ""}, {"id": "", "row": "", "text": "c"}]
    assert find_queue(rows, ["w", "v", "x", "z"], ["a", "b", "d", "c"], "f.csv") == [1, 2, 3]
    for odd in ([], [{"kind": "?"}], [{"id": "nowhere"}]):
        with pytest.raises(BadData):
            find_queue(odd, ["w"], ["a"], "f.csv")


@pytest.mark.parametrize("words", ["= 1", "sport = 1", "sport = []", "sport = [1]", ""])
def test_odd_hints(tmp_path: Path, words: str) -> None:
    path = tmp_path / "hints.toml"
    path.write_text(words)
    with pytest.raises(BadData):
        read_hints(path)


def test_hints(tmp_path: Path) -> None:
    path = tmp_path / "hints.toml"
    path.write_text('sport = ["ball", "goal"]\n"foreign news" = ["war"]\n')
    assert read_hints(path) == {"sport": ["ball", "goal"], "foreign news": ["war"]}
