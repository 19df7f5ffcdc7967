"""`unnaive serve`: models for programs (REST) and for people (a page)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.path_options import CHANGED_MODELS, READ, READ_NAMED
from unnaive.apps.common.screen import echo, note
from unnaive.base.errors import BadData, UnnaiveError, choose
from unnaive.base.extras import missing_extra
from unnaive.base.system import user_id

if TYPE_CHECKING:
    from unnaive.apps.service.app import ServiceOptions

TOKEN = "UNNAIVE_TOKEN"  # noqa: S105  # the environment variable, not a token
LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHORTEST_TOKEN = 16


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(
    models: Annotated[
        list[str],
        CHANGED_MODELS,
        typer.Argument(metavar="MODEL [NAME=MODEL]…", help="Model files; the first is the default."),
    ],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free port.", min=0, max=65535)] = 8000,
    token_file: Annotated[
        Path | None,
        READ,
        typer.Option(
            metavar="FILE",
            help=f"File with the token for teaching and for access from other computers; by default ${TOKEN}.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Host name by which clients may call the service; may be repeated."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Origin whose pages may send requests (CORS); may be repeated."),
    ] = None,
    evaluation: Annotated[
        list[str] | None,
        READ_NAMED,
        typer.Option(metavar="[NAME=]FILE", help="Output of unnaive evaluate --json, shown on the model card."),
    ] = None,
    measure_on: Annotated[
        list[str] | None,
        READ_NAMED,
        typer.Option(metavar="[NAME=]FILE", help="Labelled documents to evaluate each version of the model on."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse teaching; write no files.")] = False,
    grow: Annotated[
        bool, typer.Option("--grow", help="Let annotations of Label Studio add classes that a model does not have.")
    ] = False,
    workers: Annotated[
        int, typer.Option(help="Number of processes; with more than one, models are read-only.", min=1, max=256)
    ] = 1,
    max_body: Annotated[int, typer.Option(metavar="MIB", help="Maximum size of a request in MiB.", min=1)] = 10,
    max_batch: Annotated[int, typer.Option(metavar="N", help="Maximum number of texts in a request.", min=1)] = 10_000,
    max_text: Annotated[
        int, typer.Option(metavar="N", help="Maximum number of characters in a text.", min=1)
    ] = 2_000_000,
    max_requests: Annotated[
        int, typer.Option(metavar="N", help="Maximum number of requests at the same time.", min=1)
    ] = 256,
    max_client_requests: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Maximum requests at the same time from one address; by default three quarters of --max-requests.",
            min=1,
        ),
    ] = None,
    max_rate: Annotated[
        float, typer.Option(metavar="N", help="Maximum requests per second of one client; 0 means no limit.", min=0)
    ] = 0.0,
    max_streams: Annotated[
        int, typer.Option(metavar="N", help="Maximum number of streams at the same time.", min=1)
    ] = 64,
    max_connections: Annotated[
        int, typer.Option(metavar="N", help="Maximum number of connections at the same time.", min=16)
    ] = 4096,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="Maximum seconds to wait for a whole request, or for the next line of a stream.",
            min=0.1,
        ),
    ] = 30.0,
    write_every: Annotated[
        float, typer.Option(metavar="SECONDS", help="Seconds between two writes of a changed model file.", min=0.1)
    ] = 30.0,
    log: Annotated[
        bool, typer.Option("--log", help="Print a line for each request on stderr, without its text.")
    ] = False,
) -> None:
    """Serve models: a web page for people, a REST interface for programs.

    The command prints the address of the page; /openapi.json describes the REST interface. Taught documents are written
    to MODEL.record before they are confirmed.

    unnaive serve tickets/tickets.model
    """
    import secrets

    try:
        from unnaive.apps.common.web.limits import Limits
        from unnaive.apps.common.web.running import fit_limits, run_app
        from unnaive.apps.common.web.sessions import read_local_secret
        from unnaive.apps.service.app import OPTIONS, ServiceOptions, create_app
    except ImportError as problem:
        raise missing_extra(problem.name or "fastapi", "serve") from problem
    local = host in LOOPBACK
    token_given = read_token(token_file)
    if not local and token_given is None:
        raise UnnaiveError(f"{host} can be reached from outside, so a token is needed; give --token-file or ${TOKEN}")
    token = token_given or secrets.token_urlsafe(24)
    paths = named_models(models)
    check_permissions(paths.values(), teachable=not read_only and workers == 1)
    limits = Limits(
        body=max_body << 20, batch=max_batch, text=max_text, seconds=timeout, requests=max_requests,
        connections=max_connections, streams=max_streams, client_requests=max_client_requests, rate=max_rate,
    )  # fmt: skip
    secret = (
        token if token_given else read_local_secret("serve", *(str(Path(path).resolve()) for path in paths.values()))
    )
    options = ServiceOptions(
        models=paths, evaluations=named_evaluations(evaluation or [], list(paths)), token=token, token_always=not local,
        session_secret=secret,
        hosts=(*(LOOPBACK if local else ()), *(name.lower() for name in allow_host or ())),
        measure_on=named_evaluations(measure_on or [], list(paths)),
        origins=tuple(allow_origin or ()), limits=fit_limits(limits),
        read_only=read_only or workers > 1, grow=grow, write_seconds=write_every,
    )  # fmt: skip
    _set_logging(log)
    if workers > 1:
        check_served_models(options)
        os.environ[OPTIONS] = options.to_json()
        note(f"with {workers} workers the models are read-only; teaching needs --workers 1")
        app: Any = "unnaive.apps.service.app:app_of_worker"
    else:
        app = create_app(options)
    run_app(app, host, port, lambda port: _say_where(options, host, port, token_given is None), workers=workers)
    note("stopped")


def named_models(words: list[str]) -> dict[str, str]:
    """Names and files of the models; the default name of a model is its file name.

    >>> named_models(["tickets.model", "mail=spam.model"])
    {'tickets': 'tickets.model', 'mail': 'spam.model'}
    """
    paths: dict[str, str] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or Path(word).exists():
            name, path = Path(word).name.removesuffix(".model"), word
        if not name or "/" in name:
            raise BadData(f"{word!r} is not NAME=MODEL; give a name without a slash before the =")
        if name in paths:
            raise BadData(f"two models are called {name!r}; name them: first={paths[name]} second={path}")
        paths[name] = path
    return paths


def check_permissions(paths: Iterable[str], *, teachable: bool) -> None:
    """Refuse models that this user cannot read, or teach: a record and the new model file are written beside them."""
    for path in map(Path, paths):
        folder = path.absolute().parent
        if path.exists() and not os.access(path, os.R_OK):
            raise UnnaiveError(f"{_whose(path)} cannot be read by user {user_id()}; {_ways_out(path)}")
        if teachable and folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            raise UnnaiveError(
                f"{_whose(folder)} cannot be written by user {user_id()}, so nothing could be taught; start with "
                f"--read-only, {_ways_out(folder)}"
            )


def _whose(path: Path) -> str:
    return f"{path} belongs to user {path.stat().st_uid} and"


def _ways_out(path: Path) -> str:
    owner = path.stat()
    return (
        f"run as its owner (in a container: --user {owner.st_uid}:{owner.st_gid}), or give it to this user "
        f"(chown -R {user_id()} {path})"
    )


def named_evaluations(words: list[str], names: list[str]) -> dict[str, str]:
    """Files of evaluations, or to evaluate on, by model; a file without a name belongs to the first model."""
    files: dict[str, str] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or Path(word).exists():
            name, path = names[0], word
        files[choose(names, name, "model")] = path
    return files


def read_token(path: Path | None) -> str | None:
    """The token in a file or in the environment; None if there is neither."""
    if path is not None:
        from unnaive.base.open_files import check_exists

        token, source = check_exists(path).read_text(encoding="utf-8").strip(), str(path)
    else:
        token, source = os.environ.get(TOKEN, "").strip(), f"${TOKEN}"
        if not token:
            return None
    if len(token) < SHORTEST_TOKEN or not token.isascii():
        raise UnnaiveError(
            f"the token of {source} has {len(token)} characters; give at least {SHORTEST_TOKEN} ASCII characters, for "
            "instance those of: openssl rand -hex 32"
        )
    return token


def check_served_models(options: ServiceOptions) -> None:
    """Load each model once, so that a bad file is found before workers start."""
    from unnaive.classifier.model_file import load_model

    for path in options.models.values():
        load_model(path)


def _say_where(options: ServiceOptions, host: str, port: int, made_token: bool) -> None:
    from unnaive.apps.common.web.running import address

    secret = options.token if made_token and not options.read_only else None
    echo(f"serving {', '.join(options.models)} at {address(host, port, secret)}")
    if secret:
        note("the address has the token in it that teaching needs; Ctrl-C stops the service")


def _set_logging(log: bool) -> None:
    import logging

    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger("unnaive.service").setLevel(logging.INFO if log else logging.WARNING)
