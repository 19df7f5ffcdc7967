"""Tokens: who may do what. A single token may do everything; a file has hashed ones, each with a name and a scope.

A line of such a file is `NAME SCOPE sha256:…`, and `#` begins a comment. A hash is enough, since tokens are random.
This makes a token and its line:

    python -m unnaive.apps.common.web.tokens anna teach
"""

from __future__ import annotations

import enum
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from unnaive.base.errors import UnnaiveError, choose

SHORTEST = 16  # characters of a token
VARIABLE = "UNNAIVE_TOKEN"  # the environment variable with a token
LINE = re.compile(r"(\S+)\s+(\S+)\s+sha256:([0-9a-fA-F]{64})")


class TokenScope(enum.IntEnum):
    """What a token allows; each scope includes those before it."""

    PREDICT = 1  # classify, and read about models
    TEACH = 2  # teach and forget documents, and read those that were taught
    ADMIN = 3  # restore earlier versions

    @property
    def word(self) -> str:
        """The name in a file of tokens."""
        return self.name.lower()


SCOPES = {scope.word: scope for scope in TokenScope}


@dataclass(frozen=True)
class Token:
    """A token by its hash; the name says whose it is.

    rotates  whether it comes from a file, which may have another one at any time: then its sessions end with it
    """

    name: str
    scope: TokenScope
    sha256: str = field(repr=False)
    rotates: bool = False

    @classmethod
    def of(cls, token: str, name: str = "owner", scope: TokenScope = TokenScope.ADMIN) -> Token:
        """The hash of a token with a name and a scope; by default it may do everything.

        >>> Token.of("a token of some length", "anna", TokenScope.TEACH).line()
        'anna teach sha256:5fa9a7a53b9b94d1d39eaa4b573658c3bc2baeb89ac3b3a4999e74632c6415dd'
        """
        return cls(name, scope, hashlib.sha256(token.encode()).hexdigest())

    def line(self) -> str:
        """The line of a file of tokens."""
        return f"{self.name} {self.scope.word} sha256:{self.sha256}"


class Tokens:
    """The tokens that a service accepts.

    They are looked up by their hash: a comparison that takes longer for a longer common beginning tells nothing about
    a token. `reload` reads their file again.
    """

    def __init__(self, tokens: Iterable[Token] = (), file: Path | None = None) -> None:
        self._given, self._file = tuple(tokens), file
        self._by_hash: dict[str, Token] = {}
        self.reload()

    def __iter__(self) -> Iterator[Token]:
        return iter(self._by_hash.values())

    def find(self, credentials: bytes) -> Token | None:
        """The token that a client sent; None if it is not accepted.

        >>> tokens = Tokens([Token.of("a token of some length", "anna")])
        >>> tokens.find(b"a token of some length").name, tokens.find(b"another")
        ('anna', None)
        """
        return self._by_hash.get(hashlib.sha256(credentials).hexdigest())

    def reload(self) -> None:
        """Read the file again; if it has a mistake, an error says which, and the tokens stay as they were."""
        tokens = [*self._given, *(() if self._file is None else read_tokens(self._file))]
        self._by_hash = {token.sha256: token for token in tokens}


def read_plain_token(path: Path) -> str | None:
    """The token that a file consists of; None if it has lines of hashed ones."""
    words = _read_words(path).split()
    return check_token(words[0], str(path)) if len(words) == 1 else None


def read_tokens(path: Path) -> list[Token]:
    """The tokens of a file: a single one that may do everything, or a line for each."""
    plain = read_plain_token(path)
    if plain is not None:
        return [replace(Token.of(plain), rotates=True)]
    words = _read_words(path)
    lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(words.splitlines(), 1)]
    tokens = [_parse_line(line, f"line {number} of {path}") for number, line in lines if line]
    if not tokens:
        raise UnnaiveError(f"{path} has no token; write one, or a line NAME SCOPE sha256:… for each")
    for what in ("name", "sha256"):
        values = [getattr(token, what) for token in tokens]
        twice = next((token for token in tokens if values.count(getattr(token, what)) > 1), None)
        if twice is not None:
            raise UnnaiveError(f"{path} has two lines with the {what} of {twice.name!r}; remove one")
    return tokens


def _read_words(path: Path) -> str:
    from unnaive.base.open_files import check_exists

    return check_exists(path).read_text(encoding="utf-8")


def _parse_line(line: str, where: str) -> Token:
    match = LINE.fullmatch(line)
    if match is None:
        raise UnnaiveError(
            f"{where} is not NAME SCOPE sha256:… with 64 hexadecimal digits; make a line with: "
            "python -m unnaive.apps.common.web.tokens NAME SCOPE"
        )
    try:
        scope = SCOPES[choose(list(SCOPES), match[2], "scope")]
    except UnnaiveError as problem:
        raise UnnaiveError(f"{where}: {problem}") from problem
    return Token(match[1], scope, match[3].lower(), rotates=True)


def check_token(token: str, source: str) -> str:
    """Return a token, or raise an error if it is too short to be hard to guess."""
    if len(token) < SHORTEST or not token.isascii():
        raise UnnaiveError(
            f"the token of {source} has {len(token)} characters; give at least {SHORTEST} ASCII characters, for "
            "instance those of: openssl rand -hex 32"
        )
    return token


def token_of_environment() -> str | None:
    """The token in the environment; None if there is none."""
    token = os.environ.get(VARIABLE, "").strip()
    return check_token(token, f"${VARIABLE}") if token else None


def main(words: list[str]) -> None:
    """Print a new token, and the line for the file of tokens."""
    if len(words) != 2 or words[1] not in SCOPES or not re.fullmatch(r"[^\s#]+", words[0]):
        raise SystemExit(f"give a name without spaces, and a scope: {', '.join(SCOPES)}")
    import secrets

    token = secrets.token_urlsafe(32)
    sys.stdout.write(f"token: {token}\nline:  {Token.of(token, words[0], SCOPES[words[1]]).line()}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
