"""`make hosts`: run the programs that our drop-ins are for, each in a pinned environment of its own under build/hosts.

    python tools/hosts.py [--pins] [HOST …]

fasttext   fastText's own tests, of its source archive, with our module `fasttext` (tools/fasttext_wheel.py)
annif      Annif's backends `fasttext` and `http`; Annif has older versions of NumPy, SciPy and scikit-learn
datatrove  datatrove's fastText filter and language identification, against fastText itself

`--pins` resolves requirements/host-*.txt again. What ran and what it printed is written to build/hosts/record.txt.
"""

import argparse
import hashlib
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import NamedTuple

import fasttext_wheel
from pins import PYPROJECT, ROOT, resolve

FOLDER = ROOT / "build" / "hosts"
WHEELS = FOLDER / "wheels"
CHECKS = ROOT / "tools" / "host_checks"
SOURCE = "fasttext-0.9.3"
SOURCE_HASH = "eb03f2ef6340c6ac9e4398a30026f05471da99381b307aafe2f56e4cd26baaef"
ORIGINAL = "fasttext-numpy2-wheel==0.9.2"  # fastText itself, in a folder of its own
HEADER = "# Made by `python tools/hosts.py --pins`; do not edit. What the host {} is tried with.\n"


class Host(NamedTuple):
    """A program: what is installed, the name of the distribution of our module, and the runs of its check."""

    requirements: list[str]
    module: str
    check: str
    runs: list[list[str]]


HOSTS = {
    "fasttext": Host([], "unnaive-fasttext", "fasttext_tests.py", [["{source}"], ["{source}", "{original}"]]),
    "annif": Host(["annif==1.4.3"], "fasttext-numpy2", "annif_backends.py", [["{unnaive}"]]),
    "datatrove": Host(
        ["datatrove==0.10.1", "fasteners", "regex"], "fasttext-numpy2-wheel", "datatrove_filter.py", [["{original}"]]
    ),
}


def pins_of(name: str) -> Path:
    """The file of a host's pinned requirements."""
    return ROOT / "requirements" / f"host-{name}.txt"


def write_pins(names: list[str]) -> None:
    """Resolve each host together with what unnaive needs."""
    needed = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    for name in names:
        lines = "\n".join([*needed, *HOSTS[name].requirements])
        pinned = resolve(["--python", sys.executable, "--generate-hashes"], lines)
        pins_of(name).write_text(HEADER.format(name) + pinned, encoding="utf-8")


def run(*command: str | Path) -> None:
    """Run a program; exit with its output if it fails."""
    finished = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if finished.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{(finished.stdout + finished.stderr)[-2000:]}")


def pip(python: str | Path, *arguments: str | Path) -> None:
    """Run pip of an environment."""
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)


def build_wheel() -> Path:
    """The wheel of this checkout; what need not be compiled again is not."""
    for old in WHEELS.glob("unnaive-*.whl"):
        old.unlink()
    folder = ["--config-settings=build-dir=build/hosts/build", "--wheel-dir", WHEELS]
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", *folder, ROOT)
    (wheel,) = WHEELS.glob("unnaive-*.whl")
    return wheel


def fetch_source() -> Path:
    """The unpacked source archive of fastText, whose hash is known."""
    if not (FOLDER / SOURCE).exists():
        requirement = SOURCE.replace("-", "==")
        pip(sys.executable, "download", "--no-deps", "--no-binary", "fasttext", "--dest", FOLDER, requirement)
        archive = FOLDER / f"{SOURCE}.tar.gz"
        if hashlib.sha256(archive.read_bytes()).hexdigest() != SOURCE_HASH:
            sys.exit(f"{archive} is another file than the one that is pinned; remove it")
        with tarfile.open(archive) as packed:
            packed.extractall(FOLDER, filter="data")
    return FOLDER / SOURCE


def fetch_original() -> Path:
    """A folder with fastText's own module, without a name in any environment."""
    folder = FOLDER / "original"
    if not folder.exists():
        pip(sys.executable, "install", "--no-deps", "--target", folder, ORIGINAL)
    return folder


def prepare(name: str, wheel: Path) -> Path:
    """The Python of a host's environment with its pins, this checkout and our module."""
    environment = FOLDER / name
    python = environment / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", environment)
    pip(python, "install", "--require-hashes", "--requirement", pins_of(name))
    module = HOSTS[name].module
    version = fasttext_wheel.default_version(module)
    pip(python, "install", "--no-deps", "--force-reinstall", wheel, fasttext_wheel.build(module, version, WHEELS))
    pip(python, "check")
    return python


def main() -> int:
    """Prepare and run the hosts; 0 if all of their checks pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pins", action="store_true")
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=", ".join(HOSTS))
    options = parser.parse_args()
    names = options.hosts or list(HOSTS)
    unknown = [name for name in names if name not in HOSTS]
    if unknown:
        print(f"there is no host {unknown[0]!r}; there are {', '.join(HOSTS)}", file=sys.stderr)
        return 2
    if options.pins:
        write_pins(names)
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    wheel = build_wheel()
    command = Path(sys.executable).parent / "unnaive"
    places = {"source": fetch_source(), "original": fetch_original(), "unnaive": command}
    record, failed = [], 0
    for name in names:
        python = prepare(name, wheel)
        for arguments in HOSTS[name].runs:
            filled = [part.format(**places) for part in arguments]
            finished = subprocess.run(
                [python, CHECKS / HOSTS[name].check, *filled], capture_output=True, text=True, check=False
            )
            failed += finished.returncode != 0
            printed = finished.stdout + (finished.stderr[-2000:] if finished.returncode else "")
            record.append(f"== {name} ({'failed' if finished.returncode else 'passed'})\n{printed}")
            print(record[-1], flush=True)
    (FOLDER / "record.txt").write_text("".join(record), encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
