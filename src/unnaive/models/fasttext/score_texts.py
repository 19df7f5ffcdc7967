"""Texts → scores of an imported fastText model, by the kernel or, if it was not built, by NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.lazy import lazy_property
from unnaive.base.sparse import csr_array
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats, Label, Singles
from unnaive.linear.score_documents import ReadDocument, chunk_size
from unnaive.models.fasttext.binary_file import LOSSES
from unnaive.models.fasttext.features import END, Feature, FeatureRule
from unnaive.models.fasttext.scorer import FastTextScorer
from unnaive.text.buffer import as_texts
from unnaive.text.vocabulary import Vocabulary

kernel: Any = None
with suppress(ImportError):  # the package may have been built without a compiler
    kernel = import_module("unnaive.models.fasttext._fasttext")


@dataclass(frozen=True, eq=False)
class FastTextDocuments:
    """Documents as raw texts, read as fastText reads a line of a file; newlines count as spaces.

    native     whether the kernel reads them; otherwise Python does, which is the specification
    raw_words  the words of the dictionary as bytes, for the kernel, if some are not UTF-8
    """

    scorer: FastTextScorer
    vocabulary: Vocabulary
    classes: tuple[Label, ...]
    n_jobs: int | None = None
    native: bool = kernel is not None
    raw_words: tuple[bytes, ...] | None = None

    def score_chunks(self, documents: Any) -> Iterator[Floats]:
        """Scores of the texts, in batches."""
        texts = as_texts(documents)
        step = chunk_size(self.scorer.n_classes)
        for start in range(0, len(texts), step):
            yield self.scores_and_known(texts[start : start + step])[0]

    def scores_and_known(self, documents: Any, clear: float = np.inf) -> tuple[Floats, NDArray[np.int64]]:
        """Scores of a few texts, and the number of known words and character n-grams of each."""
        texts = as_texts(documents)
        n_known = np.zeros(len(texts), np.int64)
        if self.native:
            scores = np.empty((len(texts), self.scorer.n_classes))
            self._engine.scores(texts, scores, n_known, thread_count(self.n_jobs))
            return scores, n_known
        features = [self.rule.features(text) for text in texts]
        n_known[:] = [
            sum(feature.name != END and " " not in feature.name for feature in text_features)
            for text_features in features
        ]
        raw = np.array([self._raw(text_features) for text_features in features], np.float32).reshape(len(texts), -1)
        scores = self.scorer.outputs.scores(raw) if len(texts) else np.zeros((0, self.scorer.n_classes))
        scores[[not text_features for text_features in features]] = 0.0
        return scores, n_known

    def best_classes(self, documents: Any) -> NDArray[np.int64] | None:
        """fastText's decisions."""
        texts = as_texts(documents)
        if not self.native:
            return None
        best = np.empty(len(texts), np.int64)
        self._engine.best(texts, best, thread_count(self.n_jobs))
        return best

    def top_and_known(self, documents: Any, k: int, *, above: Floats | None = None, scale: float | None = None) -> None:
        """All classes are scored anyway."""

    def known_terms(self, documents: Any) -> NDArray[np.int64]:
        """The number of known words and character n-grams of each text."""
        return self.scores_and_known(documents)[1]

    def top_labels(self, texts: Sequence[str], k: int, threshold: float) -> tuple[list[list[str]], Singles]:
        """The k best labels of each text as fastText writes them, and fastText's probabilities.

        k = −1 means all. Labels with a probability below `threshold` are left out; a text without features has no
        labels.
        """
        if self.native:
            labels, values = self._engine.top(texts, k, threshold, self._label_names)
            return labels, values
        features = [self.rule.features(text) for text in texts]
        top = [
            self.scorer.outputs.top(self._raw(text_features), k, threshold) if text_features else ([], [])
            for text_features in features
        ]
        names = self._label_names
        return [[names[label] for label in labels] for labels, _ in top], np.array(
            [p for _, ps in top for p in ps], np.float32
        )

    @lazy_property
    def _label_names(self) -> list[str]:
        return self.scorer.label_names(self.classes)

    def read_one(self, document: Any) -> ReadDocument:
        """Counts of the features (1, n_rows), their positions, and their names in this text."""
        if not isinstance(document, str):
            raise BadData(f"the text to explain is {type(document).__name__}; give one str")
        features = self.rule.features(document)
        names = _names(features)
        columns, counts = np.unique([feature.row for feature in features], return_counts=True)
        row = csr_array((counts, columns.astype(np.int64), [0, len(columns)]), shape=(1, len(self.scorer.dense_rows)))
        return ReadDocument(row, [(feature.start, feature.end, names[feature.row]) for feature in features], names)

    @property
    def fused(self) -> bool:
        """Whether the kernel scores texts while reading them."""
        return self.native

    @property
    def term_names(self) -> Sequence[str]:
        """The words of the dictionary."""
        return self.vocabulary.terms

    @lazy_property
    def rule(self) -> FeatureRule:
        """How texts are read."""
        return self.scorer.feature_rule(self.vocabulary.terms, self.classes)

    def _raw(self, features: list[Feature]) -> Singles:
        rows = self.scorer.dense_rows[[feature.row for feature in features]]
        n = max(len(rows), 1)
        mean: Any = rows.sum(axis=0, dtype=np.float64) / n
        if not self.scorer.folded:  # summed in float32, as fastText does
            mean = np.add.reduce(rows, axis=0, dtype=np.float32) * np.float32(1.0 / n)
        raw: Singles = self.scorer.raw(mean[None])[0]
        return raw

    @lazy_property
    def _engine(self) -> Any:
        scorer = self.scorer
        blob, offsets = self.vocabulary.to_arrays() if self.raw_words is None else _joined(self.raw_words)
        if scorer.prefix == "":  # labels without a prefix are not recognised by it
            more, ends = Vocabulary(scorer.label_names(self.classes)).to_arrays()
            blob, offsets = np.concatenate([blob, more]), np.concatenate([offsets, offsets[-1] + ends[1:]])
        code = next(number for number, name in LOSSES.items() if name == scorer.loss)
        return kernel.Engine(
            np.ascontiguousarray(blob, np.uint8), np.ascontiguousarray(offsets, np.int64), scorer.n_words,
            scorer.bucket, scorer.minn, scorer.maxn, scorer.word_ngrams, scorer.kept, scorer.dense_rows, scorer.output,
            scorer.output_scale, code, scorer.outputs.children, scorer.places,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields, without the derived tables of the kernel."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


def _joined(words: tuple[bytes, ...]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of the words, and where each begins; repeated words take no bytes, since only the last is found."""
    last = {word: row for row, word in enumerate(words)}
    distinct = [word if last[word] == row else b" %d" % row for row, word in enumerate(words)]
    return np.frombuffer(b"".join(distinct), np.uint8), np.cumsum([0, *map(len, distinct)], dtype=np.int64)


def _names(features: list[Feature]) -> dict[int, str]:
    """The name of each row in a text; n-grams in the same bucket share a row, whose name lists all of them."""
    names: dict[int, dict[str, None]] = {}
    for feature in features:
        names.setdefault(feature.row, {})[feature.name] = None
    return {row: " or ".join(row_names) for row, row_names in names.items()}
