"""What set-up installs is pinned: versions and hashes that pyproject.toml allows, licences that the notices name."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from hashlib import sha256
from importlib.metadata import Distribution, PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
NATIVE = {path.with_suffix("").name for path in (ROOT / "src/unnaive").rglob("_*.cpp")}
LAYERS = {
    "build": ["build"],
    "package": ["package"],
    "all": ["package", "all"],
    "dev": ["build", "package", "all", "dev"],
}


def load_tool(name):
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(*names):
    """(requirement, hashes) of the files of these names in requirements/."""
    found = []
    for name in names:
        text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        for line in lines:
            requirement, *hashes = line.split(" --hash=")
            found.append((Requirement(requirement), [one.strip() for one in hashes]))
    return found


def wanted(layer):
    written = project()
    extras = written["project"]["optional-dependencies"]
    in_all = [one for name in re.findall(r"[a-z]+", extras["all"][0].partition("[")[2]) for one in extras[name]]
    return {
        "build": written["build-system"]["requires"] + ["cmake", "ninja"],
        "package": written["project"]["dependencies"],
        "all": written["project"]["dependencies"] + in_all,
        "dev": [one for one in extras["dev"] if not one.startswith("unnaive")],
    }[layer]


@pytest.mark.parametrize("layer", LAYERS)
def test_every_direct_dependency_is_pinned_within_its_bounds(layer):
    pinned = {}
    for requirement, _ in pins(*LAYERS[layer]):
        pinned.setdefault(requirement.name, []).append(str(requirement.specifier).removeprefix("=="))
    for one in map(Requirement, wanted(layer)):
        versions = pinned[one.name.lower().replace("_", "-")]
        assert all(one.specifier.contains(each) for each in versions), one


@pytest.mark.parametrize("layer", LAYERS)
def test_a_pin_is_one_version_with_hashes_and_no_file_names_an_index(layer):
    text = (ROOT / f"requirements/{layer}.txt").read_text(encoding="utf-8")
    assert not re.search(r"://|--index|--find-links|@", text)
    for requirement, hashes in pins(layer):
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier))
        assert hashes
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", one) for one in hashes)


def test_a_package_has_one_version_on_one_python():
    for python in ("3.11.7", "3.12.1", "3.13.0", "3.14.0"):
        for machine in ("x86_64", "aarch64"):
            here = {"python_version": python[:4], "python_full_version": python, "platform_machine": machine}
            here |= {"sys_platform": "linux", "platform_python_implementation": "CPython"}
            versions = {}
            for requirement, _ in pins(*LAYERS["dev"]):
                if requirement.marker is None or requirement.marker.evaluate(here):
                    versions.setdefault(requirement.name, set()).add(str(requirement.specifier))
            assert {name: len(found) for name, found in versions.items() if len(found) > 1} == {}
            assert {"numpy", "scipy", "nanobind", "pytest", "fastapi"} <= set(versions)


def test_make_demo_installs_no_developer_tools():
    commands = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "requirements/package.txt" in commands
    assert "dev.txt" not in commands
    assert "all.txt" not in commands


def test_the_extra_all_has_every_extra_but_spark():
    extras = project()["project"]["optional-dependencies"]
    assert set(re.findall(r"[a-z]+", extras["all"][0].partition("[")[2])) == {*extras} - {
        "all",
        "spark",
        "dev",
        "bench",
    }


def test_the_container_installs_nothing_that_is_not_pinned():
    lines = (ROOT / "deploy/Dockerfile").read_text().replace("\\\n", " ").splitlines()
    installs = [line for line in lines if re.search(r"pip (install|wheel)", line)]
    assert len(installs) == 4
    for line in installs:
        assert "--no-deps" in line
        assert any(flag in line for flag in ("--require-hashes", "--no-index", "--no-build-isolation"))
    assert re.findall(r"-r \S*?(\w+\.txt)", "\n".join(installs)) == ["build.txt", "package.txt", "all.txt"]


def test_what_pip_says_becomes_one_sentence():
    explain = load_tool("install_pinned").explain_failure
    missing = "ERROR: Could not find a version that satisfies the requirement a==2\n"
    sentence = explain(missing + "ERROR: No matching distribution found for a==2\n", ["requirements/build.txt"])
    assert sentence.startswith("the package index has no a==2 for Python 3.")
    assert sentence.endswith("use an index that has it, or run `make pins` to pin what yours has")
    assert explain("x\nERROR: disc full\n", ["p.txt"]) == "pip could not install what p.txt pins: disc full"
    assert explain("", ["p.txt"]) == "pip could not install what p.txt pins: no message"


@pytest.mark.slow
def test_an_index_without_the_pinned_file_is_one_sentence_and_exit_code_2(tmp_path):
    wheel = tmp_path / "links" / "tiny-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    right = sha256(wheel.read_bytes()).hexdigest()
    target = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheel.parent), "PIP_TARGET": str(tmp_path / "installed")}

    def install(pin):
        (tmp_path / "pins.txt").write_text(pin)
        command = [sys.executable, str(ROOT / "tools/install_pinned.py"), "pins.txt"]
        return subprocess.run(
            command, cwd=tmp_path, env=os.environ | target, capture_output=True, text=True, check=False
        )

    absent = install(f"tiny==2.0 --hash=sha256:{right}\n")
    changed = install(f"tiny==1.0 --hash=sha256:{'0' * 64}\n")
    assert (absent.returncode, changed.returncode) == (2, 2)
    assert absent.stderr.startswith("the package index has no tiny==2.0 for Python 3.")
    assert changed.stderr.startswith("the package index has another file of tiny==1.0 than the one whose hash pins.txt")
    assert absent.stderr.count("\n") == changed.stderr.count("\n") == 1
    assert not (tmp_path / "installed").exists()
    assert install(f"tiny==1.0 --hash=sha256:{right}\n").returncode == 0
    assert (tmp_path / "installed" / "tiny-1.0.dist-info").is_dir()


def test_the_oldest_versions_are_those_of_every_requirement_of_the_package(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    oldest = load_tool("oldest")
    requirements = oldest.bounded_requirements()
    assert set(wanted("all")) < set(requirements)
    assert all(Requirement(one).name == oldest.package_name(one) for one in requirements)
    assert all(any(each.operator == ">=" for each in Requirement(one).specifier) for one in requirements)


def installed_as_pinned(name, specifier):
    try:
        return specifier.contains(version(name))
    except PackageNotFoundError:
        return False


def test_the_notices_name_the_licences_that_the_installed_packages_name():
    here = [one for one, _ in pins("package", "all") if one.marker is None or one.marker.evaluate()]
    other = [one.name for one in here if not installed_as_pinned(one.name, one.specifier)]
    if other:
        pytest.skip(f"not installed as pinned: {', '.join(other)}")
    licences = load_tool("licences")
    notices = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    rows = licences.table_rows(notices)
    assert len(rows) == len(licences.pinned_names()) >= 40
    assert licences.differences(rows, licences.pinned_names()) == []
    assert licences.quoted_differences(notices) == []

    assert licences.differences(rows | {"rich": "Apache-2.0"}, set(rows)) == [
        "rich: THIRD_PARTY.md says Apache-2.0, its metadata say MIT, MIT License"
    ]
    assert licences.differences(rows, set(rows) - {"numpy"}) == [
        "numpy: it has a row in THIRD_PARTY.md, and is not pinned"
    ]
    assert licences.differences({}, {"numpy"}) == ["numpy: it is pinned, and has no row in THIRD_PARTY.md"]
    assert len(licences.quoted_differences(notices.replace("Wenzel Jakob", "Nobody"))) == 1


@pytest.mark.parametrize(
    ("metadata", "families"),
    [
        ("License-Expression: MPL-2.0 AND (Apache-2.0 OR MIT)", {"MPL", "Apache", "MIT"}),
        ("License-Expression: MIT-CMU", {"MIT-CMU"}),
        ("License: GPLv3", {"GPL"}),
        ("Classifier: License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)", {"GPL"}),
        ("License: BSD\nClassifier: License :: OSI Approved :: MIT License", {"BSD", "MIT"}),
        ("Summary: says nothing of a licence, though it LIMITS much", set()),
    ],
)
def test_licences_of_metadata(metadata, families, tmp_path):
    (tmp_path / "METADATA").write_text(f"Metadata-Version: 2.4\nName: a\nVersion: 1\n{metadata}\n")
    licences = load_tool("licences")
    words = licences.metadata_licence(Distribution.at(tmp_path))
    assert licences.licence_families(words) == families


def test_a_build_has_a_temporary_folder_of_its_own():
    assert "build-dir" not in project()["tool"]["scikit-build"]  # named ones are shared by installs at the same time


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
@pytest.mark.skipif(importlib.util.find_spec("scikit_build_core") is None, reason="scikit-build-core is not installed")
def test_two_installs_at_once_from_one_checkout(tmp_path):
    # without optimisation, since only the folders matter here
    quick = {"SKBUILD_CMAKE_BUILD_TYPE": "Debug", "SKBUILD_CMAKE_DEFINE": "CMAKE_CXX_FLAGS_DEBUG=-O0"}
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-compile"]
    before = set((ROOT / "build").glob("*"))
    running = [
        subprocess.Popen(
            [*install, "--target", str(tmp_path / name), str(ROOT)],
            env=os.environ | quick,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name in ("one", "two")
    ]
    printed = [each.communicate()[0] for each in running]
    assert [each.returncode for each in running] == [0, 0], printed
    for name in ("one", "two"):
        found = {path.name.partition(".")[0] for path in (tmp_path / name / "unnaive").rglob("*.so")}
        assert found == NATIVE
    assert set((ROOT / "build").glob("*")) == before
