"""The kinds of values in a column, and whether a first row is a header; for columns.py and csv_tables.py."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unnaive.data.fields.numbers_and_dates import read_number

# Names that decide, then names that decide if there is no better one.
TEXT_NAMES = (
    ("text", "texts", "body", "message", "content", "document", "doc"),
    ("description", "comment", "review", "sentence", "abstract", "tweet", "post", "article", "ticket", "question",
     "utterance", "query", "email", "mail", "title", "subject"),
)  # fmt: skip
LABEL_NAMES = (
    ("label", "labels", "class", "category", "categories", "target", "cats"),
    ("queue", "tag", "tags", "topic", "topics", "intent", "sentiment", "genre", "department", "type", "y"),
)
KNOWN_NAMES = frozenset(name for group in (*TEXT_NAMES, *LABEL_NAMES) for name in group)

ENOUGH = 20  # values, to judge a column by the number of distinct ones
LONG = 10_000  # characters of a value whose words are counted; a cell may have millions

_DATE = re.compile(
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|(?:[A-Za-z]{3,9},? )?[A-Za-z]{3,9} \d{1,2},? \d{4})"
    r"(?:[T ,].*)?"
)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.]\d+)(?:[eE][-+]?\d+)?%?")
_AMOUNT = re.compile(r"[$€£]? ?[-+]?\d{1,3}(?:[.,']\d{2,3})*(?:[.,]\d+)? ?[$€£%]?")  # $1,234.50; ids have no such signs
_ID_NAME = re.compile(
    r"(?:|index|unnamed: \d+|(?:.*[_\- ])?(?:id|uuid|guid|key|hash|nr|no|number|url|link))", re.IGNORECASE
)
_LETTER = re.compile(r"[^\d\s!-/:-@\[-`{-~]")
_NO_WORDS = re.compile(r"[\d\s!-/:-@\[-`{-~]*")  # digits and ASCII punctuation, such as phone numbers
_LIST = re.compile(r"\s*(?:\[.*\]|\{\s*['\"].*\}|\(\s*['\"].*\))\s*", re.DOTALL)


@dataclass(frozen=True)
class Profile:
    """The kind of the values of a column in words, and three examples."""

    kind: str
    examples: tuple[str, ...]
    n_words: float = 0.0  # mean number of words in the first LONG characters of a value

    @property
    def is_label(self) -> bool:
        """Whether the values could be classes."""
        return self.kind in ("labels", "lists", "flags")


def profile_column(name: str, values: Sequence[Any]) -> Profile:
    """Summarise a sample of a column.

    >>> profile_column("when", ["2024-01-03", "2024-02-01"]).kind, profile_column("queue", ["billing", "bug"]).kind
    ('dates', 'labels')
    """
    filled = [value for value in values if value is not None and value == value and str(value).strip()]
    examples = tuple(shorten_cell(value) for value in dict.fromkeys(map(str, filled[:ENOUGH])))[:3]
    n_words = sum([len(list(filter(_LETTER.search, str(value)[:LONG].split()))) for value in filled])
    return Profile(_find_kind(name, filled), examples, n_words / max(1, len(filled)))


def is_id_name(name: str) -> bool:
    """Whether a column of this name numbers or names the rows, such as an index, an id or an address.

    >>> is_id_name("ticket_id"), is_id_name("amount")
    (True, False)
    """
    return _ID_NAME.fullmatch(name.strip()) is not None


def shorten_cell(value: Any, width: int = 24) -> str:
    """A value on one line, cut to a width."""
    line = " ".join(str(value)[: 4 * width].split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _find_kind(name: str, values: list[Any]) -> str:
    if not values:
        return "nothing"
    if all(isinstance(value, (list, tuple, dict)) or is_list_text(value) for value in values):
        return "lists"
    words = [str(value).strip() for value in values]
    distinct = len(set(words))
    if all(_DATE.fullmatch(word) for word in words):
        return "dates"
    if {word.casefold() for word in words} <= {"0", "1", "true", "false", "0.0", "1.0"}:
        return "flags"
    if all(_NUMBER.fullmatch(word) or (_AMOUNT.fullmatch(word) and read_number(word) is not None) for word in words):
        return _kind_of_numbers(name, words, distinct)
    if _is_free_text(words, distinct):
        return "free text"
    if distinct == len(words) and (len(words) >= ENOUGH or is_id_name(name)):
        return "ids"
    return "labels"


def _kind_of_numbers(name: str, words: list[str], distinct: int) -> str:
    # pandas writes whole numbers with ".0" if some cells are empty
    whole = all(re.fullmatch(r"[-+]?\d+(?:[.]0)?", word) for word in words)
    if whole and distinct == len(words) and (len(words) >= ENOUGH or is_id_name(name)):
        return "ids"
    many = distinct > len(words) / 2 if whole else distinct > 10
    return "many numbers" if len(words) >= ENOUGH and many else "labels"


def _is_free_text(words: list[str], distinct: int) -> bool:
    """Long values, or values of a few words that hardly ever repeat; phone numbers and the like have no words."""
    if all(map(_NO_WORDS.fullmatch, words)):
        return False
    length = sum([len(word[:LONG].split()) for word in words]) / len(words)
    size = sum(map(len, words)) / len(words)
    if len(words) >= ENOUGH and distinct <= len(words) / 2:
        return size > 200
    return length >= 8 or size > 60 or (len(words) >= ENOUGH and distinct > 0.9 * len(words) and length >= 2.5)


def is_list_text(value: Any) -> bool:
    """Whether a string is a list in JSON or Python syntax: ["a", "b"], ['a', 'b'], {'a'}."""
    return isinstance(value, str) and _LIST.fullmatch(value) is not None


def names_a_column(cell: str) -> bool:
    """Whether a cell is, or ends in, a word that is a usual name of a column of texts or labels.

    >>> names_a_column("Ticket text"), names_a_column("review_body"), names_a_column("Guten Tag")
    (True, True, False)
    """
    words = re.split(r"[\W_]+", cell.strip().casefold())
    return len(words) <= 3 and (cell.strip().casefold() in KNOWN_NAMES or words[-1] in TEXT_NAMES[0] + LABEL_NAMES[0])


def is_text_name(name: str) -> bool:
    """Whether a column has a usual name of texts, such as Subject or data.body."""
    return any(name.rpartition(".")[2].strip().casefold() in group for group in TEXT_NAMES)


def looks_like_data(first: Sequence[str], below: Sequence[Sequence[str]], expected: Sequence[str] = ()) -> bool:
    """Whether a first row is a document rather than a header.

    >>> looks_like_data(["ham", "See you at five."], [["ham", "ok"], ["spam", "WIN a prize"]])
    True
    >>> looks_like_data(["ref", "Anliegen"], [["17", "Mein Drucker brennt"]])
    False
    """
    cells = [cell.strip() for cell in first]
    expected_names = {name.strip().casefold() for name in expected}
    if any(names_a_column(cell) or cell.casefold() in expected_names for cell in cells):
        return False
    if cells in _pandas_names(len(cells)):
        return False
    if any(_is_value(cell) for cell in cells):
        return True
    if len(cells) == 1:
        return " " in cells[0] or not _are_phrases([row[0] for row in below])
    recurring = (any(cell == row[column].strip() for row in below) for column, cell in enumerate(cells) if cell)
    return any(recurring)


def _pandas_names(width: int) -> list[list[str]]:
    """The column names that pandas writes for unnamed columns, with and without its index."""
    numbers = [str(number) for number in range(width)]
    return [numbers, ["", *numbers[:-1]]] if width > 1 else [numbers]


def _is_value(cell: str) -> bool:
    """Whether a cell is unlikely to be the name of a column: a number, a date, a sentence."""
    words = len(cell.split())
    sentence = words >= 5 or len(cell) > 60 or "\n" in cell or (words >= 3 and cell.endswith((".", "!", "?")))
    return bool(sentence or _NUMBER.fullmatch(cell) or _DATE.fullmatch(cell))


def _are_phrases(values: Sequence[str]) -> bool:
    """Whether most values have several words, so that a single word above them is a name; also without values."""
    return not values or sum(" " in value.strip() for value in values) > len(values) / 2
