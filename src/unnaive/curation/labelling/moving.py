"""Export labels to tables and other tools; `importing.py` is the way back.

CSV, JSONL, Parquet, Prodigy's JSONL, Label Studio's JSON. A table has a row for each labelled text, or for each vote;
the other tools get every vote. Records with fields have a column for each field in tables; other tools show them as
text, a line for each field.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData, choose
from unnaive.curation.labelling.label_log import LabelRecord, RecordedAnswer
from unnaive.curation.labelling.record_tables import DECIDED, is_label_record
from unnaive.data.fields.record_fields import decode_record
from unnaive.io.endings import DELIMITERS, ENDINGS, TABLES, split_ending, written_format
from unnaive.io.writing.output_files import open_output
from unnaive.io.writing.table_writer import open_table_writer
from unnaive.text.field import VECTOR, Field, field_kinds
from unnaive.text.sections import shown_record

COLUMNS = ("id", "label", "annotator", "answer", "time", "suggested", "probability", "selected")  # beside the text
SEPARATOR = ";"  # between the labels of a text, in CSV
TABLE_FORMATS = tuple(dict.fromkeys(ENDINGS[ending].format for ending in TABLES))
PRODIGY, LABEL_STUDIO = "prodigy", "label-studio"

TextAnswer = tuple[str, str, RecordedAnswer]  # name, text, answer
LabelledText = tuple[str, str, tuple[str, ...]]  # name, text, labels


def export_labels(record: LabelRecord, path: Path, form: str | None = None, *, votes: bool = False) -> int:
    """Write all current labels to a file, atomically; return the number of texts, or with `votes` of answers.

    form   a table format, "prodigy" or "label-studio"; by default from the file name, .json for Label Studio
    votes  write a row for the answer of each annotator about a text, also a skip or a flag, to a table
    """
    if form is None:
        form = LABEL_STUDIO if split_ending(path)[0] == ".json" else written_format(path)
    form = choose([*TABLE_FORMATS, PRODIGY, LABEL_STUDIO], form, "format of labels")
    if path.exists() and is_label_record(path):
        raise BadData(f"{path} is a file of labels; name another file to write")
    final, names, texts = record.final(), record.names(), record.texts()
    answers = record.current_answers()
    if not (answers if votes else final):
        raise BadData(f"{record.path} has no label yet, so there is nothing to export; label some texts first")
    fields = record.fields()
    given = [(names[one.text], texts[one.text], one) for one in answers if one.text is not None]
    if form == LABEL_STUDIO:
        tasks = _label_studio_tasks(given)
        with open_output(path) as file:
            file.write(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")
        return len(tasks)
    if form == PRODIGY:
        table = _prodigy_rows(given, record)
    elif votes:
        rows = [(name, text, one.labels) for name, text, one in given]
        table = [
            row | _vote_columns(one)
            for row, (_, _, one) in zip(_table_rows(rows, record.multilabel, form, fields), given, strict=True)
        ]
    else:
        rows = [(names[text], texts[text], labels) for text, labels in final.items()]
        table = _table_rows(rows, record.multilabel, form, fields)
    types = partial(_column_types, record.multilabel, table, () if form == PRODIGY else fields)
    with open_table_writer(path, "jsonl" if form == PRODIGY else form, types=types) as write:
        write(table)
    return len(table)


def _vote_columns(answer: RecordedAnswer) -> dict[str, Any]:
    return {
        "annotator": answer.who, "answer": answer.kind, "time": answer.at, "suggested": answer.suggested,
        "probability": answer.probability, "selected": answer.way,
    }  # fmt: skip


def _table_rows(
    rows: Sequence[LabelledText], multilabel: bool, form: str, fields: Sequence[Field] | None
) -> list[dict[str, Any]]:
    """Rows with id, text or fields, and label; the labels of multilabel data are a list, in CSV and TSV one cell."""
    taken = next((name for name in field_kinds(fields or ()) if name in COLUMNS), None)
    if taken is not None:
        raise BadData(
            f"a field is called {taken!r}, like a column of the export; export as {PRODIGY} or {LABEL_STUDIO}"
        )

    def columns(text: str) -> dict[str, Any]:
        return {"text": text} if fields is None else decode_record(text, fields)

    if not multilabel:
        return [{"id": name, **columns(text), "label": labels[0] if labels else None} for name, text, labels in rows]
    if form not in DELIMITERS:
        return [{"id": name, **columns(text), "label": list(labels)} for name, text, labels in rows]
    odd = next((label for _, _, labels in rows for label in labels if SEPARATOR in label), None)
    if odd is not None:
        raise BadData(f"the label {odd!r} has a {SEPARATOR!r} in it, which separates labels in CSV; export as jsonl")
    return [{"id": name, **columns(text), "label": SEPARATOR.join(labels)} for name, text, labels in rows]


def _column_types(multilabel: bool, rows: Sequence[dict[str, Any]], fields: Sequence[Field] | None) -> dict[str, Any]:
    """The Arrow types of the label and of the fields; a category is a list in all rows if it is one in any."""
    import pyarrow

    names = pyarrow.list_(pyarrow.string())
    kinds = {"number": pyarrow.float64(), VECTOR: pyarrow.list_(pyarrow.float64())}
    types = {field.name: kinds.get(field.kind, pyarrow.string()) for field in fields or ()}
    for name in [name for name in types if any(isinstance(row[name], list) for row in rows)]:
        if types[name] == pyarrow.string():
            types[name] = names
            for row in rows:
                row[name] = [row[name]] if isinstance(row[name], str) else row[name]
    words = dict.fromkeys(("annotator", "answer", "time", "suggested", "selected"), pyarrow.string())
    votes = {**words, "probability": pyarrow.float64()} if rows and "answer" in rows[0] else {}
    return types | {"label": names if multilabel else pyarrow.string()} | votes


def _prodigy_rows(answers: Sequence[TextAnswer], record: LabelRecord) -> list[dict[str, Any]]:
    """The answers in Prodigy's format of a choice among options; a skipped or flagged text is ignored there."""
    options = [{"id": label, "text": label} for label in record.classes()]
    style = {"choice_style": "multiple" if record.multilabel else "single"}
    return [
        {"text": shown_record(text), "meta": {"id": name}, "options": options, "accept": list(answer.labels),
         "answer": "accept" if answer.kind == "label" else "ignore", "flagged": answer.kind == "flag",
         "_annotator_id": answer.who, "_timestamp": int(datetime.fromisoformat(answer.at).timestamp()),
         "config": style}
        for name, text, answer in answers
    ]  # fmt: skip


