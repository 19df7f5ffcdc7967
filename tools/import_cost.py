"""What `from unnaive import TextClassifier` costs over `import numpy`, in processor time: at most .05 s.

python tools/import_cost.py [--repeats 9]

Each is imported by new processes in turn, with compiled files; the medians are compared. Exit code 1 above the limit.
"""

import argparse
import os
import resource
import subprocess
import sys
from statistics import median

STATEMENTS = ("import numpy", "from unnaive import TextClassifier")
LIMIT = 0.05
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def processor_time(statement: str) -> float:
    """Seconds of processor time that a new process needs for a statement."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True, env=COMPILED)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print the medians and their difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    for statement in STATEMENTS:  # compile and read once
        processor_time(statement)
    runs = [[processor_time(statement) for statement in STATEMENTS] for _ in range(repeats)]
    numpy, ours = (median(column) for column in zip(*runs, strict=True))
    print(f"{STATEMENTS[0]}: {numpy:.3f} s; {STATEMENTS[1]}: {ours:.3f} s; {ours - numpy:.3f} s more, at most {LIMIT}")
    return int(ours - numpy > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
