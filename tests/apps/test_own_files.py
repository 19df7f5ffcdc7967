"""Files as people have them: what the first commands say where they would have guessed without a word."""

import csv
import io
import subprocess
import sys

import pytest

from unnaive import TextClassifier

HEAD = ("Subject, short", "Message", "Comment", "Queue")
ROWS = [
    ("late goal", "the match ended", "of Sunday", "sport"),
    ("new law", "the vote was lost", "of Monday", "politics"),
    ("a goal", "the match was won", "of Sunday", "sport"),
    ("a law", "the vote was won", "of Monday", "politics"),
]


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path.name


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "data.csv", [HEAD, *ROWS])


def test_a_list_of_columns_is_answered_with_the_option_repeated(run, table):
    code, out, err = run("train", table, "--text", "subject, short,Message", "-m", "multinomial", "-o", "m.model")
    assert (code, out) == (2, "")
    assert err == (
        "unnaive: data.csv has no column 'subject, short,Message'; for several columns, repeat the option: "
        "--text 'Subject, short' --text Message; it has Subject, short, Message, Comment, Queue\n"
    )


def test_columns_of_0_and_1_are_named_as_they_are_typed(run, tmp_path):
    rows = [("comment", "bug", "fee", "login")]
    rows += [(f"text number {n} of them all", n % 2, (n // 2) % 2, (n // 4) % 2) for n in range(16)]
    data = write_csv(tmp_path / "flags.csv", rows)
    options = ["--set label-columns=bug", "--set label-columns=fee", "--set label-columns=login"]
    code, _, err = run("train", data, "-m", "multinomial", "-o", "m.model")
    assert code == 2
    assert err.endswith(f"use --label NAME, or, for labels in columns of 0 and 1, {' '.join(options)}\n")
    _, _, err = run("train", data, "--label", "bug,fee,login", "-m", "multinomial", "-o", "m.model")
    assert f"for several columns of 0 and 1, repeat the option: {' '.join(options)}; it has comment" in err
    words = [word for option in options for word in option.split()]
    assert run("train", data, *words, "-m", "multinomial", "-o", "m.model")[0] == 0
    assert TextClassifier.load("m.model").classes_.tolist() == ["bug", "fee", "login"]


def test_columns_of_the_text_that_new_data_lack_are_named(run, table, tmp_path):
    texts = ("--text", "Subject, short", "--text", "Message", "--text", "Comment")
    assert run("train", table, *texts, "-m", "multinomial", "-o", "m.model")[0] == 0
    new = write_csv(tmp_path / "new.csv", [HEAD[:2], *(row[:2] for row in ROWS)])
    code, _, err = run("predict", "m.model", new, "-o", "out.csv")
    assert code == 0
    assert err.splitlines()[:2] == [
        "note: new.csv has no column 'Comment', which the model learnt as part of the text; only 'Subject, short' and "
        "'Message' are read",
        "read new.csv (csv, header in line 1): text from Subject, short and Message, 4 rows",
    ]
    assert "no column" not in run("predict", "m.model", table, "-o", "whole.csv")[2]


def test_html_in_a_column_is_noted_unless_it_is_left_out(run, tmp_path):
    rows = [("body", "queue"), *((f"<p>{row[1]}<br>&nbsp;</p>", row[3]) for row in ROWS)]
    data = write_csv(tmp_path / "html.csv", rows)
    _, _, err = run("train", data, "-m", "multinomial", "-o", "m.model")
    assert err == (
        "note: html.csv: texts have HTML tags, whose names are learnt like words; --set strip-html=true leaves tags "
        "out\n"
    )
    assert "br" in TextClassifier.load("m.model").vocabulary_
    assert run("train", data, "--set", "strip-html=true", "-m", "multinomial", "-o", "m.model")[2] == ""
    assert not {"br", "nbsp"} & set(TextClassifier.load("m.model").vocabulary_)


def test_explain_says_that_it_does_not_open_a_file(run, table):
    run("train", table, "--text", "Message", "--fields", "none", "-m", "multinomial", "-o", "m.model")
    code, out, err = run("explain", "m.model", "data.csv")
    assert code == 0
    assert "data.csv" in out
    assert err == (
        "note: data.csv is a file or folder, but explain reads what it is given as the text itself; for the text in a "
        "file: unnaive explain m.model - < FILE\n"
    )
    for text in ("the match", "match", "no-such-file.csv", "see data.csv", "a" * 5000 + "."):
        assert run("explain", "m.model", text)[2] == ""


def test_an_update_of_what_was_learnt_already_says_so(run, tmp_path):
    rows = [(f"text number {n} about {word}", label) for n in range(8) for word, label in (("a", "x"), ("b", "y"))]
    data = write_csv(tmp_path / "data.csv", [("text", "label"), *rows])
    assert run("train", data, "-m", "multinomial", "-o", "m.model")[0] == 0
    new = [(f"another text {n}", "x") for n in range(20)]
    more = write_csv(tmp_path / "more.csv", [("text", "label"), *rows[:12], *new])
    assert run("update", "m.model", more, "-o", "other.model")[2] == ""  # most of them are new
    grown = write_csv(tmp_path / "grown.csv", [("text", "label"), *rows, *new[:1]])
    code, out, err = run("update", "m.model", grown)
    assert code == 0
    assert "now has 33 documents (was 16)" in out
    assert err == (
        "note: the model has learnt 16 of the 17 documents of grown.csv before; they now count once more, which forget "
        "undoes: update with new documents only\n"
    )
    assert "now has 16 documents" in run("forget", "m.model", grown)[1]


@pytest.mark.slow
def test_the_files_of_an_audit_are_written_before_the_findings_are_shown(tmp_path):
    """A reader of stdout that stops early, such as head or less, does not lose them."""
    rows = [("text", "label"), *((f"text number {n}", "ab"[n % 2]) for n in range(30))]
    write_csv(tmp_path / "data.csv", rows)
    command = [sys.executable, "-m", "unnaive", "audit", "data.csv", "--fast"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.close()
        process.wait(120)
    assert {path.name for path in (tmp_path / "audit-data").iterdir()} == {"audit.html", "findings.csv"}


def test_clean_asks_for_the_table_of_findings_if_a_folder_is_named(run, table, tmp_path):
    (tmp_path / "audit-data").mkdir()
    assert run("clean", table, "audit-data", "-o", "fixed.csv") == (
        2, "", "unnaive: audit-data is a folder; name the table of findings that unnaive audit wrote, such as "
        "audit-data/findings.csv\n",
    )  # fmt: skip


def test_label_says_where_labels_could_begin(run, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    rows = [(f"text number {n} of them", "ab"[n % 2]) for n in range(30)]
    data = write_csv(tmp_path / "data.csv", [("text", "queue"), *rows])
    sentence = "note: data.csv seems to have labels in queue; to begin with them: --label queue, and another -o FILE\n"
    assert sentence in run("label", data, "-o", "a.db", "--terminal")[2]
    for more in (["--class", "x"], ["--label", "queue"]):
        assert "seems to have labels" not in run("label", data, "-o", f"{more[1]}.db", "--terminal", *more)[2]
    texts = write_csv(tmp_path / "texts.csv", [("text",), *(row[:1] for row in rows)])
    assert "seems to have labels" not in run("label", texts, "-o", "b.db", "--terminal")[2]
