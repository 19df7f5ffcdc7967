"""The filter where it meets other parts: damaged files, compression, training texts, other formats of the same text."""

import gzip
import io
import json
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.filter_texts import BAD, GOOD, train_filter

from unnaive import TextClassifier, UnnaiveWarning
from unnaive.apps.cli.main import exit_code
from unnaive.classifier.model_file import load_model, save
from unnaive.scaleout.filter.filter_log import RECORD_NAME, FilterRecord
from unnaive.scaleout.filter.http_content import decode_body, join_chunks
from unnaive.scaleout.filter.keep_rule import choose_keep_rule
from unnaive.scaleout.filter.line_shards import WHITE_STARTS
from unnaive.scaleout.filter.warc_shards import WarcRecord

pytestmark = pytest.mark.slow  # `make quick` leaves these to `make test`


@pytest.fixture(scope="module")
def fitted():
    return train_filter()


@pytest.fixture
def folder(tmp_path, monkeypatch, fitted):
    monkeypatch.chdir(tmp_path)
    save(fitted, "m.model")
    write_lines("a.jsonl", GOOD + BAD)
    return tmp_path


def run(words):
    """The exit code of a command line."""
    return exit_code(words.split())


def write_lines(path, texts):
    Path(path).write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def test_a_list_among_json_lines_is_a_bad_line_not_an_array(folder, capsys):
    Path("b.jsonl").write_text('not json\n{"text": "useful rivers"}\n[1]\n{"text": "buy pills"}\n')
    assert run("filter m.model b.jsonl -o k.jsonl --class good --above 0.5 --set skip-bad=true") == 0
    assert Path("k.jsonl").read_text() == '{"text": "useful rivers"}\n'
    assert "left out 2 lines that could not be read" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["jsonl.gz", "jsonl.zst", "warc.gz"])
def test_a_shard_of_which_nothing_is_kept_is_a_valid_compressed_file(folder, ending):
    """gzip and zstd refuse to decompress a file of no bytes."""
    Path("in").mkdir()
    record = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 9\r\n\r\nbuy pills\r\n\r\n"
    data = record if "warc" in ending else b'{"text": "buy pills"}\n'
    packed = gzip.compress(data) if ending.endswith("gz") else pa.Codec("zstd").compress(data, asbytes=True)
    Path(f"in/a.{ending}").write_bytes(packed)
    assert run("filter m.model in -o out --class good --above 0.5") == 0
    written = Path(f"out/a.{ending}")
    assert written.stat().st_size > 0
    with pa.input_stream(written, compression="zstd" if ending.endswith("zst") else "gzip") as stream:
        assert stream.read() == b""


