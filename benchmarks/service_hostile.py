"""Latency of eight honest clients of `unnaive serve`, without and with a thousand hostile connections beside them.

The hostile connections are, in equal parts: silent connections, connections that send half a header or an endless
header, and streams that are opened and then not used. A closed connection is opened again after a second. All of it is
on loopback, for some seconds, from one process of low priority. Honest clients ask one request after another and
reconnect when they are dropped. Printed are medians and 99th percentiles in ms, requests that failed, and the ratio of
the percentiles with and without hostile connections; rounds alternate, so that other programs affect both equally.

    python benchmarks/service_hostile.py [--hostile 1000] [--seconds 10] [--rounds 3] [--files 300] [--only tables]

`--files` is the limit of open files of the service (ulimit -n), with which it accepts fewer connections. `--only` names
the attacks to measure, separated by commas; "connections" is that of many connections.
"""

import argparse
import asyncio
import contextlib
import gzip
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from timing import verdict

HONEST = 8
PAUSE = 0.02  # seconds between two requests of an honest client
KINDS = ("silent", "half a header", "endless header", "idle stream")
ATTACKS = ("pipelining", "charset", "members", "wrong tokens", "tables")
LIMITS = {"p99": 3.0, "memory": 1.5}
HEAD = b"POST /v1/classify HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
STREAM = b"POST /v1/classify/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def post(path: str, body: bytes, *fields: str) -> bytes:
    """A request with a body."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}", *fields]
    return "\r\n".join([*lines, "", ""]).encode() + body


ATTACK_BYTES = {
    "pipelining": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 25_000,
    "charset": post("/invocations", b"text\n" + b"a-" * 450_000, "Content-Type: text/csv; charset=punycode"),
    "members": post("/v1/classify", gzip.compress(b"") * 50_000, "Content-Encoding: gzip"),
    "wrong tokens": post("/session", b"{}", "Authorization: Bearer " + "x" * 40),
    "tables": post("/v1/table", b"id,text\n" + b'1,"a\n' * 20_000, "Content-Type: text/csv", "Connection: close"),
}


def main() -> None:
    """Start the service, send requests without and with hostile connections, and compare."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--hostile", type=int, default=1000)
    asked.add_argument("--seconds", type=float, default=10.0)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument(
        "--files", type=int, default=0, help="limit of open files of the service; 0 for this shell's own"
    )
    asked.add_argument("--attackers", type=int, default=20, help="connections of each attack that needs few")
    asked.add_argument("--only", default="", help="attacks to measure, separated by commas; all by default")
    asked.add_argument("--kinds", default="", help=argparse.SUPPRESS)
    asked.add_argument("--attack", type=int, default=0, help=argparse.SUPPRESS)  # the port, in the hostile process
    given = asked.parse_args()
    if given.attack:
        os.nice(10)
        asyncio.run(attack(given.attack, given.hostile, given.kinds.split(",") if given.kinds else KINDS))
        return
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "tickets.model"
        bodies = make_model(model)
        with serve(model, given.files) as (process, port):
            for kind in given.only.split(",") if given.only else ("connections", *ATTACKS):
                compare(process.pid, port, bodies, given, "" if kind == "connections" else kind)


def make_model(path: Path) -> list[bytes]:
    """A model of the built-in tickets, and requests with one text each."""
    from unnaive import TextClassifier
    from unnaive.io.tickets import load_tickets

    corpus = load_tickets()
    TextClassifier("multinomial").fit(list(corpus.texts), [labels[0] for labels in corpus.labels]).save(path)
    return [request(json.dumps({"text": text}).encode()) for text in corpus.texts[:200]]


def request(body: bytes) -> bytes:
    """A request for the labels of a text."""
    head = b"POST /v1/classify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + body


@contextlib.contextmanager
def serve(model: Path, files: int):
    """The service as a process of its own, perhaps with few files."""

    def limit() -> None:
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [sys.executable, "-m", "unnaive", "serve", str(model), "--port", "0"]
    with (
        (model.parent / "log").open("w+") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=limit) as process,
    ):
        try:
            yield process, int(re.search(r":(\d+)/", process.stdout.readline()).group(1))  # type: ignore[union-attr]
        finally:
            process.terminate()
            log.seek(0)
            print(f"the service logged {len(log.readlines()) - 1} lines")  # the first says where it is


def resident(pid: int) -> int:
    """Memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


class Peak(threading.Thread):
    """The most memory that a process has had while this runs."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.most, self.ended = pid, 0, threading.Event()

    def run(self) -> None:
        """Look again and again."""
        while not self.ended.wait(0.02):
            self.most = max(self.most, resident(self.pid))


