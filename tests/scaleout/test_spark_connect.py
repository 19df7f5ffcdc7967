"""Spark Connect on a server of this machine: in a process of its own, since a process has one kind of session."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'unnaive[spark]'"),
    pytest.mark.skipif(
        any(find_spec(name) is None for name in ("grpc", "grpc_status", "zstandard")),
        reason="Spark Connect is not installed: pip install 'pyspark[connect]'",
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on this machine"),
]


@pytest.fixture(scope="module")
def found():
    script = Path(__file__).with_name("spark_connect.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_models_are_those_of_local_training(found):
    assert found["same file"]
    assert found["same scores of shards"]
    assert found["difference of maxent"] < 1e-11
    assert found["soft labels"] == ["bug", "not bug"]


def test_predictions_and_kept_rows_are_those_of_the_model(found):
    assert found["same labels"]
    assert found["same scores"]
    assert found["same rows kept"]


def test_commands_run_in_the_session(found):
    assert [found[name] for name in ("train", "evaluate", "predict")] == [[0, ""]] * 3


def test_what_cannot_work_is_one_sentence(found):
    no_files = "Spark Connect gives no access to Hadoop's file system; name a file on this machine"
    assert found["address"] == [2, f"unnaive: {no_files}"]
    assert found["save"] == no_files
    assert found["ship"] == "Spark Connect gets the package from its server; install it on the machines of the cluster"
    assert found["stream"] == "StreamedModel does not run through Spark Connect; run the query in a driver of Spark"
    assert found["bad label"].startswith("Unknown label type: continuous. A label is 0.")
