"""scikit-learn's own test modules with our classes in the place of theirs: their tests as parameters of one of ours."""

import importlib.util
import inspect
import sys
from pathlib import Path

import pytest
import sklearn

FOLDER = Path(sklearn.__file__).parent


def suite_cases(path, classes, unlike, skip=lambda name, parameters: False):
    """Every test of the module at `path`, a pytest.param (function, parameters) each.

    classes  our class for each name of theirs in the module
    unlike   the reason, by the test's name or the whole id, why a test fails
    skip     which tests are about something else
    """
    file = FOLDER / path
    if not file.exists():
        return [pytest.param(None, {}, marks=pytest.mark.skip(reason="this scikit-learn ships no tests"))]
    spec = importlib.util.spec_from_file_location(f"scikit_learn_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its functions are pickled by name
    spec.loader.exec_module(module)
    ours = {getattr(module, name): made for name, made in classes.items()}
    for name, made in classes.items():
        setattr(module, name, made)
    found = []
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if not name.startswith("test_"):
            continue
        for parameters in _combinations(function):
            if skip(name, parameters):
                continue
            given = {
                key: ours.get(value, value) if isinstance(value, type) else value for key, value in parameters.items()
            }
            shown = ",".join(getattr(value, "__name__", str(value)) for value in given.values())
            reason = unlike.get(f"{name}[{shown}]", unlike.get(name))
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            found.append(pytest.param(function, given, id=f"{name}[{shown}]", marks=marks))
    return found


def _combinations(function):
    """The parameters that the marks of a test ask for, each combination as a dict."""
    made = [{}]
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            names, values = mark.args[0], mark.args[1]
            names = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
            rows = [value if len(names) > 1 else (value,) for value in values]
            rows = [row[0].values if isinstance(row[0], type(pytest.param())) else row for row in rows]
            made = [{**one, **dict(zip(names, row, strict=True))} for one in made for row in rows]
    return made
