"""The events of a teaching record: how they are written, and how they are described to people and programs."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from unnaive.curation.teaching.changes import Change
from unnaive.curation.teaching.log_versions import PreviousFile, read_version_map


@dataclass(frozen=True)
class Event:
    """A change to be written; `key` and `request` identify an idempotent request."""

    kind: str
    change: Change
    answer: dict[str, Any]
    key: str | None = None
    request: str | None = None


def insert_event(data: sqlite3.Connection, event: Event) -> int:
    """Write an event and its documents; returns its number."""
    row = (
        datetime.now(UTC).isoformat(timespec="milliseconds"), event.kind, event.key, event.request,
        json.dumps(event.answer),
    )  # fmt: skip
    inserted = data.execute("INSERT INTO events (at, kind, key, request, answer) VALUES (?, ?, ?, ?, ?)", row)
    number = int(inserted.lastrowid or 0)
    data.executemany(
        "INSERT INTO documents (event, sign, text, labels, source, undoes) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (number, sign, document.text, json.dumps(document.labels), document.source, document.undoes)
            for sign, part in ((1, event.change.learn), (-1, event.change.forget))
            for document in part
        ],
    )
    return number


def describe_events(
    data: sqlite3.Connection, limit: int, before: int | None, previous: PreviousFile | None, *, documents: bool
) -> list[dict[str, Any]]:
    """Events before number `before` as plain values, newest first; with their documents if requested."""
    rows = data.execute(
        "SELECT id, at, kind, answer, (SELECT found FROM measures WHERE event = events.id) FROM events"
        " WHERE ?1 IS NULL OR id < ?1 ORDER BY id DESC LIMIT ?2",
        (before, limit),
    ).fetchall()
    versions = read_version_map(data)
    return [
        _describe_event(data, *row, documents=documents)
        | {"restorable": versions.barrier(int(row[0]), previous) is None}
        for row in rows
    ]


def _describe_event(
    data: sqlite3.Connection, number: int, at: str, kind: str, answer: str, measures: str | None, *, documents: bool
) -> dict[str, Any]:
    """An event as plain values."""
    root = "coalesce(one.undoes, one.id)"
    rows = data.execute(
        f"SELECT one.sign, one.text, one.labels, {state_sql(root)} = {state_sql(root, 'one.id')}"
        " FROM documents AS one WHERE one.event = ? ORDER BY one.id",
        (number,),
    ).fetchall()
    about = json.loads(answer)
    summary = {
        "version": number, "event": number, "at": at, "kind": kind, "documents": len(rows),
        "undoes": about.get("undoes"), "undone": bool(rows) and not any(as_left for *_, as_left in rows),
        "measures": None if measures is None else json.loads(measures),
    }  # fmt: skip
    if kind == "rebase":
        summary |= {name: about[name] for name in ("taught", "forgotten", "present", "left") if name in about}
    if documents:
        summary["changes"] = [
            {"sign": sign, "text": text, "labels": json.loads(labels), "standing": bool(as_left)}
            for sign, text, labels, as_left in rows
        ]
    return summary


def describe_measures(data: sqlite3.Connection, limit: int) -> list[dict[str, Any]]:
    """The evaluated versions, newest first: number, time and measures."""
    rows = data.execute(
        "SELECT measures.event, events.at, found FROM measures LEFT JOIN events ON events.id = measures.event"
        " ORDER BY measures.event DESC LIMIT ?",
        (limit,),
    )
    return [{"version": number, "at": at, "measures": json.loads(measures)} for number, at, measures in rows]


def state_sql(root: str, up_to: str | None = None) -> str:
    """SQL: 1 if a document is taught, −1 if forgotten, else 0; now, or when the document `up_to` was written."""
    until = "" if up_to is None else f" AND chain.id <= {up_to}"
    same = f"(chain.id = {root} OR chain.undoes = {root})"
    return f"(SELECT coalesce(sum(chain.sign), 0) FROM documents AS chain WHERE {same}{until})"
