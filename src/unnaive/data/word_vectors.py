"""WordVectors: words with 8-bit vectors. They are fixed, so models that use them can forget documents exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unnaive.base.elementary import log
from unnaive.base.errors import BadData, count_noun, refuse_damaged
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Arrays, Floats, Ids, Singles
from unnaive.data.array_rules import ArrayRule, check_rules
from unnaive.data.products import matmul
from unnaive.data.symmetric import eigh
from unnaive.text.counting import TextCounter
from unnaive.text.token_rule import TokenRule
from unnaive.text.vocabulary import Vocabulary

KEPT_WORDS = 100_000  # words read from a file: the first ones, which are usually the most frequent
LARGEST_CODE = 127
RARITY = 1e-3  # share of all words at which a word counts half as much as a rare one
FLOOR = 1.0  # added to each variance before whitening, relative to the mean variance


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words, the most frequent first, and their vectors as 8-bit integers.

    Lengths are not kept: the vector of a word is `codes` (n_words, n_dims) divided by its length. Nothing here depends
    on training documents, so updates and forgetting stay exact for a model with these vectors.

    >>> vectors = WordVectors.of(["ball", "vote", "goal"], [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> vectors, vectors.units.round(2).tolist()
    (WordVectors(3 words, 2 dimensions), [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """

    words: Vocabulary
    codes: NDArray[np.int8]

    @classmethod
    def of(cls, words: Sequence[str], vectors: ArrayLike, *, limit: int | None = KEPT_WORDS) -> Self:
        """The first words, at most `limit`, with their `vectors` (n_words, n_dims).

        Repeated words, and words with a zero vector, are left out.
        """
        table = np.asarray(vectors)
        if table.ndim != 2 or len(table) != len(words) or table.dtype.kind not in "fiu":
            raise BadData(
                f"word vectors came with the shape {table.shape} for {count_noun(len(words), 'word')}; give a row of "
                "numbers for each word"
            )
        first = np.fromiter({word: row for row, word in reversed(list(enumerate(words)))}.values(), np.int64)
        rows = np.sort(first)[:limit]
        table = np.asarray(table[rows], np.float32)
        if not bool(np.isfinite(table).all()):
            raise BadData("word vectors contain NaN or infinity; leave out these words")
        largest = np.abs(table).max(axis=1, initial=0)
        nonzero = np.flatnonzero(largest > 0)
        if not len(nonzero):
            raise BadData("there are no word vectors, or they are all zero; give vectors that are not zero")
        codes = np.rint(table[nonzero] * (LARGEST_CODE / largest[nonzero])[:, None]).astype(np.int8)
        return cls(Vocabulary([words[row] for row in rows[nonzero].tolist()]), codes)

    @property
    def n_dims(self) -> int:
        """How many numbers a vector has."""
        return int(self.codes.shape[1])

    @lazy_property
    def units(self) -> Singles:
        """The vectors, normalised to length 1 (n_words, n_dims)."""
        return normalise_rows(self.codes.astype(np.float32))

    def as_terms(self, rule: TokenRule) -> WordVectors:
        """The same vectors for the terms that a token rule makes of the words.

        If several words become one term, by case folding or stemming, the vector of the first is used. Words that
        become no term or several terms are left out.

        >>> vectors = WordVectors.of(["Ball", "BALL", "a", "fair play"], np.eye(4))
        >>> vectors.as_terms(TokenRule()).words.terms
        ['ball']
        """
        counter = TextCounter(
            replace(rule, analyzer="word", ngrams=(1, 1), message=None, strip_html=False, fields=None), threads=1
        )
        counts = counter.count(self.words.terms, grow=True)
        single = np.flatnonzero((np.diff(counts.indptr) == 1) & (np.asarray(counts.sum(axis=1)).ravel() == 1))
        terms, places = np.unique(counts.indices[counts.indptr[single]], return_index=True)
        order = np.argsort(places, kind="stable")
        return WordVectors(counter.vocabulary.take(terms[order].astype(np.int64)), self.codes[single[places[order]]])

    def over(self, vocabulary: Vocabulary) -> TermVectors:
        """The vectors of the terms of a vocabulary that have one."""
        columns = vocabulary.ids(self.words)
        rank = np.flatnonzero(columns >= 0)
        order = np.argsort(columns[rank], kind="stable")
        return TermVectors(columns[rank][order], self.units[rank[order]], rank[order] + 1, len(self.words))

    def to_arrays(self) -> Arrays:
        """Arrays from which `from_arrays` makes an equal value."""
        blob, offsets = self.words.to_arrays()
        return {"bytes": blob, "offsets": offsets, "codes": self.codes}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The inverse of `to_arrays`; every value is checked, since models come from files."""
        with refuse_damaged("its word vectors are"):
            words = Vocabulary.from_arrays(arrays["bytes"], arrays["offsets"])
            rule = ArrayRule("short", (len(words), "dims"), -LARGEST_CODE, LARGEST_CODE)
            check_rules({"codes": arrays["codes"]}, {"codes": rule})
            if arrays["codes"].dtype != np.int8 or not len(words) or not bool(arrays["codes"].any(axis=1).all()):
                raise ValueError("the vectors do not have a row of 8-bit integers for each word")
        return cls(words, arrays["codes"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordVectors):
            return NotImplemented
        return self is other or (self.words == other.words and np.array_equal(self.codes, other.codes))

    def __hash__(self) -> int:
        return hash((self.words, self.codes.shape))

    def __repr__(self) -> str:
        return f"WordVectors({count_noun(len(self.words), 'word')}, {count_noun(self.n_dims, 'dimension')})"

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # a value: copies of a classifier share it

    def __getstate__(self) -> dict[str, Any]:
        """The fields, which are all that is pickled."""
        return {"words": self.words, "codes": self.codes}


@dataclass(frozen=True, eq=False)
class TermVectors:
    """Vectors of length 1 of some of the columns of a matrix of counts.

    columns  the columns, ascending (n_columns,)
    units    their vectors (n_columns, n_dims)
    rank     the frequency rank of the word among all words with vectors, from 1 (n_columns,)
    n_ranks  the number of words with vectors
    """

    columns: Ids
    units: Singles
    rank: Ids
    n_ranks: int

    @property
    def n_dims(self) -> int:
        """How many numbers a vector has."""
        return int(self.units.shape[1])

    @lazy_property
    def share(self) -> Floats:
        """The share p = 1/(rank · log N) of each word among all words by Zipf's law, from its rank in a list of N."""
        return np.asarray(1.0 / (self.rank * log(max(self.n_ranks, 3))))

    @lazy_property
    def rarity(self) -> Floats:
        """The weight a/(a + p) of each word in a text, with its share p of all words and a = RARITY.

        Function words get small weights even with few training documents, because weights do not depend on them.

        Arora, Liang and Ma (2017), A simple but tough-to-beat baseline for sentence embeddings.
        """
        return np.asarray(RARITY / (RARITY + self.share))

    @lazy_property
    def whitened(self) -> Singles:
        """The vectors with equal variance in all directions, of length 1 (n_columns, n_dims).

        u_t ∝ (λ + FLOOR · mean λ)^−½ · Vᵀ (e_t − μ), where μ, λ and V are the mean, and the eigenvalues and
        eigenvectors of the covariance, of the words of texts; a word counts by its share times its weight. Dimensions
        are sorted by λ, the largest first. Otherwise the few directions that all words share would dominate.

        Mu and Viswanath (2018), All-but-the-top: simple and effective postprocessing for word representations.
        """
        weight = self.share * self.rarity
        weight /= weight.sum()
        centred = self.units - matmul(weight, self.units).astype(np.float32)
        covariance = matmul((centred * weight.astype(np.float32)[:, None]).T, centred)
        variance, directions = eigh(covariance.astype(np.float64))
        scale = 1.0 / np.sqrt(np.maximum(variance, 0.0) + FLOOR * max(float(variance.mean()), 1e-12))
        return normalise_rows(matmul(centred, (directions * scale)[:, ::-1].astype(np.float32)))


def normalise_rows(table: Singles) -> Singles:
    """Rows divided by their length; zero rows stay.

    >>> normalise_rows(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.sqrt(np.einsum("wd,wd->w", table, table))
    return np.asarray(table / np.where(lengths > 0, lengths, 1.0)[:, None])
