"""Inputs made to take long: processor time at n, 2n, 4n, 8n and 16n, for every reader and token rule.

A family is a name and a function from a size to what is read. The exponent is the slope of log time over log size by
least squares, over the sizes from 2n on, where constants have vanished. Of every size the least of several times,
taken in turn, counts: what else the machine does makes a time longer, never shorter. While the exponent is above
LARGEST more rounds are taken, and then all of them at sizes four times as large; if it stays so, the work is not
bounded by the size of the input.
Times are measured and reported by `make attack` alone; `make test` only reads each family once.
"""

import ctypes
import gc
import gzip
import json
import math
import random
import signal
import sqlite3
import tempfile
import time
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

from forks import REFUSED, SURVIVED, Tally

from unnaive.base.errors import UnnaiveError
from unnaive.io.datafiles import DataFile
from unnaive.io.read_options import ReadLog, ReadOptions
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

LARGEST = 1.2
DOUBLINGS = 5  # n, 2n, 4n, 8n, 16n
FIRST = 1  # the place of the smallest size that the slope is taken from
ROUNDS, MORE_ROUNDS = 2, 6  # over all sizes; and as many more, one by one, while the exponent is too large
SCALES = 2  # at how many scales, each four times the one before, a family grows too fast before it is said to
WORTH = 0.05  # processor seconds that the smallest size takes at least, where that can be
SMALLEST, MOST = 500, 1 << 17  # sizes at which the search for the smallest begins and ends
PATIENCE = 60  # processor seconds after which a size is given up

MAIL = {"message": "subject-body"}
HTML = {"strip_html": True}


class TookTooLong(Exception):
    """A size took more than PATIENCE."""


def mail(header, body="body\n"):
    """A message with these lines of header."""
    return f"From: ann\n{header}\n\n{body}"


def multiparts(depth):
    """A message of multiparts, each in the one before."""
    open_parts = "".join(f'Content-Type: multipart/mixed; boundary="b{n % 99}"\n\n--b{n % 99}\n' for n in range(depth))
    return open_parts + "\nwords\n" + "".join(f"--b{n % 99}--\n" for n in reversed(range(depth)))


def parts(n, part):
    """A message of n parts side by side."""
    return "Content-Type: multipart/mixed; boundary=x\n\n" + f"--x\n{part}\n" * n + "--x--\n"


def random_words(n):
    rng = random.Random(n)
    return " ".join(f"w{rng.getrandbits(40):x}" for _ in range(n))


