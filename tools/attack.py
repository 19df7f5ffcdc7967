"""`make attack`: all attacks of tests/attack at their whole scale, then one table. Exits with 1 if anything failed.

attack.py [--small] [--fresh] [NAME…]   --small for the scale of `make test`; the names are those of suite.ATTACKS, for
                                        instance growth, which measures how processor time grows with hostile inputs

Parts that ended are kept in build/attack, by the state of the sources: a run that was stopped goes on from there, and
--fresh begins anew. What failed is not kept.
"""

import hashlib
import json
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "attack"))

import suite
from forks import Tally

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "build" / "attack"


def state_of_sources() -> str:
    """A hash of the package and of the attacks: what ran on other sources is not kept."""
    found = hashlib.sha256()
    for folder in ("src", "tests/attack", "tests/statemachine"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in (".py", ".h", ".cpp"):
                found.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:16]


def keeper(state: str, *, small: bool):
    """A function that runs a part, or gives what is kept of it."""

    def kept(name: str, run) -> Tally:
        path = KEPT / state / f"{name}{'-small' if small else ''}.json"
        if path.exists():
            return Tally(**json.loads(path.read_text()))
        tally = run()
        if tally.sound:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(vars(tally)))
        return tally

    return kept


def main(arguments: list[str]) -> int:
    """Run the attacks that are named, or all."""
    scale = suite.SMALL if "--small" in arguments else suite.WHOLE
    names = [one for one in arguments if not one.startswith("-")] or list(suite.ATTACKS)
    if "--fresh" in arguments:
        shutil.rmtree(KEPT, ignore_errors=True)
    kept = keeper(state_of_sources(), small=scale is suite.SMALL)
    tallies = []
    for name in names:
        start = time.perf_counter()
        attack = suite.ATTACKS[name]
        more = {"kept": kept} if name == "sequences" else {}
        tallies.append(kept(name, lambda attack=attack, more=more: attack(scale, **more)))
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        for note in tallies[-1].notes[:10]:
            print(f"  {note}", file=sys.stderr, flush=True)
    print(suite.table(tallies))
    return 0 if all(tally.sound for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
