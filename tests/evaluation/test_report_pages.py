"""Reports that people show to others: what they are about, their verdict, their plots, and the page in a browser."""

from __future__ import annotations

from html import escape, unescape
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.browser import NEEDS_CHROMIUM, collect_problems, find_violations, open_browser, wait

from unnaive import TextClassifier
from unnaive.apps.common.report_identity import identify, remember_command
from unnaive.base import palette
from unnaive.base.errors import UnnaiveError
from unnaive.evaluation.comparison_page import comparison_page, comparison_verdict
from unnaive.evaluation.document_table import OF_A_CELL, choose_documents, shown_cells
from unnaive.evaluation.evaluate import evaluate
from unnaive.evaluation.evaluation_page import evaluation_page, headline_figures
from unnaive.evaluation.evaluation_report import as_markdown
from unnaive.evaluation.experiments import compare
from unnaive.evaluation.reports import html_page as html
from unnaive.evaluation.reports.identity import Identity, NamedFile, report_date
from unnaive.learning.confidence_interval import wilson_interval

CLASSES = ["İstanbul", "رياضة", "<img src=x onerror=alert(1)>", "a\"b' c", "a-very-long-class.name_without/spaces" * 2]
SINGLE = [f"word{c} shared {n % 7}" for c in range(5) for n in range(40)]
LABELS = [CLASSES[c] for c in range(5) for _ in range(40)]
HOSTILE = ["</script><script>window.hacked = 1</script>", "<b onmouseover=alert(1)>x</b>", "\u202eabc", "نص عربي"]


@pytest.fixture(scope="module")
def evaluation():
    """Five classes with odd names; a quarter of the labels is wrong, so that every cell may have documents."""
    random = np.random.default_rng(0)
    classifier = TextClassifier("multinomial").fit(SINGLE, LABELS)
    texts = [f"{text} {HOSTILE[n % 4]}" for n, text in enumerate(SINGLE)]
    labels = [CLASSES[random.integers(5)] if random.random() < 0.3 else label for label in LABELS]
    return evaluate(classifier, texts, labels, name="odd.csv")


@pytest.fixture(scope="module")
def multilabel():
    texts, labels = [f"w{n % 4} x{n % 3} y" for n in range(60)], [[f"c{n % 4}", f"d{n % 3}"] for n in range(60)]
    return evaluate(TextClassifier("multinomial").fit(texts, labels), texts[::-1], labels, name="several")


@pytest.fixture(scope="module")
def records():
    random = np.random.default_rng(1)
    texts = [f"w{n % 3} x{n % 7} y{n % 11}" for n in range(120)]
    labels = [f"class{n % 3 if random.random() < 0.7 else random.integers(3)}" for n in range(120)]
    return list(compare(["multinomial", "complement"], texts, labels, folds=5).records)


@pytest.mark.slow
def test_the_verdict_is_one_sentence_with_its_interval(evaluation):
    right, n = evaluation.tally.exact, len(evaluation)
    low, high = wilson_interval(right, n)
    sentence = (
        f"The label is right for {right} of {n} documents: an accuracy of {100 * right / n:.1f} %; on new documents "
        f"like these it is between {100 * low:.1f} and {100 * high:.1f} % (95 % interval)."
    )
    assert f'<p class="verdict">{sentence}</p>' in evaluation_page(evaluation)
    assert sentence in as_markdown(evaluation)


@pytest.mark.slow
def test_a_report_says_what_it_is_about(evaluation):
    files = {"model file": [NamedFile("<m>.model", "ab" * 32)], "data": [NamedFile("odd.csv")]}
    identity = Identity(files=files, date="2026-01-05 09:30 UTC", command="unnaive evaluate '<m>.model' odd.csv")
    page = evaluation_page(evaluation, identity=identity)
    head = page.partition("<main>")[0]
    for part in (evaluation.model, "&lt;m&gt;.model", "abababababab…", f'title="{"ab" * 32}"', "2026-01-05 09:30 UTC",
                 escape(identity.command), "200 documents, 5 classes"):  # fmt: skip
        assert part in unescape(head).replace("\u200b", "") or part in head.replace("<wbr>", ""), part
    assert "- date: 2026-01-05 09:30 UTC" in as_markdown(evaluation, identity=identity)
    assert page == evaluation_page(evaluation, identity=identity)  # a function of its values