def compare(pid: int, port: int, bodies: list[bytes], given: argparse.Namespace, kind: str = "") -> None:
    """Run rounds without and with hostile connections, of one kind of attack or of silent ones; print the ratios."""
    number = given.attackers if kind else given.hostile
    print(f"{kind or 'connections'}: {number} hostile")
    asyncio.run(ask_all(port, bodies, 2.0))  # warm
    quiet, hostile, failed, health, memory = [], [], Counter(), [], []
    for _ in range(given.rounds):
        quiet.append(asyncio.run(ask_all(port, bodies, given.seconds))[0])
        before, peak = resident(pid), Peak(pid)
        peak.start()
        command = [sys.executable, __file__, "--attack", str(port), "--hostile", str(number), "--kinds", kind]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as company:
            try:
                company.stdout.readline()  # all of them have come
                times, problems, healthy = asyncio.run(ask_all(port, bodies, given.seconds))
            finally:
                company.terminate()
                peak.ended.set()
            memory.append(peak.most / before)
            files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            print(f"  {company.stdout.read().strip()}; the service holds {files} files")
        hostile.append(times)
        failed += problems
        health += healthy
    ratios = [percentile(after, 0.99) / percentile(before, 0.99) for before, after in zip(quiet, hostile, strict=True)]
    for name, rounds in (("quiet", quiet), (f"{number} hostile", hostile)):
        p50, p99 = (statistics.median(1000 * percentile(one, q) for one in rounds) for q in (0.5, 0.99))
        print(f"{name:14} {sum(map(len, rounds)):7,} requests   median {p50:6.2f} ms   p99 {p99:6.2f} ms")
    print(f"honest requests that had to be sent again: {failed['again']}; clients dropped for good: {failed['lost']}")
    print(f"/healthz: {sum(health)} of {len(health)} answered")
    single = ", ".join(f"{one:.2f}" for one in ratios)
    ratio = statistics.median(ratios)
    said = verdict(ratio, LIMITS["p99"], at_most=True)
    print(f"p99 with hostile company / p99 in quiet: {ratio:.2f} ({single})   {said}")
    worst = max(memory)
    print(f"most memory / memory before: {worst:.2f}   {verdict(worst, LIMITS['memory'], at_most=True)}")


def percentile(values: list[float], share: float) -> float:
    """The value that a share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def ask_all(port: int, bodies: list[bytes], seconds: float) -> tuple[list[float], Counter[str], list[bool]]:
    """Honest clients at once, and one that asks for /healthz by a new connection twice a second."""
    end = time.monotonic() + seconds
    failed: Counter[str] = Counter()
    *clients, health = await asyncio.gather(
        *(ask(port, bodies[at::HONEST], end, failed) for at in range(HONEST)), check(port, end)
    )
    return [one for times in clients for one in times], failed, health


async def ask(port: int, bodies: list[bytes], end: float, failed: Counter[str]) -> list[float]:
    """One request after another by one connection; the seconds of each, with coming again where that is needed."""
    times: list[float] = []
    reader = writer = None
    while time.monotonic() < end:
        start, tries = time.perf_counter(), 0
        while True:
            try:
                if writer is None:
                    reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 5)
                writer.write(bodies[len(times) % len(bodies)])
                if await asyncio.wait_for(read_answer(reader), 5) == 200:
                    break
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                writer = None
            failed["again"] += 1
            tries += 1
            if tries == 20:
                failed["lost"] += 1
                return times
            await asyncio.sleep(0.05)
        times.append(time.perf_counter() - start)
        await asyncio.sleep(PAUSE)
    writer.close()
    return times


async def read_answer(reader: asyncio.StreamReader) -> int:
    """The status of an answer, read to its end."""
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(re.search(rb"content-length: (\d+)", head).group(1)))  # type: ignore[union-attr]
    return int(head.split(b" ", 2)[1])


async def check(port: int, end: float) -> list[bool]:
    """Whether /healthz answers within five seconds, again and again."""
    found = []
    while time.monotonic() < end:
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 5)
            writer.write(HEALTH)
            found.append(await asyncio.wait_for(read_answer(reader), 5) == 200)
            writer.close()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            found.append(False)
        await asyncio.sleep(0.5)
    return found


async def attack(port: int, number: int, kinds: Sequence[str]) -> None:
    """Hostile connections until this process is ended; says how often each kind was closed, and with which answers."""
    closed: Counter[str] = Counter()
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(15, stop.set)
    tasks = [loop.create_task(trouble(port, kinds[at % len(kinds)], closed)) for at in range(number)]
    await asyncio.sleep(3)
    print("here", flush=True)
    await stop.wait()
    for task in tasks:
        task.cancel()
    print(", ".join(f"{kind} {times:,}" for kind, times in sorted(closed.items())) or "nobody was closed", flush=True)


async def trouble(port: int, kind: str, closed: Counter[str]) -> None:
    """One hostile connection, which comes again a second after it was closed."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if kind in ATTACKS:
                writer.write(ATTACK_BYTES[kind])
                await writer.drain()
            elif kind == "half a header":
                writer.write(HEAD)
            elif kind == "endless header":
                writer.write(HEAD)
                while not reader.at_eof() and not reader._buffer:  # type: ignore[attr-defined]
                    writer.write(b"x" * 1000)
                    await writer.drain()
                    await asyncio.sleep(0.1)
            elif kind == "idle stream":
                writer.write(STREAM)
            said = await reader.read(12)
            status = said[9:].decode() if said.startswith(b"HTTP/1.1") else "closed"
            if status == "200":  # a stream: its end
                said = await reader.read()
                status = "ended"
            writer.close()
        except OSError:
            status = "reset"
        closed[f"{kind}: {status}"] += 1
        await asyncio.sleep(PAUSE if kind in ATTACKS else 1)


if __name__ == "__main__":
    main()
