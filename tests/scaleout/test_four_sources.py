"""Bad and odd documents × four sources × command line and Python: the same sentence, or the same model to the byte."""

import contextlib
import io
import json
import shutil
import warnings
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from unnaive import TextClassifier, UnnaiveError, UnnaiveWarning
from unnaive.apps.cli.main import exit_code
from unnaive.classifier.model_file import load_model, save
from unnaive.io.datafiles import DataFile
from unnaive.learning.train import train
from unnaive.scaleout.matrix import documents_on_disk
from unnaive.scaleout.streaming import stream_documents

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all

needs_spark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'unnaive[spark]'"),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on this machine"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
NO_DOCUMENTS = "there are no documents; give at least one"
NO_LABEL = "no document has a label; label some documents, or name another column with --label"
NO_TERM = "none of the 2 texts has a term to learn from; check the column and the settings"
ONE_CLASS = "every document has the label 'a'; a classifier needs at least two classes"
LONE = "24 terms in 24 documents, but hardly any term is in two of them, so there is little to learn; is this the text"
MISSING_HERE, MISSING_THERE = "a label is missing", "1 of 3 rows has no text or no label; fill them"
WORDS = ["good ball", "fair vote", "ball vote", "new goal", "!!", ""]


@dataclass(frozen=True)
class Case:
    """Documents that a model is to be trained on, and what comes of it.

    problem     how the error begins; None for a model
    strict      the same from Python, in memory and on Spark, where nothing is dropped unless that is said
    warning     how a warning begins that all sources give
    options     parameters of TextClassifier
    """

    texts: list[Any]
    labels: list[Any]
    problem: str | None = None
    strict: tuple[str, str] | None = None
    warning: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def of_sums(self) -> "Case":
        """The case for a source that has sums alone: thresholds of label sets are tuned on the documents themselves."""
        if not any(isinstance(label, list) for label in self.labels):
            return self
        return replace(self, options={**self.options, "decision": "untuned"})

    @property
    def words(self) -> list[str]:
        """The options as the command line has them."""
        found = []
        for name, value in self.options.items():
            said = "-".join(map(str, value)) if isinstance(value, tuple) else str(value)
            found += ["--ngrams", said] if name == "ngrams" else ["--set", f"{name}={said.lower()}"]
        return found


def pairs(*documents: tuple[Any, Any], **more: Any) -> Case:
    texts, labels = zip(*documents, strict=True)
    return Case(list(texts), list(labels), **more)


