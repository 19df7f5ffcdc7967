"""Counts the package's code: lines without docstrings, comments and blanks; files; lines of functions; and the core.

python tools/code_size.py [CHECKOUT]     the files of src/ that Git knows, by default of this checkout

The core is what `from unnaive import TextClassifier` and the models of the papers need: the modules of SEEDS, and all
that these import, at the top of a module or inside a function. Imports for type checkers, and modules that are only
named in a string, such as those of the catalogue, are not followed. --core lists its packages.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median, quantiles

Function = ast.FunctionDef | ast.AsyncFunctionDef

CLASSIFIER = "unnaive.classifier.text_classifier"
# the models of the papers, and their baselines
SEEDS = (
    CLASSIFIER,
    "unnaive.models.naive_bayes",
    "unnaive.models.or_gate",
    "unnaive.models.blend",
    "unnaive.models.rocchio",
    "unnaive.models.maxent.learner",
    "unnaive.models.higher_order.learner",
    "unnaive.models.hierarchical.learner",
    "unnaive.models.neighbours",
    "unnaive.models.trees",
    "unnaive.models.svm.learner",
)
AUTO = "unnaive.models.auto.learner"


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


def imported_names(node: ast.AST) -> set[str]:
    """The names of modules, and of what is imported from them, in a tree; not those for type checkers alone.

    >>> text = "import a.b\\nif TYPE_CHECKING:\\n    import c\\ndef f():\\n    from d import e"
    >>> sorted(imported_names(ast.parse(text)))
    ['a.b', 'd', 'd.e']
    """
    names: set[str] = set()
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            names |= imported_names(ast.Module(child.orelse, []))
            continue
        if isinstance(child, ast.Import):
            names |= {alias.name for alias in child.names}
        elif isinstance(child, ast.ImportFrom) and child.module is not None:
            names |= {child.module, *(f"{child.module}.{alias.name}" for alias in child.names)}
        names |= imported_names(child)
    return names


def reachable(seeds: Iterable[str], modules: Mapping[str, ast.Module]) -> set[str]:
    """The seeds, all modules that they import, and the packages that these are in."""
    reached: set[str] = set()
    waiting = list(seeds)
    while waiting:
        name = waiting.pop()
        if name in modules and name not in reached:
            reached.add(name)
            waiting += [name.rpartition(".")[0], *imported_names(modules[name])]
    return reached


def module_name(path: str) -> str:
    """The dotted name of a file of src/.

    >>> module_name("src/unnaive/linear/linear.py"), module_name("src/unnaive/linear/__init__.py")
    ('unnaive.linear.linear', 'unnaive.linear')
    """
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def main(arguments: list[str]) -> None:
    """Print one line for each figure."""
    folders = [argument for argument in arguments if not argument.startswith("-")]
    checkout = Path(folders[0] if folders else Path(__file__).parents[1])
    listed = subprocess.run(
        ["git", "ls-files", "-z", "src/*.py"], cwd=checkout, capture_output=True, text=True, check=True
    )
    files = [name for name in listed.stdout.split("\0") if name]
    modules: dict[str, ast.Module] = {}
    sizes_of: dict[str, int] = {}
    total, functions = 0, []
    for name in files:
        text = (checkout / name).read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines = code_lines(text, tree)
        total += len(lines)
        modules[module_name(name)], sizes_of[module_name(name)] = tree, len(lines)
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
    core = reachable(SEEDS, modules)
    with_auto = reachable((*SEEDS, AUTO), modules)
    print(f"code lines of the core     {sum(sizes_of[name] for name in core):,} in {len(core)} files")
    print(f"  with auto                {sum(sizes_of[name] for name in with_auto):,} in {len(with_auto)} files")
    if "--core" in arguments:
        by_package: Counter[str] = Counter()
        for name in with_auto:
            by_package[".".join(name.split(".")[1:2])] += sizes_of[name]
        for package, size in by_package.most_common():
            print(f"    {package or 'unnaive':<12} {size:>6,}")


if __name__ == "__main__":
    main(sys.argv[1:])
