"""The one palette, of the terminal, reports, the pages of `serve` and `label`, figures and the documentation.

The colours of series are those of Okabe and Ito, which people with any colour vision can tell apart; on dark pages they
are lighter. `for` and `against` colour evidence, `good` and `bad` verdicts; marks are backgrounds of text.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff", "ink": "#1b1f24", "faint": "#59626d", "line": "#d0d6dd", "panel": "#f5f7f9",
    "accent": "#0072b2", "on-accent": "#ffffff", "for": "#0072b2", "against": "#d55e00", "good": "#00724f",
    "bad": "#a83a00", "mark-for": "#0072b2", "mark-against": "#d55e00",
}  # fmt: skip
DARK = {
    "paper": "#14171b", "ink": "#e6e9ed", "faint": "#9fa9b4", "line": "#373f48", "panel": "#1c2127",
    "accent": "#56b4e9", "on-accent": "#10151c", "for": "#56b4e9", "against": "#f0a35e", "good": "#4fd1a5",
    "bad": "#f0a35e", "mark-for": "#0b6aa3", "mark-against": "#b0561a",
}  # fmt: skip
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # of figures, in order
DARK_SERIES = ("#56b4e9", "#f0a35e", "#4fd1a5", "#e29fc4", "#f2c14e", "#a9b8ff")  # the same series on dark pages
# between the light and the dark ones, since a terminal does not tell which it is; of the 256 that most terminals have
TERMINAL = {"for": "#0087d7", "against": "#d75f00"}
TINTS = {"blue": "#e8f0fe", "orange": "#fdf0e3", "green": "#e7f6ec"}  # of boxes in diagrams


def css_variables() -> str:
    """The palette as CSS: variables for light pages and for paper, and for dark pages.

    >>> css_variables().splitlines()[1][:40]
    '  color-scheme: light dark; --paper: #ff'
    """
    light, dark = _declare(LIGHT, SERIES), _declare(DARK, DARK_SERIES)
    return (
        f":root {{\n  color-scheme: light dark; {light}\n}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n  :root {{ {dark} }}\n}}\n"
    )


def _declare(colours: dict[str, str], series: tuple[str, ...]) -> str:
    named = colours | {f"series-{number}": colour for number, colour in enumerate(series, 1)}
    return " ".join(f"--{name}: {colour};" for name, colour in named.items())
