"""The page in a real browser: every part of it, with a keyboard, on a phone, with hostile texts; no console errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.browser import NEEDS_CHROMIUM, find_violations, open_signed_in, shoot, wait
from support.serving import run_service

from unnaive import TextClassifier
from unnaive.text.tokens import TokenRule, spans

from .conftest import TOKEN, tickets

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

TEXT = "my invoice was charged twice"


@pytest.fixture(scope="module")
def evaluation(server: str) -> dict[str, Any]:
    """What `unnaive evaluate --json` said of the first model, as the card has it."""
    found: dict[str, Any] = httpx.get(f"{server}v1/models/tickets", timeout=300).json()["evaluation"]
    return found


@pytest.fixture(scope="module")
def server(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two models, one of them a noisy-OR gate, and an evaluation of the first."""
    place = tmp_path_factory.mktemp("page")
    first, gate = place / "tickets.model", place / "gate.model"
    first.write_bytes(trained.read_bytes())
    texts, labels = tickets()
    TextClassifier("or-gate").fit(texts[:600], labels[:600]).save(gate)
    rows = place / "rows.csv"
    rows.write_text(
        "text,queue\n" + "".join(f'"{t}",{q}\n' for t, q in zip(texts[600:], labels[600:], strict=True) if '"' not in t)
    )
    evaluation = place / "evaluation.json"
    found = subprocess.run(
        [sys.executable, "-m", "unnaive", "evaluate", str(first), str(rows), "--json"], capture_output=True, check=True
    )
    evaluation.write_bytes(found.stdout)
    with run_service("serve", first, gate, "--port", 0, "--evaluation", evaluation, token=TOKEN) as running:
        yield running.address


@pytest.fixture
def page(browser: Any, server: str) -> Iterator[Any]:
    """The page, opened with the token; a test fails if anything was written to the console as an error."""
    with open_signed_in(browser, server, TOKEN, width=1100) as page:
        yield page


def type_text(page: Any, text: str = TEXT) -> None:
    page.fill("#text", text)
    page.wait_for_selector("#answers .bars li")
    wait(page, "!document.getElementById('answers').hasAttribute('aria-busy')")


def test_a_text_gets_bars_and_evidence(page: Any, trained: Path) -> None:
    model = TextClassifier.load(trained)
    type_text(page)
    assert page.inner_text("#answers h2 >> nth=0") == model.predict([TEXT])[0] == "billing"
    first = page.inner_text(".bars li >> nth=0")
    assert "billing" in first
    assert "%" in first
    button = page.locator(".evidence button", has_text="invoice")
    button.hover()
    value = next(one.value for one in model.explain(TEXT).evidence if one.term == "invoice")
    assert page.inner_text(".number-line") == f"invoice: +{value:.2f} for billing"
    page.locator(".evidence button", has_text="charged").focus()
    assert page.inner_text(".number-line").startswith("charged: +")
    shoot(page, "try")
    assert find_violations(page) == []


def test_striking_a_word_moves_the_decision(page: Any, trained: Path) -> None:
    model = TextClassifier.load(trained)
    type_text(page)
    before = page.inner_text(".bars li >> nth=0")
    page.locator(".evidence button", has_text="invoice").click()
    page.wait_for_selector(".evidence .struck")
    assert page.inner_text(".evidence") == TEXT
    expected = model.predict_proba([TEXT.replace("invoice", " ")])[0].max()
    after = page.inner_text(".bars li >> nth=0")
    assert after != before
    assert f"{100 * expected:.0f}" in after or f"{100 * expected:.1f}" in after
    page.locator(".evidence .struck").click()
    wait(page, "!document.querySelector('.evidence .struck')")
    assert page.inner_text(".bars li >> nth=0") == before


def test_another_class_and_another_model(page: Any) -> None:
    type_text(page)
    page.locator(".bars button", has_text="bug").click()
    wait(page, "[...document.querySelectorAll('#answers h2')].some(one => one.textContent.endsWith('bug'))")
    page.select_option("#second", "gate")
    wait(page, "document.querySelectorAll('#answers .answer').length === 2")
    shoot(page, "two-models")
    assert page.inner_text("#answers .answer >> nth=1").startswith("gate:")


