"""Counts the package's code: lines without docstrings, comments and blanks; files; lines of functions.

python tools/code_size.py [CHECKOUT]     the files of src/ that Git knows, by default of this checkout
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from statistics import median, quantiles

Function = ast.FunctionDef | ast.AsyncFunctionDef


def docstring_lines(tree: ast.Module) -> set[int]:
    """The numbers of the lines that docstrings of modules, classes and functions take."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node, clean=False) is not None:
            lines.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def code_lines(text: str, tree: ast.Module) -> set[int]:
    """The numbers of the lines that are neither blank nor a comment nor part of a docstring.

    >>> text = 'def f():\\n    "What it is."\\n\\n    # why\\n    return 1\\n'
    >>> sorted(code_lines(text, ast.parse(text)))
    [1, 5]
    """
    said = {number for number, line in enumerate(text.split("\n"), 1) if line.strip() and line.strip()[0] != "#"}
    return said - docstring_lines(tree)


def main(arguments: list[str]) -> None:
    """Print one line for each figure."""
    checkout = Path(arguments[0] if arguments else Path(__file__).parents[1])
    listed = subprocess.run(
        ["git", "ls-files", "-z", "src/*.py"], cwd=checkout, capture_output=True, text=True, check=True
    )
    files = [name for name in listed.stdout.split("\0") if name]
    total, functions = 0, []
    for name in files:
        text = (checkout / name).read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines = code_lines(text, tree)
        total += len(lines)
        for node in ast.walk(tree):
            if isinstance(node, Function):
                size = len(lines.intersection(range(node.lineno, (node.end_lineno or 0) + 1)))
                functions.append((size, f"{name}:{node.lineno} {node.name}"))
    sizes = [size for size, _ in functions]
    root = [name for name in files if name.count("/") == 2]
    print(f"code lines                 {total:,}")
    print(f"files                      {len(files):,}")
    print(f"modules at the root        {len(root):,}")
    print(f"functions                  {len(functions):,}")
    print(f"code lines of a function   median {median(sizes):g}, 90 % {quantiles(sizes, n=10)[-1]:g}, longest:")
    for size, place in sorted(functions, reverse=True)[:3]:
        print(f"  {size:4}  {place}")


if __name__ == "__main__":
    main(sys.argv[1:])
