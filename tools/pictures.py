"""Makes the pictures of a first session: docs/assets/terminal.svg, what it prints, and docs/assets/report*.png.

python tools/pictures.py    (needs a Chromium: the one that playwright finds, or the one on the PATH)

The session is run in a terminal of its own, in an empty folder; the reports are the pages that it writes.
"""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from unnaive.base.palette import DARK, DARK_SERIES

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
COLUMNS = 104
SESSION = (  # (command, how many lines of its beginning and of its end are shown; None for not at all)
    ("unnaive demo -o demo", None),
    ("unnaive train demo/train.csv --label queue -o tickets.model --test demo/test.csv", (5, 2)),
    ('unnaive explain tickets.model "I was charged twice, please refund me" --report why.html', (10, 0)),
    ("unnaive evaluate tickets.model demo/test.csv --report report.html", None),
    (
        "unnaive compare demo/train.csv --label queue --models complement,nbsvm,svm --folds 5 --report compare.html",
        None,
    ),
    ("unnaive audit demo/train.csv --label queue --report audit.html", None),
)
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 800}
COLOURS = 64  # of a picture: a page has few, and the file is a quarter as large


def rgb(colour: str) -> tuple[int, int, int]:
    """A colour of the palette as numbers.

    >>> rgb("#0072b2")
    (0, 114, 178)
    """
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


PAPER, INK = rgb(DARK["paper"]), rgb(DARK["ink"])
THEME = TerminalTheme(  # black, red, green, yellow, blue, magenta, cyan, white
    PAPER, INK, [PAPER, rgb(DARK["bad"]), *(rgb(DARK_SERIES[number]) for number in (2, 4, 0, 3, 5)), INK]
)
# rich's own format without fonts that would be fetched from elsewhere
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def run_in_terminal(command: str, folder: Path) -> str:
    """What the command leaves on a terminal, with colours; what it wrote over, such as progress, is gone."""
    words = [sys.executable, "-m", "unnaive", *shlex.split(command)[1:]]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.environ |= {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
        os.execv(words[0], words)
    parts = []
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux tells the end of a terminal so
            break
        if not part:
            break
        parts.append(part)
    if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
        raise SystemExit(f"{command} failed:\n{b''.join(parts).decode()}")
    return "\n".join(visible_lines(b"".join(parts).decode()))


def visible_lines(written: str) -> list[str]:
    """The lines that are left after cursor movements: a line erased, or the one above it written over.

    >>> visible_lines("50 %\\x1b[2K100 %\\r\\n\\x1b[1A\\x1b[2Kdone\\r\\nnext\\r\\n")
    ['done', 'next']
    """
    lines: list[str] = []
    for line in written.replace("\r\n", "\n").rstrip("\n").split("\n"):
        for _ in range(line.count("\x1b[1A")):
            lines.pop()
        lines.append(re.sub(r"\x1b\[\?25[hl]", "", line.split("\x1b[2K")[-1]).replace("\r", ""))
    return lines


def shorten(text: str, first: int, last: int) -> str:
    """The text with an ellipsis in the place of all but its first and last lines."""
    lines = text.split("\n")
    return "\n".join([*lines[:first], "   …", *lines[len(lines) - last :]]) if len(lines) > first + last else text


def draw_session(folder: Path) -> None:
    """Run the session and draw what it shows."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for command, shown in SESSION:
        printed = run_in_terminal(command, folder)
        if shown is not None:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            console.print(Text.from_ansi(shorten(printed, *shown)))
            console.print()
    svg = console.export_svg(title="unnaive", theme=THEME, code_format=FORMAT, unique_id="session")
    (ASSETS / "terminal.svg").write_text(svg, encoding="utf-8")


def shoot(view: Any, name: str) -> None:
    """Keep a picture of what the browser shows."""
    picture = Image.open(io.BytesIO(view.screenshot()))
    small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(ASSETS / f"report{name}.png", optimize=True)


def picture_reports(folder: Path) -> None:
    """The reports, as a browser shows them: their tops, the documents of a cell, and findings that are accepted."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])

        def open_page(name: str, size: dict[str, int] = WIDE, scheme: str = "light") -> Any:
            view = browser.new_context(viewport=size, color_scheme=scheme).new_page()
            view.goto((folder / f"{name}.html").as_uri())
            return view

        shoot(open_page("report"), "")
        shoot(open_page("report", NARROW, "dark"), "-phone")
        view = open_page("report", scheme="dark")
        view.locator("table.pairs a[data-cell]").first.click()
        shoot(view, "-documents")
        shoot(open_page("compare"), "-compare")
        shoot(open_page("why", scheme="dark"), "-explain")
        view = open_page("audit")
        for number in (0, 2):
            view.locator("input[data-line]").nth(number).check()
        view.locator("#suspected-label-errors").evaluate("element => element.scrollIntoView()")
        shoot(view, "-audit")
        browser.close()


def main() -> None:
    """Make all pictures."""
    with tempfile.TemporaryDirectory() as name:
        draw_session(Path(name))
        picture_reports(Path(name))


if __name__ == "__main__":
    main()
