"""How the papers' experiments are run: the machine of two classes at a time, records of splits, which data is used."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.papers import higher_order, hinge, maxent_bridge
from unnaive.papers.hinge import fit_hinge, predict_by_pairs
from unnaive.papers.iir import unsmoothed_scores
from unnaive.papers.or_gate import splits
from unnaive.papers.paper_run import PaperRun
from unnaive.papers.published_tables import paper_keys, read_paper
from unnaive.papers.split_records import SplitRecords

NOT_HERE = {"or-gate": ["1/ohsumed"], "iir": ["50"]}


def toy(seed, n=120, terms=30, classes=4):
    """Counts with a few terms that tell the class, and noise."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, n)
    X = random.poisson(0.4, (n, terms))
    X[np.arange(n), labels] += 2
    return csr_array(X), labels


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_machine_by_pairs_decides_as_libsvm(C):
    machines = pytest.importorskip("sklearn.svm", reason="needs scikit-learn")
    (X, labels), (test, _) = toy(0), toy(1, n=400)
    expected = machines.SVC(kernel="linear", C=C).fit(X.astype(float), labels).predict(test.astype(float))
    assert predict_by_pairs(X, labels, test, C).tolist() == expected.tolist()


@pytest.mark.parametrize("limit", [0, 4000])
def test_the_hinge_separates_two_points_at_distance_one(limit, monkeypatch):
    """Documents (2) and (0) with C = 10: w·2 + b = 1 and b = −1 at the margin, so w = 1."""
    pytest.importorskip("sklearn.svm", reason="needs scikit-learn")
    monkeypatch.setattr(hinge, "GRAM_DOCUMENTS", limit)
    weights, bias = fit_hinge(csr_array([[2.0], [0.0]]), np.array([True, False]), 10.0)
    assert (weights[0], bias) == pytest.approx((1, -1), abs=1e-6)


def test_records_of_splits_are_found_again_by_data_and_settings(tmp_path):
    records = SplitRecords(tmp_path, "toy", {"data": "a"})
    assert records.measure({"split": 0, "C": 1.0}, lambda: {"accuracy": 50.0}) == {"accuracy": 50.0}
    again = SplitRecords(tmp_path, "toy", {"data": "a"})
    assert again.measure({"split": 0, "C": 1.0}, lambda: pytest.fail("measured twice")) == {"accuracy": 50.0}
    assert again.find({"split": 0, "C": 0.1}) is None
    assert SplitRecords(tmp_path, "toy", {"data": "b"}).find({"split": 0, "C": 1.0}) is None


def test_without_a_folder_nothing_is_recorded():
    records = SplitRecords(None, "toy", {})
    records.add({"split": 0}, {"accuracy": 1.0})
    assert records.find({"split": 0}) is None


def test_the_published_data_is_used_if_it_is_here(monkeypatch):
    here = {"20newsgroups", "webkb4", "1150haber"}
    monkeypatch.setattr(PaperRun, "has", lambda run, name: name in here)
    chosen = {name: higher_order.choose_collection(PaperRun(), name).name for name in higher_order.COLLECTIONS}
    assert list(chosen.values()) == ["20newsgroups", "webkb4", "1150haber"]
    assert [one.printed for one in maxent_bridge.printed_datasets(PaperRun())] == ["20 Newsgroups", "4 Universities"]
    here |= {"20news-18828", "webkb", "7-sectors"}
    chosen = {name: higher_order.choose_collection(PaperRun(), name).name for name in higher_order.COLLECTIONS}
    assert list(chosen.values()) == ["20news-18828", "webkb", "1150haber"]
    found = {one.printed: one.collection for one in maxent_bridge.printed_datasets(PaperRun())}
    assert found == {"20 Newsgroups": "20newsgroups", "4 Universities": "webkb", "7 Sectors": "7-sectors"}


def test_cells_of_data_that_is_not_here_are_not_measured(tmp_path):
    """An empty folder of data: no figure, and the reason is that the collection is missing."""
    for runner in read_paper("maxent-bridge").runners().values():
        assert list(runner(PaperRun(data=tmp_path))) == []
    with pytest.raises(BadData, match="the collection 'ohsumed-20000' is not in"):
        list(read_paper("or-gate").runners()["1/ohsumed"](PaperRun(data=tmp_path)))


@pytest.mark.parametrize("key", paper_keys())
def test_every_table_that_is_no_listing_of_missing_data_has_a_runner(key):
    assert {table.id for table in read_paper(key).tables} - set(read_paper(key).runners()) <= set(NOT_HERE.get(key, ()))


def test_random_splits_of_newsgroups_keep_the_terms_of_their_training_documents(tmp_path):
    """The collection as a folder, four messages of each of two groups: 60 % of them train."""
    for group in ("sci.space", "rec.autos"):
        for number in range(10):
            file = tmp_path / "20news-bydate" / "20news-bydate-train" / group / str(number)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"Subject: word{'abcdefghij'[number]} rocket\n\nbody {group[:3]}\n")
    ((X, Y, test, truth),) = splits(PaperRun(data=tmp_path, quick=True), "20newsgroups-random")
    assert (X.shape[0], test.shape[0]) == (12, 8)
    assert X.shape[1] == test.shape[1]
    assert (np.diff(csr_array(X.T).indptr) > 0).all()
    assert Y.sum(axis=0).tolist() == [6, 6]
    assert truth.sum(axis=0).tolist() == [4, 4]


def test_maximum_likelihood_gives_probability_zero_to_a_document_with_an_unseen_term():
    """p(ball|c) = 2/2 and 1/2, p(vote|c) = 0 and 1/2; priors 1/2."""
    X, Y = csr_array([[2, 0], [1, 1]]), csr_array([[1, 0], [0, 1]])
    scores = unsmoothed_scores(X, Y, csr_array([[3, 0], [1, 1], [0, 0]]))
    assert scores[0] == pytest.approx(np.log([0.5, 0.5 * 0.5**3]))
    assert scores[1].tolist() == pytest.approx([-np.inf, np.log(0.5**3)])
    assert scores[2] == pytest.approx(np.log([0.5, 0.5]))
