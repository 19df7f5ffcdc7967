"""Reports: their values are right, and the page opens in a browser, narrow and wide, without errors."""

import json
import re
import shutil
import subprocess
import sys
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest

from unnaive import MultinomialNB, TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.data.corpus import Corpus
from unnaive.evaluation.comparison_page import comparison_page
from unnaive.evaluation.evaluate import evaluate
from unnaive.evaluation.evaluation_page import evaluation_page
from unnaive.evaluation.evaluation_report import as_dict, as_markdown, as_text, report
from unnaive.evaluation.experiment_documents import Material
from unnaive.evaluation.experiments import compare, run
from unnaive.evaluation.explanation_page import evidence_window
from unnaive.evaluation.trials import Contender, ExperimentPlan
from unnaive.io.tickets import load_tickets
from unnaive.text.tokens import TokenRule

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all


def evaluated(classifier, corpus):
    return evaluate(classifier, corpus.texts, corpus.labels, name=corpus.name, ids=corpus.ids)


def fitted(labels, **settings):
    train = load_tickets(labels).part("train")
    targets = [label[0] for label in train.labels] if labels == "queue" else train.labels
    return TextClassifier(**{"model": "multinomial", **settings}).fit(train.texts, targets)


@pytest.fixture(scope="module")
def single():
    return fitted("queue", model="multinomial", calibrate=True), load_tickets().part("test")


@pytest.fixture(scope="module")
def multilabel():
    return fitted("tags", model="complement", decision="scut"), load_tickets("tags").part("test")


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    material = Material.of(load_tickets(), TokenRule())
    contenders = (Contender("multinomial"), Contender("complement"))
    plan = ExperimentPlan(contenders, ("accuracy",), splits=2, train_sizes=(20.0, 60.0), vocabularies=(100, 1000, None))
    return run(plan, material, tmp_path_factory.mktemp("records") / "run.jsonl")


def test_measures_agree_with_the_classifier(single):
    classifier, corpus = single
    found = evaluated(classifier, corpus)
    truth = [label[0] for label in corpus.labels]
    assert found.measures["accuracy"] == pytest.approx(classifier.score(corpus.texts, truth))
    assert found.confusion.sum() == len(corpus)
    assert np.diag(found.confusion).sum() == found.tally.tp.sum()
    assert len(found.measures) == 14


def test_calibration_is_shown_before_and_after(single):
    before, after = evaluated(*single).calibration().values()
    assert after.error < before.error


@pytest.mark.slow
def test_multilabel_documents(multilabel):
    classifier, corpus = multilabel
    found = evaluated(classifier, corpus)
    assert found.measures["accuracy"] == pytest.approx(classifier.score(corpus.texts, corpus.labels))
    assert found.confused_pairs() == []
    assert 0.3 < found.measures["micro-f1"] < 1


@pytest.mark.slow
def test_a_class_that_the_model_never_saw_counts_as_missed(single):
    classifier, corpus = single
    odd = Corpus(list(corpus.texts), [("surprise",) if n < 5 else one for n, one in enumerate(corpus.labels)])
    found = evaluated(classifier, odd)
    assert found.unknown == ("surprise",)
    assert found.tally.fn[-1] == 5
    assert found.measures["accuracy"] < evaluated(classifier, corpus).measures["accuracy"]
    assert "has never seen surprise" in evaluation_page(evaluated(classifier, odd))


def test_mistakes_are_wrong_and_the_surest_first(single):
    classifier, corpus = single
    found = evaluated(classifier, corpus)
    mistakes = found.mistakes(6)
    given, p = classifier.predict(corpus.texts), classifier.predict_proba(corpus.texts).max(axis=1)
    wrong = [row for row, label in enumerate(corpus.labels) if given[row] != label[0]]
    assert [one.row for one in mistakes] == sorted(wrong, key=lambda row: -p[row])[:6]
    assert all(one.wrong == given[one.row] and not one.missed for one in mistakes)
    why = found.explain_mistake(mistakes[0])
    assert (why.label, why.against) == (mistakes[0].wrong, mistakes[0].true[0])


def test_mistakes_of_multilabel_documents_are_missed_or_wrong(multilabel):
    classifier, corpus = multilabel
    for one in evaluated(classifier, corpus).mistakes(10):
        assert (one.wrong in one.true) == one.missed
        assert (one.wrong in one.given) != one.missed
        assert set(one.true) == set(corpus.labels[one.row])


def test_text_and_markdown_and_json_tell_the_same(single):
    found = evaluated(*single)
    accuracy = f"{found.measures['accuracy']:.4f}"
    assert accuracy in as_text(found)
    assert f"| accuracy | {accuracy} |" in as_markdown(found)
    content = json.loads(json.dumps(as_dict(found), allow_nan=False))
    assert content["measures"]["accuracy"] == found.measures["accuracy"]
    assert sum(one["documents"] for one in content["classes"]) == len(found)


