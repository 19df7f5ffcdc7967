"""Target js: one ES module without dependencies, its types, and a package.json that makes the folder a package."""

from __future__ import annotations

import base64
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive import __version__
from unnaive.base.sparse import issparse
from unnaive.base.types import Floats, Label
from unnaive.data.missing_values import MISSING
from unnaive.interop.export.conformance import TOLERANCE, EngineAgreement, compare_answers
from unnaive.interop.export.engines import find_program, read_answers, run_program
from unnaive.interop.export.portable import (
    PortableModel,
    PortablePart,
    character_tables,
    exact_form,
    log_counts,
    script_zeros,
)
from unnaive.text.field import Fields, field_key, field_kinds
from unnaive.text.sections import section_modes

RUNTIME = files("unnaive.interop.export")
TEXTS_ONLY = """// The text to read, and its terms.
const asText = String, eachTermOf = (text, take) => eachTerm(decode(text), take);"""  # for models without fields


def write_javascript(model: PortableModel) -> dict[str, bytes]:
    """The files of the export by name."""
    return package_files(javascript_module(model), (RUNTIME / "model.d.ts").read_bytes())


def package_files(module: str, types: bytes) -> dict[str, bytes]:
    """A module and its types as the files of a package, by name."""
    package = {"name": "unnaive-model", "version": __version__, "type": "module", "main": "model.js",
               "types": "model.d.ts", "private": True, "sideEffects": False}  # fmt: skip
    return {
        "model.js": module.encode(),
        "model.d.ts": types,
        "package.json": (json.dumps(package, indent=2) + "\n").encode(),
    }


def javascript_module(model: PortableModel) -> str:
    """The text of the module; its data has no "<", so that it can be embedded in a page."""
    data = json.dumps(_values(model), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    runtime = (RUNTIME / "runtime.js").read_text(encoding="utf-8")
    records = TEXTS_ONLY if model.rule.fields is None else (RUNTIME / "records.js").read_text(encoding="utf-8").rstrip()
    return runtime.replace("/*RECORDS*/", records, 1).replace("/*MODEL*/", f"const MODEL = {data};", 1)


def _label(label: Label) -> Label:
    """A class as JavaScript has it: a string where its numbers would not tell classes apart, or print them otherwise.

    >>> _label(7), _label(1.0), _label(2**53 + 1), _label(True)
    (7, '1.0', '9007199254740993', True)
    """
    return label if isinstance(label, str | bool) or (isinstance(label, int) and abs(label) < 2**53) else str(label)


def _values(model: PortableModel) -> dict[str, Any]:
    rule = model.rule
    return {
        "about": {
            "name": model.name,
            "title": model.title,
            "version": __version__,
            "multilabel": model.multilabel,
            "link": model.link,
        },
        "classes": [_label(label) for label in model.classes],
        "multilabel": model.multilabel,
        "link": model.link,
        "referenceIsMean": model.reference_is_mean,
        "probabilistic": model.probabilistic,
        "calibration": model.calibration,
        "decision": model.decision,
        "limits": {
            f"{coverage:g}": [_finite(overall), [_finite(value) for value in by_class]]
            for coverage, (overall, by_class) in model.limits.items()
        },
        "rule": {
            "language": rule.language,
            "lowercase": rule.lowercase,
            "minLength": rule.min_length,
            "digits": rule.digits,
            "ngrams": rule.ngrams,
            "analyzer": rule.analyzer,
            "charNgrams": rule.char_ngrams,
            "unspaced": rule.unspaced,
            "emoji": rule.emoji,
            "symbols": rule.symbols,
            "charBorders": rule.char_borders,
        },
        "characters": character_tables(),
        "mixedTerms": model.gram is not None,
        "stopWords": "\n".join(word for word in model.stop_words if "\n" not in word),
        "logCounts": encode_numbers("f64", np.array(log_counts())),
        "bias": [_finite(value) for value in model.bias.tolist()],
        "parts": [_part(part) for part in model.parts],
        "terms": "\n".join(model.terms.terms),
    } | ({} if rule.fields is None else _record_values(rule.fields))


def _record_values(fields: Fields) -> dict[str, Any]:
    """What only records need: the fields, the words for missing values, and the zeros of all scripts but ASCII."""
    return {"fields": _fields(fields), "missing": sorted(MISSING), "zeros": script_zeros()}


def _fields(fields: Fields) -> list[dict[str, Any]]:
    """The fields of records in order, with the key of each and how its section is read."""
    modes = section_modes(fields)
    return [
        {"name": name, "key": field_key(name), "kind": kind, "mode": modes[field_key(name)]}
        for name, kind in field_kinds(fields).items()
    ]


def _part(part: PortablePart) -> dict[str, Any]:
    table = part.weights
    sparse = issparse(table)
    kind, weights = exact_form(table.data if sparse else table, part.step, table.indices if sparse else None)
    return {
        "tf": part.tf,
        "norm": part.norm,
        "columns": None if part.columns is None else encode_numbers("i32", part.columns),
        "idf": _floats(part.idf),
        "weights": encode_numbers(kind, weights),
        "step": _floats(part.step) if kind in ("i8", "i16") else None,
        "ends": encode_numbers("i32", table.indptr) if sparse else None,
        "classes": encode_numbers("i32", table.indices) if sparse else None,
        "bias": [_finite(value) for value in part.bias.tolist()],
        "classOffset": _floats(part.class_offset),
        "termOffset": _floats(part.term_offset),
    }


DTYPES = {"f64": "<f8", "f32": "<f4", "i8": "<i1", "u8": "<u1", "i16": "<i2", "i32": "<i4"}


def encode_numbers(kind: str, values: NDArray[Any]) -> list[str]:
    """The name of the number type, and the bytes in base 64."""
    return [kind, base64.b64encode(np.ascontiguousarray(values).astype(DTYPES[kind]).tobytes()).decode()]


def _floats(values: Floats | None) -> list[str] | None:
    return None if values is None else encode_numbers("f64", values)


def _finite(value: float) -> float | None:
    """A number for JSON: None stands for −∞ of a class without documents, and for ∞ of a limit."""
    return value if np.isfinite(value) else None


CHECK = """
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
const { classify } = await import(pathToFileURL(process.argv[1]));
const finite = (values) => values && values.map((one) => (Number.isFinite(one) ? one : null));
for await (const line of createInterface({ input: process.stdin })) {
  const expected = JSON.parse(line);
  const options = "label_set" in expected ? { coverage: 0.9 } : {};
  const { labels, scores, probabilities, known_terms, label_set } = classify(expected.record ?? expected.text, options);
  const numbers = { scores: finite(scores), probabilities: finite(probabilities) };
  console.log(JSON.stringify({ labels, ...numbers, known_terms, label_set }));
}
"""


def check_javascript(folder: Path, lines: list[str], tolerance: float = TOLERANCE) -> list[EngineAgreement]:
    """Run the module in Node on the conformance file."""
    node = find_program("node", "nodejs", what="Node.js 18 or newer")
    module = (folder / "model.js").resolve()
    printed = run_program([node, "--input-type=module", "-e", CHECK, str(module)], "\n".join(lines) + "\n")
    return [compare_answers("Node", tolerance, lines, read_answers(printed))]
