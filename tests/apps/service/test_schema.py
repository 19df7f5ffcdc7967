"""The service keeps to its own OpenAPI description, whatever it is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from unnaive.apps.service.app import create_app

from .conftest import TOKEN, options


@pytest.mark.slow
def test_no_violation(trained: Path) -> None:
    """Over a service that only reads, so that examples do not depend on each other."""
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
            excluded = [] if case.path.startswith("/v1") else [positive_data_acceptance]
            case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"}, excluded_checks=excluded)

        check()
        tried += 1
    assert tried >= 25
