"""Laws of values: whatever is done with a model, the model stays as it is, and no array inside it can be written to."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter
from support.values import reachable_arrays, writeable_arrays

from unnaive import MultinomialNB, TextClassifier
from unnaive.apps.cli.commands.inspect import show_description
from unnaive.base.errors import UnnaiveError
from unnaive.classifier.compress import compress_model, file_size
from unnaive.classifier.model_file import load_model, save
from unnaive.classifier.receipts import model_hash, register_documents
from unnaive.data.text_hashes import TextHashes
from unnaive.evaluation.evaluate import evaluate
from unnaive.io.tickets import load_tickets
from unnaive.models.catalogue import MODELS, find_model
from unnaive.workflows.describe_model import describe_file
from unnaive.workflows.network_views import network_view, write_network

FORMS = ("memory", "loaded", "mapped")
QUICK = {("rocchio", "memory"), ("svm", "mapped"), ("multinomial", "loaded")}
SMALL = {"restarts": 2, "average": 2, "max_iter": 5, "clusters": 8, "members": 2}
NETWORKS = {"or-gate", "tan", "superparent", "diagnostic", "hierarchical", "hierarchical-naive-bayes"}
WITHOUT_WEIGHTS = NETWORKS - {"or-gate"} | {"knn", "tree", "or-blend"}


def tickets():
    """(texts, labels): 90 tickets of three queues."""
    part = load_tickets().part("train")
    rows = [(text, label) for text, (label,) in zip(part.texts, part.labels, strict=True)]
    queues = sorted({label for _, label in rows})[:3]
    chosen = [row for row in rows if row[1] in queues][:90]
    return [text for text, _ in chosen], [label for _, label in chosen]


TEXTS, LABELS = tickets()
NEW = [*TEXTS[60:70], "", "a word that nobody has seen"]


def classifier(name):
    known = find_model(name).declared()
    settings = {key: value for key, value in SMALL.items() if key in known}
    return TextClassifier(name, **settings, calibrate="temperature")


@pytest.fixture(scope="module")
def models():
    """Models by name, trained once, with all that one can have: hashes of texts and a register too."""
    made = {}

    def model(name):
        if name not in made:
            one = classifier(name).fit(TEXTS[:60], LABELS[:60])
            other = classifier(name).fit(TEXTS[60:], LABELS[60:])
            fitted = replace(one.fitted_, text_hashes=TextHashes.of(TEXTS[:60]))
            made[name] = register_documents(fitted, TEXTS[:60], [(label,) for label in LABELS[:60]]), other.fitted_
        return made[name]

    return model


def compressed(share):
    def compress(model, other, folder):
        limit = int(share * file_size(model.fitted_, frozen=True))
        return TextClassifier.from_fitted(compress_model(model.fitted_, limit, texts=TEXTS).fitted)

    return compress


def predicted(model, other, folder):
    assert set(model.predict(NEW)) <= set(LABELS)


def measured(model, other, folder):
    found = evaluate(model, TEXTS[60:], LABELS[60:])
    assert all(np.isfinite(value) for value in found.measures.values())
    found.mistakes()
    found.top_terms()


def explained(model, other, folder):
    for text in NEW:
        explanation = model.explain(text)
        assert np.isfinite([one.value for one in explanation.evidence]).all()


def sets(model, other, folder):
    if model.fitted_.conformal is not None:
        model.predict_label_set(NEW, 0.8, by_class=True)


def probable(model, other, folder):
    if model.fitted_.probabilistic:
        assert np.isfinite(model.predict_proba(NEW)).all()


def saved(**options):
    def write(model, other, folder):
        model.save(folder / "again.model", **options)
        return TextClassifier.load(folder / "again.model")

    return write


def inspected(model, other, folder):
    path = folder / "inspected.model"
    model.save(path)
    show_description(describe_file(model.fitted_, path, list(model.fitted_.classes), 5))


def exported(model, other, folder):
    view = network_view(model.fitted_, model.fitted_.classes[0])
    for ending in (".bif", ".uai"):
        write_network(view, folder / f"class{ending}")
    assert view.to_dict()
    assert list(view.lines())


SIZES = {f"compress to {share:.0%}": compressed(share) for share in (0.8, 0.5, 0.3)}
OPERATIONS = {
    "predict": predicted,
    "predict_proba": probable,
    "predict_label_set": sets,
    "explain": explained,
    "evaluate": measured,
    **SIZES,
    "calibrate": lambda model, other, folder: model.remake(calibrate="isotonic"),
    "optimise": lambda model, other, folder: model.remake(optimise="macro-f1"),
    "update": lambda model, other, folder: model.partial_fit(TEXTS[60:65], LABELS[60:65]),
    "forget": lambda model, other, folder: model.forget(TEXTS[:5], LABELS[:5]),
    "merge": lambda model, other, folder: model.merge(TextClassifier.from_fitted(other)),
    "remake": lambda model, other, folder: model.remake(
        model="svm" if model.fitted_.counts is None else "bernoulli", calibrate="none"
    ),
    "save": saved(),
    "freeze": saved(frozen=True),
    "inspect": inspected,
    "export": exported,
    "pickle": lambda model, other, folder: pickle.loads(pickle.dumps(model)),  # noqa: S301  # our own
    "deepcopy": lambda model, other, folder: copy.deepcopy(model),
}


def refused(name):
    """The operations that a model refuses with a sentence; all others must succeed."""
    return {*(() if name in NETWORKS else ("export",)), *(SIZES if name in WITHOUT_WEIGHTS else ())}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param(name, form, marks=[] if (name, form) in QUICK else [pytest.mark.slow])
        for name in sorted(MODELS)
        for form in FORMS
    ],
)
def test_no_operation_changes_a_model(models, tmp_path, name, form):
    """The hash of all arrays and of the description stays, and so do scores; what comes out is a sound value too."""
    fitted, other = models(name)
    if form != "memory":
        save(fitted, tmp_path / "first.model")
        fitted = load_model(tmp_path / "first.model", mapped=form == "mapped")
    assert writeable_arrays(fitted) == {}
    before, scores, failed = model_hash(fitted), fitted.scores(NEW), set()
    assert np.isfinite(scores).all()
    for operation, act in OPERATIONS.items():
        result = None
        try:
            result = act(TextClassifier.from_fitted(fitted), other, tmp_path)
        except UnnaiveError:
            failed.add(operation)
        assert model_hash(fitted) == before, operation
        np.testing.assert_array_equal(fitted.scores(NEW), scores, err_msg=operation)
        if result is not None:
            assert np.isfinite(result.scores(NEW)).all(), operation
            assert writeable_arrays(result.fitted_) == {}, operation
    assert failed == refused(name)
    assert writeable_arrays(fitted) == {}  # what was derived while it was used, too


def test_writing_into_an_array_of_a_model_raises(models):
    """Also what writes into a matrix that shares arrays with it, as SciPy makes them."""
    weights = models("rocchio")[0].scorer.sparse_weights
    before = weights.copy()
    with pytest.raises(ValueError, match="read-only"):
        weights.data[0] = 1.0
    shared = csr_array((np.zeros(weights.nnz), weights.indices, weights.indptr), shape=weights.shape)
    with pytest.raises(ValueError, match=r"not writeable|read-only"):
        shared.eliminate_zeros()
    assert (weights != before).nnz == 0


def test_arrays_of_the_caller_stay_writeable_and_are_not_shared(case, documents):
    """Documents are kept in an order of their own; those that come in it could be kept without a copy."""
    first = clone(case.estimator).fit(documents.X, documents.y).fitted_
    order = np.arange(len(documents)) if first.documents is None else rows_in_order(documents, first)
    X, y, weight = csr_array(documents.X[order]), documents.y[order], np.full(len(documents), 2.0)
    weights = {"sample_weight": weight} if has_fit_parameter(case.estimator, "sample_weight") else {}
    for Y in (y, csr_array(documents.Y[order])):
        fitted = clone(case.estimator).fit(X, Y, **weights).fitted_
        handed_in = [array for _, array in reachable_arrays([X, Y, weight])]
        for way, array in reachable_arrays(fitted):
            assert not any(np.shares_memory(array, one) for one in handed_in), way
        assert all(array.flags.writeable for array in handed_in)


def rows_in_order(documents, fitted):
    """Where the model's rows are among the documents."""
    kept = fitted.documents.table.toarray()
    rows = documents.X.toarray()
    return np.array([int(np.flatnonzero((rows == row).all(axis=1))[0]) for row in kept])


def test_explaining_a_row_leaves_it_as_it_is(documents):
    """Also one that names a column twice, whose cells are added up for the explanation."""
    model = MultinomialNB().fit(documents.X, documents.y)
    row = csr_array((np.array([1, 2, 1]), np.array([3, 3, 0]), np.array([0, 3])), shape=(1, documents.X.shape[1]))
    found = {one.term: one.count for one in model.explain(row).evidence}
    assert [part.tolist() for part in (row.data, row.indices, row.indptr)] == [[1, 2, 1], [3, 3, 0], [0, 3]]
    assert sorted(found.values()) == [1, 3]
