"""Build the application from plain options: models, routes and the guard in front of them."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Response

from unnaive import __version__
from unnaive.apps.common.web.access import Access
from unnaive.apps.common.web.answering import answer_errors_in_sentences, json_response
from unnaive.apps.common.web.cors import AllowedOrigins
from unnaive.apps.common.web.effects import Effect, declares, include_routers
from unnaive.apps.common.web.guard import Guard
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.proxies import Proxies
from unnaive.apps.common.web.serve_page import make_page_router, read_static
from unnaive.apps.common.web.session_routes import make_session_router
from unnaive.apps.common.web.sessions import Sessions
from unnaive.apps.common.web.tokens import Token, Tokens
from unnaive.apps.service.annif import make_annif_router
from unnaive.apps.service.classify import DirectClassify
from unnaive.apps.service.compatible import make_compatible_router
from unnaive.apps.service.label_studio import make_label_studio_router
from unnaive.apps.service.measuring import read_held_out
from unnaive.apps.service.model_metrics import ModelMetrics
from unnaive.apps.service.models import Models
from unnaive.apps.service.openapi import describe_bodies
from unnaive.apps.service.routes import make_router
from unnaive.base.errors import UnnaiveError
from unnaive.base.open_files import check_exists

OPTIONS = "UNNAIVE_SERVICE"  # the environment variable that passes the options to worker processes

STATIC = files("unnaive.apps.service") / "static"
WATCH_SECONDS = 0.5  # interval between two checks of the model files

log = logging.getLogger("unnaive.service")


@dataclass(frozen=True)
class ServiceOptions:
    """The options of `unnaive serve`."""

    models: dict[str, str]
    token: str = field(default="", repr=False)  # may do everything; empty if there is only a file of tokens
    token_file: str | None = None
    token_always: bool = False
    session_secret: str = field(default="", repr=False)  # signs the cookies; the token is used by default
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    root_path: str = ""
    limits: Limits = field(default_factory=Limits)
    read_only: bool = False
    new_classes: bool = False  # whether annotations from Label Studio may add classes
    evaluations: dict[str, str] = field(default_factory=dict)  # output files of `unnaive evaluate --json`, by model
    measure_on: dict[str, str] = field(default_factory=dict)  # files with labelled documents, by model
    write_seconds: float = 30.0

    def to_json(self) -> str:
        """Serialise for the environment of worker processes."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, words: str) -> ServiceOptions:
        """The inverse of `to_json`."""
        options = json.loads(words)
        return cls(**{**options, "limits": Limits(**options["limits"])})


def create_app(options: ServiceOptions) -> Guard:
    """Build the application; models are loaded first, so that a bad file is reported before the port opens."""
    metrics = ModelMetrics()
    tokens = Tokens(
        [Token.of(options.token)] if options.token else [],
        None if options.token_file is None else Path(options.token_file),
    )
    models = Models(
        {name: Path(path) for name, path in options.models.items()}, options.limits, metrics,
        teachable=not options.read_only, new_classes=options.new_classes,
    )  # fmt: skip

    for name, path in options.evaluations.items():
        model, values = models.find(name), read_evaluation(path)
        version = model.event_of_file(str(values.get("model_sha256")))
        model.evaluations.take(values, path, version, model.path)
    for name, path in options.measure_on.items():
        model = models.find(name)
        model.evaluations.held_out = read_held_out(path, model.version.fitted)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(write_at_intervals(models, options.write_seconds)),
            asyncio.create_task(watch_files(models)),
            *([asyncio.create_task(measure_versions(models))] if options.measure_on else []),
        ]
        loop = asyncio.get_running_loop()
        guard.stops.append(models.stop)
        guard.reloads.append(lambda: tasks.append(loop.create_task(models.reload_changed())))
        gc.collect()
        gc.freeze()  # loaded objects stay, so the garbage collector need not scan them again
        yield
        gc.unfreeze()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        models.close()

    app = FastAPI(
        title="unnaive", version=__version__, description="Text classification with the Bayesian family.",
        lifespan=life, docs_url=None, redoc_url=None, openapi_url=None,
        redirect_slashes=False,  # a redirect would leave out the path that a proxy has removed
    )  # fmt: skip
    sessions = Sessions(options.session_secret or options.token)
    routes = include_routers(
        app, make_router(models), make_compatible_router(models), make_label_studio_router(models),
        make_annif_router(models),
        make_session_router(sessions, always=options.token_always, root_path=options.root_path),
        make_page_router(read_static() | read_static(STATIC), index="index.html", docs="docs.html"),
        make_description_router(
            lambda: describe_bodies(
                app, routes.all(), token_always=options.token_always, root_path=options.root_path
            )
),
    )  # fmt: skip
    answer_errors_in_sentences(app, f"{options.root_path}/openapi.json")
    access = Access(
        tokens, options.token_always, frozenset(options.hosts), AllowedOrigins(tuple(options.origins)),
        Proxies.of(options.proxies), sessions,
    )  # fmt: skip
    guard = Guard(
        DirectClassify(app, models), access=access, limits=options.limits, metrics=metrics, routes=routes,
        root_path=options.root_path,
    )  # fmt: skip
    return guard


def make_description_router(describe: Callable[[], dict[str, Any]]) -> APIRouter:
    """The OpenAPI description, as a route with a declared effect like all others."""
    router = APIRouter(include_in_schema=False)

    @router.get("/openapi.json")
    @declares(Effect.READ)
    async def description() -> Response:
        return json_response(describe())

    return router


def read_evaluation(path: str) -> dict[str, Any]:
    """Read a file that `unnaive evaluate --json` wrote."""
    try:
        values = json.loads(check_exists(path).read_text(encoding="utf-8"))
    except ValueError as problem:
        raise UnnaiveError(
            f"{path} is not JSON ({problem}); give a file that unnaive evaluate --json wrote"
        ) from problem
    if not isinstance(values, dict):
        raise UnnaiveError(f"{path} is not a JSON object; give a file that unnaive evaluate --json wrote")
    return values


def app_of_worker() -> Guard:
    """Build the application in one of several worker processes."""
    return create_app(ServiceOptions.from_json(os.environ[OPTIONS]))


async def write_at_intervals(models: Models, seconds: float) -> None:
    """Rewrite changed model files at regular intervals."""
    while True:
        await asyncio.sleep(seconds)
        await models.write_all()


async def watch_files(models: Models) -> None:
    """Reload model files that were replaced, once they are complete."""
    seen: dict[str, Any] = {}
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        await models.reload_changed(seen)


async def measure_versions(models: Models) -> None:
    """Evaluate every new version; of several in quick succession, only the last."""
    while True:
        await models.measure_all()
        await asyncio.sleep(WATCH_SECONDS)
