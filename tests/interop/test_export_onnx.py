"""Target onnx: text in, labels and probabilities out, in onnxruntime as in Python."""

import json
import resource
from dataclasses import replace

import numpy as np
import pytest
from support.exports import CASES, QUICK, drawn_texts, fitted_case

from unnaive import TextClassifier
from unnaive.interop.export import onnx_target
from unnaive.interop.export.conformance import (
    TOLERANCE_OF_SINGLES,
    compare_answers,
    conformance_lines,
    conformance_texts,
)
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.export_folder import check_export, export_model
from unnaive.interop.export.onnx_target import onnx_model, open_session, run_texts
from unnaive.interop.export.portable import portable_model
from unnaive.learning.decisions import LeastCost
from unnaive.text import _unicode_table

pytestmark = pytest.mark.slow  # onnxruntime takes a while to import and to load a model


@pytest.fixture(autouse=True)
def runtime():
    return pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def agree(fitted, texts, at_once=200):
    """How onnxruntime agrees with the model on some texts."""
    session = open_session(onnx_model(portable_model(fitted, "onnx")))
    parts = [texts[at : at + at_once] for at in range(0, len(texts), at_once)]
    answers = [answer for part in parts for answer in run_texts(session, part, list(fitted.classes))]
    return compare_answers("onnx", TOLERANCE_OF_SINGLES, conformance_lines(fitted, texts), answers)


@pytest.mark.parametrize(("model", "rule"), CASES)
def test_decisions_and_scores_are_those_of_the_model(model, rule):
    fitted = fitted_case(model, rule)
    found = agree(fitted, conformance_texts(fitted))
    assert found.good, found.sentence() + repr(found.example)
    assert found.largest < 1e-7  # what is left of double precision in single


@pytest.mark.parametrize(
    ("model", "rule", "seed"),
    [("multinomial", "turkish", 31), ("nbsvm", "both", 32), ("sets-or-gate", "pairs", 33), ("rocchio", "in-words", 34)],
)
def test_drawn_texts(model, rule, seed):
    fitted = fitted_case(model, rule)
    found = agree(fitted, drawn_texts(fitted, 2_000, seed))
    assert found.good, found.sentence() + repr(found.example)


def test_a_text_alone_and_among_others_gives_the_same():
    fitted = fitted_case("nbsvm", "both")
    session = open_session(onnx_model(portable_model(fitted, "onnx")))
    texts = ["", *drawn_texts(fitted, 60, 5)]
    together = run_texts(session, texts, list(fitted.classes))
    assert together == [run_texts(session, [text], list(fitted.classes))[0] for text in texts]


@pytest.mark.filterwarnings("ignore:.*hardly any term")
def test_sequences_of_parts_of_emoji_are_read_as_python_reads_them():
    pieces = ["👍", "🏽", "\ufe0f", "\ufe0e", "\u200d", "©", "🇹", "7", "\u20e3", "\U000e0067", "a", " "]
    texts = ["".join(pieces[digit] for digit in np.unravel_index(number, (12,) * 4)) for number in range(12**4)][::7]
    model = TextClassifier("multinomial", analyzer="both", char_ngrams=(1, 2), char_borders="words")
    fitted = model.fit(texts, [str(number % 3) for number in range(len(texts))]).fitted_
    found = agree(fitted, texts)
    assert found.good, found.sentence() + repr(found.example)


