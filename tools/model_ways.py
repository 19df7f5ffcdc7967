"""Trains a model of every name in the catalogue in every way that the package has, and writes what comes out.

compare_models.py runs it with the interpreter of each checkout: python tools/model_ways.py FOLDER PATTERN [--spark]

FOLDER has the data; results go to FOLDER/WAY/NAME.model (or .csv), or the message to FOLDER/WAY/NAME.error where a way
refuses a model. Only `unnaive` and `python -m unnaive` are used, so that it runs whatever the modules are called.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import runpy
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import unnaive
from unnaive.models.catalogue import MODELS, find_model

NETWORKS = {"restarts": 4, "average": 1, "features": 8}
SMALL: dict[str, dict[str, Any]] = {
    "hierarchical": NETWORKS,
    "hierarchical-naive-bayes": NETWORKS,
    "maxent": {"max_iter": 50},
    "word-clusters": {"terms": 200},
    "auto": {"budget": "fast"},
}
SIZES = ("60kB", "15kB", "4kB")  # of compressed models
COMPRESSING, CRASHED = "--compress", "crashed"
RULED = ("multinomial", "svm", "auto", "honb")  # models that are trained by every rule below
RULES: dict[str, dict[str, Any]] = {
    "pairs": {"ngrams": (1, 2)},
    "characters": {"analyzer": "char", "char_ngrams": (2, 4)},
    "both": {"analyzer": "both", "char_borders": "words"},
    "stems": {"stem": "porter", "stopwords": "smart"},
    "turkish": {"language": "tr", "stem": "snowball"},
    "marks": {"lowercase": False, "digits": False, "symbols": True, "min_length": 1, "strip_html": True},
}


@cache
def find_models() -> dict[str, Any]:
    """The estimators of the catalogue by name."""
    return {name: find_model(name) for name in MODELS}


def read_rows(path: str) -> tuple[list[str], list[str]]:
    """The texts and the labels of a file, where multilabel ones are joined by ';'."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["label"] for row in rows]


def read_tags() -> tuple[list[str], list[tuple[str, ...]]]:
    """The texts and the label sets of the multilabel file."""
    texts, labels = read_rows("tags.csv")
    return texts, [tuple(cell.split(";")) if cell else () for cell in labels]


class Refused(Exception):
    """A command that ended with an error; its message is what it said."""


