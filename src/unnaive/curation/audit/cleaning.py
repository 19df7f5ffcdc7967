"""Turn accepted findings into changes of rows: rows to drop or relabel, labels to rename."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from unnaive.base.errors import BadData
from unnaive.curation.audit.findings import DROP, LOOK, Correction
from unnaive.data.corpus import Labels


@dataclass
class Changes:
    """The changes to make, by row number from 1.

    dropped    rows to remove
    relabelled row → its new label
    renamed    label → its new name in all rows
    expected   row → its label according to the findings, for all rows that are dropped or relabelled
    """

    dropped: set[int] = field(default_factory=set)
    relabelled: dict[int, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    expected: dict[int, str] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(
        default_factory=Counter
    )  # findings of each kind that nobody has read and bulk leaves out

    @property
    def last_row(self) -> int:
        """The highest row number that occurs."""
        return max(self.expected, default=0)

    def labels(self, row: int, labels: Labels, *, several: bool = False) -> Labels | None:
        """The new labels of a row; None if it is dropped. `several`: the data is multilabel.

        >>> Changes(renamed={"Spam": "spam"}).labels(1, ("Spam",)), Changes(dropped={1}).labels(1, ("spam",))
        (('spam',), None)
        >>> Changes(relabelled={1: "oil;gas"}).labels(1, ("oil",), several=True)
        ('oil', 'gas')
        """
        if row in self.dropped:
            self.done["dropped"] += 1
            return None
        if row in self.relabelled:
            self.done["relabelled"] += 1
            proposed = self.relabelled[row]
            return tuple(proposed.split(";")) if several else (proposed,)
        changed = tuple(dict.fromkeys(self._rename(label) for label in labels))
        self.done["renamed"] += changed != labels
        return changed

    def _rename(self, label: str) -> str:
        seen = {label}
        while label in self.renamed:
            label = self.renamed[label]
            if label in seen:
                raise BadData(f"the findings rename {label!r} in a circle; accept only one of these renamings")
            seen.add(label)
        return label


def plan_changes(corrections: Iterable[Correction], *, kinds: Collection[str] = (), min_score: float = 0.0) -> Changes:
    """Collect the changes of accepted findings; findings of `kinds` with a score of at least `min_score` count too.

    Of these, findings that are not for acceptance in bulk stay as they are; `left` counts them.
    Dropping a row takes precedence over relabelling it. Two findings with different labels for one row are an error.

    >>> found = [Correction("duplicate", True, "drop", 2, "spam", "", 1.0), Correction("label-typo", True, "relabel", 0,
    ...          "spma", "spam", 0.5)]
    >>> changes = plan_changes(found)
    >>> changes.dropped, changes.renamed
    ({2}, {'spma': 'spam'})
    """
    changes = Changes()
    for correction in corrections:
        named = correction.kind in kinds and correction.score >= min_score and correction.action != LOOK
        if named and not correction.accepted and not correction.bulk:
            changes.left[correction.kind] += 1
        if not (correction.accepted or (named and correction.bulk)):
            continue
        if correction.action == LOOK and not (correction.row and correction.proposed):
            raise BadData(
                f"a finding of kind {correction.kind} on "
                f"{f'row {correction.row}' if correction.row else correction.label or 'the data'} is accepted, "
                "but its action is only to look at it; write drop or relabel into `action`, or no into `accept`"
            )
        _add(changes, correction)
    changes.relabelled = {row: label for row, label in changes.relabelled.items() if row not in changes.dropped}
    return changes


def _add(changes: Changes, correction: Correction) -> None:
    if correction.row:
        changes.expected[correction.row] = correction.label
    if correction.action == DROP and not correction.row:
        raise BadData(
            f"a finding of kind {correction.kind} has the action drop, but names no row; write no into `accept`"
        )
    if correction.action == DROP:
        changes.dropped.add(correction.row)
        return
    if correction.row:
        what, earlier = f"row {correction.row}", changes.relabelled.setdefault(correction.row, correction.proposed)
    else:
        what, earlier = (
            f"the label {correction.label!r}",
            changes.renamed.setdefault(correction.label, correction.proposed),
        )
    if earlier != correction.proposed:
        raise BadData(
            f"{what} is to become both {earlier!r} and {correction.proposed!r}; accept one of the two findings"
        )