def _label_studio_tasks(answers: Sequence[TextAnswer]) -> list[dict[str, Any]]:
    """Label Studio's tasks with annotations, for a configuration of Choices named "label" on a Text named "text".

    A skipped or flagged text is a cancelled annotation there. Label Studio ignores our names of annotators.
    """
    tasks: dict[str, dict[str, Any]] = {}
    for name, text, answer in answers:
        result = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": list(answer.labels)}}
        task = tasks.setdefault(
            name, {"id": len(tasks) + 1, "data": {"text": shown_record(text), "id": name}, "annotations": []}
        )
        task["annotations"].append({
            "result": [result] if answer.kind == "label" else [], "was_cancelled": answer.kind != "label",
            "ground_truth": answer.way == DECIDED, "created_at": answer.at, "annotator": answer.who,
        })  # fmt: skip
    return list(tasks.values())


def find_queue(rows: Sequence[dict[str, Any]], names: Sequence[str], texts: Sequence[str], source: str) -> list[int]:
    """The indices of the texts that audit findings name by id, text or row number (from 1), in their order."""
    by_name = {name: index for index, name in enumerate(names)}
    by_text = {text: index for index, text in enumerate(texts)}
    if not rows or not {"id", "row", "text"} & rows[0].keys():
        raise BadData(f"{source} has no column id, row or text; expected findings of unnaive audit")
    queue: dict[int, None] = {}
    for row in rows:
        name, text, number = (str(row.get(column) or "").strip() for column in ("id", "text", "row"))
        index = by_name.get(name, by_text.get(text))
        if index is None and number.isdecimal() and 1 <= int(number) <= len(texts):
            index = int(number) - 1
        if index is not None:
            queue[index] = None
    if not queue:
        raise BadData(f"none of the texts of {source} is among those to label; is it of the same data?")
    return list(queue)
