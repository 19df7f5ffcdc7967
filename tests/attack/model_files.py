"""Corrupted and crafted model files of every kind: loading refuses them in one sentence, or all that follows works."""

import copy
import json
import os
import random
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save

from unnaive import TextClassifier
from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.classifier.model_file import load_model
from unnaive.classifier.model_file import save as save_model
from unnaive.classifier.packing import pack
from unnaive.classifier.receipts import register_documents
from unnaive.data.text_hashes import TextHashes
from unnaive.models.catalogue import MODELS, find_model

TEXTS = ["good ball, good game", "fair vote in a fair law", "warm soup with bread", "the ball is lost", "a new law"] * 3
LABELS = ["sport", "politics", "food", "sport", "politics"] * 3
SETS = [(label,) if label != "food" else ("food", "politics") for label in LABELS]
NEW = ["a ball in the soup", "vote", "", "x" * 300]
EXTREMES = [0, 1, -1, 2, 7, 255, 2**15, 2**31 - 1, 2**31, 2**32, -(2**31), 2**62, 2**63 - 1, -(2**63), 2**64 - 1]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 5e-324]
KINDS = [np.uint8, np.int8, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64, np.bool_]
VALUES = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**70, -(2**63), 0.5, -1.5, 1e308, float("nan"), float("inf"), "", "a",
    "x" * 999,
    "\ud800", "\x1b[31m", [], [1], ["a"], [[]], {}, {"a": 1}, [None], "softmax", "cosine", "tf-idf", "balanced", [3, 3],
    [0, 0],
    [-1, 5], [2**40, 2**40], 10**400, "en", "tr", "multinomial",
]  # fmt: skip


