"""Install requirements files with pip into the Python that runs this: the versions and hashes that they pin, no others.

    .venv/bin/python tools/install_pinned.py requirements/build.txt requirements/package.txt

What has no wheel is built with what is installed already, so that nothing unpinned is fetched to build it. Nothing is
compiled to bytecode here: Python does that for what is imported, when it is. Exit code 2 and one sentence when the
index does not have a pinned version, or has another file under its name.
"""

import platform
import re
import subprocess
import sys

PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
PINNED = ["--no-deps", "--require-hashes", "--no-build-isolation", "--use-pep517"]
REMEDY = "use an index that has it, or run `make pins` to pin what yours has"


def explain_failure(errors: str, files: list[str]) -> str:
    """One sentence on why pip failed, from what it printed, and on what to do."""
    names = " and ".join(files)
    missing = re.search(r"No matching distribution found for (\S+)", errors)
    if missing:
        where = f"Python {platform.python_version()} on {platform.machine()}"
        return f"the package index has no {missing[1]} for {where}, which {names} pins: {REMEDY}"
    changed = re.search(r"DO NOT MATCH THE HASHES.*?\n\s*(\S+==\S+)", errors, re.DOTALL)
    if changed:
        return f"the package index has another file of {changed[1]} than the one whose hash {names} pins: {REMEDY}"
    lines = (
        [line for line in errors.splitlines() if line.startswith("ERROR: ")] or errors.splitlines() or ["no message"]
    )
    return f"pip could not install what {names} pins: {lines[-1].removeprefix('ERROR: ')}"


def main(files: list[str]) -> int:
    """Install the files in one go; 0, or 2 with a sentence on stderr."""
    if not files:
        print("usage: install_pinned.py FILE…; the files are in requirements/", file=sys.stderr)
        return 2
    arguments = [word for name in files for word in ("--requirement", name)]
    finished = subprocess.run([*PIP, *PINNED, *arguments], stderr=subprocess.PIPE, text=True, check=False)
    if finished.returncode:
        print(explain_failure(finished.stderr, files), file=sys.stderr)
    return 2 if finished.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
