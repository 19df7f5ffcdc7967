"""The command line, used as people use it: every verb, every format, pipes, interrupts."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from unnaive import TextClassifier, TopK, __version__
from unnaive.apps.cli import main as cli
from unnaive.text.backend import BACKEND

ROWS = [
    ("the ball is round, and the goal is near", "sport"),
    ("a goal in the last minute;\nthe match was won", "sport"),
    ("the party won the vote on the budget", "politics"),
    ('the minister said: "no new law"', "politics"),
    ("bread and soup with salt and butter", "food"),
    ("the oven is hot, the recipe needs an onion", "food"),
] * 2
NEW = ["a late goal", "the new budget law", "warm bread"]


@pytest.fixture
def data(tmp_path):
    with (tmp_path / "data.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *ROWS])
    return "data.csv"


@pytest.fixture
def model(run, data):
    assert run("train", data, "-o", "my.model", "-m", "multinomial")[0] == 0
    return "my.model"


def process(*arguments, **options):
    """The command line as a process of its own."""
    return subprocess.Popen([sys.executable, "-m", "unnaive.apps.cli.main", *map(str, arguments)], text=True, **options)


class TestTop:
    def test_alone_it_prints_help(self, run):
        code, out, _ = run()
        assert code == 0
        assert "Start with: unnaive demo -o demo" in out
        for verb in (
            "train",
            "predict",
            "evaluate",
            "explain",
            "inspect",
            "update",
            "forget",
            "merge",
            "remake",
            "demo",
        ):
            assert verb in out

    def test_version(self, run):
        backend = {"native": "native", "reference": "Python"}[BACKEND]
        assert run("--version") == (0, f"unnaive {__version__}, {backend} backend\n", "")

    @pytest.mark.parametrize(
        "verb", ["train", "predict", "evaluate", "explain", "inspect", "update", "forget", "merge"]
    )
    def test_every_verb_has_help_with_an_example(self, run, verb):
        code, out, _ = run(verb, "--help")
        assert code == 0
        assert f"unnaive {verb}" in out

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["trian"], "No such command 'trian'. Did you mean 'train'? See: unnaive --help"),
            (["train", "x.csv", "-o", "m", "--modle", "x"], "--model"),
            (["train", "x.csv"], "Missing option '-o'"),
            (["train"], "Missing argument 'DATA'"),
            (["predict", "m", "--top-k", "none"], "Invalid value for '--top-k'"),
        ],
    )
    def test_typos_get_a_sentence(self, run, arguments, sentence):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert sentence in err
        assert err.count("\n") == 1
        assert "--help" in err


class TestTrain:
    def test_it_writes_the_model_that_python_would(self, run, data):
        code, out, err = run(
            "train",
            data,
            "-o",
            "my.model",
            "-m",
            "multinomial",
            "--set",
            "alpha=0.5",
            "--ngrams",
            "1-2",
            "--set",
            "min-df=2",
        )
        assert (code, err) == (0, "")
        assert "multinomial learnt 12 documents, 3 classes (one label each), " in out
        assert "wrote my.model (" in out
        mine = TextClassifier("multinomial", alpha=0.5, ngrams=(1, 2), min_df=2).fit(*zip(*ROWS, strict=True))
        theirs = TextClassifier.load("my.model")
        assert theirs.fitted_.counts == mine.fitted_.counts
        np.testing.assert_array_equal(theirs.scores(NEW), mine.scores(NEW))

    def test_a_summary_for_programs(self, run, data):
        out = run("train", data, "-o", "my.model", "-m", "multinomial", "--json", "--holdout", 0.5, "--test", data)[1]
        summary = json.loads(out)
        assert {key: summary[key] for key in ("documents", "classes", "model", "file", "multilabel")} == {
            "documents": 12, "classes": 3, "model": "multinomial", "file": "my.model", "multilabel": False,
        }  # fmt: skip
        assert summary["test"]["accuracy"] == 1.0
        assert summary["holdout"]["documents"] == 6

    @pytest.mark.parametrize(
        "options",
        [
            ["--model", "bernoulli"],
            ["--model", "or-gate", "--set", "select=chi2:8"],
            ["-m", "knn", "--set", "k=3"],
            ["-m", "multinomial", "--set", "smoothing=jelinek-mercer", "--set", "beta=0.5"],
            ["-m", "multinomial", "--set", "smoothing=absolute"],
            [
                "--set",
                "stopwords=en",
                "--set",
                "stem=porter",
                "--set",
                "digits=false",
                "--set",
                "lowercase=false",
                "--set",
                "strip-html=true",
                "--calibrate",
                "platt",
            ],
            ["--set", "select=5"],
        ],
    )
    @pytest.mark.slow
    def test_models_and_settings(self, run, data, options):
        code, out, err = run("train", data, "-o", "my.model", *options)
        assert (code, err) == (0, "")
        assert "learnt 12 documents" in out
        assert run("predict", "my.model", "-d", "a late goal")[0] == 0

    def test_stop_words_from_a_file(self, run, data, tmp_path):
        (tmp_path / "stop.txt").write_text("the\nand\n")
        run("train", data, "-o", "my.model", "-m", "multinomial", "--set", "stopwords=stop.txt")
        assert "the" not in TextClassifier.load("my.model").vocabulary_

    def test_every_format_gives_the_same_model(self, run, data, tmp_path):
        texts, labels = zip(*ROWS, strict=True)
        lines = [json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS]
        (tmp_path / "data.jsonl").write_text("".join(lines))
        (tmp_path / "data.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
        pa.parquet.write_table(pa.table({"text": texts, "label": labels}), tmp_path / "data.parquet")
        for row, (text, label) in enumerate(ROWS):
            (tmp_path / "folder" / label).mkdir(parents=True, exist_ok=True)
            (tmp_path / "folder" / label / f"{row:02}.txt").write_text(text)
        models = []
        for source in (data, "data.jsonl", "data.jsonl.gz", "data.parquet", "folder"):
            assert run("train", source, "-o", "a.model", "-m", "multinomial")[0] == 0
            models.append(TextClassifier.load("a.model"))
        assert all(model.fitted_.counts == models[0].fitted_.counts for model in models)

    def test_multilabel_data(self, run, tmp_path):
        (tmp_path / "tags.csv").write_text("body,tags\nball soup,sport;food\nball,sport\nsoup,food\nvote,\n")
        code, out, err = run("train", "tags.csv", "-o", "my.model", "-m", "multinomial", "--label-separator", ";")
        assert (code, err) == (0, "")
        assert "2 classes (any number of labels)" in out
        code, out, _ = run("predict", "my.model", "-d", "ball soup ball soup", "--json")
        assert json.loads(out)["labels"] == ["food", "sport"]
        code, out, err = run("update", "my.model", "tags.csv")  # the separator is remembered
        assert (code, err) == (0, "")
        assert "now has 8 documents (was 4), 2 classes" in out

    def test_a_frozen_model(self, run, data):
        run("train", data, "-o", "my.model", "-m", "multinomial", "--frozen")
        code, _, err = run("update", "my.model", data)
        assert code == 2
        assert "cannot be updated: it was saved frozen" in err

    def test_turkish_and_hindi(self, run, tmp_path):
        (tmp_path / "tr.csv").write_bytes("text,label\nIŞIK yandı,elektrik\nsu içti,içecek\n".encode("cp1254"))
        code, _, err = run("train", "tr.csv", "-o", "tr.model", "-m", "multinomial", "--language", "tr")
        assert code == 0
        assert "note: tr.csv is not UTF-8 (byte 0xde on line 2): such lines are read as cp1254" in err
        assert "ışık" in TextClassifier.load("tr.model").vocabulary_
        (tmp_path / "hi.csv").write_text("text,label\nहिन्दी भाषा,भाषा\nगरम चाय,पेय\n", encoding="utf-8")
        assert run("train", "hi.csv", "-o", "hi.model", "-m", "multinomial", "--language", "hi")[0] == 0
        assert "भाषा" in run("predict", "hi.model", "-d", "हिन्दी")[1]


class TestPredict:
    def test_csv(self, run, model, tmp_path):
        (tmp_path / "new.csv").write_text("name,text\n" + "".join(f"n{i},{text}\n" for i, text in enumerate(NEW)))
        code, out, err = run("predict", model, "new.csv", "--set", "id=name")
        assert (code, err) == (0, "read new.csv (csv, header in line 1): text from text, 3 rows\n")
        rows = list(csv.DictReader(out.splitlines()))
        assert [(row["name"], row["label"]) for row in rows] == [("n0", "sport"), ("n1", "politics"), ("n2", "food")]
        p = TextClassifier.load(model).predict_proba(NEW).max(axis=1)
        np.testing.assert_allclose([float(row["probability"]) for row in rows], p, rtol=1e-5)

    def test_json_top_and_explanation(self, run, model):
        out = run("predict", model, "-d", NEW[0], "--json", "--top-k", 2, "--explain")[1]
        found = json.loads(out)
        assert found["labels"] == ["sport"]
        assert found["classes"][0]["label"] == "sport"
        assert len(found["classes"]) == 2
        assert found["explanation"]["evidence"][0]["term"] == "goal"

    def test_csv_with_top_and_reasons(self, run, model):
        out = run("predict", model, "-d", NEW[0], "--top-k", 3, "--explain")[1]
        head, row = list(csv.reader(out.splitlines()))
        best = ["label", "probability", "label2", "probability2", "label3", "probability3"]
        assert head == ["id", *best, "known_terms", "because"]
        assert row[1] == "sport"
        assert row[-1].startswith("goal +")

    def test_scores_where_there_are_no_probabilities(self, run, data):
        run("train", data, "-o", "my.model", "--model", "rocchio")
        out = run("predict", "my.model", "-d", NEW[0])[1]
        assert out.splitlines()[0] == "id,label,score,known_terms"

    def test_a_file_that_is_there_whole(self, run, model, data, tmp_path):
        assert run("predict", model, data, "-o", "out.csv", "--quiet") == (0, "", "")
        assert len(list(csv.reader((tmp_path / "out.csv").open(newline="")))) == 13
        assert not list(tmp_path.glob(".*"))

    def test_texts_from_two_places_at_once(self, run, model, data):
        code, _, err = run("predict", model, data, "-d", "a text")
        assert code == 2
        assert "texts came with --document and as data.csv; give one of the two" in err

    def test_a_folder_and_plain_lines(self, run, model, tmp_path):
        (tmp_path / "inbox").mkdir()
        for place, text in enumerate(NEW):
            (tmp_path / "inbox" / f"{place}.txt").write_text(text)
        (tmp_path / "lines.txt").write_text("\n".join(NEW))
        folder = [row["id"] + row["label"] for row in csv.DictReader(run("predict", model, "inbox")[1].splitlines())]
        assert folder == ["0.txtsport", "1.txtpolitics", "2.txtfood"]
        lines = [row["label"] for row in csv.DictReader(run("predict", model, "lines.txt")[1].splitlines())]
        assert lines == ["sport", "politics", "food"]

    def test_the_columns_of_training_are_remembered(self, run, tmp_path):
        (tmp_path / "odd.csv").write_text("a,b,c\n1,ball,sport\n2,vote,politics\n")
        assert run("train", "odd.csv", "-o", "my.model", "-m", "multinomial", "--text", "b", "--label", "c")[0] == 0
        assert run("predict", "my.model", "odd.csv")[0] == 0
        assert "100.0 % of 2 documents got the right one of 2 classes" in run("evaluate", "my.model", "odd.csv")[1]

    def test_stdin_and_a_reader_that_has_enough(self, model, tmp_path, complaints):
        work = process("predict", model, "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       cwd=tmp_path)  # fmt: skip
        lines = "a late goal\n" * 60_000
        head = subprocess.Popen(["head", "-n", "2"], stdin=work.stdout, stdout=subprocess.PIPE, text=True)
        work.stdout.close()
        _, err = work.communicate(lines)
        assert head.communicate()[0].splitlines()[1].startswith("1,sport,")
        assert (work.returncode, complaints(err)) == (0, "")

    def test_a_live_stream_is_answered_line_by_line(self, model, tmp_path):
        work = process(
            "predict", model, "--set", "unbuffered=true", stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
        )
        answers = []
        for text in NEW:
            work.stdin.write(text + "\n")
            work.stdin.flush()
            if not answers:
                work.stdout.readline()  # the header
            answers.append(work.stdout.readline().split(",")[1])
        work.stdin.close()
        assert answers == ["sport", "politics", "food"]
        assert work.wait() == 0


class TestEvaluateExplainInspect:
    def test_evaluate(self, run, model, data):
        code, out, err = run("evaluate", model, data)
        assert (code, err.count("\n")) == (0, 1)
        assert err.startswith("note: 12 of 12 documents of data.csv are in the training data of the model")
        assert "100.0 % of 12 documents got the right one of 3 classes" in out
        assert out.splitlines()[-1].startswith("next: ")
        found = json.loads(run("evaluate", model, data, "--json", "--measure", "accuracy", "--measure", "f1@2")[1])
        assert found["measures"] == {"accuracy": 1.0, "f1@2": pytest.approx(2 / 3)}

    def test_evaluate_shows_the_largest_of_very_many_classes(self, run, tmp_path):
        rows = [f"word{number} common,c{number:03d}" for number in range(120) for _ in range(1 + number // 100)]
        (tmp_path / "many.csv").write_text("\n".join(["text,label", *rows]) + "\n")
        assert run("train", "many.csv", "-o", "many.model", "-m", "multinomial")[0] == 0
        out = run("evaluate", "many.model", "many.csv")[1]
        table = out.partition("30 of 120 classes")[0].rpartition("documents\n")[2]
        shown = [line.split()[0] for line in table.splitlines()]
        assert len(shown) == 30
        assert {f"c{number}" for number in range(100, 120)} < set(shown)  # those of two documents
        sentence = "30 of 120 classes, those with most documents, worst F1 first; all of them with --report FILE.md or"
        assert sentence in " ".join(out.split())

    def test_classes_that_do_not_match(self, run, model, tmp_path):
        (tmp_path / "test.csv").write_text("text,label\na late goal,sport\na film,art\na play,art\n")
        code, out, _ = run("evaluate", model, "test.csv")
        assert code == 0
        assert "note: the model was not trained on art: these 2 labels cannot be right" in out
        assert "note: macro averages leave out 1 class without a document or a prediction here: politics" in " ".join(
            out.split()
        )
        found = json.loads(run("evaluate", model, "test.csv", "--json")[1])
        assert found["measures"]["accuracy"] == pytest.approx(1 / 3)
        assert found["unknown_classes"] == ["art"]

    def test_reports(self, run, model, data, tmp_path):
        assert run("evaluate", model, data, "--report", "report.html", "--report", "report.md")[0] == 0
        assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
        assert "| accuracy | 1.0000 |" in (tmp_path / "report.md").read_text()

    def test_explain(self, run, model, tmp_path):
        code, out, err = run(
            "explain", model, "a goal, and bread", "--class", "sport", "--against", "food", "--report", "e.html"
        )
        assert (code, err) == (0, "wrote e.html\n")
        assert "sport (" in out
        assert "above food" in out
        assert "goal" in out
        assert '<mark class="for"' in (tmp_path / "e.html").read_text()
        found = json.loads(run("explain", model, "a goal, and bread", "--json")[1])
        assert found["score"] == pytest.approx(found["base"] + sum(one["value"] for one in found["evidence"]))

    def test_a_class_that_is_not_there(self, run, model):
        code, _, err = run("explain", model, "x", "--class", "sprot")
        assert code == 2
        assert "no class called 'sprot'; there are food, politics, sport; did you mean 'sport'?" in err

    def test_inspect(self, run, model):
        code, out, err = run("inspect", model, "--terms", 3)
        assert (code, err) == (0, "")
        assert "multinomial naive Bayes" in out
        assert "goal" in out
        found = json.loads(run("inspect", model, "--json", "--class", "food")[1])
        assert (found["documents"], found["can_be_updated"], len(found["classes"])) == (12, True, 1)

    def test_the_network_of_a_class(self, run, data):
        run("train", data, "-o", "my.model", "--model", "or-gate")
        code, out, _ = run("inspect", "my.model", "--network", "sport", "--terms", 4)
        assert code == 0
        assert "goal" in out


class TestChange:
    def test_update_forget_and_merge_are_exact(self, run, data, model, tmp_path):
        (tmp_path / "more.csv").write_text("text,label\nthe coach,sport\nan election,politics\n")
        before = TextClassifier.load(model).fitted_.counts
        code, out, _ = run("update", model, "more.csv")
        assert code == 0
        assert "learnt: my.model now has 14 documents (was 12), 3 classes, " in out
        whole = TextClassifier("multinomial").fit(
            [*(text for text, _ in ROWS), "the coach", "an election"],
            [*(label for _, label in ROWS), "sport", "politics"],
        )
        assert TextClassifier.load(model).fitted_.counts == whole.fitted_.counts
        assert run("train", "more.csv", "-o", "more.model", "-m", "multinomial")[0] == 0
        assert run("forget", model, "more.csv")[0] == 0
        assert TextClassifier.load(model).fitted_.counts == before
        code, out, _ = run("merge", model, "more.model", "-o", "all.model", "--json")
        assert code == 0
        assert json.loads(out)["after"]["documents"] == 14
        assert TextClassifier.load("all.model").fitted_.counts == whole.fitted_.counts

    def test_a_copy_can_be_changed_instead(self, run, data, model, tmp_path):
        before = (tmp_path / model).read_bytes()
        assert run("update", model, data, "-o", "copy.model")[0] == 0
        assert (tmp_path / model).read_bytes() == before
        assert TextClassifier.load("copy.model").fitted_.counts.counts.n_docs == 24

    def test_a_new_class_needs_grow(self, run, model, tmp_path):
        (tmp_path / "art.csv").write_text("text,label\na film,art\n")
        before = (tmp_path / model).read_bytes()
        code, _, err = run("update", model, "art.csv")
        assert code == 2
        assert (
            "class 'art' is not among the 3 classes of the model (food, politics, sport); pass new_classes=True" in err
        )
        assert (tmp_path / model).read_bytes() == before
        assert run("update", model, "art.csv", "--new-classes")[0] == 0
        assert "art" in TextClassifier.load(model).classes_

    def test_forgetting_what_was_never_learnt(self, run, model, tmp_path):
        (tmp_path / "art.csv").write_text("text,label\nsurrealism,sport\n")
        before = (tmp_path / model).read_bytes()
        code, _, err = run("forget", model, "art.csv")
        assert (code, (tmp_path / model).read_bytes()) == (2, before)
        assert "has never seen the term 'surrealism'" in err

    def test_another_model_from_the_same_counts(self, run, data, model):
        code, out, _ = run(
            "remake", model, "--model", "bernoulli", "--set", "alpha=0.5", "--set", "min-df=2", "-o", "b.model"
        )
        assert code == 0
        assert "rebuilt: b.model now has 12 documents, 3 classes, " in out
        fresh = TextClassifier("bernoulli", alpha=0.5, min_df=2).fit(*zip(*ROWS, strict=True))
        np.testing.assert_array_equal(TextClassifier.load("b.model").scores(NEW), fresh.scores(NEW))
        code, _, err = run("remake", model, "--model", "knn")
        assert code == 2
        assert "k nearest neighbours learns from documents, and this model keeps only counts; train it again" in err

    def test_a_decision_that_was_handed_in_outlives_an_update(self, run, tmp_path):
        labels = [("sport",), ("politics",), ("food", "sport")]
        TextClassifier("multinomial", decision=TopK(2)).fit(["ball", "vote", "soup"], labels).save(tmp_path / "t.model")
        (tmp_path / "more.csv").write_text("text,label\nball goal,sport\n")
        assert run("update", "t.model", "more.csv", "--set", "label-separator=;")[0] == 0
        assert TextClassifier.load("t.model").fitted_.decision == TopK(2)

    def test_models_that_read_differently(self, run, data, model):
        run("train", data, "-o", "other.model", "-m", "multinomial", "--set", "stem=porter")
        code, _, err = run("merge", model, "other.model", "-o", "all.model")
        assert code == 2
        assert "cannot be merged: stem is None and 'porter'" in err
        assert run("merge", model, "-o", "all.model")[0] == 2

    def test_models_with_whole_numbers_as_classes_take_files(self, run, tmp_path):
        TextClassifier("multinomial").fit(["ball", "vote"], [1, 2]).save(tmp_path / "n.model")
        (tmp_path / "n.csv").write_text("text,label\ngoal,1\n")
        assert run("update", "n.model", "n.csv")[0] == 0
        assert TextClassifier.load("n.model").predict(["goal"]).tolist() == [1]
        found = json.loads(run("evaluate", "n.model", "n.csv", "--json")[1])
        assert found["measures"]["accuracy"] == 1.0


@pytest.mark.slow
def test_the_demo(run, tmp_path):
    start = time.process_time()
    code, out, err = run("demo", "-o", "tickets")
    assert (code, err) == (0, "")
    assert time.process_time() - start < 120  # a minute on two cores
    for part in ("Train", "Measure", "Look inside", "Explain", "Multilabel", "Update", "Forget", "Your turn"):
        assert part in out
    assert "bit for bit" in out
    # to a file, tables have 80 columns, and a sentence or a command is one line
    tables = [line for line in out.splitlines() if not (line.endswith(".") or line.startswith("unnaive "))]
    assert max(map(len, tables)) <= 80
    commands = [line for line in out.splitlines() if line.startswith("unnaive ")]
    assert len(commands) == 4
    code, out, err = run("evaluate", "tickets/tickets.model", "tickets/test.csv")
    assert (code, "text from text, labels from queue" in out + err) == (0, True)
    code, out, _ = run(
        "train",
        "tickets/train.csv",
        "--label",
        "queue",
        "-o",
        "my.model",
        "-m",
        "multinomial",
        "--test",
        "tickets/test.csv",
    )
    assert code == 0
    assert "on 275 documents of the test file" in out
    assert run("evaluate", "my.model", "tickets/test.csv")[0] == 0


# What `train` calls at each moment, and the options with which it does: sums stream by, auto takes all documents.
MOMENTS = {
    "reading": ("unnaive.io.datafiles", "DataFile.corpus", ()),
    "counting": ("unnaive.data.accumulator", "Accumulator.add", ("-m", "multinomial")),
    "training": ("unnaive.learning.train", "train", ()),
    "searching": ("unnaive.models.auto.search", "fit_family", ()),
    "training what was chosen": ("unnaive.models.auto.refit", "fit_family", ()),
    "saving": ("os", "fsync", ("-m", "multinomial")),
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.slow
def test_control_c_leaves_no_trace(run, data, model, tmp_path, moment, complaints):
    """SIGINT at several moments; the old model is intact, nothing half-written, exit code 130."""
    before = (tmp_path / model).read_bytes()
    module, place, options = MOMENTS[moment]
    script = (
        "import sys, threading, time\n"
        f"import {module} as m\n"
        f"old = m.{place}\n"
        "def slow(*given, **named):\n"
        "    if threading.current_thread() is threading.main_thread():\n"  # others are stopped by what they call
        "        print('now', file=sys.__stdout__, flush=True)\n"
        "        for _ in range(600):\n"  # short ones: the signal may reach a thread other than the sleeping one
        "            time.sleep(0.1)\n"
        "    return old(*given, **named)\n"
        f"m.{place} = slow\n"
        "from unnaive.apps.cli.main import exit_code\n"
        f"sys.exit(exit_code({['train', data, '-o', model, *options]!r}))\n"
    )
    work = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert work.stdout.readline() == "now\n"
    os.kill(work.pid, signal.SIGINT)
    _, err = work.communicate(timeout=300)
    assert (work.returncode, complaints(err)) == (130, "unnaive: interrupted; no file was changed\n")
    assert (tmp_path / model).read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data.csv", "my.model"]


def test_demo_says_at_once_that_its_folder_cannot_be(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("mine")
    assert run("demo", "-o", "taken") == (
        2,
        "",
        "unnaive: taken cannot be made a folder (File exists); name another\n",
    )


def test_each_command_is_built_by_its_own_module_alone():
    for command in cli.build_app().registered_commands:
        name = command.name or command.callback.__name__
        assert cli.find_commands([name]) == (name,)
        there = [one.name or one.callback.__name__ for one in cli.build_app((name,)).registered_commands]
        assert name in there
    functions = [cli.COMMANDS[name] for name in cli.find_commands([])]
    assert cli.find_commands(["change"]) == cli.find_commands([])
    assert functions == list(dict.fromkeys(cli.COMMANDS.values()))
