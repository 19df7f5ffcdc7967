"""`unnaive audit` and `unnaive clean` through the command line, as a newcomer uses them."""

import csv
import json

import pytest

from unnaive.apps.cli.main import exit_code
from unnaive.io.tickets import load_records

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all


@pytest.fixture(scope="module")
def rows():
    """300 tickets; five have a wrong queue, one is there twice, one is empty, three are spelt with a capital."""
    found = [{"id": one["id"], "text": one["text"], "queue": one["queue"]} for one in load_records()]
    found = [one for one in found if one["queue"] in ("billing", "access", "bug")][:300]
    for place in (10, 60, 110, 160, 210):
        found[place]["queue"] = {"billing": "access", "access": "bug", "bug": "billing"}[found[place]["queue"]]
    for place in (20, 70, 120):
        found[place]["queue"] = found[place]["queue"].title()
    return [*found, {**found[0], "id": "copy"}, {"id": "none", "text": "", "queue": "bug"}]


@pytest.fixture
def data(tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "data.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["id", "text", "queue"])
        table.writeheader()
        table.writerows(rows)
    return tmp_path


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


READ = ("--text", "text", "--label", "queue")


@pytest.mark.parametrize("depth", [(), ("--fast",)])
def test_one_command_writes_a_page_and_findings(data, capsys, depth):
    assert exit_code(["audit", "data.csv", *READ, *depth]) == 0
    findings = read(data / "audit-data" / "findings.csv")
    suspects = [int(one["row"]) for one in findings if one["kind"] == "label-error"]
    # of the five that were changed most come among the first ten, where there are other doubtful tickets
    assert len({11, 61, 111, 161, 211} & set(suspects[:10])) >= 3
    assert [one["row"] for one in findings if one["kind"] == "duplicate"] == ["301"]
    assert [one["row"] for one in findings if one["kind"] == "empty-text"] == ["302"]
    assert all(one["reason"] and one["what_to_do"] for one in findings)
    page = (data / "audit-data" / "audit.html").read_text()
    assert "Suspected label errors" in page
    assert f"{len(suspects):,} to look at" in " ".join(capsys.readouterr().out.split())


def test_findings_that_may_hold_decisions_are_not_overwritten(data, capsys):
    assert exit_code(["audit", "data.csv", *READ, "--fast", "-o", "out"]) == 0
    before = (data / "out" / "findings.csv").read_text()
    assert exit_code(["audit", "data.csv", *READ, "--fast", "-o", "out"]) == 2
    assert "may contain your decisions" in capsys.readouterr().err
    assert exit_code(["audit", "data.csv", *READ, "--fast", "-o", "out", "--set", "force=true"]) == 0
    assert (data / "out" / "findings.csv").read_text() == before  # the same command, the same numbers


def test_clean_applies_what_is_accepted_and_leaves_its_input_alone(data, rows):
    before = (data / "data.csv").read_bytes()
    assert exit_code(["audit", "data.csv", *READ, "-o", "out"]) == 0
    assert exit_code(["clean", "data.csv", "out/findings.csv", *READ, "-o", "fixed.csv"]) == 0
    fixed = read(data / "fixed.csv")
    assert (data / "data.csv").read_bytes() == before
    # by default the copy and the empty text go, capitals become small, and no label is changed
    assert [(one["id"], one["text"], one["queue"]) for one in fixed] == [
        (one["id"], one["text"], one["queue"].lower()) for one in rows[:300]
    ]


def test_clean_takes_decisions_written_into_the_file(data):
    assert exit_code(["audit", "data.csv", *READ, "-o", "out"]) == 0
    findings = read(data / "out" / "findings.csv")
    chosen = next(one for one in findings if one["kind"] == "label-error")
    for one in findings:
        one["accept"] = "Yes" if one is chosen else ""
    with (data / "mine.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(findings[0]))
        table.writeheader()
        table.writerows(findings)
    assert exit_code(["clean", "data.csv", "mine.csv", *READ, "-o", "fixed.jsonl"]) == 0
    fixed = [json.loads(line) for line in (data / "fixed.jsonl").read_text().splitlines()]
    assert len(fixed) == 302
    assert fixed[int(chosen["row"]) - 1]["queue"] == chosen["proposed"]


def test_clean_accepts_a_kind_from_a_score_on_and_never_more_than_are_probably_wrong(data, capsys):
    assert exit_code(["audit", "data.csv", *READ, "-o", "out", "--json"]) == 0
    estimate = json.loads(capsys.readouterr().out)["label_errors"]
    words = ["clean", "data.csv", "out/findings.csv", *READ, "-o", "fixed.csv", "--accept", "label-error"]
    assert exit_code([*words, "--min-score", "0.9", "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)
    doubted = [one for one in read(data / "out" / "findings.csv") if one["kind"] == "label-error"]
    assert len(doubted) == estimate["suspects"]
    likely = [one for one in doubted if float(one["p_proposed"]) >= 0.9]
    assert [one for one in doubted if one["bulk"] == "yes"] == likely[: int(estimate["high"])]
    assert counted["relabelled"] == sum(float(one["score"]) >= 0.9 for one in likely[: int(estimate["high"])]) > 0
    assert counted["relabelled"] + counted["left"]["label-error"] == sum(float(one["score"]) >= 0.9 for one in doubted)
    assert (counted["read"], counted["dropped"], counted["written"]) == (302, 2, 300)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["clean", "data.csv", "out/findings.csv", "-o", "data.csv"], "is read by this command"),
        (["clean", "data.csv", "out/findings.csv", "-o", "out/findings.csv"], "is read by this command"),
        (["clean", "data.csv", "out/findings.csv", "-o", "fixed.xlsx"], "cannot be written as .xlsx"),
        (["clean", "data.csv", "data.csv", "-o", "fixed.csv"], "no column"),
        (["clean", "data.csv", "no.csv", "-o", "fixed.csv"], "no file or folder called no.csv"),
        (["clean", "short.csv", "out/findings.csv", "-o", "fixed.csv"], "that was audited"),
        (["clean", "data.csv", "out/findings.csv", "-o", "fixed.csv", "--accept", "label-eror"], "did you mean"),
        (["audit", "empty.csv", "-o", "other"], "there are no documents"),
        (["audit", "data.csv", "--report", "data.csv"], "is read by this command"),
        (["audit", "data.csv", "-o", "short.csv"], "is a file"),
        (["audit", "data.csv", "--new-data", "few.csv", "-o", "other"], "a test for a change needs 20"),
        (["audit", "data.csv", "--new-data", "no.csv", "-o", "other"], "no file or folder called no.csv"),
        (["audit", "data.csv", "-o", "short.csv/out"], "cannot be written"),
        (["audit", "nothing.csv"], "no file or folder called nothing.csv"),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(data, capsys, words, sentence):
    (data / "short.csv").write_text("id,text,queue\n1,one text,bug\n")
    (data / "few.csv").write_text("text\nsome text\n")
    (data / "empty.csv").write_text("id,text,queue\n")
    assert exit_code(["audit", "data.csv", *READ, "--fast", "-o", "out"]) == 0
    before = {path: path.is_file() and path.read_bytes() for path in data.rglob("*")}
    capsys.readouterr()
    assert exit_code([*words, *READ]) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.strip().count("\n") <= 2  # notes on reading may come before it
    assert {path: path.is_file() and path.read_bytes() for path in data.rglob("*")} == before


def test_drift_names_shares_and_terms(data, rows, capsys):
    with (data / "new.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text"])
        table.writerows([[one["text"] + " strike"] for one in rows if one["queue"] == "billing"])
    assert exit_code(["audit", "data.csv", *READ, "--new-data", "new.csv", "--json"]) == 0
    drift = json.loads(capsys.readouterr().out)["drift"]
    assert drift["test"]["p"] < 0.001
    assert drift["terms"][0]["term"] == "strike"
    billing = next(one for one in drift["shares"] if one["name"] == "billing")
    assert billing["new"] > 0.8


def test_the_same_texts_are_no_drift(data, capsys):
    assert exit_code(["audit", "data.csv", *READ, "--new-data", "data.csv", "--json", "--fast"]) == 0
    drift = json.loads(capsys.readouterr().out)["drift"]
    assert drift["terms"] == []
    assert all(one["low"] <= one["old"] <= one["high"] for one in drift["shares"])


def test_a_test_file_is_looked_up_in_the_data(data, rows, capsys):
    (data / "test.jsonl").write_text(json.dumps({"text": rows[4]["text"]}) + "\n" + json.dumps({"text": "new"}) + "\n")
    assert exit_code(["audit", "data.csv", *READ, "--test", "test.jsonl", "--json", "--fast"]) == 0
    leaks = [one for one in json.loads(capsys.readouterr().out)["findings"] if one["kind"] == "leak"]
    assert [(one["row"], one["reason"]) for one in leaks] == [(5, "the same text is row 1 of test.jsonl")]


def test_folders_and_collections(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for label in ("ham", "spam"):
        (tmp_path / "mail" / label).mkdir(parents=True)
        for number in range(3):
            (tmp_path / "mail" / label / f"{number}.txt").write_text(f"the same words in {label}")
    assert exit_code(["audit", "mail", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in found["findings"] if one["kind"] == "duplicate"] == [
        "ham/1.txt", "ham/2.txt", "spam/1.txt", "spam/2.txt"
    ]  # fmt: skip
    assert exit_code(["audit", "tickets", "--fast", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 926


def test_multilabel_rows_keep_their_separator_when_a_label_is_renamed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"text number {number} of some words,{'Bug;login' if number == 3 else 'bug;login'}" for number in range(9)]
    (tmp_path / "data.csv").write_text("text,tags\n" + "\n".join(lines) + "\n")
    options = ["--text", "text", "--label", "tags", "--label-separator", ";"]
    assert exit_code(["audit", "data.csv", *options, "-o", "out"]) == 0
    assert exit_code(["clean", "data.csv", "out/findings.csv", *options, "-o", "fixed.csv"]) == 0
    assert {one["tags"] for one in read(tmp_path / "fixed.csv")} == {"bug;login"}
