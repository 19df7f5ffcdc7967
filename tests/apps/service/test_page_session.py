"""Signing in with a real browser: reload, restart, wrong tokens, sign-out, and what pages of other sites can do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browser import NEEDS_CHROMIUM, collect_problems, find_violations, shoot, wait
from support.serving import run_service

from unnaive.curation.labelling.label_log import LabelRecord

from .conftest import TOKEN, WITH_TOKEN

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

SIGNED_IN = "!document.getElementById('sign-out').hidden && document.getElementById('version').textContent !== ''"
ASKED = "document.getElementById('token').offsetParent !== null"


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


def open_page(browser: Any, address: str) -> Any:
    page = browser.new_context(viewport={"width": 1000, "height": 800}).new_page()
    page.goto(address)
    return page


def sign_in(page: Any, token: str = TOKEN) -> None:
    wait(page, ASKED)
    page.fill("#token", token)
    page.keyboard.press("Enter")


def test_sign_in_survives_reload_and_restart_and_ends(browser: Any, model_file: Path) -> None:
    """Off loopback nothing but the form is there without the token; the service is stopped and started in between."""
    port = free_port()
    command = ("serve", model_file, "--host", "0.0.0.0", "--port", port)  # what is tested
    address = f"http://127.0.0.1:{port}/"
    with run_service(*command, token=TOKEN):
        page = open_page(browser, address)
        wait(page, ASKED)
        assert not page.is_visible("#inside")
        assert find_violations(page) == []
        shoot(page, "sign-in")
        for wrong in ("wrong", "nearly-" + TOKEN):
            sign_in(page, wrong)
            wait(page, "document.getElementById('sign-in-problem').textContent !== ''")
            assert page.inner_text("#sign-in-problem") == "This is not the token of this service."
            assert page.input_value("#token") == wrong  # to be mended
        sign_in(page)
        wait(page, SIGNED_IN)
        assert page.is_visible("#inside")
        assert page.evaluate("document.cookie") == ""  # no script can read it
        cookie = page.context.cookies()[0]
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
        assert page.evaluate("JSON.stringify([localStorage, sessionStorage])") == "[{},{}]"
        page.reload()
        wait(page, SIGNED_IN)
    with run_service(*command, token=TOKEN):
        page.reload()
        wait(page, SIGNED_IN)
        page.fill("#text", "my invoice")
        page.wait_for_selector("#answers .bars li")
        with page.expect_navigation():
            page.click("#sign-out")
        wait(page, ASKED)
        assert page.context.cookies() == []
        assert not page.is_visible("#inside")
        page.reload()
        wait(page, ASKED)
        page.context.close()


def test_a_session_that_ends_keeps_what_is_on_the_page(browser: Any, model_file: Path) -> None:
    with run_service("serve", model_file, "--host", "0.0.0.0", "--port", 0, token=TOKEN) as service:
        page = open_page(browser, service.address.replace("0.0.0.0", "127.0.0.1") + f"#token={TOKEN}")
        wait(page, SIGNED_IN)
        assert "token" not in page.url
        page.context.clear_cookies()  # as when seven days have passed
        page.fill("#text", "my invoice")
        wait(page, ASKED)
        assert "ended" in page.inner_text("#sign-in-problem")
        sign_in(page)
        page.wait_for_selector("#answers .bars li")
        assert page.input_value("#text") == "my invoice"
        page.context.close()


def test_loopback_without_a_token_of_its_own(browser: Any, model_file: Path) -> None:
    """The token of the address is made anew at every start; a session goes on all the same."""
    port = free_port()
    with run_service("serve", model_file, "--port", port) as service:
        page = open_page(browser, service.with_token)
        wait(page, SIGNED_IN)
    with run_service("serve", model_file, "--port", port):
        page.reload()
        wait(page, SIGNED_IN)
        stranger = open_page(browser, f"http://127.0.0.1:{port}/#token=made-up")
        wait(stranger, ASKED)
        assert "not the token" in stranger.inner_text("#sign-in-problem")
        assert stranger.is_visible("#text")  # on loopback anybody may try a text
        stranger.context.close()
        page.context.close()


class OtherSite(BaseHTTPRequestHandler):
    """A page that tries what a page of another site can try."""

    page = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def other_site(service: str) -> Iterator[int]:
    body = '{"documents": [{"text": "hostile", "label": "bug"}]}'
    tries = "".join(
        f"""fetch("{service}v1/models/tickets/{verb}", {{method: "POST", mode: "{mode}", credentials: "include",
        body: '{body}', headers: {{"Content-Type": "{kind}"}}}}).then(done, done);"""
        for verb in ("teach", "rollback")
        for mode, kind in (("no-cors", "text/plain"), ("cors", "application/json"))
    )
    OtherSite.page = f"""<!doctype html><title>other</title><iframe name=frame></iframe>
      <form id=form method=post enctype="text/plain" target=frame action="{service}v1/models/tickets/teach">
      <input name='{{"documents": [{{"text": "hostile' value='", "label": "bug"}}]}}'></form>
      <script>let finished = 0; const done = () => {{ finished += 1; document.title = String(finished); }};
      {tries}
      fetch("{service}session", {{method: "DELETE", credentials: "include"}}).then(done, done);
      fetch("{service}v1/models", {{credentials: "include"}}).then((one) => one.text()).then(
        (one) => {{ window.stolen = one; done(); }}, done);
      document.getElementById("form").submit();</script>""".encode()
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherSite) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def wait_for_an_event(page: Any, events: list[int]) -> None:
    """Until the form is answered, which no script of the page can see; two minutes at most, for a busy machine."""
    for _ in range(2400):
        if events:
            return
        page.wait_for_timeout(50)


def test_pages_of_other_sites_can_do_nothing_with_the_session(browser: Any, model_file: Path) -> None:
    """From another host, where SameSite holds the cookie back, and from another port of this one, where it does not."""
    with (
        run_service("serve", model_file, "--port", 0, token=TOKEN) as service,
        other_site(service.address) as port,
    ):
        page = open_page(browser, f"{service.address}#token={TOKEN}")
        wait(page, SIGNED_IN)
        for host in ("localhost", "127.0.0.1"):
            hostile = page.context.new_page()
            posted: list[int] = []

            def note(answer: Any, posted: list[int] = posted) -> None:
                if answer.request.method == "POST":
                    posted.append(answer.status)

            hostile.on("response", note)
            hostile.goto(f"http://{host}:{port}/")
            wait(hostile, "document.title === '6'")  # all have ended, one way or the other
            wait(hostile, "window.stolen === undefined")
            wait_for_an_event(hostile, posted)
            assert posted == [403]  # of the form; answers to scripts are blocked before the page gets a status
            hostile.close()
        versions = httpx.get(f"{service.address}v1/models/tickets/versions", headers=WITH_TOKEN, timeout=300).json()
        assert versions["current"] == 0
        page.reload()
        wait(page, SIGNED_IN)  # nor was anybody signed out
        page.context.close()


def test_labelling_keeps_session_and_name(browser: Any, tmp_path: Path) -> None:
    """A record has a port of its own, so that the page that is open goes on after a restart."""
    record = tmp_path / "labels.db"
    LabelRecord.create(record, ["one text", "another text", "a third"], classes=["billing", "bug"]).close()
    shown = "!document.getElementById('inside').hidden && document.getElementById('progress-words').textContent !== ''"
    with run_service("label", record, "--who", "ann") as service:
        page = open_page(browser, service.with_token)
        problems = collect_problems(page)
        wait(page, shown)
        page.fill("#who", "Zoë; of=Ω")
        page.keyboard.press("Enter")
        page.locator("#who").blur()
        page.reload()
        wait(page, shown)
        assert page.input_value("#who") == "Zoë; of=Ω"
        page.keyboard.press("1")
        wait(page, "document.getElementById('progress-words').textContent.startsWith('1 of')")
        assert problems == []
    with run_service("label", record, "--who", "ann") as again:
        assert again.address == service.address
        page.reload()
        wait(page, shown)
        assert page.input_value("#who") == "Zoë; of=Ω"
        with page.expect_navigation():
            page.click("#sign-out")
        wait(page, ASKED)
        assert not page.is_visible("#inside")
        assert find_violations(page) == []
        shoot(page, "label-sign-in")
        sign_in(page, again.with_token.partition("#token=")[2])
        wait(page, shown)
        page.context.close()
    assert LabelRecord(record).decisions()[0].who == "Zoë; of=Ω"
