"""A tree of labels beside omikuji and napkinXC: the same features, one thread, a separate process for each.

    python benchmarks/label_tree_peers.py [--labels 30000] [--documents 60000] [--tests 5000]
    python benchmarks/label_tree_peers.py --reuters [--data FOLDER]
    python benchmarks/label_tree_peers.py --debian
    python benchmarks/label_tree_peers.py --xc TRAIN TEST

The collection is synthetic: labels come by Zipf's law, one to three for a document, each with words of its own, words
of its topic, and words of all. With --reuters it is Reuters-21578 (ModLewis split) with all its labels: topics, places,
people, organisations and exchanges, of documents that have any. With --debian it is the one-line descriptions of Debian
packages with all of their tags, from the package lists of apt, a fifth drawn for testing. With --xc it is two files of
the XC repository. All get the same tf-idf rows. Times are processor
time; memory is the peak of the process above what it holds before training, which is mostly the collection.
Our model and napkinXC's predict the five best labels of all test documents at once; omikuji predicts one document at a
time, and ours is measured in this way too ("alone").
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, load_npz, save_npz, vstack

from unnaive import read_xc
from unnaive.data.targets import label_matrix
from unnaive.data.weighting import tf_idf
from unnaive.evaluation.many_labels import precision_at
from unnaive.papers.collections import reuters
from unnaive.text.counting import TextCounter

TOP = 5
ALONE = 300  # documents that are asked one at a time
WAYS = ("ours", "omikuji", "napkinxc")


def make_collection(n_labels, n_docs, seed=0):
    """Counts X (n_docs, n_terms) and labels Y (n_docs, n_labels), both sparse."""
    rng = np.random.default_rng(seed)
    n_terms, n_topics = 3 * n_labels, max(2, n_labels // 200)
    own, topical = rng.integers(0, n_terms, (n_labels, 6)), rng.integers(0, n_terms, (n_topics, 40))
    topic = rng.permutation(n_labels) % n_topics
    share = 1 / (np.arange(n_labels) + 20.0)
    first = np.concatenate([np.arange(n_labels), rng.choice(n_labels, n_docs - n_labels, p=share / share.sum())])
    labels = np.column_stack([first, rng.choice(n_labels, (n_docs, 2), p=share / share.sum())])
    has = np.column_stack([np.ones(n_docs, bool), rng.random(n_docs) < 0.5, rng.random(n_docs) < 0.25])
    labels = np.where(has, labels, labels[:, :1])
    words = np.hstack([
        own[labels[:, [0, 0, 0, 1, 1, 2]].repeat(2, axis=1), rng.integers(0, 6, (n_docs, 12))],
        topical[topic[first][:, None], rng.integers(0, 40, (n_docs, 8))],
        (n_terms * rng.random((n_docs, 12)) ** 3).astype(np.int64),
    ])  # fmt: skip
    rows = rng.permutation(n_docs)
    X = csr_array((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 32)), (n_docs, n_terms))
    Y = csr_array((np.ones(labels.size), labels.ravel(), np.arange(0, labels.size + 1, 3)), (n_docs, n_labels))
    for table in (X, Y):
        table.sum_duplicates()
    return X[rows], csr_array((Y != 0)[rows].astype(np.float64))


KINDS = ("TOPICS", "PLACES", "PEOPLE", "ORGS", "EXCHANGES")


def read_reuters_labels(folder):
    """Counts and labels of all kinds of Reuters-21578, and how many of the rows are for training (ModLewis split)."""
    parts = {"train": [], "test": []}
    with tarfile.open(Path(folder or os.environ["UNNAIVE_DATA"]) / "reuters21578.tar.gz") as archive:
        for member in sorted((one for one in archive if one.name.endswith(".sgm")), key=lambda one: one.name):
            sgml = archive.extractfile(member).read().decode("latin-1")
            for attributes, content in reuters.STORY.findall(sgml):
                story = reuters.parse_story(attributes, content, reuters.story_text)
                found = {kind: re.search(f"<{kind}>(.*?)</{kind}>", content, re.DOTALL) for kind in KINDS}
                names = {f"{kind}:{name}" for kind in KINDS if found[kind]
                         for name in reuters.TOPIC.findall(found[kind][1])}  # fmt: skip
                if names and reuters.modlewis_part(story) in parts:
                    parts[reuters.modlewis_part(story)].append((story.text, sorted(names)))
    train, test = parts["train"], parts["test"]
    counter = TextCounter()
    X = vstack([counter.count([text for text, _ in train], grow=True), counter.count([text for text, _ in test])])
    classes = sorted({name for _, names in train for name in names})
    labels = [names for _, names in (*train, *test)]
    Y = label_matrix(labels, classes, ignore_unknown=True)
    return csr_array(X).astype(np.float64), csr_array(Y).astype(np.float64), len(train)


def debian_packages():
    """Counts and tags of Debian packages in random order, and how many of the rows are for training."""
    texts = {}
    for path in sorted(Path("/var/lib/apt/lists").glob("*_Packages*")):
        shown = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", str(path)], capture_output=True, check=True)
        for record in shown.stdout.decode().split("\n\n"):
            found = [re.search(rf"^{name}: (.*(?:\n .*)*)", record, re.MULTILINE) for name in ("Description", "Tag")]
            if all(found):
                texts.setdefault(found[0][1], set()).update(read_tags(found[1][1]))
    rows = [(text, sorted(tags)) for text, tags in sorted(texts.items())]
    rows = [rows[number] for number in np.random.default_rng(0).permutation(len(rows)).tolist()]
    n_train = 4 * len(rows) // 5
    counter = TextCounter()
    X = vstack([counter.count([text for text, _ in rows[:n_train]], grow=True),
                counter.count([text for text, _ in rows[n_train:]])])  # fmt: skip
    classes = sorted({tag for _, tags in rows[:n_train] for tag in tags})
    Y = label_matrix([tags for _, tags in rows], classes, ignore_unknown=True)
    return csr_array(X).astype(np.float64), csr_array(Y).astype(np.float64), n_train


def read_tags(field):
    """The tags of a field, such as role::program, use::{editing,viewing}."""
    tags = set()
    for base, inner in re.findall(r"([^,{}]+)(?:\{([^}]*)\})?", re.sub(r"\s", "", field)):
        tags |= {base + name for name in inner.split(",")} if inner else {base}
    return tags


def xc_files(train, test):
    """Features and labels of two files, and how many of the rows are for training."""
    parts = read_xc(train), read_xc(test)
    X, Y = vstack([part.X for part in parts]), vstack([part.Y for part in parts])
    return csr_array(X), csr_array(Y), parts[0].X.shape[0]


# Each way: train(folder) → a model; save(model, path); top(model, rows) → the five best labels of each row.


def train_ours(Z, Y, folder):
    from unnaive.models.label_tree.learner import LabelTree

    return LabelTree(weights="counts", n_jobs=1).learn(Z, Y, exclusive=False).scorer


def save_ours(scorer, path):
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(array) for name, array in scorer.to_arrays()[0].items()}, path)


def top_ours(scorer, Z):
    return scorer.top_scores(Z, TOP).best(TOP)


def train_omikuji(Z, Y, folder):
    import omikuji

    lines = [f"{Z.shape[0]} {Z.shape[1]} {Y.shape[1]}"]
    for row in range(Z.shape[0]):
        labels = ",".join(map(str, Y.indices[Y.indptr[row] : Y.indptr[row + 1]]))
        cells = slice(Z.indptr[row], Z.indptr[row + 1])
        lines.append(
            f"{labels} " + " ".join(f"{c}:{v:.6f}" for c, v in zip(Z.indices[cells], Z.data[cells], strict=True))
        )
    path = Path(folder) / "train.txt"
    path.write_text("\n".join(lines) + "\n")
    settings = omikuji.Model.default_hyper_param()
    began = time.process_time()
    return omikuji.Model.train_on_data(str(path), settings, n_threads=1), began


def save_omikuji(model, path):
    model.save(str(path))


def top_omikuji(model, Z):
    rows = [
        list(zip(Z.indices[a:b].tolist(), Z.data[a:b].tolist(), strict=True))
        for a, b in zip(Z.indptr[:-1].tolist(), Z.indptr[1:].tolist(), strict=True)
    ]
    began = time.process_time()
    return np.array([[label for label, _ in model.predict(row, top_k=TOP)] for row in rows]), began


def train_napkinxc(Z, Y, folder):
    from napkinxc.models import PLT

    model = PLT(str(Path(folder) / "plt"), threads=1, seed=0)
    labels = [Y.indices[a:b].tolist() for a, b in zip(Y.indptr[:-1], Y.indptr[1:], strict=True)]
    rows = Z.astype(np.float32)
    began = time.process_time()
    model.fit(_old_csr(rows), labels)
    return model, began


def save_napkinxc(model, path):
    """It was written as it was trained."""
    Path(path).symlink_to(Path(path).parent / "plt")


def top_napkinxc(model, Z):
    return np.array(model.predict(_old_csr(Z.astype(np.float32)), top_k=TOP))


def _old_csr(rows):
    from scipy.sparse import csr_matrix

    return csr_matrix(rows)


def run(way, folder):
    """One way in this process; prints a line of JSON."""
    Z, Y, tests = (csr_array(load_npz(Path(folder) / f"{name}.npz")) for name in ("train", "labels", "tests"))
    train, save, top = (globals()[f"{verb}_{way}"] for verb in ("train", "save", "top"))
    before = status("VmRSS")
    began = time.process_time()
    model = train(Z, Y, folder)
    model, began = model if isinstance(model, tuple) else (model, began)
    seconds, peak = time.process_time() - began, status("VmHWM")
    place = Path(folder) / f"{way}.model"
    save(model, place)
    top(model, tests[:10])  # napkinXC loads its model now
    began = time.process_time()
    best = top(model, tests)
    best, began = best if isinstance(best, tuple) else (best, began)
    each = (time.process_time() - began) / tests.shape[0]
    alone = each
    if way == "ours":
        rows = [csr_array(tests[[row]]) for row in range(ALONE)]  # as omikuji's are made before its clock starts
        began = time.process_time()
        for row in rows:
            top(model, row)
        alone = (time.process_time() - began) / ALONE
    files = [place] if place.is_file() else [path for path in place.resolve().rglob("*") if path.is_file()]
    np.save(Path(folder) / f"{way}.npy", best)
    print(json.dumps([seconds, each, alone, sum(path.stat().st_size for path in files), peak - before]))


def status(field):
    """A size out of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=30_000)
    parser.add_argument("--documents", type=int, default=60_000)
    parser.add_argument("--tests", type=int, default=5_000)
    parser.add_argument("--reuters", action="store_true")
    parser.add_argument("--debian", action="store_true")
    parser.add_argument("--xc", nargs=2, metavar=("TRAIN", "TEST"))
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    if arguments.way:
        run(arguments.way, arguments.folder)
        return
    if arguments.reuters:
        X, Y, n = read_reuters_labels(arguments.data)
    elif arguments.debian:
        X, Y, n = debian_packages()
    elif arguments.xc:
        X, Y, n = xc_files(*arguments.xc)
    else:
        n = arguments.documents
        X, Y = make_collection(arguments.labels, n + arguments.tests)
    weighting = tf_idf(X[:n])
    Z = weighting.apply(X)
    truth = Y[n:]
    print(
        f"{n:,} documents, {Y.shape[1]:,} labels, {Y.nnz / Y.shape[0]:.2f} of them for a document, {X.shape[1]:,} terms"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, table in (("train", Z[:n]), ("labels", Y[:n]), ("tests", Z[n:])):
            save_npz(Path(folder) / f"{name}.npz", csr_array(table))
        for way in WAYS:
            if way != "ours" and find_spec(way) is None:
                print(f"{way} is not installed; pip install {way}")
                continue
            command = [sys.executable, __file__, "--way", way, "--folder", folder]
            done = subprocess.run(command, capture_output=True, text=True)  # both peers draw progress on stderr
            if done.returncode:
                print(f"{way} failed: {done.stderr[-500:]}")
                continue
            seconds, each, alone, size, memory = json.loads(done.stdout.splitlines()[-1])
            best = np.load(Path(folder) / f"{way}.npy")
            at = "  ".join(f"P@{k} {100 * precision_at(best, truth, k):5.2f}" for k in (1, 3, 5))
            print(
                f"  {way:9} {at}  train {seconds:7.1f} s  predict {1e3 * each:6.3f} ms "
                f"(alone {1e3 * alone:6.3f})  file {size / 1e6:6.1f} MB  "
                f"memory of training {memory / 1e6:6.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
