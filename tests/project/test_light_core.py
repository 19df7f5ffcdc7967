"""Without any extra, the README's commands work on CSV, models are the same, and what is missing is one sentence."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from unnaive import TextClassifier
from unnaive.base.extras import EXTRAS
from unnaive.workflows.write_tickets import write_tickets

TRAIN = "train tickets/train.csv --label queue"
ROOT = Path(__file__).parents[2]
BLOCKED = (*EXTRAS, "joblib", "PIL", "polars")
BLOCK = f"import sys; sys.modules |= dict.fromkeys({BLOCKED!r}); "  # to import None is an ImportError
COMMAND = "from unnaive.__main__ import main; sys.argv[0] = 'unnaive'; sys.exit(main())"


def run(folder, *arguments, block=True):
    """A command of unnaive where no extra is installed."""
    start = BLOCK if block else "import sys; "
    command = [sys.executable, "-c", start + COMMAND, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("light")
    write_tickets(folder / "tickets")
    return folder


@pytest.mark.slow
def test_the_commands_of_the_readme_work_on_csv(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.split("```console\n", 1)[1].split("```", 1)[0].replace("\\\n", "")
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ unnaive ")]
    assert len(commands) >= 3
    commands += [
        "unnaive predict tickets.model demo/test.csv -o labelled.csv",
        "unnaive evaluate tickets.model demo/test.csv --report report.html",
        "unnaive update tickets.model demo/test.csv --label queue -o larger.model",
        "unnaive forget larger.model demo/test.csv --label queue -o smaller.model --receipt forgotten.json",
        "unnaive inspect smaller.model", "unnaive export tickets.model --to c -o out",
        "unnaive audit demo/train.csv --label queue",
    ]  # fmt: skip
    for command in commands:
        arguments = re.findall(r'"[^"]*"|\S+', command.replace(".parquet", ".csv"))[1:]
        done = run(tmp_path, *(one.strip('"') for one in arguments))
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), command + done.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("a figure needs matplotlib; install it with: pip install &#x27;unnaive[figures]&#x27;") > 1
    assert "<table" in page


MISSING = {
    f"{TRAIN} -m tree -o t.model": "the model tree needs scikit-learn; … [sklearn]",
    f"{TRAIN} -m nbsvm --set stem=porter -o t.model": "stemming needs PyStemmer; … [stemming]",
    "predict m.model tickets/test.csv -o t.parquet": "writing Parquet files needs pyarrow; … [tables]",
    "predict m.model tickets/test.csv -o t.csv.zst": "writing .zst files needs pyarrow; … [tables]",
    "predict m.model packed.csv.zst": "reading .zst files needs pyarrow; … [tables]",
    "predict m.model rows.parquet": "reading Parquet files needs pyarrow; … [tables]",
    "serve m.model": "serve needs uvicorn; … [serve]",
}
ALL_OF_THEM = """
import contextlib, io, json
from unnaive.apps.cli.main import exit_code
answers = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()):
        code = exit_code(arguments.split())
    answers.append([code, errors.getvalue()])
print(json.dumps(answers))
"""


def test_a_missing_extra_is_one_sentence(tickets):
    (tickets / "packed.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    (tickets / "rows.parquet").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    TextClassifier("multinomial").fit(["ball goal", "vote law"] * 2, ["sport", "politics"] * 2).save(
        tickets / "m.model"
    )
    command = [sys.executable, "-c", BLOCK + ALL_OF_THEM, json.dumps(list(MISSING))]  # one process for all
    done = subprocess.run(command, cwd=tickets, capture_output=True, text=True, check=True)
    for (arguments, sentence), (code, errors) in zip(MISSING.items(), json.loads(done.stdout), strict=True):
        needed, extra = sentence.split(" … ")
        assert errors.splitlines()[-1] == f"unnaive: {needed} install it with: pip install 'unnaive{extra}'"
        assert (code, "Traceback" in errors) == (2, False), arguments
    assert not list(tickets.glob("t.*"))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["nbsvm", "auto"])
def test_models_are_the_same_with_and_without_extras(model, tickets):
    for name, block in ("with", False), ("without", True):
        more = ["train", "tickets/train.csv", "--label", "queue", "-m", model, "-o", f"{name}.model"]
        assert run(tickets, *more, block=block).returncode == 0
    assert (tickets / "with.model").read_bytes() == (tickets / "without.model").read_bytes()


ESTIMATOR = """
import numpy as np
import pytest
from unnaive import MultinomialNB
model = MultinomialNB().fit(np.array([[1, 0], [0, 2]]), ["a", "b"])
assert model.predict([[3, 0]]).tolist() == ["a"]
for X, message in ([[1, 2, 3]], "X has 3 features"), ([1, 2], "Expected 2D array"), ([[np.nan, 1]], "contains NaN"):
    with pytest.raises(ValueError, match=message):
        model.predict(X)
assert "sklearn" not in {name for name, module in sys.modules.items() if module is not None}
"""


def test_estimators_need_no_scikit_learn():
    subprocess.run([sys.executable, "-c", BLOCK + ESTIMATOR], check=True, cwd=ROOT / "src")


LOADED = """
import sys, numpy
before = set(sys.modules)
from unnaive import TextClassifier
print(*sorted(set(sys.modules) - before - set(sys.stdlib_module_names)))
"""


def test_the_class_imports_numpy_alone():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, cwd=ROOT / "src")
    loaded = [name for name in done.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names]
    assert {name.partition(".")[0] for name in loaded} - {"numpy"} == {"unnaive"}
    ours = {name.split(".")[1] for name in loaded if name.startswith("unnaive.")}
    assert ours <= {"base", "text", "learning", "models", "classifier"}
    assert not {"unnaive.learning.train", "unnaive.models.estimator", "unnaive.classifier.packing"} & set(loaded)
