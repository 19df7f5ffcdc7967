"""The first hour with the command line: the files that people have, and the answers that they expect."""

import csv
import gzip
import json
import os
import queue
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import unnaive
from unnaive import TextClassifier
from unnaive.apps.cli.main import build_app
from unnaive.apps.common import progress_bar
from unnaive.apps.common.progress_bar import Progress
from unnaive.classifier.model_file import load_model
from unnaive.data.text_hashes import TextHashes
from unnaive.io.tickets import load_tickets
from unnaive.models.catalogue import MODELS
from unnaive.text.buffer import TextBuffer
from unnaive.text.vocabulary import Vocabulary

pytestmark = pytest.mark.slow  # `make test` runs these; `make quick` stays under a minute

SOURCE = Path(unnaive.__file__).parent
# pieces of lines where a number before a plural is never one, or where one has been taken care of
NEVER_ONE = (
    "{len(model.vocabulary_):,} terms",  # of the demo
    '1 row" if self.rows == 1',
    'this 1 label" if lost == 1',
    "{len(corpus):,} documents; is this the column",  # of 20 or more
    "best with {best_size} terms",
    "{name}{role} labels {record} at",  # a verb
    "{name} labels here",  # the same
    "{len(respelt):,} labels would be",  # two spellings at least
)
VERBS = [command.name or command.callback.__name__ for command in build_app().registered_commands]
ROWS = [("n1", "late goal", "sport"), ("n2", "new law", "politics"), ("n3", "goal", "sport"), ("n4", "law", "politics")]


def write_csv(path, rows, head=("nr", "text", "label")):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows] if head else rows)
    return path.name


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path / "data.csv", ROWS)


@pytest.fixture
def model(run, data):
    assert run("train", data, "-o", "my.model", "-m", "multinomial", "--quiet") == (0, "", "")
    return "my.model"


@pytest.fixture
def new(tmp_path):
    return write_csv(tmp_path / "new.csv", [("a7", "goal goal", "x;y"), ("a9", "zzz", "")], ("nr", "text", "note"))


class TestLogs:
    def test_without_a_terminal_a_line_says_how_far_it_is(self, monkeypatch):
        lines = queue.Queue()
        monkeypatch.setattr(progress_bar, "LINE_EVERY", 0.001)
        monkeypatch.setattr(progress_bar, "echo", lambda line, err: lines.put(re.sub(r"\d+:\d\d", "0:00", line)))

        def later_lines():
            """The next lines; those of before the change are among the first hundred thousand."""
            return (lines.get(timeout=60) for _ in range(100_000))

        with Progress("reading", 200, steps=3) as bar:
            assert lines.get(timeout=60) == "… 1/3 reading, 0 %, 0:00 so far"
            bar.advance(50)
            assert "… 1/3 reading, 25 %, 0:00 so far, about 0:00 left of this step" in later_lines()
            bar.rename("learning auto from 10 documents")
            assert "… 2/3 learning auto from 10 documents, 0:00 so far" in later_lines()


