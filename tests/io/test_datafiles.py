"""Data files of every format give the same documents; what is wrong with one is said in a sentence."""

import gzip
import io
import json
import sys
import tracemalloc
import warnings

import pyarrow as pa
import pyarrow.parquet
import pytest

from unnaive.base.errors import BadData, UnknownName, UnnaiveWarning
from unnaive.io.datafiles import DataFile
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables.csv_tables import find_delimiter

TEXTS = ["ham, eggs; and\ttoast", 'she said "no"\nand left', "günaydın हिन्दी"]
LABELS = ["food", "news", "food"]


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def quoted(value):
    return '"' + value.replace('"', '""') + '"'


def delimited(delimiter):
    rows = [("text", "label"), *zip(TEXTS, LABELS, strict=True)]
    return "".join(delimiter.join(map(quoted, row)) + "\r\n" for row in rows)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_any_delimiter_and_quoted_newlines(write, delimiter):
    corpus = DataFile(write(delimited(delimiter))).corpus()
    assert corpus.texts == TEXTS
    assert corpus.labels == [("food",), ("news",), ("food",)]
    assert corpus.ids == ["1", "2", "3"]


@pytest.mark.parametrize("name", ["data.jsonl", "data.ndjson", "data.json"])
def test_json_lines(write, name):
    rows = [json.dumps({"text": text, "label": label}) for text, label in zip(TEXTS, LABELS, strict=True)]
    assert DataFile(write("\n".join(rows), name)).corpus().texts == TEXTS
    assert DataFile(write("[" + ",\n".join(rows) + "]", "array.json")).corpus().texts == TEXTS


def test_parquet_with_a_list_column(tmp_path):
    path = tmp_path / "data.parquet"
    pa.parquet.write_table(pa.table({"text": TEXTS, "tags": [["a", "b"], [], ["b"]]}), path)
    corpus = DataFile(str(path)).corpus()
    assert list(corpus.texts) == TEXTS
    assert corpus.labels == [("a", "b"), (), ("b",)]


def test_packed_csv(write):
    assert DataFile(write(gzip.compress(delimited(",").encode()), "data.csv.gz")).corpus().texts == TEXTS
    packed = pa.compress(delimited("\t").encode(), codec="zstd", asbytes=True)
    assert DataFile(write(packed, "data.tsv.zst")).corpus().texts == TEXTS


def test_a_folder_for_each_class(write, tmp_path):
    for name in ("food/1", "food/deep/2", "news/3"):
        write(f"text {name}", f"root/{name}")
    write("x", "root/food/.hidden")
    corpus = DataFile(str(tmp_path / "root")).corpus()
    assert list(corpus.texts) == ["text food/1", "text food/deep/2", "text news/3"]
    assert corpus.labels == [("food",), ("food",), ("news",)]
    assert corpus.ids == ["food/1", "food/deep/2", "news/3"]
    (batch,) = DataFile(str(tmp_path / "root/food")).batches(labelled=False)
    assert (batch.ids, batch.labels) == (["1", "deep/2"], [(), ()])


def test_files_of_a_folder_that_are_not_utf8_or_outside(write, tmp_path):
    write("şık".encode("cp1254"), "root/tr/1")
    write("top", "root/readme")
    with pytest.warns(UnnaiveWarning) as told:
        corpus = DataFile(str(tmp_path / "root"), options=ReadOptions(language="tr")).corpus()
    assert list(corpus.texts) == ["şık"]
    assert "a file lies outside the class folders" in str(told[0].message)
    assert str(told[1].message).endswith("tr/1 is not UTF-8: read as cp1254; if that is wrong, use --set encoding=NAME")


def test_a_folder_without_classes(tmp_path):
    with pytest.raises(BadData, match="has no subfolders with files; expected a subfolder for each class"):
        DataFile(str(tmp_path)).corpus()


def test_labels_by_a_separator_and_none_at_all(write):
    path = write("text,tags\na,x;y\nb,\nc, y ;y\n")
    assert DataFile(path, separator=";").corpus().labels == [("x", "y"), (), ("y",)]
    with pytest.warns(UnnaiveWarning, match="1 of 3 rows has no label and is left out"):
        assert DataFile(path).corpus().labels == [("x;y",), ("y ;y",)]


