"""docs/statistics.md: what the rows of statistics_*rows.py promise and what was measured, from docs/statistics.json.

    python tools/statistics_suite.py                            write the page again from the draws there are
    python tools/statistics_suite.py --draws 200                simulate up to 200 draws of everything, then write it
    python tools/statistics_suite.py --draws 50 --rows shares   only rows whose key begins so
    python tools/statistics_suite.py --draws 200 --hours 2      stop after so long; those with the fewest draws go first

Draws are kept every minute, and a run goes on where another stopped. Several may run at once, of different collections
or rows: each writes its own draws into what the others wrote. At the end processor seconds for a draw are printed. (The
module is not called statistics, since scripts beside it would then import it in the place of Python's own.)
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import binom, norm
from statistics_label_rows import LABEL_ROWS
from statistics_model_rows import MODEL_ROWS
from statistics_rows import COLLECTIONS, DRIFT_ROWS, Row, collection
from statistics_shift_rows import SHIFT_ROWS

from unnaive.base.atomic_files import replacing
from unnaive.base.errors import BadData
from unnaive.base.system import locked_for_replacing
from unnaive.evaluation.results import versions

DOCS = Path(__file__).parents[1] / "docs"
ROWS = (*DRIFT_ROWS, *MODEL_ROWS, *SHIFT_ROWS, *LABEL_ROWS)
FIGURES, PAGE = DOCS / "statistics.json", DOCS / "statistics.md"
Draws = dict[str, dict[str, list[float | None]]]  # row → collection → one value for each seed
Costs = dict[str, dict[str, list[float]]]  # row → collection → processor seconds of each draw
LEVEL = 0.05  # of all cells of the page together
SAVE_EVERY = 60.0  # seconds
STEP = 10  # draws that are made of everything before any gets more
FIRST = 3  # draws that could not be made from which a collection is too small for a row

INTRODUCTION = """---
search:
  exclude: true  # its many figures would hide the guides
---

# Do the numbers hold?

This page checks by simulation whether the intervals, tests and guarantees of the commands hold.
Written by `make statistics` (`python tools/statistics_suite.py --draws N`) from the draws in `docs/statistics.json`.

The right answer is known in each simulation: for instance, two random samples of one collection have no drift. A cell
has the measured share in %, ± its standard error, and the number of draws. If each class has an interval, the
result of a draw is the share of these intervals that contain the true value.

