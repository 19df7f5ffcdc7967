"""What tests of the labelling page wait for: never a time, always a state of the page or of the record."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from support.browser import wait
from unnaive.curation.labelling.label_log import LabelRecord

SHOWN = "!document.getElementById('asked').hidden"
IDLE = "document.getElementById('answer-buttons').getAttribute('aria-busy') === 'false'"  # no answer is under way
SUGGESTED = "document.getElementById('suggestion').textContent !== ''"
AHEAD = "document.getElementById('asked').dataset.ahead"  # the next text was fetched


def settle(page: Any) -> None:
    """Until what was pressed has been done."""
    wait(page, IDLE)


def next_text(page: Any, action: Any) -> None:
    """Do something and wait for the answer and the text after it."""
    with page.expect_response(lambda found: "/label/" in found.url and "ahead" not in found.url):
        action()
    settle(page)


def accept(page: Any, action: Any) -> None:
    """Accept the suggestion, which comes when the model is ready, and wait for the text after it."""
    wait(page, SUGGESTED)
    next_text(page, action)


def answers_of(db: Path, number: int = 0) -> list[tuple[str, str]]:
    """Kind and annotator of the answers after the first ones, once there are so many."""
    for _ in range(2400):
        record = LabelRecord(db)
        found = [(one.kind, one.who) for one in record.decisions() if one.way != "start"]
        record.close()
        if len(found) >= number:
            return found
        time.sleep(0.05)
    raise AssertionError(f"only {found}")
