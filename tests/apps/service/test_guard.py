"""What a request must pass: host, token, sizes, time, numbers; and what answers never carry."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from unnaive.apps.cli.main import exit_code
from unnaive.apps.common.web.access import Access
from unnaive.apps.common.web.effects import RouteEffects
from unnaive.apps.common.web.guard import Guard
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.metrics import Metrics
from unnaive.apps.common.web.tokens import Tokens
from unnaive.apps.service.app import create_app

from .conftest import TOKEN, WITH_TOKEN, options

pytestmark = pytest.mark.slow  # `make quick` stays under a minute


@pytest.mark.parametrize(
    "host", ["evil.example", "[testserver].evil.example", "[testserver]", "testserver:80:80", "testserver@evil.example"]
)
def test_other_host_names_are_refused(client: TestClient, host: str) -> None:
    answer = client.get("/v1/models", headers={"Host": host})
    assert answer.status_code == 421
    assert repr(host) in answer.json()["error"]


def test_the_names_of_loopback(model_file: Path) -> None:
    with TestClient(create_app(options(model_file, hosts=("127.0.0.1", "::1", "localhost")))) as client:
        for host in ("127.0.0.1", "127.0.0.1:8000", "[::1]:8000", "[0:0:0:0:0:0:0:1]", "LOCALHOST"):
            assert client.get("/v1/models", headers={"Host": host}).status_code == 200
        for host in ("[127.0.0.1].evil.example", "[127.0.0.1]", "[::1].evil.example", "[::1]evil", "::1"):
            assert client.get("/v1/models", headers={"Host": host}).status_code == 421


def test_headers_that_decide_about_access_may_occur_once(client: TestClient) -> None:
    for name, value in (("Host", "testserver"), ("Authorization", f"Bearer {TOKEN}"), ("Origin", "http://testserver")):
        answer = client.get("/v1/models", headers=[(name, value), (name, value)])
        assert answer.status_code == 400
        assert f"{name.lower()} was sent 2 times" in answer.json()["error"]


@pytest.mark.parametrize("path", ["teach", "forget", "rollback"])
def test_changing_needs_the_token(client: TestClient, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
        answer = client.post(f"/v1/models/tickets/{path}", json={}, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"


def test_the_token_may_be_a_password(client: TestClient) -> None:
    """As Label Studio sends it; what is no base64, or another password, is refused."""
    path, body = "/v1/models/tickets/teach", {"documents": [{"text": "a", "label": "bug"}]}
    assert client.post(path, json=body, auth=("anybody", TOKEN)).status_code == 200
    assert client.post(path, json=body, auth=("anybody", "wrong")).status_code == 401
    for given in (
        "Basic",
        "Basic ===",
        f"Basic {TOKEN}",
        "Basic YQ==",
        "Digest " + TOKEN,
        "Bearer",
        "Bearer  " + TOKEN,
    ):
        assert client.post(path, json=body, headers={"Authorization": given}).status_code == 401


def test_off_loopback_everything_needs_the_token(model_file: Path) -> None:
    with TestClient(create_app(options(model_file, token_always=True))) as client:
        assert client.post("/v1/classify", json={"text": "a"}).status_code == 401
        assert client.get("/openapi.json").status_code == 401
        assert client.post("/v1/classify", json={"text": "a"}, headers=WITH_TOKEN).status_code == 200
        assert client.get("/healthz").status_code == 200
        assert client.get("/").status_code == 200


def test_read_only(model_file: Path) -> None:
    with TestClient(create_app(options(model_file, read_only=True))) as client:
        body = {"documents": [{"text": "a", "label": "bug"}]}
        answer = client.post("/v1/models/tickets/teach", json=body, headers=WITH_TOKEN)
        assert answer.status_code == 403
    assert [path.name for path in model_file.parent.iterdir()] == ["tickets.model"]


def test_limits_of_size(model_file: Path) -> None:
    limits = Limits(body=1000, batch=2, text=100)
    with TestClient(create_app(options(model_file, limits=limits))) as client:
        for body in ({"text": "a" * 2000}, {"texts": ["a"] * 3}, {"text": "a" * 101}):
            answer = client.post("/v1/classify", json=body)
            assert answer.status_code == 413
            assert "error" in answer.json()
        parts = (b"x" * 300 for _ in range(10))  # chunked, without a length
        assert client.post("/v1/classify", content=parts).status_code == 413


def test_slow_bodies_and_too_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    async def inner(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask(guard: Guard, messages: list[dict[str, Any]], waits: asyncio.Event | None = None) -> int:
        sent = []

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop(0)
            if waits is not None:
                waits.set()
            await asyncio.sleep(60)
            return {}

        async def send(message: Any) -> None:
            sent.append(message)

        await guard({"type": "http", "path": "/v1/classify", "method": "POST", "headers": []}, receive, send)
        return int(sent[0]["status"])

    async def run() -> None:
        guard = Guard(
            inner, Access(Tokens(), hosts=frozenset()), Limits(seconds=0.5, requests=1), Metrics(), RouteEffects([])
        )
        waits = asyncio.Event()
        slow = asyncio.create_task(ask(guard, [{"type": "http.request", "body": b"a", "more_body": True}], waits))
        await waits.wait()
        assert await ask(guard, [{"type": "http.request", "body": b""}]) == 503
        assert await slow == 408
        assert await ask(guard, [{"type": "http.request", "body": b""}]) == 200
        guard = Guard(inner, Access(Tokens(), hosts=frozenset()), Limits(requests=1), Metrics(), RouteEffects([]))
        slow = asyncio.create_task(ask(guard, [{"type": "http.request", "body": b"a", "more_body": True}]))
        await asyncio.sleep(0.05)
        monkeypatch.setattr("unnaive.apps.common.web.guard.SLOW", 0.01)  # it has been arriving for long
        assert await ask(guard, [{"type": "http.request", "body": b""}]) == 200
        assert await slow == 408
        assert await ask(guard, [{"type": "http.request", "body": b""}]) == 200

    asyncio.run(run())


def test_security_headers_and_no_cors(client: TestClient) -> None:
    answer = client.get("/", headers={"Origin": "https://evil.example"})
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers


def test_pages_of_other_sites_may_not_ask(client: TestClient) -> None:
    def ask(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.post("/v1/classify", content='{"text": "a"}', headers=named).status_code

    assert ask() == ask(Origin="http://testserver") == ask(Origin="HTTP://TESTSERVER") == 200
    assert ask(Origin="https://public.example", Sec_Fetch_Site="same-origin") == 200  # behind a proxy
    for origin in ("https://evil.example", "null", "http://testserver.evil.example", "http://testserver:81"):
        assert ask(Origin=origin) == 403
        assert ask(Origin=origin, Sec_Fetch_Site="cross-site", Content_Type="text/plain") == 403
    assert client.get("/v1/models", headers={"Origin": "https://evil.example"}).status_code == 200  # not readable there


def test_named_origins_may_ask(model_file: Path) -> None:
    with TestClient(create_app(options(model_file, origins=("https://good.example",)))) as client:
        headers = {"Origin": "https://good.example", "Access-Control-Request-Method": "POST"}
        allowed = client.options("/v1/classify", headers=headers)
        assert allowed.headers["access-control-allow-origin"] == "https://good.example"
        body = {"text": "a"}
        asked = client.post("/v1/classify", json=body, headers={**headers, "Sec-Fetch-Site": "cross-site"})
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == "https://good.example"
        headers["Origin"] = "https://evil.example"
        assert client.post("/v1/classify", json=body, headers=headers).status_code == 403
        assert "access-control-allow-origin" not in client.options("/v1/classify", headers=headers).headers


def test_what_the_command_refuses(model_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = model_file.with_name("token")
    short.write_text("short")
    for arguments, words in (
        (["--host", "0.0.0.0"], "a token is needed"),
        (["--token-file", str(short)], "at least 16"),
        (["--token-file", "nosuch"], "nosuch"),
        ([str(model_file)], "two models are called"),
    ):
        assert exit_code(["serve", str(model_file), *arguments]) == 2
        assert words in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert exit_code(["serve", str(model_file), "--port", port]) == 2
        assert "choose another with --port" in capsys.readouterr().err
    assert exit_code(["serve", "nosuch.model"]) == 2
    assert "nosuch.model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (os.R_OK, "cannot be read by user"),
        (os.W_OK, "cannot be written by user"),
    ],
)
def test_a_volume_of_another_user_is_told_before_the_port_is_open(
    model_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], refused: int, words: str
) -> None:
    """As in a container whose user does not own the folder that was mounted; root may do anything, so it is feigned."""
    monkeypatch.setattr("unnaive.apps.service.command.os.access", lambda _, mode: not mode & refused)
    monkeypatch.setattr("unnaive.apps.common.web.running.run_app", lambda *_, **__: pytest.fail("the port was opened"))
    assert exit_code(["serve", str(model_file)]) == 2
    complaint = capsys.readouterr().err
    owner = model_file.stat()
    assert words in complaint
    assert f"--user {owner.st_uid}:{owner.st_gid}" in complaint
    assert f"chown -R {os.geteuid()}" in complaint
    assert ("--read-only" in complaint) == (refused == os.W_OK)
