"""What an update makes of auto's choice: anew unless it is to be kept, and a word when that is worth doing."""

import csv

import pytest

from unnaive import TextClassifier
from unnaive.base.errors import UnnaiveError

TEXTS = [f"{word} number {n}" for n in range(10) for word in ("goal", "match", "vote", "law")]
LABELS = ["sport", "sport", "politics", "politics"] * 10


def fitted(texts=TEXTS, labels=LABELS):
    return TextClassifier("auto", budget="fast").fit(texts, labels)


def same(one, other):
    texts = ["a goal", "the law", "number 3"]
    return one.scores(texts).tobytes() == other.scores(texts).tobytes()


def test_an_update_chooses_anew_by_default_and_by_name():
    whole = fitted()
    for options in ({}, {"search": "again"}):
        model = fitted(TEXTS[:20], LABELS[:20]).partial_fit(TEXTS[20:], LABELS[20:], **options)
        assert same(model, whole)
        assert (model.fitted_.choice_kept, model.fitted_.provenance.chosen_on) == (False, None)
    with pytest.raises(UnnaiveError, match="no value of search called 'kep'; there are adjust, again, keep"):
        whole.partial_fit(TEXTS[:2], LABELS[:2], search="kep")


def test_a_choice_that_is_kept_knows_on_how_many_documents_it_was_made():
    model = fitted(TEXTS[:20], LABELS[:20])
    for start in (20, 30):
        model.partial_fit(TEXTS[start : start + 10], LABELS[start : start + 10], search="keep")
        assert (model.fitted_.choice_kept, model.fitted_.provenance.chosen_on) == (True, 20)
    once = fitted(TEXTS[:20], LABELS[:20]).partial_fit(TEXTS[20:], LABELS[20:], search="keep")
    assert once.fitted_.provenance.recipe == model.fitted_.provenance.recipe
    model.partial_fit(["penalty"], ["sport"], search="again")
    assert model.fitted_.provenance.chosen_on is None


@pytest.fixture
def files(tmp_path):
    for name, start, stop in (("old.csv", 0, 20), ("few.csv", 20, 24), ("many.csv", 24, 40)):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *zip(TEXTS[start:stop], LABELS[start:stop], strict=True)])


@pytest.mark.usefixtures("files")
def test_update_says_when_it_is_worth_choosing_anew(run):
    assert run("train", "old.csv", "-o", "m.model", "--budget", "fast", "-q")[0] == 0
    out = run("update", "m.model", "few.csv", "--search", "keep")[1]
    assert out.endswith("the selected models, chosen on 20 documents, were kept\n")
    out = run("update", "m.model", "many.csv", "--search", "keep")[1]
    assert out.endswith(
        "the selected models, chosen on 20 documents, were kept; with 40 now, searching again is worthwhile: "
        "unnaive update m.model --search again\n"
    )
    code, out, err = run("update", "m.model", "--search", "again")
    assert (code, out) == (0, "searched again: m.model now has 40 documents, 2 classes, 5 terms\n"), err
    assert same(TextClassifier.load("m.model"), fitted())


@pytest.mark.usefixtures("files")
def test_what_cannot_be_chosen_anew(run):
    assert run("train", "old.csv", "-o", "n.model", "-m", "multinomial", "-q")[0] == 0
    for words, sentence in (
        (
            ["n.model", "--search", "again"],
            "multinomial naive Bayes does not select among models; leave --search again out",
        ),
        (
            ["n.model", "few.csv", "--search", "again", "--follow"],
            "--follow keeps the selected models and trains them; leave --search again out",
        ),
    ):
        code, _, err = run("update", *words)
        assert code == 2
        assert err.startswith(f"unnaive: {sentence}")
