"""Runs pytest with the kernel of a given file in place of the installed one: sanitized_tests.py KERNEL.so ARGUMENTS."""

import importlib.util
import sys

import pytest

NAME = "unnaive.text._kernel"


def main(path: str, arguments: list[str]) -> int:
    """The exit status of pytest."""
    spec = importlib.util.spec_from_file_location(NAME, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not an extension module")
    sys.modules[NAME] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return int(pytest.main(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
