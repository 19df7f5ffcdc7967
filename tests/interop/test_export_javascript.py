"""Target js: the module decides, scores, explains and reads texts as Python does, in Node and in Chromium."""

import json
import random
import shutil
import subprocess

import numpy as np
import pytest
from support.browser import NEEDS_CHROMIUM, collect_problems, open_browser, wait
from support.exports import CASES, QUICK, drawn_texts, fitted_case

from unnaive import TextClassifier
from unnaive.data.fields.fields import one_document
from unnaive.interop.export.conformance import TOLERANCE, compare_answers
from unnaive.interop.export.export_folder import check_export, export_model
from unnaive.text.tokens import spans

NODE = shutil.which("node")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(NODE is None, reason="there is no Node.js on this machine")]

ASK = """
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
const module = await import(pathToFileURL(process.argv[1]));
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line);
  console.log(JSON.stringify(module[name](...given)));
}
"""


def ask(folder, calls):
    """What the module gives for calls [[function, argument…], …]."""
    asked = "".join(json.dumps(call) + "\n" for call in calls)
    command = [NODE, "--input-type=module", "-e", ASK, str(folder / "model.js")]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.split("\n") if line]


@pytest.mark.parametrize(
    ("model", "rule"), [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in CASES]
)
def test_decisions_and_scores_are_those_of_the_model(model, rule, tmp_path):
    fitted = fitted_case(model, rule)
    export_model(fitted, "js", tmp_path / "out")
    (found,) = check_export(tmp_path / "out")
    assert found.good, found.sentence() + repr(found.example)
    assert found.texts == 400
    assert found.largest < TOLERANCE


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        pytest.param("auto", "words", marks=pytest.mark.slow),
        ("sets-multinomial", "turkish"),
        pytest.param("rocchio", "in-words", marks=pytest.mark.slow),
        pytest.param("hos", "stops", marks=pytest.mark.slow),
    ],
)
def test_terms_and_explanations_are_those_of_the_model(model, rule, tmp_path):
    fitted = fitted_case(model, rule)
    export_model(fitted, "js", tmp_path / "out")
    texts = drawn_texts(fitted, 60, seed=3)
    for text, terms in zip(texts, ask(tmp_path / "out", [["tokens", text] for text in texts]), strict=True):
        assert sorted(map(tuple, terms)) == sorted(spans(text, fitted.token_rule)), repr(text)
    label = fitted.classes[0]
    for text, told in zip(
        texts, ask(tmp_path / "out", [["explain", text, {"label": label}] for text in texts]), strict=True
    ):
        right = fitted.explain(text, label).to_dict()
        assert told["score"] == pytest.approx(right["score"], abs=1e-9, rel=1e-9)
        assert told["base"] == pytest.approx(right["base"], abs=1e-9)
        values = {(one["term"], one["count"], str(one["places"])): one["value"] for one in right["evidence"]}
        assert {
            (one["term"], one["count"], str(one["places"])): one["value"] for one in told["evidence"]
        } == pytest.approx(values, abs=1e-9), repr(text)


VALUES = {
    "subject": ["Refund ÉTÉ", "", None, "N/A", 7, "good ball\x1egame", "日本語 text"],
    "body": ["it stops with an error", "my card, twice", "I I I"],
    "product": ["Laser  Printer", "App", " App ", None, "", 3, 3.5, True, "3.0", ["a b", "c"], "n/a", "\ufffdx"],
    "age": [0, -0.0, 1, 3.5, -7.25, 2**-13, 3 * 2**-13, 2**-40, 1e300, 5e-324, 123456789012, "1,234.5", "3,5", "12 %",
            "$5", "-1e-3", ".5", "1_000", None, "", 1.7976931348623157e308, 0.1, 1000000000, 999999999.5],
    "opened": ["2024-03-05", "2024-03-05 14:30", "5 March 2024", "26-FEB-1987 15:01:01.79", "3/5/24",
               "31.12.2024 23:59", "13/5/2024", "Tue, 5 Mar 2024 00:00", "March 5, 1999", None, ""],
}  # fmt: skip
KINDS = {"subject": "both", "body": "text", "product": "category", "age": "number", "opened": "date"}


@pytest.mark.parametrize("rule", [{"ngrams": (1, 2)}, pytest.param({"analyzer": "both"}, marks=pytest.mark.slow)])
def test_records_with_fields_are_read_as_python_reads_them(rule, tmp_path):
    draw = random.Random(0)
    records = [{name: draw.choice(values) for name, values in VALUES.items()} for _ in range(300)]
    model = TextClassifier("nbsvm", fields=KINDS, **rule).fit(records[:200], [draw.choice("abc") for _ in range(200)])
    export_model(model.fitted_, "js", tmp_path / "out")
    (found,) = check_export(tmp_path / "out")
    assert found.good, found.sentence() + repr(found.example)
    for record, terms in zip(records, ask(tmp_path / "out", [["tokens", one] for one in records]), strict=True):
        expected = [term for *_, term in spans(one_document(record, model.token_rule.fields), model.token_rule)]
        assert sorted(term for *_, term in terms) == sorted(expected), record
    answers = ask(tmp_path / "out", [["classify", one] for one in records])
    assert np.allclose([one["scores"] for one in answers], model.scores(records), rtol=0, atol=1e-9)
    with pytest.raises(subprocess.CalledProcessError, match="exit status 1"):
        ask(tmp_path / "out", [["classify", records[0] | {"age": "old"}]])


