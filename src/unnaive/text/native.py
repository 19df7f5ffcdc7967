"""The native kernel behind the interface of reference.py: rules become kernel settings; PyStemmer makes the stems."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.locks import Unnested, fork_safe_lock
from unnaive.base.system_memory import find_machine_bytes
from unnaive.base.types import Ids
from unnaive.text.backend import kernel
from unnaive.text.buffer import LARGEST_TEXT, TextBuffer, Texts
from unnaive.text.pieces import MESSAGE_PARTS, decode_mime, mime_rows
from unnaive.text.reference import LinearArrays
from unnaive.text.sections import own_keys, own_term, section_modes
from unnaive.text.tokens import TokenRule, term_stems
from unnaive.text.vocabulary import TermTable, Vocabulary

WORTH_A_THREAD = 1 << 17  # bytes of text for which another thread is started
FAST_SHARE = 4  # a table of all weights in float32 takes at most four times the memory of the nonzero ones, or
LIKELY_MEMORY = 1 << 33  # of a machine that does not say how much it has
MEMORY_SHARE = 16  # 1/MEMORY_SHARE of the machine's; the decisions are the same with and without it
REMEMBERED = 1 << 20  # words whose stems are cached between calls


class SummedTexts(NamedTuple):
    """Sums of texts by class, and over all texts.

    vocabulary     the terms, sorted
    ends           of the cells of each class (n_classes + 1,), from 0
    columns        the term of each cell, ascending within a class
    sums, df       of each cell: occurrences of the term in the class, and texts of the class that have it
    corpus_sums, corpus_df  the same over all texts (n_terms,)
    """

    vocabulary: Vocabulary
    ends: NDArray[np.int32]
    columns: NDArray[np.int32]
    sums: Ids
    df: Ids
    corpus_sums: Ids
    corpus_df: Ids


def _packed(words: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Words as one UTF-8 blob and offsets; lone surrogates occur in no text."""
    buffer = TextBuffer.of(list(words))
    return buffer.blob, buffer.offsets


def _stop_words(rule: TokenRule) -> list[str]:
    """The stop words, plain and with the key of every field with own words."""
    words = sorted(rule.stop_set)
    return words + [own_term(key, word) for key in own_keys(rule.fields) for word in words]


def _message_code(rule: TokenRule) -> int:
    """The number of the message part in the kernel's enum."""
    return 0 if rule.message is None else 1 + MESSAGE_PARTS.index(rule.message)


class NativeEngine:
    """Term ids in the kernel's tables, by first occurrence; terms are words, or `chunks` between spaces."""

    def __init__(self, rule: TokenRule, vocabulary: Vocabulary, threads: int, *, chunks: bool = False) -> None:
        self.rule = rule
        self.options = {"threads": kernel.Threads(threads, WORTH_A_THREAD), "limit": LARGEST_TEXT}
        self._stems = fork_safe_lock()  # held from looking up stems until the words are counted
        self._unnested = Unnested()
        self._vocabulary = vocabulary
        keys, key_ends = _packed(section_modes(rule.fields or ()))
        self.kernel: Any = kernel.Engine(
            lowercase=rule.lowercase,
            turkish=rule.language == "tr",
            digits=rule.digits,
            min_length=min(rule.min_length, LARGEST_TEXT),
            cut_runs=rule.unspaced == "grams",
            emoji=rule.emoji,
            symbols=rule.symbols,
            chunks=chunks,
            html=rule.strip_html,
            message=_message_code(rule),
            shortest=rule.ngrams[0],
            longest=rule.ngrams[1],
            stemmed=rule.stem is not None,
            sections=rule.fields is not None,
            keys=keys,
            key_ends=key_ends,
            modes=list(section_modes(rule.fields or ()).values()),
            **dict(zip(("stops", "stop_ends"), _packed(_stop_words(rule)), strict=True)),
            **dict(zip(("vocabulary", "vocabulary_ends"), vocabulary.to_arrays(), strict=True)),
        )

    def __len__(self) -> int:
        return len(self.kernel)

    def count(self, texts: Texts, grow: bool, ordered: bool = True) -> tuple[Any, Any, Any]:
        """(counts, ids, row offsets) of the texts; ids ascend in each row if `ordered`, which takes longer."""
        return self.read(self.kernel.count, texts, grow, grow=grow, sorted=ordered)  # type: ignore[no-any-return]

    def sum_classes(self, texts: Texts, classes: NDArray[np.int32], n_classes: int) -> SummedTexts | None:
        """The sums of texts with one class each; afterwards the engine learns no more."""
        arrays = self.read(self.kernel.sum_classes, texts, True, classes=classes, n_classes=n_classes)
        if arrays is None:
            return None
        blob, ends, place, *sums = arrays
        vocabulary = Vocabulary.trusted(blob, ends, in_order=True)
        vocabulary.table = TermTable(self, np.zeros(0, np.int64) if place is None else place)
        return SummedTexts(vocabulary, *sums)

    def read(self, use: Any, texts: Texts, learn: bool, **options: Any) -> Any:
        """Call `use(texts)` with the kernel's limits, after computing the stems of the texts' words."""
        options |= self.options
        try:
            if self.rule.message is not None:
                texts = _decode_mail(texts, self.rule.message)
            if self.rule.stem is None:
                return use(texts, **options)
            with self._stems, self._unnested:
                known = self.kernel.known()
                try:
                    self._learn(texts, learn)
                    return use(texts, **options)
                except BaseException:  # also Ctrl-C: words that were not counted are no terms
                    if learn:
                        self.kernel.forget(known)
                    raise
        except UnnaiveError:
            raise  # already has a clear message, e.g. that no stemmer is installed
        except ValueError as error:
            raise BadData(str(error)) from None

    def _learn(self, texts: Texts, grow: bool) -> None:
        """Compute the stem of every new word, once."""
        if self.kernel.surfaces() > REMEMBERED:
            self.kernel.forget(self.kernel.known())
        self.kernel.learn(texts, grow=grow, **self.options)
        words = self.kernel.pending()
        if words:
            blob, ends = _packed(term_stems(words, self.rule))
            self.kernel.resolve(blob, ends, grow=grow)

    def vocabulary(self) -> Vocabulary:
        """The terms so far; the vocabulary only grows, so an equal length means equal terms."""
        if len(self._vocabulary) != len(self):
            self._vocabulary = Vocabulary.trusted(*self.kernel.terms())
        return self._vocabulary

    def final_vocabulary(self) -> Vocabulary:
        """The terms of an engine that learns no more, which is their table: a scorer need not build one."""
        vocabulary = Vocabulary.trusted(*self.vocabulary().to_arrays())
        vocabulary.table = TermTable(self, np.zeros(0, np.int64))
        return vocabulary

    def with_threads(self, threads: int) -> NativeEngine:
        """The same tables, used by another number of threads."""
        other = copy.copy(self)
        other.options = self.options | {"threads": kernel.Threads(threads, WORTH_A_THREAD)}
        return other


