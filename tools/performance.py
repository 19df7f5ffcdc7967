"""Writes the tables of docs/performance.md: the headline rows of benchmarks/README.md, where every figure is kept once.

python tools/performance.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
BENCHMARKS, PAGE = ROOT / "benchmarks" / "README.md", ROOT / "docs" / "performance.md"
START, END = "<!-- written by tools/performance.py -->\n", "<!-- end of the tables -->\n"
SHOWN = {  # heading → script → (its subject, how the rows begin that are shown)
    "From text to model and labels": {
        "vectorise.py": ("counting", ("text →", "transform", "words and pairs", "Turkish", "peak memory")),
        "train_text.py": ("naive Bayes", ("raw text → trained", "raw text → predictions", "peak memory")),
        "large_file.py": ("large files", ("reading", "the JSON lines → model", "the JSON lines → predictions")),
        "startup.py": ("command line", ("`unnaive --help`", "`unnaive predict`")),
    },
    "Models": {
        "information_gain.py": ("information gain", ("all of",)),
        "maxent.py": ("maximum entropy", ("a GIS iteration", "L-BFGS", "its peak memory")),
        "or_gate.py": ("OR gate", ("training", "scoring")),
        "higher_order.py": ("higher order", ("smoothing at 2,000", "higher-order naive Bayes", "all 90,072")),
        "hierarchical.py": ("hierarchical networks", ("structure", "against pgmpy")),
        "auto_predict.py": ("`auto`", ("raw text",)),
        "label_tree.py": ("label tree", ("Reuters-90", "20,000")),
        "many_classes.py": ("many classes", ("100,000",)),
    },
    "Everything around them": {
        "measures.py": ("measures", ("28 measures",)),
        "label_errors.py": ("label errors", ("suspected", "`--fast` against")),
        "near_duplicates.py": ("near duplicates", ("near duplicates", "against datasketch")),
        "service.py": ("service", ("single texts", "batches")),
        "spark.py": ("Spark", ("raw text",)),
        "out_of_core.py": ("out of core", ("training from batches",)),
    },
}


class Row(NamedTuple):
    """A row of the table of benchmarks/README.md."""

    what: str
    wanted: str
    measured: str


def read_rows(text: str) -> dict[str, list[Row]]:
    """The rows of each script; a row without the name of one belongs to the script above it.

    >>> read_rows("| `a.py` | speed | ≥ 2× | 3× | |\\n| | memory | ≤ 1 | 0.5 | |")["a.py"][1].measured
    '0.5'
    """
    found: dict[str, list[Row]] = {}
    script = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if len(cells) < 4 or cells[0] == "script" or cells[0].startswith("--"):
            continue
        script = cells[0].strip("`") or script
        found.setdefault(script, []).append(Row(*cells[1:4]))
    return found


def find_row(rows: list[Row], words: str, script: str) -> Row:
    """The first row that begins with these words."""
    for row in rows:
        if row.what.startswith(words):
            return row
    raise SystemExit(f"no row of {script} in {BENCHMARKS} begins with {words!r}; correct SHOWN in {__file__}")


def describe_machine(text: str) -> str:
    """What benchmarks/README.md says of the machine and of the versions of the peers."""
    found = re.search(r"^The figures below: (.*?)\n\n", text, re.DOTALL | re.MULTILINE)
    if found is None:
        raise SystemExit(f"{BENCHMARKS} has no paragraph that begins with 'The figures below:'")
    return found[1]


def render_tables(text: str) -> str:
    """The machine, and the tables."""
    rows, parts = read_rows(text), [f"Measured on {describe_machine(text)}\n"]
    for heading, scripts in SHOWN.items():
        parts.append(f"### {heading}\n\n| | what | measured | target |\n|---|---|---|---|")
        for script, (subject, beginnings) in scripts.items():
            for number, words in enumerate(beginnings):
                row = find_row(rows[script], words, script)
                parts.append(f"| {'' if number else subject} | {row.what} | {row.measured} | {row.wanted} |")
        parts.append("")
    return "\n".join(parts)


def render_page(page: str, text: str) -> str:
    """The page with its tables replaced."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{render_tables(text)}\n{END}{after}"


def main() -> None:
    """Write the page."""
    text = BENCHMARKS.read_text(encoding="utf-8")
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
