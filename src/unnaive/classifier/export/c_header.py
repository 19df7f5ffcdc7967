"""Target c: unnaive.h, which is the same for all models, and model.bin, which it reads where it lies."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import issparse
from unnaive.classifier.export.conformance import TOLERANCE, EngineAgreement, compare_answers
from unnaive.classifier.export.engines import c_compilers, find_program, read_answers, run_program, zig_compiler
from unnaive.classifier.export.portable import (
    CannotExport,
    PortableModel,
    PortablePart,
    character_tables,
    exact_form,
    log_counts,
)
from unnaive.text.languages import fold_table

RUNTIME = files("unnaive.classifier.export")
MOST_PARTS = 32
MAGIC, VERSION = 0x414E4E55, 1  # "UNNA"
# numbers of the header; each list is in the order of its enum
LINKS = ("softmax", "log-odds", "one-of-all", "noisy-or", "cosine", "margin")
CALIBRATIONS = (None, "temperature", "platt", "isotonic")
DECISIONS = ("argmax", "weighted-argmax", "least-cost", "top-k", "thresholds")
SCALES = ("scores", "probabilities", "relative")
FORMS = ("f64", "f32", "i16", "i8")
KINDS = (
    "letters",
    "numbers",
    "marks",
    "unspaced",
    "pictures",
    "textPictures",
    "spaces",
)  # bits of a kind, lowest first
FOLDED = 128
DataSection = tuple[str, int, NDArray[Any]]  # name, number of the part, content


def write_c(model: PortableModel) -> dict[str, bytes]:
    """The files of the export by name."""
    return {"unnaive.h": (RUNTIME / "runtime.h.in").read_bytes(), "model.bin": model_data(model)}


def model_data(model: PortableModel) -> bytes:
    """The data file: a directory of sections, each aligned to eight bytes, all numbers little-endian."""
    if len(model.parts) > MOST_PARTS:
        raise CannotExport(f"the model is a sum of {len(model.parts)} parts; C takes {MOST_PARTS}")
    return pack_sections(_sections(model), MAGIC)


def pack_sections(content_of: Iterable[DataSection], magic: int) -> bytes:
    """A directory of sections, then each of them at a place divisible by eight."""
    sections = list(content_of)
    at = 16 + 24 * len(sections)
    directory, contents = [], []
    for name, part, content in sections:
        data = content.tobytes()
        at += -at % 8
        directory.append(struct.pack("<IIQQ", ord(name), part, at, len(data)))
        contents.append((at, data))
        at += len(data)
    out = bytearray(at)
    out[:16] = struct.pack("<IIII", magic, VERSION, len(sections), 0)
    out[16 : 16 + 24 * len(sections)] = b"".join(directory)
    for place, data in contents:
        out[place : place + len(data)] = data
    return bytes(out)


def _sections(model: PortableModel) -> Iterator[DataSection]:
    yield "R", 0, _rule(model)
    yield from (("P", 0, part) if name == "pages" else ("K", 0, part) for name, part in _kinds(model).items())
    yield "F", 0, _folds(model)
    yield from _terms(model.terms.terms, 0)
    yield from _terms([word for word in model.stop_words if word and not _has_surrogate(word)], 1)
    yield "L", 0, np.array(log_counts(), "<f8")
    yield "b", 1000, model.bias.astype("<f8")
    names = [str(label).encode() + b"\0" for label in model.classes]
    yield "N", 0, np.frombuffer(b"".join(names), np.uint8)
    yield "N", 1, np.cumsum([0, *map(len, names[:-1])]).astype("<u4")
    calibration = _calibration(model.calibration)
    if calibration is not None:
        yield "C", 0, calibration
    decision = model.decision
    given = decision.get("values") or decision.get("weights") or decision.get("costs") or ()
    yield "D", 0, np.asarray(given, "<f8").ravel()
    limits = [[confidence, overall, *by_class] for confidence, (overall, by_class) in model.limits.items()]
    yield "l", 0, np.asarray(limits, "<f8").ravel()
    for number, part in enumerate(model.parts):
        yield from _part(model, number, part)


def _rule(model: PortableModel) -> NDArray[Any]:
    """The numbers of the header's rule[], in the order of its enum."""
    rule, decision, calibration = model.rule, model.decision, model.calibration
    border = ord(" ") if rule.char_borders == "spaces" else ord("_")
    return np.array([
        rule.digits, rule.emoji, rule.symbols, rule.unspaced == "grams", ("word", "char", "both").index(rule.analyzer),
        rule.min_length, *rule.ngrams, *rule.char_ngrams, border, len(model.classes), len(model.terms),
        len(model.parts), model.multilabel, model.probabilistic, LINKS.index(model.link),
        CALIBRATIONS.index(calibration and calibration["kind"]), bool(calibration and calibration["exclusive"]),
        DECISIONS.index(decision["kind"]), SCALES.index(decision.get("on", "scores")),
        decision.get("at_least_one", False), decision.get("k", 0), model.gram is not None, len(model.limits),
    ], "<u4")  # fmt: skip