# name → (fields of the token rule, size → text)
TEXTS = {
    "subject of broken encoded words": (MAIL, lambda n: mail("Subject: " + "=?utf-8?q?=C3?= " * n)),
    "subject of encoded words that never end": (MAIL, lambda n: mail("Subject: " + "=?a?q?x" * n)),
    "subject of encoded words in turn": (MAIL, lambda n: mail("Subject: " + "=?utf-8?b?w6k=?= =?cp1252?q?a?= " * n)),
    "subject of many lines": (MAIL, lambda n: mail("Subject: =?utf-8?q?a?=" + "\n =?utf-8?q?=C3=A9?=" * n)),
    "many subjects": (MAIL, lambda n: mail("Subject: =?utf-8?q?a?=\n" * n)),
    "parameters of a content type": (MAIL, lambda n: mail("Content-Type: multipart/mixed; boundary=x" + "; a=b" * n)),
    "open quotes in a content type": (MAIL, lambda n: mail('Content-Type: multipart/mixed; a="' + ";" * n)),
    "names of an attachment": (
        MAIL,
        lambda n: parts(1, "Content-Type: image/png" + "".join(f"; name*{k % 10}*=a" for k in range(n)) + "\n\nx"),
    ),
    "multiparts in multiparts": (MAIL, lambda n: mail(multiparts(n // 10))),
    "messages in messages": (MAIL, lambda n: "Content-Type: message/rfc822\n\n" * n),
    "many small parts": (MAIL, lambda n: parts(n, "\nsome words")),
    "parts of other bytes": (MAIL, lambda n: parts(n, "Content-Type: text/plain\n\na\udcc3")),
    "lines that are nearly a boundary": (MAIL, lambda n: parts(1, "\n" + "--xy\n" * n)),
    "quoted-printable of spaces": (
        MAIL, lambda n: mail("Content-Transfer-Encoding: quoted-printable", " " * n + "x\n"),
    ),
    "quoted-printable of escapes": (MAIL, lambda n: mail("Content-Transfer-Encoding: quoted-printable", "=C3=" * n)),
    "base64 of anything": (MAIL, lambda n: mail("Content-Transfer-Encoding: base64", "w6k\n=" * n)),
    "UU blocks that begin": (MAIL, lambda n: mail("Subject: uu", "begin 644 a\n#ABCD\n" * n)),
    "header without a body": (MAIL, lambda n: "A: b\n" * n),
    "tags that never end": (HTML, lambda n: "<a " * n),
    "bare angle brackets": (HTML, lambda n: "<" * n),
    "open comments": (HTML, lambda n: "<!-- -" * n),
    "scripts that nearly end": (HTML, lambda n: "<script>" + "</script " * n),
    "nested elements": (HTML, lambda n: "<div>" * n + "word" + "</div>" * n),
    "quoted attributes": (HTML, lambda n: "<a " + 'x="' * n),
    "entities without an end": (HTML, lambda n: "&amp" * n),
    "long names of entities": (HTML, lambda n: "&" + "a" * n),
    "HTML in mail": (MAIL | HTML, lambda n: mail("Content-Type: text/html", "<b>&eacute;" * n)),
    "one long word": ({}, lambda n: "a" * n),
    "one long word, stemmed": ({"stem": "porter"}, lambda n: "ation" * n),
    "one long word, Snowball": ({"stem": "snowball"}, lambda n: "ization" * n),
    "one long word, Turkish": ({"language": "tr", "stem": "snowball"}, lambda n: "lerİ" * n),
    "combining marks": ({}, lambda n: "e" + "\u0301" * n),
    "capital sigmas": ({"language": "el"}, lambda n: "Σ'\u0301" * n),
    "Chinese without spaces": ({}, lambda n: "中文" * n),
    "Thai without spaces": ({"unspaced": "whole"}, lambda n: "ภาษาไทย" * n),
    "joined emoji": ({}, lambda n: "👩\u200d" * n),
    "symbols": ({"symbols": True}, lambda n: ":-" * n + ")"),
    "character n-grams between spaces": ({"analyzer": "char"}, lambda n: "ab" * n),
    "character n-grams inside words": ({"analyzer": "char", "char_borders": "words"}, lambda n: "ab." * n),
    "words and character n-grams": ({"analyzer": "both"}, lambda n: "word " * n),
    "runs of eight words": ({"ngrams": (1, 8)}, lambda n: "a1 b2 " * n),
    "new words": ({}, random_words),
    "stopwords": ({"stopwords": "smart"}, lambda n: "the of and " * n),
}  # fmt: skip


def many_columns(n):
    names = ",".join(f"c{k}" for k in range(n))
    return f"text,label,{names}\n" + ("words,a" + ",1" * n + "\n") * 3


# name → (file name, size → content, options of reading)
FILES = {
    "CSV of doubled quotes": ("a.csv", lambda n: 'text,label\n"' + '""' * n + '",a\n', {}),
    "CSV of many columns": ("a.csv", many_columns, {}),
    "CSV of columns called alike": ("a.csv", lambda n: "text,label" + ",a" * n + "\nwords,b" + ",1" * n + "\n", {}),
    "CSV with an open quote": ("a.csv", lambda n: 'text,label\n"open,a\n' + "words,b\n" * n, {"skip_bad": True}),
    "CSV of ragged rows": ("a.csv", lambda n: "text,label\ngood,a\n" + "a,b,c\n" * n, {"skip_bad": True}),
    "CSV of empty lines": ("a.csv", lambda n: "text,label\ngood,a\n" + "\n" * n, {}),
    "CSV of one long line": ("a.csv", lambda n: "text,label\n" + "word " * n + ",a\n", {}),
    "CSV of carriage returns": ("a.csv", lambda n: "text,label\r" + "words,a\r" * n, {}),
    "CSV of many classes": ("a.csv", lambda n: "text,label\n" + "".join(f"word,c{k}\n" for k in range(n)), {}),
    "CSV of many labels": ("a.csv", lambda n: "text,label\nword,\"['a'" + ",'b'" * n + "]\"\n", {}),
    "JSON lines of many keys": (
        "a.jsonl", lambda n: json.dumps({"text": "a", "label": "b"} | {f"k{k}": k for k in range(n)}) + "\n", {},
    ),
    "JSON lines of nested keys": (
        "a.jsonl", lambda n: json.dumps({"text": "a", "label": "b"} | {f"k{k}": {"a": {"b": "c"}} for k in range(n)}),
        {},
    ),
    "JSON lines of escapes": ("a.jsonl", lambda n: '{"label": "a", "text": "' + "\\u00e9\\n" * n + '"}\n', {}),
    "JSON of deep brackets": (
        "a.jsonl", lambda n: '{"text": "a", "label": "b"}\n{"text": ' + "[" * n + "\n", {"skip_bad": True},
    ),
    "JSON array": ("a.json", lambda n: "[" + '{"text": "a", "label": "b"},\n' * n + '{"text": "a", "label": "b"}]', {}),
    "fastText labels": ("a.txt", lambda n: "__label__a " * n + "word\n", {}),
    "fastText labels that are none": ("a.txt", lambda n: "__label__a " + "x__label__" * n + "word\n", {}),
    "lines in a code page": ("a.csv", lambda n: b"text,label\n" + b"caf\xe9,a\n" * n, {}),
    "lines with NULs": ("a.csv", lambda n: b"text,label\n" + b"word\0word word word,a\n" * n, {}),
    "gzip of many members": (
        "a.csv.gz", lambda n: gzip.compress(b"text,label\n") + gzip.compress(b"words,a\n") * (n // 4 + 1), {},
    ),
}  # fmt: skip


def read_text(name, folder):
    """What reads the text of a family at a size."""
    options, make = TEXTS[name]
    rule = TokenRule(**options)

    def prepare(n):
        text = make(n)
        return lambda: TextCounter(rule, threads=1).count([text], grow=True)

    return prepare


def read_file(name, folder):
    """What reads the file of a family at a size."""
    file_name, make, options = FILES[name]

    def prepare(n):
        content = make(n)
        path = Path(folder) / str(n) / file_name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return lambda: read(path, options)

    return prepare


def read(path, options):
    """All documents with their labels."""
    label = None if path.suffix == ".txt" else "label"  # named, or a column of many classes is taken for ids
    source = DataFile(str(path), label=label, options=ReadOptions(threads=1, log=ReadLog(), **options))
    return sum(len(batch.texts) for batch in source.batches(labelled=True))


def read_view(name, folder):
    """A view of SQLite that makes as many rows as it is told, from nothing."""

    def prepare(n):
        path = Path(folder) / f"{n}.db"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as database:
            database.execute(
                "CREATE VIEW texts AS WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more "
                f"LIMIT {n}) SELECT 'word ' || n AS text, 'a' AS label FROM more"
            )
        database.close()
        return lambda: read(path, {})

    return prepare


def write_row_groups(path, n):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"text": ["some words"] * n, "label": ["a"] * n})
    pyarrow.parquet.write_table(table, path, row_group_size=16)


def write_sheet(path, n):
    cells = ["text", *(f"word {k}" for k in range(n))]
    rows = "".join(f'<row><c t="inlineStr"><is><t>{cell}</t></is></c></row>' for cell in cells)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    sheets = '<sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType='
        f'"{sheet}.sheet.main+xml"/><Override PartName="/xl/s.xml" ContentType="{sheet}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type='
        f'"{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}">{sheets}</workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type='
        f'"{office}/worksheet" Target="s.xml"/></Relationships>',
        "xl/s.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as book_file:
        for name, content in parts.items():
            book_file.writestr(name, content)


def write_folder(path, n):
    (path / "a").mkdir(parents=True)
    for k in range(n // 10):
        (path / "a" / f"{k}.txt").write_text("some words")


# name → (file name, function that writes it at a size); read without labels
WRITTEN = {
    "mailbox of small messages": ("a.mbox", lambda path, n: path.write_text("From ann\nSubject: a\n\nword\n\n" * n)),
    "mailbox of lines that nearly begin a message": (
        "a.mbox", lambda path, n: path.write_text("From ann\nSubject: a\n\n" + ">From ann\nFrom\n" * n),
    ),
    "lines of nothing": ("a.txt", lambda path, n: path.write_text("words\n" + "\n" * n)),
    "Parquet of many row groups": ("a.parquet", write_row_groups),
    "spreadsheet of cells without a place": ("a.xlsx", write_sheet),
    "folder of many files": ("folder", write_folder),
}  # fmt: skip


def read_written(name, folder):
    """What reads the file or folder of a family at a size, once it is written."""
    file_name, write = WRITTEN[name]

    def prepare(n):
        path = Path(folder) / f"{len(list(Path(folder).iterdir()))}-{n}" / file_name
        path.parent.mkdir()
        write(path, n)
        source = DataFile(str(path), options=ReadOptions(threads=1, log=ReadLog()))
        return lambda: sum(len(batch.texts) for batch in source.batches(labelled=False))

    return prepare


FAMILIES = (
    dict.fromkeys(TEXTS, read_text)
    | dict.fromkeys(FILES, read_file)
    | {"SQLite view of many rows": read_view}
    | dict.fromkeys(WRITTEN, read_written)
)


def spend(work):
    """(processor seconds, whether it was refused with a sentence)."""

    def give_up(*_):
        raise TookTooLong

    gc.collect()
    refused = False
    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
    except UnnaiveError:
        refused = True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return time.process_time() - start, refused


def measure(prepare):
    """(exponent, sizes, processor seconds at each, whether the largest was refused)."""
    spend(prepare(SMALLEST))  # what is loaded once
    n = SMALLEST
    while n < MOST and spend(prepare(n))[0] < WORTH:
        n *= 2
    for _ in range(SCALES):
        found = measure_at(prepare, [n << doubling for doubling in range(DOUBLINGS)])
        if is_bounded(found):
            break
        n *= 4  # a step, where a cache is full, is left behind; a power stays
    return found


def measure_at(prepare, sizes):
    """The same at given sizes: some rounds over all of them, and more while the exponent is too large."""
    works, best = [prepare(size) for size in sizes], [math.inf] * len(sizes)
    for number in range(ROUNDS + MORE_ROUNDS):
        for place, work in enumerate(works):
            seconds, refused = spend(work)
            best[place] = min(best[place], seconds)
        found = slope(sizes[FIRST:], best[FIRST:]), sizes, best, refused
        if number + 1 >= ROUNDS and is_bounded(found):
            break
    return found


def slope(sizes, seconds):
    """Of log time over log size, by least squares; only times below a millisecond count as one."""
    xs, ys = [math.log(size) for size in sizes], [math.log(max(value, 1e-3)) for value in seconds]
    middle, level = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    return sum((x - middle) * (y - level) for x, y in zip(xs, ys, strict=True)) / spread


def is_bounded(found):
    """Whether time grows at most as LARGEST says, or the largest size takes so little that no power can be in it."""
    exponent, _, seconds, _ = found
    return exponent <= LARGEST or seconds[-1] < WORTH


def keep_memory():
    """Let glibc keep what is freed: else pages are mapped anew from 32 MB on, which is a step and no growth."""
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        library.mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD


def attack_growth(measured, names=tuple(FAMILIES), tell=lambda words: None):
    """Each family; `measured` also tells how time grows, and one that grows faster than LARGEST has crashed."""
    tally = Tally("inputs made to take long")
    if measured:
        keep_memory()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            prepare = FAMILIES[name](name, folder)
            try:
                if not measured:
                    tally.add(REFUSED if spend(prepare(SMALLEST))[1] else SURVIVED)
                    continue
                found = measure(prepare)
            except TookTooLong:
                tally.add("crashed", f"{name}: more than {PATIENCE} s")
                continue
            exponent, sizes, seconds, refused = found
            note = f"{name}: exponent {exponent:.2f}, {seconds[-1]:.2f} s at {sizes[-1]:,}"
            tell(f"  {note}{', refused' if refused else ''}")
            tally.add("crashed" if not is_bounded(found) else REFUSED if refused else SURVIVED, note)
    return tally
