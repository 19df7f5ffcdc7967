"""Explanations: they add up to the score, point at the words, and read well everywhere."""

import json
from itertools import product

import numpy as np
import pytest
from rich.console import Console
from support.apart import run_apart

from unnaive import TextClassifier
from unnaive.base.errors import BadData
from unnaive.learning.explanation import Explanation, percent
from unnaive.linear import scorer
from unnaive.models.catalogue import MODELS

WORDS = {
    "sport": ["ball", "goal", "match", "team", "player", "win", "coach", "league"],
    "politics": ["vote", "law", "party", "minister", "budget", "win", "election", "council"],
    "food": ["bread", "soup", "salt", "oven", "recipe", "party", "butter", "onion"],
}


def documents(n, seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice(sorted(WORDS), n).tolist()
    everything = sorted({word for words in WORDS.values() for word in words})
    return [" ".join([*rng.choice(WORDS[label], 6), *rng.choice(everything, 3)]) for label in labels], labels


TEXTS, LABELS = documents(120, 0)
NEW, _ = documents(3, 1)
TEXT = "The GOAL of the budget: a ball, a Ball & <b>bread</b>\nfor the party"


@pytest.fixture(scope="module")
def model():
    return TextClassifier("multinomial").fit(TEXTS, LABELS)


def lead(model, text, label, against=None):
    """What an explanation should add up to."""
    scores = model.scores([text])[0]
    place = model.classes_.tolist().index(label)
    if against is not None:
        return scores[place] - scores[model.classes_.tolist().index(against)]
    return scores[place] - (scores.mean() if model.scorer_.link == "softmax" else 0.0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": "bernoulli"},
        {"model": "complement"},
        {"model": "or-gate"},
        {"model": "rocchio"},  # idf and length
        {"model": "svm"},
        {"ngrams": (1, 2)},
        {"stem": "porter", "min_df": 2, "select": 15},
        {"model": "knn", "k": 7},
        {"model": "tree"},
        {"model": "or-blend"},
    ],
)
@pytest.mark.parametrize("label", ["food", "sport"])
@pytest.mark.parametrize("against", [None, "politics"])
def test_the_parts_add_up_to_the_score(options, label, against):
    model = TextClassifier(**{"model": "multinomial", **options}).fit(TEXTS, LABELS)
    for text in (TEXT, NEW[0], "unknown words", ""):
        one = model.explain(text, label, against=against)
        total = one.base + sum(evidence.value for evidence in one.evidence)
        assert total == pytest.approx(lead(model, text, label, against), rel=1e-9, abs=1e-9)
        assert one.score == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert one.exact is (options.get("model") not in ("knn", "tree"))


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_can_explain(name):
    model = TextClassifier(name).fit(TEXTS[:40], LABELS[:40])
    one = model.explain(NEW[0])
    assert one.label == model.predict(NEW[:1])[0]
    assert one.score == pytest.approx(one.base + sum(evidence.value for evidence in one.evidence))


def test_by_hand():
    model = TextClassifier("multinomial").fit(["ball ball", "vote"], ["sport", "politics"])
    one = model.explain("ball vote ball", against="politics", label="sport")
    # p(ball|sport) = 3/4, p(ball|politics) = 1/3, p(vote|sport) = 1/4, p(vote|politics) = 2/3
    assert [(part.term, part.count) for part in one.evidence] == [("ball", 2), ("vote", 1)]
    np.testing.assert_allclose([part.value for part in one.evidence], [2 * np.log(9 / 4), np.log(3 / 8)])
    assert one.base == 0
    assert one.title == "sport (65 %): +0.64 above politics"


def test_places_point_at_the_words(model):
    one = model.explain(TEXT)
    found = {part.term: [TEXT[start:end] for start, end in part.places] for part in one.evidence}
    assert found["ball"] == ["ball", "Ball"]
    assert found["goal"] == ["GOAL"]
    assert "".join(stretch for stretch, _ in one.marked()) == TEXT
    strengths = dict(one.marked())
    assert strengths["GOAL"] == pytest.approx(next(part.value for part in one.evidence if part.term == "goal"))
    assert strengths["The "] == 0.0


def test_overlapping_terms_add_their_evidence():
    model = TextClassifier("multinomial", ngrams=(1, 2)).fit(TEXTS, LABELS)
    one = model.explain("budget law")
    values = {part.term: part.value for part in one.evidence}
    pair = values.get("budget law", 0.0)
    assert [stretch for stretch, _ in one.marked()] == ["budget", " ", "law"]
    np.testing.assert_allclose(
        [value for _, value in one.marked()], [values["budget"] + pair, pair, values["law"] + pair]
    )


def test_markup_is_read_through():
    model = TextClassifier("multinomial", strip_html=True).fit(TEXTS, LABELS)
    places = {part.term: part.places for part in model.explain(TEXT).evidence}
    ((start, end),) = places["bread"]
    assert TEXT[start:end] == "bread"


