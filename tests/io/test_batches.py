"""Files in batches of bytes: the very same documents, warnings and errors as row by row."""

import json
import warnings

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.io import batches
from unnaive.io.datafiles import DataFile
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables import native_parser
from unnaive.io.tables.arrow import ArrowCells
from unnaive.text.buffer import TextBuffer

pytestmark = pytest.mark.slow  # `make test` runs these; `make quick` stays under a minute

COLUMNS = {"text": ("text",), "label": "label"}


def messages(told):
    """What was said to the user; when the interpreter collects garbage is no matter of reading."""
    return [str(one.message) for one in told if issubclass(one.category, UnnaiveWarning)]


def outcome(path, readers, **wish):
    """(texts, labels, ids, warnings), or the error, of reading a file with these whole-file readers."""
    given, batches.READERS = batches.READERS, readers
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            corpus = DataFile(str(path), **(COLUMNS | wish)).corpus()
        return list(corpus.texts), list(corpus.labels), list(corpus.ids), messages(told)
    except BadData as problem:
        return str(problem)
    finally:
        batches.READERS = given


def streamed(path, readers, **wish):
    """(texts, labels, ids, warnings) of all batches up to the end or an error, and the error."""
    given, batches.READERS = batches.READERS, readers
    rows, problem = [], ""
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for batch in DataFile(str(path), **(COLUMNS | wish)).batches(labelled=True):
                rows += zip(batch.texts, batch.labels, batch.ids, strict=True)
    except BadData as error:
        rows, problem = [], str(error)  # how many came before may differ by a batch
    finally:
        batches.READERS = given
    return rows, messages(told), problem


def same(path, **wish):
    fast, slow = outcome(path, batches.READERS, **wish), outcome(path, {}, **wish)
    assert fast == slow
    assert streamed(path, batches.READERS, **wish) == streamed(path, {}, **wish)
    return fast


CELLS = st.sampled_from(
    ['"', '""', ",", ",", ";", "\n", "\n", "\r\n", "\r", " ", "a", "b", "é", "日本", "\ufeff", "\0", "\t",
     '"a,b"', '"a\nb"', '"a\r\nb"', "text", "\n\n", "\\", "'", "\x1a", "\u2028"]
)  # fmt: skip
FUZZ = settings(
    max_examples=2 * settings().max_examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("block", [1 << 7, 1 << 20])
@given(rows=st.lists(CELLS, max_size=40), tail=st.sampled_from(["", "\n", "x,y\n", '"q","r"\r\n']))
@example(rows=['"', "a"], tail="\n")
@example(rows=["a", '"', "b", '"', ",", "c"], tail="\n")
@example(rows=['"a"', "b", ",", "c", "\n"], tail="")
@FUZZ
@pytest.mark.slow
def test_csv(monkeypatch, tmp_path, block, rows, tail):
    monkeypatch.setattr(native_parser, "BLOCK", block)
    path = tmp_path / "d.csv"
    path.write_bytes(("text,label\n" + "some text,a\n" + "".join(rows) + tail).encode())
    same(path)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@given(rows=st.lists(st.tuples(st.text(max_size=8), st.text(min_size=1, max_size=3)), min_size=1, max_size=20))
@FUZZ
@pytest.mark.slow
def test_csv_that_is_well_formed(tmp_path, ending, rows):
    path = tmp_path / "d.csv"
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [("text", "label"), *rows]]
    path.write_bytes((ending.join(lines) + ending).encode("utf-8", "replace"))
    same(path)


VALUES = st.sampled_from(
    ['"a"', '"b c"', '"é\\u00e9"', '"\\ud83d\\ude00"', '"\\ud800"', '"tab\\t"', '"raw\ttab"', "1", "1.0", "-0", "1e3",
     "true", "null", "[]", '["a"]', '["a", null]', "{}", '""', "12345678901234567890", "NaN", '"\\u0000"',
     '"2024-01-01"', '"x\\']
)  # fmt: skip
KEYS = st.sampled_from(["text", "label", "label", "text", "other", "answer", "cats", "accept", "te\\u0078t"])
RECORDS = st.lists(st.tuples(KEYS, VALUES), max_size=4).map(
    lambda pairs: "{" + ", ".join(f'"{key}": {value}' for key, value in pairs) + "}"
)
LINES = st.one_of(
    RECORDS,
    st.sampled_from(
        ["", " ", "[", "{}", '{"text": "a", "label": "b"}{"text": "c", "label": "d"}', ' {"text": "a", "label": "b"}',
         '{"text": "a",', '"label": "b"}', '{"text": "a", "label": "b"} ', '{"label": "b", "text": "a"}', "nonsense"]
    ),
)  # fmt: skip


