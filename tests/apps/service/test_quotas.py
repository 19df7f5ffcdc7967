"""What one client may take, and what wrong tokens cost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from unnaive.apps.common.web import access, too_many_requests
from unnaive.apps.common.web.access import WrongTokens
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.common.web.tokens import Token
from unnaive.apps.common.web.too_many_requests import SWEEP, Quotas
from unnaive.apps.service.app import create_app

from .conftest import WITH_TOKEN, options


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def test_the_token_is_a_client_of_its_own() -> None:
    """An address may have three of four requests, and the token all four."""
    known = Quotas(Limits(requests=4))
    address, token = known.of("10.0.0.1"), known.of(Token.of("a token"))
    assert token is known.of(Token.of("a token"))
    assert token is not known.of(Token.of("another token"))
    assert address is not known.of("10.0.0.2")
    address.requests = token.requests = 3
    assert known.is_full(address, False)
    assert not known.is_full(token, True)
    token.requests = 4
    assert known.is_full(token, True)


def test_streams_of_a_client_and_of_all() -> None:
    known = Quotas(Limits(streams=4))
    use = known.of("10.0.0.1")
    use.streams = 2
    known.check_streams(use, False, 3)
    with pytest.raises(Refused, match="4 streams are already open") as busy:
        known.check_streams(use, False, 4)
    use.streams = 3
    with pytest.raises(Refused, match="3 streams of this client") as many:
        known.check_streams(use, False, 3)
    assert (busy.value.status, many.value.status) == (503, 429)


def test_a_rate_is_a_bucket_that_fills_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(too_many_requests, "time", clock)
    known = Quotas(Limits(rate=2.0))
    use = known.of("10.0.0.1")
    known.check_rate(use)
    known.check_rate(use)
    with pytest.raises(Refused, match="at most 2 requests a second"):
        known.check_rate(use)
    clock.now += 0.5
    known.check_rate(use)
    with pytest.raises(Refused):
        known.check_rate(use)
    known.check_rate(known.of("10.0.0.2"))


def test_clients_that_left_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(too_many_requests, "time", clock)
    known = Quotas(Limits())
    busy = known.of("busy")
    busy.requests = 1
    for number in range(5 * SWEEP):
        known.of(str(number))
        clock.now += 0.1
    assert len(known._uses) <= SWEEP + 50
    assert known.of("busy") is busy


def test_a_client_that_asks_too_often_is_told_to_wait(model_file: Path) -> None:
    with TestClient(create_app(options(model_file, limits=Limits(rate=0.01)))) as client:
        assert client.get("/v1/models").status_code == 200
        answer = client.get("/v1/models")
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "1"
        assert client.get("/v1/models", headers=WITH_TOKEN).status_code == 200  # another client
        assert client.get("/healthz").status_code == 200


def test_answers_to_wrong_tokens_take_longer_and_longer(model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right token never waits, and is compared before anything else."""
    waits = []

    class Asyncio:
        @staticmethod
        async def sleep(seconds: float) -> None:
            waits.append(seconds)

    monkeypatch.setattr(access, "asyncio", Asyncio)
    path = "/v1/models/tickets/teach"
    with TestClient(create_app(options(model_file))) as client:
        for _ in range(16):
            answer = client.post(path, json={}, headers={"Authorization": "Bearer wrong"})
            assert answer.status_code == 401
        assert waits == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0]
        assert client.post(path, json={}).status_code == 401  # no token is no guess
        assert client.post(path, json={}, headers=WITH_TOKEN).status_code == 422
        assert len(waits) == 6


def test_a_wrong_token_is_refused_where_none_is_needed(model_file: Path) -> None:
    """But not by probes; a password may be that of a proxy in front, which passes it on."""
    wrong = {"Authorization": "Bearer wrong"}
    with TestClient(create_app(options(model_file))) as client:
        answer = client.get("/v1/models", headers=wrong)
        assert answer.status_code == 401
        assert answer.json() == {"error": "the token is wrong; send that of the service: Authorization: Bearer TOKEN"}
        assert client.post("/v1/classify", json={"text": "a"}, headers=wrong).status_code == 401
        assert client.get("/healthz", headers=wrong).status_code == 200
        assert client.get("/v1/models", auth=("somebody", "wrong")).status_code == 200
        assert client.get("/v1/models/tickets/versions?documents=1", auth=("somebody", "wrong")).status_code == 401


def test_few_answers_to_wrong_tokens_wait_at_once() -> None:
    """Sixteen of a thousand guesses at once are answered after a wait, the others at once; another address is free."""

    async def run() -> list[BaseException | None]:
        wrong = WrongTokens()
        for _ in range(access.FREE_MISTAKES):
            await wrong.delay("guesser")
        tasks = [asyncio.create_task(wrong.delay("guesser")) for _ in range(1000)]
        await wrong.delay("another")
        await asyncio.sleep(0)
        refused = [one.exception() for one in tasks if one.done()]
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return refused

    refused = asyncio.run(run())
    assert len(refused) == 1000 - access.WAITING
    assert all(isinstance(one, Refused) and one.status == 429 for one in refused)


def test_mistakes_are_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(access, "time", clock)
    wrong = WrongTokens()
    wrong._mistakes["guesser"] = access.Mistakes(50, clock.now)
    clock.now += access.FORGIVEN + 1
    asyncio.run(asyncio.wait_for(wrong.delay("guesser"), 300))  # at once
    assert wrong._mistakes["guesser"].number == 1
