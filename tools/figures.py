"""Draws the figures of the README and of the pages, as SVG files in docs/assets, from figures that were measured.

    python tools/figures.py              draw all of them again
    python tools/figures.py --measure    measure docs/calibration.json first (needs Ohsumed, about a minute)

The other figures are drawn from docs/models.json (tools/model_table.py), docs/learning-curves.json
(benchmarks/auto_curves.py) and docs/performance.md (tools/performance.py). A test compares the files with the data.
The type is large enough to read them on a phone.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from html import escape
from math import log10
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from unnaive.base.palette import LIGHT, SERIES

DOCS = Path(__file__).parents[1] / "docs"
ASSETS = DOCS / "assets"
CALIBRATION = DOCS / "calibration.json"
OURS, THEIRS, GREEN = SERIES[:3]
INK, SOFT, GRID = LIGHT["ink"], LIGHT["faint"], LIGHT["line"]
FEWEST = 10  # predictions of a bin of calibration that is drawn
WIDTH, SIZE, SMALL = 640, 17, 14  # px: of a figure, of its type
PEER_NAMES = {  # what a peer of docs/models.json is called in a figure
    "LinearSVC, tf-idf of words, pairs and characters": "LinearSVC, words + pairs + chars",
    "LinearSVC, tf-idf of characters": "LinearSVC, characters",
    "LinearSVC, tf-idf of words": "LinearSVC, words",
    "LinearSVC, tf-idf of words and pairs": "LinearSVC, words + pairs",
    "RidgeClassifier, tf-idf of words and pairs": "Ridge, words + pairs",
    "RidgeClassifier, tf-idf of characters": "Ridge, characters",
    "LogisticRegression, tf-idf of characters": "LogisticRegression, characters",
    "ComplementNB, tf-idf of words": "ComplementNB, tf-idf",
    "fastText, words": "fastText",
}
CROWDED = 20  # points, from which on names of peers are short
README_MODELS = ("auto", "auto-fast", "nbsvm", "svm", "maxent", "complement", "multinomial")
README_PEERS = (
    "LinearSVC, tf-idf of words, pairs and characters", "LinearSVC, tf-idf of words",
    "LogisticRegression, tf-idf of characters", "ComplementNB, tf-idf of words", "fastText, words",
)  # fmt: skip
SPEEDS = {  # what a bar says → words of the row of docs/performance.md whose first figure it shows
    "count words: CountVectorizer": "text → CSR and vocabulary",
    "train naive Bayes: MultinomialNB": "raw text → trained, against CountVectorizer",
    "predict with naive Bayes: MultinomialNB": "raw text → predictions by the whole classifier",
    "predict with auto: LinearSVC": "raw text → predictions of the pool",
    "softmax regression: LogisticRegression": "L-BFGS, against LogisticRegression",
    "near duplicates: datasketch": "against datasketch",
    "answer requests: FastAPI + scikit-learn": "single texts, requests per second",
}


class Axis(NamedTuple):
    """A scale of one direction: values from `low` to `high` on pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value."""
        low, high, value = (log10(x) if self.logarithmic else x for x in (self.low, self.high, value))
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def text(
    x: float, y: float, words: str, *, size: int = SIZE, anchor: str = "start", fill: str = INK, bold: bool = False
) -> str:
    """A line of text."""
    weight = ' font-weight="600"' if bold else ""
    look = f'font-size="{size}" text-anchor="{anchor}" fill="{fill}"{weight}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str = GRID, width: float = 1, dashes: str = "") -> str:
    """A straight line."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"{dashed}/>'


def dot(x: float, y: float, colour: str, square: bool = False) -> str:
    """A point: round, or square so that two kinds differ without colour too."""
    if square:
        return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="{colour}"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{colour}"/>'


def curve(points: Iterable[tuple[float, float]], colour: str, dashes: str = "") -> str:
    """A line through points."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="3"{dashed}/>'


def drawing(height: float, alt: str, parts: Iterable[str]) -> str:
    """A whole figure on white, so that it can be read on a dark page too."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
        f'aria-label="{escape(alt, quote=True)}" font-family="system-ui, sans-serif">'
    )
    return "\n".join([head, f'<rect width="{WIDTH}" height="{height:g}" fill="{LIGHT["paper"]}"/>', *parts, "</svg>\n"])


