"""The record of a labelling: one SQLite file with the texts and every decision, on disk before it is acknowledged.

Decisions are only ever added; an undo is a decision too, with the id of the decision that it takes back. The view
`labels` defines the label of a text: the last decision of each annotator that was not undone counts as a vote, the
label with most votes wins, and in a tie the latest. `unnaive train labels.db` and other tools read this view;
`all_texts` also has the texts without a label.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from unnaive.base.errors import BadData, count_noun
from unnaive.base.system import place_new
from unnaive.curation.labelling.class_names import ClassNames
from unnaive.curation.labelling.record_tables import FORMAT, open_database, writing
from unnaive.curation.labelling.seals import COLUMNS, seal_new_rows
from unnaive.text.field import Field, Fields, read_fields

RANDOM_WAYS = ("random", "measure")  # the ways in which a text is selected by chance
BULK = "bulk"  # begins the way of texts that were labelled at once
IMPORTED = "import"  # the annotator name of labels that came with the texts
LEASE_SECONDS = 600  # a text shown to an annotator is not shown to others for this long


@dataclass(frozen=True)
class RecordedAnswer:
    """A decision in the record.

    kind         "label", "skip", "flag", "reject" (the suggested label is wrong), "class" (a new class), "rename" (or
                 merge), "drop", "describe", "guidelines", "texts" (appended) or "undo"
    text         the index of the text, from 0; None for a decision about classes or several texts
    labels       the labels of the text by their present names, the rejected label, the name of the new class, the old
                 and the new name, the class and its description, or the first and the end of the appended texts
    suggested    the label that was most probable to the model, with its probability; None without a model. It was
                 shown as a suggestion, unless the text measures the model
    way          how the text was selected: "random", "measure" (random too, to measure the model), "uncertain",
                 "novel", "explore", "similar", "search", "review" (a reviewer decides), "bulk 7" (with others), …
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


class ImportedVote(NamedTuple):
    """An answer from elsewhere: the text, the annotator, the kind of the answer, its labels, and its time if known."""

    text: int
    who: str
    kind: str
    labels: Sequence[str]
    at: str = ""


class AlreadyDecided(BadData):
    """The text was decided after it was shown, so the answer was not recorded."""


