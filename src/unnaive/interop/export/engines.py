"""Find and start the programs that run an export, and read their answers as lines of JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from unnaive.base.errors import MissingExtra, UnnaiveError


def find_program(*names: str, what: str) -> str:
    """The path of the first installed program, or an error that says what to install."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise MissingExtra(f"checking this export needs {what}, which was not found; install it first")


def c_compilers() -> dict[str, str]:
    """The C compilers of this machine by name: gcc and clang, otherwise cc."""
    compilers = {name: path for name in ("gcc", "clang") if (path := shutil.which(name))}
    if not compilers and (path := shutil.which("cc")):
        compilers["cc"] = path
    return compilers


def zig_compiler() -> list[str]:
    """The command of the C compiler in the package ziglang, also for WebAssembly; empty if it is not installed."""
    return [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else []


def run_program(command: Sequence[str], text: str | bytes = "") -> str:
    """The output of a program; an error with the last line if it fails."""
    data = text.encode() if isinstance(text, str) else text
    done = subprocess.run(list(command), input=data, capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it printed nothing"]
        raise UnnaiveError(f"{command[0]} failed on the export: {lines[-1]}")
    return done.stdout.decode()


def read_answers(printed: str) -> list[dict[str, Any]]:
    """A line of JSON for each text."""
    return [json.loads(line) for line in printed.split("\n") if line]
