"""Type and function names of the package that are defined in more than one module: one name, one meaning.

    python tools/name_meanings.py [CHECKOUT]

Counted are public classes, type aliases and functions at the top of a module. No second meaning are names that a
protocol asks for (`register` of a command, `main` of a script, those of fastText and MLflow), a command that is named
after the function whose result it shows (`train`), and the twin in Python of native code.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

PROTOCOL_NAMES = {"register", "main", "join"}  # of a command's module, of a script, of an integration
# the names of fastText's functions, of those that an MLflow flavor has, and of unnaive.spark.load and save
INTERFACES = {
    "interop/fasttext/model.py", "interop/fasttext/names.py", "interop/integrations/mlflow_flavor.py",
    "scaleout/spark/hadoop_files.py",
}  # fmt: skip
TWINS = "_reference.py"  # how the modules end that do in Python what native ones do
COMMANDS = ("apps/cli/commands/", "apps/service/command.py", "apps/labelling/command.py")


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
        name, tree = path.relative_to(source).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        commands = command_names(tree) if name.startswith(COMMANDS) else set()
        for kind, defined in top_names(tree):
            same_meaning = name in INTERFACES or name.endswith(TWINS) or defined in commands
            if kind == "type" or not same_meaning:
                modules[kind, defined].append(name)
    return {entry: paths for entry, paths in sorted(modules.items()) if len(paths) > 1}


def command_names(tree: ast.Module) -> set[str]:
    """The functions of a module that are commands: `app.command()(train)`, or decorated with `command()`."""

    def makes_command(node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "command"

    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(map(makes_command, node.decorator_list)):
            names.add(node.name)
        if isinstance(node, ast.Call) and makes_command(node.func) and isinstance(node.args[0], ast.Name):
            names.add(node.args[0].id)
    return names


def main() -> None:
    """Print the table; the exit code is 1 if it has a row."""
    checkout = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    repeated = repeated_names(checkout / "src" / "unnaive")
    for (kind, name), paths in repeated.items():
        print(f"{kind:9} {name:24} {', '.join(paths)}")
    for kind in ("type", "function"):
        print(f"{sum(entry[0] == kind for entry in repeated)} {kind} names have more than one meaning")
    sys.exit(bool(repeated))


if __name__ == "__main__":
    main()
