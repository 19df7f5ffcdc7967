"""Run an SQL export in databases: SQLite, DuckDB if installed, and a temporary PostgreSQL server."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unnaive.base.errors import UnnaiveError
from unnaive.base.system import is_root
from unnaive.data.fields.fields import is_missing
from unnaive.data.fields.numbers_and_dates import parse_date, read_number
from unnaive.interop.export.conformance import TOLERANCE, EngineAgreement, compare_answers
from unnaive.interop.export.engines import run_program
from unnaive.text.field import Field, field_kinds, read_fields

COLUMN_TYPES = {"number": "DOUBLE PRECISION", "date": "TIMESTAMP"}  # by kind of field; others are texts
Row = Sequence[Any]  # id, label, class, score, probability, decided, known; of records the unreadable field too


def check_sql(folder: Path, lines: list[str]) -> list[EngineAgreement]:
    """Run the query on the conformance file in every available database; of a model with fields on its records only."""
    lines = [line for line in lines if "record" in json.loads(line)] or lines
    about = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    table, n_classes = (
        documents_table([json.loads(line) for line in lines], read_fields(about["fields"])),
        len(about["classes"]),
    )
    return [
        compare_answers(name, TOLERANCE, lines, _answers(run(folder, table), len(lines), n_classes))
        for name, run in databases().items()
    ]


@dataclass(frozen=True)
class DocumentsTable:
    """The table that an export labels: its name, the columns behind id with the kinds of fields, and rows with ids."""

    name: str
    columns: Mapping[str, str]
    rows: Sequence[Sequence[Any]]

    @property
    def create(self) -> str:
        """The statement that makes the table."""
        columns = "".join(
            ', "' + name.replace('"', '""') + f'" {COLUMN_TYPES.get(kind, "TEXT")}'
            for name, kind in self.columns.items()
        )
        return f"CREATE TABLE {self.name} (id INTEGER PRIMARY KEY{columns})"

    @property
    def insert(self) -> str:
        """The statement that adds a row."""
        return f"INSERT INTO {self.name} VALUES (?{', ?' * len(self.columns)})"


def documents_table(documents: Sequence[dict[str, Any]], fields: Sequence[Field] | None = None) -> DocumentsTable:
    """The texts or records of lines of a conformance file as a table; numbers and dates are read first."""
    if "record" not in documents[0]:
        rows = [[row, _storable(document["text"])] for row, document in enumerate(documents)]
        return DocumentsTable("documents", {"text": "text"}, rows)
    kinds = field_kinds(fields or ())
    return DocumentsTable(
        "records",
        kinds,
        [
            [row, *(_typed(document["record"][name], kind) for name, kind in kinds.items())]
            for row, document in enumerate(documents)
        ],
    )


def _typed(value: Any, kind: str) -> Any:
    """A value as a column of its type holds it; one that cannot be read stays a text."""
    if kind not in COLUMN_TYPES:
        return _storable(value)
    if is_missing(value):
        return None
    number = read_number(value) if kind == "number" else None
    moment = parse_date(value) if kind == "date" else None
    return moment[0].isoformat(" ") if moment else _storable(value) if number is None else number


def databases() -> dict[str, Callable[[Path, DocumentsTable], Iterable[Row]]]:
    """The function that runs an export in each database of this machine."""
    engines: dict[str, Callable[[Path, DocumentsTable], Iterable[Row]]] = {"SQLite": run_sqlite}
    if find_spec("duckdb"):
        engines["DuckDB"] = run_duckdb
    if postgresql_programs() is not None:
        engines["PostgreSQL"] = run_postgresql
    return engines


def _read_sql(path: Path) -> str:
    """The statements of a file; `read_text` would change the line ends inside labels and names."""
    statements = path.read_bytes().decode()
    if "\0" in statements:
        raise UnnaiveError(f"{path} contains a NUL, which no export has; export the model again")
    return statements


def _storable(text: str | None) -> str | None:
    """Replace NUL and lone surrogates, which databases refuse, by U+FFFD, which also only separates words."""
    return (
        None
        if text is None
        else "".join(
            "\ufffd" if character == "\0" or "\ud800" <= character <= "\udfff" else character for character in text
        )
    )


def _answers(rows: Iterable[Row], n_texts: int, n_classes: int) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = [
        {"labels": [], "scores": [None] * n_classes, "probabilities": [None] * n_classes} for _ in range(n_texts)
    ]
    for row, label, c, score, probability, decided, known, *_ in rows:
        answer = answers[int(row)]
        if score not in (None, ""):  # empty if the record cannot be read
            answer["scores"][int(c)] = None if float(score) == float("-inf") else float(score)
        answer["probabilities"][int(c)] = None if probability in (None, "") else float(probability)
        answer["known_terms"] = int(known)
        if decided in (True, 1, "t"):
            answer["labels"].append(label)
    for answer in answers:
        if None in answer["probabilities"]:
            answer["probabilities"] = None
    return answers


def run_sqlite(folder: Path, table: DocumentsTable) -> list[Row]:
    """Run in Python's SQLite; it needs the functions ln, exp and sqrt (SQLite 3.35 or later)."""
    with _explained("SQLite", sqlite3.Error), sqlite3.connect(":memory:") as connection:
        connection.executescript(_read_sql(folder / "sqlite-tables.sql"))
        connection.execute(table.create)
        connection.executemany(table.insert, table.rows)
        return connection.execute(_read_sql(folder / "sqlite-label.sql")).fetchall()


