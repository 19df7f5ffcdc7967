"""Words: phrases that readers had to read twice do not come back, and the spelling is British."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FILES = (".py", ".md", ".js", ".html")

# the phrase, and what to write instead
PHRASES = {
    "which are those that": "name the subject",
    "Of everything random": "Random seed.",
    "Make probabilities true": "Calibrate probabilities.",
    "honest probabilities": "calibrated probabilities",
    "a piece of a word": "a character n-gram",
    "several labels each": "multilabel",
    "Let no set be empty": "Never return an empty set.",
    "keeps its word": "is calibrated",
    "too sure of itself": "overconfident",
    "are told apart too": "are distinguished",
    "under their eyes": "while it is mapped",
    "who has gone": "the client has disconnected",
    "took over": "was loaded",
    "is not whole": "is incomplete",
    "is no list": "is not a list",
    "is no whole number": "is not an integer",
    "none for a sound one": "None if it is valid",
    "made-up cases": "pseudo-counts",
    "beyond all numbers": "overflows",
    "what was learnt, for": "the fitted state",
    "are let go": "are freed",
    "is let go": "is freed",
    "to the letter": "literally",
    "by lot": "at random",
    "what a client may take": "limits for clients",
    "there are never three of all of them": "at most one extra table is in memory",
    "trusts nothing": "every value is checked",
    "speak most for": "the strongest terms",
    "spoke for": "evidence for",
    "whole or not at all": "atomically",
    "nobody can tell": "if unknown",
    "where nobody": "if unknown",
    "beyond all measure": "exceeds the limit",
    "what is said of": "the result for",
}
AMERICAN = ("behavior", "recognize", "organized", "summarize", "neighbor ", "favorite", "catalog ", "judgment")


@cache
def pages() -> dict[str, str]:
    """The text of every source file and page by name, on one line in lower case."""
    places = ["src", "docs", "README.md", "CONTRIBUTING.md", "SECURITY.md"]
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", *places], cwd=ROOT, capture_output=True, text=True, check=True)
        names = listed.stdout.splitlines()
    else:
        names = [
            path.relative_to(ROOT).as_posix()
            for place in places
            for path in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
        ]
    read = {name: (ROOT / name).read_text(encoding="utf-8") for name in names if name.endswith(FILES)}
    return {name: re.sub(r"\s+(?:# |// )?", " ", text).lower() for name, text in read.items()}


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_that_may_not_come_back(phrase: str) -> None:
    found = [name for name, text in pages().items() if phrase.lower() in text]
    assert not found, f"{phrase!r} in {', '.join(found)}; better: {PHRASES[phrase]}"


@pytest.mark.parametrize("word", AMERICAN)
def test_the_spelling_is_british(word: str) -> None:
    found = [name for name, text in pages().items() if word in text]
    assert not found, f"{word!r} in {', '.join(found)}"


def test_the_glossary_has_at_most_twenty_words() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([^|]+) \|", glossary, re.MULTILINE)[1:]
    assert len(words) == len(set(words)) <= 20
    assert "glossary.md" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
