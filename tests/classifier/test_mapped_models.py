"""Models whose arrays are pages of their file: the same predictions, the same refusals, shared by processes."""

import json
import mmap
import random
import sys
import warnings

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from support.model_files import LABELS, NEW, TEXTS, without_checksums

from unnaive import TextClassifier
from unnaive.base.errors import BadModel
from unnaive.classifier.mapped_arrays import map_arrays
from unnaive.classifier.model_file import load_model
from unnaive.models.catalogue import MODELS, find_model


def owner(array):
    """What the memory of an array belongs to."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def test_arrays_are_those_of_the_library_and_lie_in_the_file(saved):
    arrays, metadata, *_ = map_arrays(saved)
    expected = load_file(saved)
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        assert array.dtype == expected[name].dtype
        assert np.array_equal(array, expected[name])
        assert not array.flags.writeable
        assert not array.size or isinstance(owner(array), mmap.mmap)
    assert json.loads(metadata["unnaive"])["model"] == "multinomial"


def test_the_weights_of_a_mapped_model_are_not_copied(saved):
    weights = load_model(saved, mapped=True).scorer.sparse_weights
    assert isinstance(owner(weights.data), mmap.mmap)
    assert isinstance(owner(weights.indices), mmap.mmap)
    assert not isinstance(owner(load_model(saved).scorer.sparse_weights.data), mmap.mmap)


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.slow
def test_every_model_predicts_alike(tmp_path, name):
    path = tmp_path / "any.model"
    known = find_model(name).declared()
    small = {"restarts": 2, "average": 2, "max_iter": 5}
    settings = {key: value for key, value in small.items() if key in known and isinstance(known[key].default, int)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few documents
        TextClassifier(name, **settings).fit(TEXTS, LABELS).save(path)
    copied, mapped = load_model(path), load_model(path, mapped=True)
    assert np.array_equal(copied.scores(NEW), mapped.scores(NEW))
    assert copied.predict(NEW).tolist() == mapped.predict(NEW).tolist()
    assert copied.strongest_terms("food", 3) == mapped.strongest_terms("food", 3)


def test_without_the_library_a_model_is_read_all_the_same(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)  # there is none for some interpreters without a GIL
    found = load_model(saved)
    assert np.array_equal(found.scores(NEW), load_model(saved, mapped=True).scores(NEW))
    assert not found.scorer.bias.flags.writeable
    assert owner(found.scorer.bias) is None  # no pages of the file, which an update replaces
    saved.write_bytes(saved.read_bytes()[:-1])
    with pytest.raises(BadModel, match=r"tickets\.model: this is not a model, or it is damaged"):
        load_model(saved)


def test_a_replaced_file_stays_as_it_was_for_its_readers(saved):
    before = load_model(saved, mapped=True)
    expected = before.scores(NEW).copy()
    TextClassifier("bernoulli").fit(TEXTS * 50, LABELS * 50).save(saved)  # atomic: a new file takes the name
    assert np.array_equal(before.scores(NEW), expected)
    assert load_model(saved, mapped=True).spec.model.traits.name == "bernoulli"


def outcome(path, mapped):
    try:
        return load_model(path, mapped=mapped).scores(NEW).tolist()
    except BadModel as problem:
        return "refused" if "\n" not in str(problem) else "refused in several lines"


def refused_by_the_library(path):
    try:
        load_file(path)
    except (SafetensorError, AttributeError, TypeError):  # the last two: a kind of number that numpy has not
        return True
    return False


def test_damaged_files_are_refused_alike(saved, tmp_path):
    """Cut off, grown, or with some bytes changed, most of them in the header, where a mistake would read elsewhere.

    What the library refuses is refused; more is, since the library knows nothing of models.
    """
    without_checksums(saved)  # which would refuse all of them
    whole = saved.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    path = tmp_path / "damaged.model"
    rng = random.Random(5)
    refused = 0
    for number in range(400):
        raw = bytearray(whole)
        if number % 8 == 0:
            raw = raw[: rng.randrange(len(raw))]
        elif number % 8 == 1:
            raw += bytes(rng.randrange(1, 20))
        else:
            for _ in range(rng.randrange(1, 4)):
                place = rng.randrange(start if number % 2 else len(raw))
                raw[place] = rng.choice(b'0123456789[]{}",:\x00\xff') if rng.random() < 0.7 else rng.randrange(256)
        path.unlink(missing_ok=True)  # those who mapped the one before keep it
        path.write_bytes(raw)
        expected = outcome(path, mapped=False)
        assert outcome(path, mapped=True) == expected, f"number {number}"
        assert expected == "refused" or not refused_by_the_library(path), f"number {number}"
        refused += expected == "refused"
    assert 200 < refused < 400


@pytest.mark.parametrize(
    "change",
    [
        {"data_offsets": [0, 1 << 63]},
        {"data_offsets": [-8, 16]},
        {"shape": [1 << 62, 1 << 62]},
        {"shape": [-1]},
        {"shape": [True]},
        {"dtype": "BF16"},
        {"dtype": None},
        {"data_offsets": [8]},
        {"data_offsets": "00"},
    ],
    ids=str,
)
def test_crafted_headers_are_refused(saved, tmp_path, change):
    raw = saved.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    header["scorer.bias"] |= change
    words = json.dumps(header).encode()
    path = tmp_path / "crafted.model"
    path.write_bytes(len(words).to_bytes(8, "little") + words + raw[8 + size :])
    with pytest.raises(BadModel, match="not a model, or it is damaged"):
        load_model(path, mapped=True)


def test_arrays_in_places_that_do_not_suit_them_are_copied(tmp_path):
    """A file whose bytes come first leaves the rest at odd places; the library itself sorts, so it is by hand."""
    header = {
        "first": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
        "second": {"dtype": "F64", "shape": [2], "data_offsets": [3, 19]},
        "third": {"dtype": "I32", "shape": [0, 4], "data_offsets": [19, 19]},
    }
    words = json.dumps(header).encode()
    path = tmp_path / "odd.model"
    path.write_bytes(len(words).to_bytes(8, "little") + words + bytes([1, 2, 3]) + np.array([0.5, -2.0]).tobytes())
    arrays = map_arrays(path).arrays
    assert arrays["first"].tolist() == [1, 2, 3]
    assert arrays["second"].tolist() == [0.5, -2.0]
    assert arrays["second"].flags.aligned
    assert arrays["third"].shape == (0, 4)


def test_files_of_others(tmp_path):
    path = tmp_path / "any.model"
    save_file({"a": np.zeros(3)}, path)
    with pytest.raises(BadModel, match="not a model of unnaive"):
        load_model(path, mapped=True)
    for content in (
        b"",
        b"PK\x03\x04",
        bytes(8),
        (1 << 40).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
    ):
        path.write_bytes(content)
        with pytest.raises(BadModel):
            load_model(path, mapped=True)
