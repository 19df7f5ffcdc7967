"""Material: the documents of an experiment as matrices, counted once for all models with the same token rule."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Ids, Sparse
from unnaive.classifier.reading_methods import count_chars
from unnaive.data.corpus import Corpus
from unnaive.data.counts import Counts
from unnaive.data.held_out_parts import HeldOutOrder
from unnaive.data.targets import Targets, label_matrix, single_labels
from unnaive.data.word_vectors import WordVectors
from unnaive.evaluation.splits import strata
from unnaive.text.buffer import TextBuffer
from unnaive.text.counting import TextCounter
from unnaive.text.gram_units import GramUnits
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Material:
    """The documents of an experiment as matrices.

    X           counts (n_docs, n_terms)
    Y           labels 0/1 (n_docs, n_classes)
    parts       "train", "test", … of each document, if the data is already split
    vocabulary  the names of the terms, which break ties in term selection; None if unknown
    classes     the names of the classes; None for 0, 1, …
    rule, texts the token rule and the texts, for models with another token rule; None without texts
    seconds     processor seconds for counting the texts
    vectors     word vectors, for models that use them
    units       the strings that character n-grams were cut from, if known
    """

    name: str
    X: Sparse
    Y: Sparse
    parts: NDArray[Any] | None = None
    vocabulary: Vocabulary | None = None
    classes: tuple[Any, ...] | None = None
    rule: TokenRule | None = None
    texts: Sequence[str] | None = field(default=None, repr=False)
    seconds: float = 0.0
    vectors: WordVectors | None = None
    units: GramUnits | None = field(default=None, repr=False)

    @classmethod
    def of(cls, corpus: Corpus, rule: TokenRule, vectors: WordVectors | None = None) -> Material:
        """Count the terms of all documents; each split later selects its terms."""
        if len(corpus.classes) < 2 and all(corpus.labels):
            content = f"only the class {corpus.classes[0]!r}" if corpus.classes else "no documents with a label"
            raise BadData(f"{corpus.name} has {content}; a comparison needs at least two classes")
        parts = None if corpus.split is None else np.asarray(corpus.split)
        Y = label_matrix(corpus.labels, corpus.classes)
        counted = _count(corpus.texts, rule)
        return cls(
            corpus.name, Y=Y, parts=parts, classes=tuple(corpus.classes), rule=rule, texts=corpus.texts,
            vectors=vectors, **counted,
        )  # fmt: skip

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def read_with(self, changes: Mapping[str, Any], *, vectors: bool = True) -> Material:
        """The same documents with other reading options, and with or without vector fields; counted once."""
        if self.rule is None or self.texts is None:
            return self
        rule = self.rule.with_defaults_changed(changes)
        rule = rule if vectors else rule.without_vectors()
        if rule == self.rule:
            return self
        if rule not in self._read_otherwise:
            self._read_otherwise[rule] = replace(self, rule=rule, **_count(self.texts, rule))
        return self._read_otherwise[rule]

    def count_chars(self, rows: Ids) -> int:
        """The number of characters of some documents, as TextClassifier counts them."""
        if self.texts is None:
            return 0
        texts = self.texts.take(rows) if isinstance(self.texts, TextBuffer) else [self.texts[row] for row in rows]
        return count_chars(texts, None if self.rule is None else self.rule.fields)

    @lazy_property
    def _read_otherwise(self) -> dict[TokenRule, Material]:
        return {}

    @lazy_property
    def exclusive(self) -> bool:
        """Whether every document has exactly one class."""
        return single_labels(self.Y) is not None

    def targets(self, rows: Ids) -> Targets:
        """The labels of some documents; multilabel if any document of the data is."""
        classes = tuple(range(self.Y.shape[1])) if self.classes is None else self.classes
        return Targets(classes, self.Y[rows], "single" if self.exclusive else "sparse")

    @lazy_property
    def total(self) -> Counts:
        """Sums over all documents, from which those of a split follow by subtraction."""
        return Counts.of(self.X, self.Y)

    @lazy_property
    def groups(self) -> Ids:
        """A group number for each document (n_docs,), equal for those of a class that copy or quote each other."""
        words = self.read_with({}, vectors=False)
        return HeldOutOrder.of(csr_array(words.X), strata(self.Y), words.vocabulary).groups()

    @lazy_property
    def fingerprint(self) -> str:
        """The name and a digest, so that records of other data or preprocessing are not confused with these."""
        digest = hashlib.blake2b(digest_size=6)
        for table in (self.X, self.Y):
            for part in (table.indptr, table.indices, table.data):
                digest.update(np.ascontiguousarray(part.astype(np.float64)).tobytes())
        if self.vectors is not None:
            digest.update(self.vectors.codes.tobytes())
        digest.update(b"" if self.parts is None else "\0".join(map(str, self.parts)).encode())
        return f"{self.name}#{digest.hexdigest()}"


def _count(texts: Sequence[str], rule: TokenRule) -> dict[str, Any]:
    """The fields of Material that counting gives: X, the names of the terms, units, and the processor seconds used."""
    started = time.process_time()
    counter = TextCounter(rule)
    X, units = counter.count_with_units(texts)
    return {"X": X, "vocabulary": counter.vocabulary, "units": units, "seconds": time.process_time() - started}


def counts_of_rows(material: Material, rows: Ids, others: Ids) -> Counts:
    """Sums over `rows`: counted, or the total minus `others` if these are all other rows, and fewer."""
    covers = len(rows) + len(others) == material.X.shape[0]
    if covers and len(others) < len(rows):
        return material.total - Counts.of(material.X[others], material.Y[others])
    return Counts.of(material.X[rows], material.Y[rows])
