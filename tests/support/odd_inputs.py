"""Odd inputs, each with the rows that it has, or the sentence that refuses it: for every command, local and on Spark.

`make(folder)` writes the input and returns its path, or paths. `rows` are (text, labels) of all rows, also of those
without a label; `sentence` is part of the error of commands that need labels, and `plain` that of the others, which
read `n_plain` rows unless it is given.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code

MESSY = Path(__file__).parents[1] / "messy" / "files"
ROWS = [("red ball", "a"), ("blue vote", "b"), ("red goal", "a"), ("blue law", "b")]
A, B = ("a",), ("b",)
READ = [(text, (label,)) for text, label in ROWS]
CSV = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)
JSONL = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS)


@dataclass(frozen=True)
class OddInput:
    """An input; see the module. `words` are options of every command, `label_words` of those that need labels."""

    name: str
    make: Callable[[Path], Any]
    rows: tuple = ()
    sentence: str = ""
    plain: str = ""
    n_plain: int | None = None
    words: tuple = ()
    label_words: tuple = ()
    only_local: str = ""

    def __str__(self):
        return self.name

    @property
    def n_learnt(self):
        """The rows that training and evaluating use: in multilabel data all, else those with a label."""
        several = any(len(names) > 1 for _, names in self.rows)
        return len(self.rows) if several else sum(bool(names) for _, names in self.rows)

    @property
    def n_read(self):
        """The rows that commands without labels read."""
        return len(self.rows) if self.n_plain is None else self.n_plain


def file(name, content):
    """A function that writes a file."""

    def make(folder):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def files(returned, **contents):
    """A function that writes several files, / in a name as §, and returns `returned` below the folder."""

    def make(folder):
        for name, content in contents.items():
            file(name, content)(folder)
        return [folder / name for name in returned] if isinstance(returned, list) else folder / returned

    return make


def parquet(name="d.parquet", columns=None, **more):
    """A function that writes Parquet."""

    def make(folder):
        values = {"text": [text for text, _ in ROWS], "label": [label for _, label in ROWS]} | (columns or {})
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(values), folder / name, **more)
        return folder / name

    return make


def doubled_parquet(folder):
    """Two columns called label."""
    arrays = [pa.array(values) for values in ([t for t, _ in ROWS], [x for _, x in ROWS], ["c"] * 4)]
    pq.write_table(pa.table(arrays, names=["text", "label", "label"]), folder / "d.parquet")
    return folder / "d.parquet"


def partitions(folder):
    """A table of Hive: the year in the path."""
    for year in (2023, 2024):
        parquet(f"t/year={year}/part-0.parquet")(folder)
    return folder / "t"


def database(*statements, name="d.db", path=None):
    """A function that makes a SQLite database."""

    def make(folder):
        connection = sqlite3.connect(folder / name)
        connection.execute(statements[0])
        for statement in statements[1:]:
            if "?" in statement:
                connection.executemany(statement, ROWS)
            else:
                connection.execute(statement)
        connection.commit()
        connection.close()
        return folder / name

    return make


def sheet(*rows):
    """A function that writes a workbook."""

    def make(folder):
        import openpyxl

        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(folder / "d.xlsx")
        return folder / "d.xlsx"

    return make


def lines(*records):
    """Lines of JSON."""
    return "".join(json.dumps(record) + "\n" for record in records)


def table(*rows, delimiter=",", end="\n"):
    """CSV as Python writes it."""
    content = io.StringIO(newline="")
    csv.writer(content, delimiter=delimiter, lineterminator=end).writerows(rows)
    return content.getvalue()


def labelled(*labels):
    """The rows of the table with other labels, in CSV."""
    return table(("text", "label"), *((text, label) for (text, _), label in zip(ROWS, labels, strict=True)))


def read(*labels):
    """The rows with other label sets."""
    return tuple((text, names) for (text, _), names in zip(ROWS, labels, strict=True))


STUDIO = [
    {"data": {"text": text}, "annotations": [{"result": [{"value": {"choices": [label]}}]}]} for text, label in ROWS
]
PZSTD = b"\x50\x2a\x4d\x18\x04\0\0\0" + (0).to_bytes(4, "little")


def pzstd(folder):
    """A file as pzstd writes it: a frame to skip comes first."""
    return file("d.csv.zst", PZSTD + pa.Codec("zstd").compress(CSV.encode(), asbytes=True))(folder)


def I(name, make, *, rows=READ, **more):  # noqa: E743, a short name keeps the table readable
    """One input of the table; with a sentence it has no rows."""
    return OddInput(name, make, () if "sentence" in more and "n_plain" not in more else tuple(rows), **more)


BAD = {"plain": "", "n_plain": 0}
ODD_INPUTS = [
    # CSV
    I("plain CSV", file("d.csv", CSV)),
    I("CSV, columns in another order in the second file", files(["a.csv", "b.csv"], **{
        "a.csv": CSV, "b.csv": "label,text\na,red ball\nb,blue vote\n"}), rows=[*READ, *READ[:2]]),
    I("CSV, the second file lacks the labels", files(["a.csv", "b.csv"], **{"a.csv": CSV, "b.csv": "text\nred\n"}),
      rows=(), sentence="b.csv has no column 'label', which the first file has", n_plain=5),
    I("CSV, the second file lacks a column of numbers", files(["a.csv", "b.csv"], **{
        "a.csv": "text,label,n\nred,a,1\nblue,b,2\n", "b.csv": "text,label\ngreen,a\n"}),
      rows=[("red", A), ("blue", B), ("green", A)]),
    I("CSV with quotes and line ends inside", file("d.csv", table(
        ("text", "label"), ('a "good", ball\nand goal', " a "), ("fair vote; new law", "b"), ("red\r\nball", "a"))),
      rows=[('a "good", ball\nand goal', A), ("fair vote; new law", B), ("red\r\nball", A)]),
    I("CSV with semicolons", file("d.csv", CSV.replace(",", ";"))),
    I("CSV with tabs, called .csv", file("d.csv", CSV.replace(",", "\t"))),
    I("CSV with bars", file("d.csv", CSV.replace(",", "|"))),
    I("TSV", file("d.tsv", CSV.replace(",", "\t"))),
    I("CSV with the line sep=;", file("d.csv", "sep=;\n" + CSV.replace(",", ";"))),
    I("CSV with a byte-order mark", file("d.csv", "\ufeff" + CSV)),
    I("CSV joined from two files with marks", file("d.csv", f"\ufeff{CSV}\ufeff{CSV}"), rows=[*READ, *READ],
      n_plain=9),
    I("CSV in UTF-16", file("d.csv", CSV.encode("utf-16"))),
    I("CSV in Latin-1", file("d.csv", CSV.replace("red", "réd").encode("latin-1")),
      rows=[(text.replace("red", "réd"), names) for text, names in READ]),
    I("CSV in two encodings", file("d.csv", CSV.encode() + "été,a\n".encode() + "été,a\n".encode("cp1252")),
      rows=[*READ, ("été", A), ("été", A)]),
    I("CSV in Turkish code page, said so", file("d.csv", CSV.replace("red", "kırmızı").encode("cp1254")),
      words=("--set", "encoding=cp1254"), rows=[(text.replace("red", "kırmızı"), names) for text, names in READ]),
    I("CSV in Hindi", file("d.csv", CSV.replace("red", "लाल")), rows=[(t.replace("red", "लाल"), n) for t, n in READ]),
    I("CSV with a wide row", file("d.csv", CSV + "one, two,three,b\n"),
      sentence="line 6 of", plain="line 6 of"),
    I("CSV with a wide row, skipped", file("d.csv", CSV + "one, two,three,b\n"), words=("--set", "skip-bad=true",)),
    I("CSV with a narrow row", file("d.csv", CSV + "one\n"), sentence="line 6 of", plain="line 6 of"),
    I("CSV with a quote that is never closed", file("d.csv", CSV + '"red,a\n'),
      sentence="opens a quote that is never closed", plain="opens a quote that is never closed"),
    I("CSV with a stray quote", file("d.csv", 'text,label\n"red ball,a\n' + CSV[11:]),
      sentence="line 2 of", plain="line 2 of"),
    I("CSV with only a header", file("d.csv", "text,label\n"), sentence="no documents", plain="no documents"),
    I("an empty CSV", file("d.csv", ""), sentence="is empty", plain="is empty"),
    I("CSV with the header again in the middle", file("d.csv", CSV + CSV), rows=[*READ, *READ], n_plain=9),
    I("CSV with CR LF", file("d.csv", CSV.replace("\n", "\r\n"))),
    I("CSV with CR only", file("d.csv", CSV.replace("\n", "\r"))),
    I("CSV with blank lines", file("d.csv", CSV.replace("\n", "\n\n"))),
    I("CSV with a NUL in a text", file("d.csv", CSV.replace("red goal", "red\0goal")),
      rows=[READ[0], READ[1], ("red\0goal", A), READ[3]]),
    I("CSV without a header", file("d.csv", CSV[11:] + "a long text with many words,a\n"),
      sentence="looks like data", plain="looks like"),
    I("CSV without a header, said so", file("d.csv", CSV[11:]), words=("--set", "header=false", "--text", "1"),
      label_words=("--label", "2")),
    I("CSV with two columns of labels", file("d.csv", table(("text", "label", "label"), *((*r, "c") for r in ROWS))),
      label_words=("--label", "label"), rows=(), sentence="has 2 columns called 'label'", n_plain=4),
    I("CSV with two columns of labels, by number",
      file("d.csv", table(("text", "label", "label"), *((*r, "c") for r in ROWS))), label_words=("--label", "2")),
    I("CSV with lists of labels in JSON", file("d.csv", labelled('["a"]', '["b", "caf\\u00e9"]', '["a"]', '["b"]')),
      rows=read(A, ("b", "café"), A, B)),
    I("CSV with lists of labels in Python", file("d.csv", labelled("['a', 3]", "['b']", "['a']", "[]")),
      rows=read(("a", "3"), B, A, ())),
    I("CSV with labels by semicolon", file("d.csv", labelled("a; b", "b", "a", "b;")), label_words=(
        "--label-separator", ";"), rows=read(("a", "b"), B, A, B)),
    I("CSV with columns of 0 and 1", file("d.csv", "text,is_a,is_b\nred ball,1,0\nblue vote,0,1\nred goal,yes,no\n"
      "blue law,,x\n"), label_words=("--set", "label-columns=is_*")),
    I("CSV with a column of 0 and 1 that has a 2", file("d.csv", "text,is_a,is_b\nred ball,2,0\nblue vote,0,1\n"),
      label_words=("--set", "label-columns=is_*"), rows=(), sentence="the column of label 'a' has '2'", n_plain=2),
    I("CSV with rows without a label", file("d.csv", CSV + "no label,\nnone,  \n"),
      rows=[*READ, ("no label", ()), ("none", ())]),
    I("CSV without any label", file("d.csv", "text,label\nred,\nblue,\n"), rows=[("red", ()), ("blue", ())],
      sentence="no document has a label", n_plain=2),
    I("CSV with the label N/A, left out", file("d.csv", labelled("a", "N/A", "a", "b")),
      label_words=("--set", "ignore-label=N/A"), rows=read(A, (), A, B)),
    I("CSV with labels in two cases, folded", file("d.csv", labelled("A", "b", "a", "B")),
      label_words=("--set", "lower-labels=true",)),
    I("CSV with whole numbers and gaps, as pandas writes labels", file("d.csv", labelled("1.0", "2.0", "", "1.0")),
      rows=read(("1",), ("2",), (), ("1",))),
    I("CSV with versions as labels", file("d.csv", labelled("1.0", "1.1", "1.0", "2.0")),
      rows=read(("1.0",), ("1.1",), ("1.0",), ("2.0",))),
    I("CSV with empty texts", file("d.csv", CSV + ",a\n,b\n"), rows=[*READ, ("", A), ("", B)]),
    I("CSV with numbers as texts", file("d.csv", "text,label\n1,a\n2.50,b\n007,a\n"),
      rows=[("1", A), ("2.50", B), ("007", A)]),
    I("CSV with a long cell", file("d.csv", CSV + "x" * 300_000 + ",a\n"), rows=[*READ, ("x" * 300_000, A)]),
    I("CSV packed by gzip", file("d.csv.gz", gzip.compress(CSV.encode()))),
    I("CSV packed by bzip2", file("d.csv.bz2", bz2.compress(CSV.encode()))),
    I("CSV packed by xz", file("d.csv.xz", lzma.compress(CSV.encode()))),
    I("CSV packed by pzstd", pzstd),
    I("CSV packed by gzip, cut", file("d.csv.gz", gzip.compress(CSV.encode() * 99)[:-9]),
      sentence="is truncated or damaged", plain="is truncated or damaged"),
    I("CSV that is a workbook", file("d.csv", b"PK\x03\x04" + b"\0" * 60), sentence="zip archive", plain="zip archive"),
    I("a table of Orange", lambda folder: MESSY / "orange.tab", rows=[("win a prize", ("spam",)),
      ("see you at five", ("ham",))], words=("--text", "text")),
    # JSON
    I("JSON lines", file("d.jsonl", JSONL)),
    I("a JSON array", file("d.json", json.dumps([json.loads(line) for line in JSONL.splitlines()]))),
    I("JSON lines, one broken", file("d.jsonl", JSONL + '{"text": "red", "label"\n'),
      sentence="line 5 of", plain="line 5 of"),
    I("JSON lines, one broken, skipped", file("d.jsonl", JSONL + '{"text": "red", "label"\n'), words=("--set",
    "skip-bad=true",)), I("JSON lines, one no object", file("d.jsonl", JSONL + '"red"\n'),
      sentence="line 5 of", plain="line 5 of"),
    I("JSON lines, one without a text", file("d.jsonl", JSONL + '{"label": "a"}\n'),
      sentence="has no key 'text'", plain="has no key 'text'"),
    I("JSON lines with keys inside", file("d.jsonl", lines(*({"data": {"text": t}, "label": x} for t, x in ROWS))),
      words=("--text", "data.text")),
    I("JSON lines with lists of labels", file("d.jsonl", lines({"text": "red", "label": ["a", 3]},
      {"text": "blue", "label": []})), rows=[("red", ("a", "3")), ("blue", ())]),
    I("JSON lines with numbers as labels", file("d.jsonl", lines(*({"text": t, "label": n} for (t, _), n in
      zip(ROWS, (1, 2.5, 1, 2.5), strict=True)))), rows=read(("1",), ("2.5",), ("1",), ("2.5",))),
    I("JSON lines with a key that comes late", file("d.jsonl", JSONL * 60 + lines({"text": "x", "label": "a",
      "late": 1})), rows=[*READ * 60, ("x", A)]),
    I("JSON lines with nulls", file("d.jsonl", JSONL + lines({"text": None, "label": "a"}, {"text": "x",
      "label": None})), rows=[*READ, ("", A), ("x", ())]),
    I("JSON lines with half a surrogate pair", file("d.jsonl", JSONL + '{"text": "x \\ud83d y", "label": "a"}\n'),
      rows=[*READ, ("x \ud83d y", A)]),
    I("JSON lines with a list as a text", file("d.jsonl", JSONL + lines({"text": ["x"], "label": "a"})),
      sentence="is a list; expected a string", plain="is a list; expected a string"),
    I("a file of Label Studio", file("d.json", json.dumps(STUDIO)), words=("--text", "data.text")),
    I("a file of Label Studio of another shape", file("d.json", json.dumps([{**STUDIO[0], "annotations": [
        {"result": 3}]}])), sentence="'result' is a number", plain="'result' is a number",
      words=("--text", "data.text")),
    I("brackets nested too deeply", file("d.jsonl", JSONL + '{"text": ' + "[" * 100_000 + "\n"),
      sentence="line 5 of", plain="line 5 of"),
    # Parquet
    I("Parquet", parquet()),
    I("Parquet with lists of labels", parquet(columns={"label": [["a"], ["b", "c"], [], ["a"]]}),
      rows=read(A, ("b", "c"), (), A)),
    I("Parquet with binary labels", parquet(columns={"label": [b"a", "é".encode(), b"a", b"b"]}),
      rows=read(A, ("é",), A, B)),
    I("Parquet with numbers as labels, and gaps", parquet(columns={"label": pa.array([1, None, 2, 1])}),
      rows=read(("1",), (), ("2",), ("1",))),
    I("Parquet with whole numbers and gaps, as pandas writes labels", parquet(columns={"label": pa.array(
      [1.0, None, 2.0, 1.0])}), rows=read(("1",), (), ("2",), ("1",))),
    I("Parquet with a dictionary", parquet(columns={"label": pa.array(["a", "b", "a", "b"]).dictionary_encode()})),
    I("Parquet with a date after Python's last", parquet(columns={"when": pa.array([3 * 10**11] * 4,
      pa.timestamp("s"))})),
    I("Parquet with nanoseconds in an unknown zone", parquet(columns={"when": pa.array([1] * 4,
      pa.timestamp("ns", "Mars/Phobos"))})),
    I("Parquet with nulls as texts", parquet(columns={"text": ["red ball", None, "red goal", "blue law"]}),
      rows=[READ[0], ("", B), *READ[2:]]),
    I("Parquet with two columns of labels", doubled_parquet, label_words=("--label", "label"), rows=(),
      sentence="has 2 columns called 'label'", n_plain=4),
    I("Parquet that is cut", file("d.parquet", b"PAR1" + b"\0" * 99), sentence="incomplete Parquet",
      plain="incomplete Parquet"),
    I("partitions of Hive", partitions, rows=[*READ, *READ]),
    I("part files of Spark, one of them empty", files("t", **{"t/part-0.csv": CSV, "t/part-1.csv": "",
      "t/part-2.csv": CSV, "t/_SUCCESS": "", "t/.part-0.csv.crc": b"crc\0"}), rows=[*READ, *READ]),
    I("part files, the second one broken", files("t", **{"t/0.jsonl": JSONL, "t/1.jsonl": JSONL + "{\n"}),
      sentence="line 5 of", plain="line 5 of"),
    I("part files, named one by one, one empty", files(["0.csv", "1.csv"], **{"0.csv": CSV, "1.csv": ""}),
      sentence="1.csv is empty", plain="1.csv is empty"),
    # Databases, workbooks, folders, texts
    I("SQLite", database("CREATE TABLE t (text, label)", "INSERT INTO t VALUES (?, ?)")),
    I("SQLite with a generated column", database("CREATE TABLE t (text, z, label AS (substr(text, 1, 1)))",
      "INSERT INTO t (text, z) VALUES (?, ?)"), rows=read(("r",), B, ("r",), B)),
    I("SQLite with two tables", database("CREATE TABLE t (text, label)", "CREATE TABLE u (text, label)"),
      sentence="has 2 tables", plain="has 2 tables"),
    I("a database that is none", file("d.db", "no database at all" * 99), sentence="cannot be read as a SQLite",
      plain="cannot be read as a SQLite"),
    I("a sheet with a title", sheet(["Tickets"], [], ["text", "label"], *map(list, ROWS))),
    I("a sheet with a wide row", sheet(["text", "label"], ["one, two", "three", "b"], *map(list, ROWS)),
      sentence="row 2 of", plain="row 2 of"),
    I("a folder for each class", files("t", **{f"t/{label}/{n}.txt": text for n, (text, label) in enumerate(ROWS)}),
      rows=[READ[0], READ[2], READ[1], READ[3]]),
    I("a folder for each class, packed", files("t", **{f"t/{label}/{n}.txt.gz": gzip.compress(text.encode())
      for n, (text, label) in enumerate(ROWS)}), rows=[READ[0], READ[2], READ[1], READ[3]]),
    I("a folder for each class, with a picture", files("t", **{"t/a/1.txt": "red", "t/b/1.png": b"\x89PNG\r\n"}),
      sentence="is a picture, not a text", plain="is a picture, not a text"),
    I("lines of fastText", file("d.txt", "".join(f"__label__{label} {text}\n" for text, label in ROWS))),
    I("a no-break space in a label of fastText", file("d.txt", "__label__new\u00a0york red\n__label__b blue\n"),
      rows=[("red", ("new\u00a0york",)), ("blue", B)]),
    I("lines of text", file("d.txt", "red ball\nblue vote\n"), rows=(), sentence="d.txt", n_plain=2),
    I("mailboxes by class", files(["a.mbox", "b.mbox"], **{f"{x}.mbox": f"From x\nSubject: hi {x}\n\nred {x}\n\n"
      "From x\nSubject: again\n\nblue\n" for x in "ab"}), rows=[("", A)] * 2 + [("", B)] * 2),
    I("no file", lambda folder: folder / "nothing.csv", sentence="no file or folder called", plain="no file or folder"),
]  # fmt: skip


def save_small_model(folder):
    """A model of two classes, red and blue."""
    TextClassifier("multinomial").fit(["red ball", "blue vote"], ["a", "b"]).save(folder / "m.model")
    return folder / "m.model"


def paths_of(given, folder):
    """The paths of an input, made in the folder."""
    made = given.make(folder)
    return made if isinstance(made, list) else [made]


def command_runner(capture):
    """A function that runs a command without a traceback: (exit code, stdout, stderr)."""

    def command(*words):
        capture.readouterr()
        code = exit_code([str(word) for word in words])
        captured = capture.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return command
