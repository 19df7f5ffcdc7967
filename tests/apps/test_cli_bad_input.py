"""Bad input, case by case: one sentence on stderr, exit code 2, nothing written and nothing changed."""

import errno
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.apps.common import progress_bar
from unnaive.classifier.model_file import FORMAT

pytestmark = pytest.mark.slow  # `make test` runs these; `make quick` stays under a minute

GOOD = "text,label\nthe ball is round,sport\nthe vote is in,politics\nwarm bread,food\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.csv").write_text(GOOD)
    TextClassifier("multinomial").fit(["ball goal", "vote law"], ["sport", "politics"]).save(tmp_path / "old.model")
    return tmp_path


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def refused(folder, capsys):
    """Run a command that must fail; its one sentence."""

    def refused(*arguments):
        before = contents(folder)
        assert exit_code([str(argument) for argument in arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(("unnaive: ", "note: "))
        assert err.splitlines()[-1].startswith("unnaive: ")
        assert "Traceback" not in err
        assert contents(folder) == before
        return err.splitlines()[-1].removeprefix("unnaive: ")

    return refused


@pytest.mark.parametrize("output", ["new.model", "old.model"])
class TestTrain:
    def test_a_missing_file(self, refused, output):
        assert (
            refused("train", "goood.csv", "-o", output) == "no file or folder called goood.csv; did you mean good.csv?"
        )

    @pytest.mark.parametrize(
        ("name", "content", "sentence"),
        [
            ("e.csv", "", "e.csv is empty; expected a header and rows"),
            ("e.jsonl", "", "e.jsonl is empty; expected one JSON object per line"),
            ("h.csv", "text,label\n", "h.csv: there are no documents; give at least one"),
            (
                "w.csv",
                "a,b,c\n1,2,3\n",
                "which columns of w.csv hold the text and the labels? a (1), b (2), c (3); use --text NAME",
            ),
            (
                "one.csv",
                "text,label\nball,sport\ngoal,sport\n",
                "every document has the label 'sport'; a classifier needs at least two classes; add documents "
                "of another class, or name another column of labels",
            ),
            (
                "blank.csv",
                "text,label\n,sport\n?!,food\n",
                "none of the 2 texts has a term to learn from; check the column and the settings",
            ),
            (
                "ragged.csv",
                "text,label\na,b,c\n",
                "line 2 of ragged.csv has 3 fields, but the header has 2 (an unclosed quote or an "
                "unquoted delimiter?); "
                "repair it, or leave such rows out with --set skip-bad=true",
            ),
            ("bad.jsonl", '{"text": \n', "line 1 of bad.jsonl is not JSON"),
            (
                "none.csv",
                "text,label\nball,\ngoal,\n",
                "none.csv: no document has a label; label some documents, or name another column",
            ),
        ],
    )
    def test_files_with_nothing_to_learn(self, refused, folder, output, name, content, sentence):
        (folder / name).write_text(content)
        assert refused("train", name, "-o", output).startswith(sentence)

    def test_a_wrong_column(self, refused, output):
        sentence = "good.csv has no column 'queue'; it has text, label"
        assert refused("train", "good.csv", "--label", "queue", "-o", output) == sentence

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    def test_utf_16_without_its_mark(self, refused, run, folder, output, encoding):
        (folder / "wide.csv").write_bytes(GOOD.encode(encoding))
        sentence = f"line 1 of wide.csv is mostly NULs; if the file is UTF-16, use --set encoding={encoding}"
        assert refused("train", "wide.csv", "-o", output) == sentence
        assert (
            run("train", "wide.csv", "--set", f"encoding={encoding}", "-m", "multinomial", "-o", "wide.model")[0] == 0
        )

    def test_nothing_but_nuls(self, refused, folder, output):
        (folder / "nul.csv").write_bytes(bytes(5000))
        sentence = "line 1 of nul.csv is mostly NULs; if the file is UTF-16, use --set encoding=utf-16-le, or utf-16-be"
        assert refused("train", "nul.csv", "-o", output) == sentence

    def test_a_named_encoding_that_is_wrong(self, refused, folder, output):
        (folder / "latin.csv").write_bytes(GOOD.replace("warm", "café").encode("latin-1"))
        sentence = "latin.csv is not utf-8 (byte 0xe9); use another --set encoding=NAME"
        assert refused("train", "latin.csv", "--set", "encoding=utf-8", "-o", output) == sentence

    def test_a_spreadsheet(self, refused, folder, output):
        with zipfile.ZipFile(folder / "book.csv", "w") as book:
            book.writestr("sheet", "x")
        assert "is a zip archive or a spreadsheet; export it as CSV" in refused("train", "book.csv", "-o", output)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (["--model", "multinominal"], "no model called 'multinominal'; there are "),
            (["-m", "multinomial", "--set", "alhpa=1"], "--set of unnaive train has no 'alhpa'; there are "),
            (["--set", "alpha"], "--set came as 'alpha'; write NAME=VALUE, for instance --set encoding=latin-1"),
            (
                ["-m", "multinomial", "--set", "alpha=abc"],
                "alpha of multinomial came as 'abc'; give a number or a list of numbers, such as 1.0",
            ),
            (["-m", "multinomial", "--set", "alpha=-1"], "alpha of multinomial came as -1; give a number from 0"),
            (
                ["-m", "multinomial", "--set", "smoothing=laplase"],
                "no smoothing called 'laplase'; there are absolute, jelinek-mercer, laplace",
            ),
            (["--set", "select=many"], "--set select is 'many'; give a number of terms such as 2000, or chi2:2000"),
            (["--ngrams", "x"], "--ngrams is 'x'; give a number of words such as 1, or a range such as 1-2"),
            (["--set", "stem=portre"], "no stemmer called 'portre'; there are porter, snowball"),
            (["--set", "stopwords=nowhere.txt"], "no stop list called 'nowhere.txt'; there are "),
            (["--language", "english"], "language is 'english'; give an ISO 639 code"),
            (["--set", "min-df=99"], "no term is in at least 99 documents; lower min_df"),
            (["--format", "cvs"], "no format called 'cvs'; there are "),
            (["--set", "delimiter=::"], "the delimiter is '::'; give one character"),
            (["--set", "encoding=utf-99"], "no encoding called 'utf-99'"),
            (["--holdout", "2"], "the holdout is 2.0 of 3 documents; give a share"),
            (["--test", "nowhere.csv"], "no file or folder called nowhere.csv"),
            (["--jobs", "0"], "Invalid value for '--jobs' / '-j': Input should be greater than or equal to 1"),
        ],
    )
    def test_mistaken_options(self, refused, output, options, sentence):
        assert refused("train", "good.csv", "-o", output, *options).startswith(sentence)


