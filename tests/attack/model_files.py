"""Model files of every kind, and what damage and malice make of them: bytes, headers, arrays, descriptions, members.

Mutants of structure have checksums that fit what is in them, so that the rules of model files are what they meet;
mutants of bytes have those of the file that they were.
"""

import copy
import os
import random
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import model_verbs
import numpy as np
from support.fasttext_files import KINDS as FASTTEXT_KINDS
from support.fasttext_files import write_fasttext
from support.model_files import file_bytes, read_parts

from unnaive import TextClassifier
from unnaive.classifier.compress import quantised
from unnaive.classifier.model_file import save as save_model
from unnaive.classifier.receipts import register_documents
from unnaive.data.text_hashes import TextHashes
from unnaive.learning.decisions import LeastCost, TopK
from unnaive.models.catalogue import IMPORTED, MODELS, find_model
from unnaive.models.fasttext.compressing import rounded
from unnaive.models.fasttext.importing import import_fasttext

TEXTS, LABELS, SETS = model_verbs.TEXTS, model_verbs.LABELS, model_verbs.SETS
EXTREMES = [0, 1, -1, 2, 7, 255, 2**15, 2**31 - 1, 2**31, 2**32, -(2**31), 2**62, 2**63 - 1, -(2**63), 2**64 - 1]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 1e308, -1e308, 1e76, 1e74, -1e74, 1e30, 5e-324, 1e-300]
KINDS = [np.uint8, np.int8, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64, np.bool_]
VALUES = [
    None, True, False, 0, 1, -1, 2, 2**31, 2**63, 2**70, -(2**63), 0.5, -1.5, 1e308, float("nan"), float("inf"), "",
    "a", "x" * 999,
    "\ud800", "\x1b[31m", [], [1], ["a"], [[]], {}, {"a": 1}, [None], "softmax", "log-odds", "cosine", "margin",
    "noisy-or", "one-of-all", "tf-idf", "balanced", [3, 3], [0, 0], ["chi2", 3], "binary", "log", "raw", "l1", "l2",
    [-1, 5], [2**40, 2**40], 10**400, "en", "tr", "best", "scut", "argmax", "macro-f1", "costs.csv", "/etc/passwd",
    "single", "sets", "indicator", "sparse", "temperature", "platt", "isotonic", "given", "hs", "ova",
    *sorted(MODELS | IMPORTED),
]  # fmt: skip
ENTRIES = [
    {"dtype": "BOOL"}, {"dtype": "BF16"}, {"dtype": "F64"}, {"dtype": "U8"}, {"dtype": "I64"}, {"dtype": None},
    {"shape": []}, {"shape": [0]}, {"shape": [1]}, {"shape": [2**62, 4]}, {"shape": [-1]}, {"shape": [True]},
    {"shape": "3"}, {"data_offsets": [0, 0]}, {"data_offsets": [0, 2**63]}, {"data_offsets": [-8, 8]},
    {"data_offsets": [8]}, {"data_offsets": None}, {"more": 1},
]  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A sound model file: its bytes, the same without checksums, its arrays and its description."""

    raw: bytes
    bare: bytes
    arrays: dict
    about: dict


def make_models(folder):
    """Small models of every name, single-label and multilabel, and of every other thing that a file may hold."""
    return _samples(folder, lambda: [*_fitted_models(), *((fitted, False) for fitted in imported_models(folder))])


def make_native_models(folder):
    """Models whose arrays native code reads by itself: those of the fastText kind, and neighbours."""

    def made():
        for fitted in imported_models(folder):
            yield fitted, False
        for options in ({}, {"k": 1}, {"ngrams": (1, 2)}, {"analyzer": "char"}, {"calibrate": True}):
            for labels in (LABELS, SETS):
                yield TextClassifier("knn", **{"k": 3} | options).fit(TEXTS, labels).fitted_, False

    return _samples(folder, made)


def _samples(folder, made):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_sample(fitted, folder, frozen) for fitted, frozen in made()]


def _fitted_models():
    for name in sorted(MODELS):
        known = find_model(name).declared()
        small = model_verbs.SMALL.items()
        settings = {key: value for key, value in small if key in known and isinstance(known[key].default, int)}
        for labels in (LABELS, SETS):
            fitted = TextClassifier(name, **settings).fit(TEXTS, labels).fitted_
            yield fitted, False
            if labels is LABELS:
                yield fitted, True
    for name, bits in (("multinomial", 8), ("auto", 16), ("auto", 8), ("nbsvm", 8), ("or-gate", 16)):
        fitted = TextClassifier(name).fit(TEXTS, LABELS).fitted_
        yield replace(fitted, scorer=quantised(fitted.scorer, bits), counts=None, documents=None), True
    many = [f"class {number % 40:02d} word{number % 40} word{number % 7}" for number in range(120)]
    yield TextClassifier("label-tree").fit(many, [text[6:8] for text in many]).fitted_, False
    for options in (
        {"min_df": 2, "select": ("chi2", 6), "decision": "scut", "calibrate": True, "labels": SETS},
        {"calibrate": True, "ngrams": (1, 2), "stem": "porter"},
        {"calibrate": "platt"}, {"calibrate": "isotonic", "labels": SETS}, {"optimise": "macro-f1"},
        {"decision": "pcut", "labels": SETS}, {"decision": "rcut", "labels": SETS}, {"decision": TopK(2)},
        {"decision": LeastCost(tuple(tuple(float(i != j) for j in range(3)) for i in range(3)))},
        {"optimise": {true: {given: float(true != given) for given in set(LABELS)} for true in set(LABELS)}},
        {"class_weight": {"food": 2.5}}, {"labels": [len(label) for label in LABELS]},
        {"model": "nbsvm", "calibrate": True, "analyzer": "both", "char_ngrams": (2, 3)},
        {"model": "svm", "analyzer": "char", "char_borders": "words"},
        {"model": "maxent", "class_weight": "balanced", "stopwords": ("the",)},
        {"model": "complement", "class_prior": [0.2, 0.3, 0.5]},
        {"model": "hos", "keep_documents": True},
    ):  # fmt: skip
        labels = options.pop("labels", LABELS)
        yield TextClassifier(**{"model": "multinomial"} | options).fit(TEXTS, labels).fitted_, False
    weights = np.linspace(0.5, 2, len(TEXTS))
    for name in ("multinomial", "maxent"):
        yield TextClassifier(name).fit(TEXTS, LABELS, sample_weight=weights).fitted_, False
    listed = TextClassifier("multinomial").fit(TEXTS, LABELS).fitted_
    sets = [(one,) for one in LABELS]
    yield replace(register_documents(listed, TEXTS, sets), text_hashes=TextHashes.of(TEXTS)), False
    yield register_documents(listed, TEXTS, sets, key=b"k" * 32), False


def imported_models(folder):
    """A model of every kind that fastText saves; of the losses that allow it also multilabel, and one compressed."""
    path = Path(folder) / "imported.bin"
    for name, parts in FASTTEXT_KINDS.items():
        path.write_bytes(write_fasttext(parts))
        fitted = import_fasttext(path, multilabel=name.startswith("ova"))
        yield fitted
        if name == "softmax-subwords":
            yield replace(fitted, scorer=rounded(fitted.scorer, 8))


def _sample(fitted, folder, frozen):
    path = Path(folder) / "made.model"
    save_model(fitted, path, frozen=frozen)
    arrays, about = read_parts(path)
    return Sample(path.read_bytes(), file_bytes(arrays, about | {"format": 2}), arrays, about)


def corrupted(models, seed):
    """(the bytes of a file that is wrong in one to three places, whether its checksums must tell); by the seed."""
    rng = random.Random(seed)
    sample = rng.choice(models)
    kind = rng.random()
    if kind < 0.2:
        changed = _changed_bytes(bytearray(sample.raw), rng, models)
        return changed, changed != sample.raw
    if kind < 0.3:
        return _changed_bytes(bytearray(sample.bare), rng, models), False
    arrays, about = {name: array.copy() for name, array in sample.arrays.items()}, copy.deepcopy(sample.about)
    entries = {}
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change = rng.random()
        if change < 0.45 and arrays:
            _change_array(arrays, rng)
        elif change < 0.7:
            change_value(about, rng)
        elif change < 0.95:
            _take_from(rng.choice(models), arrays, about, rng)
        elif arrays:
            name = rng.choice(sorted(arrays))
            entries[name] = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]} | rng.choice(ENTRIES)
    if rng.random() < 0.1:
        about["format"] = 2
    return file_bytes(arrays, about, entries=entries), False


def _changed_bytes(raw, rng, models):
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(raw[: rng.randrange(len(raw))])
    if kind == 1:
        other = rng.choice(models).raw
        start, size = rng.randrange(len(other)), rng.randrange(1, 200)
        place = rng.randrange(len(raw))
        raw[place : place + size] = other[start : start + size]
        return bytes(raw)
    for _ in range(rng.randrange(1, 9)):
        place = rng.randrange(len(raw)) if kind == 2 else rng.randrange(min(len(raw), 4000))
        raw[place] = rng.randrange(256) if rng.random() < 0.5 else raw[place] ^ 1 << rng.randrange(8)
    return bytes(raw)


def _take_from(other, arrays, about, rng):
    """Something of another model in the place of what is here: a key, the arrays of a group, or one array."""
    kind = rng.randrange(4)
    if kind == 0:
        key = rng.choice(sorted(other.about))
        about[key] = copy.deepcopy(other.about[key])
    elif kind == 1:
        part, key = rng.choice([(part, key) for part, values in other.about.items() if isinstance(values, dict)
                                for key in values] or [("scorer", "kind")])  # fmt: skip
        if isinstance(about.get(part), dict):
            about[part][key] = copy.deepcopy(other.about[part][key])
    elif kind == 2:
        group = rng.choice(["scorer", "counts", "documents", "conformal", "vocabulary", "register"])
        for name in [name for name in arrays if name.split(".")[0] == group]:
            del arrays[name]
        arrays |= {name: array.copy() for name, array in other.arrays.items() if name.split(".")[0] == group}
        if group in other.about and rng.random() < 0.7:
            about[group] = copy.deepcopy(other.about[group])
    elif other.arrays:
        name = rng.choice(sorted(other.arrays))
        arrays[name] = other.arrays[name].copy()


def _change_array(arrays, rng):
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    kind = rng.randrange(11)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind <= 3 and array.size:
            places = [rng.randrange(array.size) for _ in range(rng.choice([1, 1, 2, 5]))]
            for place in places:
                array.flat[place] = _extreme(array.dtype, rng)
        elif kind == 4:
            arrays[name] = array.astype(rng.choice(KINDS))
        elif kind == 5:
            arrays[name] = array.ravel()[: rng.randrange(array.size + 1)].copy()
        elif kind == 6:
            arrays[name] = np.concatenate([array.ravel(), array.ravel()[: rng.randrange(array.size + 1)]])
        elif kind == 7:
            arrays[name] = rng.choice(
                [array.reshape(1, -1), array.ravel(), np.zeros((), array.dtype), array[..., None]]
            )
        elif kind == 8:
            other = rng.choice(sorted(arrays))
            arrays[name], arrays[other] = arrays[other], arrays[name]
        elif kind == 9:
            arrays[rng.choice(["more", "scorer.more", "documents.more", f"{name}.more", "counts.vocabulary.bytes"])] = (
                array.copy()
            )
        else:
            arrays.pop(name)


def _extreme(dtype, rng):
    if dtype.kind == "f":
        return dtype.type(rng.choice(FLOATS))
    if dtype.kind == "b":
        return rng.random() < 0.5
    width = 8 * dtype.itemsize
    value = rng.choice(EXTREMES) % 2**width
    return dtype.type(value - 2**width if dtype.kind == "i" and value >= 2 ** (width - 1) else value)


def change_value(about, rng):
    """Something else at a random place of the JSON, or nothing."""
    place, key = about, rng.choice(sorted(about))
    while isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.8:
        place = place[key]
        key = rng.choice(sorted(place)) if isinstance(place, dict) else rng.randrange(len(place))
    kind = rng.random()
    if kind < 0.15:
        del place[key]
    elif kind < 0.2 and isinstance(place, dict):
        place["more"] = copy.deepcopy(rng.choice(VALUES))
    else:
        place[key] = copy.deepcopy(rng.choice(VALUES))


def attack_with(models, folder):
    """A function of a seed: write the corrupted file, load it, use it."""

    def attack(seed):
        path = Path(folder) / f"{os.getpid()}.model"
        path.unlink(missing_ok=True)  # not written over: the one before may be mapped
        content, told = corrupted(models, seed)
        path.write_bytes(content)
        return model_verbs.use(path, seed, must_refuse=told)

    return attack
