"""SumOfLinears scores documents by a sum of linear models, each over its own columns, such as words or vectors."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.elementary import exp
from unnaive.base.errors import BadModel, choose
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Arrays, Floats, Ids, Sparse
from unnaive.data.array_rules import ArrayRule, check_keys, check_rules, read_whole
from unnaive.data.products import add_tf_idf, places_of, take_columns
from unnaive.linear.linear import Linear
from unnaive.linear.links import LINKS
from unnaive.linear.scorer import Contributions, Scorer
from unnaive.text.scoring import TfIdfPart


@dataclass(frozen=True, eq=False)
class SumOfLinears(Scorer):
    """score = bias + Σ_parts linear(x[columns]), log-odds of each class; `link` says whether classes are exclusive.

    parts  the columns of each part, ascending, and the linear model over them
    bias   (n_classes,); −∞ for a class without documents, which is never predicted
    """

    kind: ClassVar[str] = "pool"

    parts: tuple[tuple[Ids, Linear], ...]
    bias: Floats
    n_terms: int
    link: str = "one-of-all"

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.bias)

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        X = csr_array(X)
        total = np.tile(self.bias, (X.shape[0], 1))
        for (columns, linear), table in zip(self.parts, self._tables, strict=True):
            if (
                table is not None
                and table.row_of_term is not None
                and add_tf_idf(X, *table[:3], total, norm=table.norm)
            ):
                total += linear.bias
            else:
                total += linear.scores(take_columns(X, columns))
        return total

    def tf_idf_parts(self) -> tuple[Floats, list[TfIdfPart]] | None:
        """The bias and the parts, if every part is a table of weights over tf-idf; else None."""
        parts = [part for part in self._tables if part is not None]
        return (self.bias, parts) if len(parts) == len(self.parts) else None

    @lazy_property
    def _tables(self) -> list[TfIdfPart | None]:
        """Each part as a table that scores documents while they are read; None for a part without tf-idf."""
        tables = [linear.tf_idf_table for _, linear in self.parts]
        return [
            table and TfIdfPart(places_of(columns, self.n_terms), *table, linear.bias, linear.weighting.norm or "l2")
            for table, (columns, linear) in zip(tables, self.parts, strict=True)
        ]

    def contributions(self, document: Sparse, chosen: int, rival: int | None) -> Contributions:
        """The contributions of all parts, summed per term."""
        possible = np.isfinite(self.bias)
        reference = self.bias[possible].mean() if self.meaning.exclusive else 0.0
        base = float(self.bias[chosen] - (reference if rival is None else self.bias[rival]))
        values = np.zeros(document.shape[1])
        for columns, linear in self.parts:
            row = take_columns(csr_array(document), columns)
            part = linear.contributions(row, chosen, rival, possible)
            base += part.base
            values[columns[row.indices]] += part.values
        return Contributions(base, values[document.indices])

    def strongest_terms(self, chosen: int, frequency: Floats | None, limit: int) -> list[tuple[int, float]]:
        """The strongest terms of the first part, which is words if there are any."""
        if not self.parts:
            return []
        columns, linear = self.parts[0]
        term_frequency: Floats | None = None if frequency is None else frequency[columns]
        if term_frequency is None and linear.weighting.idf is not None:
            term_frequency = exp(1 - linear.weighting.idf)  # the share of documents that have the term, from idf
        strongest = linear.strongest_terms(chosen, term_frequency, limit, np.isfinite(self.bias))
        return [(int(columns[term]), value) for term, value in strongest]

    def used_terms(self) -> Ids | None:
        """The columns that any part reads; None if all columns are read."""
        used = np.zeros(self.n_terms, np.bool_)
        for columns, _ in self.parts:
            used[columns] = True
        return None if used.all() else np.flatnonzero(used)

    def take_terms(self, columns: Ids) -> SumOfLinears:
        """The sum over `columns` only, which must include all used columns; scores stay the same."""
        new_column = np.full(self.n_terms, -1, np.int64)
        new_column[columns] = np.arange(len(columns))
        parts = tuple((new_column[part_columns], linear) for part_columns, linear in self.parts)
        return replace(self, parts=parts, n_terms=len(columns))

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and plain settings from which `from_arrays` makes an equal scorer."""
        arrays: Arrays = {"bias": self.bias}
        settings: dict[str, Any] = {"n_terms": self.n_terms, "link": self.link, "parts": []}
        for number, (columns, linear) in enumerate(self.parts):
            part_arrays, about = linear.to_arrays()
            arrays |= {f"{number}.{name}": values for name, values in part_arrays.items()} | {
                f"{number}.columns": columns
            }
            settings["parts"].append(about)
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """The inverse of `to_arrays`; every value is checked, since models come from files."""
        try:
            check_keys(settings, "n_terms", "link", "parts")
            n_terms = read_whole(settings["n_terms"], "n_terms")
            link = choose(list(LINKS), settings["link"], "link")
            own_arrays = {name: array for name, array in arrays.items() if not _part_number(name, settings["parts"])}
            check_rules(own_arrays, {"bias": ArrayRule("float", ("classes",), or_minus_infinity=True)})
            bias = own_arrays["bias"].astype(np.float64, copy=False)
            parts = [_read_part(arrays, number, about, n_terms, len(bias))
                     for number, about in enumerate(settings["parts"])]  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise BadModel(f"the pool in this model is damaged ({problem}); train it again") from problem
        return cls(tuple(parts), bias, n_terms, link)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields only."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


def _part_number(name: str, parts: Any) -> bool:
    """Whether an array belongs to one of the parts."""
    number, dot, _ = name.partition(".")
    return bool(dot) and number.isdecimal() and number == str(int(number)) and int(number) < len(parts)


def _read_part(arrays: Arrays, number: int, about: Any, n_terms: int, n_classes: int) -> tuple[Ids, Linear]:
    """Read the columns and the linear model of a part; raise ValueError if they do not fit the pool."""
    start = f"{number}."
    part_arrays = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
    rule = ArrayRule("whole", ("columns",), 0, below="terms")
    columns = {"columns": part_arrays.pop("columns")}
    check_rules(columns, {"columns": rule}, terms=n_terms)
    linear, places = Linear.from_arrays(part_arrays, about), columns["columns"].astype(np.int64)
    if linear.n_terms != len(places) or linear.n_classes != n_classes:
        raise ValueError(f"the terms or classes of part {number} do not match the pool")
    if bool((places[1:] <= places[:-1]).any()):
        raise ValueError(f"the terms of part {number} are not in ascending order")
    return places, linear
