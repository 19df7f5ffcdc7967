"""Draws docs/assets/spine.svg: how a text becomes a label, and which of the steps are learnt.

python tools/spine_picture.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from unnaive.base.palette import LIGHT, TINTS

PLACE = Path(__file__).parents[1] / "docs" / "assets" / "spine.svg"
WIDE, HIGH, ACROSS, DOWN = 200, 88, 76, 50  # of boxes, and between them
INK, SOFT, LINE = LIGHT["ink"], LIGHT["faint"], LIGHT["faint"]
COLOURS = {"read": TINTS["blue"], "learn": TINTS["orange"], "score": TINTS["green"]}

# (column, row, kind, title, example, where in the code)
BOXES = {
    "texts": (0, 0, "read", "texts and labels", '"I was charged twice"', "io/"),
    "tokens": (1, 0, "read", "tokens", "was, charged, twice", "text/tokens.py"),
    "matrix": (2, 0, "read", "X and Y", "terms and labels, a row each", "text/counting.py"),
    "counts": (2, 1, "learn", "Counts", "sums over documents", "data/counts.py"),
    "learner": (3, 1, "learn", "learner", "all documents at once", "models/"),
    "linear": (2, 2, "score", "Linear", "weights and bias by class", "linear/linear.py"),
    "scores": (1, 2, "score", "scores, probabilities", "billing 0.97, bug 0.02, …", "linear/links.py"),
    "labels": (0, 2, "score", "labels", "billing", "learning/decisions.py"),
}
ARROWS = (
    ("texts", "tokens", "split, fold"),
    ("tokens", "matrix", "count"),
    ("matrix", "counts", "add up"),
    ("matrix", "learner", ""),
    ("counts", "linear", "rule"),
    ("learner", "linear", "train"),
    ("linear", "scores", "X · weights"),
    ("scores", "labels", "decide"),
)
LEGEND = (
    ("read", "how texts are read"),
    ("learn", "learnt: by sums, or by a learner"),
    ("score", "from weights to labels"),
)


def corner(name: str) -> tuple[float, float]:
    """The upper left corner of a box."""
    column, row = BOXES[name][:2]
    return 16 + column * (WIDE + ACROSS), 16 + row * (HIGH + DOWN)


def draw_box(name: str) -> str:
    """A box with its title, an example and its place in the code."""
    x, y = corner(name)
    _, _, kind, title, example, where = BOXES[name]
    middle = x + WIDE / 2
    return (
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="8" fill="{COLOURS[kind]}" stroke="{LINE}"/>'
        f'<text x="{middle}" y="{y + 28}" class="title">{escape(title)}</text>'
        f'<text x="{middle}" y="{y + 51}" class="example">{escape(example)}</text>'
        f'<text x="{middle}" y="{y + 75}" class="code">{escape(where)}</text>'
    )


def draw_arrow(start: str, end: str, words: str) -> str:
    """An arrow between two boxes: beside each other, above each other, or aslant to or from the side of the second."""
    (x1, y1), (x2, y2) = corner(start), corner(end)
    if y1 == y2:
        ahead = x2 > x1
        first = (x1 + WIDE if ahead else x1, y1 + HIGH / 2)
        last = (x2 - 9 if ahead else x2 + WIDE + 9, y2 + HIGH / 2)
        at = ((first[0] + last[0]) / 2, first[1] - 9)
    elif x1 == x2:
        first, last = (x1 + WIDE / 2, y1 + HIGH), (x2 + WIDE / 2, y2 - 9)
        at = (first[0] + 26, (first[1] + last[1]) / 2 + 4)
    elif x2 > x1:
        first, last = (x1 + WIDE, y1 + HIGH - 20), (x2 + WIDE / 2, y2 - 9)
        at = last
    else:
        first, last = (x1 + WIDE / 2, y1 + HIGH), (x2 + WIDE + 9, y2 + 20)
        at = ((first[0] + last[0]) / 2 + 28, (first[1] + last[1]) / 2 + 14)
    line = f'<line x1="{first[0]}" y1="{first[1]}" x2="{last[0]}" y2="{last[1]}" class="arrow" marker-end="url(#tip)"/>'
    return line + (f'<text x="{at[0]}" y="{at[1]}" class="step">{escape(words)}</text>' if words else "")


def draw_legend() -> str:
    """What the colours mean, in the free space on the left."""
    x, y = 16, 16 + HIGH + DOWN + 8
    return "".join(
        f'<rect x="{x}" y="{y + 26 * number}" width="14" height="14" rx="3" fill="{COLOURS[kind]}" stroke="{LINE}"/>'
        f'<text x="{x + 22}" y="{y + 12 + 26 * number}" class="legend">{escape(words)}</text>'
        for number, (kind, words) in enumerate(LEGEND)
    )


def draw() -> str:
    """The whole picture."""
    width, height = 32 + 4 * WIDE + 3 * ACROSS, 32 + 3 * HIGH + 2 * DOWN
    style = (
        f"text {{ font-family: system-ui, 'DejaVu Sans', sans-serif; text-anchor: middle; fill: {INK}; }} "
        ".title { font-size: 16px; font-weight: 600; } .example { font-size: 12.5px; } "
        f".code {{ font-size: 11.5px; font-family: ui-monospace, 'DejaVu Sans Mono', monospace; fill: {SOFT}; }} "
        f".step {{ font-size: 11.5px; fill: {SOFT}; }} .arrow {{ stroke: {SOFT}; stroke-width: 1.6; }} "
        ".legend { text-anchor: start; font-size: 12.5px; }"
    )
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f"<style>{style}</style>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="3" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L10 5L0 10z" fill="{SOFT}"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="white" rx="8"/>',
        *(draw_box(name) for name in BOXES), *(draw_arrow(*arrow) for arrow in ARROWS), draw_legend(), "</svg>", "",
    ])  # fmt: skip


if __name__ == "__main__":
    PLACE.write_text(draw(), encoding="utf-8")
