"""Figures by matplotlib, for files (PNG, SVG, PDF) and inline in reports; values are only drawn here, not computed.

Colours are those of base/palette.py, which colour-blind readers can distinguish; markers differ too, so that figures
work in greyscale. Legends are below the axes and cover nothing. Inline figures use the colours of the page.
"""

from __future__ import annotations

import io
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnnaiveWarning
from unnaive.base.extras import import_extra
from unnaive.base.palette import SERIES as COLOURS
from unnaive.base.types import Floats
from unnaive.evaluation.abstention import AbstentionChoice, RiskCoverage
from unnaive.evaluation.calibration_measures import Reliability
from unnaive.evaluation.ranking import precision_recall, r_precision
from unnaive.evaluation.summaries import MeasureCurve
from unnaive.io.endings import FIGURES, choose_ending
from unnaive.io.writing.output_files import open_output

Figure = Any  # matplotlib.figure.Figure, whose types do not work in strict mode

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
LONGEST_NAME, LONG_LABEL = 36, 26  # characters of a name in a figure, and of a label that gets a line of its own
INK = "#010203"  # replaced by currentColor in pages
STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Geneva"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": f"cycler('color', {list(COLOURS)})",
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "text.parse_math": False,  # the name of a class may have dollar signs
    "svg.fonttype": "none",  # text stays text: smaller and searchable
    "svg.hashsalt": "unnaive",  # the same figure gives the same file
}


@contextmanager
def style(ink: str = "black") -> Iterator[Any]:
    """matplotlib.figure with our style; without matplotlib, an error with the install command."""
    matplotlib, figure = (import_extra(name, "a figure") for name in ("matplotlib", "matplotlib.figure"))
    inks = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), ink
    )
    with matplotlib.rc_context({**STYLE, **inks}):
        yield figure


def _axes(library: Any, title: str, x: str, y: str, *, size: tuple[float, float] = (4.4, 3.6)) -> tuple[Figure, Any]:
    drawing = library.Figure(figsize=size, layout="constrained")
    axes = drawing.add_subplot()
    axes.set(title=title, xlabel=x, ylabel=y)
    return drawing, axes


def _look(number: int) -> dict[str, Any]:
    """Colour, marker and dashes of the n-th series; the first 24 are distinct."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number // len(COLOURS) % len(DASHES)],
    }


def shorten_name(name: str) -> str:
    """A long name without its middle, so that legends do not stick out of figures.

    >>> shorten_name("svm"), shorten_name("balance_not_updated_after_cheque_or_cash_deposit")
    ('svm', 'balance_not_update…e_or_cash_deposit')
    """
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[:half]}…{name[1 - half :]}"


def _legend(drawing: Figure, axes: Any, columns: int = 2, title: str | None = None) -> None:
    """Draw the legend below the axes, where it covers nothing."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        columns = min(columns, len(labels)) if max(map(len, labels)) <= LONG_LABEL else 1
        drawing.legend(handles, labels, loc="outside lower center", ncols=columns, title=title, title_fontsize=8)


def curves_figure(
    curves: Sequence[MeasureCurve], *, title: str, x: str, y: str, logarithmic: bool = False, ink: str = "black"
) -> Figure:
    """Means along an axis, with bands of one standard deviation on either side."""
    with style(ink) as library:
        drawing, axes = _axes(library, title, x, y)
        for number, curve in enumerate(curves):
            mean, spread, look = np.array(curve.mean), np.array(curve.spread), _look(number)
            axes.plot(curve.x, mean, label=shorten_name(curve.name), **look)
            axes.fill_between(curve.x, mean - spread, mean + spread, color=look["color"], alpha=0.18, linewidth=0)
        if logarithmic:
            _logarithmic(axes, [x for curve in curves for x in curve.x])
        _legend(drawing, axes)
        return drawing


