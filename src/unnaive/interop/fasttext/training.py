"""train_supervised: the function of fastText, which trains a model of this package."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from unnaive.base.byte_sizes import parse_size
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.classifier.compress import compress_model
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.data.training_data import TrainingData
from unnaive.interop.fasttext.arguments import Arguments
from unnaive.interop.fasttext.fasttext_lines import read_labelled_lines
from unnaive.interop.fasttext.model import FastTextModel
from unnaive.learning.decisions import Argmax
from unnaive.learning.fitted import FittedModel
from unnaive.linear.linear import Linear
from unnaive.models.fasttext.binary_file import LARGEST_DIM
from unnaive.text.vocabulary import Vocabulary

MANY_LABELS = (
    20  # from here on a tree of labels is as precise and several times faster (benchmarks/fasttext_multilabel.py)
)
LOSSES = ("softmax", "ova", "hs", "ns")
# parameters of fastText's gradient descent, which are ignored; with fastText's defaults
WITHOUT_MEANING: dict[str, Any] = {
    "lr": 0.1, "ws": 5, "epoch": 5, "neg": 5, "bucket": 2_000_000, "lrUpdateRate": 100, "t": 1e-4,
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
    to its optimum. For the loss "ova", and for multilabel files, it is one regression for each label; from
    20 labels on it is a tree of labels (`label-tree`), which takes seconds. With `autotuneValidationFile`,
    `autotuneDuration` or `autotuneModelSize` it is `auto`, which holds out its own validation documents. A file with
    one label gives a model that always predicts it.

    wordNgrams, minn, maxn  longest word n-grams; shortest and longest character n-grams, 0 for none
    minCount                leave out terms of fewer documents
    minCountLabel           leave out labels of fewer documents
    thread, seed            threads, for None all cores; random seed
    label                   prefix of labels in the file
    dim                     length of the vectors of words
    autotuneMetric          "f1", or "f1:__label__x"
    autotuneModelSize       maximum size of the model file, such as "2M"

    The others (lr, ws, epoch, neg, bucket, loss "hs" and "ns", …) are accepted and ignored; a warning names those that
    were changed. `pretrainedVectors` must have the length `dim`, as in fastText.
    """
    arguments = dict(locals())
    if loss not in LOSSES:
        raise UnnaiveError(f"loss is {loss!r}; there are {', '.join(LOSSES)}")
    if type(dim) is not int or not 1 <= dim <= LARGEST_DIM:
        raise UnnaiveError(f"dim is {dim!r}; give a whole number from 1 to {LARGEST_DIM}")
    _check_vectors(pretrainedVectors, dim)
    tunes = bool(autotuneValidationFile or autotuneModelSize) or autotuneDuration != 300
    _note_unused(arguments, tunes)
    texts, labels, multilabel = _read(input, label, minCountLabel)
    multilabel = multilabel or loss == "ova"
    reading: dict[str, Any] = {"language": None, "lowercase": False, "min_length": 1}
    if wordNgrams > 1:
        reading["ngrams"] = (1, wordNgrams)
    if maxn > 0:
        reading |= {"analyzer": "both", "char_ngrams": (max(minn, 1), maxn)}
    n_labels = len({name for names in labels for name in names})
    name = "auto" if tunes else "label-tree" if multilabel and n_labels >= MANY_LABELS else "maxent"
    classifier = TextClassifier(
        name, min_df=minCount, n_jobs=thread, random_state=seed, multilabel=True if multilabel else None, **reading
    )
    if n_labels == 1:
        fitted = _constant_model(classifier, texts, labels[0][0])
    else:
        fitted = classifier.fit(texts, labels if multilabel else [names[0] for names in labels]).fitted_
    args = Arguments.given(arguments)
    fitted = replace(fitted, source=args.to_section())
    if autotuneModelSize:
        fitted = compress_model(fitted, parse_size(_bytes(autotuneModelSize))).fitted
    return FastTextModel.of(fitted, args)


def train_unsupervised(*arguments: Any, **more: Any) -> NoReturn:
    """Word vectors are not trained here."""
    raise UnnaiveError(
        "unnaive trains classifiers but no word vectors; load those of fastText with load_model, or "
        "train them with a package for vectors"
    )


def _constant_model(classifier: TextClassifier, texts: list[str], label: str) -> FittedModel:
    """The model of a file with one label: it knows the words, and every text has the label, with probability 1."""
    rule = classifier.token_rule_of(lambda: 0.0)
    documents = TrainingData.of_texts(texts, [label] * len(texts), rule, check=False).documents()
    vocabulary = documents.vocabulary or Vocabulary()
    return FittedModel(
        spec=classifier.spec(), classes=(label,), target_type="single",
        scorer=Linear(np.zeros((1, len(vocabulary))), np.zeros(1)), decision=Argmax(),
        token_rule=rule, vocabulary=vocabulary, documents=documents,
    )  # fmt: skip


def _check_vectors(path: str | Path, dim: int) -> None:
    """Raise an error if a file of vectors is missing, or if its first line says another length than `dim`."""
    if not path:
        return
    try:
        with Path(path).open("rb") as file:
            sizes = file.readline(1 << 10).split()
    except OSError as problem:
        raise UnnaiveError(
            f"{path} cannot be opened for loading! ({problem.strerror}); give a file of vectors, or leave it out"
        ) from problem
    if len(sizes) != 2 or not all(size.isdigit() for size in sizes):
        raise UnnaiveError(f"{path} is no file of vectors: its first line is not their number and their length")
    if int(sizes[1]) != dim:
        raise UnnaiveError(
            f"Dimension of pretrained vectors ({int(sizes[1])}) does not match dimension ({dim})! "
            f"Give dim={int(sizes[1])}"
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
