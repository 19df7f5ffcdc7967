"""Parquet files have every value that was written, whatever came first."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unnaive import TextClassifier, UnnaiveError, predict_file
from unnaive.io.writing.table_writer import open_table_writer

KINDS = st.sampled_from(
    [
        st.integers(-(2**53), 2**53) | st.floats(allow_nan=False),
        st.text(st.characters(exclude_categories=["Cs"])),
        st.booleans(),
        st.lists(st.integers(-9, 9) | st.floats(-9, 9), max_size=2),
        st.dictionaries(st.sampled_from("ab"), st.integers(-9, 9), min_size=1),
        st.binary(max_size=3),
    ]
)
BATCHES = KINDS.flatmap(lambda kind: st.lists(st.lists(st.none() | kind, max_size=3), max_size=4))


def write(path: Path, *batches: list[Any]) -> pyarrow.Table:
    with open_table_writer(path, "parquet", types=lambda: {"id": pyarrow.int64()}) as write_rows:
        for number, values in enumerate(batches):
            write_rows([{"id": number, "value": value} for value in values])
    return parquet.read_table(path)


def test_integers_become_fractions_when_fractions_follow(tmp_path: Path) -> None:
    table = write(tmp_path / "a.parquet", [1, 2], [2.5], [3])
    assert table.to_pydict() == {"id": [0, 0, 1, 2], "value": [1.0, 2.0, 2.5, 3.0]}
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("value", [7, 0.5, "a", True, [1], {"a": 1}, b"x"])
def test_a_column_that_begins_with_nulls_takes_the_type_of_what_follows(tmp_path: Path, value: Any) -> None:
    assert write(tmp_path / "a.parquet", [None], [None, value])["value"].to_pylist() == [None, None, value]


def test_a_column_of_nulls_alone_holds_strings(tmp_path: Path) -> None:
    assert write(tmp_path / "a.parquet", [None], [None]).schema.field("value").type == pyarrow.string()


@pytest.mark.parametrize(
    "batches", [([1], ["a"]), ([1, "a"],), ([True], [1]), ([2**53 + 1], [0.5]), ([2**70],), (["\ud800"],)]
)
def test_values_that_would_change_are_refused(tmp_path: Path, batches: tuple[list[Any], ...]) -> None:
    with pytest.raises(UnnaiveError, match="column 'value' has values of several types"):
        write(tmp_path / "a.parquet", *batches)
    assert list(tmp_path.iterdir()) == []


@given(BATCHES)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, batches: list[list[Any]]) -> None:
    def plain(value: Any) -> Any:
        return {name: value.get(name) for name in "ab"} if isinstance(value, dict) else value

    table = write(tmp_path_factory.mktemp("parquet") / "a.parquet", *batches)
    values = table["value"].to_pylist() if "value" in table.column_names else []
    assert [plain(value) for value in values] == [plain(value) for batch in batches for value in batch]


def test_a_pipe_gets_the_same_bytes_as_a_file(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [1], [0.5])
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((tmp_path / "pipe").read_bytes)
        with open_table_writer(tmp_path / "pipe", "parquet", types=lambda: {"id": pyarrow.int64()}) as write_rows:
            write_rows([{"id": 0, "value": 1}])
            write_rows([{"id": 1, "value": 0.5}])
        assert read.result() == (tmp_path / "a.parquet").read_bytes()


def test_predict_keeps_the_numbers_of_the_input(tmp_path: Path) -> None:
    numbers = [*range(12_000), *(number + 0.5 for number in range(12_000, 24_000))]
    with (tmp_path / "a.jsonl").open("w") as file:
        file.writelines(json.dumps({"text": "a ball", "number": number}) + "\n" for number in numbers)
    model = TextClassifier("multinomial").fit(["a ball", "a vote"], ["sport", "politics"])
    predict_file(model, tmp_path / "a.jsonl", tmp_path / "a.parquet")
    assert parquet.read_table(tmp_path / "a.parquet")["number"].to_pylist() == numbers


def test_files_with_other_types_of_a_column_are_joined(tmp_path: Path) -> None:
    for name, values in (("a", [1, 2]), ("b", [2.5])):
        columns = {"text": ["a ball"] * len(values), "n": values}
        parquet.write_table(pyarrow.table(columns), tmp_path / f"{name}.parquet")
    model = TextClassifier("multinomial").fit(["a ball", "a vote"], ["sport", "politics"])
    predict_file(model, [tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet")["n"].to_pylist() == [1, 2, 2.5]