class TestInputs:
    def test_several_files_and_patterns_are_one(self, run, data, tmp_path):
        write_csv(tmp_path / "a.csv", ROWS[:2])
        write_csv(tmp_path / "b.csv", ROWS[2:])
        taken = "(csv, header in line 1): text from text, labels from label, 2 files, 4 rows"
        for paths, name in (("a.csv", "b.csv"), "a.csv and 1 more"), (("[ab].csv",), "[ab].csv"):
            code, out, _ = run("train", *paths, "-o", "parts.model", "-m", "multinomial")
            assert (code, out.splitlines()[0]) == (0, f"read {name} {taken}")
        run("train", data, "-o", "whole.model", "-m", "multinomial")
        one, other = TextClassifier.load("parts.model"), TextClassifier.load("whole.model")
        assert one.fitted_.counts == other.fitted_.counts
        assert run("evaluate", "parts.model", "?.csv")[1].splitlines()[0] == f"read ?.csv {taken}"
        assert "now has 8 documents (was 4)" in run("update", "parts.model", "a.csv", "b.csv")[1]
        assert "now has 4 documents (was 8)" in run("forget", "parts.model", "*b.csv", "a.csv")[1]
        assert run("compare", "a.csv", "b.csv", "--models", "multinomial", "--folds", 2)[0] == 0

    def test_parquet_parts(self, run, tmp_path):
        for name, rows in (("p1", ROWS[:2]), ("p2", ROWS[2:])):
            table = pa.table({"text": [row[1] for row in rows], "label": [row[2] for row in rows]})
            pa.parquet.write_table(table, tmp_path / f"{name}.parquet")
        out = run("train", "*.parquet", "-o", "m.model", "-m", "multinomial")[1]
        said, learnt = out.splitlines()[:2]
        assert said == "read *.parquet (parquet): text from text, labels from label, 2 files, 4 rows"
        assert learnt.startswith("multinomial learnt 4 documents")

    def test_text_files_are_documents(self, run, model, tmp_path):
        (tmp_path / "1.txt").write_text("a late\ngoal")
        (tmp_path / "2.txt").write_text("the new law")
        code, out, err = run("predict", model, "1.txt", "2.txt")
        assert code == 0
        assert [row["label"] for row in csv.DictReader(out.splitlines())] == ["sport", "politics"]
        assert "each of the 2 files is read as one document" in err

    def test_columns_of_zeros_and_ones(self, run, tmp_path):
        rows = [("late goal", 1, 0), ("new law", 0, 1), ("goal law", 1, 1)]
        write_csv(tmp_path / "tags.csv", rows, ("text", "tag_sport", "tag_law"))
        code, out, _ = run("train", "tags.csv", "--set", "label-columns=tag_*", "-o", "m.model", "-m", "multinomial")
        assert code == 0
        assert "labels from tag_sport, tag_law, 3 rows" in out
        assert "2 classes (any number of labels)" in out
        assert TextClassifier.load("m.model").classes_.tolist() == ["law", "sport"]

    def test_a_model_remembers_that_there_was_no_header(self, run, tmp_path):
        write_csv(tmp_path / "sms.csv", [row[1:] for row in ROWS], None)
        code, out, _ = run(
            "train", "sms.csv", "--set", "header=false", "--text", 1, "--label", 2, "-o", "m.model", "-m", "multinomial"
        )
        assert (code, out.splitlines()[0]) == (0, "read sms.csv (csv, no header): text from 1, labels from 2, 4 rows")
        code, out, err = run("predict", "m.model", "sms.csv")
        assert [line.split(",")[:3] for line in out.splitlines()[:2]] == [
            ["1", "2", "label"], ["late goal", "sport", "sport"],
        ]  # fmt: skip
        assert err == "read sms.csv (csv, no header): text from 1, 4 rows\n"
        assert "100.0 % of 4 documents got the right one of 2 classes" in run("evaluate", "m.model", "sms.csv")[1]

    def test_a_table_of_a_database(self, run, tmp_path):
        import sqlite3

        with sqlite3.connect(tmp_path / "notes.db") as base:
            base.execute("create table other (x)")
            base.execute("create table notes (nr, text, label)")
            base.executemany("insert into notes values (?, ?, ?)", ROWS)
        base.close()
        code, out, _ = run("train", "notes.db", "--set", "table=notes", "-o", "m.model", "-m", "multinomial")
        assert code == 0
        assert "text from text, labels from label, 4 rows" in out
        assert run("train", "notes.db", "-o", "m.model", "-m", "multinomial")[0] == 2

    def test_the_summary_for_programs_says_what_was_read(self, run, data):
        found = json.loads(run("train", data, "-o", "m.model", "-m", "multinomial", "--json")[1])
        assert found["read"] == "data.csv (csv, header in line 1): text from text, labels from label, 4 rows"


