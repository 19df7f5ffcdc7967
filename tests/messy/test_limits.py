"""Files made to fill the memory, to hang or to lead astray: each stops with one sentence, in bounded memory."""

import gzip
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import threading
import tracemalloc
import zipfile

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from scipy.sparse import csr_matrix

from unnaive.base import decompression, open_files
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.io.datafiles import DataFile
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables import binary_tables
from unnaive.models.naive_bayes import MultinomialNB
from unnaive.models.svm.nbsvm import NBSVM


def read(path, *, labelled=False, **options):
    return [
        text
        for batch in DataFile(str(path), options=ReadOptions(**options)).batches(labelled=labelled)
        for text in batch.texts
    ]


def bomb(path, chunk, times):
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.CompressedOutputStream(file, "zstd") as packed:
        packed.write(b"text\n")
        for _ in range(times):
            packed.write(chunk)
    return path


@pytest.fixture
def peak():
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.slow
def test_a_small_file_that_unpacks_to_very_much(tmp_path, peak):
    path = bomb(tmp_path / "bomb.csv.zst", b"word " * 200_000 + b"\n", 150)
    assert path.stat().st_size < 200_000
    with pytest.raises(
        BadData, match=r"bomb.csv.zst unpacks to more than 250 times its size; reading stopped after \d+ MiB"
    ):
        for _ in DataFile(str(path)).batches(labelled=False):
            pass
    assert peak() < 100e6
    assert len(read(path, max_ratio=10**6)) == 150


@pytest.mark.slow
def test_gzip_too(tmp_path, monkeypatch):
    monkeypatch.setattr(decompression, "UNPACKED_FREELY", 1 << 20)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"text\n" + b"word\n" * 2_000_000))
    with pytest.raises(BadData, match="unpacks to more than 250 times its size"):
        read(path)
    ordinary = b"text\n" + os.urandom(2 << 20).hex().encode()
    path.write_bytes(gzip.compress(ordinary))
    assert len(read(path)[0]) == 4 << 20


def test_a_line_without_an_end(tmp_path, peak):
    path = bomb(tmp_path / "line.txt.zst", b"word " * 200_000, 600)
    with pytest.raises(
        BadData, match=r"line 2 of .*line.txt.zst is longer than 64 MiB; if that is right, use --set max-line=SIZE"
    ):
        read(path, max_ratio=10**6)
    assert peak() < 400e6


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.txt", "d.utf16"])
def test_the_longest_line_is_a_setting(tmp_path, name):
    path = tmp_path / name
    line = '{"text": "' + "word " * 1000 + '"}\n' if name == "d.jsonl" else "text\n" + "word " * 1000 + "\n"
    path.write_text(line, encoding="utf-16" if name == "d.utf16" else "utf-8")
    assert len(read(path)[-1]) == 5000
    with pytest.raises(BadData, match="is longer than 0 MiB"):
        read(path, max_line=4000)


def test_a_quote_that_never_closes(tmp_path):
    path = tmp_path / "quote.csv"
    path.write_text('text,label\n"open,a\n' + "some words,b\n" * 10_000)
    with pytest.raises(
        BadData,
        match=(
            r"^line 2 of .*quote.csv opens a quote that is never closed, and the lines "
            r"below are complete rows"
        ),
    ):
        read(path, max_line=20_000, delimiter=",")