class TestReadAnyway:
    """What is unusual but can be read: it is read, and a note says how."""

    @pytest.fixture
    def trained(self, folder, capsys, monkeypatch):
        monkeypatch.setattr(progress_bar, "LINE_EVERY", 3600.0)  # no progress lines, on slow machines too

        def trained(*options):
            assert exit_code(["train", "data.csv", "-o", "new.model", "-m", "multinomial", *options]) == 0
            return TextClassifier.load("new.model"), capsys.readouterr().err

        return trained

    def test_bytes_that_are_not_utf8(self, folder, trained):
        (folder / "data.csv").write_bytes(GOOD.replace("warm", "café").encode("cp1252"))
        model, err = trained()
        assert "café" in model.vocabulary_
        assert err == (
            "note: data.csv is not UTF-8 (byte 0xe9 on line 4): such lines are read as cp1252; "
            "if that is wrong, use --set encoding=NAME\n"
        )
        assert "café" in trained("--set", "encoding=latin-1")[0].vocabulary_

    def test_utf16_with_its_mark(self, folder, trained):
        (folder / "data.csv").write_text(GOOD, encoding="utf-16")
        assert trained()[0].classes_.tolist() == ["food", "politics", "sport"]

    def test_a_few_nuls(self, folder, trained):
        (folder / "data.csv").write_bytes(GOOD.replace("warm bread", "warm\0bread").encode())
        model, err = trained()
        assert {"warm", "bread"} <= set(model.vocabulary_)
        assert err == "note: data.csv contains NULs (line 4); they are read as word borders\n"

    @pytest.mark.slow
    def test_a_line_of_50_megabytes(self, folder, trained):
        with (folder / "data.csv").open("w") as file:
            file.write(GOOD)
            file.write("word " * 10_000_000 + ",sport\n")
        model, err = trained()
        assert err == ""
        assert model.fitted_.counts.counts.terms[model.fitted_.counts.vocabulary.id("word")] == 10_000_000

    def test_bad_rows_that_may_be_left_out(self, folder, trained):
        (folder / "data.csv").write_text(GOOD + "a,b,c\n")
        model, err = trained("--set", "skip-bad=true")
        assert model.fitted_.counts.counts.n_docs == 3
        assert err == "note: data.csv: 1 bad row was left out: line 5\n"

    def test_empty_texts_and_labels(self, folder, trained):
        (folder / "data.csv").write_text(GOOD + ",food\nnobody knows,\n")
        model, err = trained()
        assert model.fitted_.counts.counts.n_docs == 4
        assert "note: data.csv: 1 of 5 texts is empty" in err
        assert "note: data.csv: 1 of 5 rows has no label and is left out" in err