@pytest.mark.slow
def test_commands_name_model_data_date_and_command_and_repeat_their_bytes(run, tmp_path, monkeypatch):
    from unnaive.base.open_files import hash_file

    rows = "".join(f"{text},{'a' if n % 2 else 'b'}\n" for n, text in enumerate(SINGLE))
    (tmp_path / "data.csv").write_text(f"text,label\n{rows}")
    assert run("train", "data.csv", "-o", "m.model", "-m", "multinomial")[0] == 0
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    words = ("evaluate", "m.model", "data.csv", "--report", "r.html", "--report", "r.md")
    pages = []
    for _ in range(2):
        assert run(*words)[0] == 0
        pages.append(((tmp_path / "r.html").read_bytes(), (tmp_path / "r.md").read_bytes()))
    assert pages[0] == pages[1]
    page = pages[0][0].decode()
    assert "<dd>2023-11-14 22:13 UTC</dd>" in page
    assert f"<code>unnaive {' '.join(words)}</code>" in page
    for name in ("m.model", "data.csv"):
        assert hash_file(tmp_path / name) in page
    assert run("explain", "m.model", "word1 shared", "--report", "e.html")[0] == 0
    assert (
        "<code>unnaive explain m.model &#x27;word1 shared&#x27; --report e.html</code>"
        in (tmp_path / "e.html").read_text()
    )
    assert (
        run("compare", "data.csv", "--models", "multinomial,complement", "--folds", "2", "--report", "c.html")[0] == 0
    )
    assert hash_file(tmp_path / "data.csv") in (tmp_path / "c.html").read_text()


@pytest.mark.parametrize("wrong", ["yesterday", "9" * 30, "-1e9", " "])
def test_a_date_that_is_none_is_an_error(monkeypatch, wrong):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
    with pytest.raises(UnnaiveError, match="expected seconds since 1970"):
        report_date()


def test_a_long_text_on_the_command_line_is_cut_and_control_characters_are_shown():
    remember_command(["explain", "m.model", "x" * 5000, "a\x1b[31m\nb"])
    command = identify({}).command
    assert len(command) < 500
    assert "…" in command
    assert "\x1b" not in command
    assert "\n" not in command


@pytest.mark.slow
def test_five_figures_come_first(evaluation, multilabel):
    for one in (evaluation, multilabel):
        figures = headline_figures(one)
        assert len(figures) == 5
        page = evaluation_page(one)
        assert page.partition('<ul class="tiles">')[2].partition("</ul>")[0].count("<li>") == 5
    (_, lowest) = next(figure for figure in headline_figures(evaluation) if figure[0].startswith("lowest F1"))
    assert lowest == f"{evaluation.tally.f1.min():.3f}"


@pytest.mark.slow
def test_the_verdict_of_a_comparison_names_the_best_and_the_test(records):
    sentence = comparison_verdict(records)
    means = {name: np.mean([one.value for one in records if (one.contender, one.measure) == (name, "accuracy")])
             for name in ("multinomial", "complement")}  # fmt: skip
    best = max(means, key=lambda name: means[name])
    if means["multinomial"] == means["complement"]:
        assert sentence == f"multinomial and complement have the same accuracy, {means[best]:.4f}, the highest."
    else:
        assert sentence.startswith(f"{best} has the highest accuracy, {means[best]:.4f}")
        assert " (p " in sentence
    assert sentence in unescape(comparison_page(records))
    assert comparison_verdict([]) == "Nothing was measured."
    alone = [one for one in records if one.contender == "multinomial"]
    assert comparison_verdict(alone).startswith("multinomial has the highest accuracy, ")


