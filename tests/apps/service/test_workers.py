"""Several workers: each answers, none teaches, and the pages of the model file are in memory once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from unnaive import TextClassifier

from .conftest import TOKEN, WITH_TOKEN

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="the system has no /proc/PID/smaps"),
]
TEXT = "my invoice was charged twice"


def mapped_sizes(pid: int, path: Path) -> dict[str, int]:
    """Bytes of a process's mappings of a file, by kind (Rss, Shared_Clean, Private_Dirty, …), summed."""
    found: dict[str, int] = {}
    inside = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.endswith(str(path))
        elif inside and (size := re.match(r"(\w+):\s+(\d+) kB", line)):
            found[size.group(1)] = found.get(size.group(1), 0) + 1024 * int(size.group(2))
    return found


def child_processes(pid: int) -> list[int]:
    """All descendants of a process."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in map(int, children) for one in (child, *child_processes(child))]


def test_workers_share_the_model(model_file: Path) -> None:
    expected = TextClassifier.load(model_file).predict([TEXT])[0]
    command = [sys.executable, "-m", "unnaive", "serve", str(model_file), "--port", "0", "--workers", "2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "UNNAIVE_TOKEN": TOKEN}
    ) as server:  # fmt: skip
        assert server.stdout is not None
        try:
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found
            address = found.group().rstrip("/")
            workers: list[int] = []
            for _ in range(6000):  # until both have loaded it
                children = child_processes(server.pid)
                workers = [pid for pid in children if mapped_sizes(pid, model_file).get("Rss")]
                if len(workers) == 2:
                    break
                time.sleep(0.05)
            assert len(workers) == 2
            for _ in range(20):  # a new connection each, so that both are asked
                answer = httpx.post(f"{address}/v1/classify", json={"text": TEXT}, timeout=300)
                assert answer.json()["results"][0]["label"] == expected
            sizes = [mapped_sizes(pid, model_file) for pid in workers]
            for one in sizes:
                # pages that are not on disk yet count as dirty
                assert one["Shared_Clean"] + one["Shared_Dirty"] > 0.9 * model_file.stat().st_size
                assert one["Private_Clean"] + one["Private_Dirty"] == 0
            body = {"documents": [{"text": "a", "label": "bug"}]}
            taught = httpx.post(f"{address}/v1/models/tickets/teach", json=body, headers=WITH_TOKEN, timeout=300)
            assert taught.status_code == 403
        finally:
            server.terminate()
            assert server.wait(300) == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
