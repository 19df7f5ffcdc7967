"""Read single keys from stdin, and assign keys to classes."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from unnaive.base.system import more_keys, read_keystroke, terminal_keys

ACCEPT = ("a", "\n", "\r")
REJECT, SKIP, FLAG, NEW, SEARCH, MORE, QUIT, HELP, NAME = "x", " ", "f", "n", "/", "m", "q", "?", ":"
UNDO = ("\x7f", "\x08")
ESCAPE = "\x1b"
DIGITS = "1234567890"
LIKELIEST = 8  # of more than ten classes, the most probable ones have a key and are listed


def keys_of(classes: Sequence[str], likeliest: Iterable[str] = ()) -> dict[str, str]:
    """The number keys: of up to ten classes a fixed one for each, of more for the most probable classes of a text.

    Classes without a key are given by name, after a colon.

    >>> keys_of(["ham", "spam"], ["spam", "ham"])
    {'1': 'ham', '2': 'spam'}
    >>> keys_of([f"class {number}" for number in range(77)], ["class 50", "class 7"])["1"]
    'class 50'
    """
    if len(classes) <= len(DIGITS):
        return dict(zip(DIGITS, classes, strict=False))
    return dict(zip(DIGITS, list(dict.fromkeys([*likeliest, *classes]))[:LIKELIEST], strict=False))


class Keys:
    """Characters of stdin; "" at its end."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._from = sys.stdin.fileno() if descriptor is None else descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.is_terminal = os.isatty(self._from)

    def read(self) -> str:
        """The next key; arrows and other escape sequences are skipped."""
        while True:
            key = self._character()
            if key != ESCAPE:
                return key
            while self.is_terminal and more_keys(self._from, 0.02):
                following = self._character()
                if following.isalpha() or following in ("~", ""):
                    break

    def _character(self) -> str:
        while True:
            raw = read_keystroke(self._from, terminal=self.is_terminal)
            if raw is None:
                continue  # an arrow key of a Windows console
            if not raw:
                return ""
            character = self._decoder.decode(raw)
            if character:
                return character

    def line(self, echo: bool) -> str:
        """Read up to the end of the line; backspace deletes a character, escape deletes all."""
        words: list[str] = []
        while (key := self._character()) not in ("", "\n", "\r"):
            if key == ESCAPE:
                return ""
            if key in UNDO:
                if words:
                    words.pop()
                    if echo:
                        _show("\b \b")
                continue
            if key.isprintable():
                words.append(key)
                if echo:
                    _show(key)
        if echo:
            _show("\n")
        return "".join(words).strip()


def _show(words: str) -> None:
    sys.stdout.write(words)
    sys.stdout.flush()


@contextmanager
def single_keys(keys: Keys) -> Iterator[None]:
    """Switch a terminal to unbuffered input without echo inside the block, and restore it afterwards."""
    if not keys.is_terminal:
        yield
        return
    with terminal_keys(keys._from):
        yield
