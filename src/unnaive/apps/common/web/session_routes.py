"""Sign in and out on a page: the token is sent once; from then on a session cookie replaces it."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from unnaive.apps.common.web.answering import json_response
from unnaive.apps.common.web.effects import Effect, declares
from unnaive.apps.common.web.sessions import LASTS, Sessions


def make_session_router(sessions: Sessions, *, always: bool, root_path: str = "") -> APIRouter:
    """The routes for signing in and out; `always` tells the page whether every request needs the token."""
    path = f"{root_path}/"  # of the cookie
    router = APIRouter(include_in_schema=False)

    def answer(signed_in: bool) -> Response:
        return json_response({"signed_in": signed_in, "needed": always})

    @router.get("/session")
    @declares(Effect.PAGE)
    async def look(request: Request) -> Response:
        return answer(bool(request.scope.get("unnaive.token")))

    @router.post("/session")
    @declares(Effect.SESSION)
    async def sign_in(request: Request) -> Response:
        done = answer(True)
        if "authorization" in request.headers:  # a session cannot extend itself
            # set by the browser, so it also holds behind a proxy
            secure = request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")
            done.set_cookie(
                sessions.cookie, sessions.start(request.scope["unnaive.token"]), max_age=LASTS, path=path,
                httponly=True, samesite="strict",
                secure=secure,
            )  # fmt: skip
        return done

    @router.delete("/session")
    @declares(Effect.SESSION)
    async def sign_out(request: Request) -> Response:
        sessions.end(request.cookies.get(sessions.cookie, ""))
        done = answer(False)
        done.delete_cookie(sessions.cookie, path=path, httponly=True, samesite="strict")
        return done

    return router
