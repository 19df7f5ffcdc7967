"""Label Studio itself as the client of the ML backend: it connects, asks for suggestions, and its annotations teach.

It is found as `label-studio` on the path, or by UNNAIVE_LABEL_STUDIO, the path of that program in an environment of its
own (`python -m venv ENV; ENV/bin/pip install label-studio`, 1 GB): it wants other versions of packages than we do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from support.serving import find_port

from .conftest import TOKEN, WITH_TOKEN

PROGRAM = os.environ.get("UNNAIVE_LABEL_STUDIO") or shutil.which("label-studio")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="Label Studio is not installed; see UNNAIVE_LABEL_STUDIO in this file"),
]
CONFIG = """<View>
  <Text name="words" value="$message"/>
  <Choices name="queue" toName="words"><Choice value="bug"/><Choice value="billing"/><Choice value="bgu"/></Choices>
</View>"""
KEY = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a new Label Studio, signed in."""
    folder = tmp_path_factory.mktemp("studio")
    port = find_port()
    user = ["--username", "somebody@example.org", "--password", "a-password-for-tests", "--user-token", KEY]
    command = [str(PROGRAM), "start", "--no-browser", "--port", str(port), "--internal-host", "127.0.0.1",
               "--data-dir", str(folder), "--enable-legacy-api-token", *user]  # fmt: skip
    # it asks no addresses of this machine else
    settings = {"USE_DEFAULT_BANNED_SUBNETS": "false", "COLLECT_ANALYTICS": "false", "HOME": str(folder)}
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **settings})
    try:
        address = f"http://127.0.0.1:{port}"
        headers = {"Authorization": f"Token {KEY}"}
        with httpx.Client(base_url=address, headers=headers, timeout=600) as client:
            while not is_up(client):
                assert process.poll() is None, log.read_text()[-2000:]
                time.sleep(0.5)
            yield client
    finally:
        process.terminate()
        process.wait(300)


def is_up(client: httpx.Client) -> bool:
    """Whether it answers."""
    try:
        return client.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def send(studio: httpx.Client, method: str, path: str, body: Any = None) -> Any:
    """What Label Studio answers, which must be a success."""
    answer = studio.request(method, path, json=body)
    assert answer.is_success, (path, answer.status_code, answer.text[:500])
    return answer.json() if answer.content else None


def annotation(label: str) -> dict[str, Any]:
    """An annotation as its page sends it."""
    choice = {"from_name": "queue", "to_name": "words", "type": "choices", "value": {"choices": [label]}}
    return {"result": [choice], "lead_time": 1.0}


def test_label_studio_suggests_and_teaches(studio: httpx.Client, address: str) -> None:
    with httpx.Client(base_url=address, headers=WITH_TOKEN, timeout=600) as service:

        def card() -> dict[str, Any]:
            found: dict[str, Any] = service.get("/v1/models/tickets?terms=0").json()
            return found

        project = send(studio, "POST", "/api/projects", {"title": "tickets", "label_config": CONFIG})["id"]
        # the token in the address: Label Studio sends it as a password, also by its webhooks
        url = address.replace("http://", f"http://studio:{TOKEN}@")
        connect = {"url": url, "project": project, "title": "unnaive", "is_interactive": True}
        backend = send(studio, "POST", "/api/ml", connect)
        assert backend["state"] in ("CO", "connected")
        text = "frobnicator: my invoice was charged twice"
        tasks = [{"data": {"text": "not this", "message": text}}]
        send(studio, "POST", f"/api/projects/{project}/import", tasks)
        (task,) = send(studio, "GET", f"/api/tasks?project={project}")["tasks"]
        asked = {"task": task["id"]}
        suggested = send(studio, "POST", f"/api/ml/{backend['id']}/interactive-annotating", asked)["data"]
        assert suggested["result"][0]["value"]["choices"] == ["billing"]
        assert suggested["model_version"] == "tickets-0"
        everything = {"selectedItems": {"all": True, "excluded": []}}
        send(studio, "POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}", everything)
        (kept,) = send(studio, "GET", f"/api/predictions?task={task['id']}")
        assert (kept["result"], kept["model_version"]) == (suggested["result"], "tickets-0")
        assert send(studio, "GET", f"/api/ml/{backend['id']}/versions")["versions"] == ["tickets-0"]
        before, classes = card()["documents"], card()["classes"]
        taught = send(studio, "POST", f"/api/tasks/{task['id']}/annotations/", annotation("bug"))["id"]
        assert (card()["version"], card()["documents"]) == (1, before + 1)
        shown = service.get("/v1/models/tickets/versions?documents=true").json()["versions"][0]["changes"]
        assert [(one["text"], one["labels"]) for one in shown] == [(text, ["bug"])]
        send(studio, "PATCH", f"/api/annotations/{taught}/", annotation("billing"))
        assert (card()["version"], card()["documents"]) == (2, before + 1)
        send(studio, "PATCH", f"/api/annotations/{taught}/", annotation("bgu"))  # no class of the model
        assert card()["version"] == 2
        assert [one["label"] for one in card()["classes"]] == [one["label"] for one in classes]
        send(studio, "DELETE", f"/api/annotations/{taught}/")
        assert (card()["version"], card()["documents"]) == (3, before)
