"""Raw text → CSR counts and vocabulary, beside scikit-learn's CountVectorizer with the same token rule.

python benchmarks/vectorise.py [--repeats N] [--quick] [--characters]

20 Newsgroups (36 MB), a copy of it ten times over, Turkish news. One thread, unless the line says
two; the peer has one. Character n-grams, of which the peer counts 0.6 MB a second, are those of every fifth message.
"""

import argparse
import json
import tempfile
from pathlib import Path
from statistics import median

from sklearn.feature_extraction.text import CountVectorizer
from timing import alternated, peak_memory, seconds, show, show_figure

from unnaive.papers.collections import load
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

WORDS = r"(?u)[^\W_]{2,}"  # letters and digits, two or more: the same rule on these texts but for combining marks


def texts_of(name):
    return list(load(name).texts)


def ours(texts, threads=1, **rule):
    counter = TextCounter(TokenRule(**rule), threads=threads)
    counts = counter.count(texts, grow=True)
    return counts, counter.vocabulary


def peer(texts, **options):
    vectorizer = CountVectorizer(token_pattern=WORDS, **options)
    return vectorizer.fit_transform(texts), vectorizer.vocabulary_


def transformers(texts, threads=1):
    """Both sides' transform with a vocabulary learnt before."""
    counter = TextCounter(TokenRule(), threads=threads)
    counter.count(texts, grow=True)
    vectorizer = CountVectorizer(token_pattern=WORDS).fit(texts)
    return lambda: counter.count(texts), lambda: vectorizer.transform(texts)


def check_equal(texts):
    """Same terms, same totals: the two sides do the same work."""
    counts, vocabulary = ours(texts)
    theirs, index = peer(texts)
    columns = [index.get(term, -1) for term in vocabulary]
    same = sum(column >= 0 for column in columns)
    print(f"terms: {len(vocabulary)} ours, {len(index)} peer's, {same} shared; tokens {counts.sum()}, {theirs.sum()}")


def compare_characters(texts, repeats):
    """Character n-grams of 2 to 5, within what stands between spaces."""
    rule = {"analyzer": "char", "char_ngrams": (2, 5)}

    def theirs():
        vectorizer = CountVectorizer(analyzer="char_wb", ngram_range=(2, 5))
        return vectorizer.fit_transform(texts), vectorizer.vocabulary_

    counts, _ = ours(texts, **rule)
    print(
        f"character n-grams: {counts.sum():,} ours, {theirs()[0].sum():,} peer's, {sum(map(len, texts)):,} characters"
    )
    show("character n-grams 2–5, peer char_wb", alternated(lambda: ours(texts, **rule), theirs, repeats), 30)


# each side in a process of its own that imports only what it needs; the texts come line by line, so that reading
# them leaves no peak of its own
READ = "import json\nwith open({path!r}) as lines: texts = [json.loads(line) for line in lines]\n"
OURS = """
from unnaive.text.counting import TextCounter
counter = TextCounter(threads=1)
held = counter.count(texts, grow=True), counter.vocabulary
"""
PEER = f"""
from sklearn.feature_extraction.text import CountVectorizer
vectorizer = CountVectorizer(token_pattern={WORDS!r})
held = vectorizer.fit_transform(texts), vectorizer.vocabulary_
"""


def memory_ratio(texts):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        with path.open("w") as lines:
            lines.writelines(json.dumps(text) + "\n" for text in texts)
        ours_bytes, peer_bytes = (peak_memory(READ.format(path=str(path)) + side) for side in (OURS, PEER))
    print(f"peak memory: ours {ours_bytes / 2**20:.0f} MiB, scikit-learn's {peer_bytes / 2**20:.0f} MiB")
    return ours_bytes / peer_bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="leave the ten-fold copy out")
    parser.add_argument("--characters", action="store_true", help="character n-grams only")
    options = parser.parse_args()
    if options.characters:
        compare_characters(texts_of("20newsgroups")[::5], max(2, options.repeats // 2))
        return
    texts, haber = texts_of("20newsgroups"), texts_of("1150haber")
    check_equal(texts)
    repeats = options.repeats
    show("fit + CSR + vocabulary", alternated(lambda: ours(texts), lambda: peer(texts), repeats), 34)
    two = alternated(lambda: ours(texts, threads=2), lambda: peer(texts), repeats)
    show("fit + CSR + vocabulary, two threads", two, 50)
    show("transform", alternated(*transformers(texts), repeats), 32)
    show("transform, two threads", alternated(*transformers(texts, threads=2), repeats), 48)
    bigrams = alternated(
        lambda: ours(texts, ngrams=(1, 2)), lambda: peer(texts, ngram_range=(1, 2)), max(3, repeats // 2)
    )
    show("fit, words and pairs of words", bigrams, 35)
    turkish = alternated(lambda: ours(haber, language="tr"), lambda: peer(haber), 3 * repeats)
    show("fit, Turkish news", turkish, 16)
    one_two = alternated(lambda: ours(texts, threads=2), lambda: ours(texts), 3 * repeats)
    show("fit, a second thread (peer: ours with one)", one_two, 1.5)
    if not options.quick:
        compare_characters(texts[::5], max(2, repeats // 2))
        ten = texts * 10
        ours(ten)
        growth = median(seconds(lambda: ours(ten)) / seconds(lambda: ours(texts)) for _ in range(3))
        show_figure("time for ten times the data", growth, 10.5)
    show_figure("peak memory, ours / scikit-learn's", memory_ratio(texts), 0.4)


if __name__ == "__main__":
    main()
