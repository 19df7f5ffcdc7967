"""A process that works until it is killed: what it had acknowledged by then must not be lost."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable

LONGEST = 0.03  # seconds between the first acknowledgement and the end


def run_and_kill(work: Callable[[int], None], number: int) -> list[str]:
    """The whole lines that `work` wrote to the descriptor it is handed, before it was killed at a random moment.

    `work` runs in a child process and never ends by itself; `number` seeds the moment, after its first line.
    """
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        try:
            work(into)
        finally:
            os._exit(1)
    os.close(into)
    with os.fdopen(out) as lines:
        first = lines.readline()
        time.sleep(random.Random(number).uniform(0, LONGEST))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        rest = lines.read()
    return [line[:-1] for line in (first + rest).splitlines(keepends=True) if line.endswith("\n")]
