"""Export labels to tables and other tools, and import them.

CSV, JSONL, Parquet, Prodigy's JSONL, Label Studio's JSON. Records with fields have a column for each field in tables;
other tools show them as text, a line for each field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData, choose
from unnaive.base.open_files import check_exists
from unnaive.curation.labelling.label_log import IMPORTED, LabelRecord, is_label_record
from unnaive.data.fields.record_fields import decode_record
from unnaive.io.endings import DELIMITERS, ENDINGS, TABLES, split_ending, written_format
from unnaive.io.writing.output_files import open_output
from unnaive.io.writing.table_writer import open_table_writer
from unnaive.text.field import VECTOR, Field, field_kinds
from unnaive.text.sections import shown_record

SEPARATOR = ";"  # between the labels of a text, in CSV
TABLE_FORMATS = tuple(dict.fromkeys(ENDINGS[ending].format for ending in TABLES))
PRODIGY, LABEL_STUDIO = "prodigy", "label-studio"

LabelledText = tuple[str, str, tuple[str, ...]]  # name, text, labels
Vote = tuple[str, str, tuple[str, ...], str]  # name, text, labels, annotator


def export_labels(record: LabelRecord, path: Path, form: str | None = None) -> int:
    """Write all current labels to a file, atomically; return the number of texts.

    form  a table format, "prodigy" or "label-studio"; by default from the file name, .json for Label Studio
    """
    if form is None:
        form = LABEL_STUDIO if split_ending(path)[0] == ".json" else written_format(path)
    form = choose([*TABLE_FORMATS, PRODIGY, LABEL_STUDIO], form, "format of labels")
    if path.exists() and is_label_record(path):
        raise BadData(f"{path} is a file of labels; name another file to write")
    final, names, texts = record.final(), record.names(), record.texts()
    if not final:
        raise BadData(f"{record.path} has no label yet, so there is nothing to export; label some texts first")
    rows = [(names[text], texts[text], labels) for text, labels in final.items()]
    fields = record.fields()
    if form in (LABEL_STUDIO, PRODIGY):
        rows = [(name, shown_record(text), labels) for name, text, labels in rows]
    if form == LABEL_STUDIO:
        with open_output(path) as file:
            file.write(json.dumps(_label_studio_tasks(rows), ensure_ascii=False, indent=1) + "\n")
    else:
        table = _prodigy_rows(rows, record) if form == PRODIGY else _table_rows(rows, record.multilabel, form, fields)
        types = partial(_column_types, record.multilabel, table, () if form == PRODIGY else fields)
        with open_table_writer(path, "jsonl" if form == PRODIGY else form, types=types) as write:
            write(table)
    return len(rows)


def _table_rows(
    rows: Sequence[LabelledText], multilabel: bool, form: str, fields: Sequence[Field] | None
) -> list[dict[str, Any]]:
    """Rows with id, text or fields, and label; the labels of multilabel data are a list, in CSV and TSV one cell."""
    taken = next((name for name in field_kinds(fields or ()) if name in ("id", "label")), None)
    if taken is not None:
        raise BadData(
            f"a field is called {taken!r}, like a column of the export; export as {PRODIGY} or {LABEL_STUDIO}"
        )

    def columns(text: str) -> dict[str, Any]:
        return {"text": text} if fields is None else decode_record(text, fields)

    if not multilabel:
        return [{"id": name, **columns(text), "label": labels[0]} for name, text, labels in rows]
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
    return types | {"label": names if multilabel else pyarrow.string()}


def _prodigy_rows(rows: Sequence[LabelledText], record: LabelRecord) -> list[dict[str, Any]]:
    """The labels in Prodigy's format of a choice among options."""
    options = [{"id": label, "text": label} for label in record.classes()]
    style = {"choice_style": "multiple" if record.multilabel else "single"}
    return [
        {"text": text, "meta": {"id": name}, "options": options, "accept": list(labels), "answer": "accept",
         "config": style}
        for name, text, labels in rows
    ]  # fmt: skip


