"""`make attack`: all attacks of tests/attack at their whole scale, then one table. Exits with 1 if anything crashed.

attack.py [--small] [--again] [NAME…]   --small for the scale of `make test`; the names are those of suite.ATTACKS, for
                                        instance growth, which measures how processor time grows with inputs made to
                                        take long

What is done is kept in build/attack.json, part by part: when it is stopped, the next run goes on from there, as long as
the code is the same. --again starts anew.
"""

import hashlib
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "attack"))

import suite
from forks import Tally

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "build" / "attack.json"


def code_hash() -> str:
    """A hash of all code that an attack runs."""
    found = hashlib.sha256()
    for top in ("src", "tests/attack", "tests/statemachine", "tests/support"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".py", ".cpp", ".h"):
                found.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


class Progress:
    """The parts that are done, by name: on disk after each."""

    def __init__(self, *, again: bool) -> None:
        self.code, self.done = code_hash(), {}
        if KEPT.is_file() and not again:
            kept = json.loads(KEPT.read_text(encoding="utf-8"))
            self.done = kept["done"] if kept["code"] == self.code else {}

    def run(self, key: str, name: str, scale: dict[str, object], part: int) -> Tally:
        """The tally of a part, from the disk if it was done."""
        if key in self.done:
            return Tally(**self.done[key])
        start = time.perf_counter()
        tally = suite.run_part(name, scale, part)
        print(f"{key}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        for note in tally.notes[:10]:
            print(f"  {note}", file=sys.stderr, flush=True)
        if tally.sound:  # what crashed is tried again
            self.done[key] = asdict(tally)
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps({"code": self.code, "done": self.done}), encoding="utf-8")
        return tally


def main(arguments: list[str]) -> int:
    """Run the attacks that are named, or all."""
    small = "--small" in arguments
    scale = suite.SMALL if small else suite.WHOLE
    names = [one for one in arguments if not one.startswith("-")] or list(suite.ATTACKS)
    progress, tallies = Progress(again="--again" in arguments), []
    for name in names:
        number = suite.parts_of(name, scale)
        parts = [
            progress.run(f"{name}{' small' if small else ''} {part + 1}/{number}", name, scale, part)
            for part in range(number)
        ]
        tallies.append(parts[0])
        for one in parts[1:]:
            tallies[-1] += one
    print(suite.table(tallies))
    return 0 if all(tally.sound for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
