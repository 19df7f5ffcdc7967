"""What commands print: a headline, what is needed, the next command; sentences of one line where nobody reads along."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from unnaive import TextClassifier, write_tickets
from unnaive.apps.cli.main import exit_code
from unnaive.apps.common import progress_bar, screen

ROWS = [("a goal and a ball", "sport"), ("the vote on a law", "politics")] * 8


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def command(*words):
        code = exit_code([str(word) for word in words])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return command


@pytest.fixture
def tickets(run):
    write_tickets(".")
    TextClassifier("multinomial").fit(*zip(*ROWS, strict=True)).save("m.model")
    return run


def test_train_has_a_headline_and_the_next_command(tickets):
    out = tickets("train", "train.csv", "--label", "queue", "-o", "t.model", "-m", "multinomial", "--test", "test.csv")
    read, headline, beside, learnt, wrote, following = out.splitlines()
    assert read.startswith("read train.csv ")
    assert headline == "test accuracy 82.2 % (multinomial)"
    assert beside == "  95 % interval 77.2 to 86.3 %, macro F1 0.806 on 275 documents of the test file"
    assert learnt.startswith("  multinomial learnt 651 documents, 8 classes (one label each), 3,230 terms in ")
    assert wrote.startswith("wrote t.model (")
    assert following == "next: unnaive evaluate t.model test.csv"


@pytest.mark.slow
def test_train_counts_the_models_of_auto_and_inspect_shows_them(tickets):
    out = tickets("train", "train.csv", "--label", "queue", "-o", "t.model", "--budget", "fast")
    headline = out.splitlines()[1]
    found = re.fullmatch(
        r"held-out accuracy [0-9.]+ % on 651 documents \(auto: (\d+) models; unnaive inspect shows them\)", headline
    )
    assert found is not None
    assert "%  " not in out  # no shares of members
    shown = tickets("inspect", "t.model").splitlines()
    heading = shown.index(next(line for line in shown if line.startswith("share  accuracy  text read as")))
    members = shown[heading + 1 : shown.index("", heading + 1)]
    assert sum(bool(re.match(r" *\d+ % +[0-9.]+ %  \S", line)) for line in members) == int(found[1])


@pytest.mark.slow
def test_evaluate_is_one_sentence_and_two_tables(tickets):
    tickets("train", "train.csv", "--label", "queue", "-o", "t.model", "-m", "multinomial")
    out = tickets("evaluate", "t.model", "test.csv")
    headline = "82.2 % of 275 documents got the right one of 8 classes (95 % interval 77.2 to 86.3 %); macro F1 0.806"
    assert out.splitlines()[1] == headline
    assert out.splitlines()[-1].startswith("next: --all adds ")
    blocks = out.split("\n\n")
    assert [block.split()[:2] for block in blocks[1:3]] == [["class", "precision"], ["true", "class"]]
    assert not {"log-loss", "brier", "reject below"} & set(re.findall(r"reject below|[a-z-]+", out))
    everything = tickets("evaluate", "t.model", "test.csv", "--all")
    assert headline in everything
    assert "log-loss" in everything
    assert "share of documents with the right label" in everything
    assert "documents with all labels right" not in everything  # each has one


def test_evaluate_of_several_labels_says_how_many_got_all_of_them(run):
    rows = [("ball soup", ["a", "b"]), ("ball", ["a"]), ("soup", ["b"])] * 5
    lines = [json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in rows]
    Path("d.jsonl").write_text("".join(lines), encoding="utf-8")
    run("train", "d.jsonl", "-o", "m.model", "-m", "multinomial")
    headline = run("evaluate", "m.model", "d.jsonl").splitlines()[1]
    assert re.fullmatch(
        r"micro F1 \S+, macro F1 \S+ on 15 documents; \S+ % of them got all labels right \(.*\)", headline
    )
    assert "documents with all labels right" in " ".join(run("evaluate", "m.model", "d.jsonl", "--all").split())


def test_inspect_has_no_syntax_of_python(run):
    model = TextClassifier("multinomial", ngrams=(1, 2), alpha=0.5, select=("chi2", 5), stopwords=("a", "on"))
    model.fit(*zip(*ROWS, strict=True)).save("m.model")
    out = run("inspect", "m.model")
    assert "ngrams 1-2" in out
    assert not re.search(r"[\[\]=']|True|False|None", out)


def test_compare_leaves_out_what_says_nothing(tickets):
    out = tickets("compare", "tickets:queue", "--models", "multinomial,complement")
    assert out.splitlines()[0] == "complement has the best accuracy, 0.8945 (1 split)"
    lines = out.splitlines()
    table = lines.index("accuracy against multinomial")
    assert re.split("  +", lines[table + 1]) == ["model", "difference", "McNemar p"]
    assert lines[table + 2].split()[:2] == ["complement", "+0.0727"]
    assert (
        "no p with 1 split: the test needs at least 5; compare with --folds 5, or with --splits 5 --train-sizes 0.8"
        in out
    )
    assert lines[-1] == "next: unnaive train DATA -m complement, or --report FILE.html for a page"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_progress_bar_keeps_its_bar(width, monkeypatch):
    """Only its title is shortened."""
    terminal = Console(file=io.StringIO(), width=width, force_terminal=True)
    monkeypatch.setattr("rich.console.Console", lambda **_: terminal)
    bar = progress_bar.Progress("learning auto", 10, steps=3)
    bar._show()
    try:
        bar.event("trying", {"what": f"trying {'many words of a title ' * 8}", "work": 5.0, "total_work": 10.0})
        shown = bar._bar.get_renderable()
    finally:
        bar._bar.stop()
    paper = Console(file=io.StringIO(), width=width)
    paper.print(shown)
    (line,) = paper.file.getvalue().splitlines()
    assert re.search(r"… ━{10} {10} +50% \d", line), line  # half of 20 columns


def test_a_line_is_wrapped_between_words_in_a_terminal_only(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    line = "  some words of a line with --an-option"
    screen.echo_sentence(line)
    assert capsys.readouterr().out == f"{line}\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    screen.echo_sentence(line)
    assert capsys.readouterr().out == "  some words of a\n  line with\n  --an-option\n"


def test_a_sentence_is_wrapped_in_a_terminal_only(capsys, monkeypatch):
    sentence = "word " * 60
    screen.console().print(sentence)
    assert capsys.readouterr().out.count("\n") == 1
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    screen.console().print(sentence)
    assert capsys.readouterr().out.count("\n") == 4
