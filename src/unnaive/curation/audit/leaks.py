"""Find leaks of the label outside the text proper: columns of the table, and boilerplate lines in the texts.

The test is the same for both: leave-one-out naive Bayes on the column, or on the lines, alone (leave_one_out.py). If it
is right far more often than predicting the largest class, the label leaks there. Lines are grouped by the text before a
colon, as in mail headers. A field that most texts have was written by a program, so it is reported if it predicts the
label at all better than chance. Fields and recurring lines that occur almost only in one class are reported as well.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unnaive.base.errors import count_noun
from unnaive.base.types import Ids
from unnaive.curation.audit.audit_input import AuditData, excerpt
from unnaive.curation.audit.findings import Finding
from unnaive.curation.audit.leave_one_out import LeaveOneOut
from unnaive.evaluation.significance import holm
from unnaive.learning.confidence_interval import wilson_interval
from unnaive.text.counting import TextCounter
from unnaive.text.sections import is_record

FEWEST_DOCUMENTS = 20  # minimum number of documents with the field
ABOVE_GUESSING = 0.15  # minimum gain of accuracy over predicting the largest class, at the lower end of the interval
SURE_COLUMN = 0.9  # minimum share of one class among the documents that have a line
FIELD = re.compile(r"^([A-Za-z][A-Za-z0-9-]{1,30}): ?(.*)$")
DIGITS = re.compile(r"\d+")
MOST_FIELDS = 40
LONGEST_LINE = 200  # characters; longer lines are prose
BINS = 20
ALPHA = 0.01


@dataclass(frozen=True)
class FieldPower:
    """How well a field alone predicts the label.

    n      documents that have the field
    right  how many of them are predicted correctly from it
    guess  the accuracy of always predicting the largest class
    """

    n: int
    right: int
    guess: float

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval of the accuracy."""
        return wilson_interval(self.right, self.n)[0]

    @property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        return self.right / max(self.n, 1)

    @property
    def tells(self) -> bool:
        """Whether the field predicts clearly better than always predicting the largest class."""
        return self.n >= FEWEST_DOCUMENTS and self.low > self.guess + ABOVE_GUESSING * (1 - self.guess)


def field_power(values: Sequence[str], codes: Ids, n_classes: int, *, whole: bool = False) -> FieldPower:
    """How well values predict the classes `codes`, by leave-one-out naive Bayes; `whole` treats each value as one word.

    >>> power = field_power(["a"] * 10 + ["b"] * 10, np.repeat([0, 1], 10), 2, whole=True)
    >>> power.right, power.guess
    (20, 0.5)
    """
    if whole:
        names = {value: f"v{number}" for number, value in enumerate(dict.fromkeys(values))}
        values = [names[value] for value in values]
    X = TextCounter().count(list(values), grow=True)
    model = LeaveOneOut.of(X, codes, n_classes)
    right = sum(int(np.sum(scores.argmax(axis=1) == codes[rows])) for rows, scores in model.blocks())
    guess = np.bincount(codes, minlength=n_classes).max() / max(len(codes), 1)
    return FieldPower(len(codes), right, float(guess))


def column_findings(data: AuditData) -> list[Finding]:
    """Columns besides text and label that predict the label by themselves."""
    findings = []
    rows = np.flatnonzero(data.codes >= 0)
    codes = data.codes[rows]
    for name, values in data.columns.items():
        cells = [_cell(values[row]) for row in rows.tolist()]
        filled = np.array([bool(cell) for cell in cells])
        if filled.sum() < FEWEST_DOCUMENTS:
            continue
        filled_cells, filled_codes = [cell for cell in cells if cell], codes[filled]
        power = max(
            (
                field_power(*arguments, len(data.classes), whole=whole)
                for arguments, whole in _readings(filled_cells, filled_codes)
            ),
            key=lambda candidate: candidate.right,
        )
        if power.tells:
            reason = (
                f"the column {name!r} alone gives the label of {100 * power.accuracy:.0f} % of {power.n:,} rows; "
                f"guessing the largest class gives {100 * power.guess:.0f} %"
            )
            findings.append(Finding("leaking-column", reason, id=name, score=power.low))
    return findings