def _label_studio_tasks(rows: Sequence[LabelledText]) -> list[dict[str, Any]]:
    """Label Studio's tasks with annotations, for a configuration of Choices named "label" on a Text named "text"."""
    tasks = []
    for number, (name, text, labels) in enumerate(rows, start=1):
        result = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": list(labels)}}
        tasks.append({
            "id": number, "data": {"text": text, "id": name},
            "annotations": [{"result": [result], "was_cancelled": False, "ground_truth": False}],
        })  # fmt: skip
    return tasks


def import_labels(record: LabelRecord, path: Path, form: str | None = None) -> tuple[int, int]:
    """Import labels for texts of the record; return the number of imported labels and of texts not in the record.

    Texts are matched by their content. Annotators keep the names that they have in the other tool.
    """
    votes = list(_read(check_exists(path), form))
    places: dict[str, list[int]] = {}
    for row, text in enumerate(record.texts()):
        places.setdefault(shown_record(text), []).append(row)  # other tools have records as they are shown
    people: dict[str, dict[int, tuple[str, ...]]] = {}
    unknown = 0
    for _, text, labels, who in votes:
        if not record.multilabel and len(labels) != 1:
            raise BadData(
                f"{path} has a text with {len(labels)} labels; the record has one for each: make it with --multilabel"
            )
        unknown += text not in places
        for row in places.get(text, ()):
            people.setdefault(who, {})[row] = labels
    for who, rows in people.items():
        record.add_many(who, sorted(rows.items()), f"import {path.name}")
    return sum(map(len, people.values())), unknown


def _read(path: Path, form: str | None) -> Iterator[Vote]:
    values = _read_json(path)
    if form is None:
        first = values[0] if values and isinstance(values[0], dict) else {}
        form = LABEL_STUDIO if "data" in first else PRODIGY
    if choose([PRODIGY, LABEL_STUDIO], form, "format of labels to import") == PRODIGY:
        return _read_prodigy(path, values)
    return _read_label_studio(path, values)


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


def _read_prodigy(path: Path, values: Sequence[dict[str, Any]]) -> Iterator[Vote]:
    """Yield the accepted examples: the ticked options of a choice, or the label of a binary question."""
    for number, example in enumerate(values, start=1):
        text = example.get("text")
        if not isinstance(text, str):
            raise BadData(f"line {number} of {path} has no text; expected Prodigy's JSONL")
        if example.get("answer", "accept") != "accept":
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
        who = str(example.get("_annotator_id") or example.get("_session_id") or IMPORTED)
        yield str(number), text, tuple(sorted({str(label) for label in labels})), who


def _read_label_studio(path: Path, values: Sequence[dict[str, Any]]) -> Iterator[Vote]:
    for number, task in enumerate(values, start=1):
        data = task.get("data")
        strings = [value for value in data.values() if isinstance(value, str)] if isinstance(data, dict) else []
        text = data["text"] if isinstance(data, dict) and isinstance(data.get("text"), str) else None
        if text is None and len(strings) == 1:
            text = strings[0]
        if text is None:
            raise BadData(f"task {number} of {path} has no field text; expected Label Studio's JSON of texts")
        for annotation in task.get("annotations") or ():
            labels = _choices(annotation)
            if labels and not annotation.get("was_cancelled"):
                by = annotation.get("completed_by")
                who = by.get("email") or by.get("id") if isinstance(by, dict) else by
                yield str(task.get("id", number)), text, labels, IMPORTED if who is None else f"label-studio {who}"


def _choices(annotation: Any) -> tuple[str, ...]:
    labels: set[str] = set()
    for result in annotation.get("result") or () if isinstance(annotation, dict) else ():
        value = result.get("value") if isinstance(result, dict) else None
        if isinstance(value, dict) and isinstance(value.get("choices"), list):
            labels |= {str(label) for label in value["choices"]}
    return tuple(sorted(labels))


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
