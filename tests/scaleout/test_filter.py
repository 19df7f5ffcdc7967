"""The filter keeps what the model's probabilities say, byte for byte and in order, in every format and after a kill."""

import gzip
import io
import json
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.filter_texts import BAD, GOOD, train_filter

from unnaive import BadData, TextClassifier, UnnaiveError
from unnaive.apps.cli.main import exit_code
from unnaive.evaluation.recall_threshold import choose_recall_threshold
from unnaive.io.fields.columns import Columns
from unnaive.io.read_options import ReadOptions
from unnaive.scaleout.filter import blocks, line_shards
from unnaive.scaleout.filter.blocks import ShardReading
from unnaive.scaleout.filter.filter_log import RECORD_NAME, open_filter_record
from unnaive.scaleout.filter.filter_tally import FilterTally, tally_block
from unnaive.scaleout.filter.keep_rule import KeepRule, choose_keep_rule
from unnaive.scaleout.filter.line_shards import LineShard
from unnaive.scaleout.filter.run import filter_shard

pytestmark = pytest.mark.slow  # `make quick` stays under a minute

TEXTS = [*GOOD, *BAD, "useful pills", "", "a clear lake, cheap", "nothing known ççç"]


@pytest.fixture(scope="module")
def fitted():
    return train_filter()


@pytest.fixture
def folder(tmp_path, monkeypatch, fitted):
    from unnaive.classifier.model_file import save

    monkeypatch.chdir(tmp_path)
    save(fitted, "m.model")
    Path("a.jsonl").write_bytes(b"".join(lines_of(TEXTS)))
    return tmp_path


def run(words):
    """The exit code of a command line."""
    return exit_code(words.split())


def lines_of(texts):
    return [json.dumps({"id": number, "text": text}).encode() + b"\n" for number, text in enumerate(texts)]


def keeps(fitted, texts, p=0.5):
    return fitted.predict_proba(list(texts))[:, fitted.class_index("good")] >= p


def filtered(fitted, data, tmp_path, *, threads=1, columns=("text",), packing="", p=0.5, **options):
    path = tmp_path / "shard.jsonl"
    path.write_bytes(data)
    reading = ShardReading(Columns(columns) if columns else None, None, ReadOptions(**options))
    out = io.BytesIO()
    rule = KeepRule.above(fitted, ["good"], p)
    tally = filter_shard(rule, LineShard(str(path), reading), out, packing=packing, threads=threads)
    return out.getvalue(), tally


ODD = [
    b'{"text": "useful caf\\u00e9 \\ud83d\\ude00 rivers"}\n',
    b'{"text": "half a pair \\ud83d useful rivers"}\n',
    b'{"text": "first cheap", "text": "the last one counts, useful rivers"}\n',
    b' { "other" : [1, {"text": "cheap"}], "text" : "useful\\tguide" } \r\n',
    b"\n",
    b"   \r\n",
    b'{"text": null}\n',
    b'{"text": 17, "id": 3}\n',
    b'{"text": "caf\xe9 useful rivers"}\n',
    b'{"text": "buy cheap pills"}\n',
    b'{"te\\u0078t": "a key with an escape, useful rivers"}\n',
    b'{"text": "no newline behind useful rivers"}',
]


def text_of_line(line):
    try:
        words = line.decode()
    except UnicodeDecodeError:
        words = line.decode("cp1252")
    value = json.loads(words)["text"]
    return "" if value is None else str(value)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block", [1 << 22, 100])
def test_lines_are_kept_as_probabilities_say_byte_for_byte(fitted, tmp_path, monkeypatch, threads, block):
    monkeypatch.setattr(line_shards, "BLOCK_BYTES", block)
    monkeypatch.setattr(line_shards, "SMALLEST", 64)
    lines = lines_of(TEXTS) + ODD
    rows = [line for line in lines if line.strip()]
    kept = keeps(fitted, [text_of_line(line) for line in rows])
    expected = b"".join(line for line, keep in zip(rows, kept, strict=True) if keep)
    assert 5 < kept.sum() < len(rows) - 3
    found, tally = filtered(fitted, b"".join(lines), tmp_path, threads=threads)
    assert found == expected
    assert (tally.texts, tally.kept, tally.bytes_kept) == (len(rows), kept.sum(), len(expected))
    assert tally.histogram.sum() == len(rows)