class TestPredictions:
    def test_the_columns_of_the_input_are_kept(self, run, model, new, tmp_path):
        code, out, err = run("predict", model, new)
        assert out.splitlines() == [
            "nr,text,note,label,probability,known_terms",
            "a7,goal goal,x;y,sport,0.9,2",
            "a9,zzz,,politics,0.5,0",
        ]
        assert code == 0
        assert err.splitlines() == [
            "read new.csv (csv, header in line 1): text from text, 2 rows",
            "note: 1 of 2 documents has no word that the model knows (known_terms 0); --undecided LABEL gives them a "
            "label of their own",
        ]
        out = run("predict", model, new, "--set", "keep-columns=false", "--set", "id=nr")[1]
        assert out.splitlines()[:2] == ["id,label,probability,known_terms", "a7,sport,0.9,2"]

    def test_a_column_that_is_there_already_stays(self, run, model, data):
        out = run("predict", model, data)[1]
        assert out.splitlines()[:2] == [
            "nr,text,label,predicted_label,probability,known_terms", "n1,late goal,sport,sport,0.857143,2",
        ]  # fmt: skip

    def test_every_format_says_the_same(self, run, model, new, tmp_path):
        for ending in ("csv", "tsv", "jsonl", "parquet", "csv.gz"):
            assert run("predict", model, new, "-o", f"x.{ending}", "--all", "--quiet") == (0, "", "")
        head = ["nr", "text", "note", "label", "probability", "known_terms", "politics", "sport"]
        first = ["a7", "goal goal", "x;y", "sport", "0.9", "2", "0.1", "0.9"]  # goal is 3/7 : 1/7, twice
        assert list(csv.reader((tmp_path / "x.csv").open()))[:2] == [head, first]
        assert list(csv.reader((tmp_path / "x.tsv").open(), delimiter="\t"))[:2] == [head, first]
        with gzip.open(tmp_path / "x.csv.gz", "rt") as packed:
            assert list(csv.reader(packed))[:2] == [head, first]
        row = json.loads((tmp_path / "x.jsonl").read_text().splitlines()[0])
        assert (row["nr"], row["labels"], row["known_terms"]) == ("a7", ["sport"], 2)
        assert (
            {one["label"]: one["probability"] for one in row["classes"]}["sport"]
            == pytest.approx(row["probability"])
            == pytest.approx(0.9)
        )
        table = pa.parquet.read_table(tmp_path / "x.parquet")
        assert table.column_names == head
        assert table.column("label").to_pylist() == ["sport", "politics"]
        assert table.column("sport").to_pylist() == pytest.approx([0.9, 0.5])

    def test_parquet_keeps_its_types(self, run, model, tmp_path):
        from datetime import date
        from decimal import Decimal

        day = [date(2024, 5, 1), None]
        price = pa.array([Decimal("1.50"), Decimal("22.75")], pa.decimal128(9, 2))
        table = pa.table({"day": day, "price": price, "text": ["goal", "law"], "size": pa.array([1, 2], pa.int16())})
        pa.parquet.write_table(table, tmp_path / "in.parquet")
        assert run("predict", model, "in.parquet", "-o", "out.parquet")[0] == 0
        found = pa.parquet.read_table(tmp_path / "out.parquet")
        assert found.schema.types[:4] == table.schema.types
        assert found.column("day").to_pylist() == day
        assert found.column("label").to_pylist() == ["sport", "politics"]

    def test_json_lines_keep_their_keys(self, run, model, tmp_path):
        lines = [{"meta": {"who": "me"}, "text": "goal", "n": 1}, {"text": "law", "n": 2.5}]
        (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert run("predict", model, "in.jsonl", "--text", "text", "-o", "out.jsonl")[0] == 0
        found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert [(row["meta"], row["n"], row["labels"]) for row in found] == [
            ({"who": "me"}, 1, ["sport"]), (None, 2.5, ["politics"]),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (["-o", "x.xlsx"], "x.xlsx: a table cannot be written as .xlsx; give a name that ends in .csv, .tsv, "),
            (
                ["-o", "x.csv", "--json"],
                ("--json writes JSON lines, but x.csv is the name of a csv file; leave --json out"),
            ),
            (["--min-probability", "2"], "Invalid value for '--min-probability'"),
        ],
    )
    def test_what_cannot_be_is_said(self, run, model, new, words, sentence):
        code, out, err = run("predict", model, new, *words)
        assert (code, out) == (2, "")
        assert sentence in err

    def test_unknown_and_unsure_documents(self, run, model, new):
        def labels(*words):
            return [row["label"] for row in csv.DictReader(run("predict", model, new, *words)[1].splitlines())]

        assert labels("--undecided", "?") == ["sport", "?"]
        assert labels("--min-probability", 0.6) == ["sport", "undecided"]
        assert labels("--min-probability", 0.9, "--undecided", "none") == ["none", "none"]

    def test_a_model_without_probabilities_rejects_nothing(self, run, data, new):
        run("train", data, "-o", "r.model", "-m", "rocchio")
        code, _, err = run("predict", "r.model", new, "--min-probability", 0.5)
        assert (code, "gives no probabilities to reject by; train it with --calibrate" in err) == (2, True)

    @pytest.mark.slow
    @pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="peak memory is read from /proc")  # noqa: PTH110
    def test_memory_stays_constant(self, model, tmp_path):
        """The peak does not grow with the rows; packed, so that Arrow's readahead of 64 MB does not hide it."""
        script = (
            "from unnaive.apps.cli.main import exit_code\n"
            "exit_code(['predict', 'my.model', 'many.csv.gz', '-o', 'out.parquet', '-q'])\n"
            "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
        )
        peaks = []
        for times in (20_000, 80_000):
            with gzip.open(tmp_path / "many.csv.gz", "wt", compresslevel=1) as file:
                file.write("nr,text\n")
                file.writelines(f"{n},{'late goal of the match ' * 40}\n" for n in range(times))
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
            peaks.append(int(done.stdout) / 1024)
        assert peaks[1] - peaks[0] < 30  # MB, where the texts have 55 MB more; measured 3.5


