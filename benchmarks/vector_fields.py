"""Texts with embeddings: our svm and scikit-learn's LinearSVC on the same words and vectors, from texts to predictions.

python benchmarks/vector_fields.py [--docs 4000] [--dims 384] [--runs 5]

Both sides get texts and a table of vectors: ours through TextClassifier(fields=…), the other through TfidfVectorizer
and StandardScaler, whose rows are divided by √n_dims as ours are. The two are alternated in one process, and medians
and their ratio are printed, for three and for twenty classes.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from unnaive import TextClassifier

N_WORDS, N_NEW = 60, 1000


def make_documents(n_docs, n_dims, n_classes, seed):
    """(texts, vectors, labels); the class shifts the vector, and the frequencies of words."""
    shared, draw = np.random.default_rng(0), np.random.default_rng(seed)
    centres = shared.normal(size=(n_classes, n_dims))
    words = np.array([f"word{number}" for number in range(5000)])
    zipf = 1 / np.arange(1, len(words) + 1)
    shift = [shared.permutation(len(words)) for _ in range(n_classes)]
    labels = draw.integers(0, n_classes, n_docs)
    vectors = centres[labels] + 9 * draw.normal(size=(n_docs, n_dims))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ranks = draw.choice(len(words), size=(n_docs, N_WORDS), p=zipf / zipf.sum())
    own = draw.random((n_docs, N_WORDS)) < 0.1
    texts = [
        " ".join(words[np.where(mask, shift[label][row], row)])
        for label, row, mask in zip(labels, ranks, own, strict=True)
    ]
    return texts, vectors.astype(np.float32), labels


class Peer:
    """Tf-idf and standardised vectors side by side, and LinearSVC."""

    def fit(self, texts, vectors, labels):
        self.words, self.scaler = TfidfVectorizer(sublinear_tf=True), StandardScaler()
        X = self.words.fit_transform(texts), self.scaler.fit_transform(vectors)
        self.model = LinearSVC().fit(self.beside(*X), labels)
        return self

    def predict(self, texts, vectors):
        return self.model.predict(self.beside(self.words.transform(texts), self.scaler.transform(vectors)))

    @staticmethod
    def beside(words, vectors):
        return hstack([words, csr_array(vectors / np.sqrt(vectors.shape[1]))], format="csr")


def seconds(work: Callable[[], object]) -> float:
    """The time that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print the medians of both sides, and their ratios."""
    parser = argparse.ArgumentParser()
    for name, value in (("docs", 4000), ("dims", 384), ("runs", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    for n_classes in (3, 20):
        compare(n_classes, options.docs, options.dims, options.runs)


def compare(n_classes: int, n_docs: int, n_dims: int, n_runs: int) -> None:
    """Print the medians and ratios for a number of classes."""
    texts, vectors, labels = make_documents(n_docs, n_dims, n_classes, seed=1)
    new_texts, new_vectors, truth = make_documents(N_NEW, n_dims, n_classes, seed=2)
    records, new = {"text": texts, "vector": vectors}, {"text": new_texts, "vector": new_vectors}
    times: dict[str, list[float]] = {"fit": [], "LinearSVC fit": [], "predict": [], "LinearSVC predict": []}
    for _ in range(n_runs):
        ours, peer = TextClassifier("svm", fields={"text": "text", "vector": "vector"}), Peer()
        times["fit"].append(seconds(partial(ours.fit, records, labels)))
        times["LinearSVC fit"].append(seconds(partial(peer.fit, texts, vectors, labels)))
        right = [np.mean(ours.predict(new) == truth)]  # the first call makes tables
        right.append(np.mean(peer.predict(new_texts, new_vectors) == truth))
        times["predict"].append(seconds(partial(ours.predict, new)))
        times["LinearSVC predict"].append(seconds(partial(peer.predict, new_texts, new_vectors)))
    print(f"{n_classes} classes, {n_docs:,} × {n_dims}; accuracy {right[0]:.3f}, LinearSVC {right[1]:.3f}")
    for name in ("fit", "predict"):
        mine, theirs = (statistics.median(times[key]) for key in (name, f"LinearSVC {name}"))
        print(f"  {name:8} {mine:.3f} s   LinearSVC {theirs:.3f} s   ratio {mine / theirs:.2f}")


if __name__ == "__main__":
    main()
