"""Every command that reads or writes a table × every file ending: accepted alike, or refused with one sentence."""

from __future__ import annotations

import gzip
import sqlite3

import pytest

from unnaive.io.datafiles import DataFile
from unnaive.io.endings import ENDINGS, FIGURES, PACKINGS, READ, RECORDS, TABLES, list_endings
from unnaive.io.formats import read_rows
from unnaive.io.writing.table_writer import write_table

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all

ROWS = [
    {"text": "good ball, goal", "label": "sport"},
    {"text": 'a "fair"\nvote', "label": "politics"},
    {"text": "ball ball", "label": "sport"},
    {"text": "vote vote party", "label": "politics"},
]
FINDINGS = "kind,row,label,proposed,action,accept,bulk\nduplicate,3,sport,,drop,yes,\n"
PACKED = tuple(one for one in TABLES if ENDINGS[one].packed)
WRITTEN = (*TABLES, *(ending + ".gz" for ending in PACKED), *(".csv" + packing for packing in PACKINGS))
REFUSED = (".xyz", ".xlsx", ".txt", ".db", ".html", ".model", ".orc", ".xyz.gz", ".csv.7z")
HELD = tuple(one for one in READ if ENDINGS[one].format not in ("files", "mbox"))  # formats that have labels


@pytest.fixture
def data(run, tmp_path):
    """A folder with a small table, a model, findings about the table, and a record of labels."""
    write_table(tmp_path / "data.csv", ROWS, ("text", "label"))
    (tmp_path / "findings.csv").write_text(FINDINGS)
    assert run("train", "data.csv", "-m", "multinomial", "-o", "my.model")[0] == 0
    assert run("label", "status", "data.csv", "--label", "label", "-o", "labels.db")[0] == 0
    return tmp_path


# what each writes with -o FILE: the command, and the texts that it writes
WRITERS = {
    "predict": (["predict", "my.model", "data.csv", "-o"], [0, 1, 2, 3]),
    "clean": (["clean", "data.csv", "findings.csv", "-o"], [0, 1, 3]),
    "label": (["label", "export", "labels.db", "-o"], [0, 1, 2, 3]),
    "audit": (["audit", "data.csv", "--fast", "--set", "force=true", "--report"], None),
}


def saved(path, ending):
    """The rows in a file of one of the endings that hold labels."""
    format = ENDINGS[ending].format
    if ending in TABLES:
        write_table(path, ROWS, ("text", "label"))
    elif ending == ".json":
        import json

        path.write_text(json.dumps(ROWS))
    elif format == "lines":
        path.write_text("".join(f"__label__{row['label']} {row['text']}\n".replace("\nvote", " vote") for row in ROWS))
    elif format == "excel":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.active.append(["text", "label"])
        for row in ROWS:
            book.active.append(list(row.values()))
        book.save(path)
    else:
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE texts (text, label)")
            database.executemany("INSERT INTO texts VALUES (:text, :label)", ROWS)
        database.close()
    return path


@pytest.mark.parametrize("command", WRITERS)
def test_every_writer_writes_every_ending(run, data, command):
    words, kept = WRITERS[command]
    for ending in WRITTEN:
        code, _, err = run(*words, f"out{ending}")
        assert code == 0, (ending, err)
        rows = list(read_rows(data / f"out{ending}"))
        if kept is None:
            assert {row["kind"] for row in rows} == {"small-class"}, ending
        else:
            assert [row["text"] for row in rows] == [ROWS[place]["text"] for place in kept], ending
            assert [row["label"] for row in rows] == [ROWS[place]["label"] for place in kept], ending


def test_no_ending_is_csv_for_all(run, data):
    for words, _ in WRITERS.values():
        assert run(*words, "out")[0] == 0
        assert "," in (data / "out").read_text().splitlines()[0]
        (data / "out").unlink()


@pytest.mark.parametrize("command", WRITERS)
def test_every_writer_refuses_the_others_with_one_sentence(run, data, command):
    words, _ = WRITERS[command]
    before = sorted(data.iterdir())
    for ending in REFUSED:
        if (command, ending) == ("audit", ".html"):  # the page
            continue
        shown = ending.removesuffix(".gz") if ending != ".csv.7z" else ".7z"
        sentence = (
            f"out{ending}: a table cannot be written as {shown}; give a name that ends in {list_endings(TABLES)}\n"
        )
        code, out, err = run(*words, f"out{ending}")
        assert (code, out, err) == (2, "", f"unnaive: {sentence}"), ending
    for ending in (".parquet.gz", ".pq.zst"):
        first, second = ending.split(".")[1:]
        code, _, err = run(*words, f"out{ending}")
        assert code == 2
        assert f"out{ending}: .{first} files cannot be compressed as .{second}, only .csv" in err
    assert sorted(data.iterdir()) == before


