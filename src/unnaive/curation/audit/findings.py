"""A finding is a possible problem in the data, and one row of the findings table.

It says what the problem is, where it is, why it is suspected, and what to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from unnaive.base.errors import BadData
from unnaive.io.writing.csv_writer import cell_text

DROP, RELABEL, LOOK = "drop", "relabel", "look"  # what `unnaive clean` does with an accepted finding
ACTIONS = (DROP, RELABEL, LOOK)
YES, NO = "yes", "no"


@dataclass(frozen=True)
class Kind:
    """A kind of finding: its title, what to do about it, and whether `clean` applies it by default."""

    title: str
    advice: str
    accepted: bool = False


# in display order
KINDS = {
    "label-error": Kind("Suspected label errors", "read the text; if the proposed label is right, accept"),
    "duplicate-conflict": Kind(
        "Same text, different labels", "decide which label is right; accept to give the text the most frequent one"
    ),
    "near-duplicate-conflict": Kind(
        "Nearly the same text, different labels", "compare the two texts; if they mean the same, one label is wrong"
    ),
    "leak": Kind(
        "Texts of the training part in the test part",
        "accept to drop this copy: measures on a text that was learnt flatter the model",
    ),
    "near-leak": Kind(
        "Test texts nearly the same as a training text",
        "compare the two; accept to drop this copy if it is the same document",
    ),
    "duplicate": Kind(
        "Same text twice",
        "one copy is enough; the others are dropped, unless their other columns differ: then you decide",
        accepted=True,
    ),
    "near-duplicate": Kind("Nearly the same text", "compare the two texts; accept to keep only the first"),
    "leaking-column": Kind(
        "Columns that tell the label",
        "do not train on this column unless new documents have it before they are labelled",
    ),
    "boilerplate": Kind(
        "Lines that tell the label",
        "if new documents will not have these lines, leave them out (for mail: --set message=subject-body)",
    ),
    "label-spelling": Kind("Spellings of one label", "accepted: all get the most frequent spelling", accepted=True),
    "missing-label": Kind(
        "Labels that look like missing values",
        "read such rows as unlabelled: --set ignore-label=LABEL in every command",
    ),
    "label-prefix": Kind(
        "Labels with the prefix of fastText",
        "accepted: the prefix is taken off; or read with --set label-prefix=__label__",
        accepted=True,
    ),
    "label-typo": Kind(
        "Labels that are spelt nearly the same", "accept if it is a typing error for the proposed label"
    ),
    "small-class": Kind("Classes too small to learn", "label more documents of it, or join it with a related class"),
    "confused-classes": Kind(
        "Classes confused into one another", "tell them apart in the labelling guide, or merge them: accept to merge"
    ),
    "empty-text": Kind("Empty texts", "nothing can be learnt from them; they are dropped", accepted=True),
    "short-text": Kind("Texts of one word", "see whether the text column was read right; accept to drop"),
    "foreign-script": Kind("Texts in another script", "see whether they belong here; accept to drop"),
    "foreign-language": Kind(
        "Texts that seem to be in another language", "see whether they belong here; accept to drop"
    ),
}


@dataclass(frozen=True)
class Finding:
    """One possible problem.

    kind      a name in KINDS
    reason    one sentence with the evidence
    action    "drop" the row, "relabel" it as `proposed`, or only "look"; done by `unnaive clean` if accepted
    row       the row number in the data, from 1; 0 if the finding is not about a single row
    id        the name of the document in the data
    label     the label in question
    proposed  the proposed label
    probability  that of the proposed label, by models that have not seen the document; None if it was not estimated
    accepted  whether `unnaive clean` applies it by default; None for the default of its kind
    bulk      whether `clean --accept KIND` applies it, which accepts findings that nobody has read
    score     the confidence, from 0 to 1; findings of a kind are sorted by it
    others    numbers of the rows that it was compared with
    text      the start of the text
    """

    kind: str
    reason: str
    action: str = LOOK
    row: int = 0
    id: str = ""
    label: str = ""
    proposed: str = ""
    score: float = 1.0
    others: tuple[int, ...] = ()
    text: str = ""
    probability: float | None = None
    accepted: bool | None = None
    bulk: bool = True

    @property
    def advice(self) -> str:
        """What to do about a finding of this kind."""
        return KINDS[self.kind].advice

    def to_dict(self) -> dict[str, str]:
        """The cells of the finding in the findings table, by column.

        >>> Finding("empty-text", "the text is empty", "drop", row=3).to_dict()["accept"]
        'yes'
        """
        accepted = KINDS[self.kind].accepted if self.accepted is None else self.accepted
        return {
            "kind": self.kind,
            "row": str(self.row) if self.row else "",
            "id": self.id,
            "label": self.label,
            "proposed": self.proposed,
            "p_proposed": "" if self.probability is None else f"{self.probability:.4f}",
            "action": self.action,
            "accept": YES if accepted and self.action != LOOK else NO,
            "bulk": YES if self.bulk and self.action != LOOK else NO,
            "score": f"{self.score:.4f}",
            "reason": self.reason,
            "what_to_do": self.advice,
            "other_rows": " ".join(map(str, self.others)),
            "text": self.text,
        }


COLUMNS = tuple(Finding("empty-text", "").to_dict())


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Sort by kind in the order of KINDS, then by descending score, then by row."""
    rank = {kind: number for number, kind in enumerate(KINDS)}
    return sorted(findings, key=lambda finding: (rank[finding.kind], -finding.score, finding.row))


