"""FastTextModel: a model of fastText, or one trained here, with the methods and return types of fastText's package."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import repeat
from operator import contains
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.base.lazy import lazy_property
from unnaive.base.open_files import check_exists
from unnaive.base.types import Singles
from unnaive.classifier.compress import BITS, quantised
from unnaive.classifier.model_file import load_model as load_fitted
from unnaive.classifier.model_file import save
from unnaive.interop.fasttext.fasttext_lines import read_labelled_lines, tokenize
from unnaive.learning.fitted import FittedModel
from unnaive.linear.linear import Linear
from unnaive.models.fasttext import compressing
from unnaive.models.fasttext.binary_file import FastTextFile, is_fasttext_file, read_fasttext_file
from unnaive.models.fasttext.fasttext_vectors import FastTextVectors
from unnaive.models.fasttext.features import END, PREFIX
from unnaive.models.fasttext.importing import fasttext_model
from unnaive.models.fasttext.score_texts import FastTextDocuments
from unnaive.models.fasttext.scorer import FastTextScorer


def load_model(path: str | Path) -> FastTextModel:
    """The model in a .bin or .ftz file of fastText, or in a file that `save_model` wrote.

    A classifier of fastText gives its probabilities to the last bit.
    """
    file_path = check_exists(path)
    if not file_path.is_file() or not is_fasttext_file(file_path):
        return FastTextModel(load_fitted(file_path))
    file = read_fasttext_file(file_path)
    try:
        return FastTextModel(fasttext_model(file, fold=False) if file.supervised else None, file)
    except BadModel as problem:
        raise BadModel(f"{path}: {problem}") from None


class FastTextModel:
    """The result of `load_model` and `train_supervised`. `fitted` is the model itself, an ordinary FittedModel."""

    def __init__(self, fitted: FittedModel | None, file: FastTextFile | None = None, label: str = PREFIX) -> None:
        self._fitted, self._file = fitted, file
        scorer = None if fitted is None else fitted.scorer
        self._prefix = scorer.prefix if isinstance(scorer, FastTextScorer) else label

    @property
    def fitted(self) -> FittedModel:
        """The classifier; an error for word vectors."""
        if self._fitted is None:
            raise UnnaiveError("Model needs to be supervised for prediction!")
        return self._fitted

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

    def _best(self, texts: list[str], k: int, threshold: float) -> tuple[list[list[str]], Singles]:
        """The best labels of each text, and their probabilities, concatenated over texts."""
        if k != -1 and k < 1:
            raise UnnaiveError(f"k needs to be 1 or higher! It is {k}; −1 gives all labels")
        fitted = self.fitted
        if isinstance(fitted.reader, FastTextDocuments):
            return fitted.reader.top_labels(texts, k, threshold)
        p = fitted.predict_proba(texts)
        order = np.argsort(-p, axis=1, kind="stable")[:, : None if k < 0 else k]
        rows = [[column for column in row if p[i, column] >= threshold] for i, row in enumerate(order.tolist())]
        names = [f"{self._prefix}{label}" for label in fitted.classes]
        values = np.array([p[i, column] for i, row in enumerate(rows) for column in row], np.float32)
        return [[names[column] for column in row] for row in rows], values

    def _line(self, entry: Any) -> str:
        if not isinstance(entry, str):
            raise UnnaiveError(f"a text to predict is {type(entry).__name__}; give a str or a list of str")
        if "\n" in entry:
            raise UnnaiveError("predict processes one line at a time (remove '\\n')")
        return entry

    def _counts(self, path: str | Path, k: int, threshold: float) -> _Counts:
        model_labels = set(self.labels)
        lines = [
            line
            for line in read_labelled_lines(path, self._prefix or PREFIX, "testing")
            if model_labels & set(line.labels)
        ]
        labels, _ = self._best([line.text for line in lines], k, threshold)
        counts = _Counts(len(lines))
        for line, predicted in zip(lines, labels, strict=True):
            true = [label for label in line.labels if label in model_labels]
            counts.true.update(true)
            counts.given.update(predicted)
            counts.right.update(label for label in predicted if label in true)
        return counts

    # Changing and writing.

    def quantize(
        self, input: Any = None, qout: bool = False, cutoff: int = 0, retrain: bool = False, **more: Any
    ) -> None:
        """Compress the model: weights of 8 bits and, with `cutoff`, only that many rows, those with the largest norms.

        `input`, `qout`, `retrain`, `dsub`, `qnorm` and the rest are accepted and ignored: nothing is trained again.
        """
        fitted, scorer = self.fitted, self.fitted.scorer
        if not isinstance(fitted.reader, FastTextDocuments):
            self._fitted = replace(fitted, scorer=quantised(scorer.frozen(), BITS[-1]), counts=None, documents=None)
            return
        vocabulary = fitted.reader.vocabulary
        small: Any = scorer
        if 0 < cutoff < len(small.dense_rows):
            order = np.argsort(-compressing.row_importance(small, vocabulary), kind="stable")
            small, vocabulary = compressing.keep_rows(small, vocabulary, np.sort(order[:cutoff]))
        self._fitted = replace(fitted, scorer=compressing.rounded(small, BITS[-1]), vocabulary=vocabulary)

    def is_quantized(self) -> bool:
        """Whether weights are stored in fewer bits."""
        scorer = None if self._fitted is None else self._fitted.scorer
        rounded = isinstance(scorer, FastTextScorer | Linear) and scorer.step is not None
        return rounded or bool(self._file and self._file.quantised)

    def save_model(self, path: str | Path) -> None:
        """Write the model in our own format, which `load_model` here and every command of unnaive read."""
        save(self.fitted, path)

    # Words, labels and vectors.

    @property
    def labels(self) -> list[str]:
        """The labels with their prefix, in fastText's order; of a model trained here, sorted."""
        return self.get_labels()  # type: ignore[no-any-return]

    @property
    def words(self) -> list[str]:
        """The words of the dictionary."""
        return self.get_words()  # type: ignore[no-any-return]

    def get_labels(self, include_freq: bool = False, on_unicode_error: str = "strict") -> Any:
        """The labels; with `include_freq` also how often training saw each. For a file of word vectors, the words."""
        if self._fitted is None:
            return self.get_words(include_freq, on_unicode_error)
        fitted, scorer = self._fitted, self._fitted.scorer
        if isinstance(fitted.reader, FastTextDocuments):
            names, counts = fitted.reader.scorer.label_names(fitted.classes), fitted.reader.scorer.label_counts
        else:
            names = [f"{self._prefix}{label}" for label in fitted.classes]
            statistic = fitted.statistic
            counts = np.zeros(scorer.n_classes, np.int64) if statistic is None else np.asarray(statistic.class_docs)
        return (names, np.asarray(counts)) if include_freq else names

    def get_words(self, include_freq: bool = False, on_unicode_error: str = "strict") -> Any:
        """The words; with `include_freq` also how often training saw each, for files of fastText only."""
        if self._file is None:
            names = list(self.fitted.vocabulary or ())
            return (names, self._need_file().word_counts) if include_freq else names
        names = [word.decode("utf-8", on_unicode_error) for word in self._file.words]
        return (names, self._file.word_counts) if include_freq else names

    def get_line(self, text: Any, on_unicode_error: str = "strict") -> tuple[list[Any], list[Any]]:
        """The words of a line, </s> at its end, and its labels that the model knows; of a list of lines two lists."""
        if isinstance(text, list):
            both = [self.get_line(line) for line in text]
            return [words for words, _ in both], [labels for _, labels in both]
        tokens = tokenize(self._line(text))
        prefix, known_labels = self._prefix or PREFIX, set() if self._fitted is None else set(self.labels)
        return [token for token in tokens if not token.startswith(prefix)] + [END], [
            token for token in tokens if token in known_labels
        ]

    def get_dimension(self) -> int:
        """The length of its vectors."""
        return self._need_file().settings["dim"]

    def get_word_id(self, word: str) -> int:
        """The row of a word, −1 for an unknown one."""
        return self._vectors.ids.get(word, -1)

    def get_label_id(self, label: str) -> int:
        """The index of a label, −1 for an unknown one."""
        return self.labels.index(label) if label in self.labels else -1

    def get_subword_id(self, subword: str) -> int:
        """The row that a character n-gram is hashed to."""
        return self._vectors.subword_id(subword)

    def get_subwords(self, word: str, on_unicode_error: str = "strict") -> tuple[list[str], NDArray[np.int64]]:
        """A word and its character n-grams, and their rows."""
        names, rows = self._vectors.subwords(word)
        return names, np.array(rows, np.int64)

    def get_word_vector(self, word: str) -> Singles:
        """The vector of a word."""
        return self._vectors.word(word)

    def get_sentence_vector(self, text: str) -> Singles:
        """The vector of a line."""
        return self._vectors.sentence(self._line(text))

    def get_input_vector(self, ind: int) -> Singles:
        """A row of the input matrix."""
        return np.array(self._vectors.rows[ind])

    def get_input_matrix(self) -> Singles:
        """The input matrix."""
        return self._matrix("input")

    def get_output_matrix(self) -> Singles:
        """The output matrix."""
        return self._matrix("output")

    def get_nearest_neighbors(
        self, word: str, k: int = 10, on_unicode_error: str = "strict"
    ) -> list[tuple[float, str]]:
        """The k words nearest to a word by cosine."""
        return self._vectors.neighbours(self._vectors.word(word), k, {word})

    def get_analogies(
        self, wordA: str, wordB: str, wordC: str, k: int = 10, on_unicode_error: str = "strict"
    ) -> list[tuple[float, str]]:
        """The k words nearest to A − B + C."""
        return self._vectors.neighbours(self._vectors.analogy(wordA, wordB, wordC), k, {wordA, wordB, wordC})

    def __getitem__(self, word: str) -> Singles:
        return self.get_word_vector(word)

    def __contains__(self, word: str) -> bool:
        return word in self._vectors.ids

    def __repr__(self) -> str:
        return f"FastTextModel({'word vectors' if self._fitted is None else self._fitted.spec.model.traits.title})"

    def _matrix(self, name: str) -> Singles:
        matrix = getattr(self._need_file(), name)
        if self.is_quantized():
            raise UnnaiveError("Can't get quantized Matrix")
        dense: Singles = matrix.dense()
        return dense

    def _need_file(self) -> FastTextFile:
        if self._file is None:
            raise UnnaiveError(
                "this model has no word vectors: it was trained or saved by unnaive, which keeps weights of words; "
                "load the .bin or .ftz file of fastText itself"
            )
        return self._file

    @lazy_property
    def _vectors(self) -> FastTextVectors:
        return FastTextVectors(self._need_file())


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
