"""Build a small wheel that provides the module and the command `fasttext` by unnaive, for programs that use fastText.

    python tools/fasttext_wheel.py [--name unnaive-fasttext] [--version V] [--output dist]
    pip install unnaive dist/unnaive_fasttext-*.whl

It shadows fastText, so it is never installed by unnaive itself; uninstall fastText first. Some programs ask for a
distribution by name: Annif for `fasttext-numpy2` 0.10.4, datatrove for `fasttext-numpy2-wheel`. With `--name` the wheel
says that it is that one; its version then ends in `+unnaive`, which pip takes for the same version. Such a wheel is for
your own machines: publish it nowhere.
"""

import argparse
import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULE = ROOT / "tools" / "fasttext_module"
OWN_NAME = "unnaive-fasttext"
# distributions that programs ask for by name, and the version that is replaced
VERSIONS = {
    "fasttext": "0.9.3",
    "fasttext-wheel": "0.9.2",
    "fasttext-numpy2": "0.10.4",
    "fasttext-numpy2-wheel": "0.9.2",
}
EPOCH = (1980, 1, 1, 0, 0, 0)  # the time of every file, so that equal content gives an equal wheel
METADATA = """Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: The module and the command fasttext, provided by unnaive
License: BSD-3-Clause
Requires-Python: >=3.11
Requires-Dist: unnaive>={own}
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: unnaive\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
COMMAND = "[console_scripts]\nfasttext = unnaive.interop.fasttext.command:main\n"


def own_version() -> str:
    """The version of unnaive in this checkout."""
    written = (ROOT / "src" / "unnaive" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"', written, re.MULTILINE)[1]


def default_version(name: str) -> str:
    """unnaive's version, or that of the distribution that the wheel stands for with `+unnaive`."""
    return f"{VERSIONS[name]}+unnaive.{own_version()}" if name in VERSIONS else own_version()


def wheel_content(name: str, version: str) -> dict[str, bytes]:
    """The files of the wheel by their paths in it."""
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    modules = sorted(path for path in MODULE.rglob("*.py"))
    files = {path.relative_to(MODULE).as_posix(): path.read_bytes() for path in modules}
    files |= {
        f"{folder}/METADATA": METADATA.format(name=name, version=version, own=own_version()).encode(),
        f"{folder}/WHEEL": WHEEL.encode(),
        f"{folder}/entry_points.txt": COMMAND.encode(),
        f"{folder}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    return files | {f"{folder}/RECORD": record(files, f"{folder}/RECORD").encode()}


def record(files: dict[str, bytes], own_path: str) -> str:
    """The list of the files with their hashes and sizes."""
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{own_path},,\n"


def build(name: str, version: str, output: Path) -> Path:
    """Write the wheel into a folder; its path."""
    output.mkdir(parents=True, exist_ok=True)
    wheel = output / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in wheel_content(name, version).items():
            archive.writestr(zipfile.ZipInfo(path, EPOCH), content)
    return wheel


def main(arguments: list[str]) -> int:
    """Build the wheel that the arguments name; 0, or 2 with a sentence on stderr."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default=OWN_NAME, help="name of the distribution")
    parser.add_argument("--version", help="its version; by default unnaive's, or the one it stands for")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the wheel")
    options = parser.parse_args(arguments)
    name = re.sub(r"[-_.]+", "-", options.name).lower()
    if name == "unnaive" or not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", name):
        print(f"{options.name!r} is no name for this wheel; give one such as {', '.join(VERSIONS)}", file=sys.stderr)
        return 2
    version = options.version or default_version(name)
    if not re.fullmatch(r"\d+(\.\w+)*(\+[a-z0-9.]+)?", version):
        print(f"{version!r} is no version; give one such as 0.9.2", file=sys.stderr)
        return 2
    print(build(name, version, options.output))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