@pytest.mark.parametrize("chunk", [1 << 6, 1 << 20])
@given(lines=st.lists(LINES, max_size=6), ending=st.sampled_from(["\n", "\r\n", "\r"]), last=st.booleans())
@FUZZ
@pytest.mark.slow
def test_json_lines(monkeypatch, tmp_path, chunk, lines, ending, last):
    monkeypatch.setattr(native_parser, "BLOCK", chunk)
    path = tmp_path / "d.jsonl"
    good = '{"text": "some text", "label": "a"}'
    path.write_bytes((ending.join([good, *lines, good]) + (ending if last else "")).encode())
    same(path)


@given(
    rows=st.lists(st.tuples(st.text(max_size=8), st.text(max_size=3)), min_size=1, max_size=20),
    ascii=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n"]),
)
@FUZZ
def test_json_lines_that_are_well_formed(monkeypatch, tmp_path, rows, ascii, ending):
    monkeypatch.setattr(native_parser, "BLOCK", 1 << 8)
    path = tmp_path / "d.jsonl"
    lines = [json.dumps({"n": 1, "label": label, "text": text}, ensure_ascii=ascii) for text, label in rows]
    path.write_bytes(ending.join([*lines, '{"text": "", "label": "z"}']).encode("utf-8", "replace"))
    same(path)


@given(labels=st.lists(st.one_of(st.integers(-5, 5), st.lists(st.text(max_size=2), max_size=2), st.text(max_size=2))))
@FUZZ
def test_labels_of_json_lines(tmp_path, labels):
    path = tmp_path / "d.jsonl"
    rows = [{"text": f"text {row}", "label": label} for row, label in enumerate(["a", *labels])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    same(path)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[1:]))
    same(path)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize(
    "labels", [["a", None, "b"], [1, 2, None], [True, False, True], [["a", "b"], [], None], [1.5, 2.0, 1.5]]
)
def test_parquet(tmp_path, kind, labels):
    path = tmp_path / "d.parquet"
    texts = pa.array(["çay", None, "x"]).cast(kind)
    pa.parquet.write_table(pa.table({"text": texts, "title": ["A", "B", None], "label": labels}), path)
    assert same(path)[0][0] == "çay"
    assert same(path, text=("title", "text"))[0][0] == "A\nçay"
    assert same(path, id="title")[2][0] == "A"


