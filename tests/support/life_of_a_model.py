"""A model from training to its last update, by commands and by Python; prints what came out, to be compared.

Run by test_system.py as it is and on a system that is not POSIX: every line must be the same. With --rounded, weights
are compared to 12 digits: the last bit of numpy's logarithm depends on the processor.
"""
# ruff: noqa: T201

import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.base.sqlite_files import connect_durable
from unnaive.classifier.mapped_arrays import map_arrays
from unnaive.classifier.model_file import load_model
from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.evaluation.results import Record, RecordFile
from unnaive.io import tickets


def run(*arguments: str) -> None:
    code = exit_code(["--quiet", *arguments])
    assert code == 0, (arguments, code)


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def digest_model(path: str) -> str:
    if "--rounded" not in sys.argv:
        return digest(path)
    content_hash = hashlib.sha256()
    for name, array in sorted(map_arrays(Path(path)).arrays.items()):
        content_hash.update(name.encode() + (array.round(12) + 0.0 if array.dtype.kind == "f" else array).tobytes())
    return content_hash.hexdigest()


def read_tickets() -> list[tuple[str, str]]:
    lines = Path(tickets.__file__).with_name("tickets.jsonl").read_text(encoding="utf-8").split("\n")
    return [(ticket["text"], ticket["queue"]) for ticket in map(json.loads, filter(None, lines))]


def by_commands(data: list[str]) -> None:
    Path("first.jsonl").write_text("".join(data[:150]), encoding="utf-8")
    Path("more.jsonl").write_text("".join(data[150:180]), encoding="utf-8")
    Path("new.jsonl").write_text("".join(data[180:240]), encoding="utf-8")
    run("train", "first.jsonl", "-o", "counts.model", "--model", "complement")
    run("train", "first.jsonl", "-o", "solver.model", "--model", "nbsvm", "--ngrams", "1-2")
    run("train", "first.jsonl", "-o", "disk.model", "--model", "complement", "--memory", "400M")
    run("train", "first.jsonl", "-o", "matrix.model", "--model", "nbsvm", "--ngrams", "1-2", "--memory", "400M")
    before = digest("counts.model")
    mapped = load_model("counts.model", mapped=True)  # which must not hold the file when it is replaced
    decided = mapped.predict(["the app crashes"])
    for model in ("counts.model", "solver.model"):
        run("update", model, "more.jsonl")
    assert mapped.predict(["the app crashes"]) == decided
    for model in ("counts.model", "solver.model", "disk.model", "matrix.model"):
        run("predict", model, "new.jsonl", "-o", "answers.csv")
        run("evaluate", model, "new.jsonl", "--report", "measures.md")
        # the report names the file of the model by its hash, and the date
        lines = Path("measures.md").read_text(encoding="utf-8").splitlines(keepends=True)
        measures = [line for line in lines if not line.startswith(("- model file: ", "- date: "))]
        # the sums of solvers are rounded otherwise in the Python reference: 1e-16
        print(
            model,
            digest("answers.csv"),
            hashlib.sha256("".join(measures).encode()).hexdigest(),
            model in ("solver.model", "matrix.model") or digest_model(model),
        )
    run("forget", "counts.model", "more.jsonl")
    assert digest("counts.model") == before  # forgetting is exact
    run("explain", "counts.model", "the app crashes")
    run("inspect", "solver.model")


def by_python() -> None:
    texts, labels = ["great goal", "new vote", "goal of the match", "vote again"], ["sport", "politics"] * 2
    model = TextClassifier("multinomial").fit(texts, labels)
    model.save("python.model")
    loaded = TextClassifier.load("python.model").partial_fit(["penalty"], ["sport"])
    loaded.save("python.model")
    print(TextClassifier.load("python.model").predict(["penalty goal"]).tolist(), digest_model("python.model"))
    record = LabelRecord.create(Path("labels.db"), texts, classes=["sport", "politics"])
    record.close()
    try:
        LabelRecord.create(Path("labels.db"), texts, classes=["sport", "politics"])
    except ValueError as problem:
        print(problem)
    file = connect_durable(Path("other.db"))
    file.execute("CREATE TABLE one (two)")
    file.close()
    print(sorted(path.name for path in Path().iterdir() if path.suffix in (".tmp", ".part")))


def main() -> None:
    os.chdir(sys.argv[1])
    np.seterr(all="raise")
    by_commands([json.dumps({"text": text, "label": label}) + "\n" for text, label in read_tickets()])
    by_python()
    record = Record("tickets", "random", 0, 0, "multinomial", {}, "accuracy", 0.5, 0.1)
    RecordFile("records.jsonl").append([record])
    print(len(list(RecordFile("records.jsonl").read())))


if __name__ == "__main__":
    main()