def make_models(folder):
    """The raw bytes and the parts of a small model of every kind, single-label and multilabel."""
    found = []
    for name in sorted(MODELS):
        small = {"restarts": 2, "average": 2, "k": 3, "max_iter": 5, "features": 6}
        known = find_model(name).declared()
        settings = {key: value for key, value in small.items() if key in known and isinstance(known[key].default, int)}
        for labels in (LABELS, SETS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = TextClassifier(name, **settings).fit(TEXTS, labels).fitted_
            found.append(_parts(fitted, folder))
    tuned = (
        TextClassifier("multinomial", min_df=2, select=("chi2", 6), decision="scut", calibrate=True)
        .fit(TEXTS, SETS)
        .fitted_
    )
    warm = TextClassifier("multinomial", calibrate=True, ngrams=(1, 2), stem="porter").fit(TEXTS, LABELS).fitted_
    listed = register_documents(
        TextClassifier("multinomial").fit(TEXTS, LABELS).fitted_, TEXTS, [(one,) for one in LABELS]
    )
    listed = replace(listed, text_hashes=TextHashes.of(TEXTS))
    return found + [_parts(one, folder) for one in (tuned, warm, listed)]


def _parts(fitted, folder):
    path = Path(folder) / "made.model"
    save_model(fitted, path)
    with safe_open(path, framework="np") as file:
        about = json.loads(file.metadata()["unnaive"])
    return path.read_bytes(), load_file(path), about


def corrupted(models, seed):
    """The bytes of a file that is wrong in one to three places; the same for the same seed."""
    rng = random.Random(seed)
    raw, arrays, about = rng.choice(models)
    kind = rng.random()
    if kind < 0.3:
        return _changed_bytes(bytearray(raw), rng, models)
    arrays, about = {name: array.copy() for name, array in arrays.items()}, json.loads(json.dumps(about))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.6 and arrays:
            _change_array(arrays, rng)
        else:
            _change_value(about, rng)
    return save(arrays, metadata={"unnaive": json.dumps(about)})


def _changed_bytes(raw, rng, models):
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(raw[: rng.randrange(len(raw))])
    if kind == 1:
        other = rng.choice(models)[0]
        start, size = rng.randrange(len(other)), rng.randrange(1, 200)
        place = rng.randrange(len(raw))
        raw[place : place + size] = other[start : start + size]
        return bytes(raw)
    for _ in range(rng.randrange(1, 9)):
        place = rng.randrange(len(raw)) if kind == 2 else rng.randrange(min(len(raw), 4000))
        raw[place] = rng.randrange(256) if rng.random() < 0.5 else raw[place] ^ 1 << rng.randrange(8)
    return bytes(raw)


def _change_array(arrays, rng):
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    kind = rng.randrange(9)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind <= 2 and array.size:
            places = [rng.randrange(array.size) for _ in range(rng.choice([1, 1, 2, 5]))]
            for place in places:
                array.flat[place] = _extreme(array.dtype, rng)
        elif kind == 3:
            arrays[name] = array.astype(rng.choice(KINDS))
        elif kind == 4:
            arrays[name] = array.ravel()[: rng.randrange(array.size + 1)].copy()
        elif kind == 5:
            arrays[name] = np.concatenate([array.ravel(), array.ravel()[: rng.randrange(array.size + 1)]])
        elif kind == 6:
            arrays[name] = rng.choice(
                [array.reshape(1, -1), array.ravel(), np.zeros((), array.dtype), array[..., None]]
            )
        elif kind == 7:
            other = rng.choice(sorted(arrays))
            arrays[name], arrays[other] = arrays[other], arrays[name]
        else:
            arrays.pop(name)
    if name in arrays:
        arrays[name] = np.ascontiguousarray(arrays[name])


def _extreme(dtype, rng):
    if dtype.kind == "f":
        return dtype.type(rng.choice(FLOATS))
    if dtype.kind == "b":
        return rng.random() < 0.5
    width = 8 * dtype.itemsize
    value = rng.choice(EXTREMES) % 2**width
    return dtype.type(value - 2**width if dtype.kind == "i" and value >= 2 ** (width - 1) else value)


def _change_value(about, rng):
    """Something else at a random place of the JSON, or nothing."""
    place, key = about, rng.choice(sorted(about))
    while isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.8:
        place = place[key]
        key = rng.choice(sorted(place)) if isinstance(place, dict) else rng.randrange(len(place))
    if rng.random() < 0.15:
        del place[key]
    else:
        place[key] = copy.deepcopy(rng.choice(VALUES))


def attack_with(models, folder):
    """A function of a seed: write the corrupted file, load it, use it."""
    path = Path(folder) / f"{os.getpid()}.model"

    def attack(seed):
        path.with_name(f"{os.getpid()}.model").write_bytes(corrupted(models, seed))
        return use(path.with_name(f"{os.getpid()}.model"), seed)

    return attack


def use(path, seed):
    """Load and use a model; (outcome, note)."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    try:
        fitted = load_model(path, mapped=seed % 2 == 1)
    except BadModel as problem:
        return ("refused", "") if "\n" not in str(problem) else ("crashed", f"seed {seed}: not one sentence")
    except UnnaiveError as problem:
        return "crashed", f"seed {seed}: loading raised {type(problem).__name__}"
    step = "start"
    try:
        for step, act in _steps(fitted):
            try:
                act()
            except UnnaiveError as problem:
                if "\n" in str(problem):
                    return "crashed", f"seed {seed} {step}: not one sentence"
    except Exception as problem:
        return "crashed", f"seed {seed} {step} of {fitted.spec.model.name}: {type(problem).__name__}: {problem}"[:300]
    return "survived", ""


def _steps(fitted):
    yield "predict", lambda: fitted.predict(NEW)
    yield "scores", lambda: fitted.scores(NEW)
    yield "explain", lambda: fitted.explain(NEW[0])
    yield "terms", lambda: [fitted.strongest_terms(label, 3) for label in fitted.classes]
    yield "pack", lambda: pack(fitted)
    if fitted.probabilistic:
        yield "probabilities", lambda: fitted.predict_proba(NEW)
    if fitted.statistic is not None:
        label = fitted.classes[0] if not fitted.multilabel else (fitted.classes[0],)
        yield "update", lambda: TextClassifier.from_fitted(fitted).partial_fit(["a new ball"], [label])
        yield "forget", lambda: TextClassifier.from_fitted(fitted).forget([TEXTS[0]], [label])
