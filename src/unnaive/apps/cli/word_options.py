"""The options of tokens, generated from the fields of TokenRule, for every command that learns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from unnaive.apps.common.declared import command_parameter, with_options
from unnaive.text.token_rule import OPTIONS

WORDS = "Tokens"  # heading in the help
OF_COLUMNS = ("fields",)  # set by the options of columns


def token_options(*flags: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace the parameter `words` of a command by the options of tokens: settings of TokenRule by name.

    Those in `flags` are options of their own, --set gives the others.
    """
    options = {
        name: command_parameter(setting, name, WORDS, by_set=name not in flags)
        for name, setting in OPTIONS.items()
        if name not in OF_COLUMNS
    }

    return with_options("words", options, token_settings)


def token_settings(**options: Any) -> dict[str, Any]:
    """Values of the command line as values of TokenRule.

    >>> token_settings(ngrams="1-2", lowercase=False)
    {'ngrams': (1, 2), 'lowercase': False}
    """
    read: dict[str, Callable[[Any], Any]] = {
        "ngrams": lambda text: parse_ngrams(text, "--ngrams", "words"),
        "char_ngrams": lambda text: parse_ngrams(text, "--set char-ngrams", "characters"),
        "stopwords": read_stop_words,
    }
    return {name: read.get(name, lambda value: value)(value) for name, value in options.items()}


def parse_ngrams(text: str, option: str = "--ngrams", what: str = "words") -> tuple[int, int]:
    """ "2" or "1-2" as (shortest, longest).

    >>> parse_ngrams("1-2"), parse_ngrams("2")
    ((1, 2), (2, 2))
    """
    from unnaive.base.errors import UnnaiveError

    parts = text.replace(",", "-").split("-")
    if not 1 <= len(parts) <= 2 or not all(part.strip().isdecimal() for part in parts):
        raise UnnaiveError(f"{option} is {text!r}; give a number of {what} such as 1, or a range such as 1-2")
    return int(parts[0]), int(parts[-1])


def read_stop_words(name: str | None) -> Any:
    """The name of a stop list, or the words of a file."""
    if name is None or not Path(name).is_file():
        return name
    return tuple(Path(name).read_text(encoding="utf-8").split())
