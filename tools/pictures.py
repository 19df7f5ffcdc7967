"""Makes the pictures of the README: docs/assets/terminal.svg, what a first session prints, and docs/assets/report.png.

python tools/pictures.py    (needs a Chromium: the one that playwright finds, or the one on the PATH)

The session is run in a terminal of its own, in an empty folder; the report is the page that it writes.
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

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
COLUMNS = 104
SESSION = (  # (command, how many lines of its beginning and of its end are shown; None for not at all)
    ("unnaive demo -o demo", None),
    ("unnaive train tickets/train.csv --label queue -o tickets.model --test tickets/test.csv", (5, 2)),
    ('unnaive explain tickets.model "I was charged twice, please refund me"', (10, 0)),
    ("unnaive evaluate tickets.model tickets/test.csv --report report.html", None),
)
THEME = TerminalTheme(
    (24, 26, 33), (222, 224, 230),
    [(24, 26, 33), (240, 113, 120), (126, 211, 140), (240, 200, 110), (110, 170, 250), (200, 150, 240), (100, 210, 220),
     (222, 224, 230)],
)  # fmt: skip
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


def picture_report(page: Path) -> None:
    """The top of the report, as a browser shows it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        view = browser.new_page(viewport={"width": 1000, "height": 860})
        view.goto(page.as_uri())
        view.screenshot(path=ASSETS / "report.png")
        browser.close()


def main() -> None:
    """Make both pictures."""
    with tempfile.TemporaryDirectory() as name:
        draw_session(Path(name))
        picture_report(Path(name) / "report.html")


if __name__ == "__main__":
    main()
