"""Our CountVectorizer, TfidfVectorizer and HashingVectorizer beside scikit-learn's; both give the same matrix.

python benchmarks/vectorizers.py [--repeats N] [--only NAME]

20 Newsgroups (36 MB), one thread. Character n-grams are those of every fifth message.
"""

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path

from sklearn.feature_extraction import text as theirs
from timing import alternated, peak_memory, show, show_figure

import unnaive
from unnaive.papers.collections import load

CHARACTERS = {"analyzer": "char_wb", "ngram_range": (2, 5)}
# what is shown, the class, its settings, every how many texts, the least ratio
FITS = {
    "words": ("CountVectorizer, words", "CountVectorizer", {}, 1, 40),
    "pairs": ("CountVectorizer, words and pairs", "CountVectorizer", {"ngram_range": (1, 2)}, 1, 42),
    "characters": ("CountVectorizer, char_wb 2–5", "CountVectorizer", CHARACTERS, 5, 40),
    "tfidf": ("TfidfVectorizer, words", "TfidfVectorizer", {}, 1, 20),
    "hashing": ("HashingVectorizer, words", "HashingVectorizer", {}, 1, 10),
}

# each side in a process of its own that imports only what it needs; the texts come line by line, so that reading
# them leaves no peak of its own
READ = "import json\nwith open({path!r}) as lines: texts = [json.loads(line) for line in lines]\n"
START = "from {module} import CountVectorizer\nvectorizer = CountVectorizer()\n"
FIT = "held = vectorizer.fit_transform(texts)\n"


def fit(side, name, options, texts):
    return getattr(side, name)(**options).fit_transform(texts)


def check_equal(ours, peer):
    for part in ("indptr", "indices", "data"):
        assert getattr(ours, part).tobytes() == getattr(peer, part).tobytes(), part


def memory_ratios(texts):
    """Peak memory of the process, ours divided by theirs: all of it, and above the imports and the texts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        with path.open("w") as lines:
            lines.writelines(json.dumps(text) + "\n" for text in texts)
        modules, read = ("unnaive", "sklearn.feature_extraction.text"), READ.format(path=str(path))
        before, whole = (
            [peak_memory(read + START.format(module=module) + then) for module in modules] for then in ("", FIT)
        )
    for what, (ours, peer) in (("imports and texts", before), ("peak memory", whole)):
        print(f"{what}: ours {ours / 2**20:.0f} MiB, scikit-learn's {peer / 2**20:.0f} MiB")
    above = [peak - start for peak, start in zip(whole, before, strict=True)]
    return whole[0] / whole[1], above[0] / above[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=[*FITS, "transform", "memory"])
    options = parser.parse_args()
    texts = list(load("20newsgroups").texts)
    for key, (shown, name, settings, step, least) in FITS.items():
        if options.only not in (None, key):
            continue
        some = texts[::step]
        check_equal(fit(unnaive, name, settings, some), fit(theirs, name, settings, some))
        repeats = options.repeats if step == 1 and settings == {} else max(2, options.repeats // 2)
        sides = [partial(fit, side, name, settings, some) for side in (unnaive, theirs)]
        show(shown, alternated(*sides, repeats), least)
    if options.only in (None, "transform"):
        ours, peer = (side.CountVectorizer().fit(texts) for side in (unnaive, theirs))
        check_equal(ours.transform(texts), peer.transform(texts))
        show("transform, words", alternated(lambda: ours.transform(texts), lambda: peer.transform(texts),
                                            options.repeats), 35)  # fmt: skip
    if options.only in (None, "memory"):
        whole, above = memory_ratios(texts)
        show_figure("peak memory, ours / scikit-learn's", whole, 0.6)
        show_figure("the same above the imports and the texts", above, 0.6)


if __name__ == "__main__":
    main()
