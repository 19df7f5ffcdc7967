"""Labels leave and come back as they were, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unnaive.base.errors import BadData
from unnaive.curation.labelling.hints import read_hints
from unnaive.curation.labelling.importing import import_labels
from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.curation.labelling.moving import export_labels, find_queue
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
    assert import_labels(other, tmp_path / name) == (3, 1)  # two labels and a skip
    assert other.final() == {text - 1: labels for text, labels in record.final().items() if text}


FORMS = {"v.csv": None, "v.jsonl": None, "v.parquet": None, "v.tsv": None, "p.jsonl": "prodigy", "t.json": None}


@pytest.mark.parametrize("name", FORMS)
def test_every_vote_comes_back_with_its_author_time_and_kind(record: LabelRecord, tmp_path: Path, name: str) -> None:
    record.add("bob", "label", 0, ["b"], suggested="a", probability=0.25, way="second")
    record.add("bob", "flag", 3)
    assert export_labels(record, tmp_path / name, FORMS[name], votes=True) in (4, 6)  # tasks, or answers
    other = LabelRecord.create(tmp_path / "other.db", TEXTS, multilabel=record.multilabel)
    assert import_labels(other, tmp_path / name, FORMS[name]) == (6, 0)
    lost_flag = {"flag": "skip"} if name == "t.json" else {}  # Label Studio has no flags
    assert other.votes() == [
        (text, who, lost_flag.get(kind, kind), labels) for text, who, kind, labels in record.votes()
    ]
    assert other.final() == record.final()
    seconds = 19  # of Prodigy
    times = [[one.at[:seconds] for one in side.current_answers()] for side in (record, other)]
    assert times[0] == times[1]
    assert other.undo("bob") is None  # it was imported


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_final_labels_in_a_table_come_back(record: LabelRecord, tmp_path: Path, name: str) -> None:
    export_labels(record, tmp_path / name)
    other = LabelRecord.create(tmp_path / "other.db", TEXTS, multilabel=record.multilabel)
    assert import_labels(other, tmp_path / name) == (3, 0)
    assert other.final() == record.final()
    assert {who for _, who, _, _ in other.votes()} == {"import"}


def test_a_table_by_id_and_of_copies(tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("id,label\n2,b\n9,a\n")
    record = LabelRecord.create(tmp_path / "labels.db", ["same", "same", "other"], ["1", "2", "3"])
    assert import_labels(record, tmp_path / "ids.csv") == (1, 1)
    assert record.final() == {1: ("b",)}
    (tmp_path / "copies.csv").write_text("id,text,label\n1,same,a\n")
    assert import_labels(record, tmp_path / "copies.csv") == (1, 0)
    assert record.final() == {0: ("a",), 1: ("b",)}


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
    assert import_labels(record, path) == (3, 0)
    assert [(who, kind) for _, who, kind, _ in record.votes()] == [
        ("label-studio 1", "skip"),  # cancelled
        ("label-studio 1", "label"),
        ("label-studio x@y", "label"),
    ]


ODD = ["{", '"text"', "[1]", '{"label": "a"}', '{"text": "rain"}', '[{"data": {}}]', '{"text": "x", "answer": "?"}']


@pytest.mark.parametrize("words", ODD)
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


@pytest.mark.parametrize(
    "words", ["= 1", "sport = 1", "sport = []", "sport = [1]", "", "[a]\nx = 1", "[a]\ndescription = 3"]
)
def test_odd_hints(tmp_path: Path, words: str) -> None:
    path = tmp_path / "hints.toml"
    path.write_text(words)
    with pytest.raises(BadData):
        read_hints(path)


def test_hints(tmp_path: Path) -> None:
    path = tmp_path / "hints.toml"
    path.write_text('sport = ["ball", "goal"]\n"foreign news" = ["war"]\n')
    hints = read_hints(path)
    assert (hints.keywords, hints.descriptions) == ({"sport": ["ball", "goal"], "foreign news": ["war"]}, {})


def test_guidelines_and_descriptions_of_a_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "hints.toml"
    path.write_text('guidelines = "Read all of it."\nsport = ["ball"]\n[vote]\ndescription = "Elections."\n')
    record = LabelRecord.create(tmp_path / "labels.db", TEXTS, classes=["sport"])
    for _ in range(2):
        read_hints(path).describe(record, "ann")
        names = record.class_names()
        assert (names.names, names.descriptions) == (["sport", "vote"], {"vote": "Elections."})
        assert names.guidelines == "Read all of it."
        assert len(record.decisions()) == 3  # not again