@pytest.fixture
def tags(run, tmp_path):
    """The tickets with any number of tags each, as files."""
    for part in ("train", "test"):
        corpus = load_tickets("tags").part(part)
        rows = [(text, ";".join(labels)) for text, labels in zip(corpus.texts, corpus.labels, strict=True)]
        write_csv(tmp_path / f"{part}.csv", rows, ("text", "tags"))
    return ("train.csv", "--label-separator", ";", "-o", "tags.model", "--test", "test.csv", "-m", "multinomial")


class TestMultilabel:
    def test_decisions_are_tuned_by_default(self, run, tags):
        tuned = json.loads(run("train", *tags, "--json")[1])["test"]
        untuned = json.loads(run("train", *tags, "--json", "--set", "decision=untuned")[1])["test"]
        assert untuned["macro-f1"] == pytest.approx(0.277, abs=0.005)
        assert tuned["macro-f1"] == pytest.approx(0.432, abs=0.005)
        # where scores can be compared across documents, thresholds are better than one number of labels for all
        tuned = json.loads(run("train", *tags[:-1], "complement", "--json")[1])["test"]
        assert tuned["macro-f1"] == pytest.approx(0.693, abs=0.005)

    def test_the_classifier_does_the_same(self, run, tags, tmp_path):
        run("train", *tags)
        corpus = load_tickets("tags").part("train")
        mine = TextClassifier("multinomial").fit(corpus.texts, corpus.labels)
        theirs = TextClassifier.load("tags.model")
        assert mine.fitted_.decision == theirs.fitted_.decision
        for name, same in (("best", True), ("untuned", False)):
            named = TextClassifier("multinomial", decision=name).fit(corpus.texts, corpus.labels)
            assert (named.fitted_.decision == mine.fitted_.decision) == same

    def test_few_documents_are_not_tuned(self):
        texts, labels = ["ball soup", "ball", "soup"] * 10, [("a", "b"), ("a",), ("b",)] * 10
        one = TextClassifier("multinomial").fit(texts, labels).fitted_.decision
        assert one == TextClassifier("multinomial", decision="untuned").fit(texts, labels).fitted_.decision

    def test_decisions_are_tuned_again_after_every_change(self, run, tags):
        corpus = load_tickets("tags")
        run("train", *tags)
        for command, changed, settings in (
            (("update", "tags.model", "test.csv"), "tags.model", {}),
            (("remake", "tags.model", "--set", "alpha=0.01", "-o", "other.model"), "other.model", {"alpha": 0.01}),
        ):
            assert run(*command)[0] == 0
            trained = TextClassifier("multinomial", **settings).fit(corpus.texts, corpus.labels)
            assert TextClassifier.load(changed).fitted_.decision == trained.fitted_.decision

    def test_labels_of_predict_come_by_score(self):
        corpus = load_tickets("tags").part("train")
        classifier = TextClassifier("complement").fit(corpus.texts, corpus.labels)
        scores, places = classifier.scores(corpus.texts), {name: c for c, name in enumerate(classifier.classes_)}
        given = classifier.predict(corpus.texts)
        for row, names in enumerate(given):
            own = [scores[row, places[name]] for name in names]
            assert own == sorted(own, reverse=True)
        assert any(list(names) != sorted(names) for names in given)
        assert given == classifier.fitted_.labels_of(scores)

    def test_headlines_are_f1_both_ways(self, run, tags):
        out = run("train", *tags)[1]
        headline, beside = out.splitlines()[1:3]
        assert headline.startswith("test micro F1 0.")
        assert beside.startswith("  macro F1 0.")
        assert "accuracy" not in headline + beside

    def test_labels_come_by_probability(self, run, tags):
        run("train", *tags[:-1], "complement", "--quiet")
        lines = run("predict", "tags.model", "test.csv", "--json", "--quiet")[1].splitlines()
        rows = [json.loads(line) for line in lines]
        assert any(len(row["labels"]) > 1 for row in rows)
        for row in rows:
            value = "probability" if "probability" in row else "score"
            values = [one[value] for one in row["classes"]]
            assert [one["label"] for one in row["classes"]] == row["labels"]
            assert values == sorted(values, reverse=True)
            assert (row["label"], row[value]) == (next(iter(row["labels"]), None), next(iter(values), None))

    def test_inspect_shows_thresholds(self, run, tags):
        run("train", *tags, "--quiet")
        assert "the best class of every document" in run("inspect", "tags.model")[1]
        run("train", *tags[:-1], "complement", "--quiet")
        out = run("inspect", "tags.model")[1]
        assert "every class that reaches its threshold of score" in out
        assert "threshold" in next(line for line in out.splitlines() if line.startswith("class"))
        found = json.loads(run("inspect", "tags.model", "--json")[1])
        decision = TextClassifier.load("tags.model").fitted_.decision
        assert list(found["thresholds"].values()) == list(decision.values)

    def test_help_explains_the_decisions(self, run, monkeypatch):
        monkeypatch.setenv("COLUMNS", "200")
        out = " ".join(run("train", "-h")[1].split())
        for words in (
            "argmax predicts the class with the best score",
            "scut predicts every class whose score reaches its threshold",
            "rcut predicts the same number of labels",
            "best uses the better of scut and rcut",
            "pcut predicts each class for the same share",
        ):
            assert words in out


