"""Serve the web page: static files that come with the package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Response

from unnaive.apps.common.web.effects import Effect, declares
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.common.web.static_files import STATIC, read_stylesheet

TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}  # fmt: skip
HEAD = b"""<meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <link rel="icon" href="page/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="page/page.css">"""  # replaces <!--head--> in every page

SIGN_IN = b"""<section id="sign-in" aria-labelledby="sign-in-title" hidden>
    <form id="sign-in-form">
      <h2 id="sign-in-title">Sign in</h2>
      <p id="sign-in-why" class="quiet"></p>
      <label for="token">Token of the service</label>
      <input id="token" type="password" autocomplete="current-password" spellcheck="false" required
        aria-describedby="sign-in-why sign-in-problem">
      <button>Sign in</button>
      <p id="sign-in-problem" role="alert"></p>
    </form>
  </section>"""  # replaces <!--sign-in-->

Files = dict[str, tuple[bytes, str]]  # body and media type by name


def read_static(folder: Traversable = STATIC) -> Files:
    """All files of a page with their media types; only these are served."""
    return {
        file.name: (
            (read_stylesheet().encode() if file.name == "page.css" else file.read_bytes())
            .replace(b"<!--head-->", HEAD)
            .replace(b"<!--sign-in-->", SIGN_IN),
            TYPES[file.name.rpartition(".")[2]],
        )
        for file in folder.iterdir()
        if file.name.rpartition(".")[2] in TYPES
    }


def make_page_router(files: Files, **pages: str) -> APIRouter:
    """The routes of some pages: the file `index` at /, the others at a path of their name, all files at /page/."""
    router = APIRouter(include_in_schema=False)
    for path, name in pages.items():
        router.get("/" if path == "index" else f"/{path}")(_answer_file(*files[name]))

    @router.get("/page/{name}")
    @declares(Effect.PAGE)
    async def part(name: str) -> Response:
        if name not in files:
            raise Refused(404, f"the page has no file called {name!r}")
        body, kind = files[name]
        return Response(body, media_type=kind)

    return router


def _answer_file(body: bytes, kind: str) -> Callable[[], Awaitable[Response]]:
    @declares(Effect.PAGE)
    async def answer() -> Response:
        return Response(body, media_type=kind)

    return answer