CASES = {
    "no document": Case([], [], NO_DOCUMENTS),
    "one document": pairs(("good ball", "a"), problem=ONE_CLASS),
    "one class": pairs(("good ball", "a"), ("fair vote", "a"), problem=ONE_CLASS),
    "no label": pairs(
        ("good ball", None), ("fair vote", None), problem=NO_LABEL, strict=(MISSING_HERE, "2 of 2 rows have no text or")
    ),
    "one label alone": pairs(
        ("good ball", "a"),
        ("fair vote", None),
        ("new goal", "a"),
        problem=ONE_CLASS,
        strict=(MISSING_HERE, MISSING_THERE),
    ),
    "a document without a label": pairs(
        ("good ball", "a"), ("fair only", None), ("fair vote", "b"), strict=(MISSING_HERE, MISSING_THERE)
    ),
    "no term but in a document without a label": pairs(
        ("!!", "a"), ("fair vote", None), ("??", "b"), problem=NO_TERM, strict=(MISSING_HERE, MISSING_THERE)
    ),
    "no text": pairs(("good ball", "a"), (None, "b"), ("fair vote", "b"), strict=("text 1 is missing", MISSING_THERE)),
    "punctuation, words": pairs(("!!", "a"), ("??", "b"), problem=NO_TERM),
    "punctuation, both": pairs(("!!", "a"), ("??", "b"), problem=NO_TERM, options={"analyzer": "both"}),
    "punctuation, n-grams": pairs(("!!", "a"), ("??", "b"), options={"analyzer": "char"}),
    "punctuation that two share": pairs(("!!", "a"), ("!! ?", "b"), options={"analyzer": "both"}),
    "one word and punctuation, both": pairs(("!!", "a"), ("fair", "b"), options={"analyzer": "both"}),
    "empty texts": pairs(("", "a"), ("", "b"), problem=NO_TERM),
    "spaces": pairs((" \t\n", "a"), ("\u3000", "b"), problem=NO_TERM),
    "stop words": pairs(("the of", "a"), ("and the", "b"), problem=NO_TERM, options={"stopwords": "smart"}),
    "short words": pairs(("a b", "a"), ("c d", "b"), problem=NO_TERM),
    "long enough words": pairs(("good ball", "a"), ("fair vote", "b"), problem=NO_TERM, options={"min_length": 9}),
    "markup": pairs(("<b></b>", "a"), ("<i></i>", "b"), problem=NO_TERM, options={"strip_html": True}),
    "one empty text": pairs(("good ball", "a"), ("", "a"), ("fair vote", "b")),
    "rare terms": pairs(
        ("good ball", "a"),
        ("fair vote", "b"),
        problem="no term is in at least 2 documents; lower min_df",
        options={"min_df": 2},
    ),
    "more terms asked for than there are": pairs(("good ball", "a"), ("fair vote", "b"), options={"select": 100}),
    "the same text with two labels": pairs(("good ball", "a"), ("good ball", "b"), ("fair vote", "b")),
    "texts that share nothing": Case(
        [f"id{number}" for number in range(24)], [f"{'ab'[number % 2]}" for number in range(24)], warning=LONE
    ),
    "sets of labels": pairs(("good ball", ["a", "b"]), ("fair vote", ["b"]), ("new goal", [])),
    "sets of one label, but for the last": pairs(("good ball", ["a"]), ("new goal", []), ("ball vote", ["a", "b"])),
    "a label twice": pairs(("good ball", ["a", "a"]), ("fair vote", ["b", "a", "b"])),
    "numbers": pairs(("good ball", 2), ("fair vote", 1), ("ball vote", 1)),
    "booleans": pairs(("good ball", True), ("fair vote", False)),
    "fractions": pairs(  # on Spark either task may be the first to say so
        ("good ball", 0.5),
        ("fair vote", 1.5),
        strict=("Unknown label type: continuous. A label is 0.5", "Unknown label type: continuous. A label is "),
    ),
    "odd letters": pairs(("Straße \U0001f600 ball", "ü"), ("İstanbul vote\0x", 'a "b", c'), ("e\u0301te", "\u4e2d")),
    "a long word": pairs(("x" * 70_000, "a"), ("fair vote", "b")),
    "as many classes as documents": Case([f"good ball{n // 2}" for n in range(24)], [f"c{n}" for n in range(24)]),
}
MODEL = "multinomial"


