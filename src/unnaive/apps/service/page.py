"""The page for people: files that come with the package, served as they are."""

from __future__ import annotations

from importlib.resources.abc import Traversable

from fastapi import APIRouter, Response

from unnaive.apps.service.effects import Effect, declares
from unnaive.apps.service.refused import Refused
from unnaive.apps.service.static_files import STATIC

TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}  # fmt: skip
HEAD = b"""<meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <link rel="icon" href="/page/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="/page/page.css">"""  # of every page, in the place of <!--head-->


Files = dict[str, tuple[bytes, str]]  # body and type by name


def read_static(folder: Traversable = STATIC) -> Files:
    """All files of a page, with their types; nothing else can be asked for."""
    return {
        one.name: (one.read_bytes().replace(b"<!--head-->", HEAD), TYPES[one.name.rpartition(".")[2]])
        for one in folder.iterdir()
        if one.name.rpartition(".")[2] in TYPES
    }


def make_page_router(known: Files, first: str = "index.html") -> APIRouter:
    """The routes of a page: `first` at /, all files at /page/."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    @declares(Effect.PAGE)
    async def index() -> Response:
        body, kind = known[first]
        return Response(body, media_type=kind)

    @router.get("/page/{name}")
    @declares(Effect.PAGE)
    async def part(name: str) -> Response:
        if name not in known:
            raise Refused(404, f"the page has no part called {name!r}")
        body, kind = known[name]
        return Response(body, media_type=kind)

    return router
