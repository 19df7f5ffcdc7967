"""A real browser for tests of pages: chromium by playwright; both may be absent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 300_000  # milliseconds that a browser may take for anything
SCREENS = os.environ.get("UNNAIVE_SCREENSHOTS")  # a folder: pictures are kept there, to be looked at


@contextmanager
def open_browser() -> Iterator[Any]:
    """Chromium without a window, until the block ends."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=OPTIONS, timeout=PATIENCE)
        for way in ("new_context", "new_page"):
            setattr(browser, way, _patient(getattr(browser, way)))
        yield browser
        browser.close()


def _patient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with pages that wait as long as a busy machine needs."""

    def wait_longer(**options: Any) -> Any:
        resource = function(**options)
        resource.set_default_timeout(PATIENCE)
        return resource

    return wait_longer


def collect_problems(page: Any) -> list[str]:
    """A list to which every error and warning of the page's console is added from now on."""
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda message: problems.append(str(message)))
    return problems


@contextmanager
def open_signed_in(browser: Any, address: str, token: str, *, width: int = 1000, allowed: str = "") -> Iterator[Any]:
    """The service's page, opened with the token; an error if its console said anything without the word `allowed`."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.problems = collect_problems(page)
    page.goto(f"{address}#token={token}")
    wait(page, "document.getElementById('version').textContent !== ''")
    yield page
    context.close()
    assert [problem for problem in page.problems if not allowed or allowed not in problem] == []


def wait(page: Any, expression: str) -> None:
    """Until an expression is true; the browser's own waiting needs eval, which the page's policy forbids."""
    for _ in range(2400):  # two minutes, for a busy machine
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}")


def find_violations(page: Any) -> list[str]:
    """What axe-core finds, of any weight."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    violations = axe.Axe().run(page).response["violations"]
    return [f"{violation['id']} ({violation['impact']}): {violation['nodes'][0]['html']}" for violation in violations]


def shoot(page: Any, name: str) -> None:
    """Keep a picture of the page, if pictures are wanted."""
    if SCREENS:
        page.screenshot(path=str(Path(SCREENS) / f"{name}.png"), full_page=True)
