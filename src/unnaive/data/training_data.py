"""TrainingData: labelled documents for training, counted and checked, whatever their source.

It is created by `TrainingData.of_texts` for texts in memory, `scaleout.streaming.stream_documents` for streamed files,
`scaleout.matrix.documents_on_disk` for a matrix on disk, and `scaleout.spark.fitting.partitions_data` for a DataFrame.
Each of them calls `checked`, so problems of the data are reported in one place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning, count_noun
from unnaive.base.sparse import csr_array
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats, Label, Sparse
from unnaive.data.corpus import check_some_documents, check_some_labels
from unnaive.data.fields.fields import as_documents
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.named_counts import NamedCounts
from unnaive.data.partly_labelled import read_partly_labelled
from unnaive.data.sample_weights import check_sample_weight, class_sample_weight
from unnaive.data.soft_labels import warn_about_small_weights
from unnaive.data.targets import Targets, read_targets, single_labels
from unnaive.text.counting import TextCounter
from unnaive.text.gram_units import GramUnits, which_are_grams
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

FEWEST_TEXTS = 20  # with fewer texts there is no warning that they share no terms
BLOCK = 1 << 22  # entries counted at a time, since X may be on disk


@dataclass(frozen=True, eq=False)
class DocumentRows:
    """Documents with their labels, one row each.

    X           the count of each term in each document (n_docs, n_terms)
    targets     their labels
    vocabulary  the columns of X; None if documents came as rows of counts
    weight      of each document (n_docs,); None if all are 1
    sample_weight  the same without the weights of classes, set by `weighted`
    units       the strings that character n-grams were cut from, if known
    """

    X: Sparse
    targets: Targets
    vocabulary: Vocabulary | None = None
    weight: Floats | None = None
    units: GramUnits | None = None
    sample_weight: Floats | None = None

    def counts(self, threads: int = 1, *, in_order: bool = False) -> NamedCounts:
        """The sums over these documents, terms in the order of the columns, or sorted with `in_order`."""
        return NamedCounts.of(
            self.X, self.targets, self.vocabulary, self.weight, threads=threads, in_order=in_order
        )  # fmt: skip

    def take(self, rows: NDArray[np.int64]) -> DocumentRows:
        """Select documents, keeping all classes and columns."""
        return replace(
            self,
            X=csr_array(self.X[rows]),
            targets=replace(self.targets, Y=csr_array(self.targets.Y[rows])),
            weight=None if self.weight is None else self.weight[rows],
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
            units=None if self.units is None else self.units.take(rows),
        )

    def weighted(self, class_weight: Any) -> DocumentRows:
        """Multiply the weights by those of each document's class: None, "balanced" or a dict from class to weight.

        Documents of weight 0 are dropped, so that no model learns from them; their classes stay.
        """
        weight = class_sample_weight(class_weight, self.targets, self.weight)
        if weight is None:
            return replace(self, weight=None)
        sample_weight = self.weight if self.weight is not None and bool(np.any(self.weight != 1)) else None
        weighted = replace(self, weight=weight, sample_weight=sample_weight)
        if not bool(np.all(weight > 0)):
            weighted = weighted.take(np.flatnonzero(weight > 0))
        return replace(weighted, weight=None) if bool(np.all(weighted.weight == 1)) else weighted


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The input of `learning.train.train`: sums over labelled documents, and the documents if they are available.

    target_type  the format of the labels, as in Targets
    sums         sums over all documents, if only these are known: the documents were streamed, or are on a cluster
    rows         the documents in input order, in memory or memory-mapped
    kept         the documents that a model keeps, sorted by their content
    passes       learns a model in passes over documents on a cluster: (model, counts and vocabulary of the
                 terms in use, exclusive, progress) → (model, scorer)
    reading      fields of FittedModel that are not learnt: token_rule, feature_names, source, n_jobs, text_hashes, …
    report       how many documents were read and skipped, as plain values to display

    >>> data = TrainingData.of_texts(["good ball", "fair vote"], ["sport", "politics"], TokenRule())
    >>> data.n_docs, data.classes, data.counts().vocabulary.terms
    (2, ('politics', 'sport'), ['ball', 'fair', 'good', 'vote'])
    """

    target_type: str
    sums: NamedCounts | None = None
    rows: DocumentRows | None = None
    kept: KeptDocuments | None = None
    passes: Callable[..., Any] | None = None
    reading: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_texts(
        cls, texts: Any, labels: Any, rule: TokenRule, *, multilabel: bool | None = None, unlabelled: bool = False,
        sample_weight: Any = None, n_jobs: int | None = None, check: bool = True, sums_only: bool = False,
    ) -> Self:  # fmt: skip
        """Texts in memory with their labels; with `unlabelled`, labels may be missing.

        With `sums_only`, there are only sums over documents that have one label and the weight 1 each, or rows whose
        terms may be in any order.
        Without `check`, one class and texts without terms are allowed, for documents to add to or remove from a model.
        """
        documents = as_documents(texts, rule.fields)
        check_some_documents(len(documents))
        read = read_partly_labelled if unlabelled else read_targets
        targets = read(labels, len(documents), multilabel=multilabel)
        if check:
            check_classes(targets.classes, targets.multilabel)  # first, since counting the texts takes longer
        counter = TextCounter(rule, threads=n_jobs)
        if sums_only and sample_weight is None:
            sums = NamedCounts.of_texts(counter, documents, targets)
            if sums is not None:
                data = cls.of_kept(sums, targets.target_type, token_rule=rule, n_jobs=n_jobs)
                return data.checked() if check else data
        if sums_only and not targets.multilabel:
            X, units = counter.count(documents, grow=True, ordered=False), None
        else:
            X, units = counter.count_with_units(documents)
        weight = check_sample_weight(sample_weight, len(documents))
        data = cls.of_rows(X, targets, counter.final_vocabulary(), weight, units, token_rule=rule, n_jobs=n_jobs)
        return data.checked() if check else data

    @classmethod
    def of_rows(
        cls, X: Sparse, targets: Targets, vocabulary: Vocabulary | None = None, weight: Floats | None = None,
        units: GramUnits | None = None, **reading: Any,
    ) -> Self:  # fmt: skip
        """Documents that are already counted, X (n_docs, n_terms); `reading` as in the class."""
        if weight is not None:
            warn_about_small_weights(X, None if targets.multilabel else single_labels(targets.Y), weight)
        return cls(
            targets.target_type, rows=DocumentRows(X, targets, vocabulary, weight, units), reading=reading
        )  # fmt: skip

    @classmethod
    def of_kept(cls, statistic: NamedCounts | KeptDocuments, target_type: str, **reading: Any) -> Self:
        """The documents that a model has kept, or their sums."""
        if isinstance(statistic, NamedCounts):
            return cls(target_type, sums=statistic, reading=reading)
        return cls(target_type, kept=statistic, reading=reading)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes, sorted."""
        if self.rows is not None:
            return self.rows.targets.classes
        return self._summed_or_kept().classes

    @property
    def targets(self) -> Targets:
        """The labels of all documents, in the order of the documents."""
        if self.rows is not None:
            return self.rows.targets
        return self.documents().targets(self.target_type)

    @property
    def multilabel(self) -> bool:
        """Whether a document may have any number of labels."""
        return self.target_type != "single"

    @property
    def n_docs(self) -> int:
        """The number of documents."""
        return int(self.rows.X.shape[0] if self.rows is not None else self._summed_or_kept().n_docs)

    @property
    def n_terms(self) -> int:
        """The number of terms."""
        return int(self.rows.X.shape[1] if self.rows is not None else self._summed_or_kept().n_terms)

    @property
    def token_rule(self) -> TokenRule | None:
        """The token rule; None if documents came as rows of counts."""
        return self.reading.get("token_rule")

    @property
    def threads(self) -> int:
        """The number of threads for work on the documents."""
        return thread_count(self.reading.get("n_jobs"))

    def _summed_or_kept(self) -> NamedCounts | KeptDocuments:
        statistic = self.sums if self.sums is not None else self.kept
        if statistic is None:
            raise RuntimeError("training data without documents")
        return statistic

    def counts(self) -> NamedCounts:
        """Sums over all documents, terms sorted, so that the order of the documents leaves no trace."""
        if self.sums is not None:
            return self.sums.in_order()
        if self.rows is not None:
            return self.rows.counts(self.threads, in_order=True)
        return self.documents().counts(self.target_type, threads=self.threads)

    def documents(self) -> KeptDocuments:
        """The documents as models keep them: sorted by their content."""
        if self.kept is not None:
            return self.kept
        if self.rows is None:
            raise UnnaiveError("only sums over these documents were kept, and the model learns from documents; read "
                               "them into memory, or into a matrix on disk")  # fmt: skip
        rows = self.rows
        return KeptDocuments.of(rows.X, rows.targets, rows.vocabulary, rows.weight, rows.units)

    def statistic(self, kind: str) -> NamedCounts | KeptDocuments:
        """The statistic that a model which learns from "counts" or from "documents" keeps."""
        return self.rows.counts() if kind == "counts" and self.rows is not None else self.documents()

    def with_reading(self, **changes: Any) -> Self:
        """Replace fields of `reading`."""
        return replace(self, reading=self.reading | changes)

    def checked(self) -> Self:
        """Return the data; raise an error or warn, in one sentence, if there is nothing or little to learn from."""
        check_some_documents(self.n_docs)
        check_classes(self.classes, self.multilabel)
        if self.rows is not None and self.rows.vocabulary is not None:
            indices = self.rows.X.indices[: self.rows.X.nnz]
            first = _document_frequencies(indices[: 8 * self.n_docs], len(self.rows.vocabulary))
            # in nearly all collections, the first few documents already share terms
            if not self._share_terms(self.rows.vocabulary, first):
                self._check_terms(self.rows.vocabulary, _document_frequencies(indices, len(first)))
        elif self.sums is not None and self.sums.vocabulary is not None:
            self._check_terms(self.sums.vocabulary, self.sums.counts.df)
        return self

    def _share_terms(self, vocabulary: Vocabulary, df: NDArray[Any]) -> bool:
        """Whether texts share at least as many terms as there are texts; `df` may cover only some of the cells."""
        if self.token_rule is None or self.token_rule.analyzer != "word":
            words = ~which_are_grams(vocabulary)
            df = df[words] if words.any() else df  # character n-grams are ignored, since any two texts share some
        return bool(df.sum() - np.count_nonzero(df == 1) >= self.n_docs)

    def _check_terms(self, vocabulary: Vocabulary, df: NDArray[Any]) -> None:
        """Raise an error if no text has a term; warn if texts hardly share terms (ids, or unsegmented words)."""
        if self._share_terms(vocabulary, df):
            return
        words = ~which_are_grams(vocabulary)
        both = self.token_rule is not None and self.token_rule.analyzer == "both"
        # punctuation has character n-grams too: if there are words, the n-grams of a single text mean nothing
        if not df.any() or (both and not words.any() and df.max() < 2):
            raise BadData(
                f"none of the {count_noun(self.n_docs, 'text')} has a term to learn from; check the column and the "
                "settings"
            )
        if self.n_docs >= FEWEST_TEXTS:
            n_terms = int(words.sum()) or len(df)
            warnings.warn(
                f"{count_noun(n_terms, 'term')} in {count_noun(self.n_docs, 'document')}, but hardly any term is in "
                "two of them, so there is little to learn; is this the text column, and are words separated correctly?",
                UnnaiveWarning,
                stacklevel=6,
            )


def check_classes(classes: Sequence[Label], multilabel: bool) -> None:
    """Raise an error if there are fewer than two classes, or no label in multilabel data."""
    check_some_labels(len(classes))
    if not multilabel and len(classes) < 2:
        raise BadData(f"every document has the label {classes[0]!r}; a classifier needs at least two classes; "
                      "add documents of another class, or name another column of labels")  # fmt: skip


def _document_frequencies(indices: NDArray[Any], n_terms: int) -> NDArray[np.int64]:
    """The number of documents with each term (n_terms,), from the columns of their cells; in blocks."""
    df = np.zeros(n_terms, np.int64)
    for start in range(0, len(indices), BLOCK):
        df += np.bincount(indices[start : start + BLOCK], minlength=n_terms)
    return df
