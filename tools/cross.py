"""make cross: every native module for other systems, by the compiler of the package `ziglang`; docs/platforms.md.

    python tools/cross.py                            all modules for all targets
    python tools/cross.py --target aarch64-linux-gnu --module _rows
    python tools/cross.py --target x86_64-windows-gnu

Modules come to lie in build/cross/TARGET as in a wheel; tools/emulated_tests.sh runs those for Linux on ARM here.
Each is linked a first time against an empty library with the names of Python's C interface: a name that neither Python,
the system nor the module has is an error here, as it would be where the module is loaded. Windows: compiled, not
linked; headers of MinGW, so that this shows what the sources ask of the system, and CI builds with clang-cl.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "cross"
PYTHON = "{}{}".format(*sys.version_info[:2])
# the compiler's name of a target, how files of modules end there, and options of the linker
TARGETS = {
    "aarch64-linux-gnu": ("aarch64-linux-gnu.2.28", f"cpython-{PYTHON}-aarch64-linux-gnu.so", []),
    "x86_64-linux-musl": ("x86_64-linux-musl", f"cpython-{PYTHON}-x86_64-linux-musl.so", []),
    "aarch64-linux-musl": ("aarch64-linux-musl", f"cpython-{PYTHON}-aarch64-linux-musl.so", []),
    "aarch64-macos": ("aarch64-macos.11.0", f"cpython-{PYTHON}-darwin.so", ["-undefined", "dynamic_lookup"]),
    "x86_64-macos": ("x86_64-macos.10.15", f"cpython-{PYTHON}-darwin.so", ["-undefined", "dynamic_lookup"]),
    "x86_64-windows-gnu": ("x86_64-windows-gnu", "", []),
}
FLAGS = [
    "-std=c++17",
    "-DNDEBUG",
    "-DNB_COMPACT_ASSERTIONS",
    "-fvisibility=hidden",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-sanitize=undefined",  # which this compiler has on where nothing is optimised
]
OPTIMISED = os.environ.get("UNNAIVE_CROSS_OPTIMISED", "-O3")  # -O0 shows in a fraction of the time whether it compiles
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-Wno-bitwise-instead-of-logical"]
# what Python's headers ask of the configuration on Windows: its own file is not part of an installation elsewhere
WINDOWS = """
#define MS_WIN32
#define MS_WIN64
#define MS_WINDOWS
#define NT_THREADS
#define WITH_THREAD
#define HAVE_DECLSPEC_DLL
#define PLATFORM "win32"
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_OFF_T 4
#define SIZEOF_FPOS_T 8
#define SIZEOF_HKEY 8
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_DOUBLE 8
#define SIZEOF_FLOAT 4
#define SIZEOF_WCHAR_T 2
#define SIZEOF__BOOL 1
#define ALIGNOF_SIZE_T 8
#define ALIGNOF_MAX_ALIGN_T 8
#define HAVE_LONG_LONG 1
#define HAVE_STDDEF_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_WCHAR_H 1
#define HAVE_PROTOTYPES 1
typedef long long Py_ssize_t;
#define HAVE_PY_SSIZE_T 1
#define PY_SSIZE_T_MAX 9223372036854775807LL
#define PY_LLONG_MIN LLONG_MIN
#define PY_LLONG_MAX LLONG_MAX
#define PY_ULLONG_MAX ULLONG_MAX
"""


def modules() -> dict[str, str]:
    """The folder of every native module, as CMakeLists.txt has them."""
    return dict(re.findall(r"^unnaive_module\((\w+) ([\w/]+)\)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE))


def headers(target: str) -> Path:
    """A copy of Python's headers with a configuration for the target: one of 64 bits is as good as this machine's."""
    folder = BUILD / target / "include"
    if not folder.exists():
        shutil.copytree(sysconfig.get_path("include"), folder)
        config = Path(sysconfig.get_config_h_filename()).read_text()
        wrapped = re.search(r"<(x86_64-linux-gnu/\S+)>", config)  # Debian keeps one for each architecture
        if wrapped:
            config = Path("/usr/include", wrapped[1]).read_text()
        (folder / "pyconfig.h").write_text(WINDOWS if "windows" in target else config)
    return folder


def nanobind() -> Path:
    """Where its sources are."""
    import nanobind

    return Path(nanobind.__file__).parent


def compiler(target: str) -> list[str]:
    """The command that compiles C++ for the target."""
    command = [sys.executable, "-m", "ziglang", "c++", "-target", TARGETS[target][0], OPTIMISED, *FLAGS]
    if target.startswith("x86_64"):
        command.append("-mpopcnt")
    binding = nanobind()
    paths = [headers(target), binding / "include", binding / "ext/robin_map/include"]
    return command + [word for path in paths for word in ("-isystem", str(path))]


def run(command: list[str]) -> None:
    """The command, or what it said if it failed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())


