"""The README stays short and true; test_pages.py runs what it shows."""

from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_two_commands_stand_first():
    first = [line.split("#")[0].strip() for line in README.splitlines() if line.strip()][1:3]
    assert first == ["make demo", "make test"]


def test_it_fits_in_a_hundred_lines():
    assert len(README.splitlines()) <= 100
