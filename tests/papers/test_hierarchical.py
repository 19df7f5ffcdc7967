"""The hierarchical thesis on Reuters: bands of table 4.10 as means over three seeds, and the tree of class trade."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.models.hierarchical.learner import HierarchicalBN
from unnaive.papers.comparison import REPRODUCED, reproduce
from unnaive.papers.hierarchical import CLASSES, RELATED_WORK, load_data, measure_breakevens, network
from unnaive.papers.paper_run import PaperRun
from unnaive.papers.published_tables import read_paper

BANDED = ("HBN-AVG", "HBN-OR", "HBN-DEP", "NB (30 feat.)", "SVM (30 feat.)")
RUN = PaperRun(models=(*BANDED, "HBN-OR, 8 averaged"))


@pytest.fixture(scope="module")
def table():
    (found,) = reproduce("hierarchical", RUN, table="4.10")
    return found


@pytest.mark.parametrize(("row", "column"), list(read_paper("hierarchical").select_tables("4.10")[0].bands))
def test_value_is_in_its_band(table, row, column):
    cell = table.cell(row, column)
    assert cell.ours is not None, cell.absent
    assert cell.ours in cell.band


@pytest.mark.parametrize("column", BANDED[:3])
def test_networks_pass_naive_bayes_where_positives_are_few(table, column):
    bayes = table.cell("Macro-averaged", "NB (30 feat.)").ours
    assert table.cell("Macro-averaged", column).ours >= bayes + 4


def test_averaging_the_finalists_pays(table):
    for row, gain in (("Micro-averaged", 0.3), ("Macro-averaged", 0.5)):
        assert table.cell(row, "HBN-OR, 8 averaged").ours > table.cell(row, "HBN-OR").ours + gain


@pytest.mark.parametrize("kind", ["avg", "or", "dep"])
def test_arcs_from_the_class_do_worse(table, kind):
    turned = measure_breakevens(RUN, network("HNB", kind)).micro.mean()
    assert turned < table.cell("Micro-averaged", f"HBN-{kind.upper()}").ours - 1


@pytest.mark.parametrize("kind", ["avg", "or", "dep"])
def test_hierarchical_naive_bayes_is_in_its_band(kind):
    """HNB-DEP has 80.7 with every seed; in the thesis too it is the weakest of the three, by 1 to 3 points."""
    (table,) = read_paper("hierarchical").select_tables("hnb")
    one = network("HNB", kind)
    assert measure_breakevens(RUN, one).micro.mean() in table.bands["Micro-averaged", one.label]


def test_the_band_of_hbn_avg_holds_the_published_value(table):
    cell = table.cell("Macro-averaged", "HBN-AVG")
    assert cell.theirs == 77.9
    assert cell.theirs in cell.band
    assert cell.mark == REPRODUCED


def test_related_work_is_where_it_was():
    """Bands are a point micro and 1.75 macro around an earlier run, whose source the TOML names; nothing is random."""
    (found,) = reproduce("hierarchical", PaperRun(models=tuple(one.label for one in RELATED_WORK)), table="related")
    assert not found.outside
    macro = {column: found.cell("Macro-averaged", column).ours for column in found.columns}
    bayes = 71.3  # naive Bayes with 30 features, fixed by the data
    assert macro["Diagnostic mixture (30 feat.)"] > bayes + 5
    assert macro["SuperParent TAN (30 feat.)"] > bayes + 2


def test_the_tree_of_class_trade_by_dependence():
    found = load_data(PaperRun())
    X, Y = found.part("train")
    member = csr_array(Y[:, [CLASSES.index("trade")]])
    model = HierarchicalBN(clustering="dep", restarts=1, average=1).learn(X, member, exclusive=False).scorer
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
