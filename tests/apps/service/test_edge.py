"""Limits of connections over real sockets: headers, silence, streams, numbers, and clients that do not read."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from unnaive.apps.common.web.http_connections import NOT_HTTP
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.running import SERVER
from unnaive.apps.service.app import create_app

from .conftest import options

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all

HOST = b"Host: 127.0.0.1\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
BODY = b'{"text": "my invoice was charged twice"}'
CLASSIFY = b"POST /v1/classify HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
CHUNKED = b"POST /v1/classify HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
STREAM = b"POST /v1/classify/stream HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"


TIMES = (0.5, 4.0, 30.0)  # seconds that clients of a server have: a busy machine may need the longer ones


class Service:
    """A server in a thread of this process; `seconds` is the time that it gives its clients."""

    def __init__(self, server: uvicorn.Server, port: int, seconds: float) -> None:
        self.server, self.port, self.seconds = server, port, seconds

    def connect(self, *, buffer: int = 0) -> socket.socket:
        client = socket.socket()
        if buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.settimeout(300)
        client.connect(("127.0.0.1", self.port))
        return client

    def wait_until_read(self, client: socket.socket, size: int) -> None:
        """Until the server has read the first bytes of a client, or closed its connection."""
        for _ in range(1000):
            connections = [one for one in self.server.server_state.connections if one.client == client.getsockname()]
            if any(one._size == size for one in connections):
                return
            time.sleep(0.01)

    def ask(self, data: bytes) -> tuple[int, dict[str, object]]:
        """Send something by a connection of its own, and read until the service closes it."""
        with self.connect() as client:
            client.sendall(data)
            return answer_in(read_all(client))


def read_all(client: socket.socket) -> bytes:
    """All that comes until the connection ends."""
    found = b""
    try:
        while part := client.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass  # what was sent after the answer was not read
    return found


def read_one(client: socket.socket) -> tuple[int, dict[str, object]]:
    """One answer with a length."""
    found = b""
    while b"\r\n\r\n" not in found:
        part = client.recv(1 << 16)
        if not part:
            raise ConnectionError(f"the connection ended after {found!r}")
        found += part
    head, _, body = found.partition(b"\r\n\r\n")
    length = next(int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"content-length: "))
    while len(body) < length:
        body += client.recv(1 << 16)
    return answer_in(head + b"\r\n\r\n" + body)


def answer_in(data: bytes) -> tuple[int, dict[str, object]]:
    """The status and the JSON of an answer."""
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)


@contextmanager
def serving(path: Path, **limits: float) -> Iterator[Service]:
    """A server with some limits."""
    app = create_app(options(path, read_only=True, hosts=("127.0.0.1",), limits=Limits(**limits)))  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, **{**SERVER, "timeout_graceful_shutdown": 1}))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield Service(server, listening.getsockname()[1], limits["seconds"])
        finally:
            server.should_exit = True
            thread.join(300)


class Services:
    """Servers with small headers, started when first asked for."""

    def __init__(self, path: Path, running: ExitStack) -> None:
        self.path, self.running = path, running
        self.found: dict[float, Service] = {}

    def giving(self, seconds: float) -> Service:
        """The one that gives its clients so much time."""
        if seconds not in self.found:
            limits = {"header": 2000, "streams": 4, "connections": 200}
            self.found[seconds] = self.running.enter_context(serving(self.path, seconds=seconds, **limits))
        return self.found[seconds]


@pytest.fixture(scope="module")
def service(trained: Path) -> Iterator[Services]:
    with ExitStack() as running:
        yield Services(trained, running)


def in_time(test: Callable[..., None]) -> Callable[..., None]:
    """A test of a `service`: where the machine is too busy to keep its short times, with longer ones."""

    @wraps(test)
    def run(*, service: Services, **others: Any) -> None:
        for seconds in TIMES[:-1]:
            try:
                return test(service=service.giving(seconds), **others)
            except (AssertionError, OSError, IndexError):
                continue
        return test(service=service.giving(TIMES[-1]), **others)

    return run


@in_time
def test_half_a_header_gets_408_and_silence_is_closed(service: Service) -> None:
    status, said = service.ask(b"GET /healthz HTTP/1.1\r\nHo")
    assert status == 408
    assert f"did not arrive within {service.seconds:g} seconds" in str(said["error"])
    with service.connect() as client:
        assert read_all(client) == b""


@in_time
def test_idle_connections_are_closed_and_the_next_header_has_its_time(service: Service) -> None:
    with service.connect() as client:
        client.sendall(HEALTH)
        assert read_one(client)[0] == 200
        client.sendall(b"GET /heal")
        assert answer_in(read_all(client))[0] == 408
    with service.connect() as client:
        client.sendall(HEALTH)
        assert read_one(client)[0] == 200
        assert read_all(client) == b""


@pytest.mark.parametrize(
    "data",
    [
        b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 3000,  # does not end
        b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 3000 + b"\r\n\r\n",  # ends in the same packet
        b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: x\r\n" * 500,  # many fields
        b"GET /" + b"x" * 3000,  # a path without end
        b"\r\n" * 2000,  # not even a method
        CHUNKED + b"0\r\nX: " + b"x" * 3000,  # behind the body
    ],
    ids=["endless", "long", "many", "path", "lines", "trailer"],
)
@in_time
def test_large_headers_get_431(service: Service, data: bytes) -> None:
    with service.connect() as client:
        client.sendall(data[: len(CHUNKED)])
        service.wait_until_read(client, len(CHUNKED))  # and not with the rest
        client.sendall(data[len(CHUNKED) :])
        status, said = answer_in(read_all(client))
    assert status == 431
    assert "larger than 2,000 bytes" in str(said["error"])


@in_time
def test_headers_below_the_limit_and_large_bodies_pass(service: Service) -> None:
    head = b"POST /v1/classify HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 1500 + b"\r\n"
    body = json.dumps({"text": "invoice " * 5000}).encode()
    with service.connect() as client:
        client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert read_one(client)[0] == 200


@in_time
def test_what_is_not_http_gets_a_sentence(service: Service) -> None:
    status, said = service.ask(b"\x16\x03\x01 this is TLS\r\n\r\n")
    assert status == 400
    assert "not HTTP" in str(said["error"])


@pytest.mark.parametrize(
    "line",
    [b"CONNECT a.example:443", b"GET http://[", b"GET http://127.0.0.1", b"GET /\xff"],
    ids=["connect", "bracket", "no path", "bytes"],
)
@in_time
def test_targets_without_a_path_are_refused_in_silence(
    service: Service, line: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    status, said = service.ask(line + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    assert status == 400
    assert said == {"error": NOT_HTTP}
    assert caplog.text == ""


@in_time
def test_a_request_before_the_answer_to_the_previous_one_is_not_read(service: Service) -> None:
    """A thousand requests in a packet: the first is answered, and the connection ends."""
    with service.connect() as client:
        client.sendall(CLASSIFY + HEALTH * 1000)
        answers = read_all(client)
    assert answers.count(b"HTTP/1.1 ") == 1
    assert b"connection: close\r\n" in answers
    assert answer_in(answers)[1]["model"] == "tickets"
    with service.connect() as client:  # one after the other, by one connection
        for _ in range(3):
            client.sendall(CLASSIFY)
            assert read_one(client)[0] == 200


@in_time
def test_double_hosts_are_refused(service: Service) -> None:
    for second in (HOST, b"Host: evil.example\r\n"):
        with service.connect() as client:
            client.sendall(b"GET /v1/models HTTP/1.1\r\n" + HOST + second + b"\r\n")
            status, said = read_one(client)
        assert status == 400
        assert "host was sent 2 times" in str(said["error"])


@in_time
def test_idle_streams_end_and_do_not_take_the_place_of_requests(service: Service) -> None:
    """Three of four streams are for one address; the fourth is told so, requests are answered all the same."""
    with ExitStack() as clients:
        idle = [clients.enter_context(service.connect()) for _ in range(3)]
        for one in idle:
            one.sendall(STREAM)
            assert one.recv(12) == b"HTTP/1.1 200"
        with service.connect() as client:
            client.sendall(STREAM)
            status, said = read_one(client)
        assert status == 429
        assert "3 streams of this client" in str(said["error"])
        with service.connect() as client:
            client.sendall(CLASSIFY)
            assert read_one(client)[0] == 200
        for one in idle:
            assert f"no line of the stream came within {service.seconds:g} seconds".encode() in read_all(one)
    with service.connect() as client:  # there is room again
        client.sendall(STREAM)
        assert client.recv(12) == b"HTTP/1.1 200"


@in_time
def test_a_stream_that_sends_bytes_but_no_lines_ends(service: Service) -> None:
    with service.connect() as client:
        client.sendall(STREAM)
        client.settimeout(0.05)
        found = b""
        for _ in range(6000):
            try:
                client.sendall(b"1\r\nx\r\n")
                found += client.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError:
                break
            if b"no line of the stream" in found:
                break
        assert b"no line of the stream" in found


def test_without_room_the_connections_that_waited_longest_are_closed(trained: Path) -> None:
    """Sixty silent connections where sixteen fit: one that had an answer is kept, and new ones are answered."""
    with serving(trained, seconds=30, connections=16) as service, ExitStack() as clients:
        honest = clients.enter_context(service.connect())
        honest.sendall(CLASSIFY)
        assert read_one(honest)[0] == 200
        silent = []
        for _ in range(60):
            silent.append(clients.enter_context(service.connect()))
            silent[-1].sendall(b"GET /")
        assert service.ask(HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))[1] == {"status": "ok"}
        assert answer_in(read_all(silent[0]))[0] == 408
        assert len(service.server.server_state.connections) <= 17
        honest.sendall(CLASSIFY)
        assert read_one(honest)[0] == 200


@pytest.mark.slow
def test_a_client_that_does_not_read_its_answer_is_closed(trained: Path) -> None:
    """Megabytes of an answer stand in the way until the time is up."""
    body = json.dumps({"texts": ["invoice"] * 10_000, "top_k": None}).encode()
    with serving(trained, seconds=1.0) as service, service.connect(buffer=4096) as client:
        client.sendall(b"POST /v1/classify HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        for _ in range(6000):
            time.sleep(0.05)
            if service.server.server_state.total_requests and not service.server.server_state.connections:
                break
        assert not service.server.server_state.connections


def test_few_files_mean_fewer_connections() -> None:
    few = Limits().fit_to(128, 8)
    assert (few.connections, few.requests, few.streams) == (40, 20, 10)
    assert Limits().fit_to(20_000, 32) == Limits()
