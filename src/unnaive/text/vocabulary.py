"""Term ↔ id, the columns of every matrix; counting.py grows a vocabulary, classifier/packing.py stores it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unnaive.base.errors import BadData, BadModel, count_noun
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Bytes, Ids
from unnaive.text.backend import kernel
from unnaive.text.term_order import term_order


@dataclass(frozen=True, eq=False)
class TermTable:
    """The engine that has counted the terms of a vocabulary, for a scorer to look them up in.

    ids  the id in the vocabulary of each of the engine's terms; empty if they are the same
    """

    engine: Any
    ids: Ids

    def in_order(self, order: Ids) -> TermTable:
        """The table of the vocabulary whose term i is term order[i] of this one's."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return TermTable(self.engine, place[self.ids] if len(self.ids) else place)


class Vocabulary:
    """An immutable list of distinct terms; the id of a term is its position.

    It is built from terms, or from one UTF-8 blob and its offsets; the other form is derived on demand.

    >>> vocabulary = Vocabulary(["ball", "vote"])
    >>> vocabulary.id("vote"), "goal" in vocabulary, vocabulary.ids(["goal", "ball"])
    (1, False, array([-1,  0]))
    """

    table: TermTable | None = None  # of the counter that has found the terms, if it learns no more
    _in_order = False  # whether the terms are known to be sorted

    def __init__(self, terms: Iterable[str] = ()) -> None:
        if isinstance(terms, str):
            raise BadData("a vocabulary came as one str; give a list of terms")
        self.terms = list(terms)
        strange = next((term for term in self.terms if not isinstance(term, str)), None)
        if strange is not None:
            raise BadData(f"a term of the vocabulary is {strange!r}; give only str")
        if len(self._index) != len(self.terms):
            raise BadData(f"the vocabulary has {_repeated(self.terms)!r} twice; give every term once")

    @classmethod
    def trusted(cls, blob: Bytes, offsets: Ids, *, in_order: bool = False) -> Vocabulary:
        """A vocabulary over arrays that need no check, such as the kernel's; `in_order` if its terms are sorted."""
        self = cls.__new__(cls)
        self._arrays = (blob, offsets)
        self._in_order = in_order
        return self

    @classmethod
    def from_arrays(cls, blob: ArrayLike, offsets: ArrayLike) -> Vocabulary:
        """The inverse of `to_arrays`; raises BadModel for arrays that are not a vocabulary."""
        bytes_, ends = _checked_arrays(np.asarray(blob), np.asarray(offsets))
        self = cls.trusted(bytes_, ends)
        decodable, distinct = _checked_terms(self)
        if not decodable:
            raise BadModel("the vocabulary holds bytes that are not UTF-8; the model file is damaged")
        if not distinct:
            raise BadModel(f"the vocabulary has {_repeated(self.terms)!r} twice; the model file is damaged")
        return self

    @lazy_property
    def terms(self) -> list[str]:
        """The terms, by id."""
        blob, offsets = self._arrays
        data, ends = blob.tobytes(), offsets.tolist()
        return [data[start:end].decode() for start, end in pairwise(ends)]

    @lazy_property
    def _arrays(self) -> tuple[Bytes, Ids]:
        try:
            encoded = [term.encode() for term in self.terms]
        except UnicodeEncodeError as error:
            raise BadData(f"the term {error.object!r} cannot be encoded as UTF-8; remove it") from error
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(term) for term in encoded], out=offsets[1:])
        return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets

    @lazy_property
    def _index(self) -> dict[str, int]:
        return {term: number for number, term in enumerate(self.terms)}

    def to_arrays(self) -> tuple[Bytes, Ids]:
        """(UTF-8 of all terms concatenated, the start of each term and the end of the last)."""
        return self._arrays

    def __len__(self) -> int:
        return len(self.terms) if "terms" in self.__dict__ else len(self._arrays[1]) - 1

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __contains__(self, term: object) -> bool:
        return term in self._index

    def __getitem__(self, index: int) -> str:
        return self.terms[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        arrays, other_arrays = self._arrays, other._arrays
        return np.array_equal(arrays[1], other_arrays[1]) and np.array_equal(arrays[0], other_arrays[0])

    def __hash__(self) -> int:
        blob, offsets = self._arrays
        return hash((blob.tobytes(), len(offsets)))

    def __getstate__(self) -> dict[str, Any]:
        """Copies, also in other processes, have no table."""
        return {name: value for name, value in vars(self).items() if name != "table"}

    def __repr__(self) -> str:
        few = ", ".join(map(repr, self.terms[:3]))
        return f"Vocabulary({count_noun(len(self), 'term')}{': ' if few else ''}{few}{', …' if len(self) > 3 else ''})"

    def id(self, term: str) -> int:
        """The id of a known term; use `ids` for terms that may be unknown."""
        if term not in self._index:
            raise BadData(f"the term {term!r} is not among the {len(self)} terms of the vocabulary")
        return self._index[term]

    def ids(self, terms: Iterable[str]) -> Ids:
        """The id of each term; -1 for unknown terms."""
        if isinstance(terms, Vocabulary) and kernel is not None:
            ids_or_new = kernel.place_terms(*self._arrays, *terms._arrays)
            return np.where(ids_or_new < len(self), ids_or_new, -1)
        return np.fromiter((self._index.get(term, -1) for term in terms), dtype=np.int64)

    def union(self, other: Vocabulary) -> tuple[Vocabulary, Ids]:
        """(the union: these terms, then the other's new terms in order; the ids of the other's terms in the union).

        >>> both, ids = Vocabulary(["a", "b"]).union(Vocabulary(["c", "a"]))
        >>> both.terms, ids
        (['a', 'b', 'c'], array([2, 0]))
        """
        if kernel is None:
            lacking = [term for term in other if term not in self._index]
            both = Vocabulary([*self.terms, *lacking]) if lacking else self
            return both, both.ids(other)
        ids = kernel.place_terms(*self._arrays, *other._arrays)
        new = np.flatnonzero(ids >= len(self))
        return self.followed_by(other._taken(new)) if len(new) else self, ids

    def followed_by(self, more: Vocabulary) -> Vocabulary:
        """These terms, followed by `more`; the two must be disjoint."""
        (blob, offsets), (other, ends) = self._arrays, more._arrays
        return Vocabulary.trusted(np.concatenate([blob, other]), np.concatenate([offsets, offsets[-1] + ends[1:]]))

    def with_pairs(self, first: Ids, second: Ids) -> Vocabulary:
        """Each term, followed by the pairs that begin with it; pairs are ids (`first`, `second`), ascending.

        >>> Vocabulary(["go", "now"]).with_pairs(np.array([0, 0]), np.array([0, 1])).terms
        ['go', 'go go', 'go now', 'now']
        """
        starts = np.searchsorted(first, np.arange(len(self))) * 3 + np.arange(
            len(self)
        )  # positions of the terms among all parts
        of_pairs = np.arange(len(first)) * 3 + first + 1
        parts = np.empty(len(self) + 3 * len(first), np.int64)
        parts[starts] = np.arange(len(self))
        parts[of_pairs], parts[of_pairs + 1], parts[of_pairs + 2] = first, len(self), second
        blob, ends = self.followed_by(Vocabulary([" "]))._taken(parts)._arrays
        begins = np.zeros(len(parts) + 1, np.bool_)
        begins[starts], begins[of_pairs], begins[-1] = True, True, True
        return Vocabulary.trusted(blob, ends[begins])

    def in_order(self, order: NDArray[np.int64] | None = None) -> Vocabulary:
        """The same terms sorted by code point, which is also the order of their bytes; itself if already sorted.

        `order` is the result of `order()`, if already computed.

        >>> Vocabulary(["vote", "ball"]).in_order().terms
        ['ball', 'vote']
        """
        order = self.order() if order is None else order
        if order is None:
            return self
        ordered = self._taken(order)
        if self.table is not None:
            ordered.table = self.table.in_order(order)
        return ordered

    def order(self) -> NDArray[np.int64] | None:
        """The ids of the terms sorted by code point; None if they are already in that order.

        >>> Vocabulary(["vote", "ball"]).order()
        array([1, 0])
        """
        if self._in_order:
            return None
        return term_order(*self._arrays) if kernel is None else kernel.term_order(*self._arrays)

    def take(self, ids: ArrayLike) -> Vocabulary:
        """The vocabulary of the terms with these ids, in this order.

        >>> Vocabulary(["a", "b", "c"]).take([2, 0]).terms
        ['c', 'a']
        """
        chosen = np.asarray(ids)
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < len(self)):
            raise BadData(
                f"ids range from {chosen.min()} to {chosen.max()}, but the vocabulary has "
                f"{count_noun(len(self), 'term')}"
            )
        if chosen.size and int(np.bincount(chosen).max()) > 1:
            return Vocabulary(self.terms[number] for number in chosen.tolist())  # the error names the repeated term
        return self._taken(chosen)

    def since(self, first: int) -> Vocabulary:
        """The vocabulary of the terms from id `first` on.

        >>> Vocabulary(["a", "b", "c"]).since(1).terms
        ['b', 'c']
        """
        blob, offsets = self._arrays
        return Vocabulary.trusted(blob[offsets[first] :], offsets[first:] - offsets[first])

    def _taken(self, ids: NDArray[Any]) -> Vocabulary:
        """`take` for distinct ids; copies bytes and decodes no term."""
        blob, offsets = self._arrays
        if kernel is not None:
            return Vocabulary.trusted(*kernel.take_terms(blob, offsets, np.ascontiguousarray(ids, np.int64)))
        starts, lengths = offsets[:-1][ids], np.diff(offsets)[ids]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        index = np.int32 if len(blob) < 1 << 31 else np.int64
        # the position in the old blob of each byte of the new blob
        places = np.repeat((starts - ends[:-1]).astype(index), lengths)
        places += np.arange(ends[-1], dtype=index)
        return Vocabulary.trusted(blob[places], ends)


