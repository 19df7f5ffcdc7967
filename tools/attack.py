"""`make attack`: all attacks of tests/attack at their whole scale, then one table. Exits with 1 if anything crashed.

attack.py [--small] [NAME…]   --small for the scale of `make test`; the names are those of suite.ATTACKS, for instance
                              growth, which measures how processor time grows with inputs made to take long
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "attack"))

import suite


def main(arguments: list[str]) -> int:
    """Run the attacks that are named, or all."""
    scale = suite.SMALL if "--small" in arguments else suite.WHOLE
    names = [one for one in arguments if not one.startswith("-")] or list(suite.ATTACKS)
    tallies = []
    for name in names:
        start = time.perf_counter()
        tallies.append(suite.ATTACKS[name](scale))
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        for note in tallies[-1].notes[:10]:
            print(f"  {note}", file=sys.stderr, flush=True)
    print(suite.table(tallies))
    return 0 if all(tally.sound for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
