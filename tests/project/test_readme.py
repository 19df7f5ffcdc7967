"""The README stays short and true; test_pages.py runs what it shows."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_two_commands_stand_first():
    first = [line.split("#")[0].strip() for line in README.splitlines() if line.strip()][1:3]
    assert first == ["make demo", "make test"]


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
    assert len(pictures) == 2
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < 300_000, picture


def test_its_figures_are_those_that_were_measured():
    """The speed is that of benchmarks/README.md, the accuracy that of the table of models."""
    (speed,) = re.findall(r"\*\*([\d.]+)× faster\*\*", README)
    assert f"{speed}×" in (ROOT / "benchmarks" / "README.md").read_text()
    (accuracy, peer) = re.findall(r"\*\*([\d.]+) %\*\*[^\n]*\n?[^\n]*has ([\d.]+) %", README)[0]
    figures = json.loads((ROOT / "docs" / "models.json").read_text())["collections"]["tickets"]
    assert accuracy == f"{100 * figures['auto']['accuracy']:.1f}"
    known = json.loads((ROOT / "benchmarks" / "auto_peers.json").read_text())["tickets"]
    assert peer == f"{100 * max(one['accuracy'] for one in known.values()):.1f}"
