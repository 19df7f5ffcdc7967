"""Predictions as CSV by whole columns are, byte for byte, those by records; and lines those of Python's csv module."""

import csv
import gzip
import io
import json

import numpy as np
import pytest

from unnaive.apps import writers
from unnaive.reading.blocks import native
from unnaive.reading.csv_lines import by_rows, csv_lines
from unnaive.text.buffer import TextBuffer

PIECES = ['"', ",", "\n", "\r", "\t", "ç", "word", " ", "longer than eight", "€", ""]


def written(row, delimiter):
    """A line of the csv module, whose default ends lines in both characters and so quotes both."""
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter).writerow(row)
    return line.getvalue().removesuffix("\r\n") + "\n"


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("seed", range(10))
def test_lines_are_those_of_the_csv_module(seed, delimiter):
    random = np.random.default_rng(seed)
    columns = [["".join(random.choice(PIECES, random.integers(0, 8))) for _ in range(20)] for _ in range(3)]
    wanted = "".join(written(row, delimiter) for row in zip(*columns, strict=True))
    buffers = [TextBuffer.of(["before", *column])[1:] for column in columns]
    for write in (csv_lines, by_rows):
        assert write(buffers, delimiter).tobytes().decode() == wanted


@pytest.mark.skipif(native is None, reason="built without a compiler")
def test_broken_columns_are_refused():
    blob, ends = np.zeros(4, np.uint8), np.array([0, 2, 4])
    assert len(native.csv_lines([(blob, ends), (blob, ends)], 44)) == 12
    for bad in (np.array([0, 4]), np.array([0, 2, 5]), np.array([0, 3, 2]), np.array([], np.int64)):
        with pytest.raises(ValueError, match="cells"):
            native.csv_lines([(blob, ends), (blob, bad)], 44)


@pytest.mark.parametrize("options", [[], ["--unknown", "none"], ["--reject-below", "0.9"], ["--no-keep-columns"],
                                     ["--unknown", "none", "--reject-below", "0.99"]])  # fmt: skip
@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "stdout"])
def test_columns_give_what_records_give(run, tmp_path, monkeypatch, options, kind):
    rows = [
        {"text": "good ball", "label": "sport", "n": 1.0000001, "note": 'a "b", c'},
        {"text": "fair\nvote", "label": "politics", "note": None, "deep": [1, {"k": "é"}]},
        {"text": "no such word", "n": 12345678.9, "note": ""},
        {"text": "ball vote ball", "note": "x\ty", "n": None},
    ]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "old.csv").write_text("text,label\ngood ball,sport\nfair vote,politics\n", encoding="utf-8")
    assert run("train", "old.csv", "--model", "multinomial", "-o", "m.model")[0] == 0

    def predict():
        output = [] if kind == "stdout" else ["-o", f"out.{kind}"]
        code, out, err = run("predict", "m.model", "new.jsonl", *output, *options)
        assert code == 0, err
        if kind == "stdout":
            return out
        written = (tmp_path / f"out.{kind}").read_bytes()
        return gzip.decompress(written) if kind == "csv.gz" else written

    calls = []
    write_columns = writers.CsvWriter.write_columns
    monkeypatch.setattr(writers.CsvWriter, "write_columns", lambda *given: calls.append(1) or write_columns(*given))
    by_columns = predict()
    monkeypatch.setattr(writers.CsvWriter, "takes_columns", property(lambda self: False))
    assert predict() == by_columns
    assert len(calls) == 1


def test_a_disk_that_is_full_is_told_and_leaves_nothing(run, tmp_path, monkeypatch):
    (tmp_path / "old.csv").write_text("text,label\ngood ball,sport\nfair vote,politics\n", encoding="utf-8")
    assert run("train", "old.csv", "--model", "multinomial", "-o", "m.model")[0] == 0

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writers.CsvWriter, "write_columns", full)
    code, _, err = run("predict", "m.model", "old.csv", "-o", "out.csv")
    assert code == 2
    assert "No space left on device; nothing was written" in err
    assert not list(tmp_path.glob("*out.csv*"))
