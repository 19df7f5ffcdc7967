"""The cost of keeping the counted documents: bytes in the file, and CPU seconds to order, pack and unpack them.

python benchmarks/kept_documents.py [COLLECTION]

Once with words, as most models read texts, and once with words, pairs and character n-grams, as auto does. Beside the
packed size stands that of the same matrix as scipy.sparse.save_npz writes it, deflated.
"""

import argparse
import io
from time import process_time

from scipy.sparse import save_npz

from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.packed_documents import PackedDocuments, pack_documents
from unnaive.data.targets import read_targets
from unnaive.papers.collections import load
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

RULES = {"words": TokenRule(), "words, pairs, characters": TokenRule(analyzer="both", ngrams=(1, 2))}


def timed(what, action):
    start = process_time()
    found = action()
    print(f"  {what:9} {process_time() - start:6.2f} s CPU")
    return found


def measure(name, rule, corpus):
    counter = TextCounter(rule)
    X, units = counter.count_with_units(corpus.texts)
    vocabulary, targets = counter.vocabulary, read_targets(list(corpus.labels), len(corpus))
    print(f"{name}: {X.shape[0]:,} documents, {X.shape[1]:,} terms, {X.nnz:,} cells")
    documents = timed("in order", lambda: KeptDocuments.of(X, targets, vocabulary, units=units))
    timed("joined", documents.joined)
    packed = timed("packed", lambda: pack_documents(documents, documents.vocabulary, exclusive=False))
    opened = PackedDocuments(packed.arrays, packed.about, packed.classes, packed.in_use, packed.exclusive)
    assert timed("unpacked", lambda: opened.documents) == documents
    file = io.BytesIO()
    save_npz(file, documents.X)
    sizes = ", ".join(f"{part} {array.nbytes:,}" for part, array in packed.arrays.items())
    print(f"  {packed.nbytes / 1e6:.1f} MB ({sizes}); save_npz: {len(file.getvalue()) / 1e6:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", nargs="?", default="20newsgroups")
    corpus = load(parser.parse_args().collection).part("train")
    for name, rule in RULES.items():
        measure(name, rule, corpus)


if __name__ == "__main__":
    main()
