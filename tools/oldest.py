"""`make oldest`: the quick tests with the oldest versions that pyproject.toml allows, in an environment under build/.

At their lower bounds are what the package imports, its extras, the build requirements, and the data frames that it
accepts; the developers' tools are the newest that go with these. The oldest version is the oldest that has a wheel for
this Python. Arguments go to pytest instead of `-n 2`.
"""

import re
import subprocess
import sys
import tomllib

from pins import PYPROJECT, ROOT, install_uv, resolve

FOLDER = ROOT / "build" / "oldest"
EXTRAS = ["tables", "figures", "sklearn", "stemming", "excel", "chinese", "sign", "serve"]
DATA_FRAMES = ("pandas", "polars")
WITHOUT_WHEEL = {"jieba"}
LEFT_OUT = {"schemathesis"}  # asks for a newer rich than the package; its tests are skipped


def project_extras() -> dict[str, list[str]]:
    """The requirements of each extra, as pyproject.toml writes them."""
    return tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def bounded_requirements() -> list[str]:
    """The requirements whose lower bound is tried, as pyproject.toml writes them."""
    written = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    extras = project_extras()
    frames = [one for one in extras["dev"] if one.startswith(DATA_FRAMES)]
    return [
        *written["build-system"]["requires"],
        *written["project"]["dependencies"],
        *(one for extra in EXTRAS for one in extras[extra]),
        *frames,
    ]


def package_name(requirement: str) -> str:
    """`uvicorn` of `uvicorn[standard]>=0.34`."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def resolve_oldest() -> str:
    """The lines of a requirements file: the lower bounds, and the developers' tools that go with them."""
    requirements = bounded_requirements()
    names = {package_name(one) for one in requirements}
    wheels = [word for name in sorted(names - WITHOUT_WHEEL) for word in ("--only-binary", name)]
    here = ["--python", sys.executable]
    oldest = resolve([*here, *wheels, "--resolution", "lowest-direct"], "\n".join(requirements))
    pinned = dict(line.split("==") for line in oldest.split())
    bounds = {name: pinned[name] for name in sorted(map(str.lower, names))}
    constraints = FOLDER / "bounds.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in bounds.items()), encoding="utf-8")
    print("oldest:", ", ".join(f"{name} {version}" for name, version in bounds.items()), flush=True)
    tools = [one for one in project_extras()["dev"] if package_name(one) not in {"unnaive", *LEFT_OUT}]
    return resolve([*here, *wheels, "--constraints", str(constraints)], "\n".join([*requirements, *tools]))


def run_tests(arguments: list[str]) -> int:
    """Install the oldest versions and the package in place, and run the quick tests."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    pinned = FOLDER / "oldest.txt"
    pinned.write_text(resolve_oldest(), encoding="utf-8")
    uv, environment = install_uv()
    python = FOLDER / "venv" / "bin" / "python"
    environment["PATH"] = f"{python.parent}:{environment['PATH']}"  # the build finds this environment's programs
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(FOLDER / "venv")], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", str(python)]
    package = ["--no-deps", "--no-build-isolation", "--reinstall-package", "unnaive", "--editable", str(ROOT)]
    for wanted in (["--exact", "--requirement", str(pinned)], package):
        subprocess.run([*install, *wanted], env=environment, cwd=ROOT, check=True)
    tests = [str(python), "-m", "pytest", "-q", "-m", "not slow", "--hypothesis-profile=quick", *arguments]
    return subprocess.run(tests, env=environment, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(run_tests(sys.argv[1:] or ["-n", "2"]))
