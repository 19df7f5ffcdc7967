"""CONTRIBUTING.md: the files that it names exist, and its "add a classifier" is followed to the letter on a copy."""

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


USE_OPTION = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
import inspect
import json
import pytest
import unnaive
from typer.testing import CliRunner
from unnaive import TextClassifier, UnnaiveError
from unnaive.apps.cli.main import build_app
from unnaive.evaluation.evaluate import describe_model

assert unnaive.__file__.startswith(sys.argv[1]), unnaive.__file__
texts, labels = ["good ball", "fair vote"], ["sport", "politics"]
assert inspect.signature(TextClassifier).parameters["patience"].default == 3
assert "patience : int from 1, default=3 Rounds without a gain." in " ".join(TextClassifier.__doc__.split())
classifier = TextClassifier("multinomial", patience=5).fit(texts, labels)
assert classifier.get_params()["patience"] == classifier.fitted_.spec.patience == 5
with pytest.raises(UnnaiveError, match="patience of multinomial came as 0; give a number from 1"):
    classifier.set_params(patience=0).spec()
TextClassifier("multinomial").fit(texts, labels).save("usual.model")
assert TextClassifier.load("usual.model").patience == 3

def run(*words):
    done = CliRunner(env={"COLUMNS": "200"}).invoke(build_app(), words)
    assert done.exit_code == 0, done.output
    return done.output

assert "patience" in run("train", "--help").partition("Names of --set")[2]
open("t.csv", "w").write("text,label\\ngood ball,sport\\nfair vote,politics\\n")
run("train", "t.csv", "--label", "label", "-m", "multinomial", "--set", "patience=7", "-o", "t.model")
assert TextClassifier.load("t.model").patience == 7
assert describe_model(TextClassifier.load("t.model").fitted_) == "multinomial naive Bayes, patience 7"
assert json.loads(run("inspect", "t.model", "--json"))["training"] == {"patience": 7}
assert "patience 7" in run("inspect", "t.model")
"""


@pytest.fixture
def copy(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__", "*.so")  # as in a fresh clone: the reference reads the texts
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


@pytest.mark.slow
def test_a_training_option_is_added_by_one_edit(copy):
    """Python, the command line, model files and descriptions are made from the declaration.

    Only for type checkers, tools/classifier_signature.py then writes the parameter of TextClassifier.
    """
    options = copy / "src" / "unnaive" / "learning" / "training_options.py"
    line = "    multilabel: bool | None = option("
    option = '    patience: int = option("Rounds without a gain.", default=3, at_least=1)'
    options.write_text(options.read_text().replace(line, f"{option}\n{line}", 1))
    environment = os.environ | {"PYTHONPATH": str(copy / "src")}
    ran = subprocess.run(
        [sys.executable, "-c", USE_OPTION, str(copy)], cwd=copy, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_index_answers_thirty_questions_with_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where is it?")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+\?) \| `(\S+)` \|$", text, flags=re.MULTILINE)
    assert len(rows) == len({question for question, _ in rows}) >= 30
    assert [path for _, path in rows if not (ROOT / "src" / "unnaive" / path).is_file()] == []


def test_modules_that_it_names_exist():
    """`text/tokens.py` is below src/unnaive, `tools/figures.py` below the root, and `decisions.py` anywhere."""
    named = set(re.findall(r"`([\w/.]+\.py)`", (ROOT / "CONTRIBUTING.md").read_text()))
    files = [f"/{path}" for part in ("src", "tests", "tools") for path in (ROOT / part).rglob("*.py")]
    missing = {name for name in named if not any(path.endswith(f"/{name}") for path in files)}
    assert missing == {"apps/cli/commands/NAME.py", "workflows/NAME.py", "src/unnaive/models/lift.py"}