@contextmanager
def _explained(engine: str, kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except (kind, OSError, UnicodeDecodeError) as problem:
        raise UnnaiveError(
            f"{engine} failed on the export: {' '.join(str(problem).split())}; export the model again"
        ) from problem


def run_duckdb(folder: Path, table: DocumentsTable) -> list[Row]:
    """Run in the package duckdb."""
    duckdb: Any = import_module("duckdb")
    with _explained("DuckDB", duckdb.Error), duckdb.connect() as connection:
        connection.execute(_read_sql(folder / "duckdb-tables.sql"))
        connection.execute(table.create)
        connection.executemany(table.insert, table.rows)
        rows: list[Row] = connection.execute(_read_sql(folder / "duckdb-label.sql")).fetchall()
        return rows


def postgresql_programs() -> Path | None:
    """The folder with initdb and pg_ctl: on the path, or where Debian puts them; the newest version."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).parent
    programs = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4].split(".")[0])
    )
    return programs[-1].parent if programs else None


@contextmanager
def postgresql_server() -> Iterator[list[str]]:
    """Start a server in a temporary folder without a port, yield its psql command, and stop it afterwards."""
    programs = postgresql_programs()
    if programs is None:
        raise UnnaiveError("there is no PostgreSQL on this machine")
    with tempfile.TemporaryDirectory(prefix="unnaive-") as name:
        user = "postgres" if is_root() else None  # the server refuses to run as root
        if user:
            shutil.chown(name, user)
        data = f"{name}/data"

        def run(*command: str) -> None:
            done = subprocess.run(command, capture_output=True, check=False, user=user, cwd=name)
            if done.returncode:
                raise UnnaiveError(f"PostgreSQL did not start: {done.stderr.decode(errors='replace').strip()[-300:]}")

        run(str(programs / "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={name} -c fsync=off"
        run(str(programs / "pg_ctl"), "-D", data, "-o", options, "-l", f"{name}/log", "-w", "-t", "120", "start")
        try:
            beside = programs / "psql"
            psql = str(beside) if beside.exists() else shutil.which("psql") or "psql"
            yield [psql, "-h", name, "-U", "postgres", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-q", "-X"]
        finally:
            run(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")


def run_postgresql(folder: Path, table: DocumentsTable) -> list[Row]:
    """Run in a temporary server."""
    with postgresql_server() as psql:
        return query_postgresql(psql, folder, table)


def query_postgresql(psql: Sequence[str], folder: Path, table: DocumentsTable) -> list[Row]:
    """Run in a server that is already running; `psql` is the command that connects to it."""
    documents = f"DROP TABLE IF EXISTS {table.name};\n{table.create};\n"
    rows = ["(" + ", ".join(map(_quoted, row)) + ")" for row in table.rows]
    documents += f"INSERT INTO {table.name} VALUES {', '.join(rows)};\n" if rows else ""
    parts = ["SET client_encoding = 'UTF8';\nSET standard_conforming_strings = on;\n"]
    parts += [_read_sql(folder / "postgresql-tables.sql"), documents]
    parts.append(_read_sql(folder / "postgresql-label.sql"))
    printed = run_program([*psql, "--csv", "-t"], "".join(parts))
    return list(csv.reader(io.StringIO(printed, newline="")))


def _quoted(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else f"'{value}'" if isinstance(value, float) else str(value)
