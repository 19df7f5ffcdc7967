"""An output called - is stdout: the data of one result, with everything for people on stderr."""

import csv
import io
import json

import pytest

from unnaive import TextClassifier

TABLE = "text,label\n" + "good ball,sport\nfair vote,politics\n" * 20
FINDINGS = "kind,row,label,proposed,action,accept,bulk,text\nlabel-error,1,sport,politics,relabel,yes,,good ball\n"
pytestmark = pytest.mark.slow


@pytest.fixture
def files(tmp_path):
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "findings.csv").write_text(FINDINGS)
    TextClassifier("multinomial").fit(["good ball", "fair vote"] * 3, ["sport", "politics"] * 3).save(tmp_path / "m")


def is_csv(text):
    rows = list(csv.reader(io.StringIO(text)))
    return len({len(row) for row in rows}) == 1 < len(rows[0])


def is_page(text):
    return text.startswith("<!doctype html>") and text.rstrip().endswith("</html>")


@pytest.mark.parametrize(
    ("words", "is_data"),
    [
        ("clean data.csv findings.csv -o -", is_csv),
        ("audit data.csv --fast --report -", is_csv),
        ("evaluate m data.csv --report -", lambda text: text.startswith("# data.csv")),
        ("explain m ball --report -", is_page),
        ("compare data.csv --models multinomial --splits 2 --json", json.loads),
        ("compare data.csv --models multinomial --splits 2 --report -", lambda text: text.startswith("| accuracy |")),
        ("predict m data.csv -o - --json", lambda text: [json.loads(line) for line in text.splitlines()]),
    ],
)
def test_stdout_has_the_data_alone(run, files, words, is_data):
    code, out, err = run(*words.split())
    assert code == 0, err
    assert is_data(out)


def test_what_is_said_with_data_on_stdout_is_on_stderr(run, files):
    assert run("clean", "data.csv", "findings.csv", "-o", "-")[2].startswith(
        "40 rows: 0 dropped, 1 given another label"
    )
    assert run("explain", "m", "ball", "--report", "-")[2].startswith("sport (")


def test_the_next_command_prints_on_stdout_again(run, files):
    run("explain", "m", "ball", "--report", "-")
    assert run("explain", "m", "ball")[1].startswith("sport (")


@pytest.mark.parametrize(
    "words",
    [
        "audit data.csv --fast --report - --report -",
        "audit data.csv --fast --report - --json",
        "evaluate m data.csv --json --report -",
        "explain m ball --json --report -",
        "clean data.csv findings.csv -o - --json",
        "compare data.csv --json --report -",
        "filter m data.csv --class sport --report -",
        "filter m data.csv --class sport -o kept.csv --report - --json",
    ],
)
def test_two_results_on_stdout_are_refused(run, files, words):
    sentence = "unnaive: two results would be written to stdout; name a file for one of them\n"
    assert run(*words.split()) == (2, "", sentence)


@pytest.mark.parametrize(
    ("words", "what"),
    [("train data.csv -o -", "a model"), ("merge m m -o -", "a model"), ("audit data.csv -o -", "a folder")],
)
def test_models_and_folders_are_not_written_to_stdout(run, files, tmp_path, words, what):
    code, out, err = run(*words.split())
    assert (code, out, err.startswith(f"unnaive: - is stdout, which cannot be {what}; ")) == (2, "", True)
    assert not (tmp_path / "-").exists()