class TestModelFiles:
    @pytest.mark.parametrize("verb", ["predict", "evaluate", "explain", "inspect", "update", "forget", "merge"])
    @pytest.mark.parametrize("kind", ["missing", "truncated", "random", "zip bomb", "newer", "csv", "empty", "folder"])
    @pytest.mark.slow
    def test_they_are_refused_by_every_verb(self, refused, folder, verb, kind):
        path = folder / "bad.model"
        good = (folder / "old.model").read_bytes()
        if kind == "truncated":
            path.write_bytes(good[: len(good) // 2])
        elif kind == "random":
            path.write_bytes(b"\x93" * 77 + os.urandom(4000))
        elif kind == "zip bomb":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb:
                bomb.writestr("zeros", bytes(2_000_000))
        elif kind == "newer":
            path.write_bytes(good.replace(b'\\"format\\": %d' % FORMAT, b'\\"format\\": 7'))
        elif kind in ("csv", "empty"):
            path.write_text(GOOD if kind == "csv" else "")
        elif kind == "folder":
            path.mkdir()
        arguments = {
            "predict": ["bad.model", "good.csv"],
            "evaluate": ["bad.model", "good.csv"],
            "explain": ["bad.model", "a text"],
            "inspect": ["bad.model"],
            "update": ["bad.model", "good.csv"],
            "forget": ["bad.model", "good.csv"],
            "merge": ["old.model", "bad.model", "-o", "new.model"],
        }[verb]
        sentence = refused(verb, *arguments)
        expected = {
            "missing": "no file or folder called bad.model",
            "newer": "bad.model: it has format 7, written by unnaive",
            "folder": "bad.model: this is a folder; name the model file in it",
        }
        assert sentence.startswith(expected.get(kind, "bad.model: this is not a model, or it is damaged"))


class TestWriting:
    @pytest.mark.parametrize(
        ("output", "sentence"),
        [
            ("nowhere/new.model", "there is no folder"),
            ("mine.txt", "mine.txt exists and is not a model; name another file, or remove that one"),
            (".", ". is a folder; name a file"),
            ("good.csv/new.model", "there is no folder"),
            ("/proc/new.model", "cannot be written"),
        ],
    )
    @pytest.mark.parametrize("verb", ["train", "merge"])
    def test_an_output_that_cannot_be_written_is_refused(self, refused, folder, verb, output, sentence):
        (folder / "mine.txt").write_text("precious")
        arguments = ["good.csv"] if verb == "train" else ["old.model", "old.model"]
        assert sentence in refused(verb, *arguments, "-o", output)

    def test_a_folder_without_permission(self, refused, folder, monkeypatch):
        monkeypatch.setattr(os, "access", lambda *_: False)  # tests may run as root, whom nothing is denied
        sentence = refused("train", "good.csv", "-o", "new.model")
        assert sentence.startswith("new.model cannot be written: you may not write in ")

    @pytest.mark.parametrize("verb", ["train", "update", "forget", "merge"])
    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
    def test_a_full_disk_leaves_the_old_model(self, refused, folder, monkeypatch, verb, code):
        (folder / "more.csv").write_text("text,label\nball goal,sport\n")

        def full(*_, **__):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "fsync", full)
        arguments = {
            "train": ["good.csv", "-o", "old.model"],
            "update": ["old.model", "more.csv"],
            "forget": ["old.model", "more.csv"],
            "merge": ["copy.model", "copy.model", "-o", "old.model"],
        }[verb]
        (folder / "copy.model").write_bytes((folder / "old.model").read_bytes())
        assert refused(verb, *arguments) == (f"old.model cannot be written ({os.strerror(code)}); nothing was changed")

    @pytest.mark.slow
    @pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
    def test_a_disk_that_is_really_full(self, folder):
        disk = folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, text=True
        )
        if mounted.returncode:
            pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
        try:
            TextClassifier("multinomial").fit(["ball", "vote"], ["a", "b"]).save(disk / "old.model")
            before = (disk / "old.model").read_bytes()
            rows = "".join(f"word{i} term{i},label{i % 5}\n" for i in range(5000))
            (folder / "big.csv").write_text("text,label\n" + rows)
            done = command("train", "big.csv", "-o", "disk/old.model")
            assert (done.returncode, done.stdout) == (2, "")
            assert "cannot be written" in done.stderr
            assert "nothing was changed" in done.stderr
            assert (disk / "old.model").read_bytes() == before
            assert [path.name for path in disk.iterdir()] == ["old.model"]
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    @pytest.mark.slow
    def test_predictions_to_a_full_disk(self, folder, complaints):
        done = command("predict", "old.model", "good.csv", "-o", "/dev/full")
        assert done.returncode == 2
        assert complaints(done.stderr) == "unnaive: /dev/full: No space left on device; nothing was written\n"
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "unnaive.apps.cli.main", "predict", "old.model", "good.csv"],
                stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            )  # fmt: skip
        assert done.returncode == 2
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell closes the streams")
    @pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
    def test_closed_streams(self, folder, closed):
        words = f"'{sys.executable}' -m unnaive predict old.model good.csv -o done.csv {closed}"
        done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False)
        assert Path("done.csv").read_text().startswith("text,")

    @pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of file sizes")
    @pytest.mark.parametrize("verb", ["predict", "filter"])
    def test_a_disk_that_takes_half_of_stdout(self, folder, verb):
        """Without a buffer, Python's stdout ignores how much was written."""
        (folder / "texts.jsonl").write_text('{"text": "good ball"}\n' * 1000)
        Path("limited.py").write_text(
            "import resource, runpy, sys\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            "sys.argv[1:] = sys.argv[2:]\n"
            "runpy.run_module('unnaive', run_name='__main__')\n"
        )
        arguments = ["old.model", "texts.jsonl", *(["--class", "sport", "--above", "0"] if verb == "filter" else [])]
        with Path("out").open("wb") as out:
            done = subprocess.run(
                [sys.executable, "limited.py", "-", verb, *arguments], stdout=out, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"}, check=False,
            )  # fmt: skip
        assert done.returncode == 2
        assert "stdin or stdout, cannot be read or written (File too large)" in done.stderr
        assert "Traceback" not in done.stderr

    def test_predictions_that_fail_half_way_leave_no_file(self, refused, folder):
        (folder / "bad.csv").write_text("text\n" + "good\n" * 20_000 + "a,b\n")
        assert "line 20002 of bad.csv has 2 fields" in refused("predict", "old.model", "bad.csv", "-o", "out.csv")


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "unnaive.apps.cli.main", *arguments], capture_output=True, text=True, check=False
    )


