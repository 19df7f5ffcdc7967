"""`unnaive audit`: problems of labelled data, as a page and a CSV file of findings; drift against new data."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.cli.overwriting import refuse_inputs
from unnaive.apps.cli.word_options import token_options
from unnaive.apps.common.option_markers import BY_SET
from unnaive.apps.common.path_options import READ, WRITTEN, written_into
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import (
    FLAGS,
    OUTPUT,
    STDOUT,
    Archives,
    AsJson,
    Seed,
    make_output_folders,
    reading,
)
from unnaive.base.errors import Interrupted, UnnaiveError, choose, count_noun
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.curation.audit.audit import Audit
    from unnaive.curation.audit.unfinished import Unfinished
    from unnaive.io.datafiles import DataFile

PAGE, FINDINGS, UNFINISHED = "audit.html", "findings.csv", "unfinished-audit"
SHOWN = 5  # suspected label errors on the screen
DATA_HELP = "Labelled documents: a file, a folder with a folder for each class, or a collection such as tickets."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(audit)


@reading(DATA_HELP)
@token_options("language")
def audit(
    source: DataFile,
    new_data: Annotated[
        Path | None,
        READ,
        typer.Option(metavar="DATA", help="New texts, to find how they differ from DATA (drift).", show_default=False),
    ] = None,
    test: Annotated[
        Path | None,
        READ,
        typer.Option(
            metavar="DATA", help="Test data, to find its documents that are also in DATA (leaks).", show_default=False
        ),
    ] = None,
    fast: Annotated[
        bool,
        typer.Option(
            "--fast", help="Find label errors by exact leave-one-out naive Bayes, which is faster and less precise."
        ),
    ] = False,
    similarity: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.5,
            max=1.0,
            help="Minimum share of terms that near duplicates have in common, from 0.5 to 1.",
        ),
    ] = 0.8,
    most: Annotated[int, typer.Option(min=1, help="Maximum number of suspected label errors to list.")] = 1000,
    output: Annotated[
        Path | None,
        written_into(PAGE, FINDINGS),
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help=f"Folder for {PAGE} and {FINDINGS}; by default audit-DATA.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: Annotated[
        list[Path] | None,
        WRITTEN,
        typer.Option(
            "--report",
            metavar="FILE",
            help="File of the page, .html, or of the findings, .csv, or - to print these; may be repeated.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Exit with 1 if there are findings of this kind; may be repeated."),
    ] = None,
    force: Annotated[
        bool, BY_SET, typer.Option("--force", help="Overwrite findings of an earlier audit.", rich_help_panel=OUTPUT)
    ] = False,
    as_json: AsJson = False,
    seed: Seed = 0,
    archives: Archives = None,
    *,
    words: dict[str, Any],
) -> None:
    """Find problems in labelled data: label errors, duplicates, leaks, doubtful classes and texts, drift.

    unnaive audit demo/train.csv --label queue -o audit
    """
    from unnaive.apps.common.output import write_text, write_whole_table
    from unnaive.apps.common.progress_bar import Progress
    from unnaive.apps.common.report_identity import identify
    from unnaive.curation.audit.audit_page import audit_page
    from unnaive.curation.audit.findings import COLUMNS, KINDS
    from unnaive.io.endings import written_format
    from unnaive.text.tokens import TokenRule
    from unnaive.workflows.audit import audit_file

    for kind in fail_on or ():
        choose(list(KINDS), kind, "kind of finding")
    if output is None and not report and not as_json:
        output = default_folder(source.path)
    page, findings = output_paths(output, report or [])
    refuse_inputs([page, findings], source.paths)
    written_format(findings)
    check_folders([page, findings])
    refuse_overwriting(findings, force)
    unfinished = unfinished_work(findings or page)
    with Progress() as bar:
        try:
            result = audit_file(
                source, new_data=new_data, test=test, fast=fast, similarity=similarity, most=most, seed=seed,
                rule=TokenRule(**words), archives=archives, kept=unfinished, progress=bar.event,
            )  # fmt: skip
        except KeyboardInterrupt:
            if unfinished is None or not unfinished.number:
                raise
            raise Interrupted(
                f"stopped; {unfinished.folder} keeps {count_noun(unfinished.number, 'fold')} of the search for label "
                "errors; run the same command to continue"
            ) from None
    make_output_folders([page, findings])  # files first: the reader of stdout, such as head, may close it early
    if page is not None:
        about = identify({"data": source.paths, "test data": [test], "new data": [new_data]})
        write_text(page, audit_page(result.audit, identity=about, command=clean_command(source)))
    if findings is not None:
        rows = [finding.to_dict() for finding in result.audit.findings]
        write_whole_table(findings, rows, COLUMNS, excel_safe=True)  # people open it in spreadsheets
    if unfinished is not None:
        unfinished.remove()
    if as_json:
        echo(visible_json(result.to_dict()))
    else:
        show_audit(result.audit)
    check_findings(result.audit, fail_on or ())


class HasFindings(UnnaiveError):
    """The audit has findings of a kind of --fail-on."""

    exit_code = 1


def check_findings(audit: Audit, kinds: Sequence[str]) -> None:
    """Raise an error, for exit code 1, if there are findings of one of these kinds."""
    from unnaive.curation.audit.findings import count_kinds

    counts = count_kinds(audit.findings)
    bad = [f"{counts[kind]:,} of kind {kind}" for kind in dict.fromkeys(kinds) if counts.get(kind)]
    if bad:
        raise HasFindings(f"there are findings, {' and '.join(bad)} (--fail-on)")


def clean_command(source: DataFile) -> str:
    """The command that applies the file of accepted findings that the page saves; empty if the data is not a table."""
    if not all(Path(path).is_file() for path in source.paths):
        return ""
    from unnaive.curation.audit.accepting import FILE

    words = ["unnaive", "clean", *source.paths, FILE]
    for name, value in source.how_to_read().items():
        option = {"separator": "--label-separator"}.get(name, f"--{name}") if name in (*FLAGS, "separator") else ""
        for one in value if isinstance(value, (list, tuple)) else (value,):
            shown = str(one).lower() if isinstance(one, bool) else str(one)
            words += [option, shown] if option else ["--set", f"{name.replace('_', '-')}={shown}"]
    return f"{shlex.join(words)} -o FIXED.csv"


def unfinished_work(beside: Path | None) -> Unfinished | None:
    """The folder for unfinished work, beside the results; None if they go to the screen."""
    from unnaive.curation.audit.unfinished import Unfinished

    return None if beside is None or beside == STDOUT else Unfinished(beside.parent / UNFINISHED)


def default_folder(path: str) -> Path:
    """The default folder of page and findings, named after the data.

    >>> str(default_folder("mail/tickets.csv.gz")), str(default_folder("-"))
    ('audit-tickets', 'audit-data')
    """
    words = re.sub(r"[^\w-]+", "-", Path(path).name.partition(".")[0]).strip("-")
    return Path(f"audit-{words or 'data'}")


def output_paths(output: Path | None, reports: Sequence[Path]) -> tuple[Path | None, Path | None]:
    """The paths of page and findings: in the folder, or as requested; an error for a page or findings twice."""
    pages = [path for path in reports if path.suffix.lower() == ".html"]
    tables = [path for path in reports if path not in pages]
    for named in (pages, tables):
        if len(named) > 1:
            raise UnnaiveError(
                f"--report named {named[0]} and {named[1]}, which are of one kind; name one .html and one .csv"
            )
    page, findings = next(iter(pages), None), next(iter(tables), None)
    if output is not None:
        if output.is_file():
            raise UnnaiveError(f"{output} is a file; -o names a folder, and --report names files")
        return page or output / PAGE, findings or output / FINDINGS
    return page, findings


def check_folders(paths: Iterable[Path | None]) -> None:
    """Raise an error if a file could not be written at the end; no folder is created yet."""
    import os

    for path in paths:
        if path is None or path == STDOUT:
            continue
        if path.is_dir():
            raise UnnaiveError(f"{path} is a folder; give the name of a file to write")
        above = next(folder for folder in path.absolute().parents if folder.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise UnnaiveError(f"{path} cannot be written, because {above} is not writable; name another folder")


def refuse_overwriting(findings: Path | None, force: bool) -> None:
    """Raise an error if findings exist: they may contain decisions of the user."""
    if findings is not None and findings.is_file() and not force:
        raise UnnaiveError(
            f"{findings} exists and may contain your decisions; name another with --report, or add --set force=true"
        )


def show_audit(audit: Audit) -> None:
    """The findings, for people."""
    from rich.markup import escape

    from unnaive.apps.common.screen import console, plain_table, shorten_text
    from unnaive.curation.audit.audit_page import drift_sentence, error_sentence
    from unnaive.curation.audit.findings import KINDS, count_kinds

    screen = console()
    sizes = f"{count_noun(audit.n_docs, 'document')}, {count_noun(audit.n_classes, 'class', 'classes')}"
    screen.print(f"{audit.name}: {sizes}", markup=False)
    kinds = count_kinds(audit.findings)
    table = plain_table(">found", "what", "what to do")
    for kind, n in kinds.items():
        table.add_row(f"{n:,}", KINDS[kind].title, f"[dim]{KINDS[kind].advice}[/]")
    screen.print(table if kinds else "nothing was found")
    if audit.errors is not None:
        screen.print(f"\n{error_sentence(audit)}", markup=False)
    suspects = [finding for finding in audit.findings if finding.kind == "label-error"][:SHOWN]
    if suspects:
        table = plain_table(">row", "label", "proposed", ">p(proposed)", "text")
        for finding in suspects:
            text = escape(shorten_text(finding.text, 60))
            table.add_row(
                str(finding.row),
                escape(finding.label),
                escape(finding.proposed),
                f"{finding.probability or 0.0:.2f}",
                text,
            )
        screen.print(table)
    if audit.drift is not None:
        screen.print(f"\n{drift_sentence(audit.drift)}", markup=False)
        changed = [share for share in audit.drift.shares if share.changed]
        for share in sorted(changed, key=lambda share: -abs(share.new - share.old))[:SHOWN]:
            interval = f"{100 * share.low:.1f} to {100 * share.high:.1f}"
            line = f"  {share.name}: {100 * share.old:.1f} % → {100 * share.new:.1f} % ({interval})"
            screen.print(line, markup=False)
        if audit.drift.terms:
            terms = ", ".join(change.term for change in audit.drift.terms[:10])
            screen.print(f"  terms that changed: {terms}", markup=False)
    for sentence in audit.notes:
        screen.print(f"note: {sentence}", markup=False, style="yellow")