def test_wrong_documents_of_every_cell_are_on_the_page(evaluation):
    """Brute force: each wrong cell has its documents, at most OF_A_CELL, and nothing is in a cell where it is not."""
    documents = choose_documents(evaluation)
    index = {name: c for c, name in enumerate(evaluation.classes)}
    true = [index[evaluation.classes[evaluation.Y[[row]].indices[0]]] for row in range(len(evaluation))]
    given_ = [int(evaluation.predictions[[row]].indices[0]) for row in range(len(evaluation))]
    assert all(one.cells == (f"{true[one.row]}>{given_[one.row]}",) for one in documents)
    shown = [one.cells[0] for one in documents]
    for i, j in zip(*np.nonzero(evaluation.confusion), strict=True):
        most = OF_A_CELL if i != j else 5
        assert shown.count(f"{i}>{j}") == min(most, evaluation.confusion[i, j])
    wrong = [one.probability for one in documents if one.cells[0].split(">")[0] != one.cells[0].split(">")[1]]
    assert wrong == sorted(wrong, reverse=True)


def test_multilabel_documents_name_their_wrong_and_missed_classes(multilabel):
    documents = choose_documents(multilabel)
    difference = (multilabel.predictions - multilabel.Y).toarray()
    for one in documents:
        cells = {f"{c}{'+' if value > 0 else '-'}" for c, value in enumerate(difference[one.row]) if value}
        assert set(one.cells) == cells
    wrong = {f"{c}+" for c in np.flatnonzero((difference > 0).any(axis=0))}
    missed = {f"{c}-" for c in np.flatnonzero((difference < 0).any(axis=0))}
    assert shown_cells(documents) == wrong | missed


@pytest.mark.slow
def test_models_without_probabilities_and_counts_have_documents_too():
    found = evaluate(TextClassifier("rocchio").fit(SINGLE, LABELS), SINGLE[:50], LABELS[150:])
    assert all(one.probability is None for one in choose_documents(found))
    assert "Wrong predictions" in evaluation_page(found)


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1)), min_size=1, max_size=15), st.integers(1, 40))
def test_joined_bins_keep_their_sums(bins, fewest):
    from unnaive.evaluation.calibration_measures import Reliability

    count = np.array([n for n, _ in bins])
    share = np.array([p if n else 0.0 for n, p in bins])
    curve = Reliability(count, share, share**2)
    joined = curve.joined(fewest)
    assert joined.count.sum() == count.sum()
    assert joined.count @ joined.confidence == pytest.approx(count @ curve.confidence)
    assert joined.count @ joined.accuracy == pytest.approx(count @ curve.accuracy)
    assert (joined.count >= min(fewest, count.sum())).all()
    low, high = joined.intervals().T
    assert ((low <= joined.accuracy + 0.5 / np.maximum(joined.count, 1)) & (low <= high)).all()


def test_values_for_the_script_cannot_end_it():
    part = html.embedded("x", ["</script><!--<script>"])
    assert part.count("<") == 2
    assert "\\u003c/script>" in part


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture
def open_page(browser, tmp_path):
    """A page in a browser; no errors, and no requests but for the file itself."""
    contexts = []

    def open_page(content: str, *, width: int = 1280, scheme: str = "light") -> Any:
        path = tmp_path / f"{len(contexts)}.html"
        path.write_text(content, encoding="utf-8", errors="backslashreplace")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        problems, requests = collect_problems(page), []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        contexts.append((context, problems, requests))
        return page

    yield open_page
    for context, problems, requests in contexts:
        context.close()
        assert problems == []
        assert all(url.startswith(("file:", "data:", "blob:")) for url in requests)