class TestLabelsThatDoNotMatch:
    """Labels that exist in training but not in test, and the reverse, are measured and told, not refused."""

    def test_both_ways(self, folder, capsys):
        (folder / "test.csv").write_text("text,label\nball,sport\nsoup,food\n")
        assert exit_code(["evaluate", "old.model", "test.csv", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["unknown_classes"] == ["food"]
        assert found["measures"]["accuracy"] == 0.5
        assert {row["class"]: row["documents"] for row in found["classes"]} == {"sport": 1, "politics": 0, "food": 1}

    def test_no_label_in_common(self, folder, capsys):
        (folder / "test.csv").write_text("text,label\nball,art\nsoup,food\n")
        assert exit_code(["evaluate", "old.model", "test.csv"]) == 0
        out = capsys.readouterr().out
        assert "the model was not trained on art, food: these 2 labels cannot be right" in out
        assert "0.0 % of 2 documents got the right one" in out

    def test_training_with_a_test_file_of_other_labels(self, folder, capsys):
        (folder / "test.csv").write_text("text,label\nthe ball is round,sport\nsoup,art\n")
        assert exit_code(["train", "good.csv", "-o", "new.model", "--test", "test.csv"]) == 0
        assert "accuracy 50.0 %" in capsys.readouterr().out
