"""The record of a labelling: one SQLite file with the texts and every decision, on disk before it is acknowledged.

Decisions are only ever added; an undo is a decision too, with the id of the decision that it takes back. The view
`labels` defines the label of a text: the last decision of each annotator that was not undone counts as a vote, the
label with most votes wins, and in a tie the latest. `unnaive train labels.db` and other tools read this view;
`all_texts` also has the texts without a label.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unnaive.base.damage import RecordKind, find_sqlite_damage
from unnaive.base.errors import BadData, count_noun
from unnaive.base.sqlite_files import connect_durable, transaction
from unnaive.base.system import place_new
from unnaive.curation.labelling.seals import COLUMNS, find_changed_rows, seal_new_rows
from unnaive.curation.labelling.seals import TABLE as SEALS
from unnaive.text.field import Field, Fields, read_fields

FORMAT = 1
ANSWERS = ("label", "skip", "flag")  # the answers that close a text for an annotator
KINDS = (*ANSWERS, "reject", "class", "undo")
RANDOM_WAYS = ("random", "measure")  # the ways in which a text is selected by chance
IMPORTED = "import"  # the annotator name of labels that came with the texts
LEASE_SECONDS = 600  # a text shown to an annotator is not shown to others for this long

TABLES = """
CREATE TABLE IF NOT EXISTS labelling (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL, text INTEGER REFERENCES texts,
    labels TEXT NOT NULL, suggested TEXT, probability REAL, way TEXT, undoes INTEGER UNIQUE REFERENCES decisions
) STRICT;
CREATE INDEX IF NOT EXISTS decisions_by_text ON decisions (text);
CREATE TABLE IF NOT EXISTS leases (text INTEGER PRIMARY KEY, who TEXT NOT NULL, until REAL NOT NULL) STRICT;
CREATE VIEW IF NOT EXISTS votes AS
    SELECT id, text, who, kind, labels FROM (
        SELECT id, text, who, kind, labels, row_number() OVER (PARTITION BY text, who ORDER BY id DESC) AS place
        FROM decisions AS one
        WHERE kind IN ('label', 'skip', 'flag') AND NOT EXISTS (SELECT 1 FROM decisions WHERE undoes = one.id)
    ) WHERE place = 1;
CREATE VIEW IF NOT EXISTS final AS
    SELECT text, labels, people FROM (
        SELECT text, labels, count(*) AS people,
            row_number() OVER (PARTITION BY text ORDER BY count(*) DESC, max(id) DESC) AS place
        FROM votes WHERE kind = 'label' GROUP BY text, labels
    ) WHERE place = 1;
CREATE VIEW IF NOT EXISTS labels AS
    SELECT texts.name AS id, texts.text AS text,
        CASE (SELECT value FROM labelling WHERE name = 'multilabel')
            WHEN '1' THEN final.labels ELSE json_extract(final.labels, '$[0]') END AS label
    FROM final JOIN texts ON texts.id = final.text ORDER BY texts.id;
CREATE VIEW IF NOT EXISTS all_texts AS
    SELECT texts.name AS id, texts.text AS text,
        CASE (SELECT value FROM labelling WHERE name = 'multilabel')
            WHEN '1' THEN final.labels ELSE json_extract(final.labels, '$[0]') END AS label
    FROM texts LEFT JOIN final ON texts.id = final.text ORDER BY texts.id;
