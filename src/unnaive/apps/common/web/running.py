"""Run an application until Ctrl-C, at a port or a Unix socket, with or without TLS, and announce its address."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
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
    "proxy_headers": False,  # the guard reads them, of proxies that are named
    "backlog": 16_384,  # connections waiting to be accepted; the system has its own limit
    "timeout_graceful_shutdown": 10,  # seconds for requests to finish when the service stops
}
WORKER_SECONDS = {"timeout_worker_healthcheck": 60}  # a worker that is starting or starved may answer late
ACCEPTED_AT_ONCE = 32  # new connections accepted at once; fewer if there are few descriptors
UNIX = "unix:"  # before the path of a Unix socket, in the place of a host


@dataclass(frozen=True)
class ListenOptions:
    """Where an application listens.

    host         an address, a name, or `unix:` and the path of a socket
    certfile     certificates of the server, PEM; its private key is in `keyfile`, or in the same file
    socket_mode  who may connect to a Unix socket, as permissions of a file
    """

    host: str
    port: int = 0
    certfile: Path | None = None
    keyfile: Path | None = None
    socket_mode: int = 0o600

    @property
    def socket_path(self) -> Path | None:
        """The path of the Unix socket; None for a port."""
        return Path(self.host.removeprefix(UNIX)) if self.host.startswith(UNIX) else None

    def address(self, port: int, token: str | None = None) -> str:
        """The address of the page; a token goes after the #, which browsers do not send.

        >>> ListenOptions("::1").address(8000), ListenOptions("local", certfile=Path("c.pem")).address(8000, "secret")
        ('http://[::1]:8000/', 'https://local:8000/#token=secret')
        """
        if self.socket_path is not None:
            return self.host
        name = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "http" if self.certfile is None else "https"
        return f"{scheme}://{name}:{port}/" + (f"#token={token}" if token else "")

    def check_certificate(self) -> None:
        """Raise an error if the certificate and the key cannot be read, or do not belong together."""
        if self.certfile is None:
            if self.keyfile is not None:
                raise UnnaiveError(f"--keyfile {self.keyfile} needs the certificate that belongs to it; add --certfile")
            return
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certfile, self.keyfile, password=_no_password)
        except (OSError, ValueError) as problem:  # ssl.SSLError is an OSError
            key = "" if self.keyfile is None else f" with the key {self.keyfile}"
            raise UnnaiveError(
                f"the certificate {self.certfile}{key} cannot be used ({problem}); give PEM files that belong together"
            ) from problem


def _no_password() -> str:
    raise UnnaiveError("the private key is encrypted; decrypt it with: openssl pkey -in KEY -out DECRYPTED")


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


def run_app(app: Any, place: ListenOptions, announce: Callable[[int], None], *, workers: int = 1) -> None:
    """Serve the application; `announce` is called with the port once it is open, which matters if `port` is 0.

    With several workers, `app` is "module:function", the name of a function without arguments that builds the
    application.
    """
    place.check_certificate()
    patience = {name: value for name, value in WORKER_SECONDS.items() if name in signature(uvicorn.Config).parameters}
    config = uvicorn.Config(
        app, factory=isinstance(app, str), host=place.host, port=place.port, workers=workers,
        ssl_certfile=place.certfile, ssl_keyfile=place.keyfile,
        **(SERVER | patience),  # not in older versions of uvicorn
    )  # fmt: skip
    with _bound(config, place) as listening:
        listening.listen(SERVER["backlog"])  # connections made before the first iteration of the event loop wait
        # the event loop accepts one connection per descriptor and iteration, and iterations are long under load
        sockets = [listening] + [listening.dup() for _ in range(count_listening(count_descriptors()) - 1)]
        announce(0 if place.socket_path is not None else listening.getsockname()[1])
        _serve(app, config, place, sockets)


def _serve(app: Any, config: uvicorn.Config, place: ListenOptions, sockets: list[socket.socket]) -> None:
    server = uvicorn.Server(config)
    if config.workers > 1:  # on SIGHUP, workers are replaced one by one: the new ones read every file again
        supervise: Any = Multiprocess
        # required by older versions of uvicorn
        older = {"target": server.run} if "target" in signature(supervise).parameters else {}
        supervise(config, sockets=sockets, **older).run()
        return
    if place.certfile is not None:
        config.load()
        app.reloads.append(lambda: reload_certificate(config, place))
    with suppress(KeyboardInterrupt):  # uvicorn raises it again after a graceful shutdown
        server.run(sockets=sockets)


def reload_certificate(config: uvicorn.Config, place: ListenOptions) -> None:
    """Read the certificate again for further connections; if it cannot be used, the one before stays."""
    place.check_certificate()
    if config.ssl is not None and place.certfile is not None:
        config.ssl.load_cert_chain(place.certfile, place.keyfile)


@contextmanager
def _bound(config: uvicorn.Config, place: ListenOptions) -> Iterator[socket.socket]:
    """The socket at the place; a Unix socket is removed at the end."""
    path = place.socket_path
    if path is None:
        try:
            yield config.bind_socket()
        except SystemExit as problem:  # uvicorn exits if the port cannot be opened
            raise UnnaiveError(
                f"port {place.port} of {place.host} cannot be opened; choose another with --port"
            ) from problem
        return
    listening = bind_unix_socket(path, place.socket_mode)
    # uvicorn raises the signal again after a graceful shutdown; by default it would end the process here
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        yield listening
    finally:
        path.unlink(missing_ok=True)


def bind_unix_socket(path: Path, mode: int) -> socket.socket:
    """Open a Unix socket with permissions; one that nobody listens to any more is replaced."""
    if not hasattr(socket, "AF_UNIX"):
        raise UnnaiveError("this system has no Unix sockets; give --host an address")
    listening = socket.socket(socket.AF_UNIX)
    try:
        if path.exists():
            _check_abandoned(path)
            path.unlink()
        listening.bind(str(path))  # nobody can connect before `listen`
        path.chmod(mode)
    except OSError as problem:
        listening.close()
        raise UnnaiveError(f"the Unix socket {path} cannot be opened ({problem.strerror}); name another") from problem
    except UnnaiveError:
        listening.close()
        raise
    os.set_inheritable(listening.fileno(), True)
    return listening


def _check_abandoned(path: Path) -> None:
    if not stat.S_ISSOCK(path.stat().st_mode):
        raise UnnaiveError(f"{path} exists and is not a socket; name another with --host {UNIX}PATH")
    with socket.socket(socket.AF_UNIX) as client, suppress(ConnectionRefusedError):
        client.connect(str(path))
        raise UnnaiveError(f"another program listens at {path}; stop it, or name another with --host {UNIX}PATH")
