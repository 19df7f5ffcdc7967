"""Tables that the page sends: read by the reader of all commands, so that a row is never shifted or swallowed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from unnaive.apps.common.web.refused import Refused
from unnaive.base.errors import UnnaiveError
from unnaive.base.system import file_in_memory

ENDINGS = (".csv", ".tsv", ".txt", "")
ADVICE = re.compile(r", or leave such rows out with --\S+(?: skip\S+)?")  # of the commands; the page has no such option
MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def read_sent_table(body: bytes, name: str) -> dict[str, Any]:
    """The columns and rows of a file in CSV or TSV, and how it was read if not as UTF-8; a bad row is an error.

    >>> read_sent_table(b"id;text\\n1;a ball\\n", "rows.csv")
    {'columns': ['id', 'text'], 'rows': [['1', 'a ball']], 'note': ''}
    """
    from unnaive.io.formats import read_rows

    if Path(name).suffix.lower() not in ENDINGS:
        raise Refused(422, f"{name} is not a table in CSV or TSV; save it as CSV")
    if "\0" in (body.decode("utf-16", "replace") if body[:2] in MARKS else body.decode("latin-1")):
        raise Refused(422, f"{name} contains NUL characters, so it is not a table of text; save it as CSV")
    note = describe_encoding(body)
    encoding = "cp1252" if "1252" in note else None
    with file_in_memory(body) as path:
        try:
            rows = list(read_rows(path, encoding=encoding))
        except UnnaiveError as problem:
            raise Refused(422, ADVICE.sub("", str(problem).replace(path, name))) from problem
    if not rows:
        raise Refused(422, f"{name} has no rows below its header; the first row must name the columns")
    columns = list(rows[0])
    return {"columns": columns, "rows": [[str(row[column]) for column in columns] for row in rows], "note": note}


def describe_encoding(body: bytes) -> str:
    """How a file is read that is not UTF-8; empty if it is.

    >>> describe_encoding("größer".encode("latin-1")), describe_encoding("größer".encode())
    ('it is not UTF-8 and was read as Windows-1252 (Latin-1)', '')
    """
    if body[:2] in MARKS:
        return f"it was read as {MARKS[body[:2]]}"
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "it is not UTF-8 and was read as Windows-1252 (Latin-1)"
    return ""
