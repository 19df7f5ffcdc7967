"""Import labels of other tools, and of tables: Prodigy's JSONL, Label Studio's JSON, CSV, JSONL, Parquet and others.

A table has the columns of an export: `text` or `id`, and `label`. With `annotator`, `answer` and `time` it has every
vote; without them, its labels are those of the annotator "import".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from unnaive.base.errors import BadData, choose
from unnaive.base.open_files import check_exists
from unnaive.curation.labelling.label_log import IMPORTED, ImportedVote, LabelRecord
from unnaive.curation.labelling.moving import (
    LABEL_STUDIO,
    PRODIGY,
    SEPARATOR,
    TABLE_FORMATS,
)
from unnaive.curation.labelling.record_tables import ANSWERS
from unnaive.io.endings import PACKINGS, read_format
from unnaive.io.formats import read_rows
from unnaive.text.sections import shown_record


class ReadVote(NamedTuple):
    """An answer in a file: the id and the text, of which one may be missing, the annotator, and the answer."""

    name: str | None
    text: str | None
    who: str
    kind: str
    labels: tuple[str, ...]
    at: str = ""


def read_votes(path: Path, form: str | None = None, *, multilabel: bool = False) -> list[ReadVote]:
    """Read all answers of a file.

    form  a table format, "prodigy" or "label-studio"; by default by the content
    """
    check_exists(path)
    if form is not None:
        choose([*TABLE_FORMATS, PRODIGY, LABEL_STUDIO], form, "format of labels to import")
    looks_json = path.suffix not in PACKINGS and read_format(str(path)) in (None, "jsonl")
    is_json = form in (PRODIGY, LABEL_STUDIO) or (form is None and looks_json)
    if not is_json:
        return list(_read_table(path, list(read_rows(path)), multilabel))
    values = _read_json(path)
    first = values[0] if values else {}
    if form is None:
        is_prodigy = "accept" in first or ("answer" in first and "annotator" not in first)
        form = LABEL_STUDIO if "data" in first else PRODIGY if is_prodigy or "label" not in first else "jsonl"
    if form == LABEL_STUDIO:
        return list(_read_label_studio(path, values))
    return list(_read_prodigy(path, values) if form == PRODIGY else _read_table(path, values, multilabel))


def import_labels(record: LabelRecord, path: Path, form: str | None = None) -> tuple[int, int]:
    """Import the answers of a file (`read_votes`) about texts of the record."""
    return add_votes(record, read_votes(path, form, multilabel=record.multilabel), path)


def add_votes(record: LabelRecord, votes: Sequence[ReadVote], path: Path) -> tuple[int, int]:
    """Add answers; return how many were added, and how many are about texts that the record does not have.

    Texts are matched by their content, or by their id if the file has no text. Annotators keep their names.
    """
    by_text: dict[str, list[int]] = {}
    for row, text in enumerate(record.texts()):
        by_text.setdefault(shown_record(text), []).append(row)  # other tools have records as they are shown
    by_name = {name: [row] for row, name in enumerate(record.names())}
    current = record.class_names().current
    answers: dict[tuple[str, int], ImportedVote] = {}
    unknown = 0
    for vote in votes:
        if vote.kind == "label" and not record.multilabel and len(vote.labels) != 1:
            raise BadData(
                f"{path} has a text with {len(vote.labels)} labels; the record has one for each: make it with "
                "--multilabel"
            )
        rows = by_name.get(vote.name or "", []) if vote.text is None else by_text.get(vote.text, [])
        if len(rows) > 1 and vote.name in by_name and by_name[vote.name][0] in rows:
            rows = by_name[vote.name]  # one of several copies
        unknown += not rows
        for row in rows:
            labels = [current(label) for label in vote.labels]
            answers[vote.who, row] = ImportedVote(row, vote.who, vote.kind, labels, vote.at)
    record.add_many(
        sorted(answers.values(), key=lambda answer: (answer.at, answer.who, answer.text)), f"import {path.name}"
    )
    return len(answers), unknown


def _read_table(path: Path, rows: Sequence[dict[str, Any]], multilabel: bool) -> Iterator[ReadVote]:
    columns = set().union(*rows) if rows else set()
    if not columns & {"id", "text"} or not columns & {"label", "answer"}:
        raise BadData(f"{path} has no columns text (or id) and label; expected what label export writes")
    for number, row in enumerate(rows, start=1):
        kind = str(row.get("answer") or "label")
        if kind not in ANSWERS:
            raise BadData(f"row {number} of {path} has the answer {kind!r}; expected {', '.join(ANSWERS)}")
        labels = _labels_of(row.get("label"), multilabel) if kind == "label" else ()
        if kind == "label" and not labels and not multilabel:
            continue  # a text without a label
        name, text = (None if row.get(column) is None else str(row[column]) for column in ("id", "text"))
        yield ReadVote(name, text, str(row.get("annotator") or IMPORTED), kind, labels, str(row.get("time") or ""))


def _labels_of(value: Any, multilabel: bool) -> tuple[str, ...]:
    """The labels in a cell: a list, or of multilabel data names with a separator."""
    if isinstance(value, str) and multilabel:
        value = value.split(SEPARATOR)
    values = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    return tuple(sorted({str(label).strip() for label in values if str(label).strip()}))


def _read_json(path: Path) -> list[Any]:
    """The values of a file with a JSON list, or with one JSON value per line."""
    try:
        words = path.read_text(encoding="utf-8")
        values = (
            json.loads(words)
            if words.lstrip().startswith("[")
            else [json.loads(line) for line in words.splitlines() if line.strip()]
        )
    except (ValueError, RecursionError) as problem:
        raise BadData(f"{path} is not JSON ({problem}); expected what Prodigy or Label Studio exports") from problem
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise BadData(f"{path} is not a list of tasks; expected what Prodigy or Label Studio exports")
    return values


def _read_prodigy(path: Path, values: Sequence[dict[str, Any]]) -> Iterator[ReadVote]:
    """Yield the accepted examples: the ticked options of a choice, or the label of a binary question."""
    for number, example in enumerate(values, start=1):
        text = example.get("text")
        if not isinstance(text, str):
            raise BadData(f"line {number} of {path} has no text; expected Prodigy's JSONL")
        name = (example.get("meta") or {}).get("id")
        name = None if name is None else str(name)
        who = str(example.get("_annotator_id") or example.get("_session_id") or IMPORTED)
        stamp = example.get("_timestamp")
        at = datetime.fromtimestamp(stamp, UTC).isoformat(timespec="milliseconds") if isinstance(stamp, int) else ""
        answer = example.get("answer", "accept")
        if answer not in ("accept", "reject", "ignore"):
            raise BadData(f"line {number} of {path} has the answer {answer!r}; expected accept, reject or ignore")
        if answer == "ignore":
            yield ReadVote(name, text, who, "flag" if example.get("flagged") else "skip", (), at)
        if answer != "accept":
            continue
        labels = (
            example["accept"]
            if isinstance(example.get("accept"), list)
            else [example["label"]]
            if "label" in example
            else None
        )
        if labels is None:
            raise BadData(
                f"line {number} of {path} has neither accept nor label; expected Prodigy's text classification"
            )
        yield ReadVote(name, text, who, "label", tuple(sorted({str(label) for label in labels})), at)


def _read_label_studio(path: Path, values: Sequence[dict[str, Any]]) -> Iterator[ReadVote]:
    for number, task in enumerate(values, start=1):
        data = task.get("data")
        strings = [value for value in data.values() if isinstance(value, str)] if isinstance(data, dict) else []
        text = data["text"] if isinstance(data, dict) and isinstance(data.get("text"), str) else None
        if text is None and len(strings) == 1:
            text = strings[0]
        if text is None:
            raise BadData(f"task {number} of {path} has no field text; expected Label Studio's JSON of texts")
        name = data.get("id") if isinstance(data, dict) else None
        for annotation in task.get("annotations") or ():
            labels = _choices(annotation)
            kind = "skip" if annotation.get("was_cancelled") else "label"
            if labels or kind == "skip":
                at = str(annotation.get("created_at") or "")
                yield ReadVote(None if name is None else str(name), text, _annotator(annotation), kind, labels, at)


def _annotator(annotation: dict[str, Any]) -> str:
    """The annotator of one of Label Studio's annotations, or of our export."""
    if annotation.get("annotator"):
        return str(annotation["annotator"])
    by = annotation.get("completed_by")
    who = by.get("email") or by.get("id") if isinstance(by, dict) else by
    return IMPORTED if who is None else f"label-studio {who}"


def _choices(annotation: Any) -> tuple[str, ...]:
    labels: set[str] = set()
    for result in annotation.get("result") or () if isinstance(annotation, dict) else ():
        value = result.get("value") if isinstance(result, dict) else None
        if isinstance(value, dict) and isinstance(value.get("choices"), list):
            labels |= {str(label) for label in value["choices"]}
    return tuple(sorted(labels))
