"""The README stays short and true; test_pages.py runs what it shows."""

import json
import re
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_two_commands_stand_first():
    title, promise, *first = [line.split("  #")[0].strip() for line in README.splitlines() if line.strip()][:4]
    assert (title, promise[:2], first) == ("# unnaive", "**", ["make demo", "make test"])


def test_it_fits_in_a_hundred_lines():
    assert len(README.splitlines()) <= 100


def test_its_links_lead_somewhere():
    for page in (
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "THIRD_PARTY.md",
        "benchmarks/README.md",
    ):
        file = ROOT / page
        for link in re.findall(r"\]\(([^)#\s]+)", file.read_text()):
            assert link.startswith("https://") or (file.parent / link).exists(), (page, link)


def test_its_pictures_are_there_and_small():
    pictures = re.findall(r'<img src="([^"]+)"', README)
    assert len(pictures) == 3
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < 300_000, picture


def test_its_figures_are_those_that_were_measured():
    """The speed is that of benchmarks/README.md, the accuracy that of the table of models."""
    (speed,) = re.findall(r"\*\*([\d.]+)× faster\*\*", README)
    assert f"{speed}×" in (ROOT / "benchmarks" / "README.md").read_text()
    ((accuracy, peer),) = re.findall(
        r"\*\*([\d.]+) %\*\* mean accuracy .* each has\s+([\d.]+) %\. `auto` is\s+ahead on all six",
        README,
        re.DOTALL,
    )
    assert "ahead on all six, by one document on R8" in README
    collections = json.loads((ROOT / "docs" / "models.json").read_text())["collections"]
    pipelines = [name for name in collections["tickets"] if name[0].isupper()]  # models of ours have small letters
    assert len(pipelines) == 8
    best = {name: max(figures[one]["accuracy"] for one in pipelines) for name, figures in collections.items()}
    assert peer == f"{100 * mean(best.values()):.1f}"
    assert accuracy == f"{100 * mean(figures['auto']['accuracy'] for figures in collections.values()):.1f}"
    gains = {name: 100 * (figures["auto"]["accuracy"] - best[name]) for name, figures in collections.items()}
    assert len(gains) == 6
    assert min(gains.values()) == gains["reuters:r8"] == pytest.approx(100 / 2_189, abs=0.005)


def test_each_figure_names_the_script_that_prints_it():
    """A line of the figures has a link to measurements or a script that is there."""
    (section,) = re.findall(r"## Why unnaive\n\n(.*?)\n## ", README, flags=re.DOTALL)
    entries = [entry for entry in re.split(r"\n(?=- )", section.strip()) if re.search(r"\d[\d.]*(×| %| MB)", entry)]
    assert len(entries) == 3
    for entry in entries:
        scripts = re.findall(r"`((?:benchmarks|tools)/\w+\.py)", entry)
        assert scripts or "](docs/performance.md)" in entry, entry
        assert all((ROOT / script).exists() for script in scripts), entry