def command(*arguments: str) -> None:
    """`python -m unnaive` in this process; an error unless it succeeds."""
    sys.argv = ["unnaive", *arguments]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            runpy.run_module("unnaive", run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise Refused(f"exit code {end.code}: {said.getvalue()}") from None


def settings_of(name: str) -> list[str]:
    """The settings of a model as options."""
    return [word for key, value in SMALL.get(name, {}).items() for word in ("--set", f"{key}={value}")]


def train_command(data: str, *options: str) -> Callable[[str, Path], None]:
    """A way: `unnaive train`."""

    def way(name: str, place: Path) -> None:
        own = [option.replace("NAME", f"{place.parent.name}-{name}") for option in options]
        command("train", data, "-m", name, *settings_of(name), *own, "-o", f"{place}.model")

    return way


def change_command(verb: str, *arguments: str) -> Callable[[str, Path], None]:
    """A way: a command that changes the model which the way `train` wrote."""

    def way(name: str, place: Path) -> None:
        command(verb, f"train/{name}.model", *arguments, "-o", f"{place}.model")

    return way


def merge_command(name: str, place: Path) -> None:
    """A way: `unnaive merge` of two halves."""
    for part in ("first", "second"):
        command("train", f"{part}.csv", "-m", name, *settings_of(name), "-o", f"scratch/{part}-{name}.model")
    command("merge", f"scratch/first-{name}.model", f"scratch/second-{name}.model", "-o", f"{place}.model")


def predict_command(name: str, place: Path) -> None:
    """A way: `unnaive predict` by the model that the way `train` wrote."""
    command("predict", f"train/{name}.model", "test.csv", "--all", "-o", f"{place}.csv")


def compress_all(name: str, place: Path) -> None:
    """A way: `unnaive compress` to several sizes, in a process of its own, since it may damage memory."""
    run = subprocess.run([sys.executable, __file__, ".", COMPRESSING, name, str(place)])
    for size in SIZES:
        if not any(Path(f"{place}-{size}.{ending}").exists() for ending in ("model", "error")):
            Path(f"{place}-{size}.error").write_text(f"{CRASHED} (exit code {run.returncode})", encoding="utf-8")


def compress_here(name: str, place: str) -> None:
    """What the process of `compress_all` does."""
    for size in SIZES:
        with noting_errors(f"{place}-{size}"):
            command("compress", f"train/{name}.model", "test.csv", "--max-size", size, "-o", f"{place}-{size}.model")


@contextlib.contextmanager
def noting_errors(place: str | Path) -> Iterator[None]:
    """Whatever goes wrong is written to a file: both checkouts must say the same."""
    try:
        yield
    except Exception as problem:
        said = problem.args[0] if isinstance(problem, Refused) else f"{type(problem).__name__}: {problem}"
        Path(f"{place}.error").write_text(said, encoding="utf-8")


def fit(name: str, data: tuple[Any, Any], **parameters: Any) -> unnaive.TextClassifier:
    """A TextClassifier that has learnt from texts and labels."""
    return unnaive.TextClassifier(name, **SMALL.get(name, {}), **parameters).fit(*data)


def fit_text(data: Callable[[], tuple[Any, Any]], **parameters: Any) -> Callable[[str, Path], None]:
    """A way: TextClassifier.fit with these parameters."""
    return lambda name, place: fit(name, data(), **parameters).save(f"{place}.model")


def rows() -> tuple[list[str], list[str]]:
    """The data of most ways."""
    return read_rows("rows.csv")


def update_text(name: str, place: Path) -> None:
    """A way: fit on one half, then partial_fit with the other."""
    fit(name, read_rows("first.csv")).partial_fit(*read_rows("second.csv"), new_classes=True).save(f"{place}.model")


def merge_text(name: str, place: Path) -> None:
    """A way: two classifiers, fitted on a half each."""
    fit(name, read_rows("first.csv")).merge(fit(name, read_rows("second.csv"))).save(f"{place}.model")


def weight_text(name: str, place: Path) -> None:
    """A way: TextClassifier.fit with a weight for each document."""
    texts, labels = rows()
    weight = [number % 3 + 1 for number in range(len(texts))]
    unnaive.TextClassifier(name, **SMALL.get(name, {})).fit(texts, labels, sample_weight=weight).save(f"{place}.model")


def save_counts(estimator: Any, terms: list[str], place: Path) -> None:
    """The file of an estimator on counts; what it keeps for updates has no terms, and is left out."""
    vocabulary = type(unnaive.TextClassifier("multinomial").fit(["word"] * 2, ["x", "y"]).vocabulary_)(terms)
    fitted: unnaive.FittedModel = replace(estimator.fitted_, token_rule=unnaive.TokenRule(), vocabulary=vocabulary)
    unnaive.TextClassifier.from_fitted(fitted).save(f"{place}.model", frozen=True)


def estimator_way(change: Callable[[Any, Any, Any, Any], Any], data: Callable[[], tuple[Any, Any]] = rows) -> Any:
    """A way: an estimator on counts; `change` is handed an unfitted one, X, y and another unfitted one."""

    def way(name: str, place: Path) -> None:
        from sklearn.feature_extraction.text import CountVectorizer  # compress_here needs no scikit-learn

        texts, labels = data()
        counter = CountVectorizer()
        X = counter.fit_transform(texts)
        one, other = (find_models()[name](**SMALL.get(name, {})) for _ in range(2))
        save_counts(change(one, X, labels, other), counter.get_feature_names_out().tolist(), place)

    return way


WAYS: dict[str, Callable[[str, Path], None]] = {
    "train": train_command("rows.csv"),
    "train-register": train_command("rows.csv", "--register"),
    "train-memory": train_command("rows.csv", "--memory", "1G"),
    "train-little-memory": train_command("rows.csv", "--memory", "300M"),
    "train-cache": train_command("rows.csv", "--set", "cache=scratch/cache-NAME"),
    "train-checkpoint": train_command(
        "rows.csv", "--set", "checkpoint=scratch/checkpoint-NAME", "--set", "checkpoint-every=20kB"
    ),
    "train-select": train_command("rows.csv", "--set", "select=chi2:300", "--set", "min-df=2"),
    "train-folder": train_command("folder"),
    "train-jsonl": train_command("rows.jsonl", "--frozen"),
    "train-calibrated": train_command("rows.csv", "--calibrate", "temperature"),
    "train-calibrated-memory": train_command("rows.csv", "--calibrate", "temperature", "--memory", "1G"),
    "train-costs": train_command("rows.csv", "--set", "optimise=costs.csv"),
    "train-tags": train_command("tags.csv", "--label-separator", ";"),
    "train-tags-memory": train_command("tags.csv", "--label-separator", ";", "--memory", "1G"),
    "train-tags-untuned": train_command("tags.csv", "--label-separator", ";", "--set", "decision=untuned"),
    "train-max-size": train_command("rows.csv", "--max-size", "2MB", "--holdout", "0.2"),
    "update": change_command("update", "more.csv"),
    "forget": change_command("forget", "gone.csv"),
    "merge": merge_command,
    "remake": change_command("remake", "--set", "min-df=2"),
    "predict": predict_command,
    "fit": fit_text(rows),
    "fit-update": update_text,
    "fit-forget": lambda name, place: fit(name, rows()).forget(*read_rows("gone.csv")).save(f"{place}.model"),
    "fit-merge": merge_text,
    "fit-remake": lambda name, place: fit(name, rows()).remake(min_df=2).save(f"{place}.model"),
    "fit-weights": weight_text,
    "fit-balanced": fit_text(rows, class_weight="balanced"),
    "fit-tags": fit_text(read_tags),
    "fit-tags-calibrated": fit_text(read_tags, calibrate="platt"),
    "fit-temperature": fit_text(rows, calibrate="temperature"),
    "fit-platt": fit_text(rows, calibrate="platt"),
    "fit-isotonic": fit_text(rows, calibrate="isotonic"),
    "fit-macro-f1": fit_text(rows, optimise="macro-f1"),
    "estimator": estimator_way(lambda one, X, y, other: one.fit(X, y)),
    "estimator-tags": estimator_way(lambda one, X, y, other: one.fit(X, y), read_tags),
    "estimator-update": estimator_way(
        lambda one, X, y, other: one.fit(X[:100], y[:100]).partial_fit(X[100:], y[100:], new_classes=True)
    ),
    "estimator-forget": estimator_way(lambda one, X, y, other: one.fit(X, y).forget(X[:40], y[:40])),
    "estimator-merge": estimator_way(
        lambda one, X, y, other: one.fit(X[:100], y[:100]).merge(other.fit(X[100:], y[100:]))
    ),
    "compress": compress_all,
    **{f"fit-{rule}": fit_text(lambda: read_rows("turkish.csv"), **options) for rule, options in RULES.items()},
}
FEW = {f"fit-{rule}" for rule in RULES}  # ways of the models in RULED alone
SPARK = {
    "spark": train_command("rows.csv", "--engine", "spark"),
    "spark-tags": train_command("tags.csv", "--label-separator", ";", "--set", "decision=untuned", "--engine", "spark"),
}


def main(arguments: list[str]) -> None:
    """Go all ways whose names match a pattern; commands read and write in FOLDER."""
    os.chdir(arguments[0])
    warnings.simplefilter("ignore")
    if arguments[1] == COMPRESSING:
        compress_here(*arguments[2:])
        return
    ways, session = dict(WAYS), None
    if "--spark" in arguments:
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable  # the package of this checkout in the executors too
        session = SparkSession.builder.master("local[2]").getOrCreate()  # one for all; each command would start its own
        ways |= SPARK
    for way, go in ways.items():
        if not fnmatch(way, arguments[1]) and way != "train":  # others start from what `train` wrote
            continue
        start = time.perf_counter()
        Path(way).mkdir()
        for name in RULED if way in FEW else find_models():
            with noting_errors(Path(way) / name):
                go(name, Path(way) / name)
        print(f"{time.perf_counter() - start:6.1f} s  {way}", flush=True)
    if session is not None:
        session.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
