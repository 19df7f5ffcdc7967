"""The hierarchical thesis on Reuters: bands of table 4.10 as means over three seeds, and the tree of class trade."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.evaluation.papers.hierarchical import CLASSES, breakevens, data, network
from unnaive.evaluation.papers.lineup import reproduce
from unnaive.evaluation.papers.tables import Run, read_paper
from unnaive.models.hierarchical.learner import HierarchicalBN
from unnaive.reading.collections import data_folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(data_folder() is None, reason="the benchmark collections are not here; set UNNAIVE_DATA"),
]

BANDED = ("HBN-AVG", "HBN-OR", "HBN-DEP", "NB (30 feat.)", "SVM (30 feat.)")
RUN = Run(models=(*BANDED, "HBN-OR, 8 averaged"))


@pytest.fixture(scope="module")
def table():
    (lineup,) = reproduce("hierarchical", RUN, table="4.10")
    return lineup


@pytest.mark.parametrize(("row", "column"), list(read_paper("hierarchical").chosen("4.10")[0].bands))
def test_value_is_in_its_band(table, row, column):
    line = table.line(row, column)
    assert line.ours is not None, line.reason
    low, high = line.band
    assert low <= line.ours <= high


@pytest.mark.parametrize("column", BANDED[:3])
def test_networks_pass_naive_bayes_where_positives_are_few(table, column):
    bayes = table.line("Macro-averaged", "NB (30 feat.)").ours
    assert table.line("Macro-averaged", column).ours >= bayes + 4


def test_averaging_the_finalists_pays(table):
    for row, gain in (("Micro-averaged", 0.3), ("Macro-averaged", 0.5)):
        assert table.line(row, "HBN-OR, 8 averaged").ours > table.line(row, "HBN-OR").ours + gain


@pytest.mark.parametrize("kind", ["avg", "or", "dep"])
def test_arcs_from_the_class_do_worse(table, kind):
    turned = breakevens(RUN, network("HNB", kind)).micro.mean()
    assert turned < table.line("Micro-averaged", f"HBN-{kind.upper()}").ours - 1


# HNB-DEP has 80.7 with every seed; in the thesis too it is the weakest of the three, by 1 to 3 points
BELOW = pytest.mark.xfail(reason="just below its band", strict=True)


@pytest.mark.parametrize("kind", ["avg", "or", pytest.param("dep", marks=BELOW)])
def test_hierarchical_naive_bayes_is_in_its_band(kind):
    assert 81 <= breakevens(RUN, network("HNB", kind)).micro.mean() <= 84


def test_the_tree_of_class_trade_by_dependence():
    found = data(Run())
    X, Y = found.part("train")
    member = csr_array(Y[:, [CLASSES.index("trade")]])
    model = HierarchicalBN(clustering="dep", restarts=1, average=1).learn(X, member, exclusive=False)
    one = model.networks[0]
    terms = np.array(found.vocabulary.terms)[one.terms]
    tree = one.network.tree
    top = tree[-1]
    assert set(terms[list(top.features)]) == {"trade", "tariffs", "surplus", "deficit", "japan", "imports"}
    (first,) = (tree[child] for child in top.hidden)
    assert set(terms[list(first.features)]) == {"exports", "countries", "u", "s", "goods", "japanese"}
    (second,) = (tree[child] for child in first.hidden)
    assert len(second.features) == 6
    assert len(second.hidden) == 1  # then a chain