def _decode_mail(texts: Texts, message: str) -> Texts:
    """The texts with MIME messages decoded; the kernel reads all other texts by itself."""
    decoded = {row: decode_mime(texts[row], message) for row in mime_rows(texts)}
    if not decoded:
        return texts
    if isinstance(texts, TextBuffer):
        return texts.with_texts(decoded)
    return [decoded.get(row, text) for row, text in enumerate(texts)]


class NativeScorer:
    """Scores texts by the kernel; small models have dense weights for every term, large models only nonzero ones.

    Its engine has frequent terms first, so that their rows are close together in memory and are found faster: it is the
    engine that has counted the terms in training, by first occurrence, or a new one.
    """

    def __init__(self, rule: TokenRule, vocabulary: Vocabulary, linear: LinearArrays, threads: int) -> None:
        self.linear = linear
        arcs, arc_columns, ends = _as_rows(linear.arcs)
        self.engine, columns = _engine_of(rule, vocabulary, threads, arc_columns)
        cells = linear.arcs.shape[0] * linear.arcs.shape[1]
        memory = (find_machine_bytes() or LIKELY_MEMORY) // MEMORY_SHARE
        self.kernel: Any = kernel.Scorer(
            self.engine.kernel,
            arcs=arcs,
            arc_columns=arc_columns,
            ends=ends,
            class_background=linear.class_background,
            term_background=linear.term_background,
            bias=linear.bias,
            binary=linear.binary,
            fast=4 * cells <= max(memory, FAST_SHARE * arcs.nbytes),
            columns=columns,
        )

    def scores_and_known(self, texts: Texts, clear: float = np.inf) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(n_texts, n_classes) scores, and (n_texts,) the number of known term occurrences of each text.

        If sums in float32 show that a class leads all others by more than `clear`, it gets 0 and the others −∞.
        """
        return self.engine.read(self.kernel.scores, texts, learn=False, clear=clear)  # type: ignore[no-any-return]

    def best(self, texts: Texts) -> NDArray[np.int64]:
        """(n_texts,) the class with the highest score; the first of equal ones."""
        return self.engine.read(self.kernel.best, texts, learn=False)  # type: ignore[no-any-return]


def _as_rows(arcs: Any) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any]]:
    """(weights, their columns, offsets of each class); of dense weights only the values, ordered by term."""
    if isinstance(arcs, np.ndarray):
        return np.ascontiguousarray(arcs.T).ravel(), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    rows = arcs if arcs.format == "csr" else arcs.tocsr()  # repeated cells are summed, as intended
    return rows.data.astype(np.float64, copy=False), rows.indices, rows.indptr


def _engine_of(
    rule: TokenRule, vocabulary: Vocabulary, threads: int, arc_columns: NDArray[Any]
) -> tuple[NativeEngine, NDArray[np.int64]]:
    """An engine over the terms, and the id in the vocabulary of each of its terms; empty if they are the same."""
    table = vocabulary.table
    if table is not None and table.engine.rule == rule:
        return table.engine.with_threads(threads), table.ids
    often = _many_arcs_first(arc_columns, len(vocabulary))
    return NativeEngine(rule, vocabulary.take(often) if len(often) else vocabulary, threads), often


def _many_arcs_first(arc_columns: NDArray[Any], n_terms: int) -> NDArray[np.int64]:
    """The ids of terms, sorted by the number of classes with a nonzero weight: terms of many classes are frequent.

    Empty for dense weights.
    """
    if not len(arc_columns):
        return np.zeros(0, np.int64)
    arcs = np.minimum(np.bincount(arc_columns, minlength=n_terms), 1 << 15)
    return np.argsort((1 << 15) - arcs.astype(np.uint16), kind="stable")  # 16 bits are sorted in linear time
