"""Hostile data files: each trains a model, or is refused in one sentence, in bounded time and memory."""

import bz2
import gzip
import io
import json
import os
import random
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from forks import Tally

ROWS = [("good ball game", "sport"), ("fair vote law", "politics")] * 5
MEMORY = 4 << 30
SECONDS = 120


def hostile_files(scale):
    """(name of the file, its bytes) of all; `scale` says how many are made at random."""
    yield from _tables()
    yield from _json_lines()
    yield from _archives()
    yield from _at_random(scale)


def _tables():
    good = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)
    yield "good.csv", good.encode()
    yield "empty.csv", b""
    yield "header.csv", b"text,label\n"
    yield "nul.csv", good.replace("ball", "ba\0ll").encode()
    yield "escapes.csv", good.replace("sport", "\x1b[31msport\u202e").encode()
    yield "formula.csv", good.replace("sport", "=HYPERLINK(1)").encode()
    yield "open-quote.csv", good.encode() + b'"never closed,sport\n' + b"x,y\n" * 1000
    yield "one-line.csv", b"text,label\n" + b"word " * 2_000_000 + b",sport\nvote,politics\n"
    yield "wide.csv", b",".join(b"c%d" % n for n in range(20_000)) + b"\n" + b"," * 19_999 + b"\n"
    yield "blank-lines.csv", b"text,label\n" + b"\n" * 1_000_000 + b"ball,sport\nvote,politics\n"
    yield "utf16.csv", good.encode("utf-16")
    yield "utf32.csv", good.encode("utf-32")
    yield "latin1.csv", good.replace("ball", "bäll").encode("latin-1")
    yield "bom.csv", b"\xef\xbb\xbf" + good.encode()
    yield "carriage.csv", good.replace("\n", "\r").encode()
    yield "bad-utf8.csv", good.encode().replace(b"ball", b"ba\xff\xfell")
    yield "many-labels.csv", b"text,label\n" + b"".join(b"word%d,class%d\n" % (n, n) for n in range(5_000))
    yield "ragged.csv", b"text,label\na,b,c,d,e\nf\n,,,\n" + good.encode()
    yield "same-columns.csv", good.replace("text,label", "text,text").encode()
    yield "binary.csv", random.Random(1).randbytes(100_000)
    yield "zeros.tsv", b"\0" * 1_000_000


def _json_lines():
    good = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS)
    yield "good.jsonl", good.encode()
    yield "deep.jsonl", good.encode() + b'{"text": ' + b"[" * 200_000 + b"]" * 200_000 + b', "label": "x"}\n'
    yield "deep-objects.jsonl", good.encode() + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n"
    yield "numbers.jsonl", good.encode() + b'{"text": 1e999, "label": ' + b"9" * 5_000 + b"}\n"
    yield "surrogates.jsonl", good.replace("ball", "\\ud800").replace("sport", "sp\\udfffort").encode()
    yield "no-object.jsonl", b"[1]\n2\nnull\n" + good.encode()
    yield "twice.jsonl", b'{"text": "a", "text": {"b": 1}, "label": ["x", ["y"]]}\n' + good.encode()
    yield "nan.jsonl", b'{"text": NaN, "label": Infinity}\n' + good.encode()
    yield "cut.jsonl", good.encode()[:-9]
    yield "long-key.jsonl", b'{"' + b"k" * 5_000_000 + b'": 1}\n' + good.encode()


def _archives():
    good = b"text,label\n" + b"ball,sport\nvote,politics\n" * 3
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../evil.csv", good)
        archive.writestr("bomb.csv", b"\0" * 50_000_000)
    yield "archive.zip", packed.getvalue()
    yield "archive.csv", packed.getvalue()
    yield "cut.zip", packed.getvalue()[:100]
    yield "good.csv.gz", gzip.compress(good)
    yield "cut.csv.gz", gzip.compress(good)[:-6]
    yield "bomb.csv.gz", gzip.compress(b"text,label\n" + b"\0" * 200_000_000, 9)
    yield "nested.csv.gz", gzip.compress(gzip.compress(good))
    yield "not.csv.gz", good
    yield "not.csv.zst", good
    yield "other.csv.bz2", bz2.compress(good)


def _parquet():
    table = pa.table({"text": [text for text, _ in ROWS], "label": [label for _, label in ROWS]})
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _at_random(scale):
    sources = {"parquet": _parquet(), "csv": _tables_bytes(), "csv.gz": gzip.compress(_tables_bytes())}
    yield "good.parquet", sources["parquet"]
    yield "magic.parquet", b"PAR1PAR1"
    for number in range(scale):
        rng = random.Random(number)
        ending = rng.choice(sorted(sources))
        raw = bytearray(sources[ending])
        for _ in range(rng.randrange(1, 12)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        yield f"random{number}.{ending}", bytes(raw[: rng.choice([len(raw), rng.randrange(len(raw))])])


def _tables_bytes():
    return ("text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)).encode()


SCRIPT = """
import json, sys
from unnaive.apps.cli.main import exit_code
for line in sys.stdin:
    path = line.rstrip("\\n")
    code = exit_code(["train", path, "-o", path + ".model"])
    print(f"@{code}", file=sys.stderr, flush=True)
"""


def attack_corpora(folder, scale):
    """Train on every file, all in one process unless one crashes it."""
    tally = Tally("hostile data files")
    files = []
    for name, content in hostile_files(scale):
        files.append(Path(folder) / name)
        files[-1].write_bytes(content)
    while files:
        said, code = _run(files)
        answers = _answers(said)
        for sentence, status in answers:
            _judge(tally, files.pop(0).name, sentence, status)
        if files:
            tally.add("crashed", f"{files.pop(0).name}: exit {code}, {said[-200:]!r}")
    return tally


def _run(files):
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, errors="replace", env=os.environ | {"NO_COLOR": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip
    try:
        _, said = child.communicate("".join(f"{path}\n" for path in files), timeout=SECONDS + 2 * len(files))
    except subprocess.TimeoutExpired:
        child.kill()
        _, said = child.communicate()
    return said, child.returncode


def _answers(said):
    """(what was said, exit status) for each file that was finished."""
    found, lines = [], []
    for line in said.splitlines():
        if line.startswith("@"):
            found.append(("\n".join(lines), int(line[1:])))
            lines = []
        else:
            lines.append(line)
    return found


def _judge(tally, name, sentence, status):
    lines = [line for line in sentence.splitlines() if not line.startswith("note:")]
    if status == 0:
        tally.add("survived")
    elif status == 2 and len(lines) == 1 and lines[0].startswith("unnaive: "):
        tally.add("refused")
    else:
        tally.add("crashed", f"{name}: exit {status}: {sentence[:200]!r}")
