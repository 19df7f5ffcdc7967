"""Learning curves of `auto` and of LinearSVC, written to docs/learning-curves.md with a figure.

python benchmarks/auto_curves.py [COLLECTION …] [--draws N] [--keep-peer]

Accuracy on the whole test part after 5, 10, 20, 50 and 100 % of the training documents, drawn by class, each class with
at least two; the mean over the draws. The peer, LinearSVC on pairs and characters, chooses its strength on the same
documents. Known figures are in docs/learning-curves.json: collections can be measured one by one, and after a change of
ours alone `--keep-peer` takes the peer's from there.
"""

import argparse
import json
import os
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from auto_peers import COLLECTIONS, PEERS, measure_split, splits

from unnaive import TextClassifier
from unnaive.evaluation.reports.plots import panels_figure, save_figure
from unnaive.evaluation.summaries import MeasureCurve

DOCS = Path(__file__).parents[1] / "docs"
FIGURES, PAGE, DRAWING = (DOCS / f"learning-curves.{ending}" for ending in ("json", "md", "svg"))
SHARES = (5, 10, 20, 50, 100)  # per cent
PEER = "LinearSVC, pairs and characters"


def draw(labels, share, seed):
    """Rows of a share of every class, two at least, in their order."""
    random = np.random.default_rng(seed)
    rows = []
    for label in np.unique(labels):
        own = random.permutation(np.flatnonzero(labels == label))
        rows.append(own[: max(2, round(share / 100 * len(own)))])
    return np.sort(np.concatenate(rows))


def measure(name, share, draws, known=None):
    """The size of the training part, and the accuracies of ours and of the peer, a draw each.

    Where the row is known, the peer's accuracies are those of the row and there are as many draws.
    """
    texts, labels, test, truth = splits(name)[0]
    ours, theirs, size = [], known["peer"] if known else [], 0
    for seed in range(len(theirs) or (draws if share < 100 else 1)):
        rows = draw(labels, share, seed)
        model = TextClassifier().fit(list(texts[rows]), labels[rows])
        ours.append(float((model.predict(list(test)) == truth).mean()))
        if not known:
            theirs.append(measure_split(*PEERS[PEER], texts[rows], labels[rows], test, truth)[0])
        size = len(rows)
    return {"documents": size, "test": len(truth), "auto": ours, "peer": theirs}


def known_figures():
    return json.loads(FIGURES.read_text()) if FIGURES.exists() else {}


def page(figures):
    """The text of the page: a table for each collection."""
    lines = [
        "# Learning curves", "",
        "This page shows how the accuracy of `auto`, with its default settings, grows with the number of training",
        f"documents, beside {PEER}, with C selected on the same training documents. Of the eight scikit-learn",
        "pipelines of [the comparison](models.md) it has the best mean; on single collections others are better.",
        "Models learn from a share of the documents of every class and are evaluated on the test part.",
        "The tables have the mean over the draws, and the mean difference in points with its standard error.",
        "Written by `benchmarks/auto_curves.py`.", "",
        "![Mean accuracy by the share of training documents](assets/accuracy-documents.svg)", "",
        f"![Accuracy by the number of training documents]({DRAWING.name})", "",
    ]  # fmt: skip
    for name, shares in figures.items():
        test = next(iter(shares.values()))["test"]
        lines += [f"## {name}, {test:,} test documents", "", "| training | documents | draws | auto | peer | points |",
                  "|---|---|---|---|---|---|"]  # fmt: skip
        for share, row in shares.items():
            gain = 100 * (np.array(row["auto"]) - np.array(row["peer"]))
            error = f" ± {gain.std(ddof=1) / len(gain) ** 0.5:.1f}" if len(gain) > 1 else ""
            lines.append(
                f"| {share} % | {row['documents']:,} | {len(gain)} | {np.mean(row['auto']):.3f} | "
                f"{np.mean(row['peer']):.3f} | {gain.mean():+.1f}{error} |"
            )
        lines.append("")
    return "\n".join(lines)


def drawing(figures):
    """A panel for each collection, two in a row: the letters are readable on a phone."""
    panels = {}
    for name, shares in figures.items():
        sizes = [row["documents"] for row in shares.values()]
        panels[name] = [
            MeasureCurve(
                title, sizes, *zip(*((np.mean(row[key]), np.std(row[key])) for row in shares.values()), strict=True)
            )
            for title, key in (("auto", "auto"), (PEER, "peer"))
        ]
    figure = panels_figure(panels, {}, x="training documents", y="accuracy", columns=2)
    figure.set_size_inches(6.2, 2.6 * -(-len(panels) // 2))
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--keep-peer", action="store_true", help="measure the peer only where it is not known")
    arguments = parser.parse_args()
    for name in arguments.collections:
        found = {}
        known = known_figures().get(name, {}) if arguments.keep_peer else {}
        for share in SHARES:
            found[str(share)] = row = measure(name, share, arguments.draws, known.get(str(share)))
            print(
                f"{name:14} {share:3} %: auto {np.mean(row['auto']):.4f}, peer {np.mean(row['peer']):.4f}", flush=True
            )
        figures = known_figures() | {name: found}
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
        PAGE.write_text(page(figures))
        save_figure(drawing(figures), DRAWING)


if __name__ == "__main__":
    main()
