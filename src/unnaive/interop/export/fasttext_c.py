"""Target c of imported fastText models: unnaive.h, which is the same for all of them, and model.bin, which it reads."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.interop.export.c_engines import check_c
from unnaive.interop.export.c_header import DataSection, free_places, pack_sections
from unnaive.interop.export.conformance import TOLERANCE_OF_SINGLES, EngineAgreement
from unnaive.interop.export.portable_fasttext import PortableFastText, stored_arrays
from unnaive.models.fasttext.binary_file import LOSSES
from unnaive.models.fasttext.matrices import QuantisedMatrix
from unnaive.models.fasttext.outputs import SIGMOIDS
from unnaive.models.fasttext.scorer import FastTextScorer

RUNTIME = files("unnaive.interop.export")
MAGIC, VERSION = 0x54464E55, 1  # "UNFT"
FORMS = ("f32", "i16", "i8", "codes")
SECTIONS = {
    "rows": "w", "codes": "w", "step": "s", "centroids": "c", "normCodes": "m", "norms": "n", "output": "o",
    "outputScale": "x", "children": "t",
}  # fmt: skip
DTYPES = {"f32": "<f4", "i8": "<i1", "u8": "<u1", "i16": "<i2", "i32": "<i4"}


def write_fasttext_c(model: PortableFastText) -> dict[str, bytes]:
    """The files of the export by name."""
    return {
        "unnaive.h": (RUNTIME / "fasttext.h.in").read_bytes(),
        "model.bin": pack_sections(_sections(model), MAGIC, VERSION),
    }


def _sections(model: PortableFastText) -> Iterator[DataSection]:
    scorer = model.scorer
    yield "R", 0, _rule(model)
    entries = [word.encode() for word in (*model.words, *model.skipped)]
    hashes = hash_tokens(entries)
    yield "S", 0, _slots(hashes, np.array([i for i, entry in enumerate(entries) if entry], np.int64))
    yield "E", 0, np.cumsum([0, *map(len, entries)]).astype("<u4")
    yield "B", 0, np.frombuffer(b"".join(entries), np.uint8)
    names = [label.encode() + b"\0" for label in model.classes]
    yield "N", 0, np.frombuffer(b"".join(names), np.uint8)
    yield "M", 0, np.cumsum([0, *map(len, names)]).astype("<u4")
    yield "p", 0, scorer.places.astype("<u4")
    yield "O", 0, np.array(_label_order(scorer), "<u4")
    yield "g", 0, SIGMOIDS.astype("<f4")
    if model.thresholds is not None:
        yield "d", 0, np.array(model.thresholds, "<f8")
    if scorer.kept is not None:
        yield "k", 0, scorer.kept[np.argsort(scorer.kept[:, 0], kind="stable")].astype("<i4")
    stored = stored_arrays(scorer)
    for name, section in SECTIONS.items():
        kind, values = stored[name]
        if values is not None:
            yield section, 0, np.ascontiguousarray(values).astype(DTYPES[kind])


def _rule(model: PortableFastText) -> NDArray[Any]:
    """The numbers of the header's rule[], in the order of its enum."""
    scorer, rows = model.scorer, model.scorer.rows
    part = rows.width if isinstance(rows, QuantisedMatrix) else 0
    loss = next(number for number, name in LOSSES.items() if name == scorer.loss)
    form = "codes" if part else stored_arrays(scorer)["rows"][0]
    return np.array([
        loss, scorer.n_words, scorer.bucket, scorer.minn, scorer.maxn, scorer.word_ngrams, rows.shape[1],
        scorer.n_classes, model.thresholds is not None, True, scorer.folded, FORMS.index(form),
        part, rows.shape[0], len(model.words) + len(model.skipped),
        0 if scorer.kept is None else len(scorer.kept), scorer.kept is not None,
    ], "<u4")  # fmt: skip


def _label_order(scorer: FastTextScorer) -> list[int]:
    """The order in which fastText visits the labels: for hierarchical softmax from left to right in its tree."""
    n = scorer.n_classes
    if scorer.loss != "hs":
        return list(range(n))
    children, order, open_nodes = scorer.outputs.children.tolist(), [], [2 * n - 2]
    while open_nodes:
        node = open_nodes.pop()
        if node < n:
            order.append(node)
        else:
            open_nodes += reversed(children[node - n])
    return order


def hash_tokens(tokens: list[bytes]) -> NDArray[np.uint32]:
    """fastText's hash of each token (n_tokens,): see `word_hash`.

    >>> hash_tokens([b"a", b"\\xc3"]).tolist()
    [3826002220, 3321057138]
    """
    content = np.frombuffer(b"".join(tokens), np.int8).astype(np.int32).view(np.uint32)
    sizes = np.array([len(token) for token in tokens], np.int64)
    starts = np.cumsum(sizes) - sizes
    hashes = np.full(len(sizes), 0x811C9DC5, np.uint32)
    for index in range(int(sizes.max(initial=0))):
        which = np.flatnonzero(sizes > index)
        hashes[which] = (hashes[which] ^ content[starts[which] + index]) * np.uint32(0x01000193)
    return hashes


def _slots(hashes: NDArray[np.uint32], which: NDArray[np.int64]) -> NDArray[Any]:
    """A table by open addressing: (entry + 1, hash) of `which` entries, and at least half of the slots are free."""
    n_slots = 1 << max(2, (2 * len(hashes) - 1).bit_length())
    slots = np.zeros((n_slots, 2), "<u4")
    first = (hashes[which] ^ hashes[which] >> np.uint32(15)) & np.uint32(n_slots - 1)
    places = free_places(first.tolist(), n_slots)
    slots[places, 0], slots[places, 1] = which + 1, hashes[which]
    return slots


def check_fasttext_c(folder: Path, lines: list[str]) -> list[EngineAgreement]:
    """Compile the header with every available compiler, and run it on the conformance file."""
    return check_c(folder, lines, TOLERANCE_OF_SINGLES)
