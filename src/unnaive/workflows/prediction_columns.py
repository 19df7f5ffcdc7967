"""The columns of predictions: those of the input, then label, value, known terms and other requested ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unnaive.base.types import RowValues

if TYPE_CHECKING:
    from unnaive.text.buffer import TextBuffer


NEW_KEYS = ("label", "labels", "known_terms", "label_set", "classes", "explanation")  # of a prediction in JSON
WRITTEN_AS_ONE = 1 - 4e-7  # probabilities from here on are 1 to six digits


@dataclass
class Layout:
    """The columns to write: those kept of the input, or the ids, then the predictions.

    kind        the name of the value of a label, "probability" or "score"
    classes     a column for each of these classes, none without --all
    top_k       number of labels with values for every document
    multilabel  whether documents are multilabel
    explain     the terms that count most for the label
    sets        the prediction set with a confidence
    kept        the columns of the input that are written again; none for plain texts, which get ids
    types       their types in Parquet, if the input has any
    """

    kind: str
    classes: tuple[str, ...] = ()
    top_k: int = 1
    multilabel: bool = False
    explain: bool = False
    sets: bool = False
    kept: tuple[str, ...] = ()
    types: Mapping[str, Any] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Whether every document has one label and nothing else was requested."""
        return not (self.multilabel or self.sets or self.explain or self.classes or self.top_k > 1)

    @property
    def first(self) -> tuple[str, ...]:
        """The columns before the predictions."""
        return self.kept or ("id",)

    def rename(self, name: str) -> str:
        """The name of a new column; predicted_… if the input has a column with that name.

        >>> Layout("probability", kept=("text", "label")).rename("label")
        'predicted_label'
        """
        while name in self.first:
            name = f"predicted_{name}"
        return name

    def row(self, record: RowValues, format: str) -> dict[str, Any]:
        """A record as a row of a table: JSON has lists and objects, CSV six digits, Parquet numbers."""
        if format == "jsonl":
            return self.before(record) | self.nested(record)
        new = self.flat(record)
        return self.before(record) | (new if format == "parquet" else {name: spell(new[name]) for name in new})

    def before(self, record: RowValues) -> dict[str, Any]:
        """The columns of the input, or the id."""
        if not self.kept:
            return {"id": record["id"]}
        cells: dict[str, Any] = record["kept"]
        return cells if tuple(cells) == self.kept else dict.fromkeys(self.kept) | cells

    def flat(self, record: RowValues) -> dict[str, Any]:
        """The new columns of a record for a table: label, value, known_terms, then other requested ones."""
        labels, values = record["labels"], record["values"]
        if self.top_k > 1:
            pairs = record["top"]
        elif self.multilabel:
            pairs = [([str(label) for label in labels], values)]
        else:
            pairs = [(str(labels[0]) if labels else "", values[0] if values else None)]
        row: dict[str, Any] = {}
        for number, (label, value) in enumerate(pairs, 1):
            row[f"label{'' if number == 1 else number}"] = label if isinstance(label, list) else str(label)
            row[f"{self.kind}{'' if number == 1 else number}"] = value
        if self.sets:
            row["label_set"] = [str(label) for label in record["set"]]
        row["known_terms"] = record["known_terms"]
        row |= dict(zip(self.classes, record["all"], strict=True)) if self.classes else {}
        if self.explain:
            row["because"] = "; ".join(
                f"{evidence.term} {evidence.value:+.2f}" for evidence in record["why"].strongest(1, 5)
            )
        return {self.rename(name): value for name, value in row.items()}

    def nested(self, record: RowValues) -> dict[str, Any]:
        """The new keys of a record for JSON: docs/prediction.schema.json."""
        labels, values = record["labels"], record["values"]
        row = {
            "label": labels[0] if labels else None, "labels": labels, self.kind: values[0] if values else None,
            "known_terms": record["known_terms"],
        }  # fmt: skip
        if self.sets:
            row["label_set"] = record["set"]
        pairs = record.get("top") or (record["given"] if self.multilabel else None)
        if self.classes:
            pairs = sorted(zip(self.classes, record["all"], strict=True), key=lambda pair: -pair[1])
        if pairs is not None:
            row["classes"] = [{"label": label, self.kind: value} for label, value in pairs]
        if self.explain:
            row["explanation"] = record["why"].to_dict()
        return {self.rename(name): value for name, value in row.items()}

    def arrow_types(self) -> dict[str, Any]:
        """The known Arrow types of the columns: those of the input file and those of the predictions."""
        import pyarrow

        several = self.multilabel and self.top_k == 1
        texts = pyarrow.list_(pyarrow.string()) if several else pyarrow.string()
        numbers = pyarrow.list_(pyarrow.float64()) if several else pyarrow.float64()
        types = dict(self.types) | {self.rename("label"): texts, self.rename(self.kind): numbers}
        return types | ({self.rename("label_set"): pyarrow.list_(pyarrow.string())} if self.sets else {})

    def columns(
        self, before: Mapping[str, Sequence[Any]], new: Sequence[Sequence[Any]]
    ) -> Callable[[], dict[str, TextBuffer]]:
        """A function that returns the columns of a plain layout as texts.

        The input or the ids, then the three `new`.
        """
        from unnaive.io.writing.csv_writer import column_texts

        def make() -> dict[str, TextBuffer]:
            missing = [None] * len(new[0])
            names = map(self.rename, ("label", self.kind, "known_terms"))
            columns = {name: column_texts(before.get(name, missing)) for name in self.first}
            return columns | dict(zip(names, map(_new_texts, new), strict=True))

        return make


def spell(value: Any) -> str:
    """A predicted value as a cell: numbers in six digits, the labels of a multilabel document joined by ";".

    >>> spell(0.123456789), spell(["oil", "gas"])
    ('0.123457', 'oil;gas')
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ";".join(map(spell, value))
    return "" if value is None else str(value)


def _new_texts(column: Sequence[Any]) -> TextBuffer:
    """A predicted column with few distinct values of one type, such as labels, counts and 1.0."""
    from unnaive.io.writing.csv_writer import encode_cells, join_cells

    if column and isinstance(column[0], float):  # 0.0 and −0.0 are equal keys but different cells
        return join_cells(encode_cells(["1" if value == 1.0 else spell(value) for value in column]))
    distinct = list(set(column))
    cells = dict(zip(distinct, encode_cells([spell(value) for value in distinct]), strict=True))
    return join_cells([cells[value] for value in column])
