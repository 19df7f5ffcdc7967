"""The service keeps to its own OpenAPI description, whatever it is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from unnaive.apps.service.app import create_app

from .conftest import TOKEN, options

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


@pytest.mark.slow
def test_no_violation(trained: Path) -> None:
    """Over a service that only reads, so that examples do not depend on each other."""
    app = create_app(options(trained, hosts=(), read_only=True))
    described = schemathesis.openapi.from_asgi("/openapi.json", app)
    tried = 0
    for found in described.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
        def check(case: Any) -> None:
            case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"})

        check()
        tried += 1
    assert tried >= 25
