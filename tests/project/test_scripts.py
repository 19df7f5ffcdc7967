"""Scripts that no test runs, because they take minutes: every name that they import from the package exists."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.slow
SCRIPTS = sorted(path for folder in ("benchmarks", "tools") for path in (ROOT / folder).glob("*.py"))


def imported_names(script: Path) -> list[tuple[str, str]]:
    """(module, name) of every `from unnaive… import name` in a script."""
    return [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "unnaive"
        for alias in node.names
    ]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_imported_names_exist(script):
    for module, name in imported_names(script):
        assert hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None, (module, name)