@pytest.mark.parametrize(
    "cells", [["a", "b", "a", "", "ç", "b"], ["a", None, "a", "", None, "b"], [3, 1, None, 3, 1, 7]]
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_distinct_cells_of_arrow_stand_for_all(cells, kind):
    array = pa.array(cells, kind) if "a" in cells else pa.array(cells)
    for part in (array, array.slice(2), array.slice(1, 0)):
        codes, values = ArrowCells(part).distinct()
        assert [values[code] for code in codes.tolist()] == part.to_pylist()
        assert len(values) == len(set(part.to_pylist()))


def test_parquet_of_numbers_and_of_strings_that_are_not_utf8(tmp_path):
    path = tmp_path / "d.parquet"
    pa.parquet.write_table(pa.table({"text": [1, 2], "label": ["a", "b"]}), path)
    assert same(path)[0] == ["1", "2"]
    wrong = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))
    pa.parquet.write_table(pa.table({"text": wrong, "label": ["a"]}), path)
    assert same(path).endswith("is not UTF-8; write the file again in UTF-8")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.csv", "text,label\n" + "some words,a\nother words,b\n" * 200_000),
        ("d.csv", '\ufefftext,label\n"some, words",a\n"other ""words""",b\n' * 1 + "x y,a\n" * 400_000),
        ("d.jsonl", '{"text": "some words", "label": "a"}\n{"label": "b", "text": "other"}\n' * 70_000),
    ],
)
@pytest.mark.slow
def test_large_files_come_as_one_buffer(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    seen = []
    corpus = DataFile(str(path), options=ReadOptions(on_read=seen.append)).corpus()
    assert isinstance(corpus.texts, TextBuffer)
    assert corpus.ids[-1] == str(len(corpus))
    assert sum(seen) >= len(content)
    batches = list(DataFile(str(path)).batches(labelled=False))
    assert all(isinstance(batch.texts, TextBuffer) for batch in batches)
    assert sum(len(batch.texts) for batch in batches) == len(corpus)
    same(path)


@pytest.mark.parametrize(
    ("name", "start", "good", "bad"),
    [
        ("d.csv", "text,label\n", "some words,a\n", "too,many,fields\n"),
        ("d.jsonl", "", '{"text": "some words", "label": "a"}\n', '{"text": "no label"}\n'),
    ],
)
@pytest.mark.slow
def test_a_bad_row_after_many_good_ones_is_found_where_it_is(monkeypatch, tmp_path, name, start, good, bad):
    monkeypatch.setattr(native_parser, "BLOCK", 1 << 12)
    path = tmp_path / name
    path.write_text(start + good * 20_000 + bad + good)
    number = 20_000 + 1 + (1 if start else 0)
    assert same(path).startswith(f"line {number} of {path} has ")
    batches = DataFile(str(path)).batches(labelled=True)
    seen = []
    with pytest.raises(BadData):
        seen.extend(name for batch in batches for name in batch.ids)
    assert seen == [str(row) for row in range(1, len(seen) + 1)]
    assert len(seen) > 10_000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("latin.csv", "text,label\ncaf\xe9,a\n".encode("latin-1")),
        ("nul.csv", b"text,label\na\0b,a\n"),
        ("wide.csv", "text,label\na,b\n".encode("utf-16")),
        ("bare.csv", b'text,label\n5" pipe,a\nx,b\n'),
        ("blank.csv", b"\n\ntext,label\n\na,b\n\n"),
        ("orange.tab", b"text\tlabel\nstring\tdiscrete\nmeta\tclass\nsome text\ta\n"),
        ("twice.csv", b"text,label,x,x\na,b,1,2\n"),
        ("spaced.csv", b" text , label\na,b\n"),
    ],
)
def test_unusual_files_are_read_row_by_row(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert isinstance(same(tmp_path / name), tuple)


def test_kept_columns_are_the_same_as_row_by_row(tmp_path):
    path = tmp_path / "d.jsonl"
    rows = [
        {"text": "a", "n": 1, "tags": ["x", "é"], "note": None},
        {"n": 2.5, "text": 'b\n"c"', "deep": {"k": [1, {"z": "}"}]}},
        {"text": "", "note": "", "deep": {}, "n": True},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    fast = [batch.kept for batch in DataFile(str(path)).batches(labelled=False, keep=True)]
    given, batches.READERS = batches.READERS, {}
    try:
        slow = [batch.kept for batch in DataFile(str(path)).batches(labelled=False, keep=True)]
    finally:
        batches.READERS = given
    assert fast == slow
    assert fast[0]["note"] == [None, None, ""]  # a key that a record lacks
    assert fast[0]["deep"] == [None, {"k": [1, {"z": "}"}]}, {}]


@pytest.mark.skipif(native_parser.native is None, reason="built without a compiler")
def test_files_that_are_read_natively_are_not_read_row_by_row(tmp_path):
    """What is compared above is two ways, not the same one twice."""
    for name, content in (
        ("d.csv", 'text,label\n"a ""b"",\nc",x\n\ny,z\n'),
        ("d.jsonl", '{"text": "a", "label": 1}\n'),
    ):
        (tmp_path / name).write_text(content)
        corpus = DataFile(str(tmp_path / name), **COLUMNS).corpus()
        assert isinstance(corpus.texts, TextBuffer)
    assert corpus.labels == [("1",)]
