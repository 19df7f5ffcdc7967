"""Models at addresses; executors that are killed, or have no package: in a process that has one cluster at a time."""

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


def test_models_and_tables_at_addresses_are_those_of_this_machine(found):
    assert [found["train view"][0], found["train file"][0]] == [0, 0]
    assert found["same model"] == [True, True]
    assert found["left beside it"] == []
    assert [found["predict"][0], found["evaluate"][0]] == [0, 0]
    assert found["same rows"]
    assert found["python"] == [True, True]
    assert found["pipeline"]


def test_what_cannot_be_done_at_an_address_is_one_sentence(found):
    assert found["predict again"] == [
        2, "unnaive: viewfs://c/data/labelled.jsonl exists; name another folder, or remove it first"
    ]  # fmt: skip
    assert found["over data"] == [
        2, "unnaive: viewfs://c/data/other.txt exists and is not a model; name another file, or remove that one"
    ]  # fmt: skip
    assert found["over a folder"] == [2, "unnaive: viewfs://c/data/models is a folder; name a file"]
    assert found["no model"] == [2, "unnaive: there is no file viewfs://c/data/none.model; check the address"]
    assert found["half a model"][0] == 2
    assert found["half a model"][1].startswith("unnaive: viewfs://c/data/half.model: this is not a model, or")
    assert found["no scheme"] == [
        2,
        'unnaive: Hadoop cannot use xyz://a/b.model (No FileSystem for scheme "xyz"); check the address, and the file '
        "systems that Spark is configured for",
    ]


def test_an_address_without_spark_is_one_sentence(tmp_path, capsys):
    from unnaive.apps.cli.main import exit_code

    (tmp_path / "d.csv").write_text("text,label\nred,a\nblue,b\n")
    for words, sentence in (
        (
            ["train", f"{tmp_path}/d.csv", "-o", "hdfs://n:8020/a.model"],
            "hdfs://n:8020/a.model is an address, where only",
        ),
        (["predict", "hdfs://n:8020/a.model", f"{tmp_path}/d.csv"], "hdfs://n:8020/a.model is an address; download"),
    ):
        assert exit_code(words) == 2
        assert f"unnaive: {sentence}" in capsys.readouterr().err