def _kinds(model: PortableModel) -> dict[str, NDArray[Any]]:
    """The kinds of all characters in two steps: of each 256 characters the page, and the pages that differ."""
    kinds = character_kinds()
    if model.rule.lowercase:
        kinds[list(fold_table(model.rule.language == "tr"))] |= FOLDED
    pages, numbers = np.unique(kinds.reshape(-1, 256), axis=0, return_inverse=True)
    return {"pages": numbers.ravel().astype("<u2"), "kinds": pages.ravel()}


def character_kinds() -> NDArray[np.uint8]:
    """The kinds of each code point (0x110000,), a bit for each of KINDS."""
    kinds = np.zeros(0x110000, np.uint8)
    tables = character_tables()
    for bit, name in enumerate(KINDS):
        for run in tables[name].split():
            first, _, last = run.partition("-")
            kinds[int(first, 16) : int(last or first, 16) + 1] |= 1 << bit
    return kinds


def _folds(model: PortableModel) -> NDArray[Any]:
    table = fold_table(model.rule.language == "tr") if model.rule.lowercase else {}
    return np.array(sorted(table.items()), "<u4").ravel()


def _terms(terms: Sequence[str], number: int) -> Iterator[DataSection]:
    """A table of terms by open addressing: slots of (term + 1, hash), where terms end, and their UTF-8."""
    encoded = [term.encode() for term in terms]
    yield "S", number, fill_slots(hash_terms(terms), range(len(terms)))
    yield "E", number, np.cumsum([0, *map(len, encoded)]).astype("<u4")
    yield "B", number, np.frombuffer(b"".join(encoded), np.uint8)


def fill_slots(hashes: NDArray[np.uint32], which: Iterable[int]) -> NDArray[Any]:
    """Open addressing: (entry + 1, hash) of `which` entries in the first free slot from that of their hash on."""
    size = 4
    while size < 2 * len(hashes):
        size *= 2
    slots = np.zeros((size, 2), "<u4")
    taken, mask, values = bytearray(size), size - 1, hashes.tolist()
    for entry in which:
        value = values[entry]
        slot = (value ^ value >> 15) & mask
        while taken[slot]:
            slot = (slot + 1) & mask
        taken[slot] = 1
        slots[slot] = entry + 1, value
    return slots


def hash_terms(terms: Sequence[str]) -> NDArray[np.uint32]:
    """FNV-1a over the code points of each term (n_terms,), 32 bits.

    >>> [hex(value) for value in hash_terms(["", "a"])]
    ['0x811c9dc5', '0xe40c292c']
    """
    codes = np.frombuffer("".join(terms).encode("utf-32-le"), "<u4")
    return hash_runs(codes, np.array([len(term) for term in terms], np.int64))


def hash_runs(codes: NDArray[np.uint32], sizes: NDArray[np.int64]) -> NDArray[np.uint32]:
    """FNV-1a, 32 bits, of each run of `codes`, the first of which is the first sizes[0] of them (n_runs,)."""
    starts = np.cumsum(sizes) - sizes
    hashes = np.full(len(sizes), 0x811C9DC5, np.uint32)
    for place in range(int(sizes.max(initial=0))):
        which = np.flatnonzero(sizes > place)
        hashes[which] = (hashes[which] ^ codes[starts[which] + place]) * np.uint32(0x01000193)
    return hashes


def _has_surrogate(word: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in word)


