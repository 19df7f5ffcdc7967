"""Run Python code in a process of its own, so that a crash or a hang fails one test and not the whole run."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_apart(code: str, *arguments: str, seconds: float = 60, memory: int | None = None, **environment: str) -> str:
    """What the code prints; an AssertionError with its errors if it fails, crashes or takes longer than `seconds`.

    memory  limit of its address space in bytes
    """
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))\n" if memory else ""
    done = subprocess.run(
        [sys.executable, "-c", limit + textwrap.dedent(code), *arguments],
        env=os.environ | environment, capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr[-3000:]}"
    return done.stdout
