"""Gain of naive Bayes from unlabelled texts: accuracy of nb-em with 5, 10 and 20 labels of each class.

    python benchmarks/unlabelled.py [--draws 5] [NAME …]

Prints the table of docs/label.md. λ is the weight of an unlabelled text; λ = 0 is naive Bayes on labelled texts alone.
Every text of the training part that is not drawn is there without its label; the test part is aside. A cell is the mean
over the draws, with − where it is below λ = 0 in every draw and + where it is above in every draw.
"""

from __future__ import annotations

import argparse

import numpy as np
from active_learning import COLLECTIONS

from unnaive import TextClassifier
from unnaive.apps.labelling.simulation import split_corpus
from unnaive.data.corpus import Corpus

TITLES = {
    "tickets": "tickets", "webkb4": "WebKB-4", "reuters": "Reuters R8", "ohsumed": "Ohsumed",
    "20newsgroups": "20 Newsgroups",
}  # fmt: skip
SIZES = (5, 10, 20)
SETTINGS = ((0.0, 0.1), (0.01, 0.1), (0.1, 0.1), (1.0, 0.1), (0.1, 0.01))  # (λ, α); 0.1 and 0.1 are the defaults


def measure(corpus: Corpus, draws: int) -> np.ndarray:
    """Accuracies (n_settings, n_sizes, n_draws)."""
    pool, test = split_corpus(corpus, 0)
    truth = np.array([one[0] for one in pool.labels], object)
    right = [one[0] for one in test.labels]
    texts, test_texts = list(pool.texts), list(test.texts)
    found = np.zeros((len(SETTINGS), len(SIZES), draws))
    for column, size in enumerate(SIZES):
        for seed in range(draws):
            draw = np.random.default_rng([seed, size])
            of_each = [draw.permutation(np.flatnonzero(truth == one))[:size] for one in sorted(set(truth))]
            labels: list[str | None] = [None] * len(texts)
            for row in np.concatenate(of_each).tolist():
                labels[row] = truth[row]
            for place, (weight, alpha) in enumerate(SETTINGS):
                model = TextClassifier("nb-em", unlabelled_weight=weight, alpha=alpha, stopwords="en")
                model.fit(texts, labels)
                found[place, column, seed] = model.score(test_texts, right)
    return found


def row_of_table(title: str, found: np.ndarray) -> str:
    """A line of Markdown: for each setting the means at the three sizes."""
    cells = []
    for place in range(len(SETTINGS)):
        parts = []
        for column in range(len(SIZES)):
            gain = found[place, column] - found[0, column]
            mark = "+" if (gain > 0).all() else "−" if (gain < 0).all() else ""
            parts.append(f"{found[place, column].mean():.2f}".lstrip("0") + mark)
        cells.append(" / ".join(parts))
    return f"| {title} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--draws", type=int, default=5)
    arguments = parser.parse_args()
    names = [f"λ = {weight:g}" + ("" if alpha == 0.1 else f", α = {alpha:g}") for weight, alpha in SETTINGS]
    print(f"| | {' | '.join(names)} |\n|---{'|---' * len(names)}|")
    for name in arguments.names:
        print(row_of_table(TITLES[name], measure(COLLECTIONS[name](), arguments.draws)), flush=True)


if __name__ == "__main__":
    main()
