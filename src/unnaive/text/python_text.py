r"""Counts of terms that are cut from texts as Python cuts them: `\w`, `\s`, str.lower and str.split, in the kernel.

scikit-learn's vectorizers define their terms by these; the vectorizers of interop/vectorizers/ count through here.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.locks import Unnested, fork_safe_lock
from unnaive.text.backend import kernel
from unnaive.text.buffer import LARGEST_TEXT, TextBuffer, Texts
from unnaive.text.characters import KernelRows
from unnaive.text.native import WORTH_A_THREAD

TermArrays = tuple[NDArray[np.uint8], NDArray[np.int64]]  # UTF-8 of all terms, which may have surrogates; their offsets
REMEMBERED = 1 << 20  # distinct units whose n-grams are cached between calls
REMEMBERED_CELLS = 1 << 26  # most n-grams of all cached units
DECOMPOSED = (*range(0, 0x30000, 256), *range(0xE0000, 0xE1000, 256))  # blocks of code points with decompositions
DOTTED_I = 0x130  # İ, the only character whose lower-case form is two characters
NO_CELLS = np.zeros(0, np.int32)


@dataclass(frozen=True)
class PythonRule:
    """How texts become terms.

    analyzer      "word", "char" (n-grams of all characters) or "char_wb" (of the characters between spaces)
    ngrams        lengths of the n-grams
    lowercase     str.lower
    accents       how they are removed after that: None, "unicode" or "ascii"
    min_length    the minimum length of words
    stop_words    words that are left out
    """

    analyzer: str = "word"
    ngrams: tuple[int, int] = (1, 1)
    lowercase: bool = True
    accents: str | None = None
    min_length: int = 2
    stop_words: tuple[str, ...] = ()


def _without_accents(text: str, accents: str | None) -> str:
    if accents is None:
        return text
    split = unicodedata.normalize("NFKD", text)
    if accents == "ascii":
        return split.encode("ascii", "ignore").decode("ascii")
    return "".join(character for character in split if not unicodedata.combining(character))


@lru_cache(maxsize=8)
def _replacements(lowercase: bool, accents: str | None) -> tuple[Any, Any, Any]:
    """(codes, ends, codes that replace them) of the characters that str.lower alone does not describe."""
    found = {DOTTED_I: "i\u0307"} if lowercase and accents is None else {}
    for block in DECOMPOSED if accents is not None else ():
        characters = [chr(code) for code in range(max(block, 0x80), block + 256)]
        whole = "\n".join(characters)
        whole = whole.lower() if lowercase else whole
        if accents == "ascii":
            plain = not _without_accents(whole, accents).strip("\n")
        else:
            plain = unicodedata.normalize("NFKD", whole) == whole and not any(map(unicodedata.combining, whole))
        for character in () if plain else characters:
            before = character.lower() if lowercase else character
            after = _without_accents(before, accents)
            # the kernel leaves out what has no replacement if only ASCII stays, and lower-cases it otherwise
            if after != ("" if accents == "ascii" else before) or (len(before) > 1 and after):
                found[ord(character)] = after
    ends = np.cumsum([0, *map(len, found.values())])
    joined = "".join(found.values())
    return (
        np.array(list(found), np.uint32),
        ends.astype(np.int64),
        np.array(list(map(ord, joined)), np.uint32),
    )


@lru_cache(maxsize=32)
def _python_text(lowercase: bool, accents: str | None, ngrams: tuple[int, int]) -> Any:
    codes, ends, replacements = _replacements(lowercase, accents)
    return kernel.PythonText(lowercase, accents == "ascii", *ngrams, codes, ends, replacements)


def pack_terms(terms: list[str]) -> TermArrays:
    """Terms as UTF-8 and offsets; lone surrogates have three bytes."""
    buffer = TextBuffer.of(terms)
    return buffer.blob, buffer.offsets


def unpack_terms(terms: TermArrays) -> list[str]:
    """The terms as strings.

    >>> unpack_terms(pack_terms(["no", "çd"]))
    ['no', 'çd']
    """
    blob, offsets = terms
    data, ends = blob.tobytes(), offsets.tolist()
    if data.isascii():
        text = data.decode("ascii")
        return [text[start:end] for start, end in pairwise(ends)]
    return [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)]


def _engine(rule: PythonRule, terms: TermArrays) -> Any:
    whole = rule.ngrams if rule.analyzer == "char" else (0, 0)
    shortest, longest = rule.ngrams if rule.analyzer == "word" else (1, 1)
    none = pack_terms([])
    stops, stop_ends = pack_terms(list(rule.stop_words)) if rule.analyzer == "word" else none
    return kernel.Engine(
        lowercase=rule.lowercase, turkish=False, digits=True, min_length=rule.min_length, cut_runs=False, emoji=False,
        symbols=False, chunks=rule.analyzer == "char_wb", html=False, message=0, shortest=shortest, longest=longest,
        stemmed=False, sections=False, keys=none[0], key_ends=none[1], modes=[], stops=stops, stop_ends=stop_ends,
        vocabulary=terms[0], vocabulary_ends=terms[1], python=_python_text(rule.lowercase, rule.accents, whole),
    )  # fmt: skip


class PythonCounter:
    r"""Counts terms; ids follow the order of first occurrence in scikit-learn's analyzers, whatever the threads.

    >>> counter = PythonCounter(PythonRule(ngrams=(1, 2)))
    >>> counts, ids, ends = counter.count(["good ball, good", "fair_play x"], grow=True)
    >>> unpack_terms(counter.terms()), counts.tolist(), ids.tolist(), ends.tolist()
    (['good', 'ball', 'good ball', 'ball good', 'fair_play'], [2, 1, 1, 1, 1], [0, 1, 2, 3, 4], [0, 4, 5])
    """

    def __init__(self, rule: PythonRule, terms: TermArrays | None = None) -> None:
        self.rule = rule
        terms = pack_terms([]) if terms is None else terms
        self._grams: Any = None
        if rule.analyzer == "char_wb":
            columns = np.arange(len(terms[1]) - 1, dtype=np.int32)
            self._grams = kernel.CharGrams(*rule.ngrams, ord(" "), *terms, columns)
            self._lock, self._unnested = fork_safe_lock(), Unnested()  # also a fixed vocabulary caches units
            terms = pack_terms([])
        self._engine = _engine(rule, terms)
        self._n_grams = len(self._grams) if self._grams is not None else 0

    def __len__(self) -> int:
        return len(self._engine) if self._grams is None else self._n_grams

    def terms(self) -> TermArrays:
        """All terms, by id."""
        if self._grams is None:
            return self._engine.terms()  # type: ignore[no-any-return]
        blob, ends = self._grams.terms(0, ord("#"))
        unmarked = np.ones(len(blob), np.bool_)
        unmarked[ends[:-1]] = False
        return blob[unmarked], ends - np.arange(len(ends))

    def places(self) -> NDArray[np.int32] | None:
        """The alphabetical place of each term; None if it has to be found from the terms themselves."""
        return None if self._grams is not None else self._engine.alphabetical()

    def count(self, texts: Texts, grow: bool = False, threads: int = 1) -> KernelRows:
        """(counts, ids, row offsets) of the texts, ids ascending in each row; new terms get ids if `grow`."""
        if isinstance(texts, TextBuffer) and len(texts.chunks) > 1:
            texts = TextBuffer(texts.blob, texts.offsets)
        if self.rule.lowercase:
            texts = _lower_sigmas(texts)
        try:
            if self._grams is None:
                return self._count(texts, grow, threads)
            with self._lock, self._unnested:
                return self._count_grams(texts, grow, threads)
        except UnnaiveError:
            raise
        except ValueError as error:
            raise BadData(str(error)) from None

    def _count(self, texts: Texts, grow: bool, threads: int) -> KernelRows:
        use = kernel.Threads(threads, WORTH_A_THREAD)
        return self._engine.count(texts, grow=grow, threads=use, limit=LARGEST_TEXT, sorted=True)  # type: ignore[no-any-return]

    def _count_grams(self, texts: Texts, grow: bool, threads: int) -> KernelRows:
        full = len(self._engine) > REMEMBERED or self._grams.cells() > REMEMBERED_CELLS
        if full or (grow and self._grams.partial()):
            self._grams.forget()
            self._engine = _engine(self.rule, pack_terms([]))
        counts, ids, ends = self._count(texts, True, threads)
        self._grams.learn(self._engine, grow=grow, next=self._n_grams, known=self._n_grams)
        self._n_grams = len(self._grams)
        units = counts, ids.astype(np.int32, copy=False), ends.astype(np.int64)
        words = NO_CELLS, NO_CELLS, np.zeros(len(ends), np.int64), NO_CELLS
        return self._grams.join(units, words, max(self._n_grams, 1), threads)  # type: ignore[no-any-return]


def _lower_sigmas(texts: Texts) -> Texts:
    """The texts with those in lower case that have Σ, which becomes ς at the end of a word and σ elsewhere."""
    lowered = {row: texts[row].lower() for row in kernel.sigma_rows(texts)}
    if not lowered:
        return texts
    if isinstance(texts, TextBuffer):
        return texts.with_texts(lowered)
    return [lowered.get(row, text) for row, text in enumerate(texts)]


def sum_columns(rows: KernelRows, columns: NDArray[np.int32], n_columns: int, threads: int = 1) -> KernelRows:
    """Rows with term i in column columns[i], those of one column summed; ids ascend in each row."""
    counts, ids, ends = rows
    none = NO_CELLS, NO_CELLS, np.zeros(len(ends), np.int64)
    words = counts, ids.astype(np.int32, copy=False), ends.astype(np.int64), columns
    empty = kernel.CharGrams(1, 1, ord(" "), *pack_terms([]), NO_CELLS)
    return empty.join(none, words, n_columns, threads)  # type: ignore[no-any-return]
