"""Values that files write in an odd way are read as they are meant, in a whole file, or refused in one sentence."""

import bz2
import csv
import json
import lzma
import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unnaive import TextClassifier, predict_file
from unnaive.base import decompression
from unnaive.base.decompression import BLOCK
from unnaive.base.errors import BadData, MissingExtra, UnnaiveWarning
from unnaive.data.fields.fields import encode_records
from unnaive.io.datafiles import DataFile
from unnaive.io.read_options import ReadOptions
from unnaive.text.field import Field


def labels_of(path, **columns):
    return DataFile(str(path), **columns).corpus().labels


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ('["caf\\u00e9"]', ("café",)),
        ('["a", 3]', ("a", "3")),
        ("['a', 3, True, None]", ("a", "3", "true")),
        ("['it\\'s' 'b']", ("it's", "b")),
        ("[a, b c]", ("a", "b c")),
        ('["a, b"]', ("a, b",)),
    ],
)
def test_lists_of_labels_keep_every_item(tmp_path, cell, labels):
    with (tmp_path / "d.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), ("red", cell), ("blue", "['b']")])
    with pytest.warns(UnnaiveWarning, match="each list is read as a set of labels"):
        assert labels_of(tmp_path / "d.csv")[0] == labels


def test_binary_labels_and_ids_are_utf8(tmp_path):
    rows = {"text": ["red", "blue"], "label": [b"a", "é".encode()], "id": [b"x", b"y"]}
    pq.write_table(pa.table(rows), tmp_path / "d.parquet")
    corpus = DataFile(str(tmp_path / "d.parquet"), id="id").corpus()
    assert (corpus.labels, corpus.ids) == ([("a",), ("é",)], ["x", "y"])
    database = sqlite3.connect(tmp_path / "d.db")
    database.execute("CREATE TABLE t (text, label)")
    database.executemany("INSERT INTO t VALUES (?, ?)", [("red", b"a"), ("blue", b"\xff")])
    database.commit()
    database.close()
    with pytest.raises(BadData, match=r"a label is binary and not UTF-8 \(\\xff\); store it as a string"):
        labels_of(tmp_path / "d.db")


def test_a_no_break_space_is_part_of_a_fasttext_label(tmp_path):
    path = written(tmp_path / "d.txt", "__label__new\N{NO-BREAK SPACE}york red\n__label__b blue\n")
    assert labels_of(path, format="fasttext") == [("new\N{NO-BREAK SPACE}york",), ("b",)]


@pytest.mark.parametrize(("kind", "values"), [("string", ["a", "b"]), ("Int64", [1, 2]), ("boolean", [True, False])])
def test_a_missing_label_of_pandas_is_one_sentence(kind, values):
    labels = pd.Series([*values, pd.NA], dtype=kind)
    for given in (labels, list(labels)):
        with pytest.raises(BadData, match=r"a label is missing \(<NA>\); remove its row"):
            TextClassifier("multinomial").fit(["red", "blue", "green"], given)


def test_generated_columns_of_sqlite_are_columns(tmp_path):
    database = sqlite3.connect(tmp_path / "d.db")
    database.execute("CREATE TABLE t (text, label GENERATED ALWAYS AS (substr(text, 1, 1)), z)")
    database.executemany("INSERT INTO t (text, z) VALUES (?, ?)", [("red", 1), ("blue", 2)])
    database.commit()
    database.close()
    assert labels_of(tmp_path / "d.db") == [("r",), ("b",)]


@pytest.mark.parametrize("encoding", [None, "utf-8"])
@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("d.csv", "text,label\nred,a\nblue,b\n"),
        ("d.jsonl", '{"text": "red", "label": "a"}\n{"text": "blue", "label": "b"}\n'),
        ("d.txt", "__label__a red\n__label__b blue\n"),
    ],
)
def test_byte_order_marks_at_the_start_and_between_joined_files_are_no_text(tmp_path, encoding, name, part):
    path = written(tmp_path / name, f"\ufeff{part}\ufeff{part}")
    corpus = DataFile(str(path), options=ReadOptions(encoding=encoding)).corpus()
    assert (list(corpus.texts), corpus.labels) == (["red", "blue"] * 2, [("a",), ("b",)] * 2)


@pytest.fixture
def sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")

    def write(*rows):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(tmp_path / "d.xlsx")
        return str(tmp_path / "d.xlsx")

    return write