def count_kinds(findings: Iterable[Finding]) -> dict[str, int]:
    """The number of findings of each kind that occurs, in the order of KINDS."""
    counted = Counter(finding.kind for finding in findings)
    return {kind: counted[kind] for kind in KINDS if counted[kind]}


@dataclass(frozen=True)
class Correction:
    """A row of a findings file, as `unnaive clean` reads it; the fields are those of Finding."""

    kind: str
    accepted: bool
    action: str
    row: int
    label: str
    proposed: str
    score: float
    bulk: bool = True


def read_corrections(rows: Iterable[Mapping[str, Any]], name: str) -> list[Correction]:
    """Read a findings file; the column `accept` may be yes or no, y or n, 1 or 0, true or false, or empty.

    >>> found = read_corrections([Finding("empty-text", "the text is empty", "drop", row=3).to_dict()], "findings.csv")
    >>> found[0].accepted, found[0].action, found[0].row
    (True, 'drop', 3)
    """
    return [_correction(_check_columns(row, name), f"row {number} of {name}") for number, row in enumerate(rows, 1)]


def _check_columns(row: Mapping[str, Any], name: str) -> dict[str, str]:
    missing = {"kind", "row", "label", "proposed", "action", "accept", "bulk"} - row.keys()
    if missing:
        raise BadData(
            f"{name} has no column {min(missing)!r}; give the findings file that `unnaive audit` wrote, with all of "
            "its columns"
        )
    return {column: cell_text(value).strip() for column, value in row.items()}


def _correction(row: dict[str, str], where: str) -> Correction:
    kind, action = row["kind"], row["action"]
    if kind not in KINDS:
        raise BadData(f"{where} has the kind {kind!r}; there are {', '.join(KINDS)}")
    if action not in ACTIONS:
        raise BadData(f"{where} has the action {action!r}; there are {', '.join(ACTIONS)}")
    number = row["row"]
    if number and not number.isdecimal():
        raise BadData(f"{where} has the row {number!r}; expected a number from 1 on, or nothing")
    label, proposed = _without_mark(row["label"]), _without_mark(row["proposed"])
    accepted, bulk = _is_yes(row["accept"], where, "accept"), _is_yes(row["bulk"], where, "bulk")
    if accepted and action == RELABEL and not proposed:
        raise BadData(f"{where} is accepted, but proposes no label; fill in `proposed`, or write no into `accept`")
    try:
        score = float(row.get("score") or 1.0)
    except ValueError:
        raise BadData(f"{where} has the score {row.get('score')!r}; expected a number from 0 to 1") from None
    return Correction(kind, accepted, action, int(number or 0), label, proposed, score, bulk)


def _without_mark(cell: str) -> str:
    """The cell without the leading ' that stops a spreadsheet from running it as a formula."""
    return cell[1:] if cell[:1] == "'" and not cell[1:2].isalnum() else cell


def _is_yes(cell: str, where: str, column: str) -> bool:
    word = cell.strip().casefold()
    if word in ("yes", "y", "1", "true", "x"):
        return True
    if word in ("", "no", "n", "0", "false"):
        return False
    raise BadData(f"{where} has {cell!r} in the column {column}; expected yes or no")
