"""FastTextModel: a model of fastText, or one trained here, with the methods and return types of fastText's package."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import repeat
from operator import contains
from pathlib import Path
from typing import Any, Self

import numpy as np

from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.base.lazy import lazy_property
from unnaive.base.open_files import check_exists
from unnaive.base.types import Singles
from unnaive.classifier.compress import BITS, quantised
from unnaive.classifier.model_file import check_writable, is_model, save
from unnaive.classifier.model_file import load_model as load_fitted
from unnaive.interop.fasttext.arguments import NAMES, Arguments
from unnaive.interop.fasttext.bindings import Bindings
from unnaive.interop.fasttext.fasttext_lines import read_labelled_lines
from unnaive.interop.fasttext.word_methods import WordMethods
from unnaive.learning.fitted import FittedModel
from unnaive.linear.linear import Linear
from unnaive.models.fasttext import compressing
from unnaive.models.fasttext.binary_file import FastTextFile, copy_fasttext_file, is_fasttext_file, read_fasttext_file
from unnaive.models.fasttext.importing import fasttext_model
from unnaive.models.fasttext.score_texts import FastTextDocuments
from unnaive.models.fasttext.scorer import FastTextScorer
from unnaive.text.buffer import TextBuffer


def load_model(path: str | Path) -> FastTextModel:
    """The model in a .bin or .ftz file of fastText, or in a file that `save_model` wrote.

    A classifier of fastText gives its probabilities to the last bit.
    """
    return FastTextModel(path)


class FastTextModel(WordMethods):
    """The result of `load_model` and `train_supervised`. `fitted` is the model itself, an ordinary FittedModel.

    The arguments that fastText's models have as attributes (dim, lr, epoch, loss, wordNgrams, label, …) are those of
    its file or of its training.
    """

    def __init__(self, model_path: str | Path | None = None, args: Any = None) -> None:
        if model_path is None:
            raise UnnaiveError("a model has no path; give the path of its file, or train one with train_supervised")
        path = check_exists(model_path)
        if not path.is_file() or not is_fasttext_file(path):
            fitted = load_fitted(path)
            self._hold(fitted, None, Arguments.of_model(fitted))
            return
        file = read_fasttext_file(path)
        try:
            self._hold(fasttext_model(file, fold=False) if file.supervised else None, file, Arguments.of_file(file))
        except BadModel as problem:
            raise BadModel(f"{model_path}: {problem}") from None

    @classmethod
    def of(cls, fitted: FittedModel, args: Arguments) -> Self:
        """The model that `train_supervised` trained, with the arguments of the call."""
        model = cls.__new__(cls)
        model._hold(fitted, None, args)
        return model

    def _hold(self, fitted: FittedModel | None, file: FastTextFile | None, args: Arguments) -> None:
        self._fitted, self._file, self._args = fitted, file, args
        self._changed = fitted is not None and file is None  # whether only our own format can hold it
        for name in NAMES:
            if name != "model":
                setattr(self, name, getattr(args, name))

    @property
    def fitted(self) -> FittedModel:
        """The classifier; an error for word vectors."""
        if self._fitted is None:
            raise UnnaiveError("Model needs to be supervised for prediction! This file has word vectors alone")
        return self._fitted

    @property
    def f(self) -> Bindings:
        """The methods of fastText's compiled module, for programs that call them."""
        return Bindings(self, self._args)

    # Predicting.

    def predict(self, text: Any, k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict") -> Any:
        """The k most probable labels and their probabilities; k = −1 for all, those below `threshold` left out.

        For a str a tuple of labels and an array; for a list of str a list of lists and a list of arrays.
        """
        texts = text if isinstance(text, list) else [text]
        if set(map(type, texts)) != {str} or any(map(contains, texts, repeat("\n"))):
            texts = [self._line(entry) for entry in texts]
        labels, values = self._best(texts, k, threshold)
        if isinstance(text, list):
            return labels, _split(values, labels)
        return tuple(labels[0]), values.astype(np.float64)

    def rank_lines(self, lines: list[str], k: int, threshold: float) -> tuple[list[list[str]], list[list[float]]]:
        """The labels and probabilities of lines without newlines; bytes that are not UTF-8 are lone surrogates."""
        labels, values = self._best(_as_bytes(lines), k, threshold)
        return labels, [part.tolist() for part in _split(values, labels)]

    def test(self, path: str | Path, k: int = 1, threshold: float = 0.0) -> tuple[int, float, float]:
        """(documents, precision, recall) of the k best labels on a file of labelled lines."""
        counts = self._counts(path, k, threshold)
        right, predicted, true = (sum(by_label.values()) for by_label in (counts.right, counts.given, counts.true))
        return counts.n_docs, _ratio(right, predicted), _ratio(right, true)

    def test_label(self, path: str | Path, k: int = 1, threshold: float = 0.0) -> dict[str, dict[str, float]]:
        """Precision, recall and F1 of each label; NaN if the denominator is 0."""
        counts = self._counts(path, k, threshold)
        return {
            label: {
                "precision": _ratio(counts.right[label], counts.given[label]),
                "recall": _ratio(counts.right[label], counts.true[label]),
                "f1score": _ratio(2 * counts.right[label], counts.given[label] + counts.true[label]),
            }
            for label in self.labels
        }

    def _best(self, texts: list[str] | TextBuffer, k: int, threshold: float) -> tuple[list[list[str]], Singles]:
        """The best labels of each text, and their probabilities, concatenated over texts."""
        if k != -1 and k < 1:
            raise UnnaiveError(f"k needs to be 1 or higher! It is {k}; −1 gives all labels")
        fitted = self.fitted
        if isinstance(fitted.reader, FastTextDocuments):
            return self._reader.top_labels(texts, k, threshold)
        p = fitted.predict_proba(texts)
        order = np.argsort(-p, axis=1, kind="stable")[:, : None if k < 0 else k]
        rows = [[column for column in row if p[i, column] >= threshold] for i, row in enumerate(order.tolist())]
        names = self.labels
        values = np.array([p[i, column] for i, row in enumerate(rows) for column in row], np.float32)
        return [[names[column] for column in row] for row in rows], values

    @lazy_property
    def _reader(self) -> FastTextDocuments:
        """The reader of a model of fastText, which also finds words that are not UTF-8, unless rows were dropped."""
        reader: Any = self.fitted.reader
        words = [] if self._file is None else self._file.words
        if len(words) != reader.scorer.n_words or _is_utf8(b" ".join(words)):
            words = []
        result: FastTextDocuments = replace(reader, raw_words=tuple(words)) if words else reader
        return result

    def _counts(self, path: str | Path, k: int, threshold: float) -> _Counts:
        self.fitted  # noqa: B018  # word vectors have no labels
        model_labels = frozenset(self.labels)
        read = read_labelled_lines(path, self._args.label, "testing", model_labels, any_bytes=True)
        lines = [line for line in read if model_labels & set(line.labels)]
        labels, _ = self._best(_as_bytes([line.text for line in lines]), k, threshold)
        counts = _Counts(len(lines))
        for line, predicted in zip(lines, labels, strict=True):
            true = [label for label in line.labels if label in model_labels]
            counts.true.update(true)
            counts.given.update(predicted)
            counts.right.update(label for label in predicted if label in true)
        return counts

    # Changing and writing.

    def quantize(
        self, input: Any = None, qout: bool = False, cutoff: int = 0, retrain: bool = False, epoch: int | None = None,
        lr: float | None = None, thread: int | None = None, verbose: int | None = None, dsub: int = 2,
        qnorm: bool = False,
    ) -> None:  # fmt: skip
        """Compress the model: weights of 8 bits and, with `cutoff`, only that many rows, those with the largest norms.

        The others are accepted and ignored: nothing is trained again.
        """
        if self._fitted is None:
            raise UnnaiveError("For now we only support quantization of supervised models; this file has word vectors")
        if retrain and not input:
            raise UnnaiveError("Need input file path if retraining")
        fitted, scorer = self.fitted, self.fitted.scorer
        self._word_counts  # noqa: B018  # the compressed model does not have them
        if not isinstance(fitted.reader, FastTextDocuments):
            fitted = replace(fitted, scorer=quantised(scorer.frozen(), BITS[-1]), counts=None, documents=None)
        else:
            vocabulary = fitted.reader.vocabulary
            small: Any = scorer
            if 0 < cutoff < len(small.dense_rows):
                order = np.argsort(-compressing.row_importance(small, vocabulary), kind="stable")
                small, vocabulary = compressing.keep_rows(small, vocabulary, np.sort(order[:cutoff]))
            fitted = replace(fitted, scorer=compressing.rounded(small, BITS[-1]), vocabulary=vocabulary)
        self._fitted, self._changed = fitted, True
        for name in ("_reader", "_vectors"):
            self.__dict__.pop(name, None)

    def is_quantized(self) -> bool:
        """Whether weights are stored in fewer bits."""
        scorer = None if self._fitted is None else self._fitted.scorer
        rounded = isinstance(scorer, FastTextScorer | Linear) and scorer.step is not None
        return rounded or bool(self._file and self._file.quantised)

    def save_model(self, path: str | Path) -> None:
        """Write the model: one that was loaded from a file of fastText as that file, any other in our own format.

        `load_model` here reads both, and so does every command of unnaive. Another file is replaced only if it is a
        model, of fastText or ours.
        """
        if self._file is not None and not self._changed:
            copy_fasttext_file(self._file, check_writable(path, _is_either_model))
        else:
            save(self.fitted, path, may_replace=_is_either_model)

    def __repr__(self) -> str:
        return f"FastTextModel({'word vectors' if self._fitted is None else self._fitted.spec.model.traits.title})"


class _Counts:
    """Counts of true labels, predicted labels, and correctly predicted labels."""

    def __init__(self, n_docs: int) -> None:
        self.n_docs = n_docs
        self.true, self.given, self.right = Counter[str](), Counter[str](), Counter[str]()


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def _split(values: Singles, labels: list[list[str]]) -> list[Singles]:
    """The values of each text."""
    sizes = {len(names) for names in labels}
    if len(sizes) == 1:
        return list(values.reshape(len(labels), -1))
    return np.split(values, np.cumsum([len(names) for names in labels])[:-1]) if labels else []


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _as_bytes(texts: list[str]) -> list[str] | TextBuffer:
    """The texts; if some have bytes that are not UTF-8, as lone surrogates, a buffer of the bytes themselves."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        contents = [text.encode("utf-8", "surrogateescape") for text in texts]
        offsets = np.cumsum([0, *map(len, contents)], dtype=np.int64)
        return TextBuffer(np.frombuffer(b"".join(contents), np.uint8), offsets)
    return texts


def _is_either_model(path: Path) -> bool:
    return is_model(path) or is_fasttext_file(path)