def test_the_tally_does_not_depend_on_blocks(fitted, tmp_path, monkeypatch):
    data = b"".join(lines_of(TEXTS * 20))
    _, whole = filtered(fitted, data, tmp_path)
    monkeypatch.setattr(line_shards, "BLOCK_BYTES", 700)
    _, parts = filtered(fitted, data, tmp_path, threads=2)
    assert whole.to_dict() == parts.to_dict()
    assert FilterTally.from_dict(json.loads(json.dumps(whole.to_dict()))).to_dict() == whole.to_dict()
    rows = {one.row for one in whole.dropped}
    assert len(rows) == len(whole.dropped) == 30
    assert all(one.text == (TEXTS * 20)[one.row] for one in whole.dropped)
    assert min(one.score for one in whole.nearly) >= min(one.score for one in whole.dropped)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=4), values, max_size=3),
    max_leaves=5,
)


@given(
    st.lists(
        st.tuples(st.dictionaries(st.text(max_size=4), JSON, max_size=3), st.sampled_from(TEXTS) | st.text(max_size=30),
                  st.booleans(), st.sampled_from(["\n", "\r\n", " \n", "\n\n"])),
        max_size=12,
    )
)  # fmt: skip
def test_any_json_is_kept_as_python_reads_it(fitted, tmp_path_factory, rows):
    lines = [
        (json.dumps({**more, "text": text, "last": more}, ensure_ascii=escaped) + end).encode()
        for more, text, escaped, end in rows
    ]
    kept = keeps(fitted, [text for _, text, _, _ in rows]) if rows else []
    expected = b"".join(line.replace(b"\n\n", b"\n") for line, keep in zip(lines, kept, strict=True) if keep)
    assert filtered(fitted, b"".join(lines), tmp_path_factory.mktemp("any"))[0] == expected


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_packed_shards_unpack_to_the_same_lines(fitted, tmp_path, monkeypatch, packing):
    monkeypatch.setattr(line_shards, "BLOCK_BYTES", 100)
    data = b"".join(lines_of(TEXTS))
    plain, _ = filtered(fitted, data, tmp_path)
    packed, _ = filtered(fitted, blocks.pack_bytes(data, packing), tmp_path, packing=packing)
    unpacked = gzip.decompress(packed) if packing == "gzip" else pa.CompressedInputStream(io.BytesIO(packed), "zstd")
    assert (unpacked if packing == "gzip" else unpacked.read()) == plain


def test_plain_lines_and_a_byte_order_mark(fitted, tmp_path):
    lines = [f"{text}\n".encode() for text in TEXTS if text]
    kept = keeps(fitted, [text for text in TEXTS if text])
    found, _ = filtered(fitted, b"\xef\xbb\xbf" + b"\n".join([b"".join(lines[:4]), b"".join(lines[4:])]), tmp_path,
                        columns=())  # fmt: skip
    assert found == b"\xef\xbb\xbf" + b"".join(line for line, keep in zip(lines, kept, strict=True) if keep)


