"""Makes the pictures of the pages in docs/service.md and docs/label.md: docs/assets/screen-*.png.

python tools/screens.py [FOLDER]    (needs a Chromium: the one that playwright finds, or the one on the PATH)

Everything is done as a user does it: a model of the built-in tickets is trained, measured, served and taught, texts are
labelled, and a browser clicks. Desktop and phone, light and dark.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
TEXT = "I was charged twice for my invoice this month, please refund me. The export crashes too."
TOKEN = "a-token-for-the-pictures"  # noqa: S105  # of a service that lives for a minute
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}  # of the labelling page
GUIDELINES = "Label what the customer wants, not what went wrong. Skip what is not a ticket."
ABOUT = {
    "billing": "Invoices, payments and refunds.", "bug": "Something does not work.", "access": "Signing in, roles.",
    "howto": "How to do something.", "integration": "Other programs.", "data": "Imports and exports.",
    "feature": "A wish for something new.", "sales": "Before buying.",
}  # fmt: skip
DESKTOP, PHONE = {"width": 1000, "height": 800}, {"width": 375, "height": 760}


def run(folder: Path, *words: str) -> str:
    """What a command of unnaive prints."""
    command = [sys.executable, "-m", "unnaive", *words]
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[str]:
    """The address of a page, with its token, until the block ends."""
    environment = {**os.environ, "UNNAIVE_TOKEN": TOKEN, "XDG_STATE_HOME": str(folder / "state")}
    command = [sys.executable, "-m", "unnaive", *words]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        found = process.stdout and re.search(r"http://\S+", process.stdout.readline())
        if not found:
            raise SystemExit(f"{' '.join(words)} did not start")
        try:
            yield found[0]
        finally:
            process.terminate()


class Camera:
    """A browser that opens pages as a person on some device has them, and keeps pictures of them."""

    def __init__(self, browser: Any, folder: Path) -> None:
        self.browser, self.folder = browser, folder

    @contextmanager
    def page(self, address: str, size: dict[str, int], scheme: str) -> Iterator[Any]:
        """A page, open until the block ends."""
        context = self.browser.new_context(
            viewport=size, color_scheme=scheme, is_mobile=size in (PHONE, NARROW), device_scale_factor=1.5
        )
        page = context.new_page()
        page.goto(address)
        yield page
        context.close()

    def shoot(self, page: Any, name: str, *, whole: bool = False) -> None:
        """Keep a picture, in 96 colours: a page has few, and the file is a quarter as large."""
        picture = Image.open(io.BytesIO(page.screenshot(full_page=whole)))
        picture.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(
            self.folder / f"screen-{name}.png", optimize=True
        )


def try_text(page: Any) -> None:
    """Type a text, and point at a word of it."""
    page.fill("#text", TEXT)
    page.wait_for_selector(".evidence button")
    page.wait_for_selector("#answers:not([aria-busy])")
    page.locator(".evidence button", has_text="invoice").hover()


def picture_service(camera: Camera, folder: Path) -> None:
    """The tabs of the service, its sign-in form and the pages of its interface."""
    run(folder, "demo", "-o", "tickets")
    run(folder, "train", "tickets/train.csv", "--label", "queue", "--model", "multinomial", "-o", "tickets.model")
    (folder / "measured.json").write_text(run(folder, "evaluate", "tickets.model", "tickets/test.csv", "--json"))
    command = ("serve", "tickets.model", "--port", "0", "--evaluation", "measured.json")
    with serving(folder, *command) as address:
        signed_in = f"{address}#token={TOKEN}"
        with camera.page(signed_in, DESKTOP, "light") as page:
            page.wait_for_selector("#sign-out:not([hidden])")
            try_text(page)
            page.click("#code summary")
            page.get_by_role("button", name="Python", exact=True).click()
            page.locator(".evidence button", has_text="invoice").hover()
            page.evaluate("document.activeElement.blur()")
            camera.shoot(page, "try", whole=True)
            teach(page)
            camera.shoot(page, "teach", whole=True)
        with camera.page(signed_in, DESKTOP, "dark") as page:
            page.click("#tab-card")
            page.wait_for_selector(".diagram")
            page.evaluate("document.activeElement.blur()")
            camera.shoot(page, "card", whole=True)
        for scheme in ("light", "dark"):
            with camera.page(signed_in, PHONE, scheme) as page:
                page.wait_for_selector("#sign-out:not([hidden])")
                try_text(page)
                page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
                camera.shoot(page, f"phone-{scheme}")
        with camera.page(f"{address}docs", DESKTOP, "light") as page:
            page.locator(".operation summary", has_text="POST /v1/classify").first.click()
            page.locator(".operation button", has_text="Send").first.click()
            page.wait_for_selector(".operation pre")
            page.evaluate("document.activeElement.blur()")
            camera.shoot(page, "api")
    with (
        serving(folder, *command, "--host", "0.0.0.0") as address,  # noqa: S104  # where the token is always needed
        camera.page(address.replace("0.0.0.0", "127.0.0.1"), PHONE, "dark") as page,  # noqa: S104
    ):
        page.fill("#token", "not the token")
        page.keyboard.press("Enter")
        page.wait_for_selector("#sign-in-problem:not(:empty)")
        camera.shoot(page, "sign-in")


def teach(page: Any) -> None:
    """Teach two texts, and forget one."""
    page.click("#tab-teach")
    page.wait_for_selector("#teach-form:not([hidden])")
    for number, (text, label) in enumerate([("the frobnicator crashes", "bug"), ("the gizmo is slow", "bug")]):
        page.fill("#teach-text", text)
        page.fill("#teach-label", label)
        page.click("#teach-form button")
        page.locator("#history li").nth(number).wait_for()
        page.locator("#history li", has_text=text).first.wait_for()
    page.locator("#history button").first.click()
    page.locator("#taught", has_text="Forgotten").wait_for()
    page.locator("#history li", has_text="undone").first.wait_for()
    page.evaluate("document.activeElement.blur()")


def picture_labelling(camera: Camera, folder: Path) -> None:
    """The parts of the labelling page after the answers of two people, on a desktop and on a phone."""
    classes = list(ABOUT)
    words = [f'[{name}]\ndescription = "{about}"\n' for name, about in ABOUT.items()]
    (folder / "classes.toml").write_text(f'guidelines = "{GUIDELINES}"\n' + "".join(words), encoding="utf-8")
    with (folder / "tickets/train.csv").open(encoding="utf-8", newline="") as file:
        right = {"".join(row["text"].split()): row["queue"] for row in csv.DictReader(file)}

    def answer(page: Any, wrong: bool = False) -> None:
        label = right.get("".join(page.inner_text("#text").split()))
        number = classes.index(label) if label in classes else None
        key = "Space" if number is None else str(1 + (number + wrong) % len(classes))
        with page.expect_response("**/label/answer"):
            page.keyboard.press(key)
        page.wait_for_timeout(50)

    command = (
        "label",
        "tickets/train.csv",
        "-o",
        "labels.db",
        "--hints",
        "classes.toml",
        "--who",
        "ann",
        "--double",
        "0.5",
    )
    with serving(folder, *command) as address:
        with camera.page(address, WIDE, "light") as page:
            page.wait_for_selector("#asked:not([hidden])")
            for _ in range(80):
                answer(page)
            page.wait_for_timeout(1000)
            camera.shoot(page, "label")
            page.fill("#who", "bob")
            with page.expect_response("**/label/next"):
                page.keyboard.press("Enter")
            page.wait_for_timeout(500)
            for number in range(40):
                answer(page, wrong=number % 7 == 6)
            page.keyboard.press("f")
            page.wait_for_timeout(500)
            page.click("#tab-classes")
            page.wait_for_selector("#class-list li")
            camera.shoot(page, "label-classes")
            page.click("#tab-progress")
            page.wait_for_selector("#pairs tr")
            page.wait_for_timeout(500)
            camera.shoot(page, "label-progress")
        for size, scheme, place in ((WIDE, "dark", ""), (NARROW, "light", "-phone")):
            with camera.page(address, size, scheme) as page:
                page.wait_for_selector("#asked:not([hidden])")
                page.click("#tab-answers")
                page.select_option("#browse-state", "review")
                page.wait_for_selector("#rows li")
                page.wait_for_timeout(500)
                camera.shoot(page, f"label-answers{place}")
        with camera.page(address, NARROW, "dark") as page:
            page.wait_for_selector("#asked:not([hidden])")
            camera.shoot(page, "label-phone")


def main() -> None:
    """Make them all."""
    from playwright.sync_api import sync_playwright

    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ASSETS
    with tempfile.TemporaryDirectory() as name, sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        camera = Camera(browser, target)
        picture_service(camera, Path(name))
        picture_labelling(camera, Path(name))
        browser.close()


if __name__ == "__main__":
    main()
