"""Sums of texts by class in one pass are those of the rows of the texts, terms sorted."""

import numpy as np
import pytest

from unnaive.base.errors import BadData
from unnaive.data.named_counts import NamedCounts
from unnaive.data.targets import read_targets
from unnaive.text import native
from unnaive.text.backend import BACKEND
from unnaive.text.buffer import TextBuffer
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

pytestmark = pytest.mark.skipif(BACKEND != "native", reason="the kernel is not built")

RNG = np.random.default_rng(0)
OFTEN = " ".join(["often"] * 700 + ["twice", "twice"])
TEXTS = [" ".join(f"w{n}" for n in row) for row in RNG.zipf(1.3, (400, 60)).tolist()]
TEXTS = ["", *TEXTS, OFTEN, "unique text of longwordsthatarenokeys", "", OFTEN + " w1 w2"]


@pytest.fixture(autouse=True)
def a_thread_for_a_few_bytes(monkeypatch):
    """Several threads share these few texts."""
    monkeypatch.setattr(native, "WORTH_A_THREAD", 1 << 8)


def arrays_of(named):
    counts = named.counts
    tables = counts.class_terms, counts.class_df
    cells = [array for table in tables for array in (table.data, table.indices, table.indptr)]
    return [*cells, counts.terms, counts.df, counts.class_docs, *named.vocabulary.to_arrays()]


def assert_sums_of_rows(texts, labels, rule, threads):
    targets = read_targets(labels, len(texts))
    counter = TextCounter(rule, threads=1)
    rows = counter.count(texts, grow=True)
    expected = NamedCounts.of(rows, targets, counter.vocabulary, in_order=True)
    found = NamedCounts.of_texts(TextCounter(rule, threads=threads), texts, targets)
    assert found.classes == expected.classes
    for one, other in zip(arrays_of(found), arrays_of(expected), strict=True):
        assert np.array_equal(one, other)
    assert found.counts.class_terms.dtype == found.counts.class_df.dtype == found.counts.terms.dtype == np.int64
    assert found.counts.n_docs == len(texts)
    assert found.vocabulary.order() is None
    assert found.counts.class_terms.has_canonical_format


LABELS = {
    "three": [n % 3 for n in range(len(TEXTS))],
    "in runs": [n * 4 // len(TEXTS) for n in range(len(TEXTS))],
    "one each": list(range(len(TEXTS))),
    "one large": [0 if n % 9 else n for n in range(len(TEXTS))],
}


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("options", [{}, {"ngrams": (1, 3)}, {"stem": "porter"}, {"stopwords": "smart"}])
def test_sums_are_those_of_the_rows(options, kind, threads):
    assert_sums_of_rows(TEXTS, LABELS[kind], TokenRule(**options), threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_classes_of_few_terms_beside_a_large_vocabulary(threads):
    texts = [*(" ".join(f"w{n:x}" for n in range(start, start + 500)) for start in range(0, 20_000, 500)), *TEXTS]
    labels = [*(n % 2 for n in range(40)), *(2 + n for n in range(len(TEXTS)))]
    assert_sums_of_rows(texts, labels, TokenRule(), threads)


def test_sums_of_a_buffer_and_of_a_tuple_are_those_of_a_list():
    targets = read_targets(LABELS["three"], len(TEXTS))
    expected, *others = (
        NamedCounts.of_texts(TextCounter(threads=2), texts, targets)
        for texts in (TEXTS, TextBuffer.of(TEXTS), tuple(TEXTS))
    )
    for other in others:
        assert all(map(np.array_equal, arrays_of(other), arrays_of(expected)))


def test_terms_that_are_in_order_already_and_texts_without_any():
    for texts in (["aa bb", "bb cc"], ["bb", "aa"], ["", "."], ["aa", ""]):
        assert_sums_of_rows(texts, ["x", "y"], TokenRule(), 2)


@pytest.mark.parametrize("rule", [TokenRule(analyzer="char"), TokenRule(fields=("e:vector(3)",))])
def test_terms_that_only_rows_have_are_not_summed(rule):
    assert NamedCounts.of_texts(TextCounter(rule), ["{}", "{}"], read_targets(["a", "b"], 2)) is None


def test_more_text_than_32_bits_hold_is_not_summed():
    texts = ["several different words " * 50_000] * 1_000  # 1.2 GB of one str
    assert NamedCounts.of_texts(TextCounter(), texts, read_targets(list(range(1_000)), 1_000)) is None


def test_classes_that_do_not_fit_the_texts_are_refused():
    for classes in ([0], [0, 2], [-1, 0], [0, 1, 1]):
        counter = TextCounter()
        with pytest.raises(BadData, match="class"):
            counter.sum_classes(["ball", "vote"], np.array(classes, np.int32), 2)
        assert len(counter.vocabulary) == 0