def test_a_sheet_with_a_wide_row_says_which(sheet):
    path = sheet(["text", "label"], ["one, two", "three", "b"], ["red", "a"])
    with pytest.raises(BadData, match=r"row 2 of .* has 3 cells, but the first row of the table has 2; repair it, or"):
        labels_of(path)
    kept = DataFile(path, options=ReadOptions(skip_bad=True)).corpus()
    assert (kept.texts, kept.labels) == (["red"], [("a",)])


def test_titles_above_a_header_are_no_header(sheet):
    source = DataFile(sheet(["Tickets of 2024"], [], ["text", "label"], ["red", "a"], ["blue", "b"]))
    assert source.corpus().labels == [("a",), ("b",)]
    assert "header in row 3 of sheet Sheet" in source.describe()


def test_a_doubled_column_of_a_sheet_is_asked_about(sheet):
    path = sheet(["text", "label", "label"], ["red", "a", "c"])
    with pytest.raises(BadData, match=r"has 2 columns called 'label'; choose one by its number, 2 or 3"):
        labels_of(path, label="label")
    assert labels_of(path, label="3") == [("c",)]


def test_doubled_columns_of_parquet_are_chosen_by_number(tmp_path):
    columns = [pa.array(["red", "blue"]), pa.array(["a", "b"]), pa.array(["c", "d"])]
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table(columns, names=["text", "label", "label"]), path)
    with pytest.raises(BadData, match=r"has 2 columns called 'label'; choose one by its number, 2 or 3"):
        labels_of(path, label="label")
    assert labels_of(path, label="3") == [("c",), ("d",)]


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (pa.timestamp("s"), 3 * 10**11, "11476-08-15 05:20:00.000"),
        (pa.timestamp("us", "Mars/Phobos"), 0, "1970-01-01 00:00:00.000000Z"),
        (pa.date32(), 2**30, "<value out of range: 1073741824>"),
    ],
)
def test_times_that_python_cannot_hold_are_text(tmp_path, kind, value, shown):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"text": ["red"], "label": ["a"], "when": pa.array([value], kind)}), path)
    assert labels_of(path) == [("a",)]
    (batch,) = DataFile(str(path)).batches(labelled=False, keep=True)
    assert list(batch.kept["when"]) == [shown]


LATE = "".join(json.dumps({"text": f"t{n}"} | ({"late": n} if n > 249 else {})) + "\n" for n in range(300))


@pytest.mark.parametrize("skip_bad", [False, True])  # True takes the reader of rows
def test_keys_that_come_late_are_kept(tmp_path, skip_bad):
    source = DataFile(str(written(tmp_path / "d.jsonl", LATE)), options=ReadOptions(rows=8192, skip_bad=skip_bad))
    late = [value for batch in source.batches(labelled=False, keep=True) for value in batch.kept.get("late", ())]
    assert late[-50:] == list(range(250, 300))


def test_late_keys_are_written_as_json_or_refused(tmp_path):
    classifier = TextClassifier("multinomial").fit(["t1", "t2"], ["a", "b"])
    path = written(tmp_path / "d.jsonl", LATE)
    predict_file(classifier, path, tmp_path / "out.jsonl")
    last = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[-1])
    assert (last["text"], last["late"]) == ("t299", 299)
    sentence = r"the first rows of .*d.jsonl have no key 'late', but a later one has, and there is no column for it"
    with pytest.raises(BadData, match=sentence):
        predict_file(classifier, path, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(BadData, match=r"the first rows of d.jsonl have no key 'late'"):
        next(DataFile(str(path)).batches(labelled=False, keep=True)).check_late("d.jsonl", "csv")


def test_markers_of_missing_values_may_have_spaces():
    assert encode_records({"n": [" N/A"]}, [Field("n", "number")]) == ["\x1en\x1f\x1f(missing)"]


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"data": {"text": "hi"}, "annotations": [{"result": 3}]}, "has an annotation whose 'result' is a number"),
        (
            {"data": {"text": "hi"}, "annotations": [{"result": [{"value": {"choices": {"a": 1}}}]}]},
            "has an annotation whose 'choices' is an object, not a list",
        ),
        ({"text": "hi", "cats": {"a": {"b": 1}}}, "has a score of 'a' that is an object, not a number"),
    ],
)
def test_annotations_of_another_shape_are_one_sentence(tmp_path, record, sentence):
    written(tmp_path / "d.json", json.dumps([record]))
    with pytest.raises(BadData, match=f"item 1 of .* {sentence}"):
        labels_of(tmp_path / "d.json")
    written(tmp_path / "d.jsonl", json.dumps(record))
    with pytest.raises(BadData, match=f"line 1 of .* {sentence}"):
        labels_of(tmp_path / "d.jsonl")