@pytest.mark.slow
def test_a_spreadsheet_that_unpacks_to_very_much(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/worksheets/sheet1.xml", bytes(100 << 20))
    with pytest.raises(BadData, match=r"bomb.xlsx unpacks to 100 MiB, more than 250 times its size; save it as CSV"):
        read(path)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (
            "n.jsonl",
            '{"text": ' + "[" * 100_000,
            "line 1 of .* is not JSON .its brackets are nested too deeply.; repair it",
        ),
        (
            "n.json",
            "[" * 100_000,
            "is not a JSON array .its brackets are nested too deeply.; expected one object per line",
        ),
    ],
)
def test_nested_json(tmp_path, name, content, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(BadData, match=sentence):
        read(tmp_path / name)


def test_objects_nested_beyond_what_can_be_named(tmp_path):
    deep = '{"a": ' * 50 + "1" + "}" * 50
    (tmp_path / "d.jsonl").write_text(f'{{"text": "hi", "meta": {deep}}}\n')
    assert read(tmp_path / "d.jsonl") == ["hi"]


@pytest.mark.slow
def test_1200_nested_folders(tmp_path):
    folder = tmp_path / "root"
    try:
        place = folder / "a"
        place.mkdir(parents=True)
        for _ in range(1200):
            place = place / "b"
            place.mkdir()
        (place / "1").write_text("deep down")
        corpus = DataFile(str(folder)).corpus()
        assert (list(corpus.texts), corpus.labels) == (["deep down"], [("a",)])
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)  # shutil.rmtree would recurse too deeply


def test_a_pipe_or_a_socket_in_a_folder(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/1").write_text("words")
    os.mkfifo(tmp_path / "a/2")
    for labelled in (True, False):
        with pytest.raises(
            BadData, match=r"a/2 is a pipe, a device or a broken link, not a file; remove it from the folder"
        ):
            read(tmp_path, labelled=labelled)
    (tmp_path / "a/2").unlink()
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("a/3")
        with pytest.raises(BadData, match="a/3 is a pipe, a device or a broken link"):
            read(tmp_path)


def test_a_named_pipe(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    monkeypatch.setattr(open_files, "PIPE_PATIENCE", 0.1)
    with pytest.raises(
        BadData, match=r"pipe.csv is a pipe without a writer; start the program that writes to it first, or name a file"
    ):
        read(pipe)
    monkeypatch.setattr(open_files, "PIPE_PATIENCE", 10)
    writer = threading.Thread(target=pipe.write_text, args=("text\nhello there\n" + "more words\n" * 50_000,))
    writer.start()
    assert len(read(pipe)) == 50_001
    writer.join()
    pipe.rename(tmp_path / "pipe.parquet")
    with pytest.raises(BadData, match="is not a regular file; Parquet cannot be read from a pipe or a folder"):
        read(tmp_path / "pipe.parquet")


def test_links(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").write_text("private words")
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "b").mkdir()
    (root / "a/1").write_text("own words")
    (root / "b/2").symlink_to("../a/1")  # inside
    assert read(root, labelled=True) == ["own words", "own words"]
    (root / "a/3").symlink_to(tmp_path / "secret/key")
    with pytest.raises(
        BadData,
        match=r"a/3 is a link that leads outside the folder; copy its target there, or use --set follow-links=true",
    ):
        read(root)
    assert "private words" in read(root, follow_links=True)
    (root / "a/3").unlink()
    (root / "a/up").symlink_to(root)
    with pytest.raises(BadData, match="a/up is a link that leads to another folder"):
        read(root)
    assert sorted(read(root, follow_links=True)) == ["own words", "own words"]
    (root / "a/up").unlink()
    (root / "a/gone").symlink_to(root / "nowhere")
    with pytest.raises(BadData, match="a/gone is a pipe, a device or a broken link"):
        read(root)
    shutil.rmtree(root)


@pytest.mark.parametrize("address", ["http://[::1", "https://example.org/data.csv", "s3://bucket/data.parquet"])
def test_addresses(address):
    with pytest.raises(BadData, match=r" is an address; download the file first, then name it here"):
        read(address)


@pytest.mark.parametrize("path", ["a\0b.csv", "x" * 5000])
def test_names_that_no_file_can_have(path):
    with pytest.raises(BadData, match="no file or folder called"):
        read(path)


def test_too_little_memory_is_not_damage(tmp_path, monkeypatch):
    path = tmp_path / "big.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a"], "label": ["b"]}), path)

    def fail(*_, **__):
        raise pyarrow.ArrowMemoryError("malloc of size 68719476736 failed")

    for name in ("iter_batches", "read"):
        monkeypatch.setattr(pyarrow.parquet.ParquetFile, name, fail)
    for use in (lambda: read(path), lambda: DataFile(str(path)).corpus()):
        with pytest.raises(BadData, match=r"there is not enough memory to read .*big.parquet; split it"):
            use()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wide.csv", "wide.jsonl"])
