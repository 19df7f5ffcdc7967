"""The labelling page: one process on loopback, a session behind a few routes, protected by the guard of `serve`."""

from __future__ import annotations

import hashlib
import secrets
import socket
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from unnaive.apps.common.screen import echo, note
from unnaive.apps.common.web.access import LOOPBACK, Access
from unnaive.apps.common.web.answering import answer_errors_in_sentences, json_response
from unnaive.apps.common.web.effects import Effect, declares, include_routers
from unnaive.apps.common.web.guard import Guard
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.metrics import Metrics
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.common.web.running import address, run_app
from unnaive.apps.common.web.serve_page import make_page_router, read_static
from unnaive.apps.common.web.session_routes import make_session_router
from unnaive.apps.common.web.sessions import Sessions, read_local_secret
from unnaive.apps.labelling.keys import keys_of
from unnaive.apps.labelling.session_progress import Standing, describe_agreement
from unnaive.base.errors import UnnaiveError
from unnaive.curation.labelling.label_log import AlreadyDecided
from unnaive.curation.labelling.labelling_session import Labelling, Shown

STATIC = files("unnaive.apps.labelling") / "static"
PORTS = range(20_000, 30_000)
LONGEST = 20_000  # characters of a text that are highlighted; the rest is shown plain


class Answer(BaseModel):
    """A person's answer for a text; `seen` is the last decision on it when it was shown."""

    who: str = Field(min_length=1, max_length=100)
    text: int
    seen: int
    kind: str
    labels: list[str] = Field(default_factory=list, max_length=1000)


class Name(BaseModel):
    """The person, and optionally the name that the page had before, a class, or words to search for."""

    who: str = Field(min_length=1, max_length=100)
    before: str | None = Field(None, max_length=100)
    label: str | None = Field(None, max_length=1000)
    words: str | None = Field(None, max_length=10_000)


def make_label_router(labelling: Labelling, who: str) -> APIRouter:
    """The routes of a labelling session; all of them need the token."""
    router, standing = APIRouter(prefix="/label"), Standing()

    def view(person: str) -> dict[str, Any]:
        with labelling.lock:
            shown = labelling.show(person)
            likeliest = () if shown is None else shown.probabilities
            return {
                "summary": labelling.summary(person), "multilabel": labelling.pool.multilabel,
                "classes": list(labelling.pool.classes), "keys": keys_of(labelling.pool.classes, likeliest),
                "text": None if shown is None else describe_shown(labelling, shown),
                "done": labelling.why_done(person) if shown is None else None,
                "looking": {"label": labelling.wish.get(person), "words": person in labelling.among},
            }  # fmt: skip

    async def viewed(person: str) -> Response:
        return json_response(await run_in_threadpool(view, person))

    @router.get("/who")
    @declares(Effect.READ)
    async def user() -> Response:
        return json_response({"who": who})

    @router.post("/next")
    @declares(Effect.COMPUTE)
    async def next_text(body: Name) -> Response:
        if body.before is not None and body.before != body.who:
            await run_in_threadpool(labelling.leave, body.before)
        return await viewed(body.who)

    @router.post("/answer")
    @declares(Effect.CHANGE)
    async def answer(body: Answer) -> Response:
        try:
            await run_in_threadpool(labelling.answer, body.who, body.text, body.kind, body.labels, body.seen)
        except AlreadyDecided as problem:
            raise Refused(409, str(problem)) from problem
        return await viewed(body.who)

    @router.post("/undo")
    @declares(Effect.CHANGE)
    async def undo(body: Name) -> Response:
        gone = await run_in_threadpool(labelling.undo, body.who)
        if gone is None:
            raise UnnaiveError("there is nothing to undo")
        return await viewed(body.who)

    @router.post("/class")
    @declares(Effect.CHANGE)
    async def new_class(body: Name) -> Response:
        await run_in_threadpool(labelling.add_class, body.who, body.label or "")
        return await viewed(body.who)

    @router.post("/look")
    @declares(Effect.CHANGE)
    async def look(body: Name) -> Response:
        text = await run_in_threadpool(labelling.look_for, body.who, body.label, body.words)
        if body.words and not text:
            labelling.look_for(body.who)
            raise UnnaiveError(f"no text contains all of: {body.words}")
        return await viewed(body.who)

    @router.get("/standing")
    @declares(Effect.READ)
    async def stand() -> Response:  # separate from the next text, which need not wait for it
        def look() -> dict[str, Any]:
            with labelling.lock:
                return standing.look(labelling)

        return json_response(await run_in_threadpool(look))

    @router.get("/agreement")
    @declares(Effect.READ)
    async def agreement() -> Response:
        return json_response({"agreement": await run_in_threadpool(describe_agreement, labelling)})

    return router


def describe_shown(labelling: Labelling, shown: Shown) -> dict[str, Any]:
    """A text for the page: split into segments, each with its evidence relative to the strongest."""
    why = labelling.explain(shown)
    marked = [(shown.body, 0.0)] if why is None or len(shown.body) > LONGEST else why.marked()
    largest = max((abs(value) for _, value in marked), default=0.0) or 1.0
    return {
        "number": shown.text, "name": shown.name, "way": shown.way, "suggested": shown.suggested,
        "given": list(shown.given), "seen": shown.seen,
        "probabilities": [{"label": label, "probability": share} for label, share in shown.probabilities.items()],
        "ticked": list(shown.ticked), "marked": [[words, value / largest] for words, value in marked],
    }  # fmt: skip


def make_label_app(labelling: Labelling, who: str, token: str, secret: str) -> Guard:
    """The application of a labelling session; `secret` signs its cookies."""
    app = FastAPI(title="unnaive label", docs_url=None, redoc_url=None, openapi_url=None)
    sessions = Sessions(secret)
    routes = include_routers(
        app, make_page_router(read_static() | read_static(STATIC), index="label.html"),
        make_session_router(sessions, always=True), make_label_router(labelling, who),
    )  # fmt: skip
    answer_errors_in_sentences(app)
    access = Access(token, True, frozenset(LOOPBACK), sessions=sessions)
    return Guard(app, access=access, limits=Limits(body=1 << 20), metrics=Metrics(), routes=routes)


def serve_page(labelling: Labelling, who: str, *, host: str, port: int | None) -> None:
    """Serve the page until Ctrl-C.

    The printed address includes the token. Without a port, the record's usual one is used.
    """
    if host not in LOOPBACK:
        raise UnnaiveError(f"{host} is reachable from outside, but the page works only on loopback; use ssh -L")
    token = secrets.token_urlsafe(24)
    record = labelling.record.path
    location = str(Path(record).resolve())
    port = usual_port(host, location) if port is None else port

    def announce(port: int) -> None:
        echo(f"labelling {record} at {address(host, port, token)}")
        note("open the address in a browser; Ctrl-C stops, and every answer is kept")

    run_app(make_label_app(labelling, who, token, read_local_secret("label", location)), host, port, announce)


def usual_port(host: str, location: str) -> int:
    """A fixed port for a record, so that an open page continues after a restart; 0 (any) if it is in use."""
    port = PORTS[int(hashlib.sha256(location.encode("utf-8", "surrogateescape")).hexdigest(), 16) % len(PORTS)]
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError:
            return 0
    return port
