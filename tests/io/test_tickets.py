"""The built-in tickets are what their docstring says: sizes, split, labels, no repeats, a fair difficulty."""

import re
import subprocess
import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from unnaive.base.errors import UnknownName
from unnaive.io.tickets import load_records, load_tickets

QUEUES = {
    "billing": 187,
    "bug": 158,
    "access": 147,
    "howto": 122,
    "integration": 104,
    "data": 82,
    "feature": 77,
    "sales": 49,
}
TAGS = {
    "boards": 162,
    "subscription": 139,
    "login": 114,
    "planning": 114,
    "documents": 105,
    "api": 103,
    "import-export": 63,
    "urgent": 61,
    "invoice": 59,
    "permissions": 51,
    "refund": 40,
    "security": 38,
    "mobile": 35,
    "notifications": 27,
    "outage": 25,
}


def words(text):
    return re.findall(r"\w+", text.lower())


def shingles(text, size=5):
    tokens = words(text)
    return {tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)}


def test_sizes_of_queues_tags_and_parts():
    by_queue, by_tag = load_tickets("queue"), load_tickets("tags")
    assert by_queue.class_sizes() == QUEUES
    assert by_tag.class_sizes() == TAGS
    assert Counter(by_queue.split) == {"train": 651, "test": 275}
    assert Counter(map(len, by_tag.labels)) == {0: 50, 1: 622, 2: 248, 3: 6}
    assert not by_queue.multilabel
    assert by_tag.multilabel


def test_both_labellings_speak_of_the_same_tickets():
    by_queue, by_tag = load_tickets("queue"), load_tickets("tags")
    assert by_queue.texts == by_tag.texts
    assert by_queue.ids == by_tag.ids
    assert by_queue.ids == [f"T{number:04d}" for number in range(1, 927)]


def test_every_queue_has_thirty_percent_in_test():
    corpus = load_tickets()
    test = corpus.part("test").class_sizes()
    for queue, size in QUEUES.items():
        assert abs(test[queue] - 0.3 * size) <= 1, queue


def test_every_tag_can_be_learned_and_measured():
    corpus = load_tickets("tags")
    assert min(corpus.part("train").class_sizes()[tag] for tag in TAGS) >= 15
    assert min(corpus.part("test").class_sizes()[tag] for tag in TAGS) >= 5


@pytest.mark.slow
def test_no_two_tickets_are_near_duplicates():
    """No pair shares more than 60 % of the shorter one's word 5-grams (54 % measured)."""
    sets = [shingles(text) for text in load_tickets().texts]
    holders = {}
    for row, grams in enumerate(sets):
        for gram in grams:
            holders.setdefault(gram, []).append(row)
    shared = Counter(pair for rows in holders.values() for pair in combinations(rows, 2))
    assert max(count / min(len(sets[a]), len(sets[b])) for (a, b), count in shared.items()) <= 0.6


def test_texts_are_clean_and_of_realistic_length():
    texts = load_tickets().texts
    assert len(set(texts)) == len(texts)
    assert all(text == text.strip() and text.isprintable() for text in (t.replace("\n", " ") for t in texts))
    lengths = [len(words(text)) for text in texts]
    assert min(lengths) >= 5
    assert np.median(lengths) == 46
    assert max(lengths) > 150


def test_records_have_the_promised_fields():
    for record in load_records():
        assert list(record) == ["id", "split", "queue", "tags", "text"]
        assert record["tags"] == sorted(set(record["tags"]))


def test_naive_bayes_finds_it_neither_trivial_nor_hopeless():
    """Laplace-smoothed multinomial naive Bayes, written out; 82 % measured."""
    train, test = load_tickets().part("train"), load_tickets().part("test")
    totals = {queue: Counter() for queue in QUEUES}
    for text, (queue,) in zip(train.texts, train.labels, strict=True):
        totals[queue].update(words(text))
    vocabulary = set().union(*totals.values())
    denominator = {queue: total.total() + len(vocabulary) for queue, total in totals.items()}
    sizes = train.class_sizes()

    def score(text, queue):
        known = [word for word in words(text) if word in vocabulary]
        return np.log(sizes[queue]) + sum(np.log((totals[queue][w] + 1) / denominator[queue]) for w in known)

    found = [max(QUEUES, key=lambda queue: score(text, queue)) for text in test.texts]
    accuracy = np.mean([answer == queue for answer, (queue,) in zip(found, test.labels, strict=True)])
    assert 0.75 <= accuracy <= 0.92


def test_an_unknown_labelling_names_the_known_ones():
    with pytest.raises(UnknownName, match="no ticket label called 'queues'; there are queue, tags"):
        load_tickets("queues")


@pytest.mark.slow
def test_reading_needs_no_heavy_library():
    code = (
        "import sys; from unnaive.io.tickets import load_tickets; load_tickets(); "
        "print([name for name in ('sklearn', 'pandas', 'pyarrow', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
