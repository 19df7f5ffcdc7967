"""The kernel with the same interface as reference.py: rules become its settings, stems come from PyStemmer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.locks import fork_safe_lock
from unnaive.text.backend import kernel
from unnaive.text.buffer import LARGEST_TEXT, TextBuffer, Texts
from unnaive.text.pieces import MESSAGE_PARTS, decode_mime, mime_rows
from unnaive.text.reference import LinearArrays
from unnaive.text.sections import own_keys, own_term, section_modes
from unnaive.text.tokens import TokenRule, term_stems
from unnaive.text.vocabulary import Vocabulary

WORTH_A_THREAD = 1 << 17  # bytes
FAST_CELLS = 1 << 23  # weights that may always be kept dense, in float32
FAST_SHARE = 4  # and so may those of which a quarter are arcs
REMEMBERED = 1 << 20  # words whose stems are kept from call to call


def _packed(words: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Words as one UTF-8 blob and offsets; what UTF-8 cannot hold is in no text either."""
    buffer = TextBuffer.of(list(words))
    return buffer.blob, buffer.offsets


def _stop_words(rule: TokenRule) -> list[str]:
    """The stop words, as they stand and as each field's own."""
    words = sorted(rule.stop_set)
    return words + [own_term(key, word) for key in own_keys(rule.fields) for word in words]


def _message_code(rule: TokenRule) -> int:
    """Where the kernel's enum has the message part."""
    return 0 if rule.message is None else 1 + MESSAGE_PARTS.index(rule.message)


class NativeEngine:
    """Term ids in the kernel's tables, in the order of first occurrence; of words, or of `chunks` between spaces."""

    def __init__(self, rule: TokenRule, vocabulary: Vocabulary, threads: int, *, chunks: bool = False) -> None:
        self.rule = rule
        self.options = {"threads": kernel.Threads(threads, WORTH_A_THREAD), "limit": LARGEST_TEXT}
        self._stems = fork_safe_lock()  # from looking words up to counting them
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
            html=rule.html,
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

    def count(self, texts: Texts, grow: bool) -> tuple[Any, Any, Any]:
        """(counts, ids, where rows end) of the texts; ids ascend in each row."""
        return self.read(self.kernel.count, texts, grow, grow=grow)  # type: ignore[no-any-return]

    def read(self, use: Any, texts: Texts, learn: bool, **options: Any) -> Any:
        """`use(texts)` with the kernel's limits, after the texts' words have got their stems."""
        options |= self.options
        if self.rule.message is not None:
            texts = _decode_mail(texts, self.rule.message)
        try:
            if self.rule.stem is None:
                return use(texts, **options)
            with self._stems:
                self._learn(texts, learn)
                return use(texts, **options)
        except UnnaiveError:
            raise  # a sentence already, such as that there are no stemmers
        except ValueError as error:
            raise BadData(str(error)) from None

    def _learn(self, texts: Texts, grow: bool) -> None:
        """Every new word gets its stem, once."""
        if self.kernel.surfaces() > REMEMBERED:
            self.kernel.forget()
        self.kernel.learn(texts, grow=grow, **self.options)
        words = self.kernel.pending()
        if words:
            found, ends = _packed(term_stems(words, self.rule))
            self.kernel.resolve(found, ends, grow=grow)

    def vocabulary(self) -> Vocabulary:
        """The terms so far; they only ever grow, so that as many are the same."""
        if len(self._vocabulary) != len(self):
            self._vocabulary = Vocabulary.trusted(*self.kernel.terms())
        return self._vocabulary


def _decode_mail(texts: Texts, message: str) -> Texts:
    """The texts, those that are MIME messages decoded; the kernel reads all others by itself."""
    decoded = {row: decode_mime(texts[row], message) for row in mime_rows(texts)}
    if not decoded:
        return texts
    if isinstance(texts, TextBuffer):
        return texts.with_texts(decoded)
    return [decoded.get(row, text) for row, text in enumerate(texts)]


class NativeScorer:
    """Scores by the kernel; small models have a row of floats for every term, large ones only their arcs.

    Its engine has the terms that come often first: they and their rows lie together, where they are found sooner.
    """

    def __init__(self, rule: TokenRule, vocabulary: Vocabulary, linear: LinearArrays, threads: int) -> None:
        self.linear = linear
        arcs, arc_class, ends = _by_term(linear.arcs)
        often = _many_arcs_first(ends)
        self.engine = NativeEngine(rule, vocabulary.take(often) if len(often) else vocabulary, threads)
        cells = linear.arcs.shape[0] * linear.arcs.shape[1]
        self.kernel: Any = kernel.Scorer(
            self.engine.kernel,
            arcs=arcs,
            arc_class=arc_class,
            ends=ends,
            class_background=linear.class_background,
            term_background=linear.term_background,
            bias=linear.bias,
            binary=linear.binary,
            fast=cells <= max(FAST_CELLS, FAST_SHARE * len(arcs)),
            columns=often,
        )

    def scores_and_known(self, texts: Texts, clear: float = np.inf) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(n_texts, n_classes) scores, and (n_texts,) how many mentions of terms each text has.

        Where a class is sure to lead all others by more than `clear`, which sums in float32 often tell, it has 0 and
        they have −∞.
        """
        return self.engine.read(self.kernel.scores, texts, learn=False, clear=clear)  # type: ignore[no-any-return]

    def best(self, texts: Texts) -> NDArray[np.int64]:
        """(n_texts,) the class with the highest score, the lowest of equals."""
        return self.engine.read(self.kernel.best, texts, learn=False)  # type: ignore[no-any-return]


def _by_term(arcs: Any) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
    """(arcs, their classes, where those of each term end); of dense arcs all, term by term, without the rest."""
    if isinstance(arcs, np.ndarray):
        return np.ascontiguousarray(arcs.T).ravel(), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    rows = arcs if arcs.format == "csr" else arcs.tocsr()  # a cell that comes twice counts twice, as it should
    places = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return kernel.by_term(rows.data.astype(np.float64), *places, rows.shape[1])  # type: ignore[no-any-return]


def _many_arcs_first(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ids of terms by how many classes have an arc to them: what is in all classes comes often.

    None where arcs are dense, which say nothing of it.
    """
    arcs = np.minimum(np.diff(ends), 1 << 15)
    return np.argsort((1 << 15) - arcs.astype(np.uint16), kind="stable")  # 16 bits are sorted in linear time