@pytest.mark.parametrize(
    "text",
    [
        "<script>window.hacked = 1</script> invoice",
        '"><img src=x onerror="window.hacked = 1"> invoice',
        "فاتورة invoice مرتين",
        "👩‍👩‍👧 invoice 😀 charged",
        "invoice " + " " * 1_000_000,
    ],
    ids=["script", "image", "right-to-left", "emoji", "spaces"],
)
def test_texts_are_shown_and_never_run(page: Any, text: str) -> None:
    type_text(page, text)
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelector('.evidence').textContent") == text
    marked = page.evaluate("[...document.querySelectorAll('.evidence button')].map(one => one.textContent)")
    assert "invoice" in marked


def test_evidence_lies_on_the_right_characters(page: Any) -> None:
    """Places are characters of Python, which counts astral ones as one, and the browser's strings do not."""
    text = "𝒜𝒷 😀😀 invoice 👨‍👩‍👦 e\u0301te\u0301 charged İstanbul ﬁ twice"
    type_text(page, text)
    marked = page.evaluate("[...document.querySelectorAll('.evidence button')].map(one => one.textContent)")
    assert {"invoice", "charged", "twice"} <= set(marked)


# of every number of bytes in UTF-8 and UTF-16, combining, joining, right to left, and what changes length in lower case
CHARACTERS = st.sampled_from("abcİıßﬁ çéñ日本語𝒜😀👨‍👩‍👦e\u0301\u200d\u202eפلא.,;<>&\"'\n\t\x00\ufeff") | st.characters(
    exclude_categories=["Cs"]
)
PIECES = st.text(CHARACTERS, max_size=6) | st.sampled_from([" invoice ", "Invoice", " charged", "TWICE ", "password"])


def test_highlighting_is_aligned_with_the_characters(page: Any, trained: Path) -> None:
    """For any text: the stretches that the page makes of the evidence join to the text, and each lies on its term."""
    model = TextClassifier.load(trained)
    page.evaluate("import('/page/try.js').then((found) => { window.pieces = found; })")
    wait(page, "window.pieces !== undefined")

    @given(text=st.lists(PIECES, max_size=12).map("".join))
    @settings(max_examples=150, deadline=None, derandomize=True)
    def check(text: str) -> None:
        found = model.explain(text).to_dict()["evidence"]
        parts = page.evaluate("([text, found]) => window.pieces.stretches(text, found)", [text, found])
        assert "".join(part["words"] for part in parts) == text
        for part in parts:
            assert text[part["start"] : part["end"]] == part["words"]
            covering = [
                one for one in found for start, end in one["places"] if start <= part["start"] and part["end"] <= end
            ]
            assert part["value"] == pytest.approx(sum(one["value"] / one["count"] for one in covering), abs=1e-9)
        for one in found:
            for start, end in one["places"]:
                assert [term for _, _, term in spans(text[start:end], TokenRule())] == [one["term"]]

    check()


def test_a_table_is_labelled_filtered_sorted_and_downloaded(page: Any, trained: Path, tmp_path: Path) -> None:
    model = TextClassifier.load(trained)
    texts = tickets()[0][600:900]
    rows = tmp_path / "mixed.csv"
    lines = ["id,Body,=note"] + [
        f'{number},"{text.replace(chr(34), chr(34) * 2)}",=1+1' for number, text in enumerate(texts)
    ]
    rows.write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8")
    page.click("#tab-table")
    assert find_violations(page) == []
    page.set_input_files("#file", str(rows))
    page.click("#start")
    page.wait_for_selector("#rows tbody tr")
    assert page.inner_text("#rows-words").startswith("300 rows")
    expected = model.predict(texts).tolist()
    page.select_option("#filter-label", "billing")
    wait(page, f"document.getElementById('rows-words').textContent.startsWith('{expected.count('billing')} ')")
    page.select_option("#filter-label", "")
    page.locator("#rows th button", has_text="Probability").click()
    shown = [float(one.strip("<> %")) for one in page.locator("#rows tbody td:nth-child(3)").all_inner_texts()]
    assert shown == sorted(shown, reverse=True)
    shoot(page, "table")
    assert find_violations(page) == []
    with page.expect_download() as waiting:
        page.click("#download")
    content = Path(waiting.value.path()).read_bytes().decode()
    assert content.startswith("id,Body,'=note,label,probability")
    assert content.count("\r\n") == 301


