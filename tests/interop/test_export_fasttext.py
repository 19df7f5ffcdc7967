"""Imported fastText models in JavaScript and C: words, hashes, sums in 32 bits and decisions are those of the model."""

import shutil
import subprocess
from dataclasses import replace
from random import Random

import pytest
from support.exports import COMPILER, build_c_program
from support.fasttext_files import KINDS, write_fasttext

from unnaive.interop.export.c_engines import RUNTIME, _named, _with_lengths
from unnaive.interop.export.conformance import (
    TOLERANCE_OF_SINGLES,
    compare_answers,
    conformance_lines,
    conformance_texts,
)
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.engines import read_answers
from unnaive.interop.export.export_folder import check_export, export_model
from unnaive.interop.export.fasttext_c import write_fasttext_c
from unnaive.interop.export.portable import portable_model
from unnaive.interop.export.portable_fasttext import portable_fasttext
from unnaive.models.fasttext.compressing import rounded
from unnaive.models.fasttext.importing import import_fasttext

NODE = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js on this machine")
NATIVE = pytest.mark.skipif(COMPILER is None, reason="there is neither gcc nor clang on this machine")


@pytest.fixture
def models(tmp_path):
    """The imported models of a kind: folded or not, with 8 bits for each weight, multilabel where it can be."""

    def read(name):
        path = tmp_path / "model.bin"
        path.write_bytes(write_fasttext(KINDS[name]))
        for fold in (True, False):
            yield (fitted := import_fasttext(path, fold=fold))
            if fitted.scorer.loss in ("ova", "ns"):
                yield import_fasttext(path, fold=fold, multilabel=True)
        yield replace(fitted, scorer=rounded(fitted.scorer, 8))

    return read


@NODE
@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_node_decides_and_scores_as_the_model_does(name, models, tmp_path):
    for fitted in models(name):
        export_model(fitted, "js", tmp_path / "export")
        (found,) = check_export(tmp_path / "export")
        assert found.good, found.sentence() + repr(found.example)
        assert not found.tied_otherwise


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build_c_program(tmp_path_factory.mktemp("built"), (RUNTIME / "fasttext.h.in").read_bytes())


@NATIVE
@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_c_decides_and_scores_as_the_model_does(name, models, program, tmp_path):
    for fitted in models(name):
        (tmp_path / "data").write_bytes(write_fasttext_c(portable_fasttext(fitted))["model.bin"])
        lines = conformance_lines(fitted, conformance_texts(fitted))
        command = [program, tmp_path / "data"]
        done = subprocess.run(command, input=_with_lengths(lines), capture_output=True, check=True)
        answers = [_named(answer, fitted.classes) for answer in read_answers(done.stdout.decode())]
        found = compare_answers("c", TOLERANCE_OF_SINGLES, lines, answers)
        assert found.good, found.sentence() + repr(found.example)
        assert not found.tied_otherwise


@NATIVE
@pytest.mark.slow
@pytest.mark.parametrize("name", ["pruned-hs-factors", "softmax-subwords"])
def test_damaged_data_does_not_read_beyond_it(name, models, program, tmp_path):
    """Cut short, or with a number changed: refused, or read without leaving its memory."""
    random, content = Random(5), write_fasttext_c(portable_fasttext(next(models(name))))["model.bin"]
    for _ in range(60):
        damaged = bytearray(content[: random.randrange(len(content))] if random.random() < 0.3 else content)
        for _ in range(random.choice((0, 1, 3))):
            at = random.randrange(min(len(damaged), 2000) // 4 or 1) * 4
            damaged[at : at + 4] = random.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", random.randbytes(4)))
        (tmp_path / "data").write_bytes(damaged)
        texts = b"12\nthe of and x\n0\n"
        done = subprocess.run([program, tmp_path / "data"], input=texts, capture_output=True, check=False)
        assert b"ERROR" not in done.stderr, done.stderr[-800:]
        assert b"runtime error" not in done.stderr, done.stderr[-800:]


def test_what_cannot_be_exported_is_said_in_a_sentence(models, tmp_path):
    fitted = next(models("softmax"))
    with pytest.raises(CannotExport, match="which sql cannot express; it can be exported to js and c"):
        export_model(fitted, "sql", tmp_path / "export")
    with pytest.raises(CannotExport, match="leave --page out"):
        portable_model(fitted, "page")
