"""DVC: a stage that trains is skipped while its inputs are the same; a model that was there comes from the cache."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BESIDE = str(Path(sys.executable).parent)
DVC = shutil.which("dvc") or shutil.which("dvc", path=BESIDE)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(DVC is None, reason="dvc is not installed")]

STAGE = """
stages:
  train:
    cmd:
      - unnaive --quiet train tickets.csv -o tickets.model --model nbsvm
      - echo trained >> runs.txt
    deps: [tickets.csv]
    outs: [tickets.model]
"""
FIRST = "text,label\ngood ball game,sport\nfair vote law,politics\nball game play,sport\n"
SECOND = FIRST + "a new law,politics\n"


@pytest.fixture
def dvc(tmp_path):
    """The dvc command in a new project, with a cache of its own and no settings of this machine."""
    settings = {name: str(tmp_path / "dvc" / name) for name in ("DVC_SITE_CACHE_DIR", "DVC_GLOBAL_CONFIG_DIR", "HOME")}
    path = os.pathsep.join([BESIDE, os.environ["PATH"]])
    surroundings = {**os.environ, **settings, "DVC_NO_ANALYTICS": "1", "PATH": path}
    project = tmp_path / "project"
    project.mkdir()

    def run(*arguments):
        command = [DVC, *arguments]
        done = subprocess.run(command, cwd=project, env=surroundings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    run("init", "--no-scm")
    (project / "dvc.yaml").write_text(STAGE)
    (project / "tickets.csv").write_text(FIRST)
    return project, run


def times_trained(project):
    return len((project / "runs.txt").read_text().split())


def test_a_stage_is_skipped_and_a_model_comes_back_from_the_cache(dvc):
    project, run = dvc
    model = project / "tickets.model"
    run("repro")
    first = model.read_bytes()
    run("repro")
    assert times_trained(project) == 1  # nothing has changed
    (project / "tickets.csv").write_text(SECOND)
    run("repro")
    second = model.read_bytes()
    assert (times_trained(project), first == second) == (2, False)
    (project / "tickets.csv").write_text(FIRST)
    run("repro")
    assert (times_trained(project), model.read_bytes()) == (2, first)  # from the cache of runs
    run("repro", "--set", "force=true")
    assert (times_trained(project), model.read_bytes()) == (3, first)  # the same command gives the same bytes
    model.unlink()
    run("checkout")
    assert model.read_bytes() == first


@pytest.mark.parametrize("kind", ["hardlink", "symlink"])
def test_an_update_leaves_the_cache_alone_where_the_model_is_a_link_to_it(dvc, kind):
    project, run = dvc
    run("config", "cache.type", kind)
    run("repro")
    model = project / "tickets.model"
    first = model.read_bytes()
    assert (model.is_symlink(), model.stat().st_nlink) == ((False, 2) if kind == "hardlink" else (True, 1))
    (project / "more.csv").write_text("text,label\nnew taxes,politics\n")
    command = [sys.executable, "-m", "unnaive", "--quiet", "update", "tickets.model", "more.csv"]

    def update():
        return subprocess.run(command, cwd=project, check=False, capture_output=True, text=True)

    if kind == "symlink":
        refused = update()
        assert (refused.returncode, "a link to a write-protected file" in refused.stderr) == (2, True)
        run("unprotect", "tickets.model")
    assert update().returncode == 0
    assert model.read_bytes() != first
    run("checkout", "--set", "force=true")
    assert model.read_bytes() == first
