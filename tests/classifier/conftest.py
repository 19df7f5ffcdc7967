"""What tests of model files share."""

import shutil
import subprocess

import pytest
from support.model_files import LABELS, TEXTS

from unnaive import TextClassifier
from unnaive.classifier.export import c_header

COMPILER = shutil.which("gcc") or shutil.which("clang")


@pytest.fixture(scope="session")
def built_header(tmp_path_factory):
    """What builds a header of the C export with sanitizers, once for each: it is the same for all models."""
    built = {}

    def build(header):
        if COMPILER is None:
            pytest.skip("there is neither gcc nor clang on this machine")
        if header not in built:
            folder = tmp_path_factory.mktemp("built")
            (folder / "unnaive.h").write_bytes((c_header.RUNTIME / header).read_bytes())
            (folder / "check.c").write_bytes((c_header.RUNTIME / "check.c.in").read_bytes())
            command = [COMPILER, *c_header.WARNINGS, *c_header.SANITIZERS, "-O1", "check.c", "-o", "check", "-lm"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            built[header] = folder / "check"
        return built[header]

    return build


@pytest.fixture
def saved(tmp_path):
    """The file of a small model."""
    path = tmp_path / "tickets.model"
    TextClassifier("multinomial").fit(TEXTS, LABELS).save(path)
    return path
