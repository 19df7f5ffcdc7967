"""`auto` on multilabel documents with its default decision, from raw text: micro and macro F1, and precision at 1.

python benchmarks/auto_multilabel.py [COLLECTION …] [--documents 4000]

reuters  Reuters-90, ModApte split; targets: micro F1 at least .88, macro F1 .60 (mean over all 90 topics)
tags     the tags of the built-in tickets
debian   one-line descriptions of Debian packages with their debtags (15 facets, tags of at least five training
         documents), from the package lists of apt on a Debian system; a random sample, and 1,500 others for testing
icons    names and aliases of Material Design icons with their tags, from the package @mdi/svg of npm (`npm pack
         @mdi/svg` in this folder); three quarters for training

Beside it, one-vs-rest LinearSVC of scikit-learn on tf-idf of words ∪ characters (2–5), and the best member of the pool
out of fold. Targets: auto above both. Seconds are processor time, from raw text to a model.
"""

import argparse
import json
import re
import subprocess
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
from timing import timed

from unnaive import TextClassifier
from unnaive.evaluation.evaluate import evaluate
from unnaive.io.tickets import load_tickets
from unnaive.papers.collections import load

LEAST = {"micro-f1": 0.88, "macro-f1": 0.60}  # of Reuters
N_TEST, LEAST_DOCUMENTS = 1_500, 5
FACETS = (
    "use", "works-with", "field", "game", "web", "interface", "devel", "protocol", "uitoolkit", "admin", "sound",
    "security", "mail", "network", "science",
)  # fmt: skip


def corpus_parts(corpus):
    return [
        list(zip(part.texts, map(tuple, part.labels), strict=True))
        for part in (corpus.part("train"), corpus.part("test"))
    ]


def shuffled(rows):
    return [rows[number] for number in np.random.default_rng(0).permutation(len(rows)).tolist()]


def debian(n_docs):
    """Training and test rows (description, tags) of packages."""
    texts = {}
    for path in sorted(Path("/var/lib/apt/lists").glob("*_Packages*")):
        shown = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", str(path)], capture_output=True, check=True)
        for record in shown.stdout.decode().split("\n\n"):
            found = [re.search(rf"^{name}: (.*(?:\n .*)*)", record, re.MULTILINE) for name in ("Description", "Tag")]
            if all(found):
                tags = re.sub(r"[{}\s]", "", found[1][1]).split(",")
                tags = {"::".join(tag.split("::")[:2]) for tag in tags if tag.split("::")[0] in FACETS}
                texts.setdefault(found[0][1], tuple(sorted(tag for tag in tags if "TODO" not in tag)))
    rows = shuffled(sorted(texts.items()))
    return rows[:n_docs], rows[n_docs : n_docs + N_TEST]


def icons(_):
    (archive,) = Path(__file__).parent.glob("mdi-svg-*.tgz")
    with tarfile.open(archive) as package:
        listed = json.load(package.extractfile("package/meta.json"))
    rows = shuffled(
        [(" ".join([one["name"], *one["aliases"]]).replace("-", " "), tuple(one["tags"])) for one in listed]
    )
    cut = 3 * len(rows) // 4
    return rows[:cut], rows[cut:]


COLLECTIONS = {
    "reuters": lambda _: corpus_parts(load("reuters")), "tags": lambda _: corpus_parts(load_tickets("tags")),
    "debian": debian, "icons": icons,
}  # fmt: skip


def with_known_labels(train, test):
    """Rows without labels that fewer than LEAST_DOCUMENTS training rows have, and without rows that have none."""
    sizes = Counter(label for _, labels in train for label in labels)
    known = {label for label, size in sizes.items() if size >= LEAST_DOCUMENTS}
    kept = [[(text, tuple(label for label in labels if label in known)) for text, labels in part]
            for part in (train, test)]  # fmt: skip
    return [[row for row in part if row[1]] for part in kept]


def peer(train, test):
    """Micro and macro F1, and precision at 1, of one-vs-rest LinearSVC."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC

    characters = TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 5), min_df=2)
    model = make_pipeline(make_union(TfidfVectorizer(sublinear_tf=True), characters), OneVsRestClassifier(LinearSVC()))
    binarizer = MultiLabelBinarizer().fit([labels for _, labels in train])
    model.fit([text for text, _ in train], binarizer.transform([labels for _, labels in train]))
    margins, truth = (model.decision_function([text for text, _ in test]),
                      binarizer.transform([labels for _, labels in test]))  # fmt: skip
    first = truth[np.arange(len(truth)), margins.argmax(axis=1)].mean()
    return *(f1_score(truth, margins > 0, average=kind, zero_division=0) for kind in ("micro", "macro")), first


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=["reuters", "tags"])
    parser.add_argument("--documents", type=int, default=4_000)
    arguments = parser.parse_args()
    for name in arguments.collections:
        train, test = COLLECTIONS[name](arguments.documents)
        if name in ("debian", "icons"):
            train, test = with_known_labels(train, test)
        texts, labels = zip(*train, strict=True)
        model = TextClassifier()
        seconds = timed(lambda model=model, texts=texts, labels=labels: model.fit(list(texts), list(labels)))[1]
        new, truth = (list(part) for part in zip(*test, strict=True))
        measured = evaluate(model, new, truth).measures
        best = np.array(model.classes_, object)[model.predict_proba(new).argmax(axis=1)]
        labelled = [(label, labels) for label, labels in zip(best, truth, strict=True) if labels]
        first = np.mean([label in labels for label, labels in labelled])
        report = model.fitted_.provenance.recipe["report"]
        member = max((row["f1"] for row in report["tried"]), default=0.0)
        print(
            f"{name}: {len(train):,} and {len(test):,} documents, {len(model.classes_)} labels, {seconds:.1f} s\n"
            f"  auto        micro F1 {measured['micro-f1']:.4f}, macro {measured['macro-f1']:.4f}, P@1 {first:.4f}\n"
            f"  out of fold micro F1 {report['f1']:.4f} of the pool, {member:.4f} of its best member"
            f"{'' if report['f1'] > member else '  NOT MET'}"
        )
        micro, macro, peer_first = peer(train, test)
        below = "" if measured["micro-f1"] > micro and first > peer_first else "  NOT MET"
        print(f"  LinearSVC   micro F1 {micro:.4f}, macro {macro:.4f}, P@1 {peer_first:.4f}{below}", flush=True)
        for measure, least in LEAST.items() if name == "reuters" else ():
            print(f"  {measure} wanted {least:.2f}{'' if measured[measure] >= least else '  NOT MET'}")


if __name__ == "__main__":
    main()