def test_a_million_columns(tmp_path, name):
    keys = [f"c{number}" for number in range(1_000_000)]
    if name == "wide.csv":
        (tmp_path / name).write_text(f"text,{','.join(keys)}\na{',1' * len(keys)}\n")
    else:
        (tmp_path / name).write_text(json.dumps({"text": "a"} | dict.fromkeys(keys, 1)) + "\n")
    with pytest.raises(
        BadData,
        match=(
            r"wide.* has 1,000,001 columns, more than the maximum of "
            r"16,384; keep only those"
        ),
    ):
        read(tmp_path / name)


@pytest.mark.parametrize(("where", "sentence"), [
    ("", r"reading table texts of .*a.db was stopped after \d+ MiB, because this is more than 250 times the size"),
    (" WHERE n < 0", r"a query of .*a.db was stopped after [\d,]+ steps, which is too many for a file of its size"),
])  # fmt: skip
@pytest.mark.slow
def test_a_view_without_an_end(tmp_path, monkeypatch, where, sentence):
    monkeypatch.setattr(binary_tables, "UNPACKED_FREELY", 1 << 22)
    monkeypatch.setattr(binary_tables, "STEPS_FREELY", 1 << 24)
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute(
            "CREATE VIEW texts AS WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more) "
            f"SELECT 'word' AS text, 'a' AS label FROM more{where}"
        )
    database.close()
    with pytest.raises(BadData, match=sentence):
        read(tmp_path / "a.db", labelled=True)


def test_a_sheet_that_states_a_size_it_has_not(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["text", "label"])
    book.active.append(["some words", "a"])
    book.save(tmp_path / "small.xlsx")
    with zipfile.ZipFile(tmp_path / "small.xlsx") as old, zipfile.ZipFile(tmp_path / "wide.xlsx", "w") as new:
        for name in old.namelist():
            content = old.read(name).replace(b'<dimension ref="A1:B2"', b'<dimension ref="A1:XFD1048576"')
            new.writestr(name, content)
    source = DataFile(str(tmp_path / "wide.xlsx"))
    assert [(list(batch.texts), batch.labels) for batch in source.batches(labelled=True)] == [
        (["some words"], [("a",)])
    ]


@pytest.mark.parametrize("model", [MultinomialNB(), NBSVM()])
def test_memory_follows_the_cells_that_are_stored_and_not_the_columns_that_could_be(model):
    wide = csr_matrix((np.ones(3), ([0, 1, 2], [5, 2**31 - 7, 9])), shape=(3, 2**31))
    with pytest.raises(BadData, match=r"X has 2,147,483,648 columns and 3 nonzero cells.*hash terms into at most"):
        model.fit(wide, [0, 1, 0])


@pytest.mark.slow
def test_a_million_classes_without_documents(peak):
    rows, classes = np.arange(500), np.arange(500) * 1999
    X = csr_matrix((np.ones(500), (rows, rows % 100)), shape=(500, 100))
    Y = csr_matrix((np.ones(500, int), (rows, classes)), shape=(500, 1_000_000))
    assert MultinomialNB().fit(X, Y).predict(X[:2]).shape == (2, 1_000_000)
    with pytest.raises(UnnaiveError, match="needs a number for every class and term, and 1000000 classes × 100 terms"):
        NBSVM().fit(X, Y)
    assert peak() < 500e6
