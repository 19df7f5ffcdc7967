"""Possible gains of `auto` on short phrases and few documents: smaller C, another prior of its pool, or all folds.

    python benchmarks/auto_short.py

Three collections of training parts: subject lines of 20 Newsgroups (comp or rec, 3,000 of them), twelve intents of
Banking77, and the tickets. Three splits each, a quarter for testing; accuracy, log-loss and processor seconds on the
mean. The test parts are not touched. Nothing gained more than chance, so `auto` stayed as it is (docs/auto.md).
"""

import re
import warnings

import numpy as np
from timing import timed

from unnaive import TextClassifier
from unnaive.io.tickets import load_tickets
from unnaive.models.auto import plan, search
from unnaive.models.auto.candidates import USUAL, Candidate
from unnaive.papers.collections import load

SMALLER = (
    *USUAL,
    Candidate("nbsvm", (0.03,)),
    *(Candidate("svm", (C,)) for C in (0.1, 0.03)),
    *(Candidate("maxent", (0.3, 1.0, alpha)) for alpha in (0.1, 1.0)),
)
VARIANTS = {  # candidates, documents that the pool's prior is worth, held-out documents that are enough
    "as it is": (USUAL, search.SHRINK, plan.JUDGED),
    "smaller C": (SMALLER, search.SHRINK, plan.JUDGED),
    "prior of 5": (USUAL, 5.0, plan.JUDGED),
    "prior of 60": (USUAL, 60.0, plan.JUDGED),
    "all folds": (USUAL, search.SHRINK, 10**9),
}
MOST, N_SPLITS, TRAINING = 3_000, 3, 0.75


def subject_lines():
    corpus = load("20newsgroups").part("train")
    rows = []
    for text, labels in zip(corpus.texts, corpus.labels, strict=True):
        found, area = re.search(r"^Subject: *(?:Re: *)*(.*)$", text, re.MULTILINE), labels[0].split(".")[0]
        if found and found.group(1).strip() and area in ("comp", "rec"):
            rows.append((found.group(1), area))
    return rows


def intents():
    corpus = load("banking77").part("train")
    kept = sorted({labels[0] for labels in corpus.labels})[:12]
    return [(text, labels[0]) for text, labels in zip(corpus.texts, corpus.labels, strict=True) if labels[0] in kept]


def tickets():
    corpus = load_tickets().part("train")
    return [(text, labels[0]) for text, labels in zip(corpus.texts, corpus.labels, strict=True)]


def judge(train, test):
    """Accuracy in per cent, log-loss and processor seconds of one training."""
    model = TextClassifier("auto", n_jobs=1)
    seconds = timed(lambda: model.fit(*zip(*train, strict=True)))[1]
    texts, labels = zip(*test, strict=True)
    p, truth = model.predict_proba(texts), np.searchsorted(np.array(model.classes_), labels)
    right = np.maximum(p[np.arange(len(truth)), truth], 1e-9)
    return 100 * (p.argmax(axis=1) == truth).mean(), -np.log(right).mean(), seconds


def main():
    warnings.simplefilter("ignore")
    random = np.random.default_rng(11)
    for name, read in (("subject lines", subject_lines), ("12 intents", intents), ("tickets", tickets)):
        rows, found = read(), {}
        for _ in range(N_SPLITS):
            order = random.permutation(len(rows))[:MOST].tolist()
            cut = int(TRAINING * len(order))
            train, test = ([rows[row] for row in part] for part in (order[:cut], order[cut:]))
            for variant, (plan.USUAL, search.SHRINK, plan.JUDGED) in VARIANTS.items():
                found.setdefault(variant, []).append(judge(train, test))
        for variant, results in found.items():
            accuracy, loss, seconds = np.mean(results, axis=0)
            print(f"{name}, {variant}: accuracy {accuracy:.2f}, log-loss {loss:.3f}, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