def _calibration(how: dict[str, Any] | None) -> NDArray[Any] | None:
    """The numbers of a calibration: T and offset; slopes and offsets; or where curves begin, then their knots and p."""
    if how is None:
        return None
    if how["kind"] == "temperature":
        return np.array([how["value"], how["offset"]], "<f8")
    if how["kind"] == "platt":
        return np.array([*how["slopes"], *how["offsets"]], "<f8")
    sizes = [2 * len(knots) for knots, _ in how["curves"]]
    starts = len(sizes) + 1 + np.cumsum([0, *sizes])
    return np.concatenate([starts, *(np.concatenate(curve) for curve in how["curves"])]).astype("<f8")


def _part(model: PortableModel, number: int, part: PortablePart) -> Iterator[DataSection]:
    table = part.weights
    sparse = issparse(table)
    form, weights = exact_form(table.data if sparse else table, part.step, table.indices if sparse else None)
    tf, norm = ("raw", "binary", "log").index(part.tf), (None, "l1", "l2").index(part.norm)
    yield "p", number, np.array([FORMS.index(form), tf, norm, part.n_rows, 0], "<u4")
    if part.columns is not None:
        rows = np.full(len(model.terms), -1, "<i4")
        rows[part.columns] = np.arange(part.n_rows)
        yield "r", number, rows
    step = part.step if form in ("i8", "i16") else None
    doubles = {"i": part.idf, "b": part.bias, "s": step, "c": part.class_offset, "t": part.term_offset}
    yield from ((name, number, values.astype("<f8")) for name, values in doubles.items() if values is not None)
    if sparse:
        yield "e", number, table.indptr.astype("<u4")
        yield "k", number, table.indices.astype("<u4")
    kind = {"f64": "<f8", "f32": "<f4", "i16": "<i2", "i8": "<i1"}[form]
    yield "w", number, np.ascontiguousarray(weights).astype(kind)


def check_c(folder: Path, lines: list[str], tolerance: float = TOLERANCE) -> list[EngineAgreement]:
    """Build the header with every compiler there is, and run it on the conformance file; also as WebAssembly."""
    about = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    found = []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "check.c").write_bytes((RUNTIME / "check.c.in").read_bytes())
        (work / "texts").write_bytes(_with_lengths(lines))
        for engine, command in _builds(folder, work):
            printed = run_program(command, (work / "texts").read_bytes())
            answers = [_named(answer, about["classes"]) for answer in read_answers(printed)]
            found.append(compare_answers(engine, tolerance, lines, answers))
    return found


def _with_lengths(lines: Sequence[str]) -> bytes:
    texts = [json.loads(line)["text"].encode("utf-8", "surrogatepass") for line in lines]
    return b"".join(b"%d\n" % len(text) + text for text in texts)


def _named(answer: dict[str, Any], classes: Sequence[Any]) -> dict[str, Any]:
    answer["labels"] = [classes[place] for place in answer["places"]]
    if "inside" in answer:
        answer["set"] = [classes[place] for place in answer["inside"]]
    return answer


WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
WASI = """
import { readFileSync, openSync } from "node:fs";
import { WASI } from "node:wasi";
const [path, folder] = process.argv.slice(1);
const wasi = new WASI({ version: "preview1", args: ["check", "model/model.bin"], preopens: { model: folder } });
const { instance } = await WebAssembly.instantiate(readFileSync(path), wasi.getImportObject());
process.exit(wasi.start(instance));
"""


def _builds(folder: Path, work: Path) -> Iterator[tuple[str, list[str]]]:
    """(name of the engine, command that runs it) for every compiler; an error where there is none."""
    compilers = c_compilers()
    zig = zig_compiler()
    if not compilers and not zig:
        find_program("cc", what="a C compiler (gcc, clang, or ziglang from the package index)")
    include, data = ["-I", str(folder.resolve())], str((folder / "model.bin").resolve())
    for name, path in compilers.items():
        program = str(work / f"check-{name}")
        run_program([path, *WARNINGS, *SANITIZERS, "-O1", "-g", *include, str(work / "check.c"), "-o", program, "-lm"])
        yield f"{name}, address and undefined-behaviour sanitizers", [program, data]
    if zig:
        from shutil import which

        module, node = str(work / "check.wasm"), which("node")
        run_program([*zig, "-target", "wasm32-wasi", "-O2", *include, str(work / "check.c"), "-o", module, "-lm"])
        if node:
            start = [node, "--no-warnings", "--input-type=module", "-e", WASI, module, str(folder.resolve())]
            yield "WebAssembly by ziglang in Node", start
