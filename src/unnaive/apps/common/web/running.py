"""Run an application until Ctrl-C, and announce its address."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from inspect import signature
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from unnaive.apps.common.web.http_connections import EdgeProtocol
from unnaive.apps.common.web.limits import Limits
from unnaive.base.errors import UnnaiveError
from unnaive.base.system import count_descriptors

SERVER: dict[str, Any] = {
    "log_level": "warning",
    "access_log": False,  # the guard logs requests without their texts
    "server_header": False,
    "http": EdgeProtocol,
    "ws": "none",
    "proxy_headers": False,  # the client's address is never taken from proxy headers
    "backlog": 16_384,  # connections waiting to be accepted; the system has its own limit
    "timeout_graceful_shutdown": 10,  # seconds for requests to finish when the service stops
}
WORKER_SECONDS = {"timeout_worker_healthcheck": 60}  # a worker that is starting or starved may answer late
ACCEPTED_AT_ONCE = 32  # new connections accepted at once; fewer if there are few descriptors


def count_listening(descriptors: int) -> int:
    """The number of descriptors that accept connections.

    >>> count_listening(1024), count_listening(300)
    (32, 18)
    """
    return max(1, min(ACCEPTED_AT_ONCE, descriptors // 16))


def fit_limits(limits: Limits) -> Limits:
    """Reduce the limits if the system allows few open files: running out would drop every connection."""
    descriptors = count_descriptors()
    return limits.fit_to(descriptors, count_listening(descriptors))


def address(host: str, port: int, token: str | None = None) -> str:
    """The address of the page; a token goes after the #, which browsers do not send.

    >>> address("::1", 8000), address("localhost", 8000, "secret")
    ('http://[::1]:8000/', 'http://localhost:8000/#token=secret')
    """
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"#token={token}" if token else "")


def run_app(app: Any, host: str, port: int, announce: Callable[[int], None], *, workers: int = 1) -> None:
    """Serve the application; `announce` is called with the port once it is open, which matters if `port` is 0.

    With several workers, `app` is "module:function", the name of a function without arguments that builds the
    application.
    """
    patience = {name: value for name, value in WORKER_SECONDS.items() if name in signature(uvicorn.Config).parameters}
    options = SERVER | patience  # not in older versions of uvicorn
    config = uvicorn.Config(app, factory=isinstance(app, str), host=host, port=port, workers=workers, **options)
    try:
        sockets = [config.bind_socket()]
    except SystemExit as problem:  # uvicorn exits if the port cannot be opened
        raise UnnaiveError(f"port {port} of {host} cannot be opened; choose another with --port") from problem
    sockets[0].listen(SERVER["backlog"])  # connections made before the first iteration of the event loop wait
    # the event loop accepts one connection per descriptor and iteration, and iterations are long under load
    sockets += [sockets[0].dup() for _ in range(count_listening(count_descriptors()) - 1)]
    announce(sockets[0].getsockname()[1])
    server = uvicorn.Server(config)
    if workers > 1:
        supervise: Any = Multiprocess
        # required by older versions of uvicorn
        older = {"target": server.run} if "target" in signature(supervise).parameters else {}
        supervise(config, sockets=sockets, **older).run()
        return
    with suppress(KeyboardInterrupt):  # uvicorn raises it again after a graceful shutdown
        server.run(sockets=sockets)
