"""Target c: unnaive.h, which is the same for all models, and model.bin, which it reads in place, without parsing."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array, issparse
from unnaive.data.missing_values import MISSING
from unnaive.interop.export.declared_parts import CannotExport, refuse_nul
from unnaive.interop.export.portable import (
    PortableModel,
    PortablePart,
    character_tables,
    exact_form,
    log_counts,
    script_zeros,
)
from unnaive.text.field import TEXT_KINDS, Fields, field_key, field_kinds
from unnaive.text.languages import fold_table
from unnaive.text.sections import section_modes

RUNTIME = files("unnaive.interop.export")
HEADER = (
    "runtime.h.in",
    "runtime_text.h.in",
    "runtime_records.h.in",
    "runtime_scores.h.in",
)  # concatenated into one file of the export
MOST_PARTS = 32
MAGIC, VERSION = 0x414E4E55, 3  # "UNNA"
# numbers of the header; each list is in the order of its enum
LINKS = ("softmax", "log-odds", "one-of-all", "noisy-or", "cosine", "margin")
CALIBRATIONS = (None, "temperature", "platt", "isotonic")
DECISIONS = ("argmax", "weighted-argmax", "least-cost", "top-k", "thresholds")
SCALES = ("scores", "probabilities", "relative")
FORMS = ("f64", "f32", "i16", "i8")
FIELD_KINDS = ("text", "category", "number", "date")
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
SHORT, LONG = 11, 255  # maximum bytes of a term in a slot, and the mark of longer terms
MIX = np.uint64(0xD6E8FEB86659FD93)
DataSection = tuple[str, int, NDArray[Any]]  # name, number of the part, content


def write_c(model: PortableModel) -> dict[str, bytes]:
    """The files of the export by name."""
    return {"unnaive.h": header_content(), "model.bin": model_data(model)}


def header_content() -> bytes:
    """The header, which is the same for all models."""
    return b"".join((RUNTIME / part).read_bytes() for part in HEADER)


def model_data(model: PortableModel) -> bytes:
    """The data file: a directory of sections, each aligned to eight bytes, all numbers little-endian."""
    if len(model.parts) > MOST_PARTS:
        raise CannotExport(
            f"the model is a sum of {len(model.parts)} parts, but the C export supports at most {MOST_PARTS}; "
            "export it to js"
        )
    return pack_sections(_sections(model), MAGIC, VERSION)


def pack_sections(content_of: Iterable[DataSection], magic: int, version: int) -> bytes:
    """A directory of sections, then the sections, each at an offset divisible by 16."""
    sections = list(content_of)
    at = 16 + 24 * len(sections)
    directory, contents = [], []
    for name, part, content in sections:
        data = content.tobytes()
        at += -at % 16
        directory.append(struct.pack("<IIQQ", ord(name), part, at, len(data)))
        contents.append((at, data))
        at += len(data)
    out = bytearray(at)
    out[:16] = struct.pack("<IIII", magic, version, len(sections), 0)
    out[16 : 16 + 24 * len(sections)] = b"".join(directory)
    for start, data in contents:
        out[start : start + len(data)] = data
    return bytes(out)


def _sections(model: PortableModel) -> Iterator[DataSection]:
    yield "R", 0, _rule(model)
    yield from (("P", 0, part) if name == "pages" else ("K", 0, part) for name, part in _kinds(model).items())
    yield "F", 0, _folds(model)
    yield from _terms(model.terms.terms, 0, _cells_of_terms(model))
    yield from _terms([word for word in model.stop_words if word and not _has_surrogate(word)], 1)
    yield "L", 0, np.array(log_counts(), "<f8")
    yield "b", 1000, model.bias.astype("<f8")
    refuse_nul(model.classes, "a C string ends at a NUL")
    names = [str(label).encode() + b"\0" for label in model.classes]
    yield "N", 0, np.frombuffer(b"".join(names), np.uint8)
    yield "N", 1, np.cumsum([0, *map(len, names[:-1])]).astype("<u4")
    calibration = _calibration(model.calibration)
    if calibration is not None:
        yield "C", 0, calibration
    decision = model.decision
    numbers = decision.get("values") or decision.get("weights") or decision.get("costs") or ()
    yield "D", 0, np.asarray(numbers, "<f8").ravel()
    limits = [[coverage, overall, *by_class] for coverage, (overall, by_class) in model.limits.items()]
    yield "l", 0, np.asarray(limits, "<f8").ravel()
    yield from _fields(model.rule.fields or ())
    for number, part in enumerate(model.parts):
        yield from _part(model, number, part)


def _fields(fields: Fields) -> Iterator[DataSection]:
    """The sections for records: kind, mode, key and name of each field; names; markers of empty cells; digits zero."""
    if not fields:
        return
    modes, strings, rows = section_modes(fields), b"", []
    for name, kind in field_kinds(fields).items():
        key = field_key(name)
        kind_number = FIELD_KINDS.index("text" if kind in TEXT_KINDS else kind)
        rows.append([kind_number, modes[key], len(strings), len(strings) + len(key.encode()) + 1])
        strings += key.encode() + b"\0" + _c_string(name) + b"\0"
    yield "f", 0, np.array(rows, "<u4")
    yield "f", 1, np.frombuffer(strings, np.uint8)
    yield "f", 2, np.frombuffer(b"".join(word.encode() + b"\0" for word in sorted(MISSING)), np.uint8)
    yield "f", 3, np.array(script_zeros(), "<u4")


def _c_string(name: str) -> bytes:
    return name.replace("\0", " ").encode("utf-8", "replace")


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
        len(model.rule.field_kinds or {}),
    ], "<u4")  # fmt: skip


def _kinds(model: PortableModel) -> dict[str, NDArray[Any]]:
    """The kinds of all characters as a two-level table: the page of each 256 characters, and the distinct pages."""
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


def _cells_of_terms(model: PortableModel) -> NDArray[np.int64]:
    """The number of stored weights of each term (n_terms,); in sparse tables frequent terms have more."""
    cells = np.zeros(len(model.terms), np.int64)
    for part in model.parts:
        if issparse(part.weights):
            cells[slice(None) if part.columns is None else part.columns] += np.diff(part.weights.indptr)
    return cells


def _terms(terms: Sequence[str], number: int, cells: NDArray[np.int64] | None = None) -> Iterator[DataSection]:
    """A hash table of terms with open addressing, and the UTF-8 of the terms that do not fit in a slot."""
    encoded = [term.encode() for term in terms]
    long = [term for term in encoded if len(term) > SHORT]
    if len(long) >= 1 << 24:
        raise CannotExport(
            f"the model has {len(long):,} terms of more than {SHORT} bytes, but the C export supports at most "
            f"{(1 << 24) - 1:,}; make it smaller first (`unnaive compress`)"
        )
    yield "S", number, term_slots(encoded, cells)
    yield "E", number, np.cumsum([0, *map(len, long)]).astype("<u4")
    yield "B", number, np.frombuffer(b"".join(long), np.uint8)


def term_slots(terms: Sequence[bytes], cells: NDArray[np.int64] | None = None) -> NDArray[Any]:
    """The slots (n_slots,) of a table of terms; the header says what a slot is.

    Terms with many `cells`, then short ones, come first: they tend to be the frequent ones, and have their first slot.
    """
    sizes = np.array([len(term) for term in terms], np.int64)
    is_long = sizes > SHORT
    padded = b"".join(term[:SHORT].ljust(12, b"\0") for term in terms)
    words = np.frombuffer(padded, "<u4").reshape(-1, 3).astype(np.uint64)
    heads, rests = words[:, 0] | words[:, 1] << np.uint64(32), words[:, 2] | sizes.astype(np.uint64) << np.uint64(24)
    heads[is_long] = hash_bytes([term for term in terms if len(term) > SHORT])
    rests[is_long] = LONG << 24
    bits = max(2, (2 * len(terms) - 1).bit_length())
    hashes = (heads ^ rests * np.uint64(0x9E3779B97F4A7C15)) * MIX
    first = ((hashes ^ hashes >> np.uint64(32)) * MIX >> np.uint64(64 - bits)).astype(np.int64)
    rests[is_long] += np.arange(is_long.sum(), dtype=np.uint64)
    slots = np.zeros(1 << bits, [("head", "<u8"), ("rest", "<u4"), ("term", "<u4")])
    order = np.lexsort((sizes,) if cells is None else (sizes, -cells))
    places = free_places(first[order].tolist(), 1 << bits)
    slots["head"][places], slots["rest"][places], slots["term"][places] = heads[order], rests[order], order + 1
    return slots


def hash_bytes(terms: Sequence[bytes]) -> NDArray[np.uint64]:
    """A hash of each term (n_terms,), eight bytes at a time; the "#" of a character n-gram is one bit of it."""
    grams = [term.startswith(b"#") for term in terms]
    content = [term[gram:] for term, gram in zip(terms, grams, strict=True)]
    sizes = np.array([len(term) for term in content], np.int64)
    chunks = -(-sizes // 8)
    starts = np.cumsum(chunks) - chunks
    padded = b"".join(term.ljust(8 * n, b"\0") for term, n in zip(content, chunks.tolist(), strict=True))
    values = np.frombuffer(padded, "<u8")
    hashes = (sizes.astype(np.uint64) << np.uint64(1) | np.array(grams, np.uint64)) * MIX
    for chunk in range(int(chunks.max(initial=0))):
        which = np.flatnonzero(chunks > chunk)
        mixed = (hashes[which] ^ values[starts[which] + chunk]) * MIX
        hashes[which] = mixed ^ mixed >> np.uint64(32)
    return hashes


def free_places(first: Sequence[int], n_slots: int) -> list[int]:
    """Open addressing: the first free slot for each entry, starting at the slot of its hash.

    >>> free_places([2, 3, 2], 4)
    [2, 3, 0]
    """
    taken, mask, places = bytearray(n_slots), n_slots - 1, []
    for slot in first:
        while taken[slot]:
            slot = (slot + 1) & mask
        taken[slot] = 1
        places.append(slot)
    return places


def _has_surrogate(word: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in word)


def _calibration(how: dict[str, Any] | None) -> NDArray[Any] | None:
    """The numbers of a calibration: T and offset; slopes and offsets; or the starts, knots and p of curves."""
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
    sparse = issparse(part.weights)
    table = fill_dense_rows(part.weights) if sparse else part.weights
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


def fill_dense_rows(table: csr_array) -> csr_array:
    """The same weights (n_terms, n_classes); a row with half of all cells or more has all of them, zeros included.

    Such rows, those of frequent terms, are added several classes at a time.

    >>> fill_dense_rows(csr_array([[2.0, 0.0, 3.0], [0.0, 1.0, 0.0]])).data.tolist()
    [2.0, 0.0, 3.0, 1.0]
    """
    n_classes, sizes = table.shape[1], np.diff(table.indptr)
    dense = 2 * sizes >= n_classes
    ends = np.concatenate([[0], np.cumsum(np.where(dense, n_classes, sizes))])
    of_cell = np.repeat(np.arange(len(sizes)), sizes)
    shift = np.where(dense[of_cell], table.indices, np.arange(len(of_cell)) - table.indptr[of_cell])
    places = ends[of_cell] + shift
    data, classes = np.zeros(ends[-1]), np.zeros(ends[-1], np.int64)
    (full,) = np.nonzero(dense)
    classes[(ends[full][:, None] + np.arange(n_classes)).ravel()] = np.tile(np.arange(n_classes), len(full))
    data[places], classes[places] = table.data, table.indices
    return csr_array((data, classes, ends), shape=table.shape)
