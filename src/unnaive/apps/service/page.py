"""The page for people: files that come with the package, served as they are."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Response

from unnaive.apps.service.served import Refused

TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}  # fmt: skip
FOLDER = files("unnaive.apps.service") / "static"


def read_static() -> dict[str, tuple[bytes, str]]:
    """All files of the page, with their types; nothing else can be asked for."""
    return {
        one.name: (one.read_bytes(), TYPES[one.name.rpartition(".")[2]])
        for one in FOLDER.iterdir()
        if one.name.rpartition(".")[2] in TYPES
    }


def make_page_router() -> APIRouter:
    """The routes of the page."""
    router, known = APIRouter(include_in_schema=False), read_static()

    @router.get("/")
    async def index() -> Response:
        body, kind = known["index.html"]
        return Response(body, media_type=kind)

    @router.get("/page/{name}")
    async def part(name: str) -> Response:
        if name not in known:
            raise Refused(404, f"the page has no part called {name!r}")
        body, kind = known[name]
        return Response(body, media_type=kind)

    return router