class TestCommandLine:
    def test_learnt_documents_in_the_test_file_are_told(self, run, data):
        code, _, err = run("train", data, "-o", "m.model", "-m", "multinomial", "--test", data)
        assert code == 0
        assert "note: 4 of 4 documents of data.csv are in the training data of the model" in err

    @pytest.mark.slow
    def test_evaluate_tells_of_learnt_documents(self, run, data, tmp_path):
        def overlap(path):
            notes = [line for line in run("evaluate", "my.model", path)[2].splitlines() if "training data" in line]
            return notes[0].split(" in the ")[0] if notes else ""

        (tmp_path / "key").write_bytes(bytes(range(32)))
        write_csv(tmp_path / "more.csv", [("n5", "cup final", "sport"), *ROWS[:1]])
        for words in ([], ["-m", "multinomial", "--register"], ["--model", "svm"]):
            run("train", data, "-o", "my.model", *words)
            assert overlap("more.csv") == "note: 1 of 2 documents of more.csv is", words
            assert overlap(data) == "note: 4 of 4 documents of data.csv are", words
        for words in (
            ["--frozen"],
            ["-m", "multinomial", "--register", "--key", "key"],
        ):  # which keep nothing that could be tried out
            run("train", data, "-o", "my.model", *words)
            assert overlap(data) == "", words

    def test_hashes_follow_what_is_learnt_and_forgotten(self, run, data, tmp_path):
        write_csv(tmp_path / "more.csv", [("n5", "cup final", "sport"), *ROWS[:1]])
        run("train", data, "-o", "a.model", "-m", "multinomial")
        run("update", "a.model", "more.csv")
        assert len(load_model("a.model").text_hashes) == 6
        run("forget", "a.model", "more.csv", "-o", "c.model")
        np.testing.assert_array_equal(
            load_model("c.model").text_hashes.values, TextHashes.of([row[1] for row in ROWS]).values
        )
        run("remake", "c.model", "--set", "alpha=0.5")
        assert len(load_model("c.model").text_hashes) == 4
        assert run("evaluate", "c.model", "more.csv")[2].startswith("note: 1 of 2 documents")

    def test_a_pattern_never_covers_the_output(self, run, model, data):
        code, _, err = run("predict", model, "da*.csv", "-o", data)
        assert (code, err) == (2, "unnaive: data.csv is read by this command; name another file to write\n")

    @pytest.mark.parametrize("verb", [[], *([verb] for verb in VERBS), ["collections", "fetch"]])
    @pytest.mark.slow
    def test_help_of_every_verb(self, run, verb):
        code, out, _ = run(*verb, "-h")
        assert code == 0
        assert out == run(*verb, "--help")[1]
        assert not re.search(r"<[a-z]", out)  # flags are flags, and values have names: no <bool>, no <path>
        assert "--quiet" in out

    @pytest.mark.slow
    def test_quiet_before_and_after_every_verb(self, run, model, data):
        for verb in ("train x.csv -o x.model", "evaluate no.model x", "merge a.model b.model -o c",
                     "verify no.model --receipt r", "reproduce nothing", "compare nothing", "plot no.model",
                     "collections check nothing"):  # fmt: skip
            words = verb.split()
            after = run(*words, "-q")
            assert after[0] == 2, verb
            assert after == run("--quiet", *words), verb
            assert "No such option" not in after[2], verb
        for verb in ("doctor", "collections", "inspect my.model"):
            assert run(*verb.split(), "--quiet") == run("-q", *verb.split()) == run(*verb.split()), verb

    @pytest.mark.parametrize("model", [name for name in MODELS if name != "auto"])
    def test_one_line_says_what_and_how_far(self, run, data, monkeypatch, model):
        shown = []
        monkeypatch.setattr(Progress, "_put", lambda self, title, total, done, *_: shown.append((title, done, total)))
        assert run("train", data, "-o", "my.model", "--model", model, "-q")[0] == 0
        assert shown.pop(0)[0] == "1/3 reading"
        assert shown[0] == (f"2/3 learning {model} from 4 documents", 0.0, None)
        assert shown[-1] == ("3/3 writing", 0.0, None)
        assert all(title.startswith("2/3 learning ") for title, *_ in shown[:-1])
        assert all(re.search(", (class|round) [0-9]+( of (at most )?[0-9,]+)?$", title) for title, *_ in shown[1:-1])
        # the others are done in one go; two words make no hidden node for the hierarchical naive Bayes model
        loops = {"maxent", "svm", "nbsvm", "hierarchical", "honb", "superparent", "selective", "diagnostic"}
        loops |= {"label-tree", "sharded-nbsvm"}
        assert (len(shown) > 2) == (model in loops)
        if model in ("svm", "nbsvm"):
            assert all(0 <= done <= total for _, done, total in shown[1:-1])

    def test_the_folds_of_tuning_are_counted(self, run, tmp_path, monkeypatch):
        shown = []
        monkeypatch.setattr(Progress, "_put", lambda self, title, total, done, *_: shown.append((title, done, total)))
        write_csv(tmp_path / "many.csv", [row for row in ROWS for _ in range(15)])
        options = ("-m", "multinomial", "--calibrate", "platt", "--holdout", "0.2", "-q")
        assert run("train", "many.csv", "-o", "my.model", *options)[0] == 0
        assert [title for title, *_ in shown[:2]] == ["1/4 reading", "2/4 measuring multinomial on documents set aside"]
        assert ("3/4 learning multinomial from 60 documents, tuning on documents held out, fold 5 of 5", 4, 5) in shown

    def test_completion(self, tmp_path):
        ask = {"_UNNAIVE_COMPLETE": "complete_bash", "COMP_WORDS": "unnaive pre", "COMP_CWORD": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "unnaive"], env=os.environ | ask, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout.split()) == (0, ["predict"])

    @pytest.mark.parametrize("words", [["--quiet", "train"], ["train", "-q"]])
    def test_quiet(self, run, data, words):
        assert run(*words, data, "-o", "m.model", "-m", "multinomial", "--test", data) == (0, "", "")
        assert run("update", "m.model", data, "-q") == (0, "", "")
        assert run("predict", "m.model", "-d", "zzz", "-q")[2] == ""
        code, _, err = run("train", "nowhere.csv", "-o", "m.model", "-q")
        assert (code, err.startswith("unnaive: no file or folder")) == (2, True)

    def test_evaluate_says_what_it_wrote(self, run, model, data):
        err = run("evaluate", model, data, "--report", "r.html", "--report", "r.md")[2]
        assert err.splitlines()[-2:] == ["wrote r.html", "wrote r.md"]

    def test_remake_asks_for_an_option(self, run, model):
        code, _, err = run("remake", model)
        assert code == 2
        assert err == ("unnaive: no change of my.model was named; give --model or --set, such as --set min_df=2\n")

    def test_one_document_is_one_document(self, run, model, tmp_path):
        write_csv(tmp_path / "one.csv", ROWS[:1])
        assert " % of 1 document got the right one of 2 classes" in run("evaluate", model, "one.csv")[1]
        assert run("predict", model, "one.csv")[2].endswith("1 row\n")

    @pytest.mark.slow
    def test_nothing_is_called_1_documents(self, run, data, tmp_path):
        write_csv(tmp_path / "one.csv", ROWS[:1])
        write_csv(tmp_path / "more.csv", [*ROWS, ("n5", "late cup", "sport"), ("n6", "", "sport"), ("n7", "x y", "")])
        write_csv(tmp_path / "other.csv", [("n8", "cup", "cooking")])
        commands = (
            "train one.csv -o a.model",
            "train data.csv -m multinomial -o b.model --register --test one.csv --set select=1",
            "train more.csv -o c.model --holdout 0.2", "update b.model one.csv", "evaluate b.model one.csv",
            "evaluate b.model other.csv", "forget b.model other.csv", "forget b.model one.csv --receipt r.json",
            "verify b.model --receipt r.json --remaining one.csv", "verify c.model --receipt r.json", "inspect b.model",
            "merge b.model b.model -o d.model", "remake b.model --set min-df=9", "predict b.model one.csv",
            "compare data.csv --models multinomial --folds 2 --vocabulary 1",
            "compare more.csv --splits 1 --models svm",
            "plot b.model one.csv -f confusion -o c.png", "explain b.model goal",
        )  # fmt: skip
        seen = "".join("".join(map(str, run(*command.split()))) for command in commands)
        seen += repr(TextClassifier("multinomial", select=1).fit(["late goal", "law"], ["a", "b"])) + repr(
            Vocabulary(["a"])
        )
        seen += repr(TextBuffer.of(["a"]))
        plural = r"(?<![\w.,])1 (?:documents|classes|terms|rows|texts|labels|splits|folds|files|models|columns|runs)\b"
        assert re.findall(rf".*{plural}.*", seen) == []
        assert len(re.findall("1 (?:document|row|term|split)\\b", seen)) > 10

    def test_messages_count_with_count_noun(self):
        """In what people read, a number before a plural goes through count_noun, or is one that cannot be 1."""
        plural = re.compile(r"\{(?!count_noun)[^{}]*\} (?:documents|labels|terms|rows|texts)\b")
        for folder in ("apps", "papers", "io"):
            for path in sorted((SOURCE / folder).rglob("*.py")):
                found = [line.strip() for line in path.read_text().splitlines() if plural.search(line)]
                assert [line for line in found if not any(known in line for known in NEVER_ONE)] == [], path

    def test_doctor(self, run):
        import numpy

        code, out, _ = run("doctor")
        assert code == 0
        assert f"numpy {numpy.__version__}" in out
        assert "backend: " in out
        found = json.loads(run("doctor", "--json")[1])
        assert found["packages"]["numpy"] == numpy.__version__
        assert found["backend"] in ("native", "reference")
        assert set(found["collections"]) >= {"reuters", "20newsgroups"}

    def test_unknown_languages_are_refused(self, run, data):
        code, _, err = run("train", data, "-o", "m.model", "-m", "multinomial", "--language", "xx")
        assert code == 2
        assert err.startswith("unnaive: 'xx' is not a language code of ISO 639; give a two-letter code such as en")
        assert " de, " in err
        assert " tr, " in err
        assert run("train", data, "-o", "m.model", "-m", "multinomial", "--language", "hi", "-q") == (0, "", "")

    def test_tables_fit_40_columns(self, run, model, data, monkeypatch):
        monkeypatch.setenv("COLUMNS", "40")
        out = run("evaluate", model, data)[1]
        tables = out.split("\n\n", 1)[1].rpartition("next: ")[0]
        assert max(map(len, tables.splitlines())) <= 40
        assert "sport     1.00  1.00  1.00  2" in tables


