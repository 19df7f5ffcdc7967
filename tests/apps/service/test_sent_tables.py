"""Tables that the page sends are read by the one reader: no row is shifted or swallowed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from support.browser import NEEDS_CHROMIUM, open_signed_in, wait
from support.serving import run_service

from .conftest import TOKEN, WITH_TOKEN


def send(client: TestClient, body: bytes, name: str = "rows.csv") -> Any:
    return client.post(f"/v1/table?name={name}", content=body, headers={"Content-Type": "text/csv"})


def test_tables_as_people_have_them(client: TestClient) -> None:
    rows = [["1", "größer"], ["2", 'say "hi",\nthen go']]
    for encoding, note in (
        ("utf-8", ""), ("utf-8-sig", ""), ("utf-16", "it was read as UTF-16"),
        ("cp1252", "it is not UTF-8 and was read as Windows-1252 (Latin-1)"),
    ):  # fmt: skip
        for delimiter in ",;\t":
            words = f'id{delimiter}text\r\n1{delimiter}größer\r\n2{delimiter}"say ""hi"",\nthen go"\r\n'
            answer = send(client, words.encode(encoding)).json()
            assert answer == {"columns": ["id", "text"], "rows": rows, "note": note}


@pytest.mark.parametrize(
    ("body", "name", "words"),
    [
        (b"id,text\n1,hello,extra\n2,there\n", "rows.csv", "line 2 of rows.csv has 3 fields, but the header has 2"),
        (b'id,text\n1,"open\n2,b\n3,c\n', "rows.csv", "line 2 of rows.csv opens a quote that is never closed"),
        (b"text\n", "my rows.csv", "my rows.csv has no rows below its header"),
        (b"", "rows.csv", "rows.csv"),
        (b"PK\x03\x04", "rows.xlsx", "rows.xlsx is not a table in CSV or TSV"),
        (b"id,text\n1,a\0b\n", "rows.csv", "rows.csv contains NUL characters"),
        ("id,text\n1,a\0b\n".encode("utf-16"), "rows.csv", "rows.csv contains NUL characters"),
    ],
)
def test_bad_rows_are_named(client: TestClient, body: bytes, name: str, words: str) -> None:
    answer = send(client, body, name)
    assert answer.status_code == 422
    assert words in answer.json()["error"]
    assert "--" not in answer.json()["error"]
    assert "/proc" not in answer.json()["error"]


def test_one_table_is_read_at_a_time_and_explanations_do_not_wait(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    reading: list[int] = []

    def read(body: bytes, name: str) -> dict[str, Any]:
        reading.append(0)
        begun.set()
        assert go_on.wait(300)
        assert len(reading) == 1
        reading.pop()
        return {"name": name}

    monkeypatch.setattr("unnaive.apps.service.routes.read_sent_table", read)
    with ThreadPoolExecutor(4) as pool:
        tables = [pool.submit(send, client, b"id,text\n", f"{number}.csv") for number in range(4)]
        assert begun.wait(300)
        found = client.post("/v1/classify", json={"text": "invoice", "explain": True})
        assert found.status_code == 200
        assert not any(table.done() for table in tables)
        go_on.set()
        assert sorted(table.result().json()["name"] for table in tables) == [f"{number}.csv" for number in range(4)]


def test_pages_of_events_follow_each_other(client: TestClient) -> None:
    def page(before: int | None) -> Any:
        query = "limit=2" if before is None else f"limit=2&before={before}"
        return client.get(f"/v1/models/tickets/versions?{query}").json()

    def teach(number: int) -> None:
        body = {"documents": [{"text": f"word{number}", "label": "bug"}]}
        client.post("/v1/models/tickets/teach", json=body, headers=WITH_TOKEN)

    for number in range(5):
        teach(number)
    first = page(None)
    teach(6)  # shifts nothing
    second = page(first["next"])
    third = page(second["next"])
    assert [[one["event"] for one in part["versions"]] for part in (first, second, third)] == [[5, 4], [3, 2], [1]]
    assert third["next"] is None


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_another_file_during_a_run_is_labelled_as_itself(browser: Any, model_file: Path, tmp_path: Path) -> None:
    first, second, bad = (tmp_path / f"{name}.csv" for name in ("first", "second", "bad"))
    first.write_text("text\n" + "my invoice was charged twice\n" * 3000)
    second.write_text("note,text\n" + "x,it does not start\n" * 10)
    bad.write_text("id,text\n1,a,b\n")
    allowed = "422"
    with (
        run_service("serve", f"tickets={model_file}", "--port", 0, token=TOKEN) as service,
        open_signed_in(browser, service.address, TOKEN, allowed=allowed) as page,
    ):
        page.click("#tab-table")
        page.set_input_files("#file", str(first))
        page.click("#start")
        wait(page, "document.getElementById('progress-words').textContent.includes(' of ')")
        page.set_input_files("#file", str(second))
        wait(page, "document.getElementById('progress-words').textContent.startsWith('second.csv')")
        assert page.input_value("#column") == "1"
        page.click("#start")
        wait(page, "document.getElementById('rows-words').textContent.startsWith('10 rows')")
        assert set(page.locator("#rows tbody td.text").all_inner_texts()) == {"it does not start"}
        page.set_input_files("#file", str(bad))
        wait(page, "document.getElementById('status').textContent.includes('Line 2 of bad.csv has 3 fields')")
        assert page.is_hidden("#results")