def test_the_interval_and_the_classes_left_out_stand_everywhere(single, tmp_path, capsys):
    """The command said that macro averages count absent classes as 0, which they do not, and printed no interval."""
    classifier, corpus = single
    rows = [row for row, (name,) in enumerate(corpus.labels) if name == "billing"][:20]
    lines = [json.dumps({"text": corpus.texts[row], "label": "billing"}) for row in rows]
    (tmp_path / "bills.jsonl").write_text("\n".join(lines) + "\n")
    classifier.save(tmp_path / "m.model")
    assert exit_code(["evaluate", str(tmp_path / "m.model"), str(tmp_path / "bills.jsonl"), "--all"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    evaluation = evaluate(classifier, [corpus.texts[row] for row in rows], ["billing"] * 20)
    low, high = evaluation.accuracy_interval
    assert f"accuracy {evaluation.measure('accuracy'):.4f}" in shown
    assert f"95 % interval {low:.4f} to {high:.4f}" in shown
    assert 0 < low < evaluation.measure("accuracy") <= high <= 1
    assert len(evaluation.absent) >= 3
    sentence = f"acro averages leave out {len(evaluation.absent)} classes without a document or a prediction here: "
    for text in (shown, as_text(evaluation), as_markdown(evaluation), evaluation_page(evaluation)):
        assert f"{sentence}{', '.join(evaluation.absent[:3])}" in text
        assert f"{low:.4f} to {high:.4f}" in text


def test_models_without_probabilities_have_a_report_too(multilabel):
    corpus = multilabel[1]
    page = evaluation_page(evaluated(fitted("tags", model="rocchio"), corpus))
    assert "log-loss" not in page
    assert "Most confident mistakes" in page


@pytest.mark.parametrize("ending", ["html", "md", "json", "txt"])
@pytest.mark.slow
def test_a_report_is_a_file_in_the_format_of_its_name(single, tmp_path, ending):
    found = evaluated(*single)
    text = report(found, tmp_path / f"report.{ending}").read_text(encoding="utf-8")
    assert f"{found.measures['accuracy']:.6f}"[:5] in text or ending == "html"
    assert "Summary" in text or ending != "html"
    with pytest.raises(UnnaiveError, match=r"give a name that ends in \.html, \.md, \.json or \.txt"):
        report(found, tmp_path / "report.doc")


def test_an_estimator_is_evaluated_on_rows_of_counts(tmp_path):
    X, y = [[2, 0], [0, 1], [1, 0], [0, 2]], ["sport", "politics", "sport", "sport"]
    model = MultinomialNB().fit(X[:2], y[:2])
    found = evaluate(model, X, y)
    assert found.measures["accuracy"] == model.score(X, y) == 0.75
    assert "true: <bdi>sport</bdi>" in evaluation_page(found)


def test_texts_are_compared_and_reported(tmp_path):
    train = load_tickets().part("train")
    found = compare(["multinomial", MultinomialNB(alpha=0.1)], train.texts, [names[0] for names in train.labels])
    assert [one.contender for one in found.summaries[::2]] == ["multinomial", "multinomial alpha=0.1"]
    (test,) = found.pairwise_tests()
    assert (test.first, test.second, test.measure) == ("multinomial alpha=0.1", "multinomial", "accuracy")
    assert str(found).startswith("| accuracy |")
    for ending in ("html", "md", "json"):
        assert "alpha=0.1" in report(found, tmp_path / f"c.{ending}").read_text(encoding="utf-8")


def test_nothing_to_evaluate_is_an_error(single):
    with pytest.raises(BadData, match="has no documents"):
        evaluated(single[0], Corpus([], []))


class Links(HTMLParser):
    """Whatever a page would load, and whether its tags are closed."""

    VOID = frozenset({"meta", "link", "br", "wbr", "hr", "img", "input"})

    def __init__(self):
        super().__init__()
        self.loaded, self.open, self.scripts, self.images = [], [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.loaded += [values[name] for name in ("src", "href", "xlink:href") if name in values and tag != "a"]
        self.scripts += [values] if tag == "script" else []
        if values.get("role") == "img":
            self.images.append(values.get("aria-label"))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(page):
    links = Links()
    links.feed(page)
    assert links.open == []
    return links


@pytest.fixture(scope="module")
def pages(single, multilabel, records):
    return {
        "single": evaluation_page(evaluated(*single), records=records),
        "multilabel": evaluation_page(evaluated(*multilabel)),
        "comparison": comparison_page(records),
    }


@pytest.mark.parametrize("name", ["single", "multilabel", "comparison"])
@pytest.mark.slow
def test_pages_are_whole_and_load_nothing(pages, name):
    found = parsed(pages[name])
    assert all(one.startswith(("data:", "#")) for one in found.loaded)
    assert found.scripts == [{}]  # report.js, which the policy allows by its hash
    assert all(found.images)  # every figure and bar has an alternative text
    assert not re.search(r"url\((?!#)", pages[name])


def test_the_page_has_everything(pages):
    parts = (
        "Summary", "Classes", "Confusion", "Precision, recall and calibration", "Learning and vocabulary",
        "Strongest terms of each class", "Most confident mistakes", "before calibration", "breakeven",
        "Rejecting uncertain documents", "Sets that should contain",
    )  # fmt: skip
    for part in parts:
        assert part in pages["single"]
    assert pages["single"].count("<svg") == 5
    assert '<mark class="for"' in pages["single"]
    assert '<mark class="against"' in pages["single"]


def test_what_comes_from_data_is_escaped():
    texts = ["<script>alert(1)</script> ball"] * 3 + ["vote & <b>law</b>"] * 3
    labels = ["<i>sport</i>"] * 3 + ["politics"] * 3
    classifier = TextClassifier("multinomial").fit(texts, labels)
    turned = Corpus(texts, [(label,) for label in reversed(labels)], name="<evil>")
    page = evaluation_page(evaluated(classifier, turned))
    assert "<script>alert" not in page
    assert "<i>sport" not in page
    assert "&lt;evil&gt;" in page
    parsed(page)


def test_without_matplotlib_the_page_says_how_to_get_figures(single, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = evaluation_page(evaluated(*single))
    assert "pip install &#x27;unnaive[figures]&#x27;" in page
    assert "<svg" not in page


def test_long_texts_are_cut_where_the_evidence_is():
    stretches = [("x" * 500, 0.0), ("good", 2.0), ("y" * 500, 0.0)]
    start, stop = evidence_window(stretches, size=100)
    assert start <= 500
    assert stop - start == 100
    assert stop >= 504
    assert evidence_window([("short", 1.0)], size=100) == (0, 5)


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
WRAPPER = """<!doctype html><title>wait</title>{frames}
<script>
const said = [];
window.addEventListener("error", event => said.push(String(event.message || event.target.src)), true);
window.addEventListener("load", () => {{
  const found = [...document.querySelectorAll("iframe")].map(frame => {{
    const inside = frame.contentDocument, root = inside.documentElement;
    return {{
      wide: frame.clientWidth, page: root.scrollWidth, height: root.scrollHeight,
      figures: [...inside.querySelectorAll("svg")].map(svg => {{
        const box = svg.getBoundingClientRect(); return [box.width, box.height];
      }}),
      title: inside.title,
    }};
  }});
  document.title = "done";
  document.body.setAttribute("data-found", JSON.stringify({{found, said}}));
}});
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")
@pytest.mark.slow
def test_the_pages_open_in_a_browser_narrow_and_wide(pages, tmp_path):
    shown = [page for page in pages.values() for _ in (400, 1600)]
    frames = "".join(
        f'<iframe width="{wide}" height="900" srcdoc="{escape(page)}"></iframe>'
        for page in pages.values()
        for wide in (400, 1600)
    )
    path = tmp_path / "wrapper.html"
    path.write_text(WRAPPER.format(frames=frames), encoding="utf-8")
    result = browser(tmp_path, "--dump-dom", path.as_uri())
    match = re.search(r'data-found="([^"]*)"', result.stdout)
    assert match, result.stderr[-2000:]
    content = json.loads(match[1].replace("&quot;", '"').replace("&amp;", "&"))
    assert content["said"] == []
    assert "CONSOLE" not in result.stderr
    for page, frame in zip(shown, content["found"], strict=True):
        assert frame["title"]
        assert frame["page"] <= frame["wide"]  # nothing sticks out sideways
        assert frame["height"] > 600
        assert all(wide > 100 and high > 100 for wide, high in frame["figures"])
        assert len(frame["figures"]) == page.count("<svg")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")
@pytest.mark.slow
def test_a_screenshot_has_ink(pages, tmp_path):
    (tmp_path / "page.html").write_text(pages["single"], encoding="utf-8")
    picture = tmp_path / "page.png"
    browser(tmp_path, f"--screenshot={picture}", "--window-size=1600,1200", (tmp_path / "page.html").as_uri())
    image = pytest.importorskip("matplotlib.image", reason="reads the PNG").imread(picture)
    assert image.shape[:2] == (1200, 1600)
    assert 0.01 < (image[..., :3].mean(axis=2) < 0.6).mean() < 0.5


def browser(folder, *arguments):
    quiet = (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
        "--virtual-time-budget=5000", f"--user-data-dir={folder / 'profile'}",
    )  # fmt: skip
    return subprocess.run([BROWSER, *quiet, *arguments], capture_output=True, text=True, timeout=120, check=False)