class TestCompare:
    WORDS = ("--models", "multinomial,complement,bernoulli", "--splits", 5)

    @pytest.fixture
    def tickets(self, run, tmp_path):
        corpus = load_tickets()
        rows = [(text, labels[0]) for text, labels in zip(corpus.texts, corpus.labels, strict=True)]
        (tmp_path / "my data").mkdir()
        write_csv(tmp_path / "my data" / "tickets.csv", rows, ("text", "label"))
        return "my data/tickets.csv"

    def test_what_is_a_file_and_what_a_collection(self, run, data, tmp_path):
        import sqlite3

        with sqlite3.connect(tmp_path / "notes.db") as base:
            base.execute("create table notes (text, label)")
            base.executemany("insert into notes values (?, ?)", [row[1:] for row in ROWS * 3])
        quick = ("--models", "multinomial", "--folds", "2")
        assert "(sqlite, table notes)" in run("compare", "sqlite:notes.db?table=notes", *quick)[2]
        (tmp_path / "tickets").write_bytes((tmp_path / data).read_bytes())  # a file goes before a collection
        assert "read tickets (csv, header in line 1)" in run("compare", "tickets", *quick, "--label", "label")[2]
        for path, sentence in (
            ("sqlite:none.db?table=t", "no file or folder called none.db"),
            ("https://example.org/a.csv", "download the file first"),
            ("ticket", "did you mean 'tickets'"), ("no/such", "no file or folder called no/such"),
        ):  # fmt: skip
            code, _, err = run("compare", path, *quick)
            assert (code, sentence in err, err.count("\n")) == (2, True, 1), err

    def test_the_same_options_of_words_as_train(self, run, data):
        quick = ("--models", "multinomial", "--folds", "2", "--label", "label")
        words = {"stopwords", "stem", "analyzer", "char-ngrams", "min-length", "digits", "lowercase", "strip-html",
                 "message", "unspaced", "segmenter", "emoji", "symbols"}  # fmt: skip
        for verb in ("train", "compare"):
            shown = run(verb, "-h")[1]
            assert words <= set(re.findall(r"[a-z-]+", shown[shown.index("Names of --set") :])), verb
            assert {"--language", "--ngrams"} <= set(re.findall(r"--[a-z-]+", shown)), verb
        for options in (
            [],
            ["--set", "analyzer=char", "--set", "char-ngrams=3"],
            ["--ngrams", "2"],
            ["--set", "symbols=true"],
        ):
            assert run("compare", data, *quick, *options)[0] == 0
        code, _, err = run("compare", data, *quick, "--set", "analyzer=chars")
        assert (code, "no analyzer called 'chars'" in err) == (2, True)

    def test_records_are_written_where_told_and_else_nowhere(self, run, tickets, tmp_path):
        code, out, err = run("compare", tickets, *self.WORDS)
        assert code == 0
        assert "records:" not in out
        assert [path.name for path in tmp_path.rglob("*")] == ["my data", "tickets.csv"]
        assert err.startswith(
            "read my data/tickets.csv (csv, header in line 1): text from text, labels from label, 926"
        )
        code, out, _ = run("compare", tickets, *self.WORDS, "-o", "here.jsonl")
        assert (code, out.splitlines()[-2]) == (0, "records: here.jsonl")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["here.jsonl", "my data"]

    def test_few_splits_are_no_test_and_documents_are(self, run, tickets):
        out = run("compare", tickets, "--models", "multinomial,bernoulli", "--splits", 2)[1]
        assert "no p with 2 splits: the test needs at least 5" in out
        assert "± is the standard deviation over the splits" in out
        assert "McNemar is an exact test on the documents" in out
        assert "whether these trained models differ, not whether the methods would" in out
        heading = out.splitlines()[out.splitlines().index("accuracy against multinomial") + 1]
        assert heading.split("  ")[-1].strip() == "McNemar p"  # neither an empty p nor a verdict
        assert "of 2 splits" in out

    def test_seconds_have_two_digits(self, run, tickets):
        out = run("compare", tickets, *self.WORDS)[1]
        seconds = [line.split()[-1] for line in out.splitlines() if line.startswith("multinomial ")]
        assert all(len(value.replace(".", "").lstrip("0")) == 2 for value in seconds)

    def test_the_page_has_a_picture_and_every_pair(self, run, tickets, tmp_path):
        assert run("compare", tickets, *self.WORDS, "--report", "c.html")[0] == 0
        page = (tmp_path / "c.html").read_text()
        assert '<h1>tickets.csv: comparison</h1><p class="verdict">complement has the highest accuracy, 0.9' in page
        assert "<dd>3 models, 5 random splits, " in page
        assert "accuracy, best first: complement 0.9" in page
        assert "Every pair of models" in page
        assert page.count("<svg") == 2


