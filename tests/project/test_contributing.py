"""CONTRIBUTING.md's "add a classifier", followed to the letter on a copy of the source."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# an editable install redirects imports to the original source; the copy must win
RUN = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
import pytest, unnaive
assert unnaive.__file__.startswith(sys.argv[1]), unnaive.__file__
sys.exit(pytest.main(["-q", "-k", "Lift", "-p", "no:cacheprovider", "tests/laws"]))
"""


def code_blocks():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    steps = text[text.index("## Add a classifier") :]
    blocks = re.findall(r"^   ```python\n(.*?)^   ```", steps, flags=re.DOTALL | re.MULTILINE)
    return [re.sub(r"^   ", "", block, flags=re.MULTILINE) for block in blocks]


def insert_after(path, line, addition):
    text = path.read_text()
    assert line in text, f"{path} has no line {line!r}"
    path.write_text(text.replace(line, f"{line}\n{addition.strip()}\n", 1))


@pytest.fixture
def copy(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    for folder in ("laws", "support"):
        shutil.copytree(ROOT / "tests" / folder, tmp_path / "tests" / folder, ignore=ignored)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["slow"]\n')
    return tmp_path


@pytest.mark.slow
def test_a_classifier_is_added_by_one_file_and_two_lines(copy):
    model, entry, case = code_blocks()
    package = copy / "src" / "unnaive"
    (package / "models" / "lift.py").write_text(model)
    insert_after(package / "models" / "catalogue.py", "MODELS = {", entry)
    insert_after(copy / "tests" / "laws" / "estimators.py", "CASES = [", case)

    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(copy / "src"), str(copy / "tests")])}
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(copy)], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    passed = int(re.search(r"(\d+) passed", ran.stdout).group(1))
    assert passed > 50  # laws and scikit-learn's checks, one test for each