def test_several_columns_and_nested_keys(fitted, tmp_path):
    lines = [b'{"title": "useful", "body": "rivers"}\n', b'{"title": "buy", "body": "cheap"}\n']
    assert filtered(fitted, b"".join(lines), tmp_path, columns=("title", "body"))[0] == lines[0]
    lines = [b'{"data": {"text": "cheap pills"}}\n', b'{"data": {"text": "useful rivers"}}\n']
    assert filtered(fitted, b"".join(lines), tmp_path, columns=("data.text",))[0] == lines[1]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b'{"text": "cut\n', "line 3 of .* is not JSON"),
        (b'["useful"]\n', "line 3 of .* is not a JSON object"),
        (b'{"body": "useful"}\n', "line 3 of .* has no key 'text'; it has body"),
        (b'{"text": ["useful"]}\n', "line 3 of .* has a list under 'text', not a text"),
    ],
)
def test_a_bad_line_is_one_sentence_or_left_out(fitted, tmp_path, line, sentence):
    good = b'{"text": "useful rivers"}\n'
    with pytest.raises(BadData, match=sentence):
        filtered(fitted, good + b"\n" + line + good, tmp_path)
    found, tally = filtered(fitted, good + line + good, tmp_path, skip_bad=True)
    assert found == good + good
    assert tally.skipped == 1


def test_parquet_keeps_columns_types_and_metadata(folder, fitted):
    table = pa.table(
        {"n": pa.array(range(len(TEXTS)), pa.int16()), "text": [*TEXTS[:-1], None], "tags": [["x"], []] * 5}
    ).replace_schema_metadata({"made": "by hand"})
    pq.write_table(table, "a.parquet", compression="zstd", row_group_size=3)
    assert run("filter m.model a.parquet -o k.parquet --class good --above 0.5 --text text") == 0
    found, table = pq.read_table("k.parquet"), pq.read_table("a.parquet")
    kept = keeps(fitted, [*TEXTS[:-1], ""])
    assert found.equals(table.filter(pa.array(kept)), check_metadata=True)
    assert pq.ParquetFile("k.parquet").metadata.row_group(0).column(0).compression == "ZSTD"


def warc_record(kind, content, content_type="text/plain"):
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Type: {content_type}\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content + b"\r\n\r\n"


def test_records_of_web_archives_are_kept_whole(folder, capsys):
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=iso-8859-9\r\n\r\n<script>cheap buy</script><p>useful"
    records = [
        warc_record("warcinfo", b"software: none", "application/warc-fields"),
        warc_record("conversion", "useful rivers and lakes ç".encode()),
        warc_record("conversion", b"buy cheap pills now"),
        warc_record("response", page, "application/http; msgtype=response"),
        warc_record("response", page.replace(b"<p>useful", b"<p>cheap"), "application/http; msgtype=response"),
        warc_record("request", b"GET / HTTP/1.1\r\n\r\n", "application/http; msgtype=request"),
    ]
    Path("a.warc.wet.gz").write_bytes(b"".join(gzip.compress(record) for record in records))
    assert run("filter m.model a.warc.wet.gz -o k.wet.gz --class good --above 0.5") == 0
    assert gzip.decompress(Path("k.wet.gz").read_bytes()) == b"".join(records[i] for i in (0, 1, 3, 5))
    Path("cut.warc").write_bytes(b"".join(records)[:-10])
    assert run("filter m.model cut.warc -o k.warc --class good --above 0.5") == 2
    assert "cut.warc ends in the middle of record 6" in capsys.readouterr().err
    assert not Path("k.warc").exists()


def write_shards(root, n=4):
    for number in range(n):
        path = root / f"part{number % 2}" / f"{number}.jsonl{'.gz' if number == 2 else ''}"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join(lines_of(TEXTS[number:] + TEXTS))
        path.write_bytes(gzip.compress(data) if number == 2 else data)
    (root / "part0" / "empty.jsonl").write_bytes(b"")
    (root / "README.md").write_text("not a shard")


def tree(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*")
            if path.is_file() and not path.name.startswith(RECORD_NAME)}  # fmt: skip


WORDS = ["filter", "m.model", "shards", "-o", "kept", "--class", "good", "--above", "0.5"]


