"""What each route does to the service: declared where the route is, and asked before a request is let in."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import APIRouter

DECLARED = "__unnaive_effect__"  # the attribute of an endpoint

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Effect(enum.Enum):
    """What a route does; the token, the check of the origin, the limits and the log follow from it."""

    HEALTH = "health"  # for load balancers: no token, no limit, not logged
    PAGE = "page"  # what the page is made of, which says nothing of a model: no token
    READ = "read"  # a model's card and such: the token off loopback
    COMPUTE = "compute"  # costs time: the token off loopback, and no pages of other sites
    STREAM = "stream"  # the same for as long as the client likes
    CHANGE = "change"  # changes a model, or what the service keeps: always the token, and no pages of other sites

    @property
    def public(self) -> bool:
        """Whether it says nothing of a model, and so never needs the token."""
        return self in (Effect.HEALTH, Effect.PAGE)

    @property
    def own_pages_only(self) -> bool:
        """Whether pages of other sites may not cause it."""
        return self in (Effect.COMPUTE, Effect.STREAM, Effect.CHANGE)


def declares(effect: Effect) -> Callable[[Endpoint], Endpoint]:
    """Declare what an endpoint does; goes below the decorator of its route."""

    def declare(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, DECLARED, effect)
        return endpoint

    return declare


@dataclass(frozen=True)
class RouteEffect:
    """A route by its pattern, and what it does."""

    path: str
    effect: Effect


PREFLIGHT = RouteEffect("other", Effect.PAGE)  # what a browser asks before it asks
NOT_FOUND = {True: RouteEffect("other", Effect.READ), False: RouteEffect("other", Effect.COMPUTE)}  # by being GET


class RouteEffects:
    """All routes of an application, found by method and path."""

    def __init__(self, routers: Iterable[APIRouter]) -> None:
        self._fixed: dict[tuple[str, str], RouteEffect] = {}
        self._patterns: list[tuple[str, re.Pattern[str], RouteEffect]] = []
        for router in routers:
            for route in router.routes:
                self._add(route)

    def all(self) -> list[tuple[str, RouteEffect]]:
        """The method and the route, of all."""
        fixed = [(method, route) for (method, _), route in self._fixed.items()]
        return fixed + [(method, route) for method, _, route in self._patterns]

    def _add(self, route: Any) -> None:
        effect = getattr(route.endpoint, DECLARED, None)
        if not isinstance(effect, Effect):
            raise TypeError(
                f"the route {route.path} does not declare what it changes; put @declares(…) on its function"
            )
        for method in sorted(route.methods):
            known = RouteEffect(route.path, effect)
            if "{" in route.path:
                self._patterns.append((method, route.path_regex, known))
            else:
                self._fixed[method, route.path] = known

    def find(self, method: str, path: str) -> RouteEffect:
        """What a request does; one to a path that is not there, which gets 404 or 405, passes the same checks."""
        found = self._fixed.get((method, path))
        if found is not None:
            return found
        if method == "OPTIONS":
            return PREFLIGHT
        if method == "HEAD":
            return self.find("GET", path)
        for known, pattern, route in self._patterns:
            if known == method and pattern.match(path):
                return route
        return NOT_FOUND[method == "GET"]
