"""Type and function names of the package that are defined in more than one module: one name, one meaning.

    python tools/name_meanings.py [CHECKOUT]

Counted are public classes, type aliases and functions at the top of a module. Names that a protocol asks for
(`register` of a command, `main` of a script) are no second meaning.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

PROTOCOL_NAMES = {"register"}  # each command's module registers itself under this name


def top_names(tree: ast.Module) -> list[tuple[str, str]]:
    """(kind, name) of the public classes, type aliases and functions that a module defines."""
    names: list[tuple[str, str]] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names.append(("type", node.name))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(("function", node.name))
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name[0].isupper() and not name.isupper() and any(letter.islower() for letter in name):
                names.append(("type", name))
    return [(kind, name) for kind, name in names if not name.startswith("_") and name not in PROTOCOL_NAMES]


def repeated_names(source: Path) -> dict[tuple[str, str], list[str]]:
    """(kind, name) → the modules that define it, for those with more than one."""
    modules = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        for entry in top_names(ast.parse(path.read_text(encoding="utf-8"))):
            modules[entry].append(path.relative_to(source).as_posix())
    return {entry: paths for entry, paths in sorted(modules.items()) if len(paths) > 1}


def main() -> None:
    """Print the table."""
    checkout = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    repeated = repeated_names(checkout / "src" / "unnaive")
    for (kind, name), paths in repeated.items():
        print(f"{kind:9} {name:24} {', '.join(paths)}")
    for kind in ("type", "function"):
        print(f"{sum(entry[0] == kind for entry in repeated)} {kind} names have more than one meaning")


if __name__ == "__main__":
    main()
