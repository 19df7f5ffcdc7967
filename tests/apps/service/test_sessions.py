"""Sessions of a browser: a cookie in the place of the token, only for the service's own page, with an end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from unnaive.apps.common.web.sessions import LASTS, Sessions, read_local_secret
from unnaive.apps.common.web.tokens import Token
from unnaive.apps.service.app import create_app

from .conftest import TOKEN, WITH_TOKEN, options

pytestmark = pytest.mark.slow  # `make quick` stays under a minute

OWN = {"Origin": "http://testserver"}
DOCUMENT = {"documents": [{"text": "frobnicator", "label": "bug"}]}


def open_client(path: Path, **changes: Any) -> TestClient:
    return TestClient(create_app(options(path, token_always=True, read_only=True, **changes)))


@pytest.fixture
def signed_in(model_file: Path) -> TestClient:
    """A client off loopback whose cookie jar has a session."""
    client = open_client(model_file)
    assert client.post("/session", headers=WITH_TOKEN | OWN).json() == {"signed_in": True, "needed": True}
    return client


def test_the_cookie(model_file: Path) -> None:
    client = open_client(model_file)
    given = client.post("/session", headers=WITH_TOKEN | OWN).headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={LASTS}"} <= set(given.split("; "))
    assert "Secure" not in given
    assert TOKEN not in given
    proxied = client.post("/session", headers=WITH_TOKEN | {"Origin": "https://testserver"})  # behind a TLS proxy
    assert "Secure" in proxied.headers["set-cookie"].split("; ")


def test_without_the_token_there_is_no_session(model_file: Path) -> None:
    client = open_client(model_file)
    assert client.get("/session").json() == {"signed_in": False, "needed": True}
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {TOKEN}x"}):
        refused = client.post("/session", headers=headers | OWN)
        assert refused.status_code == 401
        assert "set-cookie" not in refused.headers
    foreign = client.post("/session", headers=WITH_TOKEN | {"Origin": "https://evil.example"})
    assert foreign.status_code == 403


def test_a_session_stands_for_the_token_and_ends(signed_in: TestClient) -> None:
    assert signed_in.get("/session").json()["signed_in"]
    assert signed_in.get("/v1/models").status_code == 200
    assert signed_in.post("/v1/classify", json={"text": "invoice"}, headers=OWN).status_code == 200
    assert signed_in.post("/v1/models/tickets/teach", json=DOCUMENT, headers=OWN).status_code == 403  # read-only
    kept = dict(signed_in.cookies)
    assert signed_in.delete("/session", headers=OWN).json()["signed_in"] is False
    assert not signed_in.cookies
    assert signed_in.get("/v1/models").status_code == 401
    signed_in.cookies.update(kept)  # a copy that somebody made
    assert signed_in.get("/v1/models").status_code == 401


def test_a_session_does_not_prolong_itself(signed_in: TestClient) -> None:
    assert "set-cookie" not in signed_in.post("/session", headers=OWN).headers


@pytest.mark.parametrize(
    "headers",
    [
        {},  # a form of an old browser, or a program that has got the cookie
        {"Origin": "https://evil.example"},
        {"Origin": "http://testserver:9000"},  # another port is the same site, for which SameSite does nothing
        {"Origin": "null"},
        {"Origin": "http://testserver", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_routes_that_compute_or_change_need_proof_of_the_origin(signed_in: TestClient, headers: dict[str, str]) -> None:
    """Cookies are sent by the browser whoever asks; with the token itself a program needs no such proof."""
    for method, path in [
        ("POST", "/v1/classify"),
        ("POST", "/v1/models/tickets/teach"),
        ("POST", "/v1/models/tickets/rollback"),
        ("DELETE", "/session"),
    ]:
        assert signed_in.request(method, path, json=DOCUMENT, headers=headers).status_code == 403
    assert signed_in.post("/v1/classify", json={"text": "a"}, headers=WITH_TOKEN).status_code == 200
    assert signed_in.get("/session").json()["signed_in"]


def test_pages_of_other_sites_read_nothing_by_the_cookie(signed_in: TestClient) -> None:
    for site in ("cross-site", "same-site"):
        assert signed_in.get("/v1/models", headers={"Sec-Fetch-Site": site}).status_code == 401
    for site in ("same-origin", "none"):  # none: somebody typed the address
        assert signed_in.get("/v1/models", headers={"Sec-Fetch-Site": site}).status_code == 200


def test_an_allowed_site_uses_the_token_not_the_session(model_file: Path) -> None:
    site = "https://friend.example"
    client = open_client(model_file, origins=(site,))
    client.post("/session", headers=WITH_TOKEN | OWN)
    assert client.post("/v1/classify", json={"text": "a"}, headers={"Origin": site}).status_code == 403
    answer = client.post("/v1/classify", json={"text": "a"}, headers=WITH_TOKEN | {"Origin": site})
    assert answer.status_code == 200
    assert "access-control-allow-credentials" not in answer.headers


def test_a_restart_keeps_sessions_and_another_token_ends_them(signed_in: TestClient, model_file: Path) -> None:
    for changes, status in (({}, 200), ({"token": "another-token-of-the-tests"}, 401)):
        after = open_client(model_file, **changes)
        after.cookies.update(signed_in.cookies)
        assert after.get("/v1/models").status_code == status


def test_a_session_expires() -> None:
    now = [1000.0]
    sessions = Sessions("a secret", clock=lambda: now[0])
    value = sessions.start(Token.of(TOKEN))
    now[0] += LASTS - 1
    assert sessions.knows(value)
    now[0] += 1
    assert not sessions.knows(value)
    later = f"{int(now[0]) + LASTS}{value[value.index('.') :]}"  # somebody changes the time in it
    assert not sessions.knows(later)


@pytest.mark.parametrize("value", ["", ".", "..", "a.b.c", "99999999999.x.", "é.è", "9" * 5000, "\udc80.x.y"])
def test_values_that_were_not_made_here(value: str) -> None:
    assert not Sessions("a secret").knows(value)


def test_the_local_secret_is_kept_and_differs_by_purpose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    first = read_local_secret("serve", "a.model")
    file = tmp_path / "state" / "unnaive" / "session-secret"
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_local_secret("serve", "a.model") == first
    assert read_local_secret("serve", "b.model") != first
    file.write_text("short")  # damaged: sessions end with the process
    assert read_local_secret("serve", "a.model") != read_local_secret("serve", "a.model")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert len(read_local_secret("serve")) == 64
