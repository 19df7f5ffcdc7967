"""The table of docs/models.md: every model and the strongest peers on six collections, from docs/models.json.

    python tools/model_table.py                      write the table again from the figures there are
    python tools/model_table.py --run                measure what has no figures yet, then write both
    python tools/model_table.py --run auto svm       measure these models or peers again, on all collections
    python tools/model_table.py --run -c webkb4      the same on some collections

Models are measured by `unnaive compare`, one command for each model and collection; its records are in
build/model_table, so that a run that was interrupted goes on. A model that takes longer than --limit seconds on a
collection is left out there, and the table says so. Peers are scikit-learn pipelines on raw text, tuned on training
documents by benchmarks/auto_peers.py, and fastText (pip install 'unnaive[bench]').
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unnaive.apps.common.screen import format_size
from unnaive.data.corpus import Corpus
from unnaive.data.targets import label_matrix
from unnaive.evaluation.experiment_documents import Material
from unnaive.evaluation.grids import format_seconds
from unnaive.evaluation.measures import MeasureInput, find_measure
from unnaive.evaluation.results import RecordFile, versions
from unnaive.evaluation.splits import fixed_split, stratified_split
from unnaive.io.tickets import load_tickets
from unnaive.models.catalogue import MODELS, find_model
from unnaive.papers.collections import load
from unnaive.text.tokens import TokenRule

ROOT = Path(__file__).parents[1]
FIGURES, PAGE = ROOT / "docs" / "models.json", ROOT / "docs" / "models.md"
RECORDS = ROOT / "build" / "model_table"
START, END = "<!-- written by tools/model_table.py -->\n", "<!-- end of the table -->\n"
WIDE, ENDED = '<div class="wide" markdown>\n', "\n</div>"  # extra.css sets its cells without breaks

COLLECTIONS = {  # data of compare, its title, and options where the collection needs some
    "tickets": ("Tickets", []),
    "webkb4": ("WebKB-4", []),
    "reuters:r8": ("R8", []),
    "ohsumed": ("Ohsumed", []),
    "banking77": ("Banking77", []),
    "1150haber": ("1150 haber", ["--language", "tr", "--train-sizes", "0.7", "--splits", "3"]),
}
SIZED = "ohsumed"  # the collection whose models the columns of time and size are about
PEERS = {  # title → (model, view) of benchmarks/auto_peers.py
    "LinearSVC, tf-idf of words": ("LinearSVC", "words"),
    "LinearSVC, tf-idf of words and pairs": ("LinearSVC", "pairs"),
    "LinearSVC, tf-idf of characters": ("LinearSVC", "characters"),
    "LinearSVC, tf-idf of words, pairs and characters": ("LinearSVC", "pairs and characters"),
    "RidgeClassifier, tf-idf of words and pairs": ("Ridge", "pairs"),
    "RidgeClassifier, tf-idf of characters": ("Ridge", "characters"),
    "LogisticRegression, tf-idf of characters": ("LogisticRegression", "characters"),
    "ComplementNB, tf-idf of words": ("ComplementNB", "words"),
}
FASTTEXT = "fastText, words"
FASTTEXT_SETTINGS = ({"epoch": 25, "lr": 0.1}, {"epoch": 50, "lr": 0.5}, {"epoch": 100, "lr": 1.0})
FASTTEXT_SCRIPT = """
import json, sys, time
import fasttext
started = time.process_time()
model = fasttext.train_supervised("train.txt", thread=1, verbose=0, **json.loads(sys.argv[1]))
seconds = time.process_time() - started
model.save_model("model.bin")
labels = [one[0] for one in model.predict(json.load(open("test.json")))[0]]
json.dump({"labels": labels, "seconds": seconds}, open("answer.json", "w"))
"""
CHOSEN = (  # the rows that people choose from, in the first table
    "auto", "auto-fast", "nbsvm", "sharded-nbsvm", "svm", "label-tree", "maxent", "complement", "multinomial", "nb-em",
)  # fmt: skip
CONTENDERS = {"auto": "auto", "auto-fast": "auto:budget=fast", **{name: name for name in MODELS if name != "auto"}}

Figures = dict[str, dict[str, dict[str, float]]]  # collection → model or peer → what was measured


def read_figures() -> dict[str, Any]:
    """The figures measured so far, with the machine and the versions."""
    content: dict[str, Any] = {"machine": "", "versions": {}, "collections": {}}
    return json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else content


def keep_figure(collection: str, name: str, figure: dict[str, float]) -> None:
    """Write one figure into the file."""
    content = read_figures()
    content["collections"].setdefault(collection, {})[name] = figure
    content |= {"machine": describe_machine(), "versions": versions()}
    FIGURES.write_text(json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def describe_machine() -> str:
    """The cores of this machine and what they are called."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    return f"{os.cpu_count()} cores, {', '.join(sorted(names))}"


