"""The peers of `auto`: tf-idf pipelines of scikit-learn, tuned on training data only, their figures kept in a file.

python benchmarks/auto_peers.py [COLLECTION …] [--peer NAME …] [--again]

Each is a vectoriser with sublinear counts and a linear model, whose C is chosen in the usual way: by cross-validation
in three folds, or one held-out part of a sample from 4,500 documents on. The figures are in auto_peers.json, so that a
change of ours does not have to wait for them.
"""

import argparse
import json
import os
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from timing import timed

from unnaive.io.tickets import load_tickets
from unnaive.papers.collections import load

CACHE = Path(__file__).with_name("auto_peers.json")
COLLECTIONS = {
    "tickets": lambda: load_tickets(),
    "1150haber": lambda: load("1150haber"),
    "webkb4": lambda: load("webkb4"),
    "ohsumed": lambda: load("ohsumed"),
    "r8": lambda: load("reuters", view="r8"),
    "banking77": lambda: load("banking77"),
    "20newsgroups": lambda: load("20newsgroups"),
}
HABER_SPLITS = 3  # 1150haber has no split of its own: so many random ones, of 70 and 30 %
WHOLE = 4_500  # documents up to which strengths are chosen by cross-validation on all of them
STRENGTHS = {
    "LinearSVC": ("C", (0.1, 0.3, 1.0, 3.0)),
    "LogisticRegression": ("C", (3.0, 10.0, 100.0)),
    "Ridge": ("alpha", (0.3, 1.0, 3.0)),
    "ComplementNB": ("alpha", (0.03, 0.1, 0.3, 1.0)),
}
PEERS = {
    **{f"{model}, {view}": (model, view) for view in ("words", "pairs", "characters") for model in STRENGTHS},
    "LinearSVC, pairs and characters": ("LinearSVC", "pairs and characters"),
}


def splits(name):
    """(training texts, their labels, test texts, their labels), as often as the collection is split."""
    corpus = COLLECTIONS[name]()
    labels = np.array([one[0] for one in corpus.labels])
    texts = np.array(corpus.texts, dtype=object)
    if corpus.split is not None:
        train = np.array(corpus.split) == "train"
        return [(texts[train], labels[train], texts[~train], labels[~train])]
    from sklearn.model_selection import train_test_split

    found = []
    for seed in range(HABER_SPLITS):
        rest, aside = train_test_split(np.arange(len(texts)), test_size=0.3, stratify=labels, random_state=seed)
        found.append((texts[rest], labels[rest], texts[aside], labels[aside]))
    return found


def vectoriser(view):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import FeatureUnion

    if view == "words":
        return TfidfVectorizer(sublinear_tf=True)
    if view == "pairs":
        return TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
    if view == "characters":
        return TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 5), min_df=2)
    return FeatureUnion([("pairs", vectoriser("pairs")), ("characters", vectoriser("characters"))])


def make(model, strength):
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import ComplementNB
    from sklearn.svm import LinearSVC

    kinds = {
        "LinearSVC": lambda **own: LinearSVC(random_state=0, **own),
        "LogisticRegression": lambda **own: LogisticRegression(max_iter=300, tol=1e-3, **own),
        "Ridge": lambda **own: RidgeClassifier(solver="sparse_cg", tol=1e-3, **own),
        "ComplementNB": ComplementNB,
    }
    return kinds[model](**{STRENGTHS[model][0]: strength})


def choose_strength(model, Z, labels):
    """The strength with the best accuracy on training documents held out."""
    from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

    if len(labels) < WHOLE:
        parts = StratifiedKFold(min(3, np.unique(labels, return_counts=True)[1].min()) if len(labels) else 3)
        parts = parts if parts.n_splits >= 2 else StratifiedKFold(2)
    else:
        parts = StratifiedShuffleSplit(1, train_size=min(6_000, int(0.7 * len(labels))), test_size=0.2, random_state=0)
    found = dict.fromkeys(STRENGTHS[model][1], 0.0)
    for train, aside in list(parts.split(Z, labels)):
        for strength in found:
            found[strength] += (
                make(model, strength).fit(Z[train], labels[train]).predict(Z[aside]) == labels[aside]
            ).mean()
    return max(found, key=found.__getitem__)


def measure_split(model, view, texts, labels, test, truth):
    """Accuracy, the strength chosen, and processor seconds of one fit from raw text and of predicting."""
    reader, found = vectoriser(view), {}
    reading = timed(lambda: found.update(Z=reader.fit_transform(texts)))[1]
    strength = choose_strength(model, found["Z"], labels)
    fitted = make(model, strength)
    fitting = timed(lambda: fitted.fit(found["Z"], labels))[1]
    predicting = timed(lambda: found.update(labels=fitted.predict(reader.transform(test))))[1]
    return float((found["labels"] == truth).mean()), strength, reading + fitting, predicting


def measure_peer(peer, parts):
    """Means over the splits, and the strengths that were chosen."""
    accuracy, strengths, fits, predictions = zip(*(measure_split(*PEERS[peer], *part) for part in parts), strict=True)
    return {
        "accuracy": float(np.mean(accuracy)),
        "strengths": strengths,
        "fit cpu seconds": round(float(np.mean(fits)), 3),
        "predict cpu seconds": round(float(np.mean(predictions)), 3),
    }


def known_figures():
    return json.loads(CACHE.read_text()) if CACHE.exists() else {}


def strongest(name):
    """(peer, its figures) of the best accuracy known for a collection; None where nothing is."""
    found = known_figures().get(name)
    return max(found.items(), key=lambda one: one[1]["accuracy"]) if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--peer", action="append", help="only these")
    parser.add_argument("--again", action="store_true", help="measure what is known too")
    arguments = parser.parse_args()
    for name in arguments.collections:
        parts = splits(name)
        for peer in arguments.peer or PEERS:
            if not arguments.again and peer in known_figures().get(name, {}):
                continue
            figures = measure_peer(peer, parts)
            known = known_figures()  # read again: another run may have added to it
            known.setdefault(name, {})[peer] = figures
            CACHE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
            print(f"{name:14} {peer:34} {figures['accuracy']:.4f}  fit {figures['fit cpu seconds']:.2f} s", flush=True)


if __name__ == "__main__":
    main()
