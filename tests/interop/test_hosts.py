"""What `make hosts` runs, as far as this environment has it; the rest is skipped with the reason."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
import hosts  # noqa: E402

pytestmark = pytest.mark.slow


def run_check(name, *arguments):
    """The exit code and output of a check, with our module `fasttext` and nothing installed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools" / "fasttext_module")}
    command = [sys.executable, str(hosts.CHECKS / hosts.HOSTS[name].check), *map(str, arguments)]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return finished.returncode, finished.stdout + finished.stderr


def test_fasttext_own_tests():
    source = hosts.FOLDER / hosts.SOURCE
    if not source.exists():
        pytest.skip("the source archive of fastText is not here; make hosts fetches it and runs its tests")
    code, printed = run_check("fasttext", source)
    assert "45 of 83 pass" in printed
    assert code == 0


@pytest.mark.parametrize("name", ["annif", "datatrove"])
def test_the_others_need_their_own_environment(name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed here; make hosts runs it in an environment of its own")
    arguments = [Path(sys.executable).parent / "unnaive"] if name == "annif" else [hosts.fetch_original()]
    code, printed = run_check(name, *arguments)
    assert code == 0, printed


def test_every_host_has_its_pins_and_its_check():
    for name, host in hosts.HOSTS.items():
        pins = hosts.pins_of(name).read_text(encoding="utf-8")
        assert "--hash=sha256:" in pins
        assert "://" not in pins  # no index is named
        assert all(requirement in pins for requirement in host.requirements)
        assert (hosts.CHECKS / host.check).exists()
