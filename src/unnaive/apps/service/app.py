"""The application: models, routes and the guard in front of them, made from plain options."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from unnaive import __version__
from unnaive.apps.service.access import Access
from unnaive.apps.service.classify import DirectClassify
from unnaive.apps.service.compatible import make_compatible_router
from unnaive.apps.service.effects import Effect, RouteEffects, declares
from unnaive.apps.service.guard import Guard, refusal
from unnaive.apps.service.label_studio import make_label_studio_router
from unnaive.apps.service.limits import Limits
from unnaive.apps.service.measuring import read_held_out
from unnaive.apps.service.metrics import Metrics
from unnaive.apps.service.models import Models
from unnaive.apps.service.openapi import describe_bodies
from unnaive.apps.service.page import make_page_router, read_static
from unnaive.apps.service.refused import Refused, refuse_mistake
from unnaive.apps.service.routes import json_response, make_router
from unnaive.apps.service.session_routes import make_session_router
from unnaive.apps.service.sessions import Sessions
from unnaive.base.errors import UnnaiveError
from unnaive.base.system import at_hangup
from unnaive.io.sources import check_exists

OPTIONS = "UNNAIVE_SERVICE"  # the environment variable by which workers get their options

WATCH_SECONDS = 0.5  # between two looks at the model files

log = logging.getLogger("unnaive.service")


@dataclass(frozen=True)
class ServiceOptions:
    """What `unnaive serve` was told."""

    models: dict[str, str]
    token: str = field(repr=False)
    token_always: bool = False
    session_secret: str = field(default="", repr=False)  # signs cookies; the token itself by default
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    read_only: bool = False
    grow: bool = False  # whether annotations of Label Studio may add classes
    evaluations: dict[str, str] = field(default_factory=dict)  # files of `unnaive evaluate --json` by model
    measure_on: dict[str, str] = field(default_factory=dict)  # files with labelled documents by model
    fold_seconds: float = 30.0

    def to_json(self) -> str:
        """For the environment of workers."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, words: str) -> ServiceOptions:
        """The inverse of `to_json`."""
        given = json.loads(words)
        return cls(**{**given, "limits": Limits(**given["limits"])})


def create_app(options: ServiceOptions) -> Guard:
    """The application; models are loaded now, so that a bad file is found before the port is open."""
    metrics = Metrics()
    models = Models(
        {name: Path(path) for name, path in options.models.items()}, options.limits, metrics,
        teachable=not options.read_only, grow=options.grow,
    )  # fmt: skip

    for name, path in options.evaluations.items():
        models.find(name).measures = read_evaluation(path)
    for name, path in options.measure_on.items():
        model = models.find(name)
        model.held_out = read_held_out(path, model.version.fitted)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(fold_at_intervals(models, options.fold_seconds)),
            asyncio.create_task(watch_files(models)),
            *([asyncio.create_task(measure_versions(models))] if options.measure_on else []),
        ]
        reload_at_signal(models, tasks)
        gc.collect()
        gc.freeze()  # what was loaded stays: the collector need not walk over it again and again
        yield
        gc.unfreeze()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        models.close()

    app = FastAPI(
        title="unnaive", version=__version__, description="Text classification with the Bayesian family.",
        lifespan=life, docs_url=None, redoc_url=None, openapi_url=None,
    )  # fmt: skip
    sessions = Sessions(options.session_secret or options.token)
    routes = include_routers(
        app, make_router(models), make_compatible_router(models), make_label_studio_router(models),
        make_session_router(sessions, always=options.token_always),
        make_page_router(read_static(), index="index.html", docs="docs.html"),
        make_description_router(lambda: describe_bodies(app, routes.all(), options.token_always)),
    )  # fmt: skip
    answer_errors_in_sentences(app)
    access = Access(options.token, options.token_always, frozenset(options.hosts), tuple(options.origins), sessions)
    inner: Any = DirectClassify(app, models)
    if options.origins:
        inner = CORSMiddleware(
            inner, allow_origins=list(options.origins), allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key"],
        )  # fmt: skip
    return Guard(inner, access=access, limits=options.limits, metrics=metrics, routes=routes)


def include_routers(app: FastAPI, *routers: APIRouter) -> RouteEffects:
    """Add routes to an application; what each of them does, for the guard. One that does not declare it is an error."""
    for router in routers:
        app.include_router(router)
    return RouteEffects(routers)


def make_description_router(describe: Callable[[], dict[str, Any]]) -> APIRouter:
    """The OpenAPI description, as a route that declares what it does, like all others."""
    router = APIRouter(include_in_schema=False)

    @router.get("/openapi.json")
    @declares(Effect.READ)
    async def description() -> Response:
        return json_response(describe())

    return router


def read_evaluation(path: str) -> dict[str, Any]:
    """What `unnaive evaluate --json` wrote to a file."""
    try:
        found = json.loads(check_exists(path).read_text(encoding="utf-8"))
    except ValueError as problem:
        raise UnnaiveError(f"{path} is not what unnaive evaluate --json prints ({problem})") from problem
    if not isinstance(found, dict):
        raise UnnaiveError(f"{path} is not what unnaive evaluate --json prints: an object was expected")
    return found


def app_of_worker() -> Guard:
    """The application of one of several worker processes."""
    return create_app(ServiceOptions.from_json(os.environ[OPTIONS]))


async def fold_at_intervals(models: Models, seconds: float) -> None:
    """Rewrite what changed, again and again; a failure is logged and told by /readyz, and tried again."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await models.fold_all()
        except (UnnaiveError, OSError) as problem:
            log.error("the model file was not written: %s", problem)


async def watch_files(models: Models) -> None:
    """Take over model files that are replaced, as soon as they are whole."""
    seen: dict[str, Any] = {}
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        await models.reload_changed(seen)


async def measure_versions(models: Models) -> None:
    """Measure every version that stands for a moment; of several in quick succession, the last."""
    while True:
        try:
            await models.measure_all()
        except UnnaiveError as problem:
            log.error("a version could not be measured: %s", problem)
        await asyncio.sleep(WATCH_SECONDS)


def reload_at_signal(models: Models, tasks: list[asyncio.Task[None]]) -> None:
    """Let SIGHUP take over changed model files at once; only the main thread of a process gets signals."""
    loop = asyncio.get_running_loop()

    def reload() -> None:
        tasks.append(loop.create_task(models.reload_changed()))

    at_hangup(loop, reload)


def answer_errors_in_sentences(app: FastAPI) -> None:
    """Let every error be answered as {"error": a sentence}."""

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
        place = " ".join(map(str, first["loc"]))
        return json_response({"error": f"{place}: {first['msg']}"}, 422)

    @app.exception_handler(HTTPException)
    async def http(request: Request, problem: HTTPException) -> Response:
        sentence = f"there is nothing at {request.url.path}; see /openapi.json" if problem.status_code == 404 else None
        answer = json_response({"error": sentence or str(problem.detail)}, problem.status_code)
        answer.headers.update(problem.headers or {})
        return answer

    @app.exception_handler(ClientDisconnect)
    async def gone(_: Request, problem: ClientDisconnect) -> Response:
        return json_response({"error": "the client left before its request was complete"}, 400)  # which nobody gets

    @app.exception_handler(Exception)
    async def broken(_: Request, problem: Exception) -> Response:
        log.exception("a request failed", exc_info=problem)
        return json_response({"error": "the service failed at this request; its log says why"}, 500)