def intervals_figure(
    values: Sequence[tuple[str, float, tuple[float, float] | None]], *, title: str, x: str, ink: str = "black"
) -> Figure:
    """A dot for each name, with its interval (low, high) if there is one, from top to bottom in the given order."""
    with style(ink) as library:
        drawing, axes = _axes(library, title, x, "", size=(4.8, 1.2 + 0.3 * len(values)))
        for row, (_, mean, interval) in enumerate(values):
            low, high = interval or (mean, mean)
            axes.errorbar(
                [mean], [row], xerr=[[mean - low], [high - mean]], fmt="o", color=COLOURS[0], capsize=3 * bool(interval)
            )
        axes.set_yticks(range(len(values)), [shorten_name(name) for name, _, _ in values])
        axes.set(ylim=(len(values) - 0.4, -0.6))
        if max((interval or (mean, mean))[1] for _, mean, interval in values) <= 1:  # nothing is above 1
            axes.set_xlim(right=min(axes.get_xlim()[1], 1.004))
        return drawing


def _logarithmic(axes: Any, points: Sequence[float]) -> None:
    """A logarithmic x axis; ticks are the points themselves, without those that would touch the previous one."""
    axes.set_xscale("log")
    ticks: list[float] = []
    for point in sorted(set(points)):
        if not ticks or point > 1.45 * ticks[-1]:
            ticks.append(point)
    axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axes.minorticks_off()


