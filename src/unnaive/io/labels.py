"""The labels of a document from a file: a word, several with a separator, a list, an object, or flags."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.data.corpus import Corpus, Labels
from unnaive.data.fields.column_kinds import is_list_text
from unnaive.data.missing_values import is_missing_value

LISTS = "list"  # as a separator: the cells are lists in JSON or Python syntax
YES = frozenset(("1", "1.0", "true", "t", "yes", "y", "x"))
NO = frozenset(("", "0", "0.0", "false", "f", "no", "n", "none", "nan"))
# the items of a list: strings in quotes, or anything up to the next comma
_ITEM = re.compile(r"""\s*+('(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")[\s,]*+|([^,]++),?|,""", re.DOTALL)
NO_ITEM = frozenset(("", "None", "nan"))
_WHOLE = re.compile(r"-?[0-9]+(\.0)?")
_UNQUOTED = {"True": "true", "False": "false"}  # as JSON writes them


def parse_labels(value: Any, separator: str | None = None) -> Labels:
    """The labels of one document as a tuple of distinct strings.

    >>> parse_labels("billing; login;billing", ";"), parse_labels(["a", "b"]), parse_labels(3), parse_labels(" ")
    (('billing', 'login'), ('a', 'b'), ('3',), ())
    >>> parse_labels("['a', 'it\\\\'s']", "list"), parse_labels({"a": 1.0, "b": 0.2})
    (('a', "it's"), ('a',))
    """
    if isinstance(value, bytes):
        value = decode_name(value, "a label")
    if isinstance(value, str):
        names: Sequence[Any] = _split(value, separator)
    elif isinstance(value, (list, tuple)):
        names = value
    elif isinstance(value, dict):
        names = _parse_object(value)
    else:
        names = () if value is None or value != value else (value,)  # NaN is not a label
    return tuple(dict.fromkeys(name for name in map(_spell, names) if name))


def _split(value: str, separator: str | None) -> Sequence[str]:
    if separator == LISTS and is_list_text(value):
        return parse_list(value)
    return value.split(separator) if separator and separator != LISTS else (value,)


def parse_list(text: str) -> list[Any]:
    """The items of a list in JSON, Python or numpy syntax.

    >>> parse_list('["caf\\\\u00e9", 3]'), parse_list("['a' 'b']"), parse_list("[a, b]"), parse_list("[]")
    (['café', 3], ['a', 'b'], ['a', 'b'], [])
    >>> parse_list("['it\\\\'s', 3, None, True]"), parse_list('["a, b", nan]')
    (["it's", '3', 'true'], ['a, b'])
    """
    with suppress(ValueError, RecursionError):
        items = json.loads(text, parse_constant=lambda _: None)
        return items if isinstance(items, list) else list(items)
    return [_read_quoted(quoted) if quoted else bare for quoted, bare in _split_items(text.strip()[1:-1])]


def _split_items(inside: str) -> Iterator[tuple[str, str]]:
    """(an item in quotes, the item without quotes), of which one is empty; nothing for a missing item."""
    for match in _ITEM.finditer(inside):
        bare = (match[2] or "").strip()
        if match[1] or bare not in NO_ITEM:
            yield match[1] or "", _UNQUOTED.get(bare, bare)


def _read_quoted(item: str) -> str:
    """A string as JSON or Python writes it; one with an escape that neither has is read without its backslashes."""
    with suppress(ValueError, SyntaxError):
        return str(ast.literal_eval(item))
    return re.sub(r"\\(.)", r"\1", item[1:-1])


def _parse_object(value: dict[Any, Any]) -> Sequence[Any]:
    """Scores by label, as in spaCy's `cats`: those of at least 0.5; or Label Studio's choices."""
    if list(value) == ["choices"] and isinstance(value["choices"], list):
        return value["choices"]
    if not value or not all(isinstance(score, (int, float)) for score in value.values()):
        raise BadData("a label is a JSON object; expected a string, a number, a list of these, or scores by label")
    return [name for name, score in value.items() if score >= 0.5]


def _spell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"  # as JSON writes it
    if isinstance(value, bytes):
        return decode_name(value, "a label").strip()
    if isinstance(value, (dict, list)):
        raise BadData(f"a label is {describe_kind(value)}; expected a string, a number or a list of these")
    return "" if value is None else str(value).strip()


def decode_name(value: bytes, what: str) -> str:
    """A name that a file stores as bytes.

    >>> decode_name("café".encode(), "a label")
    'café'
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        shown = repr(value[:20])[2:-1]
        raise BadData(f"{what} is binary and not UTF-8 ({shown}); store it as a string") from None


def describe_kind(value: Any) -> str:
    """The kind of a value in words."""
    kinds: dict[type, str] = {
        dict: "an object", list: "a list", bytes: "binary", str: "a string", int: "a number", float: "a number",
        bool: "true or false",
    }  # fmt: skip
    return kinds.get(type(value), f"a {type(value).__name__}")


def name_flags(columns: Sequence[str], patterns: Sequence[str] = ()) -> list[str]:
    """The label of each column of zeros and ones: the part that matches the star of the pattern, else its name.

    >>> name_flags(["tag_bug", "tag_login", "urgent"], ["tag_*", "urgent"])
    ['bug', 'login', 'urgent']
    """
    return [next((label for pattern in patterns if (label := _star(name, pattern))), name) for name in columns]


def _star(name: str, pattern: str) -> str:
    before, star, after = pattern.partition("*")
    fits = star and name.startswith(before) and name.endswith(after) and not set(before + after) & set("*?[")
    return name[len(before) : len(name) - len(after)] if fits else ""


def parse_flags(values: Sequence[Any], labels: Sequence[str]) -> Labels:
    """The labels whose column says yes, in one row.

    >>> parse_flags(["1", 0, True, ""], ["bug", "login", "urgent", "mobile"])
    ('bug', 'urgent')
    """
    return tuple(label for value, label in zip(values, labels, strict=True) if _is_yes(value, label))


def _is_yes(value: Any, label: str) -> bool:
    word = "" if value is None else str(value).strip().casefold()
    if word not in YES and word not in NO:
        raise BadData(f"the column of label {label!r} has {word[:40]!r}; expected 0 or 1, yes or no, true or false")
    return word in YES


def holds_lists(values: Sequence[Any]) -> bool:
    """Whether the cells of a sample are lists written as text."""
    filled = [value for value in values if value is not None and str(value).strip()]
    return bool(filled) and all(map(is_list_text, filled))


def holds_fractions_of_zero(values: Sequence[Any]) -> bool:
    """Whether the labels of a sample are whole numbers, with .0 at the end of some.

    >>> holds_fractions_of_zero(["1.0", "", "2.0"]), holds_fractions_of_zero([1.0, float("nan"), 2])
    (True, True)
    >>> holds_fractions_of_zero(["1.0", "1.5"]), holds_fractions_of_zero(["1", "2"])
    (False, False)
    """
    if any(isinstance(value, (list, dict)) for value in values):
        return False
    names = {name for value in values for name in parse_labels(value) if not is_missing_value(name)}
    return any(name.endswith(".0") for name in names) and all(_WHOLE.fullmatch(name) for name in names)


def suggest_separator(corpus: Corpus) -> None:
    """Warn if cells look multilabel: their parts are labels by themselves, or of other cells too."""
    cells = [names[0] for names in corpus.labels if len(names) == 1]
    classes = set(cells)
    for separator in (";", "|", ","):
        joined = sorted(name for name in classes if separator in name.strip(separator))
        cell = _find_joined(joined, classes, separator)
        if cell is not None:
            warnings.warn(f"{corpus.name}: {cell!r} is read as one label; if it is several, use "
                          f"--label-separator '{separator}'", UnnaiveWarning, stacklevel=3)  # fmt: skip
            return


def _find_joined(joined: list[str], classes: set[str], separator: str) -> str | None:
    """A cell whose parts are labels elsewhere; a comma is common inside a label, so most parts must be labels then."""
    parts = {name: parse_labels(name, separator) for name in joined}
    uses = Counter(part for name in joined for part in parts[name])
    known_labels = classes | ({part for part, count in uses.items() if count > 1} if len(joined) > 2 else set())
    if separator == ",":
        whole = [name for name in joined if len(parts[name]) > 1 and set(parts[name]) <= known_labels]
        return whole[0] if whole and 2 * len(whole) >= len(joined) else None
    return next((name for name in joined if known_labels & set(parts[name])), None)
