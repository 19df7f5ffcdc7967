"""Predictions as CSV by whole columns are, byte for byte, those by records; and lines those of Python's csv module."""

import csv
import gzip
import io
import json

import numpy as np
import pytest

from unnaive.io.tables.native_parser import native
from unnaive.io.writing import table_writer as writers
from unnaive.io.writing.csv_writer import by_rows, csv_lines
from unnaive.learning.fitted import FittedModel
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


@pytest.mark.parametrize("options", [[], ["--undecided", "none"], ["--min-probability", "0.9"], ["--set",
"keep-columns=false"],
                                     ["--undecided", "none", "--min-probability", "0.99"]])  # fmt: skip
@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "stdout"])
@pytest.mark.slow
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


@pytest.mark.parametrize("options", [[], ["--min-probability", "0.9999998"], ["--undecided", "none"]])
@pytest.mark.parametrize("calibrate", [[], ["--calibrate", "temperature"]])
@pytest.mark.slow
def test_probabilities_of_clear_leads_are_written_as_exact_ones_are(run, tmp_path, monkeypatch, options, calibrate):
    drawn = np.random.default_rng(8)
    words = np.array([f"w{number}" for number in range(60)])
    shares = drawn.dirichlet(np.full(60, 0.8), size=3)
    # long texts are certain, short ones not; some lie in between, where the sixth digit decides
    rows = [(drawn.choice(words, drawn.integers(1, 120), p=shares[row % 3]), f"c{row % 3}") for row in range(900)]
    lines = "".join(json.dumps({"text": " ".join(text), "label": label}) + "\n" for text, label in rows)
    (tmp_path / "data.jsonl").write_text(lines, encoding="utf-8")
    assert run("train", "data.jsonl", "--model", "multinomial", "-o", "m.model", *calibrate)[0] == 0
    outputs, clear = [], []
    scores_and_known = FittedModel.scores_and_known

    def spied(fitted, texts, lead):
        found = scores_and_known(fitted, texts, lead)
        clear.append(int(np.isneginf(found[0]).any(axis=1).sum()))
        return found

    monkeypatch.setattr(FittedModel, "scores_and_known", spied)
    for cores in ({0}, {0, 1}, {0, 1, 2, 3}, None):
        if cores is None:
            monkeypatch.setattr(FittedModel, "clear_lead", lambda *_: np.inf)
        else:
            monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: cores, raising=False)
        assert run("predict", "m.model", "data.jsonl", "-o", "out.csv", *options)[0] == 0
        outputs.append((tmp_path / "out.csv").read_bytes())
    assert outputs == outputs[:1] * 4
    assert clear[-1] == 0
    if native is not None:
        assert (min(clear[:3]) > 100) == ("--min-probability" not in options)


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
