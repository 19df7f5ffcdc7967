"""Draws docs/assets/auto-rounds.svg: what `auto` tries, what goes on, and what is trained in the end.

python tools/auto_picture.py    (the numbers are those of the grid and of the limits in models/auto/)
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from unnaive.base.palette import LIGHT, TINTS
from unnaive.models.auto.candidates import USUAL
from unnaive.models.auto.elimination import NEXT, ROUNDS
from unnaive.models.auto.plan import JUDGED

_, FIRST = ROUNDS
PLACE = Path(__file__).parents[1] / "docs" / "assets" / "auto-rounds.svg"
WIDE, HIGH, ACROSS, DOWN, LEFT, TOP = 172, 98, 22, 24, 10, 40
INK, SOFT, LINE = LIGHT["ink"], LIGHT["faint"], LIGHT["faint"]
COLOURS = {"try": TINTS["orange"], "pool": TINTS["blue"], "fit": TINTS["green"]}

FAMILY_NAMES = {one.family for one in USUAL}
HEADINGS = ("round 1", "round 2", "scale", "pool", "in the end")
# (column, row, kind, lines: the first is the title)
BOXES = {
    "words": (0, 0, "try", ("words", f"{len(USUAL)} settings of", f"{len(FAMILY_NAMES)} families on",
                            f"{FIRST} documents")),
    "words-on": (1, 0, "try", (f"best {ROUNDS[FIRST]} of a family", "on the other", "held-out documents",
                               f"(about {JUDGED:,})")),
    "words-best": (2, 0, "try", ("best of a family", "scaled by a", "temperature")),
    "words-pool": (3, 0, "pool", ("pool of words", "weights that", "minimise log-loss")),
    "pairs": (0, 1, "try", ("words and pairs", f"best {NEXT} settings of", "families that help", "the pool of words")),
    "pairs-on": (1, 1, "try", (f"best {ROUNDS[FIRST]} of a family", "in the same way")),
    "pairs-best": (2, 1, "try", ("best of a family", "in the same way")),
    "pairs-pool": (3, 1, "pool", ("pool of pairs", "in the same way")),
    "characters": (0, 2, "try", ("characters", f"best {NEXT} settings of", "families that help", "the pool of words")),
    "characters-on": (1, 2, "try", (f"best {ROUNDS[FIRST]} of a family", "in the same way")),
    "characters-best": (2, 2, "try", ("best of a family", "in the same way")),
    "characters-pool": (3, 2, "pool", ("pool of characters", "in the same way")),
    "views": (4, 0, "pool", ("pool of views", "calibrated on", "held-out documents")),
    "fit": (4, 1, "fit", ("last fit", "members of the pool", "on all documents")),
    "model": (4, 2, "fit", ("linear models", "one for each view,", "scores are added")),
}  # fmt: skip
ARROWS = tuple(
    (f"{view}{one}", f"{view}{other}")
    for view in ("words", "pairs", "characters")
    for one, other in (("", "-on"), ("-on", "-best"), ("-best", "-pool"))
)
DOWNWARD = (("views", "fit"), ("fit", "model"))


def corner(name: str) -> tuple[float, float]:
    """The upper left corner of a box."""
    column, row = BOXES[name][:2]
    return LEFT + column * (WIDE + ACROSS), TOP + row * (HIGH + DOWN)


def draw_box(name: str) -> str:
    """A box with its lines."""
    x, y = corner(name)
    _, _, kind, lines = BOXES[name]
    middle = x + WIDE / 2
    texts = "".join(
        f'<text x="{middle}" y="{y + 25 + 20 * number}" class="{"line" if number else "title"}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    rect = f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="8" fill="{COLOURS[kind]}" stroke="{LINE}"/>'
    return rect + texts


def draw_arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A line with a head."""
    return (
        f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="{SOFT}" stroke-width="1.5" '
        'marker-end="url(#head)"/>'
    )


def arrows() -> list[str]:
    """From round to round, from the pools to that of the views, and down to the model."""
    found = []
    for one, other in ARROWS:
        (x, y), (to, _) = corner(one), corner(other)
        found.append(draw_arrow((x + WIDE, y + HIGH / 2), (to - 3, y + HIGH / 2)))
    to, top = corner("views")
    for number, view in enumerate(("words", "pairs", "characters")):
        x, y = corner(f"{view}-pool")
        found.append(draw_arrow((x + WIDE, y + HIGH / 2), (to - 3, top + HIGH / 2 + 12 * number)))
    for one, other in DOWNWARD:
        (x, y), (_, below) = corner(one), corner(other)
        found.append(draw_arrow((x + WIDE / 2, y + HIGH), (x + WIDE / 2, below - 3)))
    return found


def draw() -> str:
    """The picture."""
    width, height = 2 * LEFT + 5 * WIDE + 4 * ACROSS, TOP + 3 * HIGH + 2 * DOWN + 16
    headings = [
        f'<text x="{LEFT + column * (WIDE + ACROSS) + WIDE / 2}" y="25" class="heading">{escape(heading)}</text>'
        for column, heading in enumerate(HEADINGS)
    ]
    style = (
        "text{font-family:system-ui,sans-serif;text-anchor:middle}"
        f".title{{font-size:15.5px;font-weight:600;fill:{INK}}}.line{{font-size:15px;fill:{SOFT}}}"
        f".heading{{font-size:15px;font-weight:600;fill:{SOFT}}}"
    )
    head = (
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{SOFT}"/></marker></defs>'
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img"><style>{style}</style>{head}',
            f'<rect width="{width}" height="{height}" fill="{LIGHT["paper"]}"/>',
            *headings, *arrows(), *map(draw_box, BOXES), "</svg>\n",
        ]
    )  # fmt: skip


if __name__ == "__main__":
    PLACE.write_text(draw())