def test_labels_for_label_studio_are_the_one_exception(run, data):
    """.json is the format of another tool there; a table is not written as a JSON array."""
    assert run("label", "export", "labels.db", "-o", "out.json")[0] == 0
    assert '"annotations"' in (data / "out.json").read_text()
    for command in ("predict", "clean", "audit"):
        assert "a table cannot be written as .json; give a name that ends in" in run(*WRITERS[command][0], "no.json")[2]


@pytest.mark.parametrize("ending", HELD)
def test_every_reader_reads_every_ending(run, data, ending):
    path = saved(data / f"in{ending}", ending)
    for words in (
        ["train", path, "-m", "multinomial", "-o", "new.model"],
        ["predict", "my.model", path],
        ["evaluate", "my.model", path],
        ["update", "my.model", path, "-o", "more.model"],
        ["audit", path, "--fast", "--set", "force=true", "--report", "found.csv"],
        ["label", "status", path, "-o", f"{path.name}-labels.db"],
    ):
        code, _, err = run(*words)
        assert code == 0, (words, err)
    if ENDINGS[ending].format != "lines":  # a document a line is no table that a row can be dropped of
        assert run("clean", path, "findings.csv", "-o", "fixed.csv")[0] == 0
        assert [row["label"] for row in read_rows(data / "fixed.csv")] == ["sport", "politics", "politics"]


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_files_are_read_alike_and_others_refused(run, data, packing):
    for ending in PACKED:
        write_table(data / f"in{ending}{packing}", ROWS, ("text", "label"))
        assert list(DataFile(str(data / f"in{ending}{packing}")).corpus().texts) == [row["text"] for row in ROWS]
    for ending in (one for one in HELD if not ENDINGS[one].packed):
        (data / f"in{ending}{packing}").write_bytes(gzip.compress(saved(data / f"in{ending}", ending).read_bytes()))
        for words in (["predict", "my.model"], ["train", "-m", "multinomial", "-o", "new.model"], ["audit"]):
            code, _, err = run(*words, f"in{ending}{packing}")
            assert code == 2
            assert f"in{ending}{packing}: {ending} files cannot be compressed as {packing}, only .csv" in err


def test_findings_are_read_in_every_ending(run, data):
    findings = list(read_rows(data / "findings.csv"))
    for ending in WRITTEN:
        write_table(data / f"f{ending}", findings, tuple(findings[0]))
        code, _, err = run("clean", "data.csv", f"f{ending}", "-o", "fixed.csv")
        assert code == 0, err
        assert len(list(read_rows(data / "fixed.csv"))) == 3
    (data / "f.txt").write_text("one line\nanother\n")
    assert "f.txt has no column 'accept'" in run("clean", "data.csv", "f.txt", "-o", "fixed.csv")[2]


def test_formats_that_only_spark_reads_are_named(run, data):
    (data / "in.orc").write_bytes(b"ORC")
    code, _, err = run("predict", "my.model", "in.orc")
    assert (code, err) == (2, "unnaive: in.orc: .orc files are read only with --engine spark; "
                              "otherwise give a file that ends in "
                              f"{list_endings(READ)}\n")  # fmt: skip


def test_figures_and_records_are_refused_in_the_same_words(run, data):
    assert run("plot", "my.model", "data.csv", "-o", "figure.bmp")[2] == (
        f"unnaive: figure.bmp: a figure cannot be written as .bmp; give a name that ends in {list_endings(FIGURES)}\n"
    )
    assert run("compare", "data.csv", "-o", "r.csv")[2] == (
        "unnaive: r.csv: a file of records cannot be written as .csv; give a name that ends in "
        f"{list_endings(RECORDS)}\n"
    )


def test_numbers_and_lists_keep_all_that_they_are(run, data):
    """Columns that are handed on lose no digit, and a list comes back as one."""
    import json

    row = {"text": "good ball", "n": 0.12345678901234, "tags": ["a;b", "c"], "label": "sport"}
    (data / "in.jsonl").write_text(json.dumps(row) + "\n")
    assert run("predict", "my.model", "in.jsonl", "-o", "out.csv")[0] == 0
    (back,) = read_rows(data / "out.csv")
    assert (float(back["n"]), json.loads(back["tags"])) == (row["n"], row["tags"])
