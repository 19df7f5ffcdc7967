"""Side by side: ours and the peer alternate in one process, medians, ratios, and peak memory of a separate process for
each."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

# the high-water mark of this very program: getrusage would count what the parent held when it forked
MEMORY = """
with open("/proc/self/status") as lines:
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
"""


@dataclass(frozen=True)
class Comparison:
    """Wall-clock seconds of both sides, one entry a repeat, and the ratio of their processor times if it was taken."""

    ours: list[float]
    peer: list[float]
    cpu_ratio: float | None = None

    @property
    def ratio(self) -> float:
        """How many times faster ours is in wall-clock time: median of the ratios of neighbouring runs."""
        return ratio_of(self.ours, self.peer)


def ratio_of(ours: list[float], peer: list[float]) -> float:
    """Median of peer / ours, pair by pair."""
    return median(theirs / mine for mine, theirs in zip(ours, peer, strict=True))


def timed(function: Callable[[], Any]) -> tuple[float, float]:
    """Wall-clock and processor seconds of one call; other programs hardly affect the second."""
    wall, cpu = time.perf_counter(), processor_seconds()
    function()
    return time.perf_counter() - wall, processor_seconds() - cpu


def processor_seconds() -> float:
    """What this process and the processes that it has waited for have used so far."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def seconds(function: Callable[[], Any]) -> float:
    """Wall-clock time of one call."""
    return timed(function)[0]


def alternated(ours: Callable[[], Any], peer: Callable[[], Any], repeats: int = 5) -> Comparison:
    """Both sides in turn, so that other programs slow both equally; one call each beforehand to warm up."""
    ours(), peer()
    runs = [(*timed(ours), *timed(peer)) for _ in range(repeats)]
    our_wall, our_cpu, peer_wall, peer_cpu = (list(column) for column in zip(*runs, strict=True))
    return Comparison(our_wall, peer_wall, ratio_of(our_cpu, peer_cpu))


def show_share(name: str, part: Callable[[], Any], whole: Callable[[], Any], wanted: float, repeats: int = 9) -> None:
    """One line: the time of `part` divided by that of `whole`, in turn, with the target for it."""
    found = alternated(whole, part, repeats)
    _show_ratio(name, found.peer, found.ours, found.cpu_ratio, wanted)


def show_first_call(
    name: str, make: Callable[[], Any], use: Callable[[Any], Any], wanted: float, repeats: int = 9
) -> None:
    """One line: the time of the first use(value) of a new value = make(), divided by that of the second."""
    runs = []
    for _ in range(repeats):
        value = make()
        runs.append((*timed(lambda value=value: use(value)), *timed(lambda value=value: use(value))))
    first, first_cpu, later, later_cpu = (list(column) for column in zip(*runs, strict=True))
    _show_ratio(name, first, later, ratio_of(later_cpu, first_cpu), wanted)


def _show_ratio(name: str, part: list[float], whole: list[float], cpu_ratio: float | None, wanted: float) -> None:
    ratio = ratio_of(whole, part)
    cpu = "" if cpu_ratio is None else f" (processor time {cpu_ratio:.2f})"
    times = f"{1e3 * median(part):.1f} of {1e3 * median(whole):.1f} ms"
    print(f"{name:44} {times:>20}   ratio {ratio:5.2f}{cpu}   {verdict(ratio, wanted, at_most=True)}", flush=True)


def peak_memory(code: str) -> int:
    """Peak resident bytes of a new Python process that runs `code`."""
    done = subprocess.run([sys.executable, "-c", f"{code}\n{MEMORY}"], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1]) * 1024


def peak_anonymous(code: str) -> int:
    """Peak bytes of a new Python process that runs `code`, without pages of files, which the system can reclaim.

    Linux keeps no high-water mark of them, so they are looked at every 5 ms.
    """
    process, peak = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL), 0
    while process.poll() is None:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        peak = max(peak, *(int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)
        time.sleep(0.005)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, code)
    return peak * 1024


def verdict(value: float, wanted: float, at_most: bool = False) -> str:
    """Whether the figure meets the target."""
    met = value <= wanted if at_most else value >= wanted
    return f"wanted {'≤' if at_most else '≥'} {wanted:g}: {'met' if met else 'NOT MET'}"


def show(name: str, comparison: Comparison, wanted: float) -> None:
    """One line: both medians, the ratio, and the target."""
    ours, peer = median(comparison.ours), median(comparison.peer)
    cpu = "" if comparison.cpu_ratio is None else f" (processor time {comparison.cpu_ratio:.1f})"
    print(
        f"{name:44} ours {ours:8.3f} s   peer {peer:8.3f} s   ratio {comparison.ratio:6.1f}{cpu}   "
        f"{verdict(comparison.ratio, wanted)}",
        flush=True,
    )


def show_figure(name: str, value: float, wanted: float, at_most: bool = True) -> None:
    """One line for a figure that stands alone."""
    print(f"{name:44} {value:6.2f}   {verdict(value, wanted, at_most)}", flush=True)


@dataclass(frozen=True)
class ProcessRun:
    """What a process took: seconds in wall-clock time and of the processor, peak bytes without and with pages of
    files."""

    wall: float
    processor: float
    anonymous: int
    resident: int
    stdout: str


def watched(command: list[str]) -> ProcessRun:
    """Run a command and look at its memory every 20 ms; its error output goes where ours does."""
    wall, processor = time.perf_counter(), processor_seconds()
    peaks = {"RssAnon": 0, "VmHWM": 0}
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output)
        while process.poll() is None:
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in peaks and value.strip():
                    peaks[name] = max(peaks[name], int(value.split()[0]) * 1024)
            time.sleep(0.02)
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    took = time.perf_counter() - wall, processor_seconds() - processor
    return ProcessRun(*took, peaks["RssAnon"], peaks["VmHWM"], text)