# Measuring.


def records_file(collection: str, name: str) -> Path:
    """Where the records of a model on a collection are kept."""
    return RECORDS / f"{collection.replace(':', '-')}-{name}.jsonl"


def measure_model(collection: str, name: str, limit: float) -> dict[str, float]:
    """Run `unnaive compare` for one model, and take the means of its records."""
    file = records_file(collection, name)
    options = ["--models", CONTENDERS[name], "-o", str(file), "--quiet", *COLLECTIONS[collection][1]]
    command = [sys.executable, "-m", "unnaive", "compare", collection, *options]
    with tempfile.TemporaryDirectory() as folder:  # where no folder can be taken for the collection
        try:
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"more_than_seconds": limit}
    return mean_of_records(file)


def mean_of_records(file: Path) -> dict[str, float]:
    """Means over the splits."""
    records = list(RecordFile(file).read())
    return {
        "accuracy": _mean(one.value for one in records if one.measure == "accuracy"),
        "macro_f1": _mean(one.value for one in records if one.measure == "macro-f1"),
        "train_seconds": _mean(one.train_seconds for one in records),
        "n_bytes": round(_mean(one.n_bytes for one in records)),
    }


def _mean(values: Any) -> float:
    return float(f"{np.mean(list(values)):.5g}")


def load_collection(name: str) -> Corpus:
    """The documents that `unnaive compare` reads under this name."""
    word, _, view = name.partition(":")
    return load_tickets() if word == "tickets" else load(word, view=view or None)


def _language(collection: str) -> str:
    options = COLLECTIONS[collection][1]
    return options[options.index("--language") + 1] if "--language" in options else "en"


def measure_peer(collection: str, name: str) -> dict[str, float]:
    """Fit a peer on the training side of the same splits, from raw text."""
    corpus = load_collection(collection)
    Y = label_matrix(corpus.labels, corpus.classes)
    texts, labels = np.array(corpus.texts, dtype=object), np.array([one[0] for one in corpus.labels])
    if corpus.split is not None:
        splits = [fixed_split(np.asarray(corpus.split))]
    else:  # as in compare, documents that copy or quote each other are on one side
        group = Material.of(corpus, TokenRule(language=_language(collection))).groups
        splits = [stratified_split(Y, 0.7, seed=0, split=number, group=group) for number in range(3)]
    found = []
    for number, (train, test) in enumerate(splits):
        fit = fit_fasttext if name == FASTTEXT else fit_pipeline
        predicted, seconds, n_bytes = fit(collection, name, texts[train], labels[train], texts[test], number)
        given = MeasureInput(Y[test], None, label_matrix([(label,) for label in predicted], corpus.classes), None)
        found.append([find_measure("accuracy")(given), find_measure("macro-f1")(given), seconds, n_bytes])
    accuracy, macro_f1, seconds, n_bytes = np.mean(found, axis=0)
    return {
        "accuracy": _mean([accuracy]),
        "macro_f1": _mean([macro_f1]),
        "train_seconds": _mean([seconds]),
        "n_bytes": round(n_bytes),
    }