✗ marks a cell that is significantly worse than promised; {verdict} The level of the tests is 5 % for all cells of the
page together ({each:.2g} for each of {cells}). {draws}
With few draws, only large errors are visible. – marks a cell without draws: the collection is too small, or was not
simulated.
"""


def read_draws() -> Draws:
    """The draws made so far."""
    draws: Draws = json.loads(FIGURES.read_text(encoding="utf-8"))["draws"] if FIGURES.exists() else {}
    return draws


def write_draws(draws: Draws, rows: Sequence[Row], names: Sequence[str]) -> None:
    """Keep the draws of these rows and collections; others stay as they are in the file."""
    with locked_for_replacing(FIGURES):
        kept = read_draws()
        for row in rows:
            own = {name: values for name, values in draws[row.key].items() if name in names}
            kept.setdefault(row.key, {}).update(own)
        with replacing(FIGURES, "w", encoding="utf-8") as file:
            file.write(describe_draws(kept))


def describe_draws(draws: Draws) -> str:
    """The draws as JSON, one line for each row and collection."""
    lines = [
        f"  {json.dumps(key)}: {{\n"
        + ",\n".join(f"   {json.dumps(name)}: {json.dumps(values)}" for name, values in sorted(cells.items()))
        + "\n  }"
        for key, cells in sorted(draws.items())
    ]
    made = json.dumps(versions(), sort_keys=True)
    return f'{{\n "versions": {made},\n "draws": {{\n' + ",\n".join(lines) + "\n }\n}\n"


def run(draws: Draws, rows: Sequence[Row], names: Sequence[str], n_draws: int, hours: float = np.inf) -> Costs:
    """Simulate what is missing and keep it, for so many hours at most; what each row cost.

    By rounds of STEP draws, so that those with few come first. Within a round the seeds of a collection are the outer
    loop: rows that need the same samples or models share them, and the first of them bears what they cost.
    """
    stop, saved = time.monotonic() + 3600 * hours, time.monotonic()
    costs: Costs = {}
    for up_to in range(STEP, n_draws + STEP, STEP):
        for name in names:
            try:
                data = collection(name)
            except BadData as problem:
                print(f"{name} left out: {problem}")
                continue
            started, made = time.process_time(), 0
            cells = [(row, draws.setdefault(row.key, {}).setdefault(name, [])) for row in rows]
            for seed in range(min(up_to, n_draws)):
                for row, values in cells:
                    if len(values) != seed or seed >= row.most or values[:FIRST] == [None] * FIRST:
                        continue
                    began = time.process_time()
                    value = row.simulate(data, seed)
                    costs.setdefault(row.key, {}).setdefault(name, []).append(time.process_time() - began)
                    values.append(None if value is None else round(value, 4))
                    made += 1
                if time.monotonic() > min(stop, saved + SAVE_EVERY):
                    write_draws(draws, rows, names)
                    saved = time.monotonic()
                    if saved > stop:
                        return costs
            print(f"{name}, up to {up_to}: {made} draws in {time.process_time() - started:.1f} s", flush=True)
    write_draws(draws, rows, names)
    return costs


def describe_costs(costs: Costs) -> str:
    """A table: processor seconds for a draw of each row and collection, the median of those made.

    >>> print(describe_costs({"shares": {"tickets": [0.1, 0.3, 0.2]}}))
    row                       tickets
    shares                       0.20
    """
    names = list(dict.fromkeys(name for cells in costs.values() for name in cells))
    lines = ["row".ljust(24) + "".join(f" {name[:8]:>8}" for name in names)]
    for key, cells in costs.items():
        shown = (f"{np.median(cells[name]):8.2f}" if name in cells else f"{'–':>8}" for name in names)
        lines.append(key.ljust(24) + "".join(f" {one}" for one in shown))
    return "\n".join(lines)


def describe(values: Sequence[float | None]) -> str:
    """Share ± standard error (draws).

    >>> describe([1.0, 0.0, 1.0, 1.0])
    '75 ± 25 (4)'
    """
    known = np.array([value for value in values if value is not None])
    if not len(known):
        return "–"
    error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0
    return f"{100 * known.mean():.3g} ± {100 * error:.2g} ({len(known)})"


def holds(row: Row, values: Sequence[float | None], level: float) -> bool:
    """Whether the draws could come from a promise that is kept: not further from the bound than chance allows.

    Draws of 0 and 1 are judged by the binomial law; shares by the normal law, with no less than the standard deviation
    that the row says, or half of that of a single interval.
    """
    known = np.array([value for value in values if value is not None])
    if not len(known) or row.kind == "power":
        return True
    n, total = len(known), float(known.sum())
    if np.isin(known, (0.0, 1.0)).all():
        return bool(
            binom.sf(total - 1, n, row.bound) > level
            if row.kind == "at most"
            else binom.cdf(total, n, row.bound) > level
        )
    least = np.sqrt(row.bound * (1 - row.bound)) / 2 if row.spread is None else row.spread
    spread = max(float(known.std(ddof=1)) if n > 1 else 0.0, least)
    allowed = float(norm.isf(level)) * spread / np.sqrt(n)
    mean = float(known.mean())
    return mean <= row.bound + allowed if row.kind == "at most" else mean >= row.bound - allowed


def make_page(draws: Draws) -> str:
    """The page: a table for each promise, its circumstances in rows and the collections in columns."""
    cells = sum(
        any(value is not None for value in draws.get(row.key, {}).get(name, [])) for row in ROWS for name in COLLECTIONS
    )
    level = LEVEL / max(1, cells)
    failed, parts = 0, []
    for promise in dict.fromkeys(row.promise for row in ROWS):
        lines = [f"## {promise[0].upper()}{promise[1:]}\n"]
        lines.append("| | promised | " + " | ".join(COLLECTIONS) + " |\n|---|---|" + "---|" * len(COLLECTIONS))
        for row in (row for row in ROWS if row.promise == promise):
            shown = []
            for name in COLLECTIONS:
                values = draws.get(row.key, {}).get(name, [])
                broken = not holds(row, values, level)
                failed += broken
                shown.append(describe(values) + (" ✗" if broken else ""))
            promised = "" if row.kind == "power" else f"{row.kind} {100 * row.bound:g}"
            lines.append(f"| {row.circumstance} | {promised} | " + " | ".join(shown) + " |")
        parts.append("\n".join(lines) + "\n")
    counted = ([value for value in values if value is not None] for row in draws.values() for values in row.values())
    numbers = [len(values) for values in counted if values]
    head = INTRODUCTION.format(
        each=level, cells=cells, verdict="there is none." if not failed else f"there are {failed}.",
        draws=describe_numbers(numbers),
    )  # fmt: skip
    return head + "\n" + "\n".join(parts)


def describe_numbers(numbers: Sequence[int]) -> str:
    """How many draws the cells have, in words.

    >>> describe_numbers([6, 200, 31])
    'Cells have 6 to 200 draws, with a median of 31; the target is 200 (30 for auto).'
    """
    if not numbers:
        return "There are no draws yet."
    middle = int(np.median(numbers))
    spread = f"{min(numbers)} to {max(numbers)} draws, with a median of {middle}"
    return f"Cells have {spread}; the target is 200 (30 for auto)."


def main() -> None:
    """Simulate what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description="Simulate what the commands promise.")
    parser.add_argument("--draws", type=int, default=0, help="draws of each row and collection, those made included")
    parser.add_argument("--hours", type=float, default=np.inf, help="stop after so long")
    parser.add_argument("--rows", nargs="*", default=[""], help="only rows whose key begins so")
    parser.add_argument("--collections", nargs="*", default=list(COLLECTIONS), choices=list(COLLECTIONS))
    asked = parser.parse_args()
    draws = read_draws()
    rows = [row for row in ROWS if row.key.startswith(tuple(asked.rows))]
    if asked.draws:
        print(describe_costs(run(draws, rows, asked.collections, asked.draws, asked.hours)))
    PAGE.write_text(make_page(read_draws()), encoding="utf-8")


if __name__ == "__main__":
    main()
