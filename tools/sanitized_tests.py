"""Runs pytest with native modules of a folder in place of the installed ones: sanitized_tests.py FOLDER ARGUMENTS."""

import importlib.util
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"


def module_names() -> dict[str, str]:
    """The full name of each native module by the name of its file: every src/unnaive/**/_NAME.cpp is one."""
    return {path.stem: ".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in SOURCE.rglob("_*.cpp")}


def replace_modules(folder: Path) -> list[str]:
    """Import every native module from `folder`; an error if one is not there."""
    for stem, name in module_names().items():
        path = next(folder.glob(f"{stem}.*.so"), None)
        spec = None if path is None else importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise SystemExit(f"{folder} has no module {stem}")
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sorted(module_names().values())


def main(folder: str, arguments: list[str]) -> int:
    """The exit status of pytest."""
    sys.path.insert(0, str(SOURCE))
    print("sanitized:", ", ".join(replace_modules(Path(folder))))
    return int(pytest.main(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
