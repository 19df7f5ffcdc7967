"""The labelling page: one process, a session behind a few routes, protected by the guard of `serve`."""

from __future__ import annotations

import hashlib
import secrets
import socket
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request, Response

from unnaive.apps.common.screen import echo, note
from unnaive.apps.common.web.access import LOOPBACK, Access
from unnaive.apps.common.web.answering import answer_errors_in_sentences, json_response
from unnaive.apps.common.web.effects import include_routers
from unnaive.apps.common.web.guard import Guard
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.metrics import Metrics
from unnaive.apps.common.web.running import ListenOptions, run_app
from unnaive.apps.common.web.serve_page import make_page_router, read_static
from unnaive.apps.common.web.session_routes import make_session_router
from unnaive.apps.common.web.sessions import Sessions, read_local_secret
from unnaive.apps.common.web.short_turns import short_turns
from unnaive.apps.common.web.tokens import Token, Tokens, TokenScope
from unnaive.apps.labelling.people import Person, person_tokens
from unnaive.apps.labelling.project_routes import make_project_router
from unnaive.apps.labelling.routes import make_label_router
from unnaive.base.errors import UnnaiveError
from unnaive.curation.labelling.labelling_session import Labelling
from unnaive.curation.labelling.record_tables import NotRecorded

STATIC = files("unnaive.apps.labelling") / "static"
PORTS = range(20_000, 30_000)


def make_label_app(
    labelling: Labelling,
    who: str,
    tokens: Tokens,
    secret: str,
    *,
    people: bool = False,
    hosts: Iterable[str] = LOOPBACK,
) -> Guard:
    """The application of a labelling session.

    who     the name that the page begins with
    secret  signs the cookies
    people  whether each token is that of a person with its name
    hosts   the names of this machine that a browser may use; any if there are none
    """
    app = FastAPI(title="unnaive label", docs_url=None, redoc_url=None, openapi_url=None)
    sessions = Sessions(secret)
    routes = include_routers(
        app, make_page_router(read_static() | read_static(STATIC), index="label.html"),
        make_session_router(sessions, always=True), make_label_router(labelling, who, Person(people)),
        make_project_router(labelling, Person(people)),
    )  # fmt: skip
    answer_errors_in_sentences(app, "/")

    @app.exception_handler(NotRecorded)
    async def not_recorded(_: Request, problem: NotRecorded) -> Response:
        return json_response({"error": str(problem)}, 503)

    access = Access(tokens, True, frozenset(hosts), sessions=sessions)
    return Guard(app, access=access, limits=Limits(body=1 << 20), metrics=Metrics(), routes=routes)


def serve_page(
    labelling: Labelling, who: str, place: ListenOptions, *, usual: bool = False, people: Sequence[str] = ()
) -> None:
    """Serve the page until Ctrl-C; with `usual`, at the record's usual port, if it is free.

    The printed address includes the token; with `people`, one address for each, and "NAME:review" for a reviewer. The
    tokens of people stay the same for a record.
    """
    host = place.host
    local = host in LOOPBACK
    if not local and not people:
        raise UnnaiveError(
            f"{host} is reachable from outside, so everybody needs a token; name the people, such as --person "
            "ann --person deniz:review"
        )
    record = labelling.record.path
    location = str(Path(record).resolve())
    place.check_certificate()
    place = replace(place, port=usual_port(host, location)) if usual else place
    secret = read_local_secret("label", location)
    given = person_tokens(people, secret) if people else {who: (secrets.token_urlsafe(24), TokenScope.ADMIN)}

    def announce(port: int) -> None:
        for name, (token, scope) in given.items() if people else ():
            role = ", who reviews," if scope is TokenScope.ADMIN else ""
            echo(f"{name}{role} labels {record} at {place.address(port, token)}")
        if not people:
            echo(f"labelling {record} at {place.address(port, given[who][0])}")
        note("open the address in a browser; Ctrl-C stops, and every answer is kept")
        if not local and place.certfile is None:
            note("the connection is not encrypted: beyond a network that you trust, add --set certfile=FILE")

    tokens = Tokens(Token.of(token, name, scope) for name, (token, scope) in given.items())
    app = make_label_app(
        labelling, who, tokens, secret, people=bool(people), hosts=LOOPBACK if local else ()
    )  # the token is always needed
    with short_turns():  # progress is computed in threads
        run_app(app, place, announce)


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