def column(page, table, number):
    """The visible cells of a column."""
    return page.evaluate(
        f"[...document.querySelectorAll('{table} tbody tr:not([hidden])')].map(r => r.cells[{number}].textContent)"
    )


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_tables_are_sorted_and_filtered(open_page, evaluation):
    page = open_page(evaluation_page(evaluation))
    f1 = [float(value) for value in column(page, "#classes table", 2)]
    head = page.locator("#classes thead button", has_text="F1").nth(1)
    head.click()
    assert [float(value) for value in column(page, "#classes table", 2)] == sorted(f1, reverse=True)
    head.press("Enter")  # by keyboard, the other way round
    assert [float(value) for value in column(page, "#classes table", 2)] == sorted(f1)
    assert page.locator("#classes th[aria-sort]").get_attribute("aria-sort") == "ascending"
    assert len(column(page, "table.documents", 0)) == 20
    page.locator("#documents button.more").click()
    everything = column(page, "table.documents", 1)
    assert len(everything) == len(choose_documents(evaluation))
    page.locator("#documents input[type=search]").fill("istanbul")  # finds İstanbul
    found = page.evaluate(
        "[...document.querySelectorAll('table.documents tbody tr:not([hidden])')].map(r => r.textContent)"
    )
    assert 0 < len(found) < len(everything)
    assert all("İstanbul" in row for row in found)
    assert page.locator("#documents output").inner_text() == f"{len(found)} of {len(everything)}"
    assert page.evaluate("window.hacked") is None


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_columns_of_numbers_are_sorted_by_value(open_page):
    """Thousands, percentages, spreads, signs, what was not measured, and values that stand in an attribute."""
    rows = [("a", "1,234", "9.5 %", "0.50 ± 0.2", "<td data-sort='2'>p = 1e-9</td>"),
            ("b", "–", "10 %", "0.6", "<td data-sort='10'>p = 0.5</td>"),
            ("c", "99", "-3 %", "0.55 ± 0.1", "<td data-sort='-1e-05'>p = 2</td>")]  # fmt: skip
    page = open_page(html.page("t", "v", [html.Section("S", html.table(("name", "n", "%", "mean", "p"), rows))]))
    for number, expected in enumerate(("acb", "bac", "bca", "bac"), 1):
        page.locator("th button").nth(number).click()
        assert column(page, "table", 0) == list(expected)
    page.locator("th button").first.click()
    assert column(page, "table", 0) == ["a", "b", "c"]


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_a_cell_of_the_matrix_leads_to_its_documents(open_page, evaluation, multilabel):
    page = open_page(evaluation_page(evaluation))
    off = evaluation.confusion - np.diag(np.diag(evaluation.confusion))
    i, j = np.unravel_index(int(off.argmax()), off.shape)
    page.locator(f'table.confusion a[data-cell="{i}>{j}"]').click()
    assert column(page, "table.documents", 1) == [evaluation.classes[i]] * min(OF_A_CELL, off[i, j])
    assert column(page, "table.documents", 2) == [evaluation.classes[j]] * min(OF_A_CELL, off[i, j])
    chosen = page.locator("p.chosen")
    assert f"{off[i, j]} of" in chosen.inner_text()
    assert page.evaluate("document.activeElement.className") == "chosen"
    chosen.locator("button").click()
    assert len(column(page, "table.documents", 1)) == 20
    page = open_page(evaluation_page(multilabel))
    link = page.locator("#confusion a[data-cell]").first
    cell = link.get_attribute("data-cell")
    link.press("Enter")
    expected = [one for one in choose_documents(multilabel) if cell in one.cells]
    assert len(column(page, "table.documents", 1)) == len(expected) > 0


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_the_policy_stops_scripts_that_come_from_data(browser, tmp_path, evaluation):
    """If something was not escaped after all, the browser refuses it: the hash is that of report.js alone."""
    broken = evaluation_page(evaluation).replace("</main>", "<script>window.hacked = 1</script></main>")
    broken = broken.replace("<main>", "<main><img src=x onerror='window.hacked = 2'>")
    (tmp_path / "x.html").write_text(broken, encoding="utf-8")
    page = browser.new_page()
    problems = collect_problems(page)
    page.goto((tmp_path / "x.html").as_uri())
    wait(page, "document.documentElement.classList.contains('scripted')")
    assert page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in problem for problem in problems)
    page.close()


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_on_paper_everything_is_open_and_nothing_is_to_be_pressed(open_page, evaluation):
    page = open_page(evaluation_page(evaluation), scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).getPropertyValue('--accent')") == palette.LIGHT["accent"]
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator("input[type=search]:visible, button.more:visible, nav:visible").count() == 0
    assert page.locator("dl.identity:visible").count() == 1
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.slow
@NEEDS_CHROMIUM
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_pages_fit_wide_and_narrow_light_and_dark(open_page, evaluation, multilabel, records, width, scheme):
    for content in (evaluation_page(evaluation), evaluation_page(multilabel), comparison_page(records)):
        page = open_page(content, width=width, scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert find_violations(page) == []
