"""The files of deploy/ pass the checks of those who know: hadolint and systemd's own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_container_is_linted():
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed")
    found = subprocess.run([hadolint, str(DEPLOY / "Dockerfile")], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
    assert "USER 10001" in (DEPLOY / "Dockerfile").read_text()


def test_the_probe_of_the_container_asks_the_port_that_is_exposed():
    words = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    command = json.loads(words.partition("HEALTHCHECK")[2].partition("CMD")[2].splitlines()[0])
    assert command[:2] == ["python", "-c"]
    assert "http://127.0.0.1:8000/healthz" in command[2]
    assert "EXPOSE 8000" in words


@pytest.mark.slow
@pytest.mark.skipif("UNNAIVE_CONTAINER" not in os.environ, reason="builds for minutes; UNNAIVE_CONTAINER=1 asks for it")
def test_the_container_is_built_and_tried():
    missing = [tool for tool in ("mmdebstrap", "buildah", "podman") if shutil.which(tool) is None]
    if missing or os.geteuid():
        pytest.skip(f"needs root and {', '.join(missing) or 'nothing else'}")
    subprocess.run(["bash", str(DEPLOY / "build.sh"), *os.environ.get("BUILD_OPTIONS", "").split()], check=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not on this machine")
def test_the_unit_is_hardened(tmp_path):
    unit = tmp_path / "unnaive.service"
    words = (DEPLOY / "unnaive.service").read_text()
    unit.write_text(words.replace("/opt/unnaive/bin/unnaive", "/bin/true"))  # which is on every machine
    subprocess.run(["systemd-analyze", "verify", str(unit)], check=True)
    shown = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", str(unit)], capture_output=True, text=True, check=True
    )
    level = float(shown.stdout.split("exposure level for unnaive.service:")[1].split()[0])
    assert level < 2.0  # 1.7 measured; 10 is a service without any protection