def panels_figure(
    panels: Mapping[str, Sequence[MeasureCurve]],
    marks: Mapping[str, Sequence[tuple[float, float]]],
    *,
    x: str,
    y: str,
    marked: str = "",
    ink: str = "black",
    columns: int = 4,
) -> Figure:
    """Curves in panels, `columns` in a row, logarithmic along x; `marks` are points (x, y) of the curves, in order."""
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with style(ink) as library:
        drawing = library.Figure(figsize=(4.0 * columns, 3.6 * rows), layout="constrained")
        for index, (title, curves) in enumerate(panels.items()):
            axes = drawing.add_subplot(rows, columns, index + 1)
            axes.set(title=title, xlabel=x, ylabel=y if index % columns == 0 else "", xscale="log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            axes.xaxis.set_minor_formatter(lambda value, _: "")
            for number, curve in enumerate(curves):
                axes.errorbar(curve.x, curve.mean, curve.spread, label=curve.name, capsize=2, **_look(number))
            for number, point in enumerate(marks.get(title, ())):
                axes.plot(*point, "x", color=COLOURS[number % len(COLOURS)], markersize=8)
            if marks.get(title):
                axes.plot([], [], "x", color=ink, label=marked)
        _legend(drawing, drawing.axes[0], 4)
        return drawing


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision and recall of one class, or of all decisions pooled, and the point where they are equal."""

    name: str
    precision: Floats
    recall: Floats
    breakeven: float

    @classmethod
    def of(cls, name: str, scores: Floats, positives: Floats) -> PrecisionRecallCurve:
        """From all scores, and those of the true documents."""
        precision, recall, _ = precision_recall(scores, positives)
        return cls(name, precision, recall, r_precision(scores, positives))


def precision_recall_figure(
    rankings: Sequence[PrecisionRecallCurve], *, title: str = "Precision and recall", ink: str = "black"
) -> Figure:
    """Precision against recall as the threshold falls, with the breakeven point of each curve marked.

    The axes begin where the curves differ, see `crop_start`.
    """
    with style(ink) as library:
        drawing, axes = _axes(library, title, "recall", "precision", size=(4.4, 4.2))
        axes.plot([0, 1], [0, 1], color=ink, linewidth=0.7, linestyle=":", alpha=0.6)
        for number, ranking in enumerate(rankings):
            look = _look(number)
            points = _thin_out(ranking.recall, ranking.precision)
            axes.plot(*points, color=look["color"], linestyle=look["linestyle"])
            axes.plot(
                [ranking.breakeven], [ranking.breakeven], color=look["color"], marker=look["marker"], markersize=7,
                linestyle=look["linestyle"], clip_on=False, zorder=3,
                label=f"{shorten_name(ranking.name)}: {ranking.breakeven:.3f}",
            )  # fmt: skip
        low = crop_start(rankings)
        above = 1 + 0.02 * (1 - low)
        axes.set(xlim=(low, above), ylim=(low, above), aspect="equal")
        _legend(drawing, axes, title="breakeven point, where precision equals recall")
        return drawing


def crop_start(rankings: Sequence[PrecisionRecallCurve]) -> float:
    """Where both axes begin: as far below the lowest breakeven point as that is below 1, at a multiple of .05.

    Good curves run along the upper edge and differ only in the corner.

    >>> good, poor = (PrecisionRecallCurve("all", np.ones(1), np.ones(1), breakeven) for breakeven in (0.93, 0.4))
    >>> crop_start([good]), crop_start([good, poor])
    (0.85, 0.0)
    """
    lowest = min((ranking.breakeven for ranking in rankings), default=0.0)
    return min(0.9, max(0.0, floor(round(20 * (2 * lowest - 1), 6)) / 20))


def describe_crop(rankings: Sequence[PrecisionRecallCurve]) -> str:
    """A sentence on where the axes begin; empty if they begin at 0."""
    low = crop_start(rankings)
    return f"Both axes begin at {low:g}." if low else ""


def _thin_out(x: Floats, y: Floats, points: int = 400) -> tuple[Floats, Floats]:
    """At most `points` points of a curve, including its ends, to keep pages small."""
    if len(x) <= points:
        return x, y
    rows = np.unique(np.linspace(0, len(x) - 1, points).astype(np.int64))
    return x[rows], y[rows]


def calibration_figure(curves: Mapping[str, Reliability], *, title: str = "Calibration", ink: str = "black") -> Figure:
    """Observed share against predicted probability, with intervals; on the diagonal probabilities are calibrated.

    Bins with few predictions are joined with their neighbours; the calibration error is that of all bins.
    """
    with style(ink) as library:
        drawing, axes = _axes(library, title, "predicted probability", "observed share", size=(4.4, 4.2))
        axes.plot([0, 1], [0, 1], color=ink, linewidth=0.7, linestyle=":", alpha=0.6)
        for number, (name, bins_) in enumerate(curves.items()):
            drawn, look = bins_.joined(), _look(number)
            low, high = drawn.intervals().T
            sizes = 12 + 90 * drawn.count / max(1, drawn.count.max(initial=0))
            axes.plot(drawn.confidence, drawn.accuracy, **{**look, "marker": ""})
            axes.vlines(drawn.confidence, low, high, color=look["color"], linewidth=1, alpha=0.7)
            axes.scatter(
                drawn.confidence, drawn.accuracy, s=sizes, color=look["color"], marker=look["marker"], zorder=3,
                clip_on=False,
            )  # fmt: skip
            # one marker size in the legend
            axes.plot([], [], **look, label=f"{name}: calibration error {bins_.error:.3f}")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        _legend(drawing, axes, 1)
        return drawing


def risk_coverage_figure(
    curve: RiskCoverage,
    *,
    choices: Sequence[AbstentionChoice] = (),
    title: str = "Accuracy of the most certain documents",
    ink: str = "black",
) -> Figure:
    """Accuracy of labelled documents against their share, most certain first.

    A point for each of the `choices`, the thresholds that the report's table promises: those at which exactly these
    documents reach an accuracy would be too optimistic for new ones.
    """
    with style(ink) as library:
        drawing, axes = _axes(library, title, "share of documents labelled", "accuracy", size=(4.4, 4.2))
        axes.plot(*_thin_out(curve.coverage, curve.accuracy), color=COLOURS[0], label=f"risk area {curve.area:.3f}")
        whole = float(curve.accuracy[-1])
        axes.plot([0, 1], [whole, whole], color=ink, linewidth=0.7, linestyle=":", alpha=0.6)
        for number, choice in enumerate(choices, 1):
            look = _look(number)
            label = f"{100 * choice.for_accuracy:g} %: p ≥ {choice.threshold:.3f}"
            axes.plot(
                [choice.coverage], [choice.accuracy], color=look["color"], marker=look["marker"], markersize=7,
                linestyle="", label=label, clip_on=False, zorder=3,
            )  # fmt: skip
        low = min(whole, float(np.min(curve.accuracy)))
        axes.set(xlim=(0, 1.02), ylim=(max(0.0, min(low, 0.98) - 0.02), 1.005))
        _legend(drawing, axes, 2)
        return drawing


def histogram_figure(
    edges: Floats,
    counts: Floats,
    threshold: float,
    *,
    title: str,
    x: str,
    ticks: Sequence[tuple[float, str]] | None = None,
    ink: str = "black",
) -> Figure:
    """Bars between edges (n_bars + 1,), and a line at the threshold; `ticks` are positions along x with their names."""
    with style(ink) as library:
        drawing, axes = _axes(library, title, x, "texts", size=(6.4, 3.2))
        is_kept = edges[:-1] >= threshold - 1e-9
        for part, number in ((~is_kept, 1), (is_kept, 0)):
            axes.bar(edges[:-1][part], counts[part], np.diff(edges)[part], align="edge", color=COLOURS[number])
        if edges[0] <= threshold <= edges[-1]:
            axes.axvline(threshold, color=ink, linestyle="--", linewidth=1)
        if ticks is not None:
            axes.set_xticks([position for position, _ in ticks], [name for _, name in ticks], rotation=30)
        return drawing


def confusion_figure(
    matrix: NDArray[Any],
    classes: Sequence[str],
    *,
    title: str = "Documents by true and predicted class",
    ink: str = "black",
) -> Figure:
    """Rows are true classes, columns are predicted classes.

    The shade is the share of the row, the number counts documents.
    """
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    side = float(np.clip(1.8 + 0.34 * len(classes), 3.6, 14))
    with style(ink) as library:
        drawing, axes = _axes(library, title, "predicted (shade: share of the row)", "true class", size=(side, side))
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        axes.set_xticks(range(len(classes)), classes, rotation=90)
        axes.set_yticks(range(len(classes)), classes)
        axes.grid(visible=False)
        for row, column in zip(*np.nonzero(matrix), strict=True):
            shade = "white" if shares[row, column] > 0.55 else "black"
            axes.text(column, row, f"{matrix[row, column]}", ha="center", va="center", color=shade, fontsize=7)
        return drawing


def classes_figure(
    values: Mapping[str, Floats], classes: Sequence[str], *, title: str = "Precision, recall and F1", ink: str = "black"
) -> Figure:
    """Horizontal bars for each class, one for each measure."""
    height = float(np.clip(1.4 + 0.16 * len(classes) * (len(values) + 0.6), 2.6, 40))
    with style(ink) as library:
        drawing, axes = _axes(library, title, "value, 0 to 1", "", size=(4.8, height))
        wide = 0.8 / len(values)
        places = np.arange(len(classes))
        for number, (name, numbers) in enumerate(values.items()):
            offset = (number - (len(values) - 1) / 2) * wide
            axes.barh(places + offset, numbers, height=wide * 0.9, label=name, color=COLOURS[number % len(COLOURS)])
        axes.set_yticks(places, classes)
        axes.set(xlim=(0, 1), ylim=(len(classes) - 0.4, -0.6))
        axes.grid(visible=False, axis="y")
        _legend(drawing, axes, 3)
        return drawing


def save_figure(drawing: Figure, path: Path | str) -> Path:
    """Write a figure in the format given by the file name, atomically."""
    path, content = Path(path), io.BytesIO()
    kind = figure_format(path)
    with style(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        drawing.savefig(content, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)
    if kind != "svg" and any("missing from" in str(warning.message) for warning in caught):
        sentence = f"no font of the figure has some characters of its labels, which {path} shows as boxes"
        warnings.warn(f"{sentence}; use an .svg, which the viewer's fonts can display", UnnaiveWarning, stacklevel=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(path, binary=True) as file:
        file.write(content.getvalue())
    return path


def figure_format(path: Path) -> str:
    """The format given by a file name.

    >>> figure_format(Path("curve.gif"))
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: curve.gif: a figure cannot be written as .gif; give a name that ends in .png, ...
    """
    return choose_ending(path, FIGURES, "a figure").removeprefix(".")


def inline_svg(drawing: Figure, alt: str) -> str:
    """A figure as an <svg> element for a page: no fixed text colour, no ids that may clash, and an alternative text.

    Draw it with ink=INK.
    """
    buffer = io.StringIO()
    with style():
        drawing.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    for number, colour in enumerate(COLOURS, 1):
        svg = svg.replace(colour, f"var(--series-{number})")
    mark = f"f{zlib.crc32(alt.encode()):x}"
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{mark}-\1"', svg)
    svg = re.sub(r"url\(#([^()]+)\)", rf"url(#{mark}-\1)", svg)
    svg = re.sub(r'xlink:href="#([^"]+)"', rf'href="#{mark}-\1"', svg)
    svg = re.sub(r"<metadata>[^<]*+(?:<(?!/?metadata>)[^<]*+)*+</metadata>", "", svg, flags=re.DOTALL)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt, quote=True)}" ', 1)
