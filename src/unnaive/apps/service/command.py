"""`unnaive serve`: models for programs (REST) and for people (a page)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.path_options import CHANGED_MODELS, READ, READ_NAMED
from unnaive.apps.common.screen import echo, note
from unnaive.apps.common.web.tokens import VARIABLE, read_plain_token, read_tokens, token_of_environment
from unnaive.base.errors import BadData, UnnaiveError, choose
from unnaive.base.extras import missing_extra
from unnaive.base.system import user_id

if TYPE_CHECKING:
    from unnaive.apps.common.web.running import ListenOptions
    from unnaive.apps.service.app import ServiceOptions

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(
    models: Annotated[
        list[str],
        CHANGED_MODELS,
        typer.Argument(metavar="MODEL [NAME=MODEL]…", help="Model files; the first is the default."),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on, or unix:PATH for a Unix socket.", metavar="ADDRESS")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free port.", min=0, max=65535)] = 8000,
    token_file: Annotated[
        Path | None,
        READ,
        typer.Option(
            metavar="FILE",
            help="File with the token for teaching and access from outside, or hashed tokens and scopes; by default "
            f"${VARIABLE}.",
        ),
    ] = None,
    certfile: Annotated[
        Path | None, READ, typer.Option(metavar="FILE", help="Certificate for HTTPS (PEM), with those of its issuers.")
    ] = None,
    keyfile: Annotated[
        Path | None, READ, typer.Option(metavar="FILE", help="Private key of --certfile, unless that has it.")
    ] = None,
    socket_mode: Annotated[
        str, typer.Option(metavar="OCTAL", help="Permissions of the Unix socket, e.g. 660 for its group too.")
    ] = "600",
    root_path: Annotated[
        str, typer.Option(metavar="PATH", help="Path below which a reverse proxy serves this, e.g. /tickets.")
    ] = "",
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="Proxy whose X-Forwarded-For is believed: an address, a network, or unix; may be repeated.",
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
    new_classes: Annotated[
        bool,
        typer.Option("--new-classes", help="Let annotations of Label Studio add classes that a model does not have."),
    ] = False,
    workers: Annotated[
        int, typer.Option(help="Number of processes; with more than one, models are read-only.", min=1, max=256)
    ] = 1,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Limit for clients, e.g. max_body=20MB, max_requests=512 or timeout=60; may be repeated.",
        ),
    ] = None,
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

    unnaive serve demo/tickets.model
    """
    import secrets

    try:
        from unnaive.apps.common.web.cors import check_allowed_origin
        from unnaive.apps.common.web.limits import Limits
        from unnaive.apps.common.web.proxies import Proxies
        from unnaive.apps.common.web.running import ListenOptions, fit_limits, run_app
        from unnaive.apps.common.web.sessions import read_local_secret
        from unnaive.apps.service.app import OPTIONS, ServiceOptions, create_app
    except ImportError as problem:
        raise missing_extra(problem.name or "fastapi", "serve") from problem
    place = ListenOptions(host, port, certfile, keyfile, read_mode(socket_mode))
    place.check_certificate()
    proxies, origins = tuple(trusted_proxy or ()), tuple(map(check_allowed_origin, allow_origin or ()))
    Proxies.of(proxies)
    local = host in LOOPBACK and not proxies  # behind a proxy, everybody comes from its address
    token_given = token_of_environment() if token_file is None else read_plain_token(token_file)
    if not local and token_given is None and token_file is None:
        reached = f"{host} can be reached from outside" if host not in LOOPBACK else "a proxy lets others reach this"
        raise UnnaiveError(f"{reached}, so a token is needed; give --token-file or ${VARIABLE}")
    made = token_given is None and token_file is None
    if token_file is not None:
        read_tokens(token_file)  # so that a mistake is found before workers start
    token = secrets.token_urlsafe(24) if made else (token_given or "")
    paths = named_models(models)
    check_permissions(paths.values(), teachable=not read_only and workers == 1)
    secret = (
        token if token_given else read_local_secret("serve", *(str(Path(path).resolve()) for path in paths.values()))
    )
    options = ServiceOptions(
        models=paths, evaluations=named_evaluations(evaluation or [], list(paths)), token_always=not local,
        token="" if token_file else token, token_file=None if token_file is None else str(token_file),
        session_secret=secret,
        hosts=(*(LOOPBACK if host in LOOPBACK else ()), *(name.lower() for name in allow_host or ())),
        proxies=proxies, root_path=read_root_path(root_path),
        measure_on=named_evaluations(measure_on or [], list(paths)),
        origins=origins, limits=fit_limits(Limits.of(settings or ())),
        read_only=read_only or workers > 1, new_classes=new_classes, write_seconds=write_every,
    )  # fmt: skip
    _set_logging(log)
    if workers > 1:
        check_served_models(options)
        os.environ[OPTIONS] = options.to_json()
        note(f"with {workers} workers the models are read-only; teaching needs --workers 1")
        app: Any = "unnaive.apps.service.app:app_of_worker"
    else:
        app = create_app(options)
    run_app(app, place, lambda port: _say_where(options, place, port, made), workers=workers)
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


def check_served_models(options: ServiceOptions) -> None:
    """Load each model once, so that a bad file is found before workers start."""
    from unnaive.classifier.model_file import load_model

    for path in options.models.values():
        load_model(path)


def read_mode(words: str) -> int:
    """The permissions of a file from octal digits.

    >>> oct(read_mode("660"))
    '0o660'
    """
    if not re.fullmatch("0?[0-7]{3}", words):
        raise BadData(f"--socket-mode {words} is not three octal digits; give such as 600 or 660")
    return int(words, 8)


def read_root_path(words: str) -> str:
    """The path before all others, without a slash at its end.

    >>> read_root_path("/tickets/"), read_root_path("/")
    ('/tickets', '')
    """
    path = words.rstrip("/")
    if path and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", path):
        raise BadData(f"--root-path {words} is not a path; give such as /tickets")
    return path


def _say_where(options: ServiceOptions, place: ListenOptions, port: int, made_token: bool) -> None:
    secret = options.token if made_token and not options.read_only else None
    echo(f"serving {', '.join(options.models)} at {place.address(port, secret)}")
    if secret:
        note("the address has the token in it that teaching needs; Ctrl-C stops the service")


def _set_logging(log: bool) -> None:
    import logging

    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger("unnaive.service").setLevel(logging.INFO if log else logging.WARNING)
