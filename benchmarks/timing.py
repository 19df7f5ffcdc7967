"""Side by side: ours and the peer take turns in one process, medians, ratios, and peak memory of a process each."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

MEMORY = "import resource, json; print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))"


@dataclass(frozen=True)
class Comparison:
    """Seconds of both sides, one entry a repeat."""

    ours: list[float]
    peer: list[float]

    @property
    def ratio(self) -> float:
        """How many times faster ours is: median of the ratios of neighbouring runs."""
        return median(peer / ours for ours, peer in zip(self.ours, self.peer, strict=True))


def seconds(function: Callable[[], Any]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def alternated(ours: Callable[[], Any], peer: Callable[[], Any], repeats: int = 5) -> Comparison:
    """Both sides in turn, so that a busy machine slows them alike; one call each beforehand to warm up."""
    ours(), peer()
    pairs = [(seconds(ours), seconds(peer)) for _ in range(repeats)]
    return Comparison([pair[0] for pair in pairs], [pair[1] for pair in pairs])


def peak_memory(code: str) -> int:
    """Peak resident bytes of a new Python process that runs `code`."""
    done = subprocess.run([sys.executable, "-c", f"{code}\n{MEMORY}"], capture_output=True, text=True, check=True)
    return int(json.loads(done.stdout.strip().splitlines()[-1]))


def verdict(value: float, wanted: float, at_most: bool = False) -> str:
    """Whether the figure meets what is wanted."""
    met = value <= wanted if at_most else value >= wanted
    return f"wanted {'≤' if at_most else '≥'} {wanted:g}: {'met' if met else 'NOT MET'}"


def show(name: str, comparison: Comparison, wanted: float) -> None:
    """One line: both medians, the ratio, and what was wanted."""
    ours, peer = median(comparison.ours), median(comparison.peer)
    print(
        f"{name:44} ours {ours:8.3f} s   peer {peer:8.3f} s   ratio {comparison.ratio:6.1f}   "
        f"{verdict(comparison.ratio, wanted)}",
        flush=True,
    )


def show_figure(name: str, value: float, wanted: float, at_most: bool = True) -> None:
    """One line for a figure that stands alone."""
    print(f"{name:44} {value:6.2f}   {verdict(value, wanted, at_most)}", flush=True)
