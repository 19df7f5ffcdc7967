"""The HTML page of an audit: drift, and the findings by kind, each with its reason and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from math import ceil

from unnaive.base.errors import count_noun
from unnaive.curation.audit.accepting import FILE, accept_box, saving_part
from unnaive.curation.audit.audit import Audit
from unnaive.curation.audit.findings import KINDS, LOOK, Finding, count_kinds
from unnaive.evaluation.drift import Drift
from unnaive.evaluation.reports import html_page as html
from unnaive.evaluation.reports.identity import Identity

SHOWN = 200  # findings of a kind on the page; the CSV has all
LONGER = 2  # times as many doubted labels as are estimated to be wrong, from which the page says what that may mean
OPEN = 20  # findings shown until the others are asked for
TILES = 5
CLEAN = f"unnaive clean DATA {FILE} -o FIXED.csv"


def audit_page(audit: Audit, *, identity: Identity | None = None, command: str = CLEAN) -> str:
    """The HTML document of an audit.

    command  what to run with the file of accepted findings; empty for data that `clean` cannot change, such as folders
    """
    sizes = html.describe_sizes(audit.n_docs, audit.n_classes, audit.n_terms)
    kinds = count_kinds(audit.findings)
    sections = [html.Section("Summary", findings_summary(audit, kinds))]
    if audit.drift is not None:
        sections.append(html.Section("Drift", drift_section(audit.drift)))
    shown: list[Finding] = []
    others: list[Finding] = []
    for kind in kinds:
        findings = [finding for finding in audit.findings if finding.kind == kind]
        sections.append(html.Section(KINDS[kind].title, kind_section(kind, findings, len(shown) if command else None)))
        shown += findings[:SHOWN]
        others += findings[SHOWN:]
    saving = saving_part(shown, others, command) if command else ""
    known = replace(identity or Identity(), sizes=sizes)
    return html.page(f"{audit.name}: audit", audit_verdict(audit), sections, identity=known, below=saving)


def audit_verdict(audit: Audit) -> str:
    """The estimate of wrong labels with its upper end, and the number of findings, in one sentence."""
    kinds = count_kinds(audit.findings)
    found = f"{count_noun(len(audit.findings), 'finding')} of {count_noun(len(kinds), 'kind')}"
    if not kinds:
        return f"Nothing was found in {count_noun(audit.n_docs, 'document')}."
    if audit.errors is None:
        return f"{found} in {count_noun(audit.n_docs, 'document')}."
    number, most = round(audit.errors.number), f"at most {ceil(audit.errors.high):,} (95 % interval)"
    labels = count_noun(audit.n_docs, "label")
    if not number:
        return f"Probably none of {labels} is wrong, {most}; {found}."
    share = 100 * audit.errors.number / max(audit.n_docs, 1)
    return f"About {number:,} of {labels} ({share:.1f} %) are probably wrong, {most}; {found}."


def findings_summary(audit: Audit, kinds: dict[str, int]) -> str:
    """Tiles with the number of findings of the most frequent kinds, the estimated number of wrong labels, and notes."""
    most = sorted(kinds, key=lambda kind: (kind != "label-error", -kinds[kind]))[:TILES]
    tiles = html.tiles((KINDS[kind].title, f"{kinds[kind]:,}") for kind in most) if kinds else ""
    rest = [f"{KINDS[kind].title.lower()} {n:,}" for kind, n in kinds.items() if kind not in most]
    sentences = [*audit.notes]
    if rest:
        sentences.insert(0, f"also {', '.join(rest)}")
    if audit.errors is not None:
        sentences.insert(0, error_sentence(audit))
    return tiles + "".join(f"<p>{escape(_capital(sentence))}</p>" for sentence in sentences)


def error_sentence(audit: Audit) -> str:
    """Sentences with the estimated number of wrong labels, and what it assumes; empty without an estimate."""
    errors = audit.errors
    if errors is None:
        return ""
    how = "leave-one-out naive Bayes" if audit.fast else "models that have not seen the document"
    share = 100 * errors.number / max(audit.n_docs, 1)
    listed = sum(finding.kind == "label-error" for finding in audit.findings)
    shown = f" ({listed:,} of them in the findings)" if listed < audit.suspects else ""
    at_most = ceil(errors.high)
    sentences = [
        f"label errors: about {errors.number:,.0f} ({share:.1f} % of the documents; at most {at_most:,}), "
        f"{audit.suspects:,} to look at{shown}",
        f"the number is an estimate from the most certain predictions of {how} for each class, and some of these are "
        "mistakes of the models: with many classes or few documents, fewer labels are wrong",
    ]
    if audit.suspects > LONGER * at_most:
        sentences.append(
            "the list is much longer than the estimate, which assumes that hard texts were labelled as carefully as "
            f"easy ones; if not, up to {ceil(errors.most):,} labels may be wrong: read some from the middle of the list"
        )
    return ". ".join([sentences[0], *map(_capital_start, sentences[1:])])


def _capital_start(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _capital(sentence: str) -> str:
    return _capital_start(sentence) + ("" if sentence.endswith(".") else ".")


def kind_section(kind: str, findings: Sequence[Finding], first_line: int | None = None) -> str:
    """The findings of a kind as a table, sorted by descending score; with boxes that are numbered from `first_line`."""
    note = html.page_note(escape(_capital(KINDS[kind].advice)))
    left = len(findings) - SHOWN
    last = html.page_note(f"{left:,} more are in the CSV.") if left > 0 else ""
    return note + findings_table(kind, findings[:SHOWN], first_line) + last


def findings_table(kind: str, findings: Sequence[Finding], first_line: int | None) -> str:
    """An HTML table with a row for each finding; empty columns are omitted."""
    cells = {
        "row": [f"{finding.row:,}" if finding.row else "" for finding in findings],
        "what": [_name(finding) for finding in findings],
        "label": [_label(finding.label) for finding in findings],
        "proposed": [_label(finding.proposed) for finding in findings],
        "p(proposed)": ["" if finding.probability is None else f"{finding.probability:.2f}" for finding in findings],
        "score": [f"{finding.score:.2f}" for finding in findings],
        "why": [escape(finding.reason).replace(" %", "&nbsp;%") for finding in findings],
        "text": [_text(finding.text) for finding in findings],
    }
    filled = [name for name, values in cells.items() if any(values)]
    columns, head = [cells[name] for name in filled], list(filled)
    if first_line is not None and any(finding.action != LOOK for finding in findings):
        columns.insert(1, [accept_box(finding, line) for line, finding in enumerate(findings, first_line)])
        head.insert(1, '<th scope="col" class="accept">accept</th>')
    rows = list(zip(*columns, strict=True))
    return html.table(head, rows, kind="findings", label=KINDS[kind].title, first=OPEN)


def _label(name: str) -> str:
    return f"<bdi>{html.breakable(name)}</bdi>" if name else ""


def _text(text: str) -> str:
    return f'<td class="text" dir="auto">{escape(text)}</td>' if text else ""


def _name(finding: Finding) -> str:
    """The id of the document; empty if it is only the row number."""
    return "" if finding.id == str(finding.row) else html.breakable(finding.id)


def drift_section(drift: Drift) -> str:
    """The result of the two-sample test, the class shares and the changed terms."""
    sentence = f"<p>{escape(_capital(drift_sentence(drift)))}</p>"
    return sentence + html.side_by_side(_share_table(drift), _term_table(drift))


def drift_sentence(drift: Drift) -> str:
    """The result of the two-sample test in a sentence."""
    test = drift.test
    verdict = "differ" if test.differs else "cannot be told apart"
    return (
        f"the {drift.n_new:,} texts of {drift.new_name} and the {drift.n_old:,} of {drift.old_name} {verdict} (p "
        f"{test.p:.2g}): a classifier that tells new from old is right about {100 * test.auc:.0f} of 100 "
        f"pairs (area {test.auc:.3f}, 95 % interval {test.low:.3f} to {test.high:.3f}; .5 is chance)"
    )


def _share_table(drift: Drift) -> str:
    if not drift.shares:
        return ""
    ordered = sorted(drift.shares, key=lambda share: -abs(share.new - share.old))
    rows = [
        (
            html.breakable(share.name),
            f"{100 * share.old:.1f} %",
            f"{100 * share.new:.1f} %",
            f"{100 * share.low:.1f} to {100 * share.high:.1f} %",
            f"{share.p:.2g}",
            "changed" if share.changed else "",
        )
        for share in ordered[:30]
    ]
    head = ("class", "old share", "new share", "95 % interval", "p", "")
    note = html.page_note(
        "Estimated by EM, which assumes that texts within a class have not changed. The interval is that of "
        "the share among these new texts; p, corrected for the number of classes (Holm), is of the test that the share "
        "is the same in both sources."
    )
    return html.headed("Class shares", note + html.table(head, rows, label="Class shares, old and new"))


def _term_table(drift: Drift) -> str:
    note = html.page_note(f"Exact test of {drift.tested_terms:,} terms, corrected for their number (Holm).")
    if not drift.terms:
        return html.headed("Terms that changed", f"{note}<p>None did, beyond chance.</p>")
    rows = [
        (escape(change.term), f"{100 * change.old:.1f} %", f"{100 * change.new:.1f} %", f"{change.p:.1g}")
        for change in drift.terms
    ]
    head = ("term", "old texts", "new texts", "p")
    return html.headed("Terms that changed", note + html.table(head, rows, label="Terms that changed most"))