def _cell(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _readings(values: list[str], codes: Ids) -> Iterator[tuple[tuple[list[str], Ids], bool]]:
    """Yield the values as categories, then as words; a column of many different numbers also as twenty bins."""
    yield (values, codes), True
    yield (values, codes), False
    if len(set(values)) > BINS:
        try:
            numbers = np.array([float(value) for value in values])
        except ValueError:
            return
        if np.all(np.isfinite(numbers)):
            cuts = np.unique(np.quantile(numbers, np.linspace(0, 1, BINS + 1)[1:-1]))
            yield ([str(number) for number in np.searchsorted(cuts, numbers, side="right")], codes), True


def boilerplate_findings(data: AuditData) -> list[Finding]:
    """Header fields whose values predict the label, and recurring lines that occur almost only in one class."""
    rows = [int(row) for row in np.flatnonzero(data.codes >= 0)]
    fields: dict[str, dict[int, str]] = defaultdict(dict)
    lines: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        for line in [] if is_record(data.texts[row]) else data.texts[row].splitlines():
            line = line.strip()
            if not line or len(line) > LONGEST_LINE:
                continue
            match = FIELD.match(line)
            if match:
                values = fields[match.group(1)]
                values[row] = f"{values[row]} {match.group(2)}" if row in values else match.group(2)
            elif " " in line:
                lines[DIGITS.sub("0", line)].add(row)
    return [*_field_findings(data, fields), *_line_findings(data, lines)]


def _field_findings(data: AuditData, fields: dict[str, dict[int, str]]) -> Iterator[Finding]:
    """Fields that predict the label well, fields of most texts that predict it at all, and fields of one class."""
    from scipy.stats import binom

    common = sorted((name for name in fields if len(fields[name]) >= FEWEST_DOCUMENTS), key=lambda n: -len(fields[n]))
    common = common[:MOST_FIELDS]
    powers = {name: _value_power(data, fields[name]) for name in common}
    # the best of up to three readings is tested: Bonferroni's factor three
    chances = [min(3 * float(binom.sf(power.right - 1, power.n, power.guess)), 1.0) for power in powers.values()]
    sure = dict(zip(common, (p < ALPHA for p in holm(chances)), strict=True))
    n_labelled = int(np.sum(data.codes >= 0))
    for name, power in powers.items():
        usual = power.n > n_labelled / 2
        if not power.tells and not (usual and sure[name]):
            continue
        reason = (
            f"the lines “{name}: …” of {power.n:,} texts alone give the label of {_percent(power.accuracy)} of "
            f"them; guessing the largest class gives {_percent(power.guess)}"
        )
        if not power.tells:
            reason += "; the difference is small, but beyond chance"
        yield Finding("boilerplate", reason, id=f"{name}:", score=power.low)
    rest = [name for name in common if not powers[name].tells]
    yield from _one_class_findings(data, {tuple(sorted(fields[name])): [f"{name}:"] for name in rest})


def _value_power(data: AuditData, values: dict[int, str]) -> FieldPower:
    rows = np.array(sorted(values))
    readings = _readings([values[row].strip() for row in rows.tolist()], data.codes[rows])
    powers = (field_power(*arguments, len(data.classes), whole=whole) for arguments, whole in readings)
    return max(powers, key=lambda power: power.right)


def _percent(share: float) -> str:
    """Format a percentage; one decimal below 10 %."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"


def _line_findings(data: AuditData, lines: dict[str, set[int]]) -> Iterator[Finding]:
    """Report lines of at least 20 texts; lines that occur in the same texts, such as a signature, are one finding."""
    blocks: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for line, rows in lines.items():
        if len(rows) >= FEWEST_DOCUMENTS:
            blocks[tuple(sorted(rows))].append(line)
    yield from _one_class_findings(data, blocks)


def _one_class_findings(data: AuditData, blocks: dict[tuple[int, ...], list[str]]) -> Iterator[Finding]:
    """Report lines with at least 90 % of their documents in one class, if significant by the hypergeometric test.

    blocks  the lines, by the documents that have them
    """
    from scipy.stats import hypergeom

    sizes = np.bincount(data.codes[data.codes >= 0], minlength=len(data.classes))
    tested = []
    for members in blocks:
        label, n = Counter(data.codes[list(members)].tolist()).most_common(1)[0]
        p = float(hypergeom.sf(n - 1, int(sizes.sum()), int(sizes[label]), len(members))) * len(data.classes)
        tested.append((label, n, min(p, 1.0)))
    corrected = holm([p for _, _, p in tested])
    for (members, same), (label, n, _), p in zip(blocks.items(), tested, corrected, strict=True):
        size, class_name = len(members), data.classes[label]
        if p < ALPHA and n / size >= SURE_COLUMN:
            name = excerpt(same[0], 60)
            more = f" and {count_noun(len(same) - 1, 'more line')}" if len(same) > 1 else ""
            which = f"the line “{name}”{more} {'are' if more else 'is'} in {size:,} texts"
            reason = f"{which}, {n:,} of them of the class {class_name!r} (p {p:.1g})"
            yield Finding("boilerplate", reason, id=name, label=class_name, score=wilson_interval(n, size)[0])
