"""CountVectorizer, TfidfVectorizer and HashingVectorizer: scikit-learn's classes, which count by the kernel.

Everything that is not counting is scikit-learn's own code: parameters and their checks, warnings, errors, repr, clone,
set_output. This module imports scikit-learn, and is imported when one of its classes is first used.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import text as theirs
from sklearn.preprocessing import normalize

from unnaive.base.errors import UnnaiveError
from unnaive.base.thread_count import thread_count
from unnaive.interop.vectorizers.kernel_rule import kernel_rule, read_texts
from unnaive.interop.vectorizers.terms import Terms
from unnaive.text.backend import kernel
from unnaive.text.characters import KernelRows
from unnaive.text.python_text import PythonCounter, PythonRule, sum_columns, unpack_terms

JOBS: dict[str, Any] = {"n_jobs": [Integral, None]}  # the constraint of our own parameter
# how scikit-learn returns a sparse table: as csr_matrix, or from 1.9 on as its configuration says
_as_configured = getattr(theirs, "_align_api_if_sparse", sparse.csr_matrix)


def _threads(n_jobs: int | None) -> int:
    return 1 if n_jobs is None else thread_count(int(n_jobs))


def _constructor(peer: Any) -> Any:
    """The constructor of scikit-learn's class with `n_jobs` as the last parameter; get_params reads its signature."""

    def __init__(self: Any, *, n_jobs: int | None = None, **settings: Any) -> None:
        peer.__init__(self, **settings)
        self.n_jobs = n_jobs

    own = inspect.Parameter("n_jobs", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="int | None")
    theirs_ = inspect.signature(peer.__init__)
    __init__.__signature__ = theirs_.replace(parameters=[*theirs_.parameters.values(), own])  # type: ignore[attr-defined]
    return __init__


