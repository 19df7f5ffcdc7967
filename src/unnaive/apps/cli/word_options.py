"""How texts become terms, as options: one place for every command that learns."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from unnaive.apps.cli.paths import READ

WORDS = "Words"  # panel of the help


def _option(help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=WORDS, **more)


# by the names of the options, each with its type and default; `token_settings` makes TokenRule's settings of them
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "language": (Annotated[str, _option("Of the texts: en, tr, de, … (ISO 639).", metavar="CODE")], "en"),
    "stopwords": (
        Annotated[str | None, READ, _option("smart, a language code, or a file of words.", metavar="LIST")], None
    ),
    "stem": (Annotated[str | None, _option("porter or snowball.", metavar="NAME")], None),
    "ngrams": (Annotated[str, _option("Words in a term.", metavar="N[-M]")], "1"),
    "analyzer": (
        Annotated[str, _option("word; char: pieces of words; both.", metavar="KIND")], "word"
    ),
    "char_ngrams": (Annotated[str, _option("Characters in a piece of a word.", metavar="N[-M]")], "2-5"),
    "char_borders": (
        Annotated[str, _option("Pieces lie between spaces, punctuation with them, or inside words.", metavar="KIND")],
        "spaces",
    ),
    "min_length": (Annotated[int, _option("Shortest word.")], 2),
    "digits": (Annotated[bool, _option("Whether digits belong to words.")], True),
    "keep_case": (Annotated[bool, _option("Tell Cat from cat.", "--keep-case")], False),
    "markup": (Annotated[bool, _option("Read through HTML.", "--markup", "--html")], False),
    "message": (Annotated[str | None, _option("Mail: whole, body, subject-body, …", metavar="PARTS")], None),
    "unspaced": (
        Annotated[str, _option("Chinese, Japanese, Thai, …: grams (characters and pairs) or whole.", metavar="KIND")],
        "grams",
    ),
    "segmenter": (Annotated[str | None, _option("jieba: words of Chinese.", metavar="NAME")], None),
    "emoji": (Annotated[bool, _option("Whether emoji are terms.")], True),
    "symbols": (Annotated[bool, _option(":-) and <3 are terms.", "--symbols")], False),
}  # fmt: skip


def token_options(*, page: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb the options of reading words in the place of its parameter `words`: settings of TokenRule by name.

    `page` says that --html of this verb is a page to write, so that only --markup is for texts.
    """
    markup = (Annotated[bool, _option("Read through HTML.", "--markup")], False)
    options = _OPTIONS | ({"markup": markup} if page else {})

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(verb, eval_str=True, locals={"DataFile": Any}).parameters

        @functools.wraps(verb)
        def wrapper(**given: Any) -> Any:
            return verb(words=token_settings(**{name: given.pop(name) for name in options}), **given)

        keyword = inspect.Parameter.KEYWORD_ONLY
        shown: list[inspect.Parameter] = []
        for name, parameter in own.items():
            if name == "words":
                shown += [inspect.Parameter(n, keyword, default=d, annotation=a) for n, (a, d) in options.items()]
            else:
                shown.append(parameter.replace(kind=keyword))
        wrapper.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return wrapper

    return decorate


def token_settings(**options: Any) -> dict[str, Any]:
    """Options as settings of TokenRule, by its names.

    >>> token_settings(ngrams="1-2", keep_case=True)
    {'ngrams': (1, 2), 'lowercase': False}
    """
    read: dict[str, Callable[[Any], Any]] = {
        "ngrams": lambda text: parse_ngrams(text, "--ngrams", "words"),
        "char_ngrams": lambda text: parse_ngrams(text, "--char-ngrams", "characters"),
        "stopwords": read_stop_words,
        "keep_case": lambda keep: not keep,
    }
    names = {"keep_case": "lowercase", "markup": "html"}
    return {names.get(name, name): read.get(name, lambda value: value)(value) for name, value in options.items()}


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
