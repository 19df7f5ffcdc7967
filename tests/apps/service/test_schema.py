"""The service keeps to its own OpenAPI description, whatever it is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings

from unnaive.apps.common.web import access
from unnaive.apps.service.app import create_app

from .conftest import TOKEN, WITH_TOKEN, options


def has_records(body: Any) -> bool:
    """Whether an object stands in the place of a text."""
    if not isinstance(body, dict):
        return False
    texts = body.get("texts")
    return any(isinstance(text, dict) for text in (body.get("text"), *(texts if isinstance(texts, list) else ())))


@pytest.mark.slow
def test_no_violation(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a service that only reads, so that examples do not depend on each other."""
    monkeypatch.setattr(access, "LONGEST_WAIT", 0.0)  # drawn tokens are wrong ones, each of which would wait
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    schemathesis.serializer("application/x-ndjson")(lambda _, value: str(value).encode("utf-8", "replace"))
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    app = create_app(options(trained, hosts=(), read_only=True))
    described = schemathesis.openapi.from_asgi("/openapi.json", app)
    tried = 0
    for found in described.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
        def check(case: Any) -> None:
            # the schemas of other servers say less than their servers want: that a task has a text, and such
            # and the one of /v1 cannot say that objects are for models with fields, which this one has not
            # nor can a schema say which text is a table
            sound = case.path.startswith("/v1") and case.path != "/v1/table" and not has_records(case.body)
            excluded = [] if sound else [positive_data_acceptance]
            case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"}, excluded_checks=excluded)

        check()
        tried += 1
    assert tried >= 25


# another example forgot the event before; the version is none
EXPECTED = {"/v1/models/{name}/undo": 409, "/v2/models/{name}/versions/{version}/infer": 404}


def test_examples_and_where_the_token_is_needed(client: TestClient) -> None:
    """Every request that has a body has an example, which is accepted."""
    described = client.get("/openapi.json").json()
    assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    for number in range(7):  # the event that the examples name
        body = {"documents": [{"text": f"ticket {number}", "label": "bug"}]}
        client.post("/v1/models/tickets/teach", json=body, headers=WITH_TOKEN)
    sent = 0
    for path, methods in described["paths"].items():
        for method, about in methods.items():
            effect = client.app.routes.find(method.upper(), path).effect  # type: ignore[attr-defined]
            assert about["security"] == [] if effect.public else ({} in about["security"]) != effect.always_needs_token
            for kind, content in about.get("requestBody", {}).get("content", {}).items():
                example = urlencode(content["example"]) if "urlencoded" in kind else content["example"]
                url = path.replace("{name}", "tickets")
                sent_body = example if isinstance(example, str) else json.dumps(example)
                status = client.post(url, content=sent_body, headers=WITH_TOKEN).status_code
                assert status == EXPECTED.get(path, 200), path
                sent += 1
    assert sent > 12
