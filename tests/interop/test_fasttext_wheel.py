"""The wheel that provides the module and the command `fasttext`."""

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.fasttext_files import FastTextParts, write_fasttext

from unnaive import fasttext
from unnaive.interop.fasttext import names, util

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))
import fasttext_wheel  # noqa: E402

PROGRAM = """
import fasttext, fasttext.util
from fasttext.FastText import _FastText
from importlib.metadata import distribution
fasttext.FastText.eprint = lambda line: None
model = _FastText("model.bin")
assert isinstance(fasttext.load_model("model.bin"), _FastText)
assert fasttext.util.test([["a"]], [["a"]]) == (1.0, 1.0)
assert fasttext.EOS == "</s>" and fasttext.tokenize("a") == ["a"]
print(model.predict("the of")[0][0], distribution("{name}").version)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("unnaive-fasttext", "{own}"),
        ("fasttext_numpy2.wheel", "0.9.2+unnaive.{own}"),
        ("fasttext", "0.9.3+unnaive.{own}"),
    ],
)
def test_a_program_imports_fasttext_from_the_wheel(tmp_path, capsys, name, version):
    own = fasttext_wheel.own_version()
    assert fasttext_wheel.main(["--name", name, "--output", str(tmp_path)]) == 0
    wheel = Path(capsys.readouterr().out.strip())
    folder = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (tmp_path / "model.bin").write_bytes(write_fasttext(FastTextParts()))
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("{name}", name)], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(folder)}, check=False,
    )  # fmt: skip
    expected = fasttext.load_model(tmp_path / "model.bin").predict("the of")[0][0]
    assert (finished.stdout, finished.stderr) == (f"{expected} {version.format(own=own)}\n", "")


def test_a_wheel_lists_its_files_with_their_hashes_and_is_the_same_each_time(tmp_path):
    wheels = [fasttext_wheel.build("unnaive-fasttext", "1.0", tmp_path / folder) for folder in ("one", "two")]
    assert wheels[0].read_bytes() == wheels[1].read_bytes()
    with zipfile.ZipFile(wheels[0]) as archive:
        record = archive.read("unnaive_fasttext-1.0.dist-info/RECORD").decode().splitlines()
        assert {line.split(",")[0] for line in record} == set(archive.namelist())
        for line in record[:-1]:
            path, digest, size = line.split(",")
            content = archive.read(path)
            assert int(size) == len(content)
            assert base64.urlsafe_b64decode(digest.removeprefix("sha256=") + "=") == hashlib.sha256(content).digest()
        assert b"fasttext = unnaive.interop.fasttext.command:main" in archive.read(
            "unnaive_fasttext-1.0.dist-info/entry_points.txt"
        )


@pytest.mark.parametrize(
    "arguments", [["--name", "../x"], ["--name", "unnaive"], ["--name", ""], ["--version", "one"], ["--version", "1/2"]]
)
def test_a_name_that_is_none_is_a_sentence(tmp_path, capsys, arguments):
    assert fasttext_wheel.main([*arguments, "--output", str(tmp_path)]) == 2
    assert "give one such as" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_module_has_the_names_of_fasttext():
    assert fasttext.FastText is names
    assert fasttext.util is util
    assert names._FastText is fasttext.FastTextModel
    for name in ("cbow", "skipgram", "supervised"):
        with pytest.raises(ValueError, match="is not supported any more"):
            getattr(fasttext, name)("file.txt")
    for call in (lambda: util.reduce_model(None, 3), lambda: util.download_model("en"), names._FastText):
        with pytest.raises(ValueError, match=r"unnaive does not reduce|unnaive downloads nothing|a model has no path"):
            call()
    with pytest.raises(ValueError, match="0 documents with 0 labels"):
        util.test([], [])