class LabelRecord:
    """A record of labels; any number of processes may open the file at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = open_database(path)
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
            # closing writes the write-ahead log into the file
            with closing(open_database(part, new=True)) as data, data:
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
        with writing(self._data) as data:
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

    def change_class(self, who: str, kind: str, names: Sequence[str]) -> None:
        """Add, rename, drop or describe a class, or set the guidelines: see `class_names.py`."""
        with writing(self._data) as data:
            if kind == "drop":
                self._check_unused(*names)
            data.execute(
                "INSERT INTO decisions (at, who, kind, labels) VALUES (?, ?, ?, ?)",
                (_now(), who, kind, json.dumps(list(names), ensure_ascii=False)),
            )
            seal_new_rows(data)
            self._store_renamed()

    def _check_unused(self, label: str) -> None:
        answers = [answer for answer in self.standing() if answer.kind == "label" and label in answer.labels]
        if answers:
            used = count_noun(len(answers), "answer")
            raise BadData(f"{used} gave the class {label!r}, so it cannot be deleted; merge it into another class")

    def _store_renamed(self) -> None:
        """Let the views use the present names of the classes; in the transaction that changes them."""
        self._data.execute("DELETE FROM renamed")
        self._data.executemany("INSERT INTO renamed VALUES (?, ?)", self.class_names().renamed.items())

    def add_many(self, votes: Sequence[ImportedVote], way: str) -> None:
        """Add imported answers, in one transaction."""
        at = _now()
        with writing(self._data) as data:
            data.executemany(
                "INSERT INTO decisions (at, who, kind, text, labels, way) VALUES (?, ?, ?, ?, ?, ?)",
                [(vote.at or at, vote.who, vote.kind, vote.text, _labels_json(vote.labels), way) for vote in votes],
            )
            seal_new_rows(data)

    def label_many(self, who: str, texts: Sequence[int], labels: Sequence[str]) -> None:
        """Label many texts at once, in one transaction; one undo takes all of it back."""
        at = _now()
        with writing(self._data) as data:
            number = int(data.execute("SELECT coalesce(max(id), 0) + 1 FROM decisions").fetchone()[0])
            data.executemany(
                "INSERT INTO decisions (at, who, kind, text, labels, way) VALUES (?, ?, 'label', ?, ?, ?)",
                [(at, who, text, _labels_json(labels), f"{BULK} {number}") for text in texts],
            )
            seal_new_rows(data)

    def append(self, who: str, texts: Sequence[str], names: Sequence[str]) -> None:
        """Append texts, in one transaction; their ids continue where they are taken."""
        with writing(self._data) as data:
            first, taken = len(self), set(self.names())
            rows = []
            for row, (text, name) in enumerate(zip(texts, names, strict=True), start=first):
                free = next(one for one in (name, str(row + 1), f"{name} ({row + 1})") if one not in taken)
                taken.add(free)
                rows.append((row, free, text))
            data.executemany("INSERT INTO texts VALUES (?, ?, ?)", rows)
            data.execute(
                "INSERT INTO decisions (at, who, kind, labels) VALUES (?, ?, 'texts', ?)",
                (_now(), who, json.dumps([str(first), str(first + len(rows))])),
            )
            seal_new_rows(data)

    def insert(self, rows: Sequence[Sequence[Any]]) -> None:
        """Copy decisions of another record with their ids, in one transaction; rows have all of COLUMNS in order."""
        with writing(self._data) as data:
            data.executemany(f"INSERT INTO decisions ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            seal_new_rows(data)
            self._store_renamed()

    def undo(self, who: str) -> RecordedAnswer | None:
        """Undo the last decision of an annotator that was not undone yet, and return it; None if there is none.

        Texts that were labelled at once are undone at once.
        """
        standing = "coalesce(way, '') NOT LIKE 'import%' AND NOT EXISTS (SELECT 1 FROM decisions WHERE undoes = one.id)"
        with writing(self._data) as data:
            row = data.execute(
                f"SELECT {COLUMNS} FROM decisions AS one WHERE who = ? AND kind NOT IN ('undo', 'texts')"
                f" AND {standing} ORDER BY id DESC LIMIT 1",
                (who,),
            ).fetchone()
            if row is None:
                return None
            together = [(row[0], row[4])]
            if str(row[8]).startswith(f"{BULK} "):
                together = data.execute(
                    f"SELECT id, text FROM decisions AS one WHERE who = ? AND way = ? AND {standing}", (who, row[8])
                ).fetchall()
            gone = _decision(row, self.class_names().renamed)
            data.executemany(
                "INSERT INTO decisions (at, who, kind, text, labels, undoes) VALUES (?, ?, 'undo', ?, '[]', ?)",
                [(_now(), who, text, number) for number, text in together],
            )
            seal_new_rows(data)
            if row[3] == "rename":
                self._store_renamed()
        return gone

    def lease(self, who: str, text: int, now: float) -> bool:
        """Reserve a text for an annotator for ten minutes; False if another annotator has reserved it.

        A reservation may be lost when the machine stops, so nobody waits until it is on disk.
        """
        self._data.execute("PRAGMA synchronous = NORMAL")
        try:
            return self._lease(who, text, now)
        finally:
            self._data.execute("PRAGMA synchronous = FULL")

    def _lease(self, who: str, text: int, now: float) -> bool:
        with writing(self._data) as data:
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
        with writing(self._data) as data:
            data.execute("DELETE FROM leases WHERE who = ?", (who,))

    # Reading.

    def last_decision(self, text: int) -> int:
        """The id of the last answer or undo about a text; 0 without any."""
        row = self._data.execute("SELECT max(id) FROM decisions WHERE text = ? AND kind <> 'reject'", (text,))
        return int(row.fetchone()[0] or 0)

    def _describe_last(self, text: int) -> str:
        (last,) = self._read(f"SELECT {COLUMNS} FROM decisions WHERE id = ?", (self.last_decision(text),))
        labels = " and ".join(map(repr, last.labels)) or "with no label"
        did = {"label": f"labelled this text {labels}", "skip": "skipped this text", "flag": "flagged this text"}
        return (
            f"{last.who} {did.get(last.kind, 'changed the answer about this text')} after it was shown here, so your "
            "answer was not recorded; look at the text again to change it"
        )

    def decisions(self, since: int = 0) -> list[RecordedAnswer]:
        """All decisions with an id above `since`, in order, including undone decisions and undos."""
        return self._read(f"SELECT {COLUMNS} FROM decisions WHERE id > ? ORDER BY id", (since,))

    def standing(self) -> list[RecordedAnswer]:
        """All decisions that were not undone, in order."""
        return self._read(
            f"SELECT {COLUMNS} FROM decisions AS one WHERE kind <> 'undo'"
            " AND NOT EXISTS (SELECT 1 FROM decisions WHERE undoes = one.id) ORDER BY id"
        )

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[RecordedAnswer]:
        renamed: dict[str, str] = dict(self._data.execute("SELECT name, current FROM renamed").fetchall())
        return [_decision(row, renamed) for row in self._data.execute(query, values)]

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

    def current_answers(self) -> list[RecordedAnswer]:
        """The current answer of each annotator on each text, by text and annotator."""
        return self._read(f"SELECT {COLUMNS.removesuffix(', undoes')} FROM votes ORDER BY text, who")

    def votes(self) -> list[tuple[int, str, str, tuple[str, ...]]]:
        """The current answer of each annotator on each text: (text, who, kind, labels)."""
        return [(one.text or 0, one.who, one.kind, one.labels) for one in self.current_answers()]

    def class_names(self) -> ClassNames:
        """The initial classes and all that the decisions did to them."""
        rows = self._data.execute(
            "SELECT kind, labels FROM decisions AS one WHERE kind NOT IN ('undo', 'skip', 'flag', 'reject', 'texts')"
            " AND NOT EXISTS (SELECT 1 FROM decisions WHERE undoes = one.id) ORDER BY id"
        )
        initial = json.loads(self.setting("classes") or "[]")
        return ClassNames.read(initial, ((kind, json.loads(labels)) for kind, labels in rows))

    def classes(self) -> list[str]:
        """The classes in order: the initial ones, then those of the decisions."""
        return self.class_names().names

    def text_ends(self) -> tuple[int, ...]:
        """The number of texts at first, and after each time that texts were appended."""
        rows = self._data.execute("SELECT labels FROM decisions WHERE kind = 'texts' ORDER BY id").fetchall()
        appended = [json.loads(labels) for (labels,) in rows]
        return (int(appended[0][0]) if appended else len(self), *(int(end) for _, end in appended))


def _decision(row: Sequence[Any], renamed: Mapping[str, str]) -> RecordedAnswer:
    number, at, who, kind, text, stored, suggested, *more = row
    labels = tuple(json.loads(stored))
    if kind in ("label", "reject") and renamed:
        labels = tuple(sorted({renamed.get(label, label) for label in labels}))
        suggested = renamed.get(suggested, suggested)
    return RecordedAnswer(number, at, who, kind, text, labels, suggested, *more)


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
