"""Who labels: the person of a request, and the tokens of several people."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Iterable

from fastapi import Request

from unnaive.apps.common.web.refused import Refused
from unnaive.apps.common.web.tokens import Token, TokenScope
from unnaive.base.errors import UnnaiveError


class Person:
    """Who sends a request, and whether this person may decide for others.

    With a token for each person, the token says both. With a single token the page says who it is, and may do all.
    """

    def __init__(self, people: bool) -> None:
        self._people = people

    def name(self, request: Request, claimed: str) -> str:
        """The name of the person."""
        return self._token(request).name if self._people else claimed

    def reviews(self, request: Request) -> bool:
        """Whether the person may decide, and change classes that others use."""
        return not self._people or self._token(request).scope >= TokenScope.ADMIN

    def check_reviews(self, request: Request) -> None:
        """Refuse a request for which a reviewer is needed."""
        if not self.reviews(request):
            name = self._token(request).name
            raise Refused(
                403, f"{name} labels here, and a reviewer decides; ask one, or start label with {name}:review"
            )

    @staticmethod
    def _token(request: Request) -> Token:
        token: Token = request.scope["unnaive.token"]
        return token


def person_tokens(people: Iterable[str], secret: str) -> dict[str, tuple[str, TokenScope]]:
    """The token and scope of each person, by name; "NAME:review" is a reviewer.

    >>> tokens = person_tokens(["ann", "deniz:review"], "a secret")
    >>> [(name, scope.word, len(token)) for name, (token, scope) in tokens.items()]
    [('ann', 'teach', 43), ('deniz', 'admin', 43)]
    """
    tokens: dict[str, tuple[str, TokenScope]] = {}
    for words in people:
        name, _, role = words.strip().partition(":")
        if not name or len(name) > 100 or role not in ("", "review") or name in tokens:
            raise UnnaiveError(f"--person is {words!r}; give each name once, with :review for those who decide")
        digest = hmac.new(secret.encode(), f"person {name}".encode(), hashlib.sha256).digest()
        scope = TokenScope.ADMIN if role else TokenScope.TEACH
        tokens[name] = (urlsafe_b64encode(digest).decode().rstrip("="), scope)
    return tokens
