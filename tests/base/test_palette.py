"""One palette: every colour of pages, figures, the terminal and the site is one of its colours, and can be read."""

import re
from pathlib import Path

import pytest

from unnaive.base import palette
from unnaive.learning.explanation import Evidence, Explanation

ROOT = Path(__file__).parents[2]
NAMED = {*palette.LIGHT.values(), *palette.DARK.values(), *palette.SERIES, *palette.DARK_SERIES,
         *palette.TINTS.values()}  # fmt: skip
ON_PAPER = {"#fff", "#000", "#444"}  # of the print view, and behind pictures
PLACEHOLDER = {"#010203"}  # INK, which becomes the page's text colour
COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
SHORT = re.compile(r"#[0-9a-fA-F]{3}\b|\brgba?\(|\bhsla?\(")  # in stylesheets; elsewhere these are other things
PLACES = ("src/**/*.py", "src/**/*.css", "src/**/*.js", "src/**/*.svg", "tools/*picture*.py", "tools/figures.py",
          "docs/assets/*.css", "mkdocs.yml")  # fmt: skip


def luminance(colour):
    """The relative luminance of WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_by_hand():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def used_colours():
    """(file, colour) of each colour that is written down, except in the palette itself."""
    for pattern in PLACES:
        for path in sorted(ROOT.glob(pattern)):
            text = "" if path == Path(palette.__file__) else path.read_text(encoding="utf-8")
            found = COLOUR.findall(text) + (SHORT.findall(text) if path.suffix == ".css" else [])
            yield from ((str(path.relative_to(ROOT)), colour.lower()) for colour in found)


def test_every_colour_is_of_the_palette():
    used = list(used_colours())
    assert ("docs/assets/extra.css", palette.LIGHT["accent"]) in used
    assert [one for one in used if one[1] not in NAMED | ON_PAPER | PLACEHOLDER] == []


def test_pages_and_the_site_use_its_variables():
    from unnaive.apps.common.web.static_files import read_stylesheet
    from unnaive.evaluation.reports.html_page import STYLESHEETS, page

    web = read_stylesheet()
    assert web.startswith(palette.css_variables())
    assert palette.css_variables() in page("title", "verdict", [])
    layout = "".join(path.read_text(encoding="utf-8") for path in STYLESHEETS)
    used = set(re.findall(r"var\(--([a-z0-9-]+)", layout + web))
    assert used - {"weight"} <= {*palette.LIGHT, *(f"series-{number}" for number in range(1, 7))}
    assert palette.LIGHT.keys() == palette.DARK.keys()
    assert len(palette.SERIES) == len(palette.DARK_SERIES) == len({*palette.SERIES}) == len({*palette.DARK_SERIES})


@pytest.mark.parametrize("colours", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_text_can_be_read_on_pages(colours):
    """At least 4.5, as WCAG AA asks of text."""
    for ground in ("paper", "panel"):
        for ink in ("ink", "faint", "good", "bad"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5


@pytest.mark.parametrize(("series", "paper"), [(palette.SERIES, "#ffffff"), (palette.DARK_SERIES, "#14171b")])
def test_the_first_lines_of_figures_stand_out(series, paper):
    """At least 3, as WCAG AA asks of graphics; later series have markers and dashes of their own."""
    assert all(contrast(colour, paper) >= 3 for colour in series[:3])


def test_the_terminal_marks_evidence_in_colours_that_are_read_on_black_and_on_white():
    pytest.importorskip("rich")
    for name in ("for", "against"):
        assert min(contrast(palette.TERMINAL[name], ground) for ground in ("#000000", "#ffffff")) >= 3.5
    evidence = (Evidence("good", 1, 2.0, ((0, 4),)), Evidence("bad", 1, -2.0, ((5, 8),)))
    one = Explanation("good bad", "ham", None, "", 0.0, 0.0, None, evidence)
    styles = [str(span.style) for span in one.highlighted().spans]
    assert styles == [f"bold white on {palette.TERMINAL['for']}", f"bold black on {palette.TERMINAL['against']}"]
