"""Every route declares what it changes; token, origin, limits and log follow from that."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient

from unnaive.apps.common.web.effects import Effect, RouteEffects, declares, include_routers
from unnaive.apps.common.web.guard import Guard
from unnaive.apps.service.app import create_app

from .conftest import WITH_TOKEN, options

CHANGING = {
    ("POST", "/v1/models/{name}/teach"),
    ("POST", "/v1/models/{name}/forget"),
    ("POST", "/v1/models/{name}/undo"),
    ("POST", "/setup"),
    ("POST", "/webhook"),
}
SESSION = {("POST", "/session"), ("DELETE", "/session")}
RESTORING = {("POST", "/v1/models/{name}/rollback")}
PROBES = {"/healthz", "/readyz", "/v2/health/live", "/v2/health/ready", "/ping", "/health"}
PAGES = {"/", "/docs", "/session", "/page/{name}"}
PUBLIC = {("GET", path) for path in PROBES | PAGES}


@pytest.fixture
def guard(model_file: Path) -> Guard:
    """The application, which knows what its routes do."""
    return create_app(options(model_file))


def test_what_the_routes_declare(guard: Guard) -> None:
    """By hand: what changes anything, what needs no token; all that is left reads or computes."""
    found = guard.routes.all()
    assert len(found) > 30
    for effect, expected in ((Effect.CHANGE, CHANGING), (Effect.SESSION, SESSION), (Effect.RESTORE, RESTORING)):
        assert {(method, one.path) for method, one in found if one.effect is effect} == expected
    assert {(method, one.path) for method, one in found if one.effect.public} == PUBLIC
    others = [(method, one) for method, one in found if one.effect in (Effect.READ, Effect.COMPUTE, Effect.STREAM)]
    assert all((method == "GET") == (one.effect is Effect.READ) for method, one in others)


def test_there_are_no_other_routes(guard: Guard) -> None:
    """The application itself, behind the guard and the short way to /v1/classify, has no route that is not declared."""
    app: Any = guard.app.app  # type: ignore[attr-defined]
    assert isinstance(app, FastAPI)
    known = {one.path for _, one in guard.routes.all()}
    assert {route.path for route in app.routes if hasattr(route, "path")} <= known
    assert set(app.openapi()["paths"]) <= known
    assert len(app.openapi()["paths"]) > 25


def test_a_route_that_does_not_declare_is_an_error() -> None:
    router = APIRouter()

    @router.post("/v1/erase")
    async def erase() -> None: ...

    with pytest.raises(TypeError, match="/v1/erase does not declare its effect"):
        include_routers(FastAPI(), router)


def test_token_and_origin_follow_from_the_declaration(guard: Guard) -> None:
    """Asked of every route: without the token, and as a page of another site."""
    with TestClient(guard) as client:
        for method, route in guard.routes.all():
            path, effect = route.path.replace("{name}", "nosuch"), route.effect
            needed = (method, route.path) in CHANGING | SESSION | RESTORING
            assert (client.request(method, path).status_code == 401) == needed
            foreign = client.request(method, path, headers={"Origin": "https://evil.example", **WITH_TOKEN})
            assert (foreign.status_code == 403) == effect.own_pages_only


def test_off_loopback_all_but_public_routes_need_the_token(model_file: Path) -> None:
    guard = create_app(options(model_file, token_always=True))
    with TestClient(guard) as client:
        for method, route in guard.routes.all():
            status = client.request(method, route.path.replace("{name}", "nosuch")).status_code
            assert (status == 401) == (not route.effect.public)
        assert client.get("/nosuch").status_code == 401
        assert client.options("/v1/classify").status_code == 405


def test_methods_and_paths() -> None:
    router = APIRouter()

    @router.get("/a/{name}")
    @declares(Effect.READ)
    async def read() -> None: ...

    @router.post("/a/b")
    @declares(Effect.CHANGE)
    async def change() -> None: ...

    routes = RouteEffects([router])
    assert routes.find("GET", "/a/b").path == routes.find("HEAD", "/a/b").path == "/a/{name}"
    assert routes.find("POST", "/a/b").effect is Effect.CHANGE
    assert routes.find("POST", "/a/c").path == routes.find("GET", "/a/b/c").path == "other"


def test_log_lines_cannot_be_forged(model_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "unnaive.service"), TestClient(create_app(options(model_file))) as client:
        client.get("/x%0a2026-01-01 GET /v1/models 200%1b[31m%c2%9b31m%0d%e2%80%ae")
        client.get("/healthz")
        client.get("/" + "y" * 5000)
        client.post("/v1/models/nosuch/teach", json={})
    first, second, third = [one.getMessage() for one in caplog.records if one.name == "unnaive.service"]
    assert first.startswith(r"testclient GET /x\n2026-01-01 GET /v1/models 200\x1b[31m\x9b31m\r\u202e 404 ")
    assert first.isprintable()
    assert len(second) < 600
    assert third.startswith("testclient POST /v1/models/nosuch/teach 401 ")
    assert third.endswith(" ms change")