def test_a_table_without_rows_gets_a_sentence(page: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("text\n")
    page.click("#tab-table")
    page.set_input_files("#file", str(tmp_path / "empty.csv"))
    wait(page, "document.getElementById('status').textContent.includes('no rows')")
    assert ["422" in problem for problem in page.problems] == [True]  # the browser notes every refusal
    page.problems.clear()


def test_teaching_shows_what_changed_and_can_be_undone(page: Any) -> None:
    page.click("#tab-teach")
    page.wait_for_selector("#teach-form:not([hidden])")
    page.fill("#teach-text", "frobnicator frobnicator")
    page.fill("#teach-label", "bug")
    page.click("#teach-form button")
    wait(page, "document.getElementById('taught').textContent.startsWith('Taught')")
    wait(page, "document.getElementById('history').textContent.includes('frobnicator')")
    shoot(page, "teach")
    assert find_violations(page) == []
    page.locator("#taught button", has_text="Undo").click()
    wait(page, "document.getElementById('taught').textContent.startsWith('Forgotten')")
    wait(page, "document.querySelectorAll('#history li').length === 2")


def test_the_card(page: Any, evaluation: dict[str, Any]) -> None:
    page.click("#tab-card")
    page.wait_for_selector("#card-body table")
    shown = page.inner_text("#card-body")
    assert "multinomial naive Bayes" in shown
    assert f"accuracy\n{evaluation['measures']['accuracy']:.3f}" in shown
    assert f"Evaluation on {evaluation['documents']} documents" in shown
    matrix = page.locator("[aria-label='Confusion matrix'] tbody tr").all()
    cells = [[int(one or 0) for one in row.locator("td").all_inner_texts()] for row in matrix]
    assert cells == evaluation["confusion"]["matrix"]
    assert sum(map(sum, cells)) == evaluation["documents"]
    bins = [one for one in evaluation["calibration"]["as given"]["bins"] if one["predictions"]]
    table = page.locator("[aria-label=Calibration] tbody tr").all()
    assert [row.locator("td >> nth=2").inner_text() for row in table] == [str(one["predictions"]) for one in bins]
    assert page.locator(".diagram circle").count() == len(bins)
    shoot(page, "card")
    assert find_violations(page) == []
    page.select_option("#model", "gate")
    page.wait_for_selector(".network img")
    assert page.evaluate("document.querySelector('.network img').naturalWidth") > 100
    shoot(page, "network")


def test_tabs_by_keyboard(page: Any) -> None:
    page.focus("#tab-try")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#tab-table", "aria-selected") == "true"
    assert page.is_visible("#table")
    assert not page.is_visible("#try")


def test_a_service_that_went_away(page: Any) -> None:
    page.route("**/v1/**", lambda route: route.abort())
    page.fill("#text", TEXT)
    wait(page, "document.getElementById('status').textContent.includes('does not answer')")
    page.problems.clear()  # the browser itself reports the failed request


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(browser: Any, server: str, scheme: str) -> None:
    context = browser.new_context(viewport={"width": 375, "height": 700}, color_scheme=scheme, is_mobile=True)
    page = context.new_page()
    page.goto(server)
    wait(page, "document.getElementById('version').textContent !== ''")
    type_text(page)
    shoot(page, f"phone-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert find_violations(page) == []
    page.click("#tab-card")
    page.wait_for_selector(".diagram")
    shoot(page, f"phone-card-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert find_violations(page) == []
    page.click("#tab-teach")
    page.wait_for_selector("#sign-in:not([hidden])")  # opened without the token
    assert find_violations(page) == []
    shoot(page, f"phone-teach-{scheme}")
    context.close()
