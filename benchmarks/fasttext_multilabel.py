"""`fasttext.train_supervised` on multilabel files: a tree of labels against one regression for each label.

python benchmarks/fasttext_multilabel.py [COLLECTION …] [--labels 20 60 1000]

The collections are those of auto_multilabel.py; --labels keeps the documents of so many of the most frequent labels.
`train_supervised` trains a tree (`label-tree`) from MANY_LABELS labels on. Targets: the tree takes less processor time,
and its precision at 1 is at most .005 lower. With the package fasttext-numpy2-wheel, also fastText with the loss ova,
5 epochs and, as its tutorial does, 25 epochs at a learning rate of .5.
"""

import argparse
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from auto_multilabel import COLLECTIONS
from timing import timed

from unnaive import fasttext
from unnaive.interop.fasttext import training

LEAST_DOCUMENTS = 5
LARGEST_LOSS = 0.005
FORMS = (("maxent", 10**9), ("label-tree", 2))  # (model, from how many labels on a tree is trained)


def write_lines(path, rows, labels):
    """The documents that have one of the labels, as fastText reads them; their number."""
    lines = [
        " ".join([*(f"__label__{label}" for label in sorted(labels.intersection(own))), *text.split()])
        for text, own in rows
        if labels.intersection(own)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(lines)


def train_timed(function, train, **options):
    """The model, and the processor time of its training."""
    model = []
    _, cpu = timed(lambda: model.append(function(str(train), thread=1, **options)))
    return model[0], cpu


def report(name, model, cpu, test):
    first, third = (model.test(str(test), k)[1] for k in (1, 3))
    print(f"  {name:24} {cpu:7.1f} s  P@1 {first:.3f}  P@3 {third:.3f}", flush=True)
    return cpu, first


def peer(train, test):
    try:
        import fasttext as original
    except ImportError:
        return
    for form in ({}, {"epoch": 25, "lr": 0.5}):
        model, cpu = train_timed(original.train_supervised, train, loss="ova", verbose=0, **form)
        report(f"fastText {form}", model, cpu, test)


def measure(name, n_labels, folder):
    train_rows, test_rows = COLLECTIONS[name](4_000)
    counts = Counter(label for _, labels in train_rows for label in labels)
    labels = {label for label, count in counts.most_common(n_labels) if count >= LEAST_DOCUMENTS}
    train, test = folder / "train.txt", folder / "test.txt"
    n_docs = write_lines(train, train_rows, labels)
    write_lines(test, test_rows, labels)
    print(f"{name}: {n_docs:,} documents, {len(labels)} labels")
    results = {}
    for form, many in FORMS:
        training.MANY_LABELS = many
        model, cpu = train_timed(fasttext.train_supervised, train)
        results[form] = report(form, model, cpu, test)
    peer(train, test)
    (slow, usual), (fast, own) = results["maxent"], results["label-tree"]
    met = fast < slow and own >= usual - LARGEST_LOSS
    print(
        f"  label-tree: {slow / fast:.1f}× as fast, P@1 {own - usual:+.3f}: {'met' if met else 'NOT MET'}", flush=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*", default=["reuters", "tags", "debian"])
    parser.add_argument("--labels", nargs="*", type=int, default=[20, 60, 1_000])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.collections:
        for n_labels in options.labels:
            with tempfile.TemporaryDirectory() as folder:
                measure(name, n_labels, Path(folder))


if __name__ == "__main__":
    main()