def test_unknown_texts_rejection_and_sets(tmp_path):
    fitted = fitted_case("multinomial-temperature", "both")
    export_model(fitted, "js", tmp_path / "out")
    text = "refund invoice"
    options = [
        {"undecided": "none"},
        {"minProbability": 1},
        {"minProbability": 1, "undecided": "ask"},
        {"coverage": 0.95, "byClass": True},
        {"coverage": 0.8, "atLeastOne": True},
    ]
    empty, rejected, named, by_class, one = ask(
        tmp_path / "out", [["classify", "" if at == 0 else text, given] for at, given in enumerate(options)]
    )
    assert (empty["labels"], empty["known_terms"]) == (["none"], 0)
    assert (rejected["label"], named["label"]) == ("undecided", "ask")
    assert [tuple(by_class["label_set"])] == fitted.predict_label_set([text], 0.95, by_class=True)
    assert [tuple(one["label_set"])] == fitted.predict_label_set([text], 0.8, at_least_one=True)


def test_a_changed_weight_is_found(tmp_path):
    fitted = fitted_case("multinomial", "words")
    export_model(fitted, "js", tmp_path / "out")
    module = tmp_path / "out" / "model.js"
    module.write_text(module.read_text().replace('"bias":[', '"bias":[1e-6,', 1))
    (found,) = check_export(tmp_path / "out")
    assert not found.good
    assert found.off == found.texts


def test_ties_are_not_taken_for_errors_nor_errors_for_ties():
    line = {"text": "x", "labels": ["a"], "scores": [1.0, 1.0], "probabilities": None, "known_terms": 0, "margin": 0.0}
    answer = {"labels": ["b"], "scores": [1.0, 1.0]}
    tied, wrong = (
        compare_answers("e", 1e-9, [json.dumps(line | {"margin": margin})], [answer]) for margin in (0.0, 0.1)
    )
    assert (tied.good, tied.ties, tied.tied_otherwise) == (True, 1, 1)
    assert (wrong.good, wrong.different) == (False, 1)


@NEEDS_CHROMIUM
@pytest.mark.slow
def test_the_page_works_from_disk(run, tmp_path):
    from unnaive.classifier.model_file import save

    fitted = fitted_case("auto", "words")
    save(fitted, tmp_path / "hard.model")
    assert run("export", "hard.model", "--to", "js", "--page", "-o", "out")[0] == 0
    with open_browser() as browser:
        page = browser.new_page()
        problems, asked = collect_problems(page), []
        page.on("request", lambda one: asked.append(one.url))
        page.goto((tmp_path / "out" / "page.html").as_uri())
        page.fill("#text", "Refund the invoice 👍🏽 北京大学")
        wait(page, "document.querySelectorAll('.bars li').length === 3")
        title = page.text_content(".answer h2")
        assert title == str(fitted.predict(["Refund the invoice 👍🏽 北京大学"])[0])
        assert page.query_selector_all(".evidence button")
        page.click(".evidence button")
        wait(page, "document.querySelector('.evidence .struck') !== null")
        assert problems == []
        assert [url for url in asked if not url.startswith("file:")] == []


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([1.0, 2.0], ["1.0", "2.0"]),
        ([2**53, 2**53 + 1], ["9007199254740992", "9007199254740993"]),
        ([1, -2], [-2, 1]),
        ([True, False], [False, True]),
    ],
)
def test_classes_that_are_numbers_stay_apart(labels, classes, tmp_path):
    model = TextClassifier("multinomial").fit(["ball goal", "vote law"] * 3, labels * 3)
    export_model(model.fitted_, "js", tmp_path / "out")
    (found,) = check_export(tmp_path / "out")
    assert (found.good, found.different, found.tied_otherwise) == (True, 0, 0), found.sentence()
    (answer,) = ask(tmp_path / "out", [["classify", "ball"]])
    assert answer["label"] == classes[model.classes_.tolist().index(labels[0])]


@pytest.mark.slow
@pytest.mark.parametrize("rule", [{"analyzer": "both"}, {"analyzer": "char", "char_borders": "spaces"}])
def test_a_word_may_have_any_number_of_characters(rule, tmp_path):
    """Calls in JavaScript take about 120,000 arguments."""
    model = TextClassifier("multinomial", **rule).fit(["ball goal", "vote law"] * 3, ["p", "q"] * 3)
    export_model(model.fitted_, "js", tmp_path / "out")
    text = "x" * 130_000 + " ball"
    answer, told, terms = ask(tmp_path / "out", [["classify", text], ["explain", text], ["tokens", text]])
    assert answer["label"] == told["label"] == model.predict([text])[0]
    assert len(terms) == len(list(spans(text, model.token_rule)))
    assert told["score"] == pytest.approx(model.fitted_.explain(text, told["label"]).score, abs=1e-9)


@pytest.mark.parametrize(
    "rule",
    [
        {"analyzer": "both", "ngrams": (1, 2)},
        {"analyzer": "char", "char_borders": "words"},
        {"analyzer": "char", "char_borders": "spaces"},
    ],
)
def test_texts_with_a_thousand_words_are_explained_as_in_python(rule, tmp_path):
    chance = random.Random(0)
    words = ["ball", "goal", "vote", "law", "a", "it's", "x-y", "球門", "ballgoal", "мяч", "…"]
    model = TextClassifier("multinomial", **rule).fit([" ".join(words), "vote law x y"] * 3, ["p", "q"] * 3)
    export_model(model.fitted_, "js", tmp_path / "out")
    text = "".join(chance.choice(words) + chance.choice([" ", "  ", ", ", ""]) for _ in range(1000))
    (told,) = ask(tmp_path / "out", [["explain", text, {"label": "p"}]])
    right = model.fitted_.explain(text, "p").to_dict()
    values = {(one["term"], one["count"], str(one["places"])): one["value"] for one in right["evidence"]}
    found = {(one["term"], one["count"], str(one["places"])): one["value"] for one in told["evidence"]}
    assert found == pytest.approx(values, abs=1e-9)