def written(case: Case, folder: Path) -> Path:
    """The documents in a file."""
    if not case.texts:
        path = folder / "data.csv"
        path.write_text("text,label\n", encoding="utf-8")
        return path
    path = folder / "data.jsonl"
    rows = [{"text": text, "label": label} for text, label in zip(case.texts, case.labels, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def source_of(path: Path) -> DataFile:
    return DataFile(str(path), text=("text",), label="label")


# Training from Python: a model, or UnnaiveError.


def train_in_memory(case, folder):
    return TextClassifier(MODEL, **case.options).fit(case.texts, case.labels).fitted_


def train_from(make, case, folder):
    classifier = TextClassifier(MODEL, **case.options)
    with make(source_of(written(case, folder)), classifier.token_rule) as data:
        return train(data, classifier.spec())


def train_streamed(case, folder):
    return train_from(stream_documents, case, folder)


def train_on_disk(case, folder):
    return train_from(documents_on_disk, case, folder)


def train_with_spark(case, folder):
    from unnaive.scaleout.spark.spark_session import start_session
    from unnaive.spark import fit

    kinds = {str: "string", int: "long", bool: "boolean", float: "double", list: "array<string>"}
    kind = next((kinds[type(label)] for label in case.labels if label is not None), "string")
    rows = list(zip(case.texts, case.labels, strict=True))
    # the master of test_spark: a process has one session, made by whichever test comes first
    df = start_session("local[2,3]").createDataFrame(rows, f"text string, label {kind}")
    return fit(df, model=MODEL, **case.options).fitted_


PYTHON = [train_in_memory, train_streamed, train_on_disk, pytest.param(train_with_spark, marks=needs_spark)]
COMMANDS = [
    pytest.param(["--register"], id="memory"),
    pytest.param([], id="stream"),
    pytest.param(["--set", "cache=cache"], id="disk"),
    pytest.param(["--engine", "spark", "--set", "master=local[2]"], id="spark", marks=needs_spark),
]


def comparable(fitted, folder):
    """The bytes of the file, without what tells of the source; labels as a file has them."""
    path = folder / "comparable.model"
    classes = tuple(str(label).casefold() if isinstance(label, bool) else str(label) for label in fitted.classes)
    counts = replace(fitted.counts, classes=classes)
    save(replace(fitted, classes=classes, counts=counts, source=None, text_hashes=None, register=None), path)
    return path.read_bytes()


def expected_model(case, folder):
    """The model of the documents that are left, from Python and in memory."""
    whole = [(text or "", label) for text, label in zip(case.texts, case.labels, strict=True) if label is not None]
    if any(isinstance(label, float) for _, label in whole):
        whole = [(text, str(label)) for text, label in whole]
    texts, labels = zip(*whole, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnnaiveWarning)
        return TextClassifier(MODEL, **case.options).fit(list(texts), list(labels)).fitted_


def said_of(problem, path):
    """The sentence without the name of the file before it."""
    return str(problem).replace(f"{path}: ", "").replace(f"{path.name}: ", "")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("train_case", PYTHON)
def test_from_python(train_case, name, tmp_path):
    case, problem = CASES[name], CASES[name].problem
    if case.strict is not None and train_case in (train_in_memory, train_with_spark):
        problem = case.strict[train_case is train_with_spark]
    if train_case in (train_streamed, train_with_spark):
        case = case.of_sums()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UnnaiveWarning)
        if problem is not None:
            with pytest.raises(UnnaiveError) as error:
                train_case(case, tmp_path)
            path = tmp_path / ("data.jsonl" if case.texts else "data.csv")
            assert said_of(error.value, path).startswith(problem)
            return
        fitted = train_case(case, tmp_path)
    assert comparable(fitted, tmp_path) == comparable(expected_model(case, tmp_path), tmp_path)
    given, wanted = (model.predict(WORDS) for model in (fitted, expected_model(case, tmp_path)))
    assert [str(label).casefold() for label in given] == [str(label).casefold() for label in wanted]
    if case.warning:
        assert any(str(one.message).startswith(case.warning) for one in told)


def train_by_command(path, options):
    """(exit code, what was said on one line) of `unnaive train`."""
    words = ["train", str(path), "--text", "text", "--label", "label", "-m", MODEL, "-o", "out.model", *options]
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
        code = exit_code(words)
    return code, " ".join(printed.getvalue().split())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("options", COMMANDS)
def test_from_the_command_line(options, name, tmp_path, monkeypatch):
    case = CASES[name].of_sums() if "spark" in options else CASES[name]
    monkeypatch.chdir(tmp_path)
    path, output = written(case, tmp_path), tmp_path / "out.model"
    code, said = train_by_command(path, [*case.words, *options])
    if case.problem is not None:
        assert code == 2, said
        assert case.problem in said_of(said, path)
        assert "Traceback" not in said
        assert not output.exists()
        return
    assert code == 0, said
    assert comparable(load_model(output), tmp_path) == comparable(expected_model(case, tmp_path), tmp_path)
    if case.warning:
        assert case.warning in said


@pytest.mark.parametrize("options", COMMANDS)
def test_lists_of_one_label_each_in_a_file_are_single_labels(options, tmp_path, monkeypatch):
    """A file tells whether documents have any number of labels by one that has several; lists alone do not."""
    monkeypatch.chdir(tmp_path)
    case = pairs(("good ball", ["a"]), ("fair vote", ["b"]), ("new goal", []), ("old goal", ["b"]))
    code, said = train_by_command(written(case, tmp_path), options)
    assert code == 0, said
    assert "data.jsonl: 1 of 4 rows has no label and is left out" in said
    fitted = load_model(tmp_path / "out.model")
    assert (fitted.target_type, fitted.counts.counts.n_docs, "new" in fitted.vocabulary) == ("single", 3, False)
