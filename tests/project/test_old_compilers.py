"""A compiler that is too old for the native modules gives an install without them, in place of one that fails."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CMAKE = shutil.which("cmake")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CMAKE is None or shutil.which("c++") is None, reason="needs CMake and a compiler"),
]


@pytest.mark.parametrize(
    ("name", "version", "told"),
    [
        ("GNU", "8.5.0", "not GNU 8.5.0: unnaive is installed without them"),
        ("Clang", "9.0.1", "not Clang 9.0.1: unnaive is installed without them"),
        ("AppleClang", "11.0.3", "not AppleClang 11.0.3: unnaive is installed without them"),
        ("MSVC", "19.40", "not for MSVC: unnaive is installed without them"),
    ],
)
def test_an_old_compiler_builds_nothing_and_is_no_error(tmp_path, name, version, told):
    pretended = tmp_path / "old.cmake"
    pretended.write_text(
        f"set(CMAKE_CXX_COMPILER_ID_RUN TRUE)\nset(CMAKE_CXX_COMPILER_FORCED TRUE)\n"
        f"set(CMAKE_CXX_COMPILER_ID {name})\nset(CMAKE_CXX_COMPILER_VERSION {version})\n"
    )
    done = subprocess.run(
        [CMAKE, "-S", str(ROOT), "-B", str(tmp_path / "build"), f"-DCMAKE_TOOLCHAIN_FILE={pretended}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert told in done.stdout
