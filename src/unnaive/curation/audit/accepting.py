"""Accept findings on the page of an audit: a box for each, and the lines that the page saves for `unnaive clean`."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape

from unnaive.curation.audit.findings import COLUMNS, KINDS, LOOK, Finding
from unnaive.evaluation.reports import html_page as html
from unnaive.io.writing.csv_writer import CsvWriter

FILE = "accepted-findings.csv"


def is_accepted(finding: Finding) -> bool:
    """Whether `clean` applies the finding without anybody's decision."""
    return finding.to_dict()["accept"] == "yes"


def accept_box(finding: Finding, line: int) -> str:
    """A cell with a box for the finding of this line of the saved file; an empty cell if there is nothing to apply."""
    if finding.action == LOOK:
        return '<td class="accept"></td>'
    where = f"row {finding.row}" if finding.row else finding.label
    named = escape(f"accept: {KINDS[finding.kind].title}, {where}", quote=True)
    checked = " checked" if is_accepted(finding) else ""
    return f'<td class="accept"><input type="checkbox" data-line="{line}" aria-label="{named}"{checked}></td>'


def saving_part(shown: Sequence[Finding], others: Iterable[Finding], command: str) -> str:
    """The bar that saves the accepted findings, and their lines; empty if none of the findings can be applied.

    shown   the findings of the page, by the numbers of their boxes
    others  findings that are not on the page; those that are accepted by default are saved too, without their texts
    command  what to run with the saved file
    """
    lines = [_csv_line(finding) if finding.action != LOOK else "" for finding in shown]
    rest = [_csv_line(replace(finding, reason="", text="")) for finding in others if is_accepted(finding)]
    if not any(lines) and not rest:
        return ""
    bar = (
        '<div class="save" id="save" role="region" aria-label="Accepted findings" hidden><output></output>'
        f'<button type="button">Save {FILE}</button><span>then <code>{escape(command)}</code>, which writes the '
        "corrected data to another file</span></div>"
    )
    header = ",".join(COLUMNS) + "\n"
    return bar + html.embedded("findings", {"file": FILE, "header": header, "lines": lines, "others": rest})


def _csv_line(finding: Finding) -> str:
    """The finding as a line of the findings file, accepted."""
    file = io.StringIO()
    writer = CsvWriter(file, ",", excel_safe=True)
    writer([replace(finding, accepted=True).to_dict()])
    return file.getvalue().split("\n", 1)[1]  # without the header
