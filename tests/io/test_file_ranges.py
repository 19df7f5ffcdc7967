"""Parts of a file, read one after another, give the rows of the whole file, or say that it must be read whole."""

import csv
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unnaive.base.errors import BadData
from unnaive.io.datafiles import DataFile
from unnaive.io.file_ranges import cut_table, find_part, take_range
from unnaive.io.read_options import ReadLog, ReadOptions
from unnaive.io.row_reader import RowReader
from unnaive.io.tables.native_parser import native
from unnaive.io.tables.tables import NotPlain

TEXTS = ['the "good" ball, goal', "fair vote\nnew law", "  çay ", "नमस्ते", '"', ""]
ROWS = [(f"{TEXTS[number % len(TEXTS)]} {number}", "ab"[number % 2]) for number in range(400)]


def rows_of(source, table, columns):
    return [
        pair
        for batch in RowReader(source, table, columns).read_batches(0)
        for pair in zip(batch.texts, batch.labels, strict=True)
    ]


def opened(path, **options):
    source = DataFile(str(path), options=ReadOptions(**options))
    ((table, columns),) = source.tables(labelled=True)
    return source, table, columns


def write(path):
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *ROWS])
    elif path.suffix == ".jsonl":
        lines = [json.dumps({"text": text, "label": label}, ensure_ascii=False) for text, label in ROWS]
        path.write_text("\n".join(lines), encoding="utf-8")
    elif path.suffix == ".txt":
        path.write_text(
            "".join(f"__label__{label} {text.strip().split(chr(10))[0]}\n" for text, label in ROWS), "utf-8"
        )
    else:
        columns = dict(zip(("text", "label"), zip(*ROWS, strict=True), strict=True))
        pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), path, row_group_size=50)
    return path


@pytest.mark.skipif(native is None, reason="built without a compiler")
@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.txt", "d.parquet"])
@pytest.mark.parametrize("size", [700, 2500])
def test_the_parts_of_a_file_have_its_rows(tmp_path, name, size):
    source, table, columns = opened(write(tmp_path / name))
    whole = rows_of(source, table, columns)
    parts = cut_table(table, size)
    assert len(parts) > 2
    assert [row for part in parts for row in rows_of(source, take_range(table, part), columns)] == whole
    assert len(whole) == 400


@pytest.mark.skipif(native is None, reason="built without a compiler")
@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.text(alphabet='ab,"\n é', max_size=30), min_size=5, max_size=40), st.integers(20, 200))
def test_parts_of_any_csv_have_its_rows_or_are_refused(tmp_path_factory, texts, size):
    path = tmp_path_factory.mktemp("cut") / "d.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *((text, "a") for text in texts)])
    source, table, columns = opened(path)
    try:
        parts = [rows_of(source, take_range(table, part), columns) for part in cut_table(table, size)]
    except NotPlain:
        return  # read whole
    assert not parts or [row for part in parts for row in part] == rows_of(source, table, columns)


def test_what_cannot_be_cut_is_read_whole(tmp_path):
    lines = write(tmp_path / "d.jsonl").read_text(encoding="utf-8")
    (tmp_path / "d.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "array.json").write_text("[" + lines.replace("\n", ",\n") + "]", encoding="utf-8")
    (tmp_path / "utf16.jsonl").write_text(lines, encoding="utf-16")
    for name in ("d.jsonl.gz", "array.json", "utf16.jsonl"):
        assert cut_table(opened(tmp_path / name)[1], 700) == []
    assert cut_table(opened(write(tmp_path / "d.csv"), skip_bad=True)[1], 700) == []


def test_a_part_does_not_begin_like_a_packed_file(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps({"text": "t" * 60, "label": "a"}) + "\n" + " \n" for _ in range(50)))
    source, table, columns = opened(path)
    data, parts = path.read_bytes(), cut_table(table, 300)
    assert {data[part.start : part.start + 1] for part in parts} == {b"{"}
    assert sum(len(rows_of(source, take_range(table, part), columns)) for part in parts) == 50


def test_lines_are_numbered_from_the_start_of_the_file(tmp_path):
    path = write(tmp_path / "d.jsonl")
    broken = path.read_text("utf-8").replace('"text": "fair vote\\nnew law 397"', '"text" "fair vote"')
    path.write_text(broken, encoding="utf-8")
    source, table, columns = opened(path)
    last = take_range(table, cut_table(table, 2500)[-1])
    find_part(last).count_lines()
    with pytest.raises(BadData, match=r"line 398 of .*d.jsonl is not JSON"):
        rows_of(source, last, columns)
    log = ReadLog()
    skipping, table, columns = opened(path, skip_bad=True, log=log)
    last = take_range(table, cut_table(table, 2500)[-1])
    find_part(last).count_lines()
    rows_of(skipping, last, columns)
    assert log.skipped == [(398, 398)]
