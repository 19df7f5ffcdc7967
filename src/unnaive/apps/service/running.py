"""Running an application until Ctrl-C, and saying where it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from inspect import signature
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from unnaive.apps.service.limits import Limits
from unnaive.apps.service.protocol import EdgeProtocol
from unnaive.base.errors import UnnaiveError
from unnaive.base.system import count_descriptors

SERVER: dict[str, Any] = {
    "log_level": "warning",
    "access_log": False,  # the guard writes lines without texts
    "server_header": False,
    "http": EdgeProtocol,
    "ws": "none",
    "proxy_headers": False,  # nothing here depends on who a proxy says is asking
    "backlog": 16_384,  # connections that wait to be accepted; the system has a limit of its own
    "timeout_graceful_shutdown": 10,  # seconds that requests get to end when the service stops
}
WORKER_SECONDS = {"timeout_worker_healthcheck": 60}  # one that starts, or has no processor, does not answer at once
ACCEPTED_AT_ONCE = 32  # new connections, or one of 16 descriptors where those are few


def count_listening(descriptors: int) -> int:
    """How many descriptors new connections come by.

    >>> count_listening(1024), count_listening(300)
    (32, 18)
    """
    return max(1, min(ACCEPTED_AT_ONCE, descriptors // 16))


def fit_limits(limits: Limits) -> Limits:
    """The limits, lower where the system allows few open files: who finds none left drops everybody."""
    descriptors = count_descriptors()
    return limits.fit_to(descriptors, count_listening(descriptors))


def address(host: str, port: int, token: str | None = None) -> str:
    """Where the page is; a token goes behind the #, which browsers do not send.

    >>> address("::1", 8000), address("localhost", 8000, "secret")
    ('http://[::1]:8000/', 'http://localhost:8000/#token=secret')
    """
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"#token={token}" if token else "")


def run_app(app: Any, host: str, port: int, announce: Callable[[int], None], *, workers: int = 1) -> None:
    """Serve the application; `announce` is called with the port when it is open, which matters where `port` is 0.

    With several workers `app` names a function without arguments that makes it, "module:function", in each of them.
    """
    patience = {name: value for name, value in WORKER_SECONDS.items() if name in signature(uvicorn.Config).parameters}
    options = SERVER | patience  # which uvicorn did not have always
    config = uvicorn.Config(app, factory=isinstance(app, str), host=host, port=port, workers=workers, **options)
    try:
        sockets = [config.bind_socket()]
    except SystemExit as problem:  # how uvicorn ends where a port cannot be opened
        raise UnnaiveError(f"port {port} of {host} cannot be opened; choose another with --port") from problem
    sockets[0].listen(SERVER["backlog"])  # who comes between the announcement and the first turn waits
    # the event loop takes one connection from each in a turn, and under load a turn is long
    sockets += [sockets[0].dup() for _ in range(count_listening(count_descriptors()) - 1)]
    announce(sockets[0].getsockname()[1])
    server = uvicorn.Server(config)
    if workers > 1:
        supervise: Any = Multiprocess
        older = {"target": server.run} if "target" in signature(supervise).parameters else {}  # uvicorn took it once
        supervise(config, sockets=sockets, **older).run()
        return
    with suppress(KeyboardInterrupt):  # which uvicorn raises again when what was accepted is done
        server.run(sockets=sockets)