def test_several_labels_are_explained_by_their_log_odds():
    model = TextClassifier("multinomial").fit(TEXTS, [(label,) for label in LABELS])
    one = model.explain(TEXT, "food")
    assert one.reference == "(log-odds)"
    assert one.score == pytest.approx(model.scores([TEXT])[0, model.classes_.tolist().index("food")])


def test_text_html_and_terminal(model):
    one = model.explain(TEXT)
    lines = str(one).splitlines()
    assert lines[0] == one.title
    assert lines[1].endswith("prior")
    assert any(line.endswith("ball ×2") for line in lines)
    html = one._repr_html_()
    assert "&lt;b&gt;" in html
    assert "border-bottom:2px solid #0072b2" in html
    assert "border-bottom:2px dashed #d55e00" in html
    console = Console(width=80, force_terminal=True, color_system="standard")
    with console.capture() as shown:
        console.print(one)
    assert "\x1b[" in shown.get()
    assert "against" in shown.get()
    assert json.loads(json.dumps(one.to_dict()))["evidence"][0]["term"] == one.evidence[0].term


def test_small_numbers_are_shown_with_the_digits_that_matter():
    small = TextClassifier("or-gate").fit(TEXTS, LABELS).explain("bread and soup")
    largest = small.evidence[0].value
    assert largest < 0.1
    shown = str(small).splitlines()[2].split()[0]
    assert float(shown) == pytest.approx(largest, rel=0.05)


def test_words_that_look_like_markup_are_shown_as_they_are():
    model = TextClassifier("multinomial").fit(["[red] ball", "vote"], ["[bold]", "b"])
    console = Console(width=80)
    with console.capture() as shown:
        console.print(model.explain("[red] ball [/nothing]", "[bold]"))
    assert "[red] ball [/nothing]" in shown.get()
    assert "[bold] (" in shown.get()


def test_mistakes(model):
    with pytest.raises(BadData, match="label 'art' is not among the 3 classes food, politics, sport; give one of them"):
        model.explain(TEXT, "art")
    with pytest.raises(BadData, match="'food' cannot be explained against itself"):
        model.explain(TEXT, "food", against="food")
    with pytest.raises(BadData, match="the text to explain is list; give one str"):
        model.explain([TEXT])


def test_strongest_terms_are_those_of_the_class(model):
    terms = [term for term, _ in model.top_terms("food", 5)]
    assert len(terms) == 5
    assert set(terms) <= {"bread", "soup", "salt", "oven", "recipe", "party", "butter", "onion"}
    values = [value for _, value in model.top_terms("food", 5)]
    assert min(values) > 0


def test_a_class_without_documents_is_no_reference():
    model = TextClassifier("multinomial").partial_fit(["ball", "vote"], ["a", "b"], classes=["a", "b", "c"])
    one = model.explain("ball")
    assert np.isfinite(one.score)
    assert one.label == "a"


@pytest.mark.parametrize(
    ("share", "shown"), [(0.5, "50 %"), (0.9999, ">99.9 %"), (0.995, "99.5 %"), (0, "<0.1 %"), (1, ">99.9 %")]
)
def test_percentages_never_claim_certainty(share, shown):
    assert percent(share) == shown


def test_an_explanation_without_known_words(model):
    one = model.explain("xyzzy")
    assert isinstance(one, Explanation)
    assert one.evidence == ()
    assert list(one.marked()) == [("xyzzy", 0.0)]


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("weights", ["relaxed", "laplace"])
def test_without_a_term_an_or_gate_gives_what_it_gives_to_the_text_without_it(weights, several):
    labels = [(label,) for label in LABELS] if several else LABELS
    model = TextClassifier("or-gate", weights=weights).fit(TEXTS, labels)
    one = model.explain(TEXT)
    place = model.classes_.tolist().index(one.label)
    forced = [evidence for evidence in one.evidence if evidence.without is not None]
    assert forced
    for evidence in forced:
        rest = TEXT
        for start, end in sorted(evidence.places, reverse=True):
            rest = rest[:start] + rest[end:]
        assert evidence.without == pytest.approx(model.predict_proba([rest])[0, place], rel=1e-9)


def test_a_text_of_unknown_terms_says_so(capsys):
    from rich.console import Console

    Console().print(TextClassifier("or-gate").fit(TEXTS, LABELS).explain("zzz"))
    assert "knows none of its terms" in capsys.readouterr().out


@pytest.mark.slow
def test_of_classes_that_tie_but_for_rounding_the_predicted_one_is_explained():
    """The kernel adds terms in the order of the text, a product of matrices in that of the columns."""
    texts = ["ball goal", "ball vote law", "soup goal law", "vote soup ball", "goal vote"]
    labels = ["east", "north", "east", "south", "north"]
    words = ["ball", "goal", "vote", "law", "soup"]
    for model in ("multinomial", "bernoulli", "complement"):
        fitted = TextClassifier(model).fit(texts, labels).fitted_
        documents = [" ".join(order) for size in (2, 3, 4) for order in product(words, repeat=size)]
        explained = [fitted.explain(document).label for document in documents]
        assert explained == fitted.predict(documents).tolist()


