"""Memory with many classes: 100,000 documents of 100 tokens, 5,000 classes, 300,000 terms; dense weights take 12 GB.

python benchmarks/many_classes.py [--documents N]

The collection is synthetic, with a fixed seed: words are drawn from Zipf's law over all terms, one in four from the
words of the class. The child process reads the texts, trains, predicts 20,000 documents, saves, loads and predicts
again; its peak memory is measured.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from timing import peak_memory, show_figure

CLASSES, TERMS, LENGTH = 5_000, 300_000, 100

CHILD = """
import time
from unnaive import TextClassifier
start = time.perf_counter()
texts, labels = [], []
with open({path!r}) as lines:
    for line in lines:
        label, _, text = line.partition("\\t")
        texts.append(text)
        labels.append(int(label))
read = time.perf_counter()
model = TextClassifier("multinomial", alpha=0.01).fit(texts, labels)
fitted = time.perf_counter()
sample, truth = texts[::5], labels[::5]
found = model.predict(sample)
done = time.perf_counter()
right = sum(int(a) == b for a, b in zip(found, truth)) / len(truth)
model.save({path!r} + ".model")
again = TextClassifier.load({path!r} + ".model").predict(sample)
with open({path!r} + ".txt", "w") as notes:
    print(f"{{len(model.vocabulary_)}} terms, {{len(model.classes_)}} classes, "
      f"{{model.scorer_.sparse_weights.nnz}} stored weights; read {{read - start:.1f}} s, "
      f"trained {{fitted - read:.1f}} s, predicted {{len(sample)}} in {{done - fitted:.1f}} s, {{right:.1%}} right; "
      f"loaded model agrees: {{bool((again == found).all())}}", file=notes)
"""


def write(path, n_docs, seed=0):
    """label, tab, words; one document a line."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{number:x}" for number in range(TERMS)])
    own = rng.integers(TERMS, size=(CLASSES, 40))
    with path.open("w") as lines:
        for start in range(0, n_docs, 1000):
            size = min(1000, n_docs - start)
            labels = rng.integers(CLASSES, size=size)
            terms = (rng.zipf(1.15, (size, LENGTH)) * 7919) % TERMS
            of_class = own[labels[:, None], rng.integers(40, size=(size, LENGTH))]
            terms = np.where(rng.random((size, LENGTH)) < 0.25, of_class, terms)
            lines.writelines(f"{label}\t{' '.join(words[row])}\n" for label, row in zip(labels, terms, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    n_docs = parser.parse_args().documents
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.tsv"
        write(path, n_docs)
        peak = peak_memory(CHILD.format(path=str(path)))
        print(path.with_name("documents.tsv.txt").read_text().strip())
    show_figure("peak memory in GB, train and predict", peak / 1e9, 2.0)


if __name__ == "__main__":
    main()
