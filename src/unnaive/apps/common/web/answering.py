"""Answer in JSON, and every error as {"error": a sentence}."""

from __future__ import annotations

import logging
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from unnaive.apps.common.web.guard import refusal
from unnaive.apps.common.web.refused import Refused, refuse_mistake
from unnaive.base.errors import UnnaiveError

log = logging.getLogger("unnaive.service")


def json_response(value: Any, status: int = 200) -> Response:
    """A value as a JSON response."""
    return Response(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS), status, media_type="application/json")


def answer_errors_in_sentences(app: FastAPI, guide: str) -> None:
    """Answer every error as {"error": a sentence}; `guide` is the path of a page that tells what there is."""

    @app.exception_handler(Refused)
    async def refused(_: Request, problem: Refused) -> Response:
        body, headers = refusal(problem)
        return Response(body, problem.status, {name.decode(): value.decode() for name, value in headers})

    @app.exception_handler(UnnaiveError)
    async def mistake(_: Request, problem: UnnaiveError) -> Response:
        return json_response({"error": str(refuse_mistake(422, problem))}, 422)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, problem: RequestValidationError) -> Response:
        first: dict[str, Any] = dict(problem.errors()[0])
        location = " ".join(map(str, first["loc"]))
        return json_response({"error": f"{location}: {first['msg']}"}, 422)

    @app.exception_handler(HTTPException)
    async def http(request: Request, problem: HTTPException) -> Response:
        sentence = f"there is nothing at {request.url.path}; see {guide}" if problem.status_code == 404 else None
        answer = json_response({"error": sentence or str(problem.detail)}, problem.status_code)
        answer.headers.update(problem.headers or {})
        return answer

    @app.exception_handler(ClientDisconnect)
    async def gone(_: Request, problem: ClientDisconnect) -> Response:
        # the client will not receive it
        return json_response({"error": "the client left before its request was complete"}, 400)

    @app.exception_handler(Exception)
    async def broken(_: Request, problem: Exception) -> Response:
        log.exception("a request failed", exc_info=problem)
        return json_response({"error": "the service failed to answer this request; see its log"}, 500)
