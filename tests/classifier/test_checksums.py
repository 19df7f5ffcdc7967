"""Damage to a model file is noticed: every flipped bit, at load or, of documents in mapped files, at first use."""

import json
import os
import random
import shutil

import numpy as np
import pytest
from support.model_files import LABELS, NEW, TEXTS, description, file_bytes, read_parts, rewrite, without_checksums

from unnaive import TextClassifier
from unnaive.base.errors import BadModel
from unnaive.classifier import checksums
from unnaive.classifier.checksums import checksum, checksum_by_numpy
from unnaive.classifier.model_file import load_model as load
from unnaive.classifier.model_file import save as save_model
from unnaive.text.backend import BACKEND


@pytest.fixture
def with_documents(tmp_path):
    path = tmp_path / "documents.model"
    TextClassifier("nbsvm").fit(TEXTS, LABELS).save(path)
    return path


def by_definition(data):
    """The checksum as the module describes it, in whole numbers of Python."""
    factor, mask = 0x9E3779B97F4A7C15, 2**64 - 1

    def turned(word, by):
        return (word << by | word >> (64 - by)) & mask

    padded = data + bytes(-len(data) % 8192)
    words = [int.from_bytes(padded[at : at + 8], "little") for at in range(0, len(padded), 8)]
    state = [(i + 1) * factor & mask for i in range(1024)]
    for row in range(0, len(words), 1024):
        state = [turned((one ^ word) * factor & mask, 29) for one, word in zip(state, words[row:], strict=False)]
    half = 512
    while half:
        state = [turned((state[i] ^ turned(state[i + half], 17)) * factor & mask, 29) for i in range(half)]
        half //= 2
    found = state[0] ^ len(data)
    for shift in (32, 29):
        found = (found ^ found >> shift) * factor & mask
    return found ^ found >> 32


@pytest.mark.parametrize("size", [0, 1, 8, 8191, 8192, 8193, 30_000])
def test_all_ways_to_the_checksum_agree(size):
    data = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    expected = by_definition(data.tobytes())
    assert checksum_by_numpy(data) == expected
    assert checksum(data) == f"{expected:016x}"
    if BACKEND == "native":
        assert checksums.native.checksum(data, wide=False) == expected


def test_a_checksum_is_that_of_the_bytes_in_the_file():
    values = np.array([[1.5, -2.0], [0.0, 3.25]])
    assert checksum(values) == checksum(np.frombuffer(values.tobytes(), np.uint8))
    assert checksum(values.astype(">f8")) == checksum(values)
    assert checksum(values.T) == checksum(np.ascontiguousarray(values.T)) != checksum(values)


def test_every_array_has_its_checksum(saved):
    arrays, _ = read_parts(saved)
    assert description(saved)["format"] == 3
    assert description(saved)["checksums"] == {name: checksum(array) for name, array in arrays.items()}


def flipped(raw, bit):
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def check_flips(path, bits, tmp_path, mapped):
    raw, damaged = path.read_bytes(), tmp_path / "damaged.model"
    for bit in bits:
        damaged.unlink(missing_ok=True)
        damaged.write_bytes(flipped(raw, bit))
        with pytest.raises(BadModel) as problem:
            load(damaged, mapped=mapped).scores(NEW)
        assert "\n" not in str(problem.value), bit
        assert str(damaged) in str(problem.value), bit


@pytest.mark.parametrize("mapped", [False, True])
def test_a_flipped_bit_is_refused_in_one_sentence(saved, tmp_path, mapped):
    bits = range(8 * saved.stat().st_size)
    check_flips(saved, random.Random(7).sample(bits, 150), tmp_path, mapped)


@pytest.mark.slow
def test_every_flipped_bit_is_refused(tmp_path):
    """All bits of a small file, one after the other."""
    path = tmp_path / "small.model"
    TextClassifier("multinomial").fit(["good ball", "fair vote"], ["sport", "politics"]).save(path, frozen=True)
    check_flips(path, range(8 * path.stat().st_size), tmp_path, mapped=True)


def test_a_file_of_format_2_says_nothing_of_damage_and_still_loads(saved):
    expected = load(saved).scores(NEW)
    without_checksums(saved)
    assert "checksums" not in description(saved)
    for mapped in (False, True):
        assert np.array_equal(load(saved, mapped=mapped).scores(NEW), expected)
    TextClassifier.load(saved).save(saved)
    assert description(saved)["format"] == 3


@pytest.mark.parametrize("change", [{"format": 2}, {"checksums": None}, {"checksums": {}}])
def test_checksums_cannot_get_lost(saved, change):
    """A header whose format was changed to one without checksums is still compared with its own checksum."""
    raw = saved.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    about = json.loads(header["__metadata__"]["unnaive"]) | change
    header["__metadata__"]["unnaive"] = json.dumps({name: one for name, one in about.items() if one is not None})
    words = json.dumps(header).encode()
    saved.write_bytes(len(words).to_bytes(8, "little") + words + raw[start:])
    with pytest.raises(BadModel, match=r"its description was damaged since it was written \(checksum\); restore it"):
        load(saved)


