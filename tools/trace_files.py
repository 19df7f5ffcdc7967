"""Counts the files of the package that a command passes through, and how often it goes from one package to another.

python tools/trace_files.py [--tree] [CHECKOUT] [-- COMMAND…]

By default four commands on the built-in tickets: train -m multinomial, train, predict, evaluate --report. Each runs
twice in one process, and the second run is traced (sys.setprofile: calls and returns of Python functions, in all
threads), so that no import is. A package is a folder directly under unnaive/, after MOVED: two layouts are compared by
one map of packages, so that a file that only moved changes nothing. A module at the root is a package by itself. A
switch is a call or a return after which control is in another package than before, in the same thread; functions of
other libraries in between do not count. --tree also lists the files passed by package.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

COMMANDS = (
    "train train.csv --label queue -m multinomial -o multinomial.model",
    "train train.csv --label queue -o auto.model",
    "predict multinomial.model train.csv -o predicted.csv",
    "evaluate multinomial.model test.csv --report report.html",
)
# beginnings of paths in 0.3 and the package that their content belongs to now
MOVED = (
    ("io/collections/", "papers"),
    ("evaluation/papers/", "papers"),
    ("classifier/export/", "interop"),
    ("classifier/fasttext/", "interop"),
    ("classifier/integrations/", "interop"),
    *((f"io/{name}.py", "data") for name in (
        "corpus", "fields", "record_columns", "record_fields", "numbers_and_dates", "bad_values", "vector_values",
        "field_choice", "profiles", "label_checks",
    )),
)  # fmt: skip


def run_command(arguments: list[str]) -> None:
    """`python -m unnaive` in this process, by the one path that every layout of the package has."""
    sys.argv = ["unnaive", *arguments]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            runpy.run_module("unnaive", run_name="__main__")
        except SystemExit as end:
            if not end.code:
                return
    raise SystemExit(f"unnaive {' '.join(arguments)} failed: {said.getvalue().strip()}")


def package_of_path(path: str) -> str:
    """The package of a file, whichever of the two layouts it is in.

    >>> package_of_path("io/collections/fetching.py"), package_of_path("papers/iir.py"), package_of_path("spark.py")
    ('papers', 'papers', 'spark')
    """
    moved = next((package for beginning, package in MOVED if path.startswith(beginning)), None)
    return moved or path.split("/")[0].removesuffix(".py")


class Trace:
    """The files passed and the switches of package, of all threads."""

    def __init__(self, root: Path) -> None:
        self.root = f"{root}/"
        self.files: set[str] = set()
        self.calls = 0
        self.switches: Counter[tuple[str, str]] = Counter()
        self.here = threading.local()
        self.packages: dict[str, str | None] = {}

    def package_of(self, frame: FrameType) -> str | None:
        """The package of the function that a frame runs; None outside of ours."""
        name = frame.f_code.co_filename
        if name not in self.packages:
            inside = name.removeprefix(self.root) if name.startswith(self.root) else None
            self.packages[name] = inside and package_of_path(inside)
        return self.packages[name]

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        """One event of the interpreter."""
        if event not in ("call", "return"):
            return
        package = self.package_of(frame)
        if package is None:
            return
        if event == "call":
            self.calls += 1
            self.files.add(frame.f_code.co_filename.removeprefix(self.root))
        else:
            caller = frame.f_back
            while caller is not None and (package := self.package_of(caller)) is None:
                caller = caller.f_back
            if caller is None:
                return
        before = getattr(self.here, "package", package)
        if package != before:
            self.switches[before, package or ""] += 1
        self.here.package = package

    def run(self, arguments: list[str]) -> None:
        """A command under the trace."""
        threading.setprofile(self.note)
        sys.setprofile(self.note)
        try:
            run_command(arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def trace_commands(commands: list[list[str]], tree: bool) -> None:
    """Print what each command passes; of the package that this interpreter has."""
    import unnaive

    root = Path(unnaive.__file__).parent
    print(f"{'command':<70}{'files':>7}{'packages':>10}{'switches':>10}{'calls':>10}")
    for command in commands:
        run_command(command)
        trace = Trace(root)
        trace.run(command)
        by_package: dict[str, list[str]] = {}
        for name in sorted(trace.files):
            by_package.setdefault(package_of_path(name), []).append(name)
        print(
            f"{' '.join(command)[:68]:<70}{len(trace.files):>7}{len(by_package):>10}"
            f"{trace.switches.total():>10,}{trace.calls:>10,}"
        )
        if tree:
            for package, names in sorted(by_package.items()):
                print(f"    {package}: {', '.join(name.removeprefix(f'{package}/') for name in names)}")
            for (one, other), times in trace.switches.most_common(12):
                print(f"    {times:>8,}  {one} → {other}")


def main(arguments: list[str]) -> int:
    """Run this script again with the interpreter of the checkout, in a folder with the tickets."""
    options, given = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        options, given = arguments[:at], arguments[at + 1 :]
    tree = "--tree" in options
    if "--inside" in options:
        trace_commands([given] if given else [line.split() for line in COMMANDS], tree)
        return 0
    places = [one for one in options if not one.startswith("-")]
    checkout = Path(places[0] if places else Path(__file__).parents[1]).absolute()
    python = str(checkout / ".venv" / "bin" / "python")
    more = [*(["--tree"] if tree else []), *(["--", *given] if given else [])]
    with tempfile.TemporaryDirectory() as scratch:
        tour = [python, "-m", "unnaive", "demo", "-o", scratch]
        subprocess.run(tour, check=True, stdout=subprocess.DEVNULL)
        return subprocess.run([python, __file__, "--inside", *more], cwd=scratch).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
