"""Suspected label errors: average precision and time, ours and cleanlab on out-of-fold LogisticRegression.

5 and 10 % of the labels of five collections are flipped, to a class at random or as a classifier confuses them.
cleanlab gets what its documentation uses: TF-IDF, scikit-learn's LogisticRegression over five folds, self-confidence
(and, beside it, the normalised margin). Needs cleanlab (extra "bench") and the collections.

    python benchmarks/label_errors.py [COLLECTION …]
"""

from __future__ import annotations

import sys
import warnings
from statistics import mean
from typing import Any

import numpy as np
from timing import peak_memory, processor_seconds, show_figure, verdict

COLLECTIONS = ("tickets", "webkb4", "reuters:r8", "ohsumed", "banking77")
SHARES = (0.05, 0.10)
SEED = 2  # of the flips; settings of ours were chosen with others, on the first three collections

MANY_CLASSES = """
import numpy as np
from scipy.sparse import csr_array
from unnaive.curation.audit.label_errors import leave_one_out_evidence
from unnaive.curation.audit.leave_one_out import LeaveOneOut
n_docs, n_classes, n_terms, length = 200_000, 5_000, 200_000, 30
generator = np.random.default_rng(0)
codes = generator.integers(0, n_classes, n_docs)
# ten terms of the class, twenty of a Zipf distribution
own = (codes[:, None] * 37 + generator.integers(0, 60, (n_docs, 10))) % n_terms
common = np.minimum(generator.zipf(1.3, (n_docs, 20)), n_terms) - 1
terms = np.sort(np.concatenate([own, common], axis=1), axis=1)
fresh = np.concatenate([np.ones((n_docs, 1), bool), terms[:, 1:] != terms[:, :-1]], axis=1)
ends = np.concatenate([[0], np.cumsum(fresh.sum(axis=1))])
X = csr_array((np.ones(int(ends[-1]), np.int32), terms[fresh].astype(np.int32), ends), (n_docs, n_terms))
wrong = generator.permutation(n_docs)[: n_docs // 20]
codes[wrong] = generator.integers(0, n_classes, len(wrong))
found = leave_one_out_evidence(LeaveOneOut.of(X, codes, n_classes))
first = found.ranking()[: len(wrong)]
print("precision", np.isin(first, wrong).mean())
"""


def read(name: str) -> tuple[list[str], Any, int]:
    """Texts of one label, their classes, and how many classes there are."""
    from unnaive.io.tickets import load_tickets
    from unnaive.papers.collections import load

    collection, _, view = name.partition(":")
    corpus = load_tickets() if name == "tickets" else load(collection, view=view or None)
    corpus = corpus.take([row for row, labels in enumerate(corpus.labels) if len(labels) == 1])
    place = {label: number for number, label in enumerate(corpus.classes)}
    return list(corpus.texts), np.array([place[labels[0]] for labels in corpus.labels]), len(place)


def flipped(codes: Any, n_classes: int, share: float, confusion: Any, seed: int) -> tuple[Any, Any]:
    """The labels with a share of them changed, and which were; `confusion` (n_classes, n_classes) or None for any."""
    generator = np.random.default_rng(seed)
    wrong = generator.permutation(len(codes))[: round(share * len(codes))]
    given = codes.copy()
    for row in wrong:
        if confusion is None:
            given[row] = (codes[row] + generator.integers(1, n_classes)) % n_classes
        else:
            chances = confusion[codes[row]].copy()
            chances[codes[row]] = 0
            given[row] = generator.choice(n_classes, p=chances / chances.sum())
    return given, np.isin(np.arange(len(codes)), wrong)


def class_confusion(X: Any, codes: Any, n_classes: int) -> Any:
    """How often documents of a class are given each other, out of fold, by a model that neither side uses; + 0.1."""
    from sklearn.model_selection import cross_val_predict
    from sklearn.svm import LinearSVC

    found = cross_val_predict(LinearSVC(), X, codes, cv=5)
    return np.histogram2d(codes, found, bins=np.arange(n_classes + 1))[0] + 0.1


def measure(name: str) -> list[dict[str, float]]:
    """Average precision and processor seconds of both sides for each kind and share of flips."""
    from cleanlab.rank import get_label_quality_scores
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import average_precision_score
    from sklearn.model_selection import cross_val_predict

    from unnaive.curation.audit.label_errors import estimate_errors, leave_one_out_evidence, out_of_fold_evidence
    from unnaive.curation.audit.leave_one_out import LeaveOneOut
    from unnaive.text.counting import TextCounter

    texts, codes, n_classes = read(name)
    X = TextCounter().count(texts, grow=True)
    weighted = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    confusion = class_confusion(weighted, codes, n_classes)
    rows = []
    for how, table in (("random", None), ("confusion", confusion)):
        for share in SHARES:
            given, wrong = flipped(codes, n_classes, share, table, seed=SEED)
            row: dict[str, float] = {"wrong": float(wrong.sum())}
            start = processor_seconds()
            p = cross_val_predict(LogisticRegression(max_iter=1000), weighted, given, cv=5, method="predict_proba")
            quality = get_label_quality_scores(given, p)
            row["cleanlab s"] = processor_seconds() - start
            row["cleanlab"] = average_precision_score(wrong, -quality)
            row["its margin"] = average_precision_score(
                wrong, -get_label_quality_scores(given, p, method="normalized_margin")
            )
            start = processor_seconds()
            ours = out_of_fold_evidence(X, given, n_classes)
            row["ours s"] = processor_seconds() - start
            row["ours"] = average_precision_score(wrong, -ours.log_given)
            row["estimate"] = estimate_errors(ours).number
            start = processor_seconds()
            fast = leave_one_out_evidence(LeaveOneOut.of(X, given, n_classes))
            row["fast s"] = processor_seconds() - start
            row["fast"] = average_precision_score(wrong, -fast.log_given)
            rows.append(row)
            shown = "  ".join(
                f"{key} {value:,.0f}" if value >= 10 else f"{key} {value:.3f}" for key, value in row.items()
            )
            print(f"{name:11} {how:9} {100 * share:.0f} %  {shown}", flush=True)
    return rows


def main(names: list[str]) -> None:
    """All collections, then the bars."""
    warnings.simplefilter("ignore")
    found = {name: measure(name) for name in names or COLLECTIONS}
    wins = sum(mean(row["ours"] for row in rows) >= mean(row["cleanlab"] for row in rows) for rows in found.values())
    everything = [row for rows in found.values() for row in rows]
    ours, theirs, margin, fast = (
        mean(row[key] for row in everything) for key in ("ours", "cleanlab", "its margin", "fast")
    )
    print(f"collections on which ours is at least cleanlab's: {wins} of {len(found)}   {verdict(wins, 4)}")
    print(f"mean average precision: ours {ours:.3f}, cleanlab {theirs:.3f} (margin {margin:.3f}), --fast {fast:.3f}   "
          f"{verdict(ours, theirs)}")  # fmt: skip
    slowest = min(mean(row["cleanlab s"] / row["fast s"] for row in rows) for rows in found.values())
    show_figure("--fast against cleanlab, processor time, least ratio", slowest, 20, at_most=False)
    if not names:
        show_figure("--fast, 200,000 × 5,000 classes, peak GB", peak_memory(MANY_CLASSES) / 1e9, 2)


if __name__ == "__main__":
    main(sys.argv[1:])
