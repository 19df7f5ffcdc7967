"""Figures: they have titles, axes with names, legends outside the axes, and survive as files and inline."""

import re
import sys
from xml.dom.minidom import parseString

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures need the extra `figures`")

from matplotlib.backends.backend_agg import FigureCanvasAgg

from unnaive.base.errors import MissingExtra, UnnaiveError
from unnaive.evaluation.calibration_measures import reliability
from unnaive.evaluation.reports import plots
from unnaive.evaluation.summaries import MeasureCurve

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all

CURVES = [
    MeasureCurve(f"model {n}", (10.0, 50.0, 80.0), (0.5, 0.7, 0.7 + n / 100), (0.05, 0.02, 0.01)) for n in range(9)
]


def rankings():
    random = np.random.default_rng(0)
    truth = random.random(300) < 0.3
    scores = truth + random.normal(0, 0.7, 300)
    return [plots.PrecisionRecallCurve.of("all, pooled", scores, scores[truth])]


def drawings():
    Y = np.eye(2, dtype=np.int64)[np.random.default_rng(0).integers(0, 2, 50)]
    p = np.clip(Y + np.random.default_rng(1).normal(0, 0.3, (50, 2)), 0.01, 1)
    p /= p.sum(axis=1, keepdims=True)
    yield plots.curves_figure(CURVES, title="Curves", x="training documents, %", y="accuracy")
    yield plots.curves_figure(CURVES[:2], title="Terms", x="terms", y="accuracy", logarithmic=True)
    yield plots.precision_recall_figure(rankings())
    yield plots.calibration_figure({"before": reliability(Y, p), "after": reliability(Y, p)})
    yield plots.confusion_figure(np.array([[5, 1], [0, 7]]), ["ham", "spam"])
    yield plots.classes_figure({"F1": np.array([0.5, 1.0])}, ["ham", "spam"])


DRAWINGS = list(drawings())


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_every_figure_has_a_title_and_named_axes(drawing):
    (axes,) = drawing.axes
    assert axes.get_title()
    assert axes.get_xlabel()
    assert axes.get_ylabel() or axes.get_yticklabels()


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_legends_cover_nothing(drawing):
    FigureCanvasAgg(drawing).draw()
    (axes,) = drawing.axes
    assert axes.get_legend() is None
    for legend in drawing.legends:
        assert not legend.get_window_extent().overlaps(axes.get_window_extent())
        assert drawing.bbox.containsx(legend.get_window_extent().x0)
        assert drawing.bbox.containsx(legend.get_window_extent().x1)


def test_series_differ_in_more_than_colour():
    looks = [plots._look(number) for number in range(24)]
    assert len({tuple(look.values()) for look in looks}) == 24
    assert len({(look["marker"], look["linestyle"]) for look in looks[:8]}) == 8


def test_the_breakeven_point_is_on_the_diagonal():
    (one,) = rankings()
    (axes,) = plots.precision_recall_figure([one]).axes
    (marker,) = [line for line in axes.lines if line.get_label().startswith("all, pooled")]
    assert marker.get_xdata()[0] == marker.get_ydata()[0] == one.breakeven
    assert np.interp(one.breakeven, one.recall, one.precision) == pytest.approx(one.breakeven, abs=0.02)


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_files_are_what_their_name_says(tmp_path, ending, start):
    path = plots.save_figure(DRAWINGS[0], tmp_path / "deep" / f"figure.{ending}")
    assert path.read_bytes().startswith(start)
    with pytest.raises(UnnaiveError, match=r"give a name that ends in \.png, \.svg or \.pdf"):
        plots.save_figure(DRAWINGS[0], tmp_path / "figure.bmp")


def test_inline_figures_are_well_formed_without_clashing_ids_and_take_the_page_s_ink():
    one, other = (
        plots.inline_svg(plots.curves_figure(CURVES, title="T", x="x", y="y", ink=plots.INK), alt)
        for alt in ('first "figure"', "second figure")
    )
    tree = parseString(one).documentElement  # noqa: S318  # a text of our own
    assert tree.getAttribute("role") == "img"
    assert tree.getAttribute("aria-label") == 'first "figure"'
    assert "currentColor" in one
    assert "var(--series-1)" in one
    assert not set(re.findall("#[0-9a-f]{6}", one)) & set(plots.COLOURS)
    assert plots.INK not in one
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (one, other)]
    assert ids[0].isdisjoint(ids[1])
    for used in re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", one):
        assert "".join(used) in ids[0]


@pytest.mark.slow
def test_the_same_figure_is_the_same_text():
    texts = [
        plots.inline_svg(plots.curves_figure(CURVES, title="T", x="x", y="y", ink=plots.INK), "alt") for _ in range(2)
    ]
    assert texts[0] == texts[1]


def test_without_matplotlib_the_install_command_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"a figure needs matplotlib; .*: pip install 'unnaive\[figures\]'"):
        plots.curves_figure(CURVES, title="T", x="x", y="y")


def test_dollar_signs_in_the_name_of_a_class_are_no_formula():
    names = ["$5_$", "a$b^$"]
    drawing = plots.classes_figure({"$x$": np.array([0.5, 1.0])}, names, title="$\\frac$")
    svg = plots.inline_svg(drawing, "classes")
    assert all(f">{name}<" in svg for name in (*names, "$x$", "$\\frac$"))
