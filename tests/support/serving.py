"""`unnaive serve` and `unnaive label` as real processes, for tests that need a port."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Running:
    """A service that runs: its process, its address without and with the token that was made for it."""

    process: subprocess.Popen[str]
    address: str
    with_token: str


@contextmanager
def run_service(*words: Any, token: str | None = None) -> Iterator[Running]:
    """A command of unnaive that serves a page, until the block ends; `token` goes by the environment."""
    environment = {**os.environ, **({} if token is None else {"UNNAIVE_TOKEN": token})}
    command = [sys.executable, "-m", "unnaive", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = re.search(r"(http://[^\s#]+)\S*", process.stdout.readline())
        assert address, "the service did not start"
        try:
            yield Running(process, address[1], address[0])
        finally:
            process.terminate()
