"""Requests that cannot be done: the HTTP status and the sentence that say why."""

from __future__ import annotations

from typing import Any

from unnaive.base.errors import UnnaiveError


class Refused(UnnaiveError):
    """A request that cannot be done, with the HTTP status that says why, and what a program may want to know."""

    def __init__(self, status: int, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status, self.more = status, more
