"""Work on many items in forked children, so that one that crashes is counted and the rest goes on."""

import faulthandler
import json
import mmap
import os
import resource
import signal
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MEMORY = 6 << 30  # bytes of address space for a child: what allocates by a number in a file fails here
SECONDS = 300  # of processor time for one item, which takes far less: a busy machine hangs nothing
WAITING = 12  # times as long on the clock, for what waits and does not work
REFUSED, SURVIVED, HUNG, WRONG = "refused", "survived", "hung", "wrong"
COLUMNS = ("tried", REFUSED, SURVIVED, "crashed", HUNG, WRONG, "lost")


@dataclass
class Tally:
    """A line of the table: what was tried and how it ended. Nothing may crash, hang, be wrong or be lost."""

    name: str
    tried: int = 0
    refused: int = 0
    survived: int = 0
    crashed: int = 0
    hung: int = 0
    wrong: int = 0
    lost: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, outcome: str, note: str = "") -> None:
        """Count one item; what is not refused, survived, hung or wrong is a crash, with a note of what it was."""
        self.tried += 1
        if outcome == REFUSED:
            self.refused += 1
        elif outcome == SURVIVED:
            self.survived += 1
        else:
            bad = outcome if outcome in (HUNG, WRONG) else "crashed"
            setattr(self, bad, getattr(self, bad) + 1)
            self.notes.append(note or outcome)

    def __iadd__(self, other: "Tally") -> "Tally":
        for name in COLUMNS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.notes += other.notes
        return self

    @property
    def sound(self) -> bool:
        return not (self.crashed or self.hung or self.wrong or self.lost)


def run_forked(
    name: str, work: Callable[[int], tuple[str, str]], items: Sequence[int], workers: int = 2, *,
    seconds: int = SECONDS, memory: int | None = MEMORY,
) -> Tally:  # fmt: skip
    """`work(item)` → (outcome, note) for all items, shared among forked children.

    seconds  of processor time for an item, and WAITING times as many on the clock; more is a hang
    memory   address space of a child in bytes
    """
    tally, limits = Tally(name), (seconds, memory)
    for parts in _rounds(items, workers, 2_000):
        children = [_Child(work, part, limits) for part in parts]
        for child in children:
            while child is not None:
                part, rest = child.finish()
                tally += part
                child = _Child(work, rest, limits) if rest else None
    return tally


def _rounds(items, workers, size):
    for start in range(0, len(items), workers * size):
        chunk = items[start : start + workers * size]
        yield [chunk[worker::workers] for worker in range(workers) if chunk[worker::workers]]


class _Child:
    """A forked process that works through items, and tells in shared memory at which it is."""

    def __init__(self, work, items, limits):
        self.items = list(items)
        self.at = mmap.mmap(-1, 8)
        reader, writer = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(reader)
            _limit(limits[1])
            _work_off(work, self.items, self.at, writer, limits[0])
            os._exit(0)
        os.close(writer)
        self.pipe = os.fdopen(reader, "rb")

    def finish(self):
        """What became of the items, and those that are left because one crashed."""
        said = self.pipe.read()
        self.pipe.close()
        _, status = os.waitpid(self.pid, 0)
        tally, lines = Tally(""), [json.loads(line) for line in said.splitlines()]
        for outcome, note in lines:
            tally.add(outcome, note)
        if status == 0:
            return tally, []
        place = struct.unpack("q", self.at[:])[0]
        for _ in range(place - len(lines)):  # answers that the dead child had not sent yet
            tally.add(SURVIVED)
        how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        tally.add(HUNG if how in ("SIGALRM", "SIGPROF") else "crashed", f"item {self.items[place]}: {how}")
        return tally, self.items[place + 1 :]


def _limit(memory):
    faulthandler.disable()  # a crash is counted, not described
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)


def _work_off(work, items, at, writer, seconds):
    with os.fdopen(writer, "wb", buffering=0) as pipe:
        for place, item in enumerate(items):
            at[:] = struct.pack("q", place)
            _limit_time(seconds)
            try:
                outcome, note = work(item)
            except BaseException as problem:
                outcome, note = (
                    WRONG if isinstance(problem, AssertionError) else "crashed",
                    f"item {item}: {type(problem).__name__}: {str(problem)[:200]}",
                )
            pipe.write(json.dumps([outcome, note]).encode() + b"\n")
        _limit_time(0)


def _limit_time(seconds):
    """Both clocks from now on; none for 0."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * WAITING)