class TestPages:
    def test_explain_has_bars(self, run, model, tmp_path):
        err = run("explain", model, "late goal law", "--class", "sport", "--report", "why.html")[2]
        assert err == "wrote why.html\n"
        page = (tmp_path / "why.html").read_text()
        assert page.count('class="bar for"') == 2  # late, goal
        assert page.count('class="bar left against"') == 1  # law
        assert "together" in page

    @pytest.mark.slow
    def test_a_report_of_many_classes(self, run, tmp_path):
        """77 classes: worst F1 first, and the whole matrix with those that are confused side by side."""
        rows = [(f"word{c} common", f"class{c:02}") for c in range(77) for _ in range(2)]
        rows += [("word3 common", "class70")] * 4
        write_csv(tmp_path / "many.csv", rows, ("text", "label"))
        run("train", "many.csv", "-o", "many.model", "-m", "multinomial", "--set", "alpha=0.01")
        code, out, _ = run("evaluate", "many.model", "many.csv", "--report", "r.html")
        assert code == 0
        table = out.split("documents\n", 1)[1].splitlines()
        assert {line.split()[0] for line in table[:2]} == {"class03", "class70"}
        page = (tmp_path / "r.html").read_text()
        assert "Worst F1 first." in page
        assert 'aria-label="Confusion matrix of 77 classes"' in page
        assert page.count('<rect class="right"') >= 76
        names = page.split('aria-label="Confusion matrix of 77 classes"')[1].split("</svg>")[0]
        places = [names.index(f'text-anchor="end">class{c}<') for c in ("03", "70")]
        assert names[min(places) : max(places)].count('text-anchor="end"') == 1

    def test_calibration_dots_have_intervals(self, run, model, data, tmp_path):
        run("evaluate", model, data, "--report", "r.html")
        assert "among at least 10 predictions of about this probability" in (tmp_path / "r.html").read_text()
