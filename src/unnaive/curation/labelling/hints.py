"""Read what people and the model know about the classes before there are labels: `--hints hints.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData
from unnaive.base.open_files import check_exists
from unnaive.curation.labelling.label_log import LabelRecord

EXAMPLE = 'sport = ["ball", "goal"]'
GUIDELINES = "guidelines"  # the line of the file with the text for all classes


@dataclass(frozen=True)
class ClassHints:
    """What a file says about the classes.

    keywords      words of a class, for the model; a keyword counts like three labelled texts that contain it
    descriptions  a sentence about a class, for people
    guidelines    how to label, for people
    """

    keywords: dict[str, list[str]]
    descriptions: dict[str, str]
    guidelines: str = ""

    def describe(self, record: LabelRecord, who: str) -> None:
        """Write descriptions and guidelines into a record, unless they are there already."""
        names = record.class_names()
        for label, words in self.descriptions.items():
            if label not in names.names:
                record.change_class(who, "class", [label])
            if names.descriptions.get(label) != words:
                record.change_class(who, "describe", [label, words])
        if self.guidelines and self.guidelines != names.guidelines:
            record.change_class(who, "guidelines", [self.guidelines])


def read_hints(path: Path) -> ClassHints:
    """Read a TOML file with lines such as sport = ["ball", "goal"], or a table for each class.

    A table has keywords, a description, or both; a line `guidelines` is a text about all classes.
    """
    try:
        values = tomllib.loads(check_exists(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise BadData(f"{path} is not TOML ({problem}); expected lines such as {EXAMPLE}") from problem
    guidelines = values.pop(GUIDELINES) if isinstance(values.get(GUIDELINES), str) else ""
    hints = ClassHints({}, {}, guidelines.strip())
    for label, value in values.items():
        about = value if isinstance(value, dict) else {"keywords": value}
        odd = about.keys() - {"keywords", "description"}
        if odd:
            raise BadData(f"{path}: {label} has {sorted(odd)[0]!r}; expected keywords and description")
        if "keywords" in about:
            hints.keywords[label] = _check_keywords(path, label, about["keywords"])
        if "description" in about:
            hints.descriptions[label] = _check_words(path, label, about["description"])
    if not values and not guidelines:
        raise BadData(f"{path} has no class in it; expected lines such as {EXAMPLE}")
    return hints


def _check_keywords(path: Path, label: str, words: Any) -> list[str]:
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise BadData(f"{path}: {label} is {words!r}; expected a list of keywords, such as {EXAMPLE}")
    return words


def _check_words(path: Path, label: str, words: Any) -> str:
    if not isinstance(words, str) or not words.strip():
        raise BadData(f"{path}: the description of {label} is {words!r}; expected a sentence")
    return words.strip()
