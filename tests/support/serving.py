"""`unnaive serve` and `unnaive label` as real processes, for tests that need a port."""

from __future__ import annotations

import os
import random
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any


def find_port() -> int:
    """A free port for a program that cannot choose one itself; outside the range from which the system gives ports, so
    that no other program gets it in the meantime.
    """
    for port in random.SystemRandom().sample(range(10_000, 20_000), 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


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