def test_a_format_3_file_without_checksums_is_refused(saved):
    arrays, about = read_parts(saved)
    bare = file_bytes(arrays, about | {"format": 2}).replace(b'\\"format\\": 2', b'\\"format\\": 3')
    saved.write_bytes(bare)
    with pytest.raises(BadModel, match="its description was damaged"):
        load(saved)
    saved.write_bytes(file_bytes(arrays, about | {"checksums": {}}))
    with pytest.raises(BadModel, match="its checksums are not those of its arrays"):
        load(saved)


def damage(path, name):
    """Flip a bit in the middle of one array."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    first, last = json.loads(raw[8:start])[name]["data_offsets"]
    path.unlink()
    path.write_bytes(flipped(raw, 8 * (start + (first + last) // 2)))


def test_documents_of_a_mapped_model_are_verified_when_they_are_needed(with_documents, tmp_path):
    damage(with_documents, "documents.steps")
    with pytest.raises(BadModel, match=r"its documents\.steps was damaged since it was written"):
        load(with_documents)
    fitted = load(with_documents, mapped=True)
    assert fitted.predict(["a ball"]).tolist() == ["sport"]
    model = TextClassifier.from_fitted(fitted)
    for change in (
        lambda: model.partial_fit(["new ball"], ["sport"]),
        lambda: model.forget(TEXTS[:1], LABELS[:1]),
        lambda: model.remake(model="multinomial"),
        lambda: model.merge(model),
        lambda: model.save(tmp_path / "copy.model"),
    ):
        with pytest.raises(BadModel, match=r"its documents\.steps was damaged"):
            change()
    assert not (tmp_path / "copy.model").exists()


def test_commands_refuse_to_change_a_damaged_file(run, with_documents, tmp_path):
    damage(with_documents, "documents.steps")
    (tmp_path / "more.csv").write_text("text,label\na new ball,sport\n")
    raw = with_documents.read_bytes()
    for words in (
        ["update", with_documents, "more.csv"],
        ["forget", with_documents, "more.csv"],
        ["merge", with_documents, with_documents, "-o", "merged.model"],
        ["compress", with_documents, "--max-size", "10KB", "-o", "small.model"],
    ):
        code, _, err = run(*words)
        assert code == 2, words
        assert "its documents.steps was damaged since it was written (checksum)" in err
        assert with_documents.read_bytes() == raw


class TestWrittenOver:
    """A mapped file that is written over in place is no longer used."""

    def test_another_model_of_the_same_size(self, saved, tmp_path):
        other = tmp_path / "other.model"
        shutil.copy(saved, other)
        rewrite(other, lambda arrays, about: arrays["scorer.weights.data"].__imul__(-1))
        assert other.stat().st_size == saved.stat().st_size
        fitted = load(saved, mapped=True)
        fitted.predict(NEW)
        with saved.open("r+b") as file:
            file.write(other.read_bytes())
        for use in (
            lambda: fitted.predict(NEW),
            lambda: fitted.predict_proba(NEW),
            lambda: fitted.explain(NEW[0]),
            lambda: fitted.strongest_terms("food"),
        ):
            with pytest.raises(BadModel, match=r"tickets\.model: the file was overwritten while its model was in use"):
                use()

    def test_a_file_whose_time_was_set_back(self, saved):
        fitted = load(saved, mapped=True)
        fitted.predict(NEW)
        times = saved.stat()
        raw = bytearray(saved.read_bytes())
        raw[-1] ^= 1
        with saved.open("r+b") as file:
            file.write(raw)
        os.utime(saved, ns=(times.st_atime_ns, times.st_mtime_ns))
        with pytest.raises(BadModel, match="was overwritten"):
            fitted.predict(NEW)

    def test_a_shorter_file(self, saved):
        fitted = load(saved, mapped=True)
        os.truncate(saved, 100)
        with pytest.raises(BadModel, match="was overwritten"):
            fitted.predict(NEW)

    def test_a_file_of_format_2(self, saved):
        without_checksums(saved)
        fitted = load(saved, mapped=True)
        with saved.open("r+b") as file:
            file.write(file.read())
        os.utime(saved, ns=(1, 1))
        with pytest.raises(BadModel, match="was overwritten"):
            fitted.predict(NEW)

    def test_a_file_that_was_only_touched_or_replaced_goes_on(self, saved):
        fitted = load(saved, mapped=True)
        expected = fitted.scores(NEW)
        os.utime(saved, ns=(1, 1))
        assert np.array_equal(fitted.scores(NEW), expected)
        save_model(TextClassifier("bernoulli").fit(TEXTS, LABELS).fitted_, saved)
        assert np.array_equal(fitted.scores(NEW), expected)

    def test_a_copy_in_another_process_has_no_file(self, saved):
        import copy
        import pickle

        fitted = load(saved, mapped=True)
        other = pickle.loads(pickle.dumps(fitted))  # noqa: S301  # our own bytes
        assert other.file is None
        assert copy.copy(fitted).file is fitted.file
        assert np.array_equal(other.scores(NEW), fitted.scores(NEW))