def grid(
    x: Axis, y: Axis, xs: Sequence[float], ys: Sequence[float], x_title: str, y_title: str, show: Callable[[float], str]
) -> list[str]:
    """Lines with their values, and the titles of the axes: that of y above it, so that nobody turns their head."""
    parts = [line(x.at(value), y.start, x.at(value), y.end) for value in xs]
    parts += [line(x.start, y.at(value), x.end, y.at(value)) for value in ys]
    parts += [text(x.at(value), y.start + 22, show(value), size=SMALL, anchor="middle", fill=SOFT) for value in xs]
    parts += [text(x.start - 8, y.at(value) + 5, f"{value:g}", size=SMALL, anchor="end", fill=SOFT) for value in ys]
    parts.append(text((x.start + x.end) / 2, y.start + 46, x_title, size=SMALL, anchor="middle", fill=SOFT))
    return [*parts, text(x.start - 40, y.end - 14, y_title, size=SMALL, fill=SOFT)]


def legend(y: float, entries: Sequence[tuple[str, str, bool]]) -> list[str]:
    """(name, colour, square) in a row."""
    parts, left = [], 24.0
    for name, colour, square in entries:
        parts += [dot(left, y - 5, colour, square), text(left + 13, y, name, bold=True)]
        left += 52 + 9.2 * len(name)
    return parts


# Accuracy against training time.


def accuracy_and_time(content: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """By model or peer: mean accuracy in %, and processor seconds of training on all six collections together."""
    collections = content["collections"].values()
    names = set.intersection(*(set(figures) for figures in collections))
    return {
        name: (
            100 * mean(figures[name]["accuracy"] for figures in collections),
            sum(figures[name]["train_seconds"] for figures in collections),
        )
        for name in sorted(names)
        if all("accuracy" in figures[name] for figures in collections)
    }


def draw_accuracy_time(
    points: dict[str, tuple[float, float]], *, lowest: float, longest: float, height: float, title: str
) -> str:
    """Models and peers; the best are high and on the left; `longest` leaves room for names on the right."""
    x, y = Axis(0.05, longest, 58, WIDTH - 20, logarithmic=True), Axis(lowest, 92, height - 62, 96)
    ticks = [value for value in range(0, 100, 2 if 92 - lowest < 20 else 5) if lowest <= value <= 92]
    parts = [text(18, 28, title, bold=True), *legend(58, [("unnaive", OURS, False), ("other tools", THEIRS, True)])]
    parts += grid(
        x, y, (0.1, 1, 10), ticks, "processor seconds to train on all six collections (less is better)",
        "mean accuracy, %", lambda value: f"{value:g} s",
    )  # fmt: skip
    places = {name: (x.at(seconds), y.at(accuracy)) for name, (accuracy, seconds) in points.items()}
    taken = [(left - 8, top - 8, left + 8, top + 8) for left, top in places.values()]
    for name in sorted(points, key=lambda name: -points[name][1]):  # names on the right have the least room
        left, top = places[name]
        ours = name not in PEER_NAMES
        colour, words = (OURS, name) if ours else (THEIRS, PEER_NAMES[name])
        if len(points) > CROWDED:
            words = words.replace("LinearSVC", "SVC").replace("LogisticRegression", "LogReg").replace(" + ", ", ")
        parts += [dot(left, top, colour, not ours), *label(words, left, top, colour, taken, (x.start, x.end))]
    alt = "; ".join(f"{name}: {accuracy:.1f} % in {seconds:.2g} s" for name, (accuracy, seconds) in points.items())
    return drawing(height, f"{title}. {alt}", parts)


Box = tuple[float, float, float, float]


def crosses(start: tuple[float, float], end: tuple[float, float], taken: list[Box]) -> bool:
    """Whether a line from a point crosses a name or another point; its own point does not count."""
    others = [box for box in taken if not (box[0] < start[0] < box[2] and box[1] < start[1] < box[3])]
    steps = [(start[0] + t / 8 * (end[0] - start[0]), start[1] + t / 8 * (end[1] - start[1])) for t in range(9)]
    return any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in steps for box in others)


