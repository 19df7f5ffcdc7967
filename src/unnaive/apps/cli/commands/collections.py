"""`unnaive collections`: list, check and download the benchmark collections."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.path_options import READ, written_into
from unnaive.apps.common.screen import console, echo
from unnaive.apps.common.shared_options import AsJson
from unnaive.base.errors import count_noun
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.papers.collections import Collection, CollectionCheck

collections = typer.Typer(invoke_without_command=True)

Data = Annotated[
    Path | None,
    READ,
    typer.Option(
        "--data", metavar="FOLDER", help="Folder with the archives, or one archive; by default $UNNAIVE_DATA."
    ),
]
CollectionNames = Annotated[
    list[str] | None, typer.Argument(metavar="NAME", help="Names of collections; by default all on this computer.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.add_typer(collections, name="collections")


@collections.callback()
def list_collections(context: typer.Context, data: Data = None, as_json: AsJson = False) -> None:
    """List the benchmark collections: licence, size, source, and whether they are on this computer.

    unnaive collections
    """
    if context.invoked_subcommand is not None:
        return
    from unnaive.papers.collections import COLLECTIONS

    rows = [describe_collection(collection, data) for collection in COLLECTIONS.values()]
    if as_json:
        echo(visible_json(rows, indent=2))
    else:
        show_table(rows)


def describe_collection(collection: Collection, data: Path | None) -> dict[str, Any]:
    """One collection as plain values; `path` is None if it is not on this computer."""
    from unnaive.base.errors import BadData
    from unnaive.papers.collections import collection_path

    try:
        path: str | None = str(collection_path(collection.name, data))
    except BadData:
        path = None
    return {
        "name": collection.name,
        "title": collection.title,
        "about": collection.about,
        "terms": collection.terms,
        "documents": collection.documents,
        "bytes": collection.size or None,
        "views": list(collection.views),
        "home": collection.home,
        "urls": list(collection.urls),
        "sha256": list(collection.sha256),
        "path": path,
    }


def show_table(rows: list[dict[str, Any]]) -> None:
    """The list for people: one block for each collection, readable at any width."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 1, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        size = f", {row['bytes'] / 1e6:.1f} MB" if row["bytes"] else ""
        lines = [
            f"[bold]{escape(row['title'])}[/bold] ({count_noun(row['documents'], 'document')}{size})",
            f"{escape(row['about'])}; {escape(row['terms'])}",
            f"views: {', '.join(row['views'])}",
            f"from {escape((row['urls'] or [row['home']])[0])}",
            f"[green]here: {escape(row['path'])}[/green]" if row["path"] else "[yellow]not here[/yellow]",
        ]
        table.add_row(f"[bold cyan]{row['name']}[/bold cyan]", "\n".join(lines))
    console().print(table)


@collections.command()
def check(names: CollectionNames = None, data: Data = None, as_json: AsJson = False) -> None:
    """Check the checksums and document counts of collections.

    unnaive collections check webkb4
    """
    from unnaive.base.errors import BadData
    from unnaive.papers.collections import check as check_one

    checks = [check_one(name, data) for name in names or find_collections(data)]
    if as_json:
        echo(visible_json([check_to_dict(result) for result in checks], indent=2))
    else:
        for result in checks:
            echo(check_sentence(result))
    bad = [result.name for result in checks if not result.good]
    if bad:
        raise BadData(f"{', '.join(bad)} failed the check; fetch again with `unnaive collections fetch {bad[0]}`")


def find_collections(data: Path | None) -> list[str]:
    """The names of the collections on this computer; an error if there is none."""
    from unnaive.base.errors import BadData
    from unnaive.papers.collections import COLLECTIONS, data_folders

    names = [name for name, collection in COLLECTIONS.items() if describe_collection(collection, data)["path"]]
    if not names:
        places = ", ".join(str(folder) for folder in data_folders(data))
        raise BadData(f"no collection is in {places}; get one with `unnaive collections fetch NAME` or pass --data DIR")
    return names


def check_to_dict(check: CollectionCheck) -> dict[str, Any]:
    """A check as JSON."""
    return {
        "name": check.name,
        "good": check.good,
        "verified": check.verified,
        "documents": check.documents,
        "parts": check.parts,
        "problem": check.problem,
        "path": str(check.path),
    }


def check_sentence(check: CollectionCheck) -> str:
    """A check as one line."""
    parts = ", ".join(f"{part} {count:,}" for part, count in check.parts.items())
    counts = count_noun(check.documents, "document") + (f" ({parts})" if parts else "")
    if not check.good:
        return f"✗ {check.name}: {check.problem} [{check.path}]"
    how = {"archive": "checksum of the archive", "contents": "checksum of the contents"}
    return f"✓ {check.name}: {counts}, {how.get(check.verified, 'counts; no checksum is published')} [{check.path}]"


def find_verified_copy(name: str) -> Path | None:
    """The path of a valid copy of the collection; None if there is none."""
    from unnaive.base.errors import UnnaiveError
    from unnaive.papers.collections import check as check_one

    try:
        result = check_one(name)
    except UnnaiveError:  # missing, or not a collection: fetching says which
        return None
    return result.path if result.good else None


@collections.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the collection.")],
    data: Annotated[
        Path | None, written_into(), typer.Option("--data", metavar="FOLDER", help="Folder to download to.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="Download the archive from this address.")] = None,
) -> None:
    """Download a collection and check it; the same command continues an interrupted download.

    unnaive collections fetch webkb4
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from unnaive.papers.collections.fetching import fetch as fetch_one

    there = find_verified_copy(name) if data is None else None
    if there is not None:
        echo(f"{name} is here already, and verified: {there}; to have it elsewhere too, pass --data DIR")
        return
    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        path = fetch_one(
            name, data, url=url, progress=lambda done, total: bar.update(task, completed=done, total=total)
        )
    echo(f"{name} is here and verified: {path}")
