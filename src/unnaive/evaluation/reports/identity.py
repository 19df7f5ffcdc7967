"""What a report is about: the model and its file, the data, the date and the command; the top of every page."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from unnaive.base.errors import UnnaiveError

SHORT_HASH = 12  # digits of a SHA-256 on paper; the page has all of them


@dataclass(frozen=True)
class NamedFile:
    """A file that a report is about; `sha256` is empty for folders, databases and stdin."""

    name: str
    sha256: str = ""

    def __str__(self) -> str:
        return f"{self.name} (SHA-256 {self.sha256[:SHORT_HASH]}…)" if self.sha256 else self.name


@dataclass(frozen=True)
class Identity:
    """The origin of a report; what is empty is left out.

    A page is a function of its values: the date is one of them, so that equal values give equal bytes.

    model    the model's name and settings
    files    the model file and the data, by what they are: "model file", "data"
    sizes    documents, classes and terms
    date     when the report was made
    command  the command line that makes it again

    >>> Identity("naive Bayes", {"data": (NamedFile("test.csv", 64 * "a"),)}, date="2026-01-05 09:30 UTC").rows()
    [('model', 'naive Bayes'), ('data', 'test.csv (SHA-256 aaaaaaaaaaaa…)'), ('date', '2026-01-05 09:30 UTC')]
    """

    model: str = ""
    files: dict[str, Sequence[NamedFile]] | None = None
    sizes: str = ""
    date: str = ""
    command: str = ""

    def rows(self) -> list[tuple[str, str]]:
        """(what, value) of what is known, in the order of a page."""
        named = {what: ", ".join(map(str, files)) for what, files in (self.files or {}).items()}
        rows = {"model": self.model} | named | {"size": self.sizes, "date": self.date, "command": self.command}
        return [(what, value) for what, value in rows.items() if value]


def report_date() -> str:
    """The time now to the minute, or that of SOURCE_DATE_EPOCH, with which a build gives the same bytes again.

    >>> os.environ["SOURCE_DATE_EPOCH"] = "1700000000"
    >>> report_date()
    '2023-11-14 22:13 UTC'
    >>> del os.environ["SOURCE_DATE_EPOCH"]
    """
    given = os.environ.get("SOURCE_DATE_EPOCH") or str(int(time.time()))
    try:
        return datetime.fromtimestamp(int(given), UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        raise UnnaiveError(
            f"SOURCE_DATE_EPOCH is {given!r}; expected seconds since 1970, such as 1700000000, or unset it"
        ) from None