class CountVectorizer(theirs.CountVectorizer):  # type: ignore[misc]
    """scikit-learn's CountVectorizer, counted by the native kernel: the same terms, the same matrix.

    Parameters, attributes and errors are those of `sklearn.feature_extraction.text.CountVectorizer`. Functions of
    Python for analyzer, preprocessor, tokenizer or strip_accents, and patterns of regular expressions other than runs
    of word characters, are counted by scikit-learn itself, which the log says once.

    n_jobs  the number of threads; None for one, −1 for all cores. The result does not depend on it.

    >>> vectorizer = CountVectorizer(ngram_range=(1, 2))
    >>> vectorizer.fit_transform(["good ball", "fair ball"]).toarray()
    array([[1, 0, 0, 1, 1],
           [1, 1, 1, 0, 0]])
    >>> vectorizer.get_feature_names_out().tolist()
    ['ball', 'fair', 'fair ball', 'good', 'good ball']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = theirs.CountVectorizer._parameter_constraints | JOBS
    __init__ = _constructor(theirs.CountVectorizer)

    def partial_fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the terms of more documents; the first call is `fit`.

        New terms get the columns after those of earlier calls, in alphabetical order, so that columns never move.
        Which terms are rare or frequent is unknown until the end, so max_df, min_df and max_features are refused.
        """
        self._learn_more(raw_documents)
        return self

    def _learn_more(self, raw_documents: Any) -> Any:
        """Add the terms of the documents; return their counts."""
        self._refuse_limits()
        if "vocabulary_" not in self.__dict__ or self.fixed_vocabulary_:
            return theirs.CountVectorizer.fit_transform(self, raw_documents)
        if isinstance(raw_documents, str):
            raise ValueError("Iterable over raw text documents expected, string object received.")
        terms = self._terms()
        rule = None if terms is None else kernel_rule(self)
        if rule is None or terms is None:
            raise UnnaiveError("partial_fit needs settings that the kernel counts by; the log says which are not")
        before = len(terms)
        counter = PythonCounter(rule, terms.by_column())
        rows = counter.count(read_texts(self, raw_documents), True, _threads(self.n_jobs))
        blob, ends = counter.terms()
        new = Terms((blob[ends[before] :], ends[before:] - ends[before]))
        place = np.concatenate([np.arange(before), before + new.alphabetical()])
        known = np.concatenate([terms.arrays[0], new.arrays[0]])
        offsets = np.concatenate([terms.arrays[1], terms.arrays[1][-1] + new.arrays[1][1:]])
        self.__dict__["vocabulary_"] = Terms((known, offsets), np.concatenate([terms.column, place[before:]]))
        return self._table(rows, len(place), place)

    def _refuse_limits(self) -> None:
        changed = [name for name, value in (("max_df", 1.0), ("min_df", 1), ("max_features", None))
                   if getattr(self, name) != value]  # fmt: skip
        if changed:
            raise UnnaiveError(
                f"partial_fit cannot apply {changed[0]}={getattr(self, changed[0])!r} before all documents are known; "
                "leave it out, or use fit"
            )

    # what scikit-learn's fit_transform and transform call

    def _count_vocab(self, raw_documents: Any, fixed_vocab: bool) -> tuple[Any, Any]:
        """(vocabulary, counts) of the documents, as in scikit-learn: without sorted columns if terms are learnt."""
        terms = self._terms() if fixed_vocab else None
        rule = kernel_rule(self) if terms is not None or not fixed_vocab else None
        if rule is None:
            return super()._count_vocab(raw_documents, fixed_vocab)  # type: ignore[no-any-return]
        self.build_analyzer()  # scikit-learn's own checks of settings and stop words
        texts = read_texts(self, raw_documents)
        if terms is not None:
            counter = self._counter(rule, terms)
            return terms, self._table(counter.count(texts, False, _threads(self.n_jobs)), len(terms))
        counter = PythonCounter(rule)
        rows = counter.count(texts, True, _threads(self.n_jobs))
        if not len(counter):
            raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
        # limits leave out terms, after which places are others
        places = counter.places() if self.max_features is None and self.min_df == 1 else None
        return Terms(counter.terms(), places=places), self._table(rows, len(counter))

    def _table(self, rows: KernelRows, n_terms: int, place: Any = None) -> Any:
        counts, ids, ends = rows
        if place is not None:
            kernel.move_ids(ids, place.astype(np.int32))
        table = sparse.csr_array((counts.astype(self.dtype, copy=False), ids, ends), shape=(len(ends) - 1, n_terms))
        return _as_configured(table)

    def _limit_features(self, X: Any, vocabulary: Any, high: Any = None, low: Any = None, limit: Any = None) -> Any:
        if not isinstance(vocabulary, Terms):
            return super()._limit_features(X, vocabulary, high, low, limit)
        none_often, none_rare = high is None or high >= X.shape[0], low is None or low <= 1
        if none_often and none_rare and (limit is None or limit >= X.shape[1]):
            return X  # every term occurs in at least one document
        frequency = np.bincount(X.indices, minlength=X.shape[1])
        kept = np.ones(len(frequency), np.bool_)
        if high is not None:
            kept &= frequency <= high
        if low is not None:
            kept &= frequency >= low
        if limit is not None and kept.sum() > limit:
            totals = np.asarray(X.sum(axis=0)).ravel()
            most = (-totals[kept]).argsort()[:limit]
            kept_by_total = np.zeros(len(frequency), np.bool_)
            kept_by_total[np.where(kept)[0][most]] = True
            kept = kept_by_total
        if not kept.any():
            raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        vocabulary.keep(kept)
        return X[:, np.where(kept)[0]]

    def _sort_features(self, X: Any, vocabulary: Any) -> Any:
        if not isinstance(vocabulary, Terms):
            return super()._sort_features(X, vocabulary)
        vocabulary.column = vocabulary.alphabetical()
        kernel.move_ids(X.indices, vocabulary.column.astype(np.int32))
        return type(X)((X.data, X.indices, X.indptr), shape=X.shape)

    # the vocabulary is a dict only for those who ask for it

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each term."""
        vocabulary = self.__dict__.get("vocabulary_")
        if vocabulary is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'vocabulary_'")
        return vocabulary.dictionary() if isinstance(vocabulary, Terms) else vocabulary

    @vocabulary_.setter
    def vocabulary_(self, vocabulary: Any) -> None:
        self.__dict__["vocabulary_"] = vocabulary

    @vocabulary_.deleter
    def vocabulary_(self) -> None:
        del self.__dict__["vocabulary_"]

    def _terms(self) -> Terms | None:
        """The terms of `vocabulary_`; None if they cannot be columns of the kernel."""
        vocabulary = self.__dict__.get("vocabulary_")
        if isinstance(vocabulary, Terms) and not vocabulary.is_changed():
            return vocabulary
        vocabulary = self.vocabulary_
        key = id(vocabulary), len(vocabulary)
        if self.__dict__.get("_terms_of", (None, None))[0] != key:
            self._terms_of = key, Terms.of(vocabulary)
        return self._terms_of[1]

    def _counter(self, rule: PythonRule, terms: Terms) -> PythonCounter:
        """The kernel's table of the terms, kept for the next call."""
        held = self.__dict__.get("_counter_of")
        if held is None or held[0] is not terms or held[1].rule != rule:
            self._counter_of = held = terms, PythonCounter(rule, terms.by_column())
        return held[1]

    def _check_vocabulary(self) -> None:
        if not isinstance(self.__dict__.get("vocabulary_"), Terms):
            super()._check_vocabulary()

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The terms in the order of their columns, an array of str."""
        vocabulary = self.__dict__.get("vocabulary_")
        if isinstance(vocabulary, Terms) and not vocabulary.is_changed():
            return vocabulary.names()
        return super().get_feature_names_out(input_features)

    def __getstate__(self) -> dict[str, Any]:
        state = {**super().__getstate__()}
        for name in ("_terms_of", "_counter_of"):
            state.pop(name, None)
        if "vocabulary_" in state:
            state["vocabulary_"] = self.vocabulary_
        return state


class TfidfVectorizer(CountVectorizer, theirs.TfidfVectorizer):  # type: ignore[misc]
    """scikit-learn's TfidfVectorizer, counted by the native kernel: the same terms and the same weights, bit for bit.

    Parameters, attributes and errors are those of `sklearn.feature_extraction.text.TfidfVectorizer`; what
    CountVectorizer says of functions and patterns holds here too.

    n_jobs  the number of threads; None for one, −1 for all cores. The result does not depend on it.

    >>> TfidfVectorizer(norm=None).fit_transform(["good ball", "fair ball"]).toarray().round(2)
    array([[1.  , 0.  , 1.41],
           [1.  , 1.41, 0.  ]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = theirs.TfidfVectorizer._parameter_constraints | JOBS
    __init__ = _constructor(theirs.TfidfVectorizer)

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the terms and their document frequencies."""
        self._fit(raw_documents)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the terms and their document frequencies; return the weighted documents (n_docs, n_terms)."""
        return self._tfidf_of(self._fit(raw_documents))

    def partial_fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the terms of more documents and count their document frequencies; the first call is `fit`.

        New terms get the columns after those of earlier calls, so that columns never move; max_df, min_df and
        max_features are refused.
        """
        if "_seen" not in self.__dict__:
            self._refuse_limits()
            return self.fit(raw_documents)
        n_docs, before = self.__dict__["_seen"]
        X = self._learn_more(raw_documents)
        frequency = np.bincount(X.indices, minlength=X.shape[1])
        frequency[: len(before)] += before
        self._seen = n_docs + X.shape[0], frequency
        if self.use_idf:
            self._tfidf.idf_ = self._idf(X.dtype)
        self._tfidf.n_features_in_ = X.shape[1]
        return self

    def _fit(self, raw_documents: Any) -> Any:
        """Learn from the documents; return their counts."""
        X = theirs.CountVectorizer.fit_transform(self, raw_documents)
        self._check_params()
        self._tfidf = theirs.TfidfTransformer(
            norm=self.norm, use_idf=self.use_idf, smooth_idf=self.smooth_idf, sublinear_tf=self.sublinear_tf
        ).fit(X)
        self._seen = X.shape[0], np.bincount(X.indices, minlength=X.shape[1])
        return X

    def _tfidf_of(self, X: Any) -> Any:
        return self._tfidf.transform(X, copy=False)

    def _idf(self, kind: Any) -> Any:
        """log((n + s) / (df + s)) + 1, in scikit-learn's order of operations; s is 1 if `smooth_idf`, else 0."""
        n_docs, seen = self.__dict__["_seen"]
        kind = kind if kind in (np.float64, np.float32) else np.float64
        frequency: Any = seen.astype(kind)
        frequency += float(self.smooth_idf)
        idf = np.full_like(frequency, fill_value=n_docs + int(self.smooth_idf), dtype=kind)
        idf /= frequency
        np.log(idf, out=idf)
        idf += 1.0
        return idf


class HashingVectorizer(theirs.HashingVectorizer):  # type: ignore[misc]
    """scikit-learn's HashingVectorizer, counted and hashed by the native kernel: the same columns, signs and values.

    Parameters and errors are those of `sklearn.feature_extraction.text.HashingVectorizer`; what CountVectorizer says of
    functions and patterns holds here too.

    n_jobs  the number of threads; None for one, −1 for all cores. The result does not depend on it.

    >>> HashingVectorizer(n_features=8, norm=None).transform(["good ball", "fair ball"]).toarray()
    array([[ 0.,  1.,  0.,  0.,  1.,  0.,  0.,  0.],
           [ 0.,  0.,  0.,  0.,  1.,  0., -1.,  0.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = theirs.HashingVectorizer._parameter_constraints | JOBS
    __init__ = _constructor(theirs.HashingVectorizer)

    def transform(self, X: Any) -> Any:
        """The documents (n_docs, n_features) by the hashes of their terms."""
        rule = None if isinstance(X, str) else kernel_rule(self)
        if rule is None:
            return super().transform(X)
        self._validate_ngram_range()
        self.build_analyzer()  # scikit-learn's own checks of settings and stop words
        texts = read_texts(self, X)
        if not len(texts):
            return self._get_hasher().transform([])  # raises scikit-learn's own error
        table = self._hashed(rule, texts)
        if self.binary:
            table.data.fill(1)
        if self.norm is not None:
            table = normalize(table, norm=self.norm, copy=False)
        return _as_configured(table)

    def _hashed(self, rule: PythonRule, texts: Sequence[str]) -> Any:
        """Column |hash| mod n_features of each term, with the sign of the hash if `alternate_sign`."""
        threads = _threads(self.n_jobs)
        counter = PythonCounter(rule)
        rows = counter.count(texts, True, threads)
        hashes = kernel.murmur3(*counter.terms())
        if hashes is None:
            for term in unpack_terms(counter.terms()):
                term.encode()  # raises scikit-learn's own error at the first lone surrogate
        hashes = hashes.astype(np.int64)
        cells = 2 * (np.abs(hashes) % self.n_features) + (hashes < 0) * bool(self.alternate_sign)
        distinct, place = np.unique(cells, return_inverse=True)
        counts, ids, ends = sum_columns(rows, place.astype(np.int32), max(len(distinct), 1), threads)
        columns, values = distinct[ids] >> 1, np.where(distinct[ids] & 1, -counts, counts)
        again = np.zeros(len(columns) + 1, np.bool_)  # whether the cell before is in the same row and column
        again[1:-1] = columns[1:] == columns[:-1]
        again[ends] = False
        first = np.flatnonzero(~again[:-1])
        if len(first) < len(columns):
            values, columns = np.add.reduceat(values, first), columns[first]
            ends = np.searchsorted(first, ends).astype(ends.dtype)
        return sparse.csr_array(
            (values.astype(self.dtype), columns.astype(ids.dtype), ends), shape=(len(texts), self.n_features)
        )
