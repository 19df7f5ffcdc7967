"""Keys from stdin, one at a time: of a terminal as they are pressed; and which key stands for which class."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from unnaive.base.system import more_keys, read_keystroke, terminal_keys

ACCEPT = ("a", "\n", "\r")
REJECT, SKIP, FLAG, NEW, SEARCH, MORE, QUIT, HELP, NAME = "x", " ", "f", "n", "/", "m", "q", "?", ":"
UNDO = ("\x7f", "\x08")
ESCAPE = "\x1b"
COMMANDS = {*ACCEPT, REJECT, SKIP, FLAG, NEW, SEARCH, MORE, QUIT, HELP, NAME, *UNDO}
CLASS_KEYS = [*"1234567890", *(one for one in "bcdeghijkloprstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if one not in COMMANDS)]


def keys_of(classes: Sequence[str]) -> dict[str, str]:
    """A key for each class, digits first; those beyond the last key are named with a colon.

    >>> keys_of(["ham", "spam"])
    {'1': 'ham', '2': 'spam'}
    """
    return dict(zip(CLASS_KEYS, classes, strict=False))


class Keys:
    """Characters of stdin; "" at its end."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._from = sys.stdin.fileno() if descriptor is None else descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.is_terminal = os.isatty(self._from)

    def read(self) -> str:
        """The next key; arrows and other sequences of several bytes are passed over."""
        while True:
            one = self._character()
            if one != ESCAPE:
                return one
            while self.is_terminal and more_keys(self._from, 0.02):
                following = self._character()
                if following.isalpha() or following in ("~", ""):
                    break

    def _character(self) -> str:
        while True:
            raw = read_keystroke(self._from, terminal=self.is_terminal)
            if raw is None:
                continue  # an arrow of a console
            if not raw:
                return ""
            found = self._decoder.decode(raw)
            if found:
                return found

    def line(self, echo: bool) -> str:
        """Characters up to the end of the line; a backspace takes one back, and escape leaves nothing."""
        words: list[str] = []
        while (one := self._character()) not in ("", "\n", "\r"):
            if one == ESCAPE:
                return ""
            if one in UNDO:
                if words:
                    words.pop()
                    if echo:
                        _show("\b \b")
                continue
            if one.isprintable():
                words.append(one)
                if echo:
                    _show(one)
        if echo:
            _show("\n")
        return "".join(words).strip()


def _show(words: str) -> None:
    sys.stdout.write(words)
    sys.stdout.flush()


@contextmanager
def single_keys(keys: Keys) -> Iterator[None]:
    """Let a terminal hand over keys at once and not show them; as it was before, whatever happens."""
    if not keys.is_terminal:
        yield
        return
    with terminal_keys(keys._from):
        yield
