"""What is written is read again: values and types, in every format that is written and read."""

import math
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unnaive import TextClassifier, predict_file
from unnaive.io.datafiles import DataFile
from unnaive.io.formats import read_rows
from unnaive.io.writing.table_writer import open_table_writer

pytestmark = pytest.mark.slow

PACKINGS = ("", ".gz", ".zst", ".bz2", ".xz")
DELIMITED = [f".{name}{packing}" for name in ("csv", "tsv") for packing in PACKINGS]
JSON = [f".jsonl{packing}" for packing in PACKINGS]
# NUL is said, and a byte-order mark at the start of a file is not its text; half a surrogate pair has no UTF-8
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=20)
WORDS = st.sampled_from(
    ["çay", "नमस्ते दुनिया", 'a "b"', "x,y;z\tw", "two\nlines", "\r\n", "'", "\\n", " spaced ", "", "#", "=1+1"]
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.just(0.1) | st.just(5e-324)
WHOLE = st.integers(-(2**63), 2**63 - 1)
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
NESTED = st.recursive(
    st.none() | st.booleans() | WHOLE | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6,
)  # fmt: skip


def write(path, rows, types=dict):
    name = path.name.partition(".")[2].partition(".")[0]
    with open_table_writer(path, {"pq": "parquet"}.get(name, name), types=types) as add:
        add(rows)
    return path


@pytest.mark.parametrize("ending", DELIMITED)
@settings(deadline=None)
@given(rows=st.lists(st.tuples(TEXTS | WORDS, TEXTS | WORDS), min_size=1, max_size=12))
def test_texts_in_csv(tmp_path_factory, ending, rows):
    rows = [{"text": text, "label": label} for text, label in rows]
    path = write(tmp_path_factory.mktemp("csv") / f"d{ending}", rows)
    assert list(read_rows(path)) == rows


@pytest.mark.parametrize("ending", JSON)
@settings(deadline=None)
@given(rows=st.lists(st.fixed_dictionaries({"text": TEXTS | WORDS, "n": NESTED}), min_size=1, max_size=12))
def test_any_value_in_json_lines(tmp_path_factory, ending, rows):
    path = write(tmp_path_factory.mktemp("json") / f"d{ending}", rows)
    inspection = next(iter(DataFile(str(path), text=("text",)).inspections(labelled=False)))
    names = inspection.table.kept_names()
    found = [
        dict(zip(names, row, strict=True))
        for part in inspection.table.batches(names)
        for row in zip(*part, strict=True)
    ]
    assert found == rows
    assert [typed(row["n"]) for row in found] == [typed(row["n"]) for row in rows]


def typed(value):
    """A value with the types of all of its parts: 1, 1.0 and True are equal in Python."""
    if isinstance(value, list):
        return [typed(item) for item in value]
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    return type(value), math.copysign(1, value) if value == 0 else value if value is not None else None


COLUMNS = {
    "string": (pa.string(), TEXTS | WORDS), "int64": (pa.int64(), WHOLE), "double": (pa.float64(), NUMBERS),
    "bool": (pa.bool_(), st.booleans()), "binary": (pa.binary(), st.binary(max_size=9)),
    "moment": (pa.timestamp("us"), MOMENTS), "list": (pa.list_(pa.string()), st.lists(TEXTS, max_size=3)),
    "date": (pa.date32(), st.dates()),
}  # fmt: skip


@pytest.mark.parametrize("known", [True, False])
@settings(deadline=None)
@given(data=st.data())
def test_typed_columns_in_parquet(tmp_path_factory, known, data):
    size = data.draw(st.integers(1, 8))
    types = {name: kind for name, (kind, _) in COLUMNS.items()}
    columns = {
        name: data.draw(st.lists(st.none() | value, min_size=size, max_size=size))
        for name, (_, value) in COLUMNS.items()
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    folder = tmp_path_factory.mktemp("parquet")
    path = write(folder / "d.parquet", rows, (lambda: types) if known else dict)
    inspection = next(iter(DataFile(str(path), text=("string",)).inspections(labelled=False)))
    found = list(inspection.table.batches(tuple(columns)))
    assert dict(zip(columns, found[0], strict=True)) == columns
    if known:
        assert inspection.table.types == types


@pytest.mark.parametrize("source", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("output", ["csv", "tsv", "jsonl", "parquet"])
@settings(deadline=None, max_examples=25)
@given(rows=st.lists(st.tuples(TEXTS | WORDS, st.none() | TEXTS, WHOLE), min_size=1, max_size=9))
def test_predict_writes_the_values_that_it_read(tmp_path_factory, source, output, rows):
    """In CSV every value is text, and an empty one is a missing one."""
    folder: Path = tmp_path_factory.mktemp("predict")
    rows = [{"text": text, "more": more, "n": n} for text, more, n in rows]
    path = write(folder / f"in.{source}", rows)
    model = TextClassifier("multinomial").fit(["red ball", "blue vote"], ["a", "b"])
    predict_file(model, DataFile(str(path), text=("text",)), folder / f"out.{output}")
    found = list(read_rows(folder / f"out.{output}"))
    as_text = output in ("csv", "tsv") or source == "csv"

    def spell(value):
        return ("" if value is None else str(value)) if as_text else value

    assert [{name: spell(row[name]) for name in rows[0]} for row in found] == [
        {name: spell(value) for name, value in row.items()} for row in rows
    ]