def fit_pipeline(collection: str, name: str, texts: Any, labels: Any, test: Any, number: int) -> tuple[Any, float, int]:
    """Labels of the test texts, processor seconds of one fit with the strength that was chosen, bytes of the pickle."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import auto_peers

    model, view = PEERS[name]
    known = auto_peers.known_figures().get(collection.replace("reuters:", ""), {}).get(f"{model}, {view}")
    if known is not None and collection != "1150haber":  # whose random splits are others
        strength = known["strengths"][number]
    else:
        strength = auto_peers.choose_strength(model, auto_peers.vectoriser(view).fit_transform(texts), labels)
    reader, fitted = auto_peers.vectoriser(view), auto_peers.make(model, strength)
    started = time.process_time()
    fitted.fit(reader.fit_transform(texts), labels)
    seconds = time.process_time() - started
    return fitted.predict(reader.transform(test)), seconds, len(pickle.dumps((reader, fitted)))


def fit_fasttext(collection: str, name: str, texts: Any, labels: Any, test: Any, number: int) -> tuple[Any, float, int]:
    """The same by fastText, on one thread; epochs and learning rate are chosen on a fifth of the training texts."""
    classes = sorted(set(labels))
    lines = [f"__label__{classes.index(label)} {_line(text)}\n" for text, label in zip(texts, labels, strict=True)]
    aside = [place % 5 == 0 for place in range(len(lines))]
    held_out = [line for line, out in zip(lines, aside, strict=True) if out]
    rest = [line for line, out in zip(lines, aside, strict=True) if not out]

    def count_right(settings: dict[str, float]) -> int:
        try:
            given, _, _ = train_fasttext(rest, [line.split(" ", 1)[1].strip() for line in held_out], settings)
        except RuntimeError:  # it diverges with this learning rate
            return 0
        return sum(line.startswith(f"{label} ") for label, line in zip(given, held_out, strict=True))

    best = max(FASTTEXT_SETTINGS, key=count_right)
    given, seconds, n_bytes = train_fasttext(lines, [_line(text) for text in test], best)
    return [classes[int(label.removeprefix("__label__"))] for label in given], seconds, n_bytes


def train_fasttext(lines: list[str], texts: list[str], settings: dict[str, float]) -> tuple[list[str], float, int]:
    """(label of each text, processor seconds of training, bytes of the model).

    In a process of its own: in one whose memory was used before, fastText 0.9.2 often stops with a NaN.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.txt").write_text("".join(lines), encoding="utf-8")
        (Path(folder) / "test.json").write_text(json.dumps(texts), encoding="utf-8")
        command = [sys.executable, "-c", FASTTEXT_SCRIPT, json.dumps(settings)]
        for _ in range(5):
            done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
            if not done.returncode:
                break
        else:
            raise RuntimeError(done.stderr)
        answer = json.loads((Path(folder) / "answer.json").read_text(encoding="utf-8"))
        return answer["labels"], answer["seconds"], (Path(folder) / "model.bin").stat().st_size


def _line(text: str) -> str:
    return " ".join(text.lower().split())


# Writing.


def render_table(content: dict[str, Any]) -> str:
    """The table and the lines that say how it was made."""
    figures: Figures = content["collections"]
    there = [one for one in COLLECTIONS if one in figures]
    best = {
        (one, key): max(figure.get(key, 0) for figure in figures[one].values())
        for one in there for key in ("accuracy", "macro_f1")
    }  # fmt: skip
    titles = [COLLECTIONS[one][0] for one in there]
    head = [
        f"| model | {' | '.join(titles)} | training time | size | updatable |",
        "|---" + "|:-:" * len(titles) + "|--:|--:|---|",
    ]

    def table(names: Sequence[str]) -> list[str]:
        rows = [
            f"| {_title(name)} | {' | '.join(_cell(figures[one].get(name), best, one) for one in there)} |"
            f" {_seconds(figures, name)} | {_size(figures, name)} | {_updatable(name)} |"
            for name in names
        ]
        cells = "Accuracy · macro F1 in %, [measured](#how-this-was-measured) by `tools/model_table.py`.\n"
        return [cells, WIDE, *head, *rows, ENDED, ""]

    names = ordered_names(figures)
    peers = [name for name in names if name not in CONTENDERS]
    others = [name for name in names if name in CONTENDERS and name not in CHOSEN]
    lines = [
        *table([name for name in names if name in CHOSEN]),
        "### Other tools on the same splits\n", *table(peers),
        "### Models of the papers, and baselines\n",
        "![Accuracy and training time of all models](assets/accuracy-time-all.svg)\n", *table(others),
        "### How this was measured\n",
    ]  # fmt: skip
    made_with = ", ".join(f"{name} {number}" for name, number in content["versions"].items())
    notes = [
        "- **Cells**: accuracy · macro F1 in %, the best of each collection in bold; rows by mean accuracy; other "
        "tools in *italics*. Test documents are those of the collections' own splits (1150 haber: the mean of three "
        "random splits, 70 % for training).",
        "- **Models** have their default settings, on words; `auto` also reads pairs of words and characters, and "
        "`auto-fast` is `auto` with `--budget fast`. Settings of other tools are chosen on training documents.",
        f"- **Training time** is measured on {COLLECTIONS[SIZED][0]}: processor seconds from raw text to the trained "
        "model. Our time includes tuning; theirs does not.",
        f"- **Size** is that of the model file trained on {COLLECTIONS[SIZED][0]}, without the documents that updates "
        "need (`--frozen`); for other tools, the pickle of the pipeline, or the binary file of fastText.",
        "- **Updatable**: *by addition* means that the model is computed from sums, and documents are added or "
        "subtracted; *from kept documents* means that it is trained again on the documents in its file. Both "
        "are exact.",
        "- Measured by `python tools/model_table.py --run`, which runs `unnaive compare` for each model, on "
        f"{content['machine']}, with other work going on; {made_with}.",
    ]
    return "\n".join([*lines, *notes, ""])


