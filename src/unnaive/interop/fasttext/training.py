"""train_supervised: the function of fastText, which trains a model of this package."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

from unnaive.base.byte_sizes import parse_size
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.classifier.compress import compress_model
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.interop.fasttext.fasttext_lines import read_labelled_lines
from unnaive.interop.fasttext.model import FastTextModel

LOSSES = ("softmax", "ova", "hs", "ns")
# parameters of fastText's gradient descent, which are ignored; with fastText's defaults
WITHOUT_MEANING: dict[str, Any] = {
    "lr": 0.1, "dim": 100, "ws": 5, "epoch": 5, "neg": 5, "bucket": 2_000_000, "lrUpdateRate": 100, "t": 1e-4,
    "pretrainedVectors": "", "autotuneValidationFile": "", "autotunePredictions": 1,
}  # fmt: skip


def train_supervised(
    input: str | Path, lr: float = 0.1, dim: int = 100, ws: int = 5, epoch: int = 5, minCount: int = 1,
    minCountLabel: int = 0, minn: int = 0, maxn: int = 0, neg: int = 5, wordNgrams: int = 1, loss: str = "softmax",
    bucket: int = 2_000_000, thread: int | None = None, lrUpdateRate: int = 100, t: float = 1e-4,
    label: str = "__label__", verbose: int = 2, pretrainedVectors: str = "", seed: int = 0,
    autotuneValidationFile: str = "", autotuneMetric: str = "f1", autotunePredictions: int = 1,
    autotuneDuration: int = 300, autotuneModelSize: str = "",
) -> FastTextModel:  # fmt: skip
    """Train a classifier on a file of labelled lines.

    The model is a softmax regression on words and n-grams (`maxent`): fastText's model without the hidden layer, fitted
    to its optimum. For the loss "ova", and for multilabel files, it is one regression for each label. With
    `autotuneValidationFile`, `autotuneDuration` or `autotuneModelSize` it is `auto`, which holds out its own validation
    documents.

    wordNgrams, minn, maxn  longest word n-grams; shortest and longest character n-grams, 0 for none
    minCount                leave out terms of fewer documents
    minCountLabel           leave out labels of fewer documents
    thread, seed            threads, for None all cores; random seed
    label                   prefix of labels in the file
    autotuneMetric          "f1", or "f1:__label__x"
    autotuneModelSize       maximum size of the model file, such as "2M"

    The others (lr, dim, ws, epoch, neg, bucket, loss "hs" and "ns", …) are accepted and ignored; a warning names those
    that were changed.
    """
    arguments = dict(locals())
    if loss not in LOSSES:
        raise UnnaiveError(f"loss is {loss!r}; there are {', '.join(LOSSES)}")
    tunes = bool(autotuneValidationFile or autotuneModelSize) or autotuneDuration != 300
    _note_unused(arguments, tunes)
    texts, labels, multilabel = _read(input, label, minCountLabel)
    multilabel = multilabel or loss == "ova"
    reading: dict[str, Any] = {"language": None, "lowercase": False, "min_length": 1}
    if wordNgrams > 1:
        reading["ngrams"] = (1, wordNgrams)
    if maxn > 0:
        reading |= {"analyzer": "both", "char_ngrams": (max(minn, 1), maxn)}
    classifier = TextClassifier(
        "auto" if tunes else "maxent", min_df=minCount, n_jobs=thread, random_state=seed,
        multilabel=True if multilabel else None, **reading,
    )  # fmt: skip
    classifier.fit(texts, labels if multilabel else [names[0] for names in labels])
    fitted = classifier.fitted_
    if autotuneModelSize:
        fitted = compress_model(fitted, parse_size(_bytes(autotuneModelSize))).fitted
    return FastTextModel(fitted, label=label)


def train_unsupervised(*arguments: Any, **more: Any) -> NoReturn:
    """Word vectors are not trained here."""
    raise UnnaiveError(
        "unnaive trains classifiers but no word vectors; load those of fastText with load_model, or "
        "train them with a package for vectors"
    )


def _note_unused(arguments: dict[str, Any], tunes: bool) -> None:
    changed = [name for name, usual in WITHOUT_MEANING.items() if arguments[name] != usual]
    changed += ["loss"] if arguments["loss"] in ("hs", "ns") else []
    if tunes:
        changed = [name for name in changed if name != "autotuneValidationFile"]
    if changed:
        warnings.warn(
            f"the models of unnaive are fitted to their optimum and have no {', '.join(changed)}; leave that out",
            UnnaiveWarning,
            stacklevel=3,
        )


def _read(path: str | Path, prefix: str, least: int) -> tuple[list[str], list[tuple[str, ...]], bool]:
    """Texts, their labels without the prefix, and whether some have several."""
    lines = [line for line in read_labelled_lines(path, prefix, "training") if line.labels]
    counts = Counter(label for line in lines for label in dict.fromkeys(line.labels))
    texts, labels = [], []
    for line in lines:
        names = tuple(dict.fromkeys(label.removeprefix(prefix) for label in line.labels if counts[label] >= least))
        if names:
            texts.append(line.text)
            labels.append(names)
    if not texts:
        raise BadData(f"{path} has no line with a label; labels begin with {prefix!r}")
    return texts, labels, any(len(names) > 1 for names in labels)


def _bytes(size: str) -> str:
    """A size of fastText, such as 2M, in our notation."""
    return f"{size}B" if size[-1:] in "kKMG" else size
