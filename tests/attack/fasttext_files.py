"""Model files of fastText that are broken or made to harm: refused in one sentence, or every verb works on them."""

import os
import random
import struct
import warnings
from contextlib import suppress
from pathlib import Path

import model_verbs
import numpy as np
from model_verbs import Wrong
from support.fasttext_files import KINDS, LOSSES, write_fasttext

from unnaive import fasttext
from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.classifier.model_file import save as save_model
from unnaive.models.fasttext.importing import import_fasttext

HEADER = 92  # bytes before the dictionary: magic number, version, twelve settings, the threshold, five sizes
NUMBERS = [0, 1, -1, 2, 3, 7, 60, 100, 101, 255, 2**16, 2**16 + 1, 2**31 - 1, -(2**31)]
LONG_NUMBERS = [*NUMBERS, 2**31, 2**32, 2**40, 2**53, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, 0.0]
NAMES = [
    "", " ", "\0", "</s>", "__label__", "__label__c0", "a b", "\n", "\x1b[31m", "\u202e", "x" * 70_000, "é", "the", "#",
]  # fmt: skip
LINES = ["the of to", "", "je da __label__c0", "x" * 500, "a\0b", "é\u0301 \ud800"]


def damaged(seed):
    """The bytes of a file that is wrong in one to three places, by the seed; sometimes only odd."""
    rng = random.Random(seed)
    parts = KINDS[rng.choice(sorted(KINDS))]
    kind = rng.random()
    if kind < 0.4:
        parts = _odd_parts(parts, rng)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        content = bytearray(write_fasttext(parts))
    if kind >= 0.3:
        for _ in range(rng.choice([1, 1, 2, 3])):
            content = _changed(content, rng)
    return bytes(content)


def _odd_parts(parts, rng):
    """A file that fastText would hardly write: sizes that fit each other, and values or names that are odd."""
    change = rng.randrange(8)
    if change == 0:
        words = list(parts.words)
        words[rng.randrange(len(words))] = rng.choice(NAMES).replace("\0", "")
        return parts.with_(words=tuple(words))
    if change == 1:
        labels = list(parts.labels)
        labels[rng.randrange(len(labels))] = rng.choice(NAMES).replace("\0", "")
        return parts.with_(labels=tuple(labels))
    if change == 2:
        counts = [rng.choice([0, 1, 2, 10**9, 10**14]) for _ in parts.labels]
        return parts.with_(counts=tuple(counts), loss=rng.choice(sorted(LOSSES)))
    if change == 3:
        return parts.with_(bucket=rng.choice([1, 2, 3, 500]), minn=rng.randrange(5), maxn=rng.randrange(7), kept=None)
    if change == 4:
        rows = [(rng.randrange(60), rng.randrange(25)) for _ in range(rng.randrange(20))]
        return parts.with_(kept=dict(rows), quantised=True, bucket=60, minn=rng.randrange(3), maxn=rng.randrange(5))
    if change == 5:
        return parts.with_(scale=rng.choice([0.0, 1e-30, 1e10, 1e18, 1e19, 3e37]), qnorm=rng.random() < 0.5)
    if change == 6:
        return parts.with_(word_ngrams=rng.choice([0, 1, 5, 100]), bucket=rng.choice([1, 40]))
    return parts.with_(dim=rng.choice([1, 2, 5, 64]), dsub=rng.choice([1, 2, 3, 64]), loss=rng.choice(sorted(LOSSES)))


def _changed(content, rng):
    if len(content) <= 100:  # cut before the dictionary: no more to change
        return content
    kind = rng.randrange(7)
    if kind == 0:
        return content[: rng.randrange(len(content))]
    if kind == 1:
        struct.pack_into("<i", content, 4 * rng.randrange(17), rng.choice(NUMBERS))
    elif kind == 2:
        struct.pack_into("<q", content, rng.choice([76, 84]), rng.choice(LONG_NUMBERS))
    elif kind == 3:  # most are in the dictionary and at the beginning of a matrix
        place = rng.randrange(HEADER, len(content) - 8)
        struct.pack_into(rng.choice(["<q", "<i"]), content, place, rng.choice(NUMBERS))
    elif kind == 4:
        struct.pack_into("<f", content, rng.randrange(len(content) - 4), rng.choice(FLOATS))
    elif kind == 5:
        start, end = sorted(rng.randrange(len(content)) for _ in range(2))
        content[start : start + rng.randrange(40)] = content[end : end + rng.randrange(40)]
    else:
        for _ in range(rng.randrange(1, 9)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    return content if len(content) > 100 else content + bytes(101)


def attack_with(folder):
    """A function of a seed: write a damaged file, import it, use it by both interfaces."""

    def attack(seed):
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        path = Path(folder) / f"{os.getpid()}.bin"
        path.unlink(missing_ok=True)  # not written over: the one before may be mapped
        path.write_bytes(damaged(seed))
        try:
            fitted = import_fasttext(path, multilabel=seed % 5 == 0, fold=[None, True, False][seed % 3])
        except BadModel as problem:
            return ("refused", "") if "\n" not in str(problem) else ("crashed", f"seed {seed}: not one sentence")
        finally:
            use_interface(path)
        saved = path.with_suffix(".model")
        saved.unlink(missing_ok=True)
        save_model(fitted, saved)
        return model_verbs.use_fitted(fitted, saved, seed)

    return attack


def use_interface(path):
    """The methods of fastText's own package on the same file; each works or refuses with a sentence."""
    try:
        model = fasttext.load_model(path)
    except UnnaiveError:
        return
    for act in (
        lambda: check_answers(model, model.predict(LINES[:-2], k=2)),
        lambda: model.predict(LINES[-1], k=-1),
        lambda: [model.get_word_vector(word) for word in ("the", "unheard-of", "")],
        lambda: [model.get_subwords(word) for word in ("the", "unheard-of", "")],
        lambda: model.get_sentence_vector("the of to"),
        lambda: model.get_nearest_neighbors("the", 3),
        lambda: model.get_line("the __label__c0"),
        model.quantize,
        lambda: model.predict(LINES[:-2], k=1),
    ):
        with suppress(UnnaiveError):
            act()


def check_answers(model, answers):
    """As many labels and probabilities as texts, of labels there are, and none of them is NaN."""
    labels, values = answers
    if [len(one) for one in labels] != [len(one) for one in values] or len(labels) != len(LINES) - 2:
        raise Wrong("there are not as many labels as texts")
    known = set(model.labels)
    if not all(label in known for row in labels for label in row) or any(np.isnan(row).any() for row in values):
        raise Wrong("a label or a probability that cannot be")
