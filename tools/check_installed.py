"""Is the installed package whole? Every native module is there, a model lives its life, and the kernel's tests pass.

    python tools/check_installed.py [--reference] [--no-gil] [--tests TESTS]

For any system and any Python, run beside the sources and never importing from them. --reference: a wheel without native
modules, which must say so; --no-gil: the interpreter must still be without a GIL when all is imported; --tests: also
the quick tests of what is native, in this folder, where pytest and hypothesis are installed.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NATIVE_TESTS = ["text/test_kernel.py", "text/test_characters.py", "base/test_elementary.py", "data/test_products.py",
                "data/test_dense_products.py", "models/test_dual.py",
                "models/test_native_borders.py", "io/test_csv_lines.py", "scaleout/test_scratch.py",
                "classifier/test_checksums.py", "base/test_system.py"]  # fmt: skip


def native_modules() -> list[str]:
    """Their names, as CMakeLists.txt has them."""
    found = re.findall(r"^unnaive_module\((\w+) ([\w/]+)\)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    return [f"unnaive.{room.replace('/', '.')}.{name}" for name, room in found]


def check_modules(reference: bool) -> None:
    """All of them can be imported, or none where the wheel has none."""
    found = []
    for name in native_modules():
        try:
            importlib.import_module(name)
            found.append(name)
        except ImportError as problem:
            if not reference:
                raise SystemExit(f"{name} cannot be imported: {problem}") from problem
    if reference and found:
        raise SystemExit(f"this is no wheel without native modules: it has {', '.join(found)}")


def main() -> None:
    """Check, and end with 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--no-gil", action="store_true")
    parser.add_argument("--tests", type=lambda text: Path(text).resolve())
    asked = parser.parse_args()
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() not in (ROOT, ROOT / "src", ROOT / "tools")]
    check_modules(asked.reference)
    import unnaive

    where = Path(unnaive.__file__).parent
    if unnaive.backend != ("reference" if asked.reference else "native"):
        raise SystemExit(f"the backend is {unnaive.backend}")
    unnaive.TextClassifier("multinomial").fit(["ball", "vote"], [1, 2]).predict(["ball"])
    if asked.no_gil and sys._is_gil_enabled():  # type: ignore[attr-defined, unused-ignore]
        raise SystemExit("an import has switched the GIL on")
    with tempfile.TemporaryDirectory() as folder:
        life = [sys.executable, str(ROOT / "tests/support/life_of_a_model.py"), folder]
        subprocess.run(life, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    if asked.tests:
        tests = [str(asked.tests / name) for name in NATIVE_TESTS]
        options = ["-q", "-p", "no:cacheprovider", "-m", "not slow", "--hypothesis-profile=quick"]
        subprocess.run([sys.executable, "-m", "pytest", *options, *tests], check=True, cwd=asked.tests)
    print(f"{where}: {'Python alone' if asked.reference else 'all native modules'}, a model lived its life")


if __name__ == "__main__":
    main()