def ordered_names(figures: Figures) -> list[str]:
    """Models and peers by their mean accuracy, the best first; those with gaps by what they have, after the others."""
    names = dict.fromkeys(name for one in figures.values() for name in one)

    def key(name: str) -> tuple[int, float]:
        found = [one[name]["accuracy"] for one in figures.values() if "accuracy" in one.get(name, {})]
        return len(figures) - len(found), -float(np.mean(found)) if found else 0.0

    return sorted(names, key=key)


def _title(name: str) -> str:
    return f"`{name}`" if name in CONTENDERS else f"*{name}*"


def _cell(figure: dict[str, float] | None, best: dict[tuple[str, str], float], collection: str) -> str:
    if figure is None:
        return "–"
    if "more_than_seconds" in figure:
        return f"> {figure['more_than_seconds'] / 60:.0f} min"
    words = []
    for key in ("accuracy", "macro_f1"):
        word = f"{100 * figure[key]:.1f}"
        words.append(f"**{word}**" if figure[key] == best[collection, key] else word)
    return " · ".join(words)


def _seconds(figures: Figures, name: str) -> str:
    figure = figures.get(SIZED, {}).get(name, {})
    return f"{format_seconds(figure['train_seconds'])} s" if "train_seconds" in figure else "–"


def _size(figures: Figures, name: str) -> str:
    figure = figures.get(SIZED, {}).get(name, {})
    return format_size(figure["n_bytes"]) if "n_bytes" in figure else "–"


def _updatable(name: str) -> str:
    if name not in CONTENDERS:
        return "no"
    model = find_model(CONTENDERS[name].partition(":")[0])
    return "by addition" if model.traits.statistic == "counts" else "from kept documents"


def render_page(page: str, content: dict[str, Any]) -> str:
    """The page with its table replaced."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{render_table(content)}\n{END}{after}"


def main() -> None:
    """Measure what was asked for, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", nargs="*", metavar="NAME", help="measure what is missing, or these again")
    parser.add_argument("-c", "--collection", action="append", choices=list(COLLECTIONS), help="only these")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="of one model on one collection")
    given = parser.parse_args()
    if given.run is not None:
        names = given.run or [*CONTENDERS, *PEERS, FASTTEXT]
        for collection in given.collection or COLLECTIONS:
            for name in names:
                if not given.run and name in read_figures()["collections"].get(collection, {}):
                    continue
                model = name in CONTENDERS
                if given.run:  # named, so measured again
                    records_file(collection, name).unlink(missing_ok=True)
                figure = measure_model(collection, name, given.limit) if model else measure_peer(collection, name)
                keep_figure(collection, name, figure)
                print(f"{collection}, {name}: {figure}", flush=True)
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8"), read_figures()), encoding="utf-8")


if __name__ == "__main__":
    main()