def test_a_folder_of_shards_is_mirrored_and_resumed(folder, fitted, monkeypatch, capsys):
    from unnaive.scaleout.filter import run as running

    write_shards(folder / "shards")
    assert exit_code([*WORDS, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    whole = tree(folder / "kept")
    assert set(whole) == {"part0/0.jsonl", "part0/2.jsonl.gz", "part0/empty.jsonl", "part1/1.jsonl", "part1/3.jsonl"}
    lines = lines_of(TEXTS[1:] + TEXTS)
    expected = [line for line, keep in zip(lines, keeps(fitted, TEXTS[1:] + TEXTS), strict=True) if keep]
    assert whole["part1/1.jsonl"] == b"".join(expected)

    done, real = [], running.filter_file

    def stop_at_third(rule, job, *rest, **more):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(job.name)
        return real(rule, job, *rest, **more)

    monkeypatch.setattr(running, "filter_file", stop_at_third)
    again = [word if word != "kept" else "again" for word in WORDS]
    assert exit_code([*again, "--json"]) == 130
    assert "interrupted after 2 shards of 5; run the same command" in capsys.readouterr().err
    assert sorted(tree(folder / "again")) == sorted(done)

    def note_and_go(rule, job, *rest, **more):
        done.append(job.name)
        return real(rule, job, *rest, **more)

    monkeypatch.setattr(running, "filter_file", note_and_go)
    assert exit_code([*again, "--json"]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert len(done) == 5
    assert tree(folder / "again") == whole
    assert resumed.pop("resumed") == 2
    assert resumed == {name: value for name, value in told.items() if name != "resumed"}

    Path("again/part1/1.jsonl").unlink()  # what is gone, and what has changed since, is filtered again
    Path("shards/part1/3.jsonl").write_bytes(b"".join(lines_of(GOOD)))
    assert exit_code(again) == 0
    assert len(done) == 7
    assert Path("again/part1/3.jsonl").read_bytes() == b"".join(lines_of(GOOD))
    assert exit_code([*again[:-1], "0.7"]) == 2
    assert "filtered with another threshold; name another folder" in capsys.readouterr().err


def test_shards_of_several_kinds_in_one_folder(folder):
    Path("mixed").mkdir()
    Path("mixed/a.jsonl").write_bytes(b"".join(lines_of(["useful rivers", "cheap pills"])))
    Path("mixed/b.txt").write_text("buy cheap pills\nuseful rivers\n")
    pq.write_table(pa.table({"text": ["cheap pills", "clear lakes"]}), "mixed/c.parquet")
    Path("mixed/d.wet").write_bytes(warc_record("conversion", b"cheap pills") + warc_record("conversion", b"lakes"))
    assert run("filter m.model mixed -o kept --class good --above 0.5") == 0
    assert Path("kept/a.jsonl").read_bytes() == lines_of(["useful rivers"])[0]
    assert Path("kept/b.txt").read_text() == "useful rivers\n"
    assert pq.read_table("kept/c.parquet").to_pydict() == {"text": ["clear lakes"]}
    assert Path("kept/d.wet").read_bytes() == warc_record("conversion", b"lakes")


@pytest.mark.slow
def test_a_killed_run_leaves_whole_shards_and_goes_on(folder, capsys):
    shards = folder / "shards"
    shards.mkdir()
    for number in range(30):
        (shards / f"{number:02}.jsonl").write_bytes(b"".join(lines_of(TEXTS * 2000)))
    process = subprocess.Popen([sys.executable, "-m", "unnaive", *WORDS], stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(folder.glob("kept/*.jsonl"))) < 3:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    there = sorted(path.name for path in folder.glob("kept/*.jsonl"))
    assert 3 <= len(there) <= 30
    assert len({path.read_bytes() for path in folder.glob("kept/*.jsonl")}) == 1
    assert exit_code([*WORDS, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["resumed"] >= len(there) - 1
    assert len({path.read_bytes() for path in folder.glob("kept/*.jsonl")}) == 1
    assert sorted(path.name for path in folder.glob("kept/*.jsonl")) == sorted(path.name for path in shards.iterdir())
    assert not list(folder.glob("kept/.*.tmp"))


def test_the_recall_holds_with_its_confidence():
    """Of thresholds found on 60 good documents, at most a tenth may have a lower recall than promised."""
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(2000):
        scores = rng.normal(size=60)
        choice = choose_recall_threshold(scores, np.ones(60, bool), 0.9, confidence=0.9)
        below += 1 - normal_cdf(choice.threshold) < 0.9
    assert 0.05 < below / 2000 < 0.1 + 3 * (0.09 / 2000) ** 0.5


def normal_cdf(x):
    from math import erf, sqrt

    return (1 + erf(x / sqrt(2))) / 2


def test_recall_by_hand_and_by_command(folder, fitted, capsys):
    scores = np.array([1.0] * 5 + [2.0] * 45 + [0.0] * 50)
    good = scores > 0
    choice = choose_recall_threshold(scores, good, 0.9, confidence=0.9)
    assert (choice.threshold, choice.kept_good, choice.kept_others) == (
        1.0,
        50,
        0,
    )  # one may be given up, and ties stay
    rows = [{"text": text, "label": "good" if text in GOOD else "bad"} for text in (GOOD + BAD) * 10]
    Path("held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = "filter m.model a.jsonl -o k.jsonl --class good --recall 0.9 --held-out held.jsonl --json"
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["held_out"]["kept_good"] == 30
    texts = [row["text"] for row in rows]
    rule, _ = choose_keep_rule(fitted, "good", recall=0.9, held_out=(texts, [row["label"] for row in rows]))
    assert told["threshold"] == rule.threshold == rule.scores(GOOD).min()
    expected = [
        line for line, score in zip(lines_of(TEXTS), rule.scores(TEXTS), strict=True) if score >= rule.threshold
    ]
    assert Path("k.jsonl").read_bytes() == b"".join(expected)


@pytest.mark.slow
def test_the_page_shows_counts_scores_and_samples(folder):
    rows = [{"text": text, "label": "good" if text in GOOD else "bad"} for text in (GOOD + BAD) * 10]
    Path("held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("b.jsonl").write_bytes(b"".join(lines_of([*TEXTS, "cheap <script>buy()</script> pills"])))
    words = "filter m.model b.jsonl -o k.jsonl --class good --recall 0.9 --held-out held.jsonl --report k.html"
    assert run(words) == 0
    page = Path("k.html").read_text()
    assert "At least 90 % of the good texts are kept" in page
    assert "buy cheap pills now" in page
    assert "cheap &lt;script&gt;buy()" in page
    assert "<script>buy" not in page
    assert page.count("<script") == 1
    assert "<svg" in page


def test_scores_of_all_kinds_of_models(fitted):
    """Exclusive, multilabel, without probabilities, several classes: the score ranks as the model's own values do."""
    texts, labels = [*GOOD, *BAD, "law and vote"], ["good"] * 3 + ["bad"] * 3 + ["law"]
    three = TextClassifier("multinomial").fit(texts, labels).fitted_
    p = three.predict_proba(TEXTS)
    rule = KeepRule.above(three, ["good", "law"], 0.6)
    assert np.allclose(1 / (1 + np.exp(-rule.scores(TEXTS))), p[:, 1] + p[:, 2])
    assert rule.keeps(rule.scores(TEXTS)).tolist() == (p[:, 1] + p[:, 2] >= 0.6).tolist()
    margin = TextClassifier("nbsvm").fit(GOOD + BAD, ["good"] * 3 + ["bad"] * 3).fitted_
    scores = margin.scores(TEXTS)
    assert np.array_equal(KeepRule(margin, ("good",)).scores(TEXTS), scores[:, 1] - scores[:, 0])
    with pytest.raises(UnnaiveError, match="gives no probabilities"):
        KeepRule.above(margin, ["good"], 0.5)
    sets = TextClassifier("multinomial").fit(GOOD + BAD, [("good", "long")] * 3 + [("bad",)] * 3).fitted_
    alone = sets.predict_proba(TEXTS)[:, sets.class_index("good")]
    assert np.allclose(1 / (1 + np.exp(-KeepRule(sets, ("good",)).scores(TEXTS))), alone)
    with pytest.raises(UnnaiveError, match="all classes"):
        KeepRule(fitted, ("good", "bad"))


def test_mail_is_read_as_predict_reads_it(folder, fitted):
    messages = [f"From: a@b.c\nSubject: {text}\nDate: 1 Jan 2024\n\n{text}\n" for text in TEXTS]
    Path("mail.jsonl").write_bytes(b"".join(lines_of(messages)))
    assert run("predict m.model mail.jsonl -o p.jsonl --all") == 0
    rows = [json.loads(line)["classes"] for line in Path("p.jsonl").read_text().splitlines()]
    p = [next(one["probability"] for one in row if one["label"] == "good") for row in rows]
    assert run("filter m.model mail.jsonl -o k.jsonl --class good --above 0.5") == 0
    kept = [json.loads(line)["id"] for line in Path("k.jsonl").read_text().splitlines()]
    assert kept == [number for number, value in enumerate(p) if value >= 0.5]


@pytest.mark.slow
def test_stdin_to_stdout(folder):
    words = [sys.executable, "-m", "unnaive", "filter", "m.model", "-", "--class", "good", "--above", "0.5"]
    done = subprocess.run(words, input=Path("a.jsonl").read_bytes(), capture_output=True, check=True)
    assert run("filter m.model a.jsonl -o k.jsonl --class good --above 0.5") == 0
    assert done.stdout == Path("k.jsonl").read_bytes()
    assert b"kept 6 of 10 texts" in done.stderr


MISTAKES = {
    "filter m.model a.jsonl -o k.jsonl --class excellent --above 0.5": "no class called 'excellent'",
    "filter m.model a.jsonl -o k.jsonl --class good": "either --above 0.5, or --recall",
    "filter m.model a.jsonl -o k.jsonl --class good --above 0.5 --recall 0.9": "either --above 0.5, or --recall",
    "filter m.model a.jsonl -o k.jsonl --class good --recall 0.9": "add --held-out",
    "filter m.model a.jsonl -o k.jsonl --class good --above 1.5": "the probability is 1.5",
    "filter m.model a.jsonl -o k.jsonl --class good --recall 1.5 --held-out a.jsonl": "the recall is 1.5",
    "filter m.model a.jsonl -o k.jsonl --class good --recall 0.9 --held-out few.jsonl": "too few to guarantee",
    "filter m.model a.jsonl -o k.jsonl --class good --recall 0.9 --held-out bad.jsonl": "is labelled good",
    "filter m.model a.jsonl -o k.jsonl --class good --class bad --above 0.5": "all classes of the model",
    "filter m.model a.jsonl -o k.jsonl --class good --above 0.5 --text body": "body",
    "filter m.model a.jsonl -o a.jsonl --class good --above 0.5": "is read by this command",
    "filter m.model a.jsonl -o m.model --class good --above 0.5": "is read by this command",
    "filter m.model shards -o shards --class good --above 0.5": "is read by this command",
    "filter m.model shards -o shards/kept --class good --above 0.5": "is inside shards",
    "filter m.model shards -o a.jsonl --class good --above 0.5": "a.jsonl is a file",
    "filter m.model shards --class good --above 0.5": "name the folder with --output",
    "filter m.model shards -o new.jsonl --class good --above 0.5": "new.jsonl looks like a file",
    "filter m.model a.jsonl shards/../a.jsonl -o out --class good --above 0.5": "would both be written",
    "filter m.model a.jsonl -o k.parquet --class good --above 0.5": "the texts keep their format, jsonl",
    "filter m.model gone.jsonl -o k.jsonl --class good --above 0.5": "no file or folder called gone.jsonl",
    "filter m.model empty.jsonl -o k.jsonl --class good --above 0.5": "has no texts",
    "filter m.model cut.jsonl.gz -o k.jsonl --class good --above 0.5": "cut.jsonl.gz is truncated or damaged",
    "filter m.model table.csv -o k.csv --class good --above 0.5": "a format that cannot be filtered",
    "filter m.model array.json -o k.json --class good --above 0.5": "is one JSON array",
    "filter m.model - -o nothing --class good --above 0.5": "stdin can only be filtered into one file",
    "filter m.model nothing -o out --class good --above 0.5": "has no file to filter",
}


@pytest.mark.parametrize("words", MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_one_sentence(folder, capsys, words):
    write_shards(folder / "shards")
    Path("few.jsonl").write_text("".join(json.dumps({"text": t, "label": "good"}) + "\n" for t in GOOD))
    Path("bad.jsonl").write_text("".join(json.dumps({"text": t, "label": "bad"}) + "\n" for t in BAD))
    Path("empty.jsonl").write_text("")
    Path("nothing").mkdir()
    rng = np.random.default_rng(0)
    noise = [{"id": 1, "text": rng.bytes(4000).hex()} for _ in range(50)]
    Path("cut.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in noise).encode())[:-5000])
    Path("table.csv").write_text("text\nuseful\n")
    Path("array.json").write_text(json.dumps([{"text": "useful"}]))
    before = tree(folder)
    assert run(words) == 2
    said = capsys.readouterr().err
    assert MISTAKES[words] in said
    assert len([line for line in said.splitlines() if not line.startswith(("note:", "read "))]) == 1
    assert {name: data for name, data in tree(folder).items() if not name.startswith(("out/", "kept/"))} == before


@pytest.mark.slow
def test_datatrove_keeps_the_same(folder, fitted):
    for name in ("datatrove", "regex"):
        pytest.importorskip(name, reason="datatrove's filters are not installed: pip install 'datatrove[processing]'")
    from datatrove.executor.local import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    from unnaive.datatrove import UnnaiveFilter

    Path("in").mkdir()
    Path("in/a.jsonl").write_bytes(b"".join(lines_of([text for text in TEXTS * 30 if text])))
    step = UnnaiveFilter("m.model", "good", above=0.5, save_score="odds", batch_size=7,
                         exclusion_writer=JsonlWriter("dropped", compression=None))  # fmt: skip
    steps = [JsonlReader("in"), step, JsonlWriter("out", compression=None)]
    LocalPipelineExecutor(steps, tasks=1, logging_dir="logs", skip_completed=False).run()
    kept, dropped = (
        [json.loads(line) for path in Path(name).glob("*.jsonl") for line in path.read_text().splitlines()]
        for name in ("out", "dropped")
    )
    texts = [text for text in TEXTS * 30 if text]
    expected = keeps(fitted, texts)
    assert [row["text"] for row in kept] == [text for text, keep in zip(texts, expected, strict=True) if keep]
    assert len(dropped) == len(texts) - len(kept)
    rule = KeepRule.above(fitted, ["good"], 0.5)
    assert [row["metadata"]["odds"] for row in kept] == rule.scores([row["text"] for row in kept]).tolist()
    assert len(pickle.dumps(step)) < 3000  # each task opens the file itself
    assert pickle.loads(pickle.dumps(step)).rule.threshold == step.rule.threshold  # noqa: S301


def test_one_block_by_hand():
    scores = np.array([-np.inf, 0.0, 0.05, np.inf])
    found = tally_block("a", 0, ["w", "x", "y", "z"], scores, scores >= 0)
    assert (found.histogram[0], found.histogram[300], found.histogram[599]) == (1, 2, 1)
    assert [one.text for one in found.dropped] == ["w"]
    assert [one.text for one in found.barely] == ["x", "y", "z"]


def test_two_runs_into_one_folder_are_refused(folder, capsys):
    write_shards(folder / "shards")
    with open_filter_record(Path("kept"), {}, ()):
        assert exit_code(WORDS) == 2
    assert "another run is writing into kept" in capsys.readouterr().err
    Path("kept", RECORD_NAME).write_bytes(b"no record\n" * 100)
    assert exit_code(WORDS) == 2
    assert (
        "is damaged, or not a record of filtered shards (line 1 is not what was written); the"
        in capsys.readouterr().err
    )
