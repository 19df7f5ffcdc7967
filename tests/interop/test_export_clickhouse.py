"""Target clickhouse: the counts of a naive Bayes dictionary give the model's weights; chdb labels as Python does."""

import re

import numpy as np
import pytest
from support.exports import drawn_texts

from unnaive import TextClassifier
from unnaive.interop.export.clickhouse import TOLERANCE, dictionary_counts, run_clickhouse, words_of, write_clickhouse
from unnaive.interop.export.conformance import compare_answers, conformance_lines
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.export_folder import TARGETS, check_export, export_model
from unnaive.interop.export.portable import portable_model

TEXTS = ["ball ball goal", "vote law", "goal vote 😀", "ΝΌΜΟΣ law 我爱北京"] * 3
LABELS = ["sport", "politics", "sport", "it's\n\\"] * 3
RULES = [
    {},
    {"alpha": 0.1},
    {"alpha": 0.3, "min_df": 3},
    {"alpha": 2.5, "class_prior": [0.5, 0.3, 0.2]},
    {"stopwords": ("vote", "爱", "😀"), "language": "tr", "digits": False},
    {"min_length": 1, "lowercase": False, "fit_prior": False},
    {"class_weight": "balanced"},
]


def portable(**options):
    fitted = TextClassifier("multinomial", **options).fit(TEXTS, LABELS).fitted_
    return fitted, portable_model(fitted, "clickhouse", carries=TARGETS["clickhouse"].carries)


@pytest.mark.parametrize("options", RULES, ids=str)
def test_the_counts_give_the_weights(options):
    """ClickHouse computes log (n + alpha)/(N + alpha · terms); shares are the priors."""
    _, model = portable(**options)
    (terms, classes, counts), alpha, shares = dictionary_counts(model)
    table = np.zeros((len(model.terms), len(model.classes)))
    table[terms, classes] = counts
    logs = np.log(table + alpha) - np.log(table.sum(axis=0) + alpha * len(table))
    part = model.parts[0]
    weights = part.weights if isinstance(part.weights, np.ndarray) else part.weights.toarray()
    np.testing.assert_allclose(logs, weights + part.class_offset, atol=1e-5 if "class_weight" in options else 1e-9)
    np.testing.assert_allclose(shares, np.exp(model.bias + part.bias) / np.exp(model.bias + part.bias).sum())


def test_counts_and_alpha_are_those_of_training():
    _, model = portable(alpha=0.5)
    (terms, classes, counts), alpha, _ = dictionary_counts(model)
    found = {(model.terms[term], model.classes[c]): n for term, c, n in zip(terms, classes, counts, strict=True)}
    # three times each text: the smallest count is 3, so counts and alpha are a third of those
    assert alpha == pytest.approx(0.5 / 3)
    assert (found["ball", "sport"], found["goal", "sport"], found["vote", "politics"]) == (2, 2, 1)


@pytest.mark.parametrize(
    ("model", "options"),
    [("nbsvm", {}), ("bernoulli", {}), ("complement", {}), ("multinomial", {"smoothing": "jelinek-mercer"}),
     ("multinomial", {"scheme": "one-vs-rest"}), ("multinomial", {"ngrams": (1, 2)}), ("multinomial", {"alpha": 0}),
     ("multinomial", {"calibrate": "temperature"}), ("multinomial", {"strip_html": True})],
)  # fmt: skip
def test_what_a_dictionary_cannot_hold_is_one_sentence(model, options, tmp_path):
    fitted = TextClassifier(model, **options).fit(TEXTS, LABELS).fitted_
    with pytest.raises(CannotExport, match=r"; (train|export|calibrate)[^\n]*$"):
        export_model(fitted, "clickhouse", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_statements_end_at_the_end_of_a_line_whatever_the_labels():
    _, model = portable()
    lines = write_clickhouse(model)["model.sql"].decode().split("\n")
    assert [line[-1] for line in lines if line and not line.startswith("--")] == [";"] * 8
    assert r"['it\'s\n\\', 'politics', 'sport']" in "".join(lines)
    assert len(re.findall("CREATE OR REPLACE FUNCTION", "".join(lines))) == 3
    assert "IN ('vote')" in words_of(portable(stopwords=["vote"])[1], "text")


@pytest.mark.slow
@pytest.mark.parametrize("options", RULES, ids=str)
def test_drawn_texts_of_all_scripts_are_labelled_as_in_python(options):
    pytest.importorskip("chdb", reason="chdb is not installed")
    fitted, model = portable(**options)
    texts = drawn_texts(fitted, 2000, seed=5)
    statements = write_clickhouse(model)["model.sql"].decode().split(";\n")
    answers = run_clickhouse(statements, texts, model.classes)
    found = compare_answers("ClickHouse", TOLERANCE, conformance_lines(fitted, texts), answers)
    assert (found.texts, found.good) == (2000, True), (found.sentence(), found.example)


@pytest.mark.slow
def test_check_runs_the_export_in_chdb(tmp_path):
    pytest.importorskip("chdb", reason="chdb is not installed")
    export_model(portable()[0], "clickhouse", tmp_path / "out")
    (found,) = check_export(tmp_path / "out")
    assert (found.texts, found.different, found.off) == (400, 0, 0)