def label(words: str, x: float, y: float, colour: str, taken: list[Box], sides: tuple[float, float]) -> list[str]:
    """The name beside a point, where it covers nothing; its line crosses another name only if it must."""
    wide = 0.57 * SMALL * len(words)
    near, far = (x + 11, x - 11 - wide), (x + 18, x - wide / 2, x + 4, x - wide - 4, x + 11 - wide)
    shifts = (0, -13, 13, -18, 18, -23, 23, -28, 28, -33, 33, -40, 40, -48, 48, -58, 58)
    for strict, dy in [(strict, dy) for strict in (True, False) for dy in shifts]:
        for left in near if abs(dy) < 20 else far:
            box = (left, y + dy - 8, left + wide, y + dy + 8)
            free = all(box[2] < b[0] or b[2] < box[0] or box[3] < b[1] or b[3] < box[1] for b in taken)
            inside = left >= sides[0] - 4 and box[2] <= sides[1] + 16
            end = min(max(x, left), box[2]), y + dy - (7 if dy > 0 else -7)
            if free and inside and not (strict and crosses((x, y), end, taken)):
                taken.append(box)
                leader = [line(x, y, *end, colour)] if abs(dy) > 13 else []
                if box[2] < x:  # on the left
                    return [*leader, text(box[2], y + dy + 5, words, size=SMALL, fill=colour, anchor="end")]
                return [*leader, text(left, y + dy + 5, words, size=SMALL, fill=colour)]
    return []


# Accuracy by the number of documents.


def mean_curves(content: dict[str, Any]) -> dict[str, list[tuple[float, float]]]:
    """By tool: (share of the training documents in %, mean accuracy over the collections in %)."""
    shares = list(next(iter(content.values())))
    return {
        key: [(float(share), 100 * mean(mean(rows[share][key]) for rows in content.values())) for share in shares]
        for key in ("auto", "peer")
    }


def draw_documents(content: dict[str, Any]) -> str:
    """The mean curve of `auto` and of LinearSVC."""
    curves, height = mean_curves(content), 420
    x, y = Axis(4.5, 110, 58, WIDTH - 30, logarithmic=True), Axis(66, 94, height - 62, 96)
    title = f"Accuracy by training documents, mean of {len(content)} collections"
    parts = [text(18, 28, title, bold=True), *legend(58, [("auto", OURS, False), ("LinearSVC, tuned", THEIRS, True)])]
    parts += grid(
        x, y, (5, 10, 20, 50, 100), range(70, 95, 5), "share of the training documents", "accuracy, %",
        lambda value: f"{value:g} %",
    )  # fmt: skip
    for key, colour, above in (("peer", THEIRS, False), ("auto", OURS, True)):
        places = [(x.at(share), y.at(accuracy)) for share, accuracy in curves[key]]
        parts += [curve(places, colour), *(dot(*place, colour, key == "peer") for place in places)]
        parts += [
            text(left, top + (-13 if above else 26), f"{accuracy:.1f}", size=SMALL, anchor="middle", fill=colour)
            for (left, top), (_, accuracy) in zip(places, curves[key], strict=True)
        ]
    alt = "; ".join(
        f"{key}: " + ", ".join(f"{a:.1f} % at {s:g} %" for s, a in points) for key, points in curves.items()
    )
    return drawing(height, f"{title}. {alt}", parts)


# Speed against other tools.


def speeds(page: str) -> dict[str, float]:
    """How many times faster than the peer, by what a bar says, from the tables of docs/performance.md."""
    found = {}
    for words, row in SPEEDS.items():
        (cells,) = [one.split("|") for one in page.splitlines() if row in one]
        (number,) = re.findall(r"([\d,.]+)×", cells[3])[:1]
        found[words] = float(number.replace(",", ""))
    return found


def draw_speeds(values: dict[str, float]) -> str:
    """A bar for each task."""
    height, row, top = 92 + 56 * len(values), 56, 66
    x = Axis(0, 50, 18, WIDTH - 70)
    parts = [text(18, 28, "How many times faster than the other tool", bold=True),
             text(18, 50, "the same task on the same machine", size=SMALL, fill=SOFT)]  # fmt: skip
    for number, (words, value) in enumerate(sorted(values.items(), key=lambda item: -item[1])):
        task, peer = words.split(": ")
        y = top + row * number
        parts.append(f'<text x="18" y="{y + 18}" font-size="{SMALL + 1}" fill="{INK}">{escape(task)}'
                     f'<tspan fill="{THEIRS}">, against {escape(peer)}</tspan></text>')  # fmt: skip
        parts.append(
            f'<rect x="{x.start}" y="{y + 25}" width="{x.at(value) - x.start:.1f}" height="16" rx="2" fill="{OURS}"/>'
        )
        parts.append(text(x.at(value) + 8, y + 39, f"{value:g}×", bold=True, fill=OURS))
    alt = "; ".join(f"{words}, {value:g} times" for words, value in values.items())
    return drawing(height, f"How many times faster: {alt}", parts)


