"""Runs every benchmark of this folder, one after the other, each in its own process."""

import os
import subprocess
import sys
from pathlib import Path

NOT_BENCHMARKS = {"fasttext_peer.py", "run.py", "timing.py"}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads of BLAS, for us and for the peers


def main() -> int:
    """Exit status 1 if any benchmark failed to run."""
    here = Path(__file__).parent
    failed = []
    for script in sorted(here.glob("*.py")):
        if script.name in NOT_BENCHMARKS:
            continue
        print(f"\n== {script.name}", flush=True)
        if subprocess.run([sys.executable, str(script)], env=os.environ | ONE_THREAD, check=False).returncode:
            failed.append(script.name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
