"""Running an application until Ctrl-C, and saying where it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn

from unnaive.errors import UnnaiveError

PATIENCE = 10  # seconds that requests get to end when the service stops


def address(host: str, port: int, token: str | None = None) -> str:
    """Where the page is; a token goes behind the #, which browsers do not send.

    >>> address("::1", 8000), address("localhost", 8000, "secret")
    ('http://[::1]:8000/', 'http://localhost:8000/#token=secret')
    """
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"#token={token}" if token else "")


def run_app(app: Any, host: str, port: int, announce: Callable[[int], None]) -> None:
    """Serve the application; `announce` is called with the port when it is open, which matters where `port` is 0."""
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=PATIENCE, ws="none", proxy_headers=False,
    )  # fmt: skip
    try:
        sockets = [config.bind_socket()]
    except SystemExit as problem:  # how uvicorn ends where a port cannot be opened
        raise UnnaiveError(f"port {port} of {host} cannot be opened; choose another with --port") from problem
    announce(sockets[0].getsockname()[1])
    with suppress(KeyboardInterrupt):  # which uvicorn raises again when what was accepted is done
        uvicorn.Server(config).run(sockets=sockets)
