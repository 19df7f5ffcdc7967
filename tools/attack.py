"""`make attack`: all attacks of tests/attack at their whole scale, then one table. Exits with 1 if anything crashed.

Finished parts are kept in build/attack.json: if it is stopped, the next run continues from there, as long as the code
is the same, and several runs may share the attacks. --again discards the finished parts.
"""

import argparse
import fcntl
import hashlib
import json
import re
import resource
import sys
import textwrap
import time
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "attack"))

import suite
from forks import COLUMNS, Tally

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "build" / "attack.json"
PAGE = ROOT / "SECURITY.md"
PLACE = re.compile(r"(<!-- written by tools/attack.py -->\n).*?(<!-- end -->\n)", re.DOTALL)


def code_hash() -> str:
    """A hash of all code that an attack runs."""
    found = hashlib.sha256()
    for top in ("src", "tests/attack", "tests/statemachine", "tests/support"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".py", ".cpp", ".h"):
                found.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def processor_seconds() -> float:
    """Of this process and of the children that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Progress:
    """What was done, by the name of the part: its tally, with which code, when, and its processor seconds."""

    def __init__(self, *, again: bool = False) -> None:
        self.code = code_hash()
        self.done = {} if again else read_parts()

    def run(self, key: str, name: str, scale: dict[str, object], part: int) -> Tally:
        """The tally of a part, from the disk if nothing failed in it with this code."""
        kept = self.done.get(key)
        if kept is not None and kept["code"] == self.code and read_tally(kept).sound:
            return read_tally(kept)
        start, before = time.perf_counter(), processor_seconds()
        tally = suite.run_part(name, scale, part)
        spent = processor_seconds() - before
        print(f"{key}: {time.perf_counter() - start:.0f} s, {spent:.0f} s of processors", file=sys.stderr, flush=True)
        for note in tally.notes[:10]:
            print(f"  {note}", file=sys.stderr, flush=True)
        about = {"code": self.code, "seconds": round(spent, 1), "day": datetime.now(tz=UTC).date().isoformat()}
        self.done[key] = asdict(tally) | about
        keep_part(key, self.done[key])
        return tally


def read_parts() -> dict[str, dict[str, object]]:
    """What was kept of all parts."""
    return json.loads(KEPT.read_text(encoding="utf-8"))["done"] if KEPT.is_file() else {}


def keep_part(key: str, part: dict[str, object]) -> None:
    """Add a part to those that were kept; several runs may do so, each with other parts."""
    KEPT.parent.mkdir(exist_ok=True)
    with (KEPT.parent / "attack.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        KEPT.write_text(json.dumps({"done": read_parts() | {key: part}}), encoding="utf-8")


def read_tally(kept: dict[str, object]) -> Tally:
    """The tally in what was kept of a part."""
    return Tally(**{one.name: kept[one.name] for one in fields(Tally)})


def write_page(progress: Progress) -> int:
    """Put the sums of all parts that were kept into SECURITY.md, and say which attacks are not finished."""
    lines = [f"| attack | {' | '.join(COLUMNS)} | processor min |", "|---|" + "---:|" * (len(COLUMNS) + 1)]
    totals, minutes = Tally("all"), 0.0
    days, unfinished = set(), []
    for name in suite.ATTACKS:
        number = suite.parts_of(name, suite.WHOLE)
        parts = [one for key, one in progress.done.items() if re.fullmatch(rf"{name} \d+/{number}", key)]
        if len(parts) < number:
            unfinished.append(f"{name} ({len(parts)} of {number})")
        if not parts:
            continue
        tally, spent = Tally(str(parts[0]["name"])), sum(float(one["seconds"]) for one in parts) / 60
        for one in parts:
            tally += read_tally(one)
            days.add(str(one["day"]))
        lines.append(_row(tally, spent))
        totals += tally
        minutes += spent
    lines.append(_row(totals, minutes))
    told = f"Run on {' and '.join(sorted(days))}, by parts:\n\n" + "\n".join(lines) + "\n"
    if unfinished:
        listed = f"Not finished yet, with the parts that were run: {', '.join(unfinished)}."
        told += "\n" + textwrap.fill(listed, 120) + "\n"
    page = PAGE.read_text(encoding="utf-8")
    changed, places = PLACE.subn(lambda found: f"{found[1]}\n{told}\n{found[2]}", page)
    if places != 1 or not days:
        print("SECURITY.md has no place for the table, or nothing was run yet", file=sys.stderr)
        return 1
    PAGE.write_text(changed, encoding="utf-8")
    return 0


def _row(tally: Tally, minutes: float) -> str:
    cells = [f"{getattr(tally, name):,}" for name in COLUMNS]
    return f"| {tally.name} | {' | '.join(cells)} | {minutes:.1f} |"


def read_options(arguments: list[str]) -> argparse.Namespace:
    """The options of the command line; one that does not exist is refused before anything runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"attacks to run: {', '.join(suite.ATTACKS)} (all)")
    parser.add_argument("--small", action="store_true", help="at the scale of `make test`")
    parser.add_argument("--again", action="store_true", help="start again, without the parts that were kept")
    parser.add_argument("--write", action="store_true", help="put the table of the kept parts into SECURITY.md")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in suite.ATTACKS:
            parser.error(f"there is no attack {name!r}; there are {', '.join(suite.ATTACKS)}")
    return options


def main(arguments: list[str]) -> int:
    """Run the attacks that are named, or all."""
    options = read_options(arguments)
    if options.write:
        return write_page(Progress())
    scale = suite.SMALL if options.small else suite.WHOLE
    progress, tallies = Progress(again=options.again), []
    for name in options.names or suite.ATTACKS:
        number = suite.parts_of(name, scale)
        parts = [
            progress.run(f"{name}{' small' if options.small else ''} {part + 1}/{number}", name, scale, part)
            for part in range(number)
        ]
        tallies.append(parts[0])
        for one in parts[1:]:
            tallies[-1] += one
    print(suite.table(tallies))
    return 0 if all(tally.sound for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