@pytest.mark.parametrize("settings", [{}, {"analyzer": "char", "char_ngrams": (1, 3)}])
def test_chinese_is_explained_by_its_characters(settings):
    """Not the sentence as one word: characters and pairs, as they are cut, and the sum is that of the score."""
    texts = ["我喜歡這個產品非常好用", "這個東西真的很好我愛它", "質量很差不要買", "太糟糕了退貨很麻煩"]
    model = TextClassifier("svm" if settings else "auto", **settings).fit(texts, ["good", "good", "bad", "bad"])
    one = model.explain("這個產品很好 ok")
    terms = {evidence.term for evidence in one.evidence}
    assert {"這", "個", "很", "好"} <= terms
    assert max(len(term) for term in terms) == 2
    assert one.base + sum(evidence.value for evidence in one.evidence) == pytest.approx(one.score)
    # no character is given all: the strongest has less than half of what speaks for the class
    values = [evidence.value for evidence in one.evidence if evidence.value > 0]
    assert max(values) < sum(values) / 2


def test_pieces_of_words_are_not_known_terms():
    """Nonsense shares pieces with any training text, but no word: as many words are known as by a model of words."""
    nonsense, words = "asdf qwerty zxcv the", TextClassifier("multinomial").fit(TEXTS, LABELS)
    both = TextClassifier("svm", analyzer="both").fit(TEXTS, LABELS)
    texts = [nonsense, *TEXTS]
    assert both.fitted_.known_terms(texts).tolist() == words.fitted_.known_terms(texts).tolist()
    assert both.fitted_.scores_and_known(texts)[1].tolist() == words.fitted_.known_terms(texts).tolist()
    pieces = TextClassifier("svm", analyzer="char").fit(TEXTS, LABELS)  # has no words, so that pieces are all there is
    assert pieces.fitted_.known_terms(TEXTS[:1])[0] > 0


@pytest.mark.parametrize("options", [{}, {"analyzer": "both", "char_ngrams": (2, 3)}])
def test_a_long_text_is_explained_whole_and_shown_in_part(options, monkeypatch):
    """The evidence is that of the whole text and sums to its score; places are those of its beginning."""
    monkeypatch.setattr("unnaive.linear.score_documents.SHOWN_CHARS", 40)
    model = TextClassifier("multinomial", **options).fit(["good ball game", "fair vote law"], ["sport", "politics"])
    text = "a good ball game " * 9 + "vote"
    found = model.explain(text)
    assert found.text == "a good ball game a good ball game a"
    assert found.score == pytest.approx(found.base + sum(one.value for one in found.evidence))
    counts = {one.term: (one.count, len(one.places)) for one in found.evidence if not one.term.startswith("#")}
    assert counts["ball"] == (9, 2)
    assert counts["vote"][0] == 1
    monkeypatch.setattr("unnaive.linear.score_documents.SHOWN_CHARS", 10_000)
    assert model.explain(text).score == pytest.approx(found.score)


@pytest.mark.parametrize("name", ["knn", "tree", "tan"])
def test_of_many_terms_the_strongest_are_exact_and_the_rest_share(monkeypatch, name):
    model = TextClassifier(name).fit(TEXTS, LABELS)
    document = " ".join(sorted({word for words in WORDS.values() for word in words}))
    exact = model.explain(document)
    assert not exact.shared
    assert "approximate" not in str(exact)
    assert "shared" not in exact.to_dict()
    for most, cells in ((12, 1 << 22), (12, 1), (1_000, 1)):  # also one row at a time
        monkeypatch.setattr(scorer, "MOST_LEFT_OUT", most)
        monkeypatch.setattr(scorer, "MOST_CELLS", cells)
        found = model.explain(document)
        assert found.label == exact.label
        assert found.score == pytest.approx(exact.score)
        assert found.base + sum(item.value for item in found.evidence) == pytest.approx(found.score)
        assert found.shared == (most == 12)
        if not found.shared:
            assert found == exact
            continue
        values = {item.term: item.value for item in exact.evidence}
        found_values = [found_item.value == values[found_item.term] for found_item in found.evidence]
        assert sum(found_values) >= 3  # the terms of the group with most effect, at least
        assert found.to_dict()["shared"] is True
        for rendered in (str(found), found._repr_html_()):
            assert f"approximate: the text has {len(values)} terms" in rendered


LONG = """
import numpy as np
from unnaive import TextClassifier

words = [f"w{i}" for i in range(6_000)]
rng = np.random.default_rng(0)
texts = [" ".join(rng.choice(words, 60)) for _ in range(300)]
model = TextClassifier(sys.argv[1]).fit(texts, ["a", "b"] * 150)
explanation = model.explain(" ".join(words))
print(len(explanation.evidence), explanation.shared)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["knn", "tree", "tan"])
def test_a_long_text_is_explained_in_bounded_memory(name):
    """Rows of terms × terms would take gigabytes; the limit is on the address space of the process."""
    n_terms, shared = run_apart("import sys\n" + LONG, name, memory=3 << 29, OPENBLAS_NUM_THREADS="1").split()
    assert int(n_terms) > 5_500
    assert shared == "True"