def test_no_recall_is_promised_on_training_texts(folder, capsys):
    """In the summary, on the page and in JSON: the note alone is lost with --quiet and in reports."""
    rows = [{"text": text, "label": "good" if text in GOOD else "bad"} for text in (GOOD + BAD) * 10]
    Path("train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("train train.jsonl -m multinomial -o t.model") == 0
    words = "filter t.model a.jsonl -o k.jsonl --class good --recall 0.9 --held-out train.jsonl --report k.html"
    capsys.readouterr()
    assert run(words) == 0
    out, err = capsys.readouterr()
    assert "no recall is guaranteed, because 60 of 60 held-out texts are training texts" in out
    assert "60 of 60 held-out texts are in the training data of the model" in err
    page = Path("k.html").read_text()
    assert "No recall is guaranteed" in page
    assert "with a confidence of" not in page
    assert run(words + " --json -q") == 0
    assert json.loads(capsys.readouterr().out)["held_out"]["learnt"] == 60
    held_out = (pd.Series(row["text"] for row in rows), np.array([row["label"] for row in rows]))
    with pytest.warns(UnnaiveWarning, match="60 of 60 held-out texts"):
        _, choice = choose_keep_rule(load_model("t.model"), np.array(["good"])[0], recall=0.9, held_out=held_out)
    assert choice.learnt == 60


def test_a_class_of_numbers_is_kept_by_its_numpy_value():
    fitted = TextClassifier("multinomial").fit(GOOD + BAD, [1] * 3 + [0] * 3).fitted_
    rule, _ = choose_keep_rule(fitted, np.int64(1), above=0.5)
    assert rule.keeps(rule.scores(["useful rivers", "cheap pills"])).tolist() == [True, False]


@pytest.mark.parametrize(("p", "kept"), [("0", 6), ("1", 0)])
def test_the_ends_of_the_range_are_printed_as_given(folder, capsys, p, kept):
    words = f"filter m.model a.jsonl -o k.jsonl --class good --above {p}"
    assert run(words) == 0
    assert capsys.readouterr().out.endswith(f"texts with p(good) ≥ {p}\n")
    assert run(words + " --json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["probability"], told["kept"]) == (float(p), kept)


def test_messages_about_stdin_name_it(folder, capsys, monkeypatch):
    for data, sentence in (
        (b"", "stdin has no texts"),
        (b"[]x\n{", "stdin is one JSON array"),
        (b"x", "line 1 of stdin"),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert run("filter m.model - --class good --above 0.5") == 2
        assert sentence in capsys.readouterr().err


def chunks(body):
    parts = [body[start : start + 7] for start in range(0, len(body), 7)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def arrow(codec):
    return lambda body: pa.Codec(codec).compress(body, asbytes=True)


ENCODINGS = {
    "": lambda body: body,
    "Transfer-Encoding: chunked": chunks,
    "Content-Encoding: gzip": gzip.compress,
    "Content-Encoding: deflate": zlib.compress,
    "Content-Encoding: Deflate": lambda body: zlib.compress(body)[2:-4],
    "Content-Encoding: br": arrow("brotli"),
    "Content-Encoding: zstd": arrow("zstd"),
    "Content-Encoding: gzip\r\nTransfer-Encoding: chunked": lambda body: chunks(gzip.compress(body)),
    "Content-Encoding: gzip\r\nTransfer-Encoding:chunked": lambda body: body,  # stored decoded under the old header
    "Content-Encoding: unknown": lambda body: body,
}


@pytest.mark.parametrize("field", ENCODINGS)
def test_compressed_and_chunked_pages_are_read(folder, field):
    records = []
    for text in GOOD + BAD:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{field}{chr(13) + chr(10) if field else ''}\r\n".encode()
        content = head + ENCODINGS[field](b"<p>" + text.encode())
        about = f"WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http\r\nContent-Length: {len(content)}"
        records.append(about.encode() + b"\r\n\r\n" + content + b"\r\n\r\n")
    Path("a.warc").write_bytes(b"".join(records))
    assert run("filter m.model a.warc -o k.warc --class good --above 0.5") == 0
    assert Path("k.warc").read_bytes() == b"".join(records[:3])


def test_odd_bodies_of_web_pages_end():
    assert join_chunks(b"0\r\n\r\n") == b""
    assert join_chunks(b"3\r\nabc\r\n-3\r\nabc\r\n") == b"abc"
    assert join_chunks(b"ff\r\ncut") == b"cut"
    assert join_chunks(b"not\r\nchunked") == b"not\r\nchunked"
    bomb = gzip.compress(bytes(1 << 26))
    assert len(decode_body(bomb, {"content-encoding": "gzip"})) == 100 * len(bomb)
    nested = gzip.compress(bomb)
    assert len(decode_body(nested, {"content-encoding": "gzip, gzip"})) == 1 << 20  # not 100 times 100 times its size
    assert decode_body(nested, {"content-encoding": ",".join(5 * ["gzip"])}) == nested


@pytest.mark.parametrize("charset", ["undefined", "idna", "-punycode", "hex", "utf\0", "unknown"])
def test_a_page_that_states_a_charset_of_no_texts_is_read(charset):
    head = f"WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: text/plain; charset={charset}\r\n\r\n".encode()
    content = b"caf\xe9 xn--9"
    assert WarcRecord(head + content, len(head), len(content)).text(strip=True) == "café xn--9"


def test_bytes_of_dictionary_columns_are_those_of_their_rows(folder, capsys):
    texts = pa.array((GOOD + BAD) * 50)
    pq.write_table(pa.table({"text": texts}), "plain.parquet")
    pq.write_table(pa.table({"text": texts.dictionary_encode()}), "packed.parquet", row_group_size=60)
    told = []
    for name in ("plain", "packed"):
        assert run(f"filter m.model {name}.parquet -o k{name}.parquet --class good --above 0.5 --json") == 0
        told.append(json.loads(capsys.readouterr().out))
    letters = [50 * sum(len(text) + 4 for text in part) for part in (GOOD + BAD, GOOD)]  # an offset takes 4 bytes
    for answer in told:
        assert [answer["bytes_read"], answer["bytes_kept"]] == pytest.approx(letters, rel=0.01)


def test_shards_read_in_another_way_are_not_continued(folder, capsys):
    words = "filter m.model a.jsonl b.jsonl -o kept --class good --above 0.5"
    write_lines("b.jsonl", GOOD)
    assert run(words) == 0
    assert run(words + " --set skip-bad=true") == 0
    assert "(2 shards by an earlier run)" in capsys.readouterr().out
    assert run(words + " --set encoding=cp1252") == 2
    assert "were filtered with another encoding (before: the default, now: cp1252)" in capsys.readouterr().err
    assert run(words + " --format lines") == 2
    assert "were filtered with another" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16le", "utf-32", "latn1"])
def test_encodings_whose_lines_cannot_be_copied_are_refused(folder, capsys, monkeypatch, encoding):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("a.jsonl").read_bytes())))
    assert run(f"filter m.model - --class good --above 0.5 --set encoding={encoding}") == 2
    err = capsys.readouterr().err
    assert ("no encoding called 'latn1'" if encoding == "latn1" else f"files in {encoding} cannot be filtered") in err


@pytest.mark.parametrize(
    ("calibrate", "condition"),
    [(None, "texts with a score of good or river ≥ "), ("temperature", "texts with p(good) or p(river) ≥ ")],
)
def test_the_condition_of_a_multilabel_model_names_each_class(folder, capsys, calibrate, condition):
    labels = [["good", "river"], ["good", "river"], ["good"], ["bad"], ["bad"], ["bad"]] * 10
    TextClassifier("nbsvm", calibrate=calibrate).fit((GOOD + BAD) * 10, labels).save("l.model")
    texts = [f"{text} {number}" for number, text in enumerate((GOOD + BAD) * 10)]
    rows = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    Path("held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("filter l.model a.jsonl -o k.jsonl --class good --class river --recall 0.9 --held-out held.jsonl") == 0
    assert condition in capsys.readouterr().out
    assert [json.loads(line)["text"] for line in Path("k.jsonl").read_text().splitlines()] == GOOD


def test_a_failed_run_says_how_to_continue_and_may_be_started_with_other_settings(folder, capsys):
    Path("b.jsonl").write_text("not json\n")
    words = "filter m.model b.jsonl a.jsonl -o kept --class good --above"
    assert run(f"{words} 0.5") == 2
    assert "finished" not in capsys.readouterr().err
    assert run(f"{words.replace('b.jsonl a.jsonl', 'a.jsonl b.jsonl')} 0.6") == 2  # none was finished with 0.5
    assert "note: 1 of 2 shards finished; the same command continues\n" in capsys.readouterr().err
    write_lines("b.jsonl", GOOD)
    assert run(f"{words} 0.5") == 2
    assert "were filtered with another threshold" in capsys.readouterr().err
    assert run(f"{words} 0.6") == 0
    assert "(1 shard by an earlier run)" in capsys.readouterr().out


def test_files_and_folders_without_permission(folder, capsys, monkeypatch):
    pq.write_table(pa.table({"text": GOOD}), "a.parquet")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(pq, "ParquetFile", refuse)
        assert run("filter m.model a.parquet -o k.parquet --class good --above 0.5") == 2
    assert "a.parquet cannot be read (Permission denied); check its permissions" in capsys.readouterr().err
    Path("kept").mkdir()
    Path("kept", RECORD_NAME).mkdir()
    assert run("filter m.model a.jsonl -o kept --class good --above 0.5") == 2
    assert "cannot be written to kept (Is a directory); make the folder writable" in capsys.readouterr().err


def test_files_of_others_in_the_output_folder_are_not_overwritten(folder, capsys):
    Path("kept").mkdir()
    Path("kept/a.jsonl").write_text("precious")
    words = "filter m.model a.jsonl -o kept --class good --class good --above 0.5"
    assert run(words) == 2
    assert "kept/a.jsonl exists and was not written by a filter; name another folder" in capsys.readouterr().err
    assert [path.name for path in Path("kept").iterdir()] == ["a.jsonl"]
    Path("kept/a.jsonl").rename("kept/b.jsonl")
    assert run(words) == 0
    assert capsys.readouterr().out.endswith("in 1 shard: texts with p(good) ≥ 0.5\n")
    assert Path("kept/b.jsonl").read_text() == "precious"


WORDS = "filter m.model {} -o kept --class good --above 0.5"


@pytest.mark.parametrize("content", [b"", b"precious, edited by hand"])
def test_an_output_that_was_changed_is_neither_taken_nor_overwritten(folder, capsys, content):
    write_lines("b.jsonl", GOOD)
    assert run(WORDS.format("a.jsonl b.jsonl")) == 0
    Path("kept/b.jsonl").write_bytes(content)
    assert run(WORDS.format("a.jsonl b.jsonl")) == 2
    assert "kept/b.jsonl was changed after it was filtered; remove it to filter it again" in capsys.readouterr().err
    assert Path("kept/b.jsonl").read_bytes() == content
    Path("kept/b.jsonl").unlink()
    assert run(WORDS.format("a.jsonl b.jsonl")) == 0
    assert "(1 shard by an earlier run)" in capsys.readouterr().out


def test_a_record_does_not_make_other_files_of_the_folder_ours(folder, capsys):
    Path("kept").mkdir()
    assert run(WORDS.format("a.jsonl")) == 0
    write_lines("b.jsonl", GOOD)
    Path("kept/b.jsonl").write_text("precious")
    assert run(WORDS.format("a.jsonl b.jsonl")) == 2
    assert "kept/b.jsonl exists and was not written by a filter" in capsys.readouterr().err
    assert Path("kept/b.jsonl").read_text() == "precious"


def test_an_output_that_was_written_but_not_recorded_is_written_again(folder, monkeypatch, capsys):
    Path("kept").mkdir()

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FilterRecord, "note", stop)
        assert run(WORDS.format("a.jsonl")) == 130
    assert Path("kept/a.jsonl").exists()
    write_lines("a.jsonl", GOOD)
    assert run(WORDS.format("a.jsonl")) == 0
    assert Path("kept/a.jsonl").read_text() == Path("a.jsonl").read_text()


def test_outputs_of_shards_that_are_gone_are_named(folder, capsys):
    write_lines("b.jsonl", GOOD)
    assert run(WORDS.format("a.jsonl b.jsonl")) == 0
    assert run(WORDS.format("a.jsonl")) == 0
    words = "note: 1 file of kept, such as b.jsonl, is an output of a shard that is not in the input now"
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("blank", ["   ", "\t", "\u00a0", "\u2028", "\u3000", "\x1c", ""])
def test_blank_lines_are_no_texts_wherever_they_are(folder, blank, capsys):
    rows = GOOD * 2 + [blank] + GOOD
    Path("a.txt").write_text("\n".join(rows) + "\n", newline="")
    assert run("filter m.model a.txt -o k.txt --class good --above 0.5") == 0
    assert f"kept {3 * len(GOOD)} of {3 * len(GOOD)} texts" in capsys.readouterr().out
    assert Path("k.txt").read_text() == "\n".join(GOOD * 3) + "\n"


def test_lines_are_blank_only_if_they_begin_like_white_space():
    white = {chr(code).encode()[0] for code in range(0xD800) if chr(code).isspace()}
    assert set(WHITE_STARTS.tolist()) == white


def test_the_output_folder_is_listed_once_however_many_shards_there_are(folder, monkeypatch):
    listed = []
    list_folder = Path.iterdir

    def count(path):
        listed.append(path.name)
        return list_folder(path)

    for number in range(9):
        write_lines(f"{number}.jsonl", GOOD)
    monkeypatch.setattr(Path, "iterdir", count)
    assert run(WORDS.format(" ".join(f"{number}.jsonl" for number in range(9)))) == 0
    assert listed.count("kept") == 1


def test_figures_as_json_do_not_mix_with_texts_on_stdout(folder):
    words = ["filter", "m.model", "a.jsonl", "--class", "good", "--above", "0.5", "--json"]
    done = subprocess.run([sys.executable, "-m", "unnaive", *words], capture_output=True, check=True)
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == GOOD
    told = json.loads(done.stderr)
    assert (told["texts"], told["kept"], told["bytes_kept"]) == (6, 3, len(done.stdout))