def test_several_text_columns_are_joined(write):
    path = write("subject,body,queue\nhi,there,a\n")
    assert DataFile(path, text=("subject", "body")).corpus().texts == ["hi\nthere"]


def test_numbers_and_truth_values_as_labels(write):
    path = write('{"text": "a", "label": 3}\n{"text": "b", "label": true}\n{"text": "c", "label": null}\n', "d.jsonl")
    with pytest.warns(UnnaiveWarning, match="1 of 3 rows has no label"):
        assert DataFile(path).corpus().labels == [("3",), ("true",)]


def test_columns_without_a_header_are_numbered(write):
    path = write("3,good,ball\n1,fair,vote\n")
    corpus = DataFile(path, text=("2", "3"), label="1", options=ReadOptions(header=False)).corpus()
    assert (corpus.texts, corpus.labels) == (["good\nball", "fair\nvote"], [("3",), ("1",)])


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (
            "a,b,c",
            r"which columns of .* hold the text and the labels\? a \(x\), b \(x\), c \(x\); use --text NAME",
        ),
        ("text,body,label", "which column of .* holds the text"),
        ("text,b,c", r"which column of .* holds the labels\? b \(x\), c \(x\); use --label NAME"),
        ("text,text,label", "which column of .* holds the text"),
    ],
)
def test_columns_that_are_not_evident(write, header, problem):
    with pytest.raises(BadData, match=problem):
        DataFile(write(header + "\n" + ",".join("x" for _ in header.split(",")))).corpus()


@pytest.mark.parametrize(
    ("header", "columns"),
    [("Text,Label", (1, 0)), ("queue,x", (0, 1)), ("body,whatever", (1, 0)), ("id,Message,category,date", (2, 1))],
)
def test_columns_that_are_evident(write, header, columns):
    row = [f"value{place}" for place in range(len(header.split(",")))]
    corpus = DataFile(write(f"{header}\n{','.join(row)}\n")).corpus()
    assert (corpus.labels[0][0], corpus.texts[0]) == tuple(row[place] for place in columns)


def test_a_column_that_is_there_twice(write):
    path = write("text,label,note,note\na,b,c,d\n")
    assert DataFile(path).corpus().texts == ["a"]
    with pytest.raises(BadData, match="has 2 columns called 'note'; choose one by its number, 3 or 4, as in --text 3"):
        DataFile(path, text=("note",)).corpus()
    for number, text in (("3", "c"), ("4", "d")):
        source = DataFile(path, text=(number,))
        assert source.corpus().texts == [text]
        assert source.describe().endswith(f"text from {number}, labels from label, 1 row")
        again = DataFile(path, default_columns=source.options.log.columns)  # as a model remembers it
        assert again.corpus().texts == [text]


def test_columns_called_alike_are_asked_about_by_number(write):
    path = write("text,text,label\na,b,x\nc,d,y\n")
    with pytest.raises(
        BadData, match=r"which column of .* holds the text\? 1 called 'text', 2 called 'text', label \("
    ):
        DataFile(path).corpus()
    assert DataFile(path, text=("2",)).corpus().texts == ["b", "d"]


def test_a_column_that_is_not_there_lists_those_that_are(write):
    with pytest.raises(BadData, match=r"data.csv has no column 'txt'; did you mean 'text'\? it has text, label"):
        DataFile(write("text,label\na,b\n"), text=("txt",)).corpus()


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        ("", "e.csv", "is empty; expected a header and rows"),
        ("\n\n", "e.csv", "is empty"),
        ("text,label\n", "h.csv", ": there are no documents; give at least one"),
        ("", "e.jsonl", "is empty; expected one JSON object per line"),
        ("", "e.txt", "is empty; expected documents"),
        ("not parquet", "e.parquet", "is an incomplete Parquet file"),
        (
            '{"text": 1,}',
            "b.jsonl",
            r"line 1 of .* is not JSON .*; repair it, or leave such rows out with --set skip-bad=true",
        ),
        ("[1]", "b.json", "item 1 of .* is not a JSON object"),
        ("[" * 100_000, "b.json", "is not a JSON array"),
        ('{"text": [1], "label": 2}', "b.jsonl", "a text of .* is a list; expected a string"),
        ('{"text": "a", "label": {}}', "b.jsonl", "a label is a JSON object"),
    ],
)
def test_files_that_cannot_be_used(write, content, name, problem):
    with pytest.raises(BadData, match=problem):
        DataFile(write(content, name)).corpus()


