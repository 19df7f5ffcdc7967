"""Training gives the same bytes on every x86-64 processor: all models, in processes that imitate older processors."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

WORKER = Path(__file__).parent.parent / "support" / "bytes_of_models.py"
# numpy and the C library choose code by what the processor can do, OpenBLAS by its name; these take choices away
NO_LOOPS = {"NPY_DISABLE_CPU_FEATURES": " ".join(("X86_V3", "X86_V4", "AVX512_ICL", "AVX512_SPR"))}
NO_AVX_512 = {"NPY_DISABLE_CPU_FEATURES": " ".join(("X86_V4", "AVX512_ICL", "AVX512_SPR"))}
NO_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX,-AVX512F"}
PROCESSORS = {
    "Prescott": {**NO_LOOPS, **NO_FMA, "OPENBLAS_CORETYPE": "Prescott"},
    "Haswell": {**NO_AVX_512, "OPENBLAS_CORETYPE": "Haswell"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
}
CASES = 276


def run(**variables: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NPY_", "OPENBLAS_"))}
    words = [sys.executable, "-W", "ignore", str(WORKER)]
    done = subprocess.run(words, env=environment | variables, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def here() -> list[str]:
    return run()


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="these are processors of x86-64")
@pytest.mark.skipif(
    tuple(map(int, np.__version__.split(".")[:2])) < (2, 4), reason="older numpy has other names of features"
)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_model_has_the_same_bytes(processor: str, here: list[str]) -> None:
    assert len(here) >= CASES
    assert [line for line in run(**PROCESSORS[processor]) if line not in here] == []