"""


@dataclass(frozen=True)
class RecordedAnswer:
    """A decision in the record.

    kind         "label", "skip", "flag", "reject" (the suggested label is wrong), "class" (a new class) or "undo"
    text         the index of the text, from 0; None for a new class
    labels       the labels of the text, the rejected label, or the name of the new class
    suggested    the label that was most probable to the model, with its probability; None without a model. It was
                 shown as a suggestion, unless the text measures the model
    way          how the text was selected: "random", "measure" (random too, to measure the model), "uncertain",
                 "novel", "explore", "similar", "search", …
    undoes       the id of the decision that an undo takes back
    """

    id: int
    at: str
    who: str
    kind: str
    text: int | None
    labels: tuple[str, ...]
    suggested: str | None = None
    probability: float | None = None
    way: str | None = None
    undoes: int | None = None


class AlreadyDecided(BadData):
    """The text was decided after it was shown, so the answer was not recorded."""


class LabelRecord:
    """A record of labels; any number of processes may open the file at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = _connect(path)
        self.multilabel = self.setting("multilabel") == "1"

    @classmethod
    def create(
        cls, path: Path, texts: Sequence[str], names: Sequence[str] | None = None, *, classes: Sequence[str] = (),
        multilabel: bool = False, language: str = "en", fields: Sequence[Field] | None = None,
    ) -> LabelRecord:  # fmt: skip
        """Create a record of these texts atomically."""
        if not len(texts):
            raise BadData("there is no text to label; give a file with at least one")
        if len(set(classes)) != len(classes):
            raise BadData("a class is named twice; name each class once")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        part.unlink(missing_ok=True)
        try:
            with closing(_connect(part, new=True)) as data, data:  # closing writes the write-ahead log into the file
                data.execute("BEGIN")
                data.executemany(
                    "INSERT INTO texts VALUES (?, ?, ?)",
                    ((row, str(names[row]) if names else str(row + 1), str(text)) for row, text in enumerate(texts)),
                )
                data.executemany(
                    "INSERT INTO labelling VALUES (?, ?)",
                    {"format": str(FORMAT), "multilabel": str(int(multilabel)), "language": language,
                     "classes": json.dumps(list(classes), ensure_ascii=False),
                     **({} if fields is None else {"fields": json.dumps([*map(str, fields)], ensure_ascii=False)}),
                    }.items(),
                )  # fmt: skip
                seal_new_rows(data)
            place_new(part, path)
        except FileExistsError:
            raise BadData(f"{path} exists; open it to continue it, or name another file") from None
        finally:
            for rest in (part, Path(f"{part}-wal"), Path(f"{part}-shm")):
                rest.unlink(missing_ok=True)
        return cls(path)

    def close(self) -> None:
        """Close the file; acknowledged decisions are already on disk."""
        self._data.close()

    def setting(self, name: str) -> str:
        """A setting that was fixed when the record was created; empty if there is none."""
        row = self._data.execute("SELECT value FROM labelling WHERE name = ?", (name,)).fetchone()
        return "" if row is None else str(row[0])

    def fields(self) -> Fields | None:
        """The fields of the documents; None if the documents are texts."""
        stored = self.setting("fields")
        return read_fields(tuple(json.loads(stored))) if stored else None

    def __len__(self) -> int:
        return int(self._data.execute("SELECT count(*) FROM texts").fetchone()[0])

    def texts(self) -> list[str]:
        """All texts, in order."""
        return [row[0] for row in self._data.execute("SELECT text FROM texts ORDER BY id")]

    def names(self) -> list[str]:
        """The ids of the texts in their source, in order."""
        return [row[0] for row in self._data.execute("SELECT name FROM texts ORDER BY id")]

    # Writing.

    def add(
        self, who: str, kind: str, text: int | None, labels: Sequence[str] = (), *, suggested: str | None = None,
        probability: float | None = None, way: str | None = None, seen: int | None = None,
    ) -> RecordedAnswer:  # fmt: skip
        """Add a decision; it is on disk when this method returns.

        seen  the last decision on the text when it was shown (`last_decision`); if there is a later one, the decision
              is not added, and the error names it
        """
        at = _now()
        values = (at, who, kind, text, _labels_json(labels), suggested, probability, way)
        with transaction(self._data) as data:
            if seen is not None and text is not None and self.last_decision(text) > seen:
                raise AlreadyDecided(self._describe_last(text))
            row_id = data.execute(
                "INSERT INTO decisions (at, who, kind, text, labels, suggested, probability, way)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            ).lastrowid
            seal_new_rows(data)
            data.execute("DELETE FROM leases WHERE text = ? AND who = ?", (text, who))
        return RecordedAnswer(
            int(row_id or 0), at, who, kind, text, tuple(sorted(set(labels))), suggested, probability, way
        )  # fmt: skip

    def add_many(self, who: str, rows: Sequence[tuple[int, Sequence[str]]], way: str) -> None:
        """Add imported labels as (text, labels), in one transaction."""
        at = _now()
        with transaction(self._data) as data:
            data.executemany(
                "INSERT INTO decisions (at, who, kind, text, labels, way) VALUES (?, ?, 'label', ?, ?, ?)",
                [(at, who, text, _labels_json(labels), way) for text, labels in rows],
            )
            seal_new_rows(data)

    def insert(self, rows: Sequence[Sequence[Any]]) -> None:
        """Copy decisions of another record with their ids, in one transaction; rows have all of COLUMNS in order."""
        with transaction(self._data) as data:
            data.executemany(f"INSERT INTO decisions ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            seal_new_rows(data)

    def undo(self, who: str) -> RecordedAnswer | None:
        """Undo the last decision of an annotator that was not undone yet, and return it; None if there is none."""
        with transaction(self._data) as data:
            row = data.execute(
                f"SELECT {COLUMNS} FROM decisions AS one WHERE who = ? AND kind <> 'undo'"
                " AND coalesce(way, '') NOT LIKE 'import%'"
                " AND NOT EXISTS (SELECT 1 FROM decisions WHERE undoes = one.id) ORDER BY id DESC LIMIT 1",
                (who,),
            ).fetchone()
            if row is None:
                return None
            data.execute(
                "INSERT INTO decisions (at, who, kind, text, labels, undoes) VALUES (?, ?, 'undo', ?, '[]', ?)",
                (_now(), who, row[4], row[0]),
            )
            seal_new_rows(data)
        return _decision(row)

    def lease(self, who: str, text: int, now: float) -> bool:
        """Reserve a text for an annotator for ten minutes; False if another annotator has reserved it."""
        with transaction(self._data) as data:
            taken = data.execute("SELECT who FROM leases WHERE text = ? AND until > ?", (text, now)).fetchone()
            if taken is not None and taken[0] != who:
                return False
            data.execute("DELETE FROM leases WHERE who = ? OR until <= ?", (who, now))
            data.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (text, who, now + LEASE_SECONDS))
        return True

    def leased(self, who: str, now: float) -> list[int]:
        """The texts that are reserved for other annotators."""
        rows = self._data.execute("SELECT text FROM leases WHERE who <> ? AND until > ?", (who, now))
        return [int(row[0]) for row in rows]

    def release(self, who: str) -> None:
        """Give back the text that is reserved for an annotator."""
        with transaction(self._data) as data:
            data.execute("DELETE FROM leases WHERE who = ?", (who,))

    # Reading.

    def last_decision(self, text: int) -> int:
        """The id of the last answer or undo about a text; 0 without any."""
        row = self._data.execute("SELECT max(id) FROM decisions WHERE text = ? AND kind <> 'reject'", (text,))
        return int(row.fetchone()[0] or 0)

    def _describe_last(self, text: int) -> str:
        row = self._data.execute(f"SELECT {COLUMNS} FROM decisions WHERE id = ?", (self.last_decision(text),))
        last = _decision(row.fetchone())
        labels = " and ".join(map(repr, last.labels)) or "with no label"
        did = {"label": f"labelled this text {labels}", "skip": "skipped this text", "flag": "flagged this text"}
        return (
            f"{last.who} {did.get(last.kind, 'changed the answer about this text')} after it was shown here, so your "
            "answer was not recorded; look at the text again to change it"
        )

    def decisions(self, since: int = 0) -> list[RecordedAnswer]:
        """All decisions with an id above `since`, in order, including undone decisions and undos."""
        rows = self._data.execute(f"SELECT {COLUMNS} FROM decisions WHERE id > ? ORDER BY id", (since,))
        return [_decision(row) for row in rows]

    def standing(self) -> list[RecordedAnswer]:
        """All decisions that were not undone, in order."""
        rows = self._data.execute(
            f"SELECT {COLUMNS} FROM decisions AS one WHERE kind <> 'undo'"
            " AND NOT EXISTS (SELECT 1 FROM decisions WHERE undoes = one.id) ORDER BY id"
        )
        return [_decision(row) for row in rows]

    def final(self) -> dict[int, tuple[str, ...]]:
        """The labels of every labelled text, as the view `labels` defines them."""
        rows = self._data.execute("SELECT text, labels FROM final ORDER BY text")
        return {int(text): tuple(json.loads(labels)) for text, labels in rows}

    def count_chosen(self) -> int:
        """The number of labelled texts that somebody was asked about for another reason than chance.

        They were searched for, or the model was unsure about them. Imported labels are not counted.
        """
        ways = {answer.text: answer.way or "" for answer in reversed(self.standing()) if answer.kind == "label"}
        return sum(bool(way) and way not in RANDOM_WAYS and not way.startswith("import") for way in ways.values())

    def final_of(self, text: int) -> tuple[str, ...] | None:
        """The labels of one text; None if it has none."""
        row = self._data.execute("SELECT labels FROM final WHERE text = ?", (text,)).fetchone()
        return None if row is None else tuple(json.loads(row[0]))

    def votes(self) -> list[tuple[int, str, str, tuple[str, ...]]]:
        """The current answer of each annotator on each text: (text, who, kind, labels)."""
        rows = self._data.execute("SELECT text, who, kind, labels FROM votes ORDER BY text, who")
        return [(int(text), who, kind, tuple(json.loads(labels))) for text, who, kind, labels in rows]

    def classes(self) -> list[str]:
        """The initial classes, then added classes and the classes of labels in the order of the decisions."""
        names = dict.fromkeys(json.loads(self.setting("classes") or "[]"))
        for answer in self.standing():
            if answer.kind in ("class", "label"):
                names |= dict.fromkeys(answer.labels)
        return list(names)


def is_label_record(path: Path) -> bool:
    """Whether the file is a record of labels."""
    try:
        with path.open("rb") as file:
            if not file.read(16).startswith(b"SQLite format 3"):
                return False
        data = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            return data.execute("SELECT 1 FROM sqlite_master WHERE name = 'labelling'").fetchone() is not None
        finally:
            data.close()
    except (OSError, sqlite3.Error):
        return False


def _kind(path: Path) -> RecordKind:
    return RecordKind(
        "a file of labels",
        "nothing was changed",
        "restore it from a copy, or save what can be read with: "
        f"python -m unnaive.curation.labelling.recover {path} NEW.db",
    )


def _connect(path: Path, *, new: bool = False) -> sqlite3.Connection:
    if not new and not path.is_file():
        raise BadData(f"no file of labels called {path}; make one with: unnaive label TEXTS -o {path}")
    if not new and not is_label_record(path):
        raise _kind(path).damage(path, "it has no table of labels")
    try:
        data = connect_durable(path)
        if new:
            data.executescript(TABLES + SEALS)
        else:
            _check_format(path, data)
            _check_sound(data)
            _check_seals(data)
    except (sqlite3.DatabaseError, ValueError) as problem:
        raise _kind(path).damage(path, problem) from problem
    return data


def _check_sound(data: sqlite3.Connection) -> None:
    """Raise an error if the file is damaged or has impossible values."""
    problem = find_sqlite_damage(data)
    if problem is not None:
        raise ValueError(problem)
    ((number, first, last),) = data.execute("SELECT count(*), min(id), max(id) FROM texts").fetchall()
    if number == 0 or (first, last) != (0, number - 1):
        raise ValueError("texts are missing")
    for _ in data.execute("SELECT name, text FROM texts"):
        pass  # reading fails if a text is not UTF-8
    kinds = ", ".join(f"'{kind}'" for kind in KINDS)
    odd = data.execute(
        f"SELECT count(*) FROM decisions WHERE kind NOT IN ({kinds}) OR NOT json_valid(labels)"
        " OR json_type(labels) <> 'array' OR text NOT IN (SELECT id FROM texts)"
    ).fetchone()[0]
    if odd:
        raise ValueError(f"{odd:,} decisions have impossible values")
    settings = dict(data.execute("SELECT name, value FROM labelling"))
    if settings.get("multilabel") not in ("0", "1") or not isinstance(
        json.loads(settings.get("classes", "null")), list
    ):
        raise ValueError("its settings have impossible values")


def _check_seals(data: sqlite3.Connection) -> None:
    """Raise an error if a row does not match its hash."""
    changed = find_changed_rows(data)
    if changed:
        raise ValueError(f"not what was written: {', '.join(changed)}")


def _check_format(path: Path, data: sqlite3.Connection) -> None:
    row = data.execute("SELECT value FROM labelling WHERE name = 'format'").fetchone()
    if row is None or not str(row[0]).isdecimal() or int(row[0]) > FORMAT:
        raise BadData(
            f"{path} was written by a newer version of unnaive (this one reads up to format {FORMAT}); update with: "
            "pip install --upgrade unnaive"
        )


def _decision(row: Sequence[Any]) -> RecordedAnswer:
    number, at, who, kind, text, labels, *more = row
    return RecordedAnswer(number, at, who, kind, text, tuple(json.loads(labels)), *more)


def _labels_json(labels: Sequence[str]) -> str:
    """The labels as sorted JSON, so that equal sets are equal strings."""
    return json.dumps(sorted(set(labels)), ensure_ascii=False)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def describe_record(record: LabelRecord) -> dict[str, Any]:
    """Numbers about a record, as JSON values: texts, labels by class, skipped and flagged texts, annotators."""
    final = record.final()
    sizes: dict[str, int] = dict.fromkeys(record.classes(), 0)
    for labels in final.values():
        for label in labels:
            sizes[label] += 1
    kinds = [kind for _, _, kind, _ in record.votes()]
    return {
        "file": str(record.path), "texts": len(record), "labelled": len(final), "classes": sizes,
        "skipped": kinds.count("skip"), "flagged": kinds.count("flag"),
        "people": sorted({answer.who for answer in record.standing()}),
        "words": f"{count_noun(len(final), 'text')} of {len(record):,} labelled",
    }  # fmt: skip