# Calibration.


def measure_calibration() -> dict[str, Any]:
    """Reliability curves of naive Bayes with and without calibration, and of `auto`, on the test part of Ohsumed."""
    from unnaive import TextClassifier, evaluate
    from unnaive.papers.collections import load

    corpus = load("ohsumed")
    train, test = corpus.part("train"), corpus.part("test")
    labels = [names[0] for names in train.labels]
    models = {
        "multinomial": TextClassifier("multinomial"),
        "multinomial, calibrated": TextClassifier("multinomial", calibrate="temperature"),
        "auto": TextClassifier("auto"),
    }
    content: dict[str, Any] = {"collection": "Ohsumed", "documents": len(test.texts), "models": {}}
    for name, model in models.items():
        evaluation = evaluate(model.fit(train.texts, labels), test.texts, test.labels, name=test.name)
        *_, curve_of_model = evaluation.calibration().values()  # after calibration, if there was one
        content["models"][name] = curve_of_model.to_dict()
    return content


def draw_calibration(content: dict[str, Any]) -> str:
    """The observed share of right predictions by their probability; calibrated models are on the diagonal."""
    height = 520
    x, y = Axis(0, 1, 58, WIDTH - 30), Axis(0, 1, height - 62, 150)
    looks = {"multinomial": THEIRS, "multinomial, calibrated": GREEN, "auto": OURS}
    title = f"Calibration on {content['collection']}, {content['documents']:,} documents"
    parts = [text(18, 28, title, bold=True)]
    for number, (name, colour) in enumerate(looks.items()):
        error = content["models"][name]["error"]
        parts += [dot(24, 49 + 24 * number, colour, number == 0),
                  text(37, 54 + 24 * number, f"{name}: calibration error {error:.3f}", fill=colour)]  # fmt: skip
    ticks = (0, 0.25, 0.5, 0.75, 1)
    parts += grid(x, y, ticks, ticks, "predicted probability", "share that is right", lambda value: f"{value:g}")
    parts.append(line(x.at(0), y.at(0), x.at(1), y.at(1), SOFT, 2, "3 5"))
    for name, colour in looks.items():
        places = [
            (x.at(one["probability"]), y.at(one["came_true"]))
            for one in content["models"][name]["bins"]
            if one["predictions"] >= FEWEST
        ]
        parts += [curve(places, colour), *(dot(*place, colour, name == "multinomial") for place in places)]
    alt = "; ".join(f"{name}: calibration error {content['models'][name]['error']:.3f}" for name in looks)
    return drawing(height, f"{title}. {alt}", parts)


def draw_all() -> dict[str, str]:
    """Every figure by the name of its file."""
    models = json.loads((DOCS / "models.json").read_text(encoding="utf-8"))
    points = accuracy_and_time(models)
    chosen = {name: points[name] for name in (*README_MODELS, *README_PEERS)}
    n = len(models["collections"])
    return {
        "accuracy-time.svg": draw_accuracy_time(
            chosen, lowest=80, longest=70, height=560, title=f"Accuracy against training time, mean of {n} collections"
        ),
        "accuracy-time-all.svg": draw_accuracy_time(
            points, lowest=58, longest=1500, height=1240, title=f"All models and other tools, mean of {n} collections"
        ),
        "accuracy-documents.svg": draw_documents(
            json.loads((DOCS / "learning-curves.json").read_text(encoding="utf-8"))
        ),
        "speed.svg": draw_speeds(speeds((DOCS / "performance.md").read_text(encoding="utf-8"))),
        "calibration.svg": draw_calibration(json.loads(CALIBRATION.read_text(encoding="utf-8"))),
    }


def main() -> None:
    """Measure if asked, then write the files."""
    if "--measure" in sys.argv:
        CALIBRATION.write_text(json.dumps(measure_calibration(), indent=1) + "\n", encoding="utf-8")
    for name, svg in draw_all().items():
        (ASSETS / name).write_text(svg, encoding="utf-8")
        print(f"wrote docs/assets/{name}")


if __name__ == "__main__":
    main()