def compile_module(name: str, room: str, target: str) -> Path:
    """Compile one module, all warnings being errors."""
    made = BUILD / target / f"{name}.o"
    source = str(ROOT / "src/unnaive" / room / f"{name}.cpp")
    run([*compiler(target), *WARNINGS, f"-DNB_DOMAIN=unnaive{name}", "-c", source, "-o", str(made)])
    return made


def python_names() -> list[str]:
    """The names of Python's C interface, as nanobind lists them for the linker of macOS."""
    return re.findall(r"^-U _(\w+)", (nanobind() / "cmake/darwin-ld-cpython.sym").read_text(), re.MULTILINE)


def python_library(target: str) -> Path:
    """An empty library with the names of Python's C interface."""
    folder = BUILD / target
    source, library = folder / "python.c", folder / ("libpython.dylib" if "macos" in target else "libpython.so")
    if library.exists():
        return library
    source.write_text("".join(f"char {name};\n" for name in python_names()))
    command = [sys.executable, "-m", "ziglang", "cc", "-target", TARGETS[target][0], OPTIMISED, "-w", "-shared"]
    part = folder / f"part-{library.name}"
    run([*command, str(source), "-o", str(part)])
    part.replace(library)
    return library


def link_module(parts: list[Path], target: str, module: Path) -> None:
    """Link a module, a first time with all names resolved."""
    command = [*compiler(target)[:7], "-shared", "-s", *map(str, parts)]
    library = python_library(target)
    strict = ["-Wl,-z,defs"] if "linux" in target else []
    trial = BUILD / target / "trial.so"
    run([*command, *strict, str(library), "-o", str(trial)])
    trial.unlink()
    run([*command, *TARGETS[target][2], "-o", str(module)])


def build_module(name: str, room: str, target: str) -> Path:
    """Compile and link one module; nanobind itself is compiled once for a target."""
    made = compile_module(name, room, target)
    folder = BUILD / target
    library = folder / "nanobind.o"
    if not library.exists():
        part = folder / "nanobind.part.o"
        source = str(nanobind() / "src/nb_combined.cpp")
        run([*compiler(target), "-w", "-fno-strict-aliasing", "-c", source, "-o", str(part)])
        part.replace(library)
    module = folder / "unnaive" / room / f"{name}.{TARGETS[target][1]}"
    module.parent.mkdir(parents=True, exist_ok=True)
    link_module([made, library], target, module)
    return module


def main() -> None:
    """Build what was asked for and print a row for each target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=TARGETS, help="one of them; all if none is named")
    parser.add_argument("--module", action="append", choices=modules(), help="one of them; all if none is named")
    parser.add_argument(
        "--no-link", action="store_true", help="compile alone: the linker would first build the C++ library"
    )
    asked = parser.parse_args()
    failures = 0
    for target in asked.target or TARGETS:
        (BUILD / target).mkdir(parents=True, exist_ok=True)
        linked = bool(TARGETS[target][1]) and not asked.no_link
        built, size, start = [], 0, time.monotonic()
        for name, room in modules().items():
            if asked.module and name not in asked.module:
                continue
            try:
                size += (build_module if linked else compile_module)(name, room, target).stat().st_size
                built.append(name)
            except RuntimeError as problem:
                failures += 1
                print(f"{target}: {name} failed\n{problem}", file=sys.stderr)
        what = "linked" if linked else "compiled"
        print(
            f"{target}: {what} {len(built)} ({', '.join(built)}), {size >> 10} kB, {time.monotonic() - start:.0f} s",
            flush=True,
        )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(BUILD / "cache"))
    main()
