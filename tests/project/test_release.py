"""What a release says of itself: the version in one place, notices of all that is by others, targets on one screen."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import unnaive
from unnaive.text.languages import stop_lists

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "src/unnaive/papers"


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_stands_in_the_package_alone():
    project = tomllib.loads(read("pyproject.toml"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    place = ROOT / project["tool"]["scikit-build"]["metadata"]["version"]["input"]
    assert place.resolve() == (ROOT / "src/unnaive/__init__.py").resolve()
    assert f'__version__ = "{unnaive.__version__}"' in place.read_text(encoding="utf-8")


def test_changelog_and_citation_are_of_this_version():
    assert re.findall(r"^## \[(.*?)\]", read("CHANGELOG.md"), re.MULTILINE)[0] == unnaive.__version__
    assert f"\nversion: {unnaive.__version__}\n" in read("CITATION.cff")


def test_the_recipe_of_conda_is_of_this_version_and_asks_for_what_the_project_asks_for():
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the developer tools")
    recipe = yaml.safe_load(read("deploy/conda/recipe.yaml"))
    assert recipe["context"]["version"] == unnaive.__version__
    written = tomllib.loads(read("pyproject.toml"))["project"]
    split = {"pyarrow": "pyarrow-core", "matplotlib": "matplotlib-base"}  # packages that are two there

    def as_in_conda(requirements):
        names = (re.fullmatch(r"([\w-]+)(.*)", one).groups() for one in requirements)
        return {f"{split.get(name, name).lower()} {bound}" for name, bound in names}

    extras = written["optional-dependencies"]
    optional = [one for name in ("tables", "figures", "sklearn", "stemming") for one in extras[name]]
    assert set(recipe["requirements"]["run"]) == as_in_conda(written["dependencies"]) | {"python"}
    assert set(recipe["requirements"]["run_constraints"]) == as_in_conda(optional)


def test_workflows_publish_without_a_secret_and_run_what_is_there():
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the developer tools")
    folder = ROOT / ".github/workflows"
    words = "".join(path.read_text() for path in folder.glob("*.yml"))
    assert "secrets." not in words
    for action in re.findall(r"uses: (\S+)", words):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)  # a tag may be moved
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    assert set(re.findall(r"run: make (\S+)", words)) <= targets
    assert all((ROOT / script).is_file() for script in re.findall(r"\btools/\S+", words))
    jobs = yaml.safe_load((folder / "release.yml").read_text())["jobs"]
    writing = {name for name, job in jobs.items() if job.get("permissions", {}).get("id-token") == "write"}
    assert writing == {"publish"}
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}


def test_the_citation_has_the_five_sources_as_they_are_reproduced():
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the developer tools")
    cited = yaml.safe_load(read("CITATION.cff"))["references"]
    papers = [tomllib.loads(path.read_text())["paper"] for path in PAPERS.glob("*.toml")]
    assert len(cited) == len(papers) == 5
    for one in cited:
        family = one["authors"][0]["family-names"]
        source = next(paper["source"] for paper in papers if family in paper["source"])
        assert str(one.get("year")) in source or not re.search(r"\d{4}", source)  # the year of one is not printed
        for name in one["notes"].split(", "):
            assert hasattr(unnaive, name)


def test_every_stop_list_names_its_source_and_the_notices_have_its_licence():
    notices = read("THIRD_PARTY.md")
    rows = {
        name.strip(","): row
        for row in notices.splitlines()
        if row.startswith("| stop list")
        for name in row.split("|")[1].split()[2:]
    }
    for name in stop_lists():
        first = read(f"src/unnaive/text/stopwords/{name}.txt").splitlines()[0]
        package, version = re.search(r"(?:from|as in) (\S+) ([\d.]+) \(", first).groups()
        assert f"{package} {version}" in rows.pop(name)
    assert not rows
    for text in ("Permission is hereby granted, free of charge", "Copyright 2008 Matt Chaput", "Dr Martin Porter"):
        assert text in notices
    assert tomllib.loads(read("pyproject.toml"))["project"]["license-files"] == ["LICENSE", "THIRD_PARTY.md"]


def test_binaries_run_on_other_processors_than_the_one_that_built_them():
    assert "march" not in read("CMakeLists.txt")


def test_the_targets_of_make_fit_on_a_screen():
    targets = re.findall(r"^([a-z]+):.*## (.*)$", read("Makefile"), re.MULTILINE)
    assert "wheel" in dict(targets)
    assert len(targets) <= 22  # of the 24 lines of a terminal, two are the command and the next prompt
    assert max(len(text) for _, text in targets) <= 120


@pytest.mark.skipif(importlib.util.find_spec("unnaive.text._kernel") is None, reason="there is no native kernel")
def test_the_command_line_names_the_other_backend_too(monkeypatch, capsys):
    from unnaive.apps.cli.main import exit_code
    from unnaive.text import backend

    assert exit_code(["--version"]) == 0
    monkeypatch.setattr(backend, "BACKEND", "reference")
    assert exit_code(["--version"]) == 0
    assert capsys.readouterr().out == (
        f"unnaive {unnaive.__version__}, native backend\nunnaive {unnaive.__version__}, Python backend\n"
    )
