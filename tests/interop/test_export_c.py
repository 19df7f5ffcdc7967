"""Target c: one header and one data file, built by gcc and clang with sanitizers, decide and score as Python does."""

import json
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from support.exports import CASES, COMPILER, build_c_program, drawn_texts, fitted_case, run_c_program

from unnaive import TextClassifier
from unnaive.interop.export.c_engines import _with_lengths
from unnaive.interop.export.c_header import RUNTIME, header_content, model_data
from unnaive.interop.export.conformance import conformance_lines, conformance_texts
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.engines import zig_compiler
from unnaive.interop.export.export_folder import check_export, export_model
from unnaive.interop.export.portable import portable_model

pytestmark = [
    pytest.mark.slow,  # sanitized code takes seconds to build
    pytest.mark.skipif(COMPILER is None, reason="there is neither gcc nor clang on this machine"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build_c_program(tmp_path_factory.mktemp("built"))


@pytest.mark.parametrize(("model", "rule"), CASES)
def test_decisions_and_scores_are_those_of_the_model(model, rule, program, tmp_path):
    fitted = fitted_case(model, rule)
    found = run_c_program(program, fitted, conformance_lines(fitted, conformance_texts(fitted)), tmp_path)
    assert found.good, found.sentence() + repr(found.example)


def test_a_damaged_data_file_is_refused_or_harmless(program, tmp_path):
    fitted, random = fitted_case("sets-svm-platt", "characters"), Random(0)
    sound = model_data(portable_model(fitted, "c"))
    texts = _with_lengths([json.dumps({"text": text}) for text in drawn_texts(fitted, 20, seed=1)])
    for number in range(120):
        damaged = bytearray(sound)
        for _ in range(random.choice((1, 3, 20))):
            damaged[random.randrange(len(damaged) if number % 2 else 2000)] = random.randrange(256)
        cut = damaged[: random.randrange(len(damaged))] if number % 10 == 0 else damaged
        (tmp_path / "model.bin").write_bytes(bytes(cut))
        done = subprocess.run([program, tmp_path / "model.bin"], input=texts, capture_output=True, check=False)
        assert not any(word in done.stderr for word in (b"Sanitizer", b"runtime error")), done.stderr.decode()


def test_check_builds_with_every_compiler(tmp_path):
    export_model(fitted_case("multinomial", "words"), "c", tmp_path / "out")
    found = check_export(tmp_path / "out")
    assert [one.engine for one in found if not one.good] == []
    names = " ".join(one.engine for one in found)
    for compiler in ("gcc", "clang"):
        assert compiler in names or shutil.which(compiler) is None
    try:
        import ziglang  # noqa: F401
    except ImportError:
        return
    assert "WebAssembly" in names or shutil.which("node") is None


LABELS_OF = """
int main(int n, char **texts) {
  static double space[1 << 16];
  FILE *file = fopen("model.bin", "rb");
  size_t size = file ? fread(space, 1, sizeof space, file) : 0;
  if (file) fclose(file);
  for (int i = 1; i < n; i++) if (print_label(space, size, texts[i], strlen(texts[i]))) return 1;
  return print_label(space, size, "", (size_t)-1) == UNNAIVE_LARGE_TEXT ? 0 : 2;
}
"""


def usage_of(header):
    """The code in the comment at the top of a header."""
    comment = header.partition("*/")[0]
    inside = [line.removeprefix(" *").removeprefix("   ") for line in comment.splitlines()[1:]]
    start = next(row for row, line in enumerate(inside) if line.strip().startswith(("// Print", "#include")))
    end = max(row for row, line in enumerate(inside) if line.strip() == "}")
    return "\n".join(line for line in inside[start : end + 1] if not line.startswith(" A model"))


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "ziglang"])
@pytest.mark.parametrize("name", ["linear", "fasttext"])
def test_the_usage_at_the_top_of_the_header_compiles_without_a_warning(name, compiler, tmp_path):
    command = zig_compiler() if compiler == "ziglang" else [shutil.which(compiler)]
    if not command or command == [None]:
        pytest.skip(f"{compiler} is not on this machine")
    fitted = TextClassifier("multinomial").fit(["ball goal", "vote law"], ["sport", "politics"]).fitted_
    header = (header_content() if name == "linear" else (RUNTIME / "fasttext.h.in").read_bytes()).decode()
    usage = usage_of(header)
    (tmp_path / "unnaive.h").write_text(header, encoding="utf-8")
    (tmp_path / "model.bin").write_bytes(model_data(portable_model(fitted, "c")))
    language = ["-x", "c++", "-std=c++17"] if compiler == "g++" else ["-std=c11"]
    (tmp_path / "usage.c").write_text(f'#include "unnaive.h"\n{usage}\n{LABELS_OF}', encoding="utf-8")
    flags = [*language, "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run([*command, *flags, "usage.c", "-o", "usage", "-lm"], cwd=tmp_path, check=True)
    if name == "linear":
        done = subprocess.run(
            ["./usage", "a goal", "the law"], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        assert done.stdout == "sport\npolitics\n"
        page = (Path(__file__).parents[2] / "docs" / "run-elsewhere.md").read_text(encoding="utf-8")
        assert all(function in page for function in usage.split("\n\n"))


def test_a_nul_in_a_class_is_one_sentence(tmp_path):
    fitted = TextClassifier("multinomial").fit(["ball goal", "vote law"], ["a\0b", "a\0c"]).fitted_
    with pytest.raises(CannotExport, match=r"a C string ends at a NUL, which the class 'a\\x00b' has"):
        export_model(fitted, "c", tmp_path / "out")
