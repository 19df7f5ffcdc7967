"""A process that fails says one sentence on stderr and nothing else; an interrupted one says that it stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from unnaive import TextClassifier
from unnaive.text import backend

GOOD = "text,label\nthe ball is round,sport\nthe vote is in,politics\nwarm bread,food\nthe goal,sport\n"

FAILING = [
    "train nosuch.csv -o new.model",
    "train good.csv -o nosuch/new.model",
    "train good.csv --model nosuch -o new.model",
    "train good.csv --label nosuch -o new.model",
    "train empty.csv -o new.model",
    "train good.csv --model multinomial --set alpha=none -o new.model",
    "train good.csv -o good.csv",
    "train binary.parquet -o new.model",
    "predict nosuch.model good.csv",
    "predict good.csv good.csv",
    "predict old.model nosuch.csv",
    "predict old.model good.csv --text nosuch",
    "predict damaged.model good.csv",
    "evaluate old.model nosuch.csv",
    "evaluate old.model good.csv --label nosuch",
    "explain nosuch.model words",
    "explain old.model words --class nosuch",
    "inspect nosuch.model",
    "inspect damaged.model",
    "update old.model nosuch.csv",
    "forget old.model good.csv",
    "merge old.model nosuch.model -o new.model",
    "compress nosuch.model -o new.model",
    "verify old.model nosuch.json",
    "compare nosuch.csv",
    "audit nosuch.csv",
    "clean nosuch.csv -o new.csv",
    "label nosuch.csv",
    "reproduce nosuch",
    "collections show nosuch",
    "serve nosuch.model",
    "serve old.model --host 0.0.0.0",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good and bad files."""
    place = tmp_path_factory.mktemp("exit")
    (place / "good.csv").write_text(GOOD)
    (place / "empty.csv").write_text("")
    (place / "binary.parquet").write_bytes(bytes(range(256)))
    TextClassifier("multinomial").fit(["ball goal", "vote law"], ["sport", "politics"]).save(place / "old.model")
    (place / "damaged.model").write_bytes((place / "old.model").read_bytes()[:200])
    return place


@pytest.mark.slow
@pytest.mark.parametrize("command", FAILING)
def test_a_failing_command_says_one_sentence(folder: Path, command: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "UNNAIVE_TOKEN"}
    done = subprocess.run(
        [sys.executable, "-m", "unnaive", *command.split()], cwd=folder, env=environment, capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 2
    assert re.fullmatch(r"unnaive: [^\n]+\n", done.stderr), done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is another matter there")
def test_an_interrupted_service_says_that_it_stopped(folder: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    command = [sys.executable, "-m", "unnaive", "serve", "old.model", "--port", "0"]
    environment = {**os.environ, "UNNAIVE_TOKEN": "a-token-for-the-tests"}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:  # fmt: skip
        assert server.stdout is not None
        found = re.search(r"http://[^/]+", server.stdout.readline())
        assert found
        with urlopen(found.group() + "/healthz") as answer:  # noqa: S310  # its own handler of signals is there by now
            assert answer.status == 200
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=300)
    assert said == "note: stopped\n"
    assert server.returncode == 0


@pytest.mark.skipif(backend.kernel is None, reason="there is no native kernel")
def test_native_modules_report_no_leaks() -> None:
    """An object of the kernel that outlives the interpreter is reported in builds with sanitizers only."""
    program = (
        "import ctypes; from unnaive.text import _kernel\n"
        "ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kernel.Threads(1, 1)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_an_interrupt_while_modules_are_imported_is_one_sentence() -> None:
    program = (
        "import sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from unnaive.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "unnaive: interrupted; no file was changed\n")
