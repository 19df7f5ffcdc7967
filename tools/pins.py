"""`make pins`: resolve the newest allowed version of every dependency and write it, with hashes, to requirements/.

One resolution covers every Python from 3.11 on and every platform, with the hashes of all wheels. It is written to four
files:

    build.txt    what compiles the package: the backend, nanobind, CMake, Ninja
    package.txt  what the package imports; with build.txt all that `make demo` needs
    all.txt      what the extra `all` adds to package.txt; the container has these two
    dev.txt      what the developers' tools add to the other three

The resolver is uv, installed under build/; pip installs the files (tools/install_pinned.py). uv asks the index that pip
is configured to ask, and no file names an index. To regroup the pins without updating them, put all of them in one file
and name it in UV_CONSTRAINT.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "requirements"
PYPROJECT = ROOT / "pyproject.toml"
BUILD_TOOLS = ["cmake", "ninja", "setuptools"]  # setuptools: jieba has no wheel and is built from its source archive
PYTHONS = ["3.11", "3.14"]  # the oldest and the newest that the pins are for
HEADER = "# Made by `make pins` from pyproject.toml; do not edit. {}\n"
CONTENTS = {
    "build": "What compiles the package.",
    "package": "What the package imports.",
    "all": "What the extra `all` adds to package.txt.",
    "dev": "What the developers' tools add to the other three.",
}


def install_uv() -> tuple[str, dict[str, str]]:
    """The path of uv, in an environment of its own under build/, and the environment variables to run it with."""
    folder = ROOT / "build" / "uv"
    python = folder / "bin" / "python"
    if not (folder / "bin" / "uv").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"], check=True)
    listed = subprocess.run([python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True).stdout
    index = re.search(r"^\S*\.index-url='(.*)'$", listed, re.MULTILINE)
    environment = dict(os.environ)
    if index:
        environment.setdefault("UV_DEFAULT_INDEX", index[1])
    return str(folder / "bin" / "uv"), environment


def resolve(arguments: list[str], requirements: str = "") -> str:
    """What `uv pip compile` prints for pyproject.toml, or for the lines of `requirements`."""
    uv, environment = install_uv()
    source = "-" if requirements else str(PYPROJECT)
    command = [uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate", *arguments, source]
    finished = subprocess.run(
        command, cwd=ROOT, env=environment, input=requirements, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise SystemExit(f"uv could not resolve the dependencies of pyproject.toml:\n{finished.stderr.strip()}")
    return finished.stdout


def split_pins(text: str) -> list[tuple[str, str]]:
    """The pins of a requirements file as (name, lines); a name that has a pin for each of two Pythons comes twice."""
    blocks = re.findall(r"^[a-z0-9].*(?:\n[ ].*)*", text, re.MULTILINE)
    return [(re.split("[=[ ]", block, maxsplit=1)[0], block + "\n") for block in blocks]


def names_on_linux(constraints: str, extras: list[str], requirements: str = "") -> set[str]:
    """What these requirements install on Linux, under the oldest Python or the newest."""
    return {
        name
        for version in PYTHONS
        for name, _ in split_pins(
            resolve(
                ["--python-platform", "linux", "--python-version", version, "--constraints", constraints, *extras],
                requirements,
            )
        )
    }


def write_pins() -> None:
    """Resolve all of pyproject.toml once, and write the four files."""
    build = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["build-system"]["requires"] + BUILD_TOOLS
    everything = resolve(["--universal", "--python-version", PYTHONS[0], "--generate-hashes", "--extra", "dev"])
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "all.txt"
        constraints.write_text(everything, encoding="utf-8")
        wanted = {
            "build": names_on_linux(str(constraints), [], "\n".join(build)),
            "package": names_on_linux(str(constraints), []),
            "all": names_on_linux(str(constraints), ["--extra", "all"]),
        }
    pins = split_pins(everything)
    wanted["dev"] = {name for name, _ in pins} - wanted["build"] - wanted["all"]
    wanted["all"] -= wanted["package"]
    for name, content in CONTENTS.items():
        blocks = [block for package, block in pins if package in wanted[name]]
        path = FOLDER / f"{name}.txt"
        path.write_text(HEADER.format(content) + "".join(blocks), encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(blocks)} pins")


if __name__ == "__main__":
    write_pins()
