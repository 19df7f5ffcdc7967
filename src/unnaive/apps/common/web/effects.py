"""The effect of each route on the service: declared with the route, and checked before a request is admitted."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI

from unnaive.apps.common.web.tokens import TokenScope

DECLARED = "__unnaive_effect__"  # the attribute of an endpoint that holds its effect

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Effect(enum.Enum):
    """What a route does; token, origin check, limits and logging depend on it."""

    HEALTH = "health"  # for load balancers: no token, no limits, not logged
    PAGE = "page"  # static parts of the page, which reveal nothing about a model: no token
    READ = "read"  # a model's card and the like: token unless on loopback
    COMPUTE = "compute"  # costs time: token unless on loopback, no pages of other sites
    STREAM = "stream"  # like COMPUTE, for as long as the client wants
    SESSION = "session"  # signs in or out: always a token, no pages of other sites
    CHANGE = "change"  # changes a model or stored data: always a token that may teach, no pages of other sites
    RESTORE = "restore"  # takes back what others changed: always a token that may do everything, likewise

    @property
    def public(self) -> bool:
        """Whether the route reveals nothing about a model and so never needs the token."""
        return self in (Effect.HEALTH, Effect.PAGE)

    @property
    def own_pages_only(self) -> bool:
        """Whether pages of other sites may not call the route."""
        return self in (Effect.COMPUTE, Effect.STREAM) or self.always_needs_token

    @property
    def always_needs_token(self) -> bool:
        """Whether the route needs a token on loopback too."""
        return self in (Effect.SESSION, Effect.CHANGE, Effect.RESTORE)

    @property
    def scope(self) -> TokenScope:
        """What a token must allow for the route."""
        return {Effect.CHANGE: TokenScope.TEACH, Effect.RESTORE: TokenScope.ADMIN}.get(self, TokenScope.PREDICT)


def declares(effect: Effect) -> Callable[[Endpoint], Endpoint]:
    """Declare the effect of an endpoint; place it below the decorator of the route."""

    def declare(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, DECLARED, effect)
        return endpoint

    return declare


@dataclass(frozen=True)
class RouteEffect:
    """A route by its pattern, and its effect."""

    path: str
    effect: Effect


PREFLIGHT = RouteEffect("other", Effect.PAGE)  # a browser's CORS preflight request
# for unknown paths, by whether the method is GET
NOT_FOUND = {True: RouteEffect("other", Effect.READ), False: RouteEffect("other", Effect.COMPUTE)}


class RouteEffects:
    """All routes of an application, looked up by method and path."""

    def __init__(self, routers: Iterable[APIRouter]) -> None:
        self._fixed: dict[tuple[str, str], RouteEffect] = {}
        self._patterns: list[tuple[str, re.Pattern[str], RouteEffect]] = []
        for router in routers:
            for route in router.routes:
                self._add(route)

    def all(self) -> list[tuple[str, RouteEffect]]:
        """All (method, route) pairs."""
        fixed = [(method, route) for (method, _), route in self._fixed.items()]
        return fixed + [(method, route) for method, _, route in self._patterns]

    def _add(self, route: Any) -> None:
        effect = getattr(route.endpoint, DECLARED, None)
        if not isinstance(effect, Effect):
            raise TypeError(f"the route {route.path} does not declare its effect; put @declares(…) on its function")
        for method in sorted(route.methods):
            route_effect = RouteEffect(route.path, effect)
            if "{" in route.path:
                self._patterns.append((method, route.path_regex, route_effect))
            else:
                self._fixed[method, route.path] = route_effect

    def find(self, method: str, path: str) -> RouteEffect:
        """The effect of a request; a request for an unknown path, which gets 404 or 405, passes the same checks."""
        fixed = self._fixed.get((method, path))
        if fixed is not None:
            return fixed
        if method == "OPTIONS":
            return PREFLIGHT
        if method == "HEAD":
            return self.find("GET", path)
        for route_method, pattern, route in self._patterns:
            if route_method == method and pattern.match(path):
                return route
        return NOT_FOUND[method == "GET"]


def include_routers(app: FastAPI, *routers: APIRouter) -> RouteEffects:
    """Add routes to an application and return their effects for the guard.

    A route without a declared effect is an error.
    """
    for router in routers:
        app.include_router(router)
    return RouteEffects(routers)