def test_the_file_is_a_valid_model_with_its_classes(tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx, which checks files, is not installed")
    export_model(fitted_case(*QUICK[0]), "onnx", tmp_path / "out")
    model = onnx.load(tmp_path / "out" / "model.onnx")
    onnx.checker.check_model(model)
    assert [one.name for one in model.graph.output] == ["label", "decided", "scores", "probabilities", "known_terms"]
    about = {one.key: one.value for one in model.metadata_props}
    assert json.loads(about["classes"]) == ["access", "bug", "éclair"]


def test_check_runs_it_in_onnxruntime_and_finds_what_differs(tmp_path, runtime):
    export_model(fitted_case("nbsvm", "both"), "onnx", tmp_path / "out")
    (found,) = check_export(tmp_path / "out")
    assert found.good
    assert found.engine == f"onnxruntime {runtime.__version__}"
    export_model(fitted_case("multinomial", "words"), "onnx", tmp_path / "other")
    (tmp_path / "out" / "model.onnx").write_bytes((tmp_path / "other" / "model.onnx").read_bytes())
    assert not check_export(tmp_path / "out")[0].good


def test_labels_leave_as_strings_and_no_label_as_an_empty_one():
    fitted = TextClassifier("or-gate").fit(["a b ball", "vote law"], [("x", "y"), ("z",)]).fitted_
    session = open_session(onnx_model(portable_model(fitted, "onnx")))
    label, decided, *_ = session.run(None, {"text": np.array(["ball", "nothing known"], dtype=object)})
    expected = fitted.predict(["ball", "nothing known"])
    assert [bool(row.any()) for row in decided] == [bool(labels) for labels in expected]
    assert [one or None for one in label] == [labels[0] if labels else None for labels in expected]


def test_a_model_that_is_too_large_for_the_format_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(onnx_target, "LARGEST", 1000)
    with pytest.raises(CannotExport, match="too many for an ONNX file; make it smaller first"):
        onnx_target.write_onnx(portable_model(fitted_case(*QUICK[0]), "onnx"))


def test_no_letter_of_a_script_without_spaces_is_a_mark():
    """The characters of a run begin with a letter that is no mark, which the graph takes for granted."""

    def codes(table):
        runs = [run.split("-") for run in table.split()]
        return {code for run in runs for code in range(int(run[0], 16), int(run[-1], 16) + 1)}

    assert not codes(_unicode_table.UNSPACED_LETTERS) & codes(_unicode_table.MARKS)


def test_the_label_is_the_decided_class_though_its_score_is_the_lowest():
    """A class without documents has the score −∞, and least cost may still decide for it."""
    fitted = TextClassifier("multinomial").fit(["ball goal", "vote law", "ball game"], ["p", "q", "p"]).fitted_
    fitted = replace(fitted, decision=LeastCost(((1.0, 0.0), (1.0, 0.0))))
    bias = np.array([0.0, -np.inf])
    portable = replace(portable_model(fitted, "onnx"), bias=bias)
    answers = run_texts(open_session(onnx_model(portable)), ["ball", "vote", ""], ["p", "q"])
    assert [answer["labels"] for answer in answers] == [["q"]] * 3
    assert [answer["label"] for answer in answers] == ["q"] * 3
    answers[0]["label"] = "p"
    expected = [
        {
            "text": "",
            "labels": ["q"],
            "scores": answer["scores"],
            "probabilities": None,
            "margin": 1.0,
            "known_terms": answer["known_terms"],
        }
        for answer in answers
    ]
    found = compare_answers("onnx", TOLERANCE_OF_SINGLES, map(json.dumps, expected), answers)
    assert (found.different, found.good) == (1, False)


@pytest.mark.parametrize("texts", [[], [""], [""] * 40, ["ball"] + [""] * 16, ["ball " * 10] * 33])
def test_batches_of_any_size_and_of_empty_texts(texts):
    model = TextClassifier("multinomial").fit(["ball goal", "vote law"] * 3, ["p", "q"] * 3)
    session = open_session(onnx_model(portable_model(model.fitted_, "onnx")))
    answers = run_texts(session, texts, ["p", "q"])
    assert [answer["label"] for answer in answers] == list(model.predict(texts) if texts else [])


def test_one_long_text_does_not_make_all_others_long():
    """Texts are read in groups: a batch takes the memory of its longest text times AT_ONCE, not times its size."""
    model = TextClassifier("multinomial").fit(["ball goal", "vote law"] * 3, ["p", "q"] * 3)
    session = open_session(onnx_model(portable_model(model.fitted_, "onnx")))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answers = run_texts(session, [*["ball"] * 200, "vote law " * 2_222], ["p", "q"])
    assert [answer["label"] for answer in answers] == ["p"] * 200 + ["q"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 800 << 10  # kB; together they took 3 GB