def test_ragged_rows_stop_the_reading_unless_skipped(write):
    path = write("text,label\ngood,a\nbad,b,c\n\nfair,c\n")
    with pytest.raises(BadData, match=r"line 3 of .* has 3 fields, but the header has 2"):
        DataFile(path).corpus()
    with pytest.warns(UnnaiveWarning, match="1 bad row was left out: line 3"):
        assert DataFile(path, options=ReadOptions(skip_bad=True)).corpus().texts == ["good", "fair"]


def test_an_open_quote_is_found(write):
    with pytest.raises(BadData, match=r"^line 2 of .* opens a quote that is never closed"):
        DataFile(write('text,label\n"never closed,a\n' + "x,b\n" * 1000)).corpus()


def test_a_key_that_some_objects_lack(write):
    path = write('{"text": "a", "label": "x"}\n{"text": "b"}\n', "d.jsonl")
    with pytest.raises(BadData, match=r"line 2 of .* has no key 'label'; it has text"):
        DataFile(path).corpus()


def test_an_unknown_format_is_named(write):
    with pytest.raises(UnknownName, match=r"no format called 'cvs'; .*did you mean 'csv'\?"):
        DataFile(write("a,b"), format="cvs").corpus()


@pytest.fixture
def stdin(monkeypatch):
    def give(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))

    return give


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("my printer, the old one, is broken\nhello\n", ["my printer, the old one, is broken", "hello"]),
        ("id,text\n1,hello\n", ["hello"]),
        ('{"text": "hello"}\n', ["hello"]),
    ],
)
def test_stdin_is_lines_or_json_or_csv_with_an_evident_header(stdin, content, texts):
    stdin(content)
    (batch,) = DataFile("-").batches(labelled=False)
    assert batch.texts == texts


def test_a_line_of_5_megabytes(write):
    path = write("text,label\n" + "word " * 1_000_000 + ",a\nshort,b\n")
    corpus = DataFile(path).corpus()
    assert [len(text) for text in corpus.texts] == [5_000_000, 5]


@pytest.mark.slow
def test_memory_stays_constant(write):
    path = write("text\n" + f"{'some words ' * 1000}\n" * 6000)  # 66 MB
    tracemalloc.start()
    assert sum(len(batch.texts) for batch in DataFile(path).batches(labelled=False)) == 6000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # a batch of 8 MB, held while the next is built, and buffers


def test_delimiters_are_judged_by_even_rows():
    assert find_delimiter(["a,b;c\n", "1,2;3\n", "1,2,3;4\n"]) == ";"
    assert find_delimiter(["only one column\n"]) == ","
    assert find_delimiter(["a,b\n"], "data.tsv") == "\t"


def test_a_line_that_is_not_json_is_shown_by_line_and_column(write):
    path = write('{"text": "a", "label": "b"}\n{"text": "bro\n', "data.jsonl")
    with pytest.raises(
        BadData, match=r"line 2 of .* is not JSON \(Unterminated string starting at, column 10\); repair"
    ):
        DataFile(path).corpus()


def test_labels_that_look_like_several_are_told_of(write):
    path = write("text,tags\na b,x;y\nc d,y\ne f,z\n")
    with pytest.warns(UnnaiveWarning, match="'x;y' is read as one label; if it is several, use --label-separator ';'"):
        DataFile(path, label="tags").corpus()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DataFile(path, label="tags", separator=";").corpus()
        DataFile(write("text,label\na b,x;y\nc d,z\n"), label="label").corpus()


def test_a_folder_without_files_has_no_header_either(tmp_path):
    with pytest.raises(BadData, match="contains no files; name a folder with files"):
        list(DataFile(str(tmp_path)).batches(labelled=False))
