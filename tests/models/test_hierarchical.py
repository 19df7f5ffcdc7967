"""Hierarchical networks as classifiers: inference against enumeration and pgmpy, laws, edges, storage."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.base.errors import BadData, BadModel, UnnaiveError
from unnaive.models.hierarchical import em_to_class
from unnaive.models.hierarchical.hidden_naive_bayes import HiddenNaiveBayes
from unnaive.models.hierarchical.hidden_networks import HiddenNetworks
from unnaive.models.hierarchical.hidden_tree import HiddenTree
from unnaive.models.hierarchical.learner import HierarchicalBN
from unnaive.models.hierarchical.tree_shape import Node

pytestmark = pytest.mark.slow  # `make test` runs these; `make quick` stays under a minute

TREE = (Node((1, 3), ()), Node((0,), (0,)), Node((4,), ()), Node((2,), (1, 2)))
NAMES = ["a", "b", "c", "d", "e"]
DIRECTIONS = ("to-class", "from-class")
FAST = {"restarts": 8, "average": 2, "features": 8, "branching": 3, "n_jobs": 1}


def hierarchical(X, Y, *, sample_weight=None, progress=None, **settings):
    """The scorer, of multilabel targets unless a scheme is given."""
    return (
        HierarchicalBN(**settings).learn(X, Y, exclusive=False, sample_weight=sample_weight, progress=progress).scorer
    )


def random_network(direction, seed=0, members=2):
    random = np.random.default_rng(seed)
    if direction == "from-class":
        return HiddenNaiveBayes(TREE, 0.3, random.random((members, 2, 3)), random.random((members, 2, 5)))
    tables = tuple(random.random((members, 1 << len(node.hidden), 1 << len(node.features))) for node in TREE)
    return HiddenTree(TREE, random.random(5), tables)


def random_documents(seed=0, n_docs=200, n_terms=20, n_classes=3):
    random = np.random.default_rng(seed)
    Y = random.random((n_docs, n_classes)) < 0.35
    rates = 0.08 + 0.5 * random.random((n_classes, n_terms)) ** 3
    X = random.poisson(Y @ rates + 0.05)
    return csr_array(X), csr_array(Y.astype(np.int64))


def by_enumeration(network, row):
    """P(class = 1 | what is known of the row), summed over everything else."""
    known = {NAMES[i]: int(state) for i, state in enumerate(row) if state >= 0}
    both = [network.probability({**known, "class": state}) for state in (0, 1)]
    return both[1] / sum(both)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_posterior_is_that_of_enumeration_whatever_is_unknown(direction):
    fitted = random_network(direction)
    evidence = np.random.default_rng(1).integers(-1, 2, (30, 5)).astype(np.int8)
    evidence[0], evidence[1] = -1, 1
    members = fitted.member_posteriors(evidence)
    for member in range(2):
        network = fitted.network(NAMES, "class", member)
        expected = [by_enumeration(network, row) for row in evidence]
        assert members[member] == pytest.approx(expected, abs=1e-9)
    assert fitted.posterior(evidence) == pytest.approx(members.mean(axis=0), abs=1e-15)


def test_known_features_agree_on_the_fast_and_the_general_way():
    fitted = random_network("to-class")
    rows = np.random.default_rng(2).integers(0, 2, (40, 5)).astype(np.int8)
    assert fitted._if_unknown(rows) == pytest.approx(fitted._if_known(rows), abs=1e-12)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.slow
def test_pgmpy_reads_the_bif_and_agrees(direction, tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    from pgmpy.inference import VariableElimination

    fitted = random_network(direction)
    path = tmp_path / "network.bif"
    path.write_text(fitted.network(NAMES, "class").to_bif())
    infer = VariableElimination(readwrite.BIFReader(str(path)).get_model())
    evidence = np.array([[1, 0, 1, 1, 0], [0, -1, 1, -1, 0], [-1, -1, -1, -1, 1]], np.int8)
    ours = fitted.member_posteriors(evidence)[0]
    for row, expected in zip(evidence, ours, strict=True):
        known = {NAMES[i]: ("no", "yes")[state] for i, state in enumerate(row) if state >= 0}
        answer = infer.query(["class"], evidence=known, show_progress=False)
        assert answer.get_value(**{"class": "yes"}) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("clustering", ["avg", "or", "dep"])
@pytest.mark.slow
def test_threads_do_not_change_a_bit(direction, clustering, monkeypatch):
    monkeypatch.setattr(em_to_class, "CHUNK_BYTES", 1)
    X, Y = random_documents()
    settings = FAST | {"direction": direction, "clustering": clustering}
    one = hierarchical(X, Y, **settings).scores(X)
    for threads in (3, 8):  # 8 is more than classes: the rest goes to the starts of each
        assert np.array_equal(one, hierarchical(X, Y, **(settings | {"n_jobs": threads})).scores(X))


def test_a_class_depends_on_its_own_documents_only():
    X, Y = random_documents()
    alone = hierarchical(X, Y[:, [2]], **FAST).scores(X)[:, 0]
    assert np.array_equal(alone, hierarchical(X, Y, **FAST).scores(X)[:, 2])
    order = np.random.default_rng(0).permutation(X.shape[0])
    assert np.array_equal(alone, hierarchical(X[order], Y[order], **FAST).scores(X)[:, 2])


def test_only_presence_counts_and_weights_are_repetitions():
    X, Y = random_documents(n_docs=80)
    plain = hierarchical(X, Y, **FAST).scores(X)
    assert np.array_equal(plain, hierarchical(X * 3, Y, **FAST).scores(X))
    weight = np.random.default_rng(0).integers(0, 3, 80)
    again = np.repeat(np.arange(80), weight)
    weighted = hierarchical(X, Y, **FAST, sample_weight=weight).scores(X)
    assert np.array_equal(weighted, hierarchical(X[again], Y[again], **FAST).scores(X))


def test_seeds_differ_and_repeat():
    X, Y = random_documents()
    first, other = (hierarchical(X, Y, **FAST, random_state=seed).scores(X) for seed in (1, 2))
    assert not np.array_equal(first, other)
    assert np.array_equal(first, hierarchical(X, Y, **FAST, random_state=1).scores(X))


def test_it_learns_what_naive_bayes_cannot():
    random = np.random.default_rng(0)
    rows = random.integers(0, 2, (400, 6))
    odd = rows[:, :3].sum(axis=1) % 2  # parity: no term tells anything alone
    rows[:, 5] = odd ^ (random.random(400) < 0.3)
    model = hierarchical(csr_array(rows), csr_array(odd[:, None]), features=6, branching=6, restarts=4, average=1)
    accuracy = ((model.scores(csr_array(rows))[:, 0] > 0) == odd).mean()
    assert accuracy > 0.95


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_two_exclusive_classes_need_one_network(direction):
    X, Y = random_documents(n_classes=1)
    both = csr_array(np.hstack([1 - Y.toarray(), Y.toarray()]))
    model = hierarchical(X, both, **FAST, direction=direction, scheme="multiclass")
    alone = hierarchical(X, Y, **FAST, direction=direction)
    assert (len(model.networks), model.n_classes, model.link) == (1, 2, "softmax")
    assert np.array_equal(model.scores(X)[:, 1], alone.scores(X)[:, 0])
    assert (model.scores(X)[:, 0] == 0).all()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_network_of_the_first_of_two_classes_is_that_of_the_second_with_its_states_swapped(direction):
    X, Y = random_documents(n_classes=1, n_terms=5)
    both = csr_array(np.hstack([1 - Y.toarray(), Y.toarray()]))
    model = hierarchical(X, both, **FAST, direction=direction, scheme="multiclass")
    names = [f"w{i}" for i in range(5)]
    first, second = (model.network(c, names, ["c", "c"]) for c in (0, 1))
    some = {"w0": 1, "w3": 0}
    for state in (0, 1):
        assert first.probability(some | {"c": state}) == pytest.approx(second.probability(some | {"c": 1 - state}))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("clustering", ["avg", "or", "dep"])
@pytest.mark.parametrize(
    "spoil", ["constant", "duplicate", "one positive", "no positive", "all positive", "empty", "more branching"]
)
@pytest.mark.slow
def test_edges_give_finite_scores(direction, clustering, spoil):
    X, Y = (part.toarray() for part in random_documents(n_docs=60, n_classes=1))
    settings = FAST | {"direction": direction, "clustering": clustering}
    if spoil == "constant":
        X[:, :10] = 1
    elif spoil == "duplicate":
        X[:, 1:10] = X[:, [0]]
    elif spoil == "empty":
        X[:] = 0
    elif spoil == "more branching":
        settings |= {"branching": 16, "features": 8}
    else:
        Y[:] = spoil == "all positive"
        Y[0] = spoil != "no positive"
    model = hierarchical(csr_array(X), csr_array(Y), **settings)
    scores = model.scores(csr_array(np.vstack([X, 1 - np.minimum(X, 1)])))
    assert np.isfinite(scores).all()
    if spoil in ("no positive", "all positive"):
        assert ((scores > 0) == (spoil == "all positive")).all()


def test_configurations_never_seen_get_one_half():
    rows = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    model = hierarchical(csr_array(rows), csr_array([[1], [1], [0], [0]]), restarts=2, average=1)
    assert model.scores(csr_array([[1, 1], [0, 0]])).tolist() == [[0.0], [0.0]]
    assert (model.scores(csr_array(rows))[:, 0] > 20).tolist() == [True, True, False, False]


def test_progress_tells_the_likelihood_which_never_falls():
    X, Y = random_documents()
    told = []
    settings = FAST | {"restarts": 1, "average": 1}
    hierarchical(X, Y, **settings, progress=lambda what, values: told.append((what, values)))
    assert {what for what, _ in told} == {"em"}
    for c in range(3):
        own = [values for _, values in told if values["class"] == c]
        assert [values["iteration"] for values in own] == list(range(1, len(own) + 1))
        assert (np.diff([values["log_likelihood"] for values in own]) > -1e-6).all()
        assert own[0]["classes"] == 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"clustering": "and"}, "no clustering called 'and'"),
        ({"direction": "up"}, "no direction called 'up'"),
        ({"branching": 1}, "branching of hierarchical came as 1; give a number from 2 and up to 16"),
        ({"branching": 40}, "branching of hierarchical came as 40"),
        ({"alpha": -5.0}, "alpha of hierarchical came as -5.0"),
        ({"max_iter": 0}, "max_iter of hierarchical came as 0"),
        ({"features": 0}, "features of hierarchical came as 0"),
        ({"restarts": 2, "average": 3}, "average is 3 and restarts is 2"),
        ({"stopping": "late"}, "no stopping called 'late'"),
    ],
)
def test_impossible_settings_are_refused_in_a_sentence(settings, words):
    X, Y = random_documents()
    with pytest.raises(UnnaiveError, match=words):
        HierarchicalBN(**settings).fit(X, Y.toarray())


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("scheme", ["multiclass", "one-vs-rest"])
def test_arrays_give_the_same_scorer_again(direction, scheme):
    X, Y = random_documents(n_classes=2)
    model = hierarchical(X, Y, **FAST, direction=direction, scheme=scheme)
    arrays, settings = model.to_arrays()
    again = HiddenNetworks.from_arrays(arrays, settings)
    assert np.array_equal(again.scores(X), model.scores(X))
    assert (again.n_classes, again.n_terms, again.link) == (model.n_classes, model.n_terms, model.link)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_damaged_arrays_are_refused(direction):
    X, Y = random_documents(n_classes=2)
    arrays, settings = hierarchical(X, Y, **FAST, direction=direction).to_arrays()
    for name, array in arrays.items():
        for spoilt in (array[:-1], array.reshape(-1, 1), array.astype(np.complex128), np.append(array, array[-1:])):
            with pytest.raises(BadModel):
                HiddenNetworks.from_arrays(arrays | {name: spoilt}, settings)
        with pytest.raises(BadModel):
            HiddenNetworks.from_arrays({key: value for key, value in arrays.items() if key != name}, settings)
        if array.dtype.kind == "i":
            for number in (-1, 1 << 60):
                wrong = array.copy()
                wrong[0] = number
                with pytest.raises(BadModel):
                    HiddenNetworks.from_arrays(arrays | {name: wrong}, settings)
    for number in (np.nan, -0.1, 1.1, np.inf):
        wrong = arrays["values"].copy()
        wrong[3] = number
        with pytest.raises(BadModel):
            HiddenNetworks.from_arrays(arrays | {"values": wrong}, settings)
    for name, value in (("link", "cosine"), ("direction", "sideways"), ("n_terms", 0), ("n_terms", "many")):
        with pytest.raises(BadModel):
            HiddenNetworks.from_arrays(arrays, settings | {name: value})
    with pytest.raises(BadModel):
        HiddenNetworks.from_arrays(arrays, settings | {"link": "softmax"})


def test_trees_that_loop_are_refused():
    X, Y = random_documents(n_classes=1)
    arrays, settings = hierarchical(X, Y, **FAST).to_arrays()
    for spoilt in (np.roll(arrays["hidden"], 1), np.zeros_like(arrays["hidden"])):
        if not np.array_equal(spoilt, arrays["hidden"]):
            with pytest.raises(BadModel):
                HiddenNetworks.from_arrays(arrays | {"hidden": spoilt}, settings)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_estimator_scores_documents_with_unknown_terms(direction):
    X, Y = random_documents()
    model = HierarchicalBN(**FAST, direction=direction).fit(X, Y)
    nothing = csr_array(X.shape, dtype=bool)
    assert np.array_equal(model.predict_proba_given(X, nothing), model.predict_proba(X))
    everything = np.ones(X.shape, bool)
    blind = model.predict_proba_given(X, everything)
    assert np.ptp(blind, axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    with pytest.raises(BadData, match="give both the same shape"):
        model.predict_proba_given(X, nothing[:, :3])


def test_the_prior_is_what_is_left_when_all_is_unknown_from_the_class():
    X, Y = random_documents(n_classes=1)
    model = hierarchical(X, Y, **FAST, direction="from-class")
    p = 1 / (1 + np.exp(-model.scores_given(X[:1], np.ones((1, X.shape[1])))[0, 0]))
    assert p == pytest.approx(Y.toarray().mean(), abs=1e-6)


def test_estimator_gives_the_network_of_a_class():
    X, Y = random_documents()
    model = HierarchicalBN(**FAST).fit(X, Y)
    network = model.network(1, [f"w{i}" for i in range(20)])
    assert network.nodes[-1] == "1"
    assert len(network.nodes) == 8 + len(model.scorer_.networks[1].network.tree)
    with pytest.raises(BadData, match=r"not among the \d classes"):
        model.network("sport")


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_strongest_terms_are_those_that_add_most_when_nothing_else_is_known(direction):
    X, Y = random_documents(n_classes=2)
    model = hierarchical(X, Y, **FAST, direction=direction)
    found = model.strongest_terms(1, None, 5)
    assert 1 <= len(found) <= 5
    assert [value for _, value in found] == sorted((value for _, value in found), reverse=True)
    term, value = found[0]
    unknown = np.ones((2, X.shape[1]), bool)
    unknown[1, term] = False
    blind, seen = model.scores_given(csr_array(np.ones((2, X.shape[1]))), unknown)[:, 1]
    assert value == pytest.approx(seen - blind, abs=1e-8)


@pytest.mark.parametrize("labels", [["ship", "trade"], ["corn", "ship", "trade"]])
def test_scores_of_a_network_are_those_of_the_documents_it_is_given(labels):
    random = np.random.default_rng(3)
    X, y = random.integers(0, 2, (60, 4)), random.choice(labels, 60)
    model = HierarchicalBN(restarts=4, average=1).fit(X, y)
    for place, label in enumerate(labels):
        found = model.network_scores(label, X, y)
        p = model.scorer_.class_network(place).network.posterior(
            (X[:, model.scorer_.class_network(place).terms] > 0).astype(np.int8)
        )
        p = 1 - p if len(labels) == 2 and place == 0 else p
        assert found["CLL"] == pytest.approx(np.log(np.where(y == label, p, 1 - p)).sum(), rel=1e-9)
        assert found["MDL"] - found["CMDL"] == pytest.approx(found["CLL"] - found["LL"], rel=1e-9)
    with pytest.raises(BadData, match=r"not among the \d classes"):
        model.network_scores("tin", X, y)
