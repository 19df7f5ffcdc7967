"""Predictions of fastText models by ours and by fastText itself: the same model file, texts and labels, one thread.

    python benchmarks/fasttext_predict.py [--model lid.176.ftz …] [--only tree]

Models are trained by fastText on 20 Newsgroups unless files are named: 20 classes by words, pairs, character n-grams,
200 and 1,000 classes (documents dealt out, since only time is measured), hierarchical softmax and one-vs-all. Two ways
of ours: `import` (an ordinary model; folded where there are no more classes than dimensions), and `load_model` of
`unnaive.fasttext`, whose probabilities are fastText's to the last bit.
"""

import argparse
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from fasttext_peer import train_fasttext
from timing import alternated, show

from unnaive import fasttext as ours
from unnaive.models.fasttext.importing import import_fasttext
from unnaive.papers.collections import load

KINDS = {  # name: classes (None for those of the collection), and what fastText is told
    "20 classes, words": (None, {}),
    "20 classes, pairs": (None, {"wordNgrams": 2, "bucket": 400_000}),
    "20 classes, characters": (None, {"minn": 3, "maxn": 6, "bucket": 400_000}),
    "20 classes, tree": (None, {"loss": "hs", "wordNgrams": 2, "bucket": 400_000}),
    "20 classes, one-vs-all": (None, {"loss": "ova"}),
    "200 classes, words": (200, {}),
    "200 classes, tree": (200, {"loss": "hs"}),
    "1,000 classes, words": (1000, {}),
}


def trained(folder, texts, labels, only):
    """The files of the models, by name."""
    for name, (classes, settings) in KINDS.items():
        if only not in name:
            continue
        path = Path(folder) / "train.txt"
        own = labels if classes is None else [str(row % classes) for row in range(len(texts))]
        path.write_text("".join(f"__label__{one} {text}\n" for one, text in zip(own, texts, strict=True)), "utf-8")
        model = Path(folder) / "model.bin"
        train_fasttext(model, path, {"lr": 0.05, "epoch": 1, **settings})
        yield name, model


def compare(peer, name, path, short, long, repeats):
    """Ratios for short and long texts, of both ways, after a look whether all labels are the same."""
    theirs = peer.load_model(str(path))
    door, fitted = ours.load_model(path), replace(import_fasttext(path), n_jobs=1)
    wanted = 5 if len(fitted.classes) <= 200 else 1
    for size, texts in (("short", short), ("long", long)):
        labels = theirs.predict(texts)[0]
        same = labels == door.predict(texts)[0]
        folded = [f"__label__{label}" for label in fitted.predict(texts)]
        differing = int(np.sum(np.array([one[0] for one in labels]) != np.array(folded)))
        told = "the same" if same else "DIFFER"
        print(f"{name}, {size} texts: labels of load_model {told}, of import {differing} of {len(texts)} differ")
        for way, model in (("import", fitted), ("load_model", door)):
            ratio = alternated(partial(model.predict, texts), partial(theirs.predict, texts), repeats)
            show(f"{name}, {size}: {way}", ratio, wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", action="append", type=Path, default=[])
    parser.add_argument("--only", default="", help="a part of the names of models")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    try:
        import fasttext as peer
    except ImportError:
        print("fastText is not installed; pip install 'unnaive[bench]'")
        return
    corpus = load("20newsgroups")
    texts = [" ".join(text.split()) for text in corpus.texts]
    labels = [label for (label,) in corpus.labels]
    lines = [" ".join(line.split()) for text in corpus.texts[:2000] for line in text.splitlines()]
    short = [line for line in lines if 20 < len(line) < 120][:5000]
    long = [text for text in texts if len(text) > 1000][:400]
    with tempfile.TemporaryDirectory() as folder:
        files = [(path.name, path) for path in arguments.model] or trained(
            folder, texts[::2], labels[::2], arguments.only
        )
        for name, path in files:
            compare(peer, name, path, short, long, arguments.repeats)


if __name__ == "__main__":
    main()
