"""Write the built-in tickets to files, for first steps."""

from __future__ import annotations

from pathlib import Path

from unnaive.base.errors import UnnaiveError

COLUMNS = ("id", "text", "queue", "tags")


def write_tickets(folder: str | Path) -> Path:
    """Write the built-in support tickets as train.csv and test.csv to a folder, which is created; returns the folder.

    Their columns are id, text, queue (one of 8) and tags (up to three, separated by ";").

    >>> import tempfile
    >>> sorted(path.name for path in write_tickets(tempfile.mkdtemp()).iterdir())
    ['test.csv', 'train.csv']
    """
    from unnaive.io.tickets import load_records
    from unnaive.io.writing.table_writer import write_table

    target = make_folder(folder)
    for part in ("train", "test"):
        rows = [
            {"id": row["id"], "text": row["text"], "queue": row["queue"], "tags": ";".join(row["tags"])}
            for row in load_records()
            if row["split"] == part
        ]
        write_table(target / f"{part}.csv", rows, COLUMNS)
    return target


def make_folder(folder: str | Path) -> Path:
    """Create the folder and its parents if needed."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UnnaiveError(f"{target} cannot be made a folder ({problem.strerror}); name another") from problem
    return target
