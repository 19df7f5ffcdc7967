"""TrainingData: labelled documents that a model is trained on, counted and checked, wherever they come from.

The makers: `TrainingData.of_texts` for texts in memory, `scaleout.streaming.stream_documents` for files that stream by,
`scaleout.matrix.documents_on_disk` for a matrix on disk, `scaleout.spark.fitting.partitions_data` for a DataFrame. Each
ends with `checked`, so what is wrong with documents is found, and said, in one place.
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
from unnaive.base.types import Floats, Label, Sparse
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.named_counts import NamedCounts
from unnaive.data.sample_weights import check_sample_weight, class_sample_weight
from unnaive.data.targets import Targets, read_targets
from unnaive.data.unlabelled import read_partly_labelled
from unnaive.io.corpus import check_some_documents, check_some_labels
from unnaive.io.fields import as_documents
from unnaive.text.backend import thread_count
from unnaive.text.counting import TextCounter
from unnaive.text.gram_units import GramUnits, which_are_grams
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

FEWEST_TEXTS = 20  # with fewer, nothing is said of terms that no two of them share
BLOCK = 1 << 22  # entries counted at a time: X may lie on disk


@dataclass(frozen=True, eq=False)
class DocumentRows:
    """Documents with their labels, one row each.

    X           how often each term is in each document (n_docs, n_terms)
    targets     their labels
    vocabulary  the columns of X; None where documents came as rows of counts
    weight      of each document (n_docs,); None where all are 1
    units       what character n-grams were cut from, where that is known
    """

    X: Sparse
    targets: Targets
    vocabulary: Vocabulary | None = None
    weight: Floats | None = None
    units: GramUnits | None = None

    def counts(self, threads: int = 1) -> NamedCounts:
        """The sums over these documents, terms in the order of the columns."""
        return NamedCounts.of(self.X, self.targets, self.vocabulary, self.weight, threads=threads)

    def take(self, rows: NDArray[np.int64]) -> DocumentRows:
        """Some of the documents, with all classes and columns."""
        return replace(
            self,
            X=csr_array(self.X[rows]),
            targets=replace(self.targets, Y=csr_array(self.targets.Y[rows])),
            weight=None if self.weight is None else self.weight[rows],
            units=None if self.units is None else self.units.take(rows),
        )

    def weighted(self, class_weight: Any) -> DocumentRows:
        """With the weight of each document's class as well; None, "balanced" or a dict from class to weight.

        Documents of weight 0 are left out, so that no model learns anything from them; their classes stay.
        """
        weight = class_sample_weight(class_weight, self.targets, self.weight)
        if weight is None:
            return replace(self, weight=None)
        left = replace(self, weight=weight)
        if not bool(np.all(weight > 0)):
            left = left.take(np.flatnonzero(weight > 0))
        return replace(left, weight=None) if bool(np.all(left.weight == 1)) else left


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What `learning.train.train` learns from: sums over labelled documents, and the documents where they are at hand.

    target_type  the form of the labels, as in Targets
    sums         sums over all documents, where only these are known: documents streamed by, or lie on a cluster
    rows         the documents in the order in which they came, in memory or mapped from disk
    kept         the documents that a model keeps, in the order of what is in them
    passes       learns a model in passes over documents that lie on a cluster: (model, counts and vocabulary of the
                 terms in use, exclusive, progress) → (model, scorer)
    reading      fields of FittedModel that are not learnt: token_rule, feature_names, columns, n_jobs, text_hashes, …
    report       what became of the documents on the way, as plain values for people

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
        sample_weight: Any = None, n_jobs: int | None = None, check: bool = True,
    ) -> Self:  # fmt: skip
        """Texts in memory with their labels, which may be missing with `unlabelled`.

        Without `check` they may be of one class and have no term: documents that join others, or are taken out.
        """
        documents = as_documents(texts, rule.fields)
        check_some_documents(len(documents))
        read = read_partly_labelled if unlabelled else read_targets
        targets = read(labels, len(documents), multilabel=multilabel)
        if check:
            check_classes(targets.classes, targets.multilabel)  # before texts are counted, which takes longer
        counter = TextCounter(rule, threads=n_jobs)
        X, units = counter.count_with_units(documents)
        weight = check_sample_weight(sample_weight, len(documents))
        data = cls.of_rows(X, targets, counter.vocabulary, weight, units, token_rule=rule, n_jobs=n_jobs)
        return data.checked() if check else data

    @classmethod
    def of_rows(
        cls, X: Sparse, targets: Targets, vocabulary: Vocabulary | None = None, weight: Floats | None = None,
        units: GramUnits | None = None, **reading: Any,
    ) -> Self:  # fmt: skip
        """Documents that are counted already, X (n_docs, n_terms); `reading` as in the class."""
        return cls(
            targets.target_type, rows=DocumentRows(X, targets, vocabulary, weight, units), reading=reading
        )  # fmt: skip

    @classmethod
    def of_kept(cls, statistic: NamedCounts | KeptDocuments, target_type: str, **reading: Any) -> Self:
        """What a model keeps of documents that it learnt: their sums, or the documents."""
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
        """How many documents there are."""
        return int(self.rows.X.shape[0] if self.rows is not None else self._summed_or_kept().n_docs)

    @property
    def n_terms(self) -> int:
        """How many terms there are."""
        return int(self.rows.X.shape[1] if self.rows is not None else self._summed_or_kept().n_terms)

    @property
    def token_rule(self) -> TokenRule | None:
        """How texts became terms; None where documents came as rows of counts."""
        return self.reading.get("token_rule")

    @property
    def threads(self) -> int:
        """How many threads may work on the documents."""
        return thread_count(self.reading.get("n_jobs"))

    def _summed_or_kept(self) -> NamedCounts | KeptDocuments:
        found = self.sums if self.sums is not None else self.kept
        if found is None:
            raise RuntimeError("training data without documents")
        return found

    def counts(self) -> NamedCounts:
        """Sums over all documents, terms sorted: the order in which documents came can no longer be seen."""
        if self.sums is not None:
            return self.sums.in_order()
        if self.rows is not None:
            return self.rows.counts(self.threads).in_order()
        return self.documents().counts(self.target_type, threads=self.threads)

    def documents(self) -> KeptDocuments:
        """The documents in the form in which models keep them: sorted by what is in them."""
        if self.kept is not None:
            return self.kept
        if self.rows is None:
            raise UnnaiveError("these documents were counted as they streamed by; a model that learns from documents "
                               "needs them in memory or on disk")  # fmt: skip
        rows = self.rows
        return KeptDocuments.of(rows.X, rows.targets, rows.vocabulary, rows.weight, rows.units)

    def statistic(self, kind: str) -> NamedCounts | KeptDocuments:
        """What a model that learns from "counts" or from "documents" keeps of these."""
        return self.rows.counts() if kind == "counts" and self.rows is not None else self.documents()

    def with_reading(self, **changes: Any) -> Self:
        """With other fields of `reading`."""
        return replace(self, reading=self.reading | changes)

    def checked(self) -> Self:
        """The same data; an error or a warning of one sentence if there is nothing, or little, to learn from."""
        check_some_documents(self.n_docs)
        check_classes(self.classes, self.multilabel)
        if self.rows is not None and self.rows.vocabulary is not None:
            indices = self.rows.X.indices[: self.rows.X.nnz]
            first = _document_frequencies(indices[: 8 * self.n_docs], len(self.rows.vocabulary))
            if not self._share_terms(self.rows.vocabulary, first):  # as the first few of nearly all collections do
                self._check_terms(self.rows.vocabulary, _document_frequencies(indices, len(first)))
        elif self.sums is not None and self.sums.vocabulary is not None:
            self._check_terms(self.sums.vocabulary, self.sums.counts.df)
        return self

    def _share_terms(self, vocabulary: Vocabulary, df: NDArray[Any]) -> bool:
        """Whether texts have terms in common, as many as there are texts; df may be that of a part of the cells."""
        words = ~which_are_grams(vocabulary)
        df = df[words] if words.any() else df  # any text shares some character n-grams with others
        return bool(df[df > 1].sum() >= self.n_docs)

    def _check_terms(self, vocabulary: Vocabulary, df: NDArray[Any]) -> None:
        """An error if no text has a term, and a warning if texts have hardly one in common: ids, or unsplit words."""
        words = ~which_are_grams(vocabulary)
        both = self.token_rule is not None and self.token_rule.analyzer == "both"
        # punctuation has character n-grams too: beside words, those of one text alone tell nothing
        if not df.any() or (both and not words.any() and df.max() < 2):
            raise BadData(
                f"none of the {count_noun(self.n_docs, 'text')} has a term to learn from; check the column and the "
                "settings"
            )
        if self.n_docs >= FEWEST_TEXTS and not self._share_terms(vocabulary, df):
            n_terms = int(words.sum()) or len(df)
            warnings.warn(
                f"{count_noun(n_terms, 'term')} in {count_noun(self.n_docs, 'document')}, and hardly a term is in two "
                "of them, so there is little to learn; is that the column of texts, and are its words split rightly?",
                UnnaiveWarning,
                stacklevel=6,
            )


def check_classes(classes: Sequence[Label], multilabel: bool) -> None:
    """An error if there is nothing to tell apart."""
    check_some_labels(len(classes))
    if not multilabel and len(classes) < 2:
        raise BadData(f"every document has the label {classes[0]!r}; a classifier needs at least two classes")


def _document_frequencies(indices: NDArray[Any], n_terms: int) -> NDArray[np.int64]:
    """How many documents have each term (n_terms,), from the columns of their cells; a block at a time."""
    df = np.zeros(n_terms, np.int64)
    for start in range(0, len(indices), BLOCK):
        df += np.bincount(indices[start : start + BLOCK], minlength=n_terms)
    return df
