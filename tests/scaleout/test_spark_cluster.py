"""Executors that are killed at work, or have no package: in a process of its own, since a process has one cluster."""

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
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on this machine"),
]


@pytest.fixture(scope="module")
def found():
    script = Path(__file__).with_name("spark_cluster.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_an_executor_killed_while_it_counts_changes_nothing(found):
    assert found["killed while counting"]
    assert found["same file"]


def test_an_executor_killed_in_a_pass_of_maxent_changes_nothing(found):
    assert found["killed in a pass"]
    assert found["difference"] < 1e-12  # a shuffle that runs again gives rows in another order; measured: 4e-15


def test_executors_without_the_package_say_so_and_can_be_sent_it(found):
    assert found["absent"] == (
        "the executors have no module unnaive; install unnaive there, or send it along with "
        "--set ship=true (unnaive.spark.ship)"
    )
    assert found["shipped"] == ["sport"]