def test_one_choice_as_a_string_is_one_label(tmp_path):
    record = {"data": {"text": "hi"}, "annotations": [{"result": [{"value": {"choices": "good"}}]}]}
    assert labels_of(written(tmp_path / "d.json", json.dumps([record]))) == [("good",)]


def test_reading_csv_leaves_the_limit_of_the_csv_module_alone(tmp_path):
    long = "x" * 200_000
    path = written(tmp_path / "d.csv", f"text,label\n{long},a\nred,b\n")
    before = csv.field_size_limit()
    assert labels_of(path) == [("a",), ("b",)]
    batches = DataFile(str(path), options=ReadOptions(rows=1)).batches(labelled=True)
    assert next(batches).texts[0] == long
    assert csv.field_size_limit() == before == 131_072
    assert len(list(batches)) == 1


NOISE = np.random.default_rng(1).integers(97, 122, BLOCK).astype(np.uint8).tobytes()
ROWS = b"text,label\n" + b"red " + NOISE + b",a\nblue,b\n"


@pytest.mark.parametrize(("ending", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_bzip2_and_xz_are_unpacked_whole_or_said_to_be_cut(tmp_path, ending, pack):
    path = written(tmp_path / f"d.csv.{ending}", pack(ROWS) + pack(b"green,c\n"))
    assert labels_of(path) == [("a",), ("b",), ("c",)]
    written(path, pack(ROWS)[:-2000])
    with pytest.raises(BadData, match="is truncated or damaged"):
        labels_of(path)


def test_xz_may_not_ask_for_any_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(decompression, "MOST_XZ", 1 << 20)  # the usual preset asks for 9 MB
    path = written(tmp_path / "d.csv.xz", lzma.compress(b"text,label\nred,a\n"))
    with pytest.raises(BadData, match=r"is truncated or damaged before its first line \(Memory usage limit"):
        labels_of(path)


def test_the_frames_of_pzstd_begin_with_one_to_skip(tmp_path, monkeypatch):
    frame = pa.Codec("zstd").compress(b"text,label\nred,a\n", asbytes=True)
    path = written(tmp_path / "d.csv.zst", b"\x50\x2a\x4d\x18\x04\0\0\0" + len(frame).to_bytes(4, "little") + frame)
    assert labels_of(path) == [("a",)]
    monkeypatch.setattr("unnaive.base.extras.import_module", lambda name: (_ for _ in ()).throw(ImportError(name=name)))
    with pytest.raises(MissingExtra, match=r"reading .zst files needs pyarrow"):
        labels_of(path)


def test_a_text_that_begins_like_bzip2_is_a_text(tmp_path):
    (batch,) = DataFile(str(written(tmp_path / "d.txt", "BZh is a start\n"))).batches(labelled=False)
    assert list(batch.texts) == ["BZh is a start"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.timestamp("ns", "Mars/Phobos"), pa.date32()])
def test_times_that_python_cannot_hold_are_written_to_parquet_as_they_are(tmp_path, kind):
    values = pa.array([2**30, None, 1], pa.int32()).cast(pa.int64() if kind != pa.date32() else pa.int32()).cast(kind)
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"text": ["red", "blue", "green"], "when": values}), path)
    predict_file(TextClassifier("multinomial").fit(["red", "blue"], ["a", "b"]), path, tmp_path / "out.parquet")
    assert (
        pq.read_table(tmp_path / "out.parquet")
        .column("when")
        .combine_chunks()
        .equals(pq.read_table(path).column("when").combine_chunks())
    )


@pytest.mark.slow
def test_a_column_that_only_a_later_file_has_is_written_as_json_or_refused(tmp_path):
    classifier = TextClassifier("multinomial").fit(["red", "blue"], ["a", "b"])
    paths = [written(tmp_path / "a.csv", "text,n\nred,1\n"), written(tmp_path / "b.csv", "text,z,n\nblue,zz,2\n")]
    predict_file(classifier, paths, tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row["text"], row["n"], row.get("z")) for row in rows] == [("red", "1", None), ("blue", "2", "zz")]
    for ending in ("csv", "parquet"):
        with pytest.raises(BadData, match=r"the first file of .* has no column 'z', but a later one has"):
            predict_file(classifier, paths, tmp_path / f"out.{ending}")
        assert not (tmp_path / f"out.{ending}").exists()