def _repeated(terms: list[str]) -> str:
    """The first repeated term."""
    seen: set[str] = set()
    return next(term for term in terms if term in seen or seen.add(term))  # type: ignore[func-returns-value]


def _checked_terms(vocabulary: Vocabulary) -> tuple[bool, bool]:
    """(whether all terms are UTF-8, whether all are distinct); the kernel checks this without decoding terms."""
    if kernel is not None:
        odd, again = kernel.check_terms(*vocabulary.to_arrays())
        return odd < 0, again < 0
    try:
        return True, len(set(vocabulary.terms)) == len(vocabulary)
    except UnicodeDecodeError:
        return False, True


def _checked_arrays(blob: NDArray[Any], offsets: NDArray[Any]) -> tuple[Bytes, Ids]:
    """Check the types and offsets of the arrays of a vocabulary; the terms are checked later."""
    damaged = "the model file is damaged"
    if blob.ndim != 1 or blob.dtype != np.uint8:
        raise BadModel(
            f"the vocabulary's bytes are {blob.dtype} of {blob.ndim} dimensions, not one dimension of uint8; {damaged}"
        )
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(offsets) < 1:
        raise BadModel(f"the vocabulary's offsets are {offsets.dtype} of shape {offsets.shape}; {damaged}")
    # compared, not subtracted: differences of malicious numbers may overflow
    if int(offsets[0]) != 0 or int(offsets[-1]) != len(blob) or bool((offsets[1:] < offsets[:-1]).any()):
        raise BadModel(f"the vocabulary's offsets do not match its {len(blob)} bytes; {damaged}")
    return np.ascontiguousarray(blob), offsets.astype(np.int64)
