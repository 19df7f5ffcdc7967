"""The progress bar on stderr, or a line every ten seconds where there is no terminal, with the remaining time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unnaive.apps.common.screen import echo, is_quiet, show_event

PATIENCE = 1.0  # seconds before a progress bar shows
LINE_EVERY = 10.0  # seconds between two lines where there is no terminal
UNIT = 0.5  # seconds for one unit of work of auto: processor seconds, of which two cores do two in a second
OVERRUN = 0.1  # pending work continues for at least this share of the time that it has taken
TRUST = 0.1  # weight of the expected pace against the measured one, as a share of the step
LEAST_SHARE = 0.03  # share of a step that must be done before the remaining time is estimated
TUNING = "tuning on documents held out"


class Progress:
    """A line of progress on stderr, once the work takes longer than a second.

    If stderr is not a terminal, it prints a new line about every ten seconds, unless `in_logs` is False. With `steps`
    it counts them: each `rename` begins the next.
    """

    def __init__(
        self, title: str = "", total: float | None = None, *, steps: int | None = None, in_logs: bool = True
    ) -> None:
        self._steps, self._step, self._in_logs = steps, 0, in_logs
        self._base = self._name_step(title) if title else ""
        self._title, self._total, self._done = self._base, total, 0.0
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._over = False
        self._began = time.monotonic()
        self._pace = self._began, 0.0  # the time and the progress of the first report of the step
        self._at, self._pending, self._unit = self._began, 0.0, None  # type: float, float, float | None

    def __enter__(self) -> Progress:
        if not is_quiet():
            if sys.stderr.isatty():
                self._wait(PATIENCE, self._show)
            elif self._in_logs:
                self._wait(LINE_EVERY, self._print_line)
        return self

    def _wait(self, seconds: float, act: Callable[[], None]) -> None:
        self._timer = threading.Timer(seconds, act)
        self._timer.daemon = True
        self._timer.start()

    def _print_line(self) -> None:
        """One line for a log: the task, its progress, and the time so far."""
        with self._lock:
            if self._over:
                return
            now = time.monotonic()
            left, share = self.estimate_left(), self._share(now)
            echo(describe_progress(self._title, share, self._total and 1.0, now - self._began, left), err=True)
            self._wait(LINE_EVERY, self._print_line)

    def estimate_left(self) -> float | None:
        """The estimated remaining seconds of the step; None if unknown."""
        now = time.monotonic()
        begun, before = self._pace
        return seconds_left(
            self._done, self._total, now - begun, before, pending=self._pending, since=now - self._at, unit=self._unit
        )

    def _share(self, now: float) -> float:
        """The share of the step that is done, including the estimated progress of pending work."""
        if not self._total:
            return 0.0
        left, spent = self.estimate_left(), now - self._pace[0]
        if self._unit is None or left is None:
            return self._done / self._total
        before = self._pace[1] / self._total
        return before + (1 - before) * spent / max(spent + left, 1e-9)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TimeElapsedColumn
        from rich.table import Column

        with self._lock:
            if self._over:
                return
            whole = Column(no_wrap=True)  # a column that a narrow terminal does not shorten
            columns = (
                SpinnerColumn(), title_column(), BarColumn(20, table_column=Column(width=20)),
                TaskProgressColumn(table_column=whole), TimeElapsedColumn(whole), _remaining_column(self, whole),
            )  # fmt: skip
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._title, total=self._total, completed=self._done)
            self._bar.start()

    def advance(self, amount: float) -> None:
        """Add this amount to the progress."""
        with self._lock:
            self._done += amount
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)

    def rename(self, title: str, total: float | None = None) -> None:
        """Start another task."""
        with self._lock:
            self._base, self._total = self._name_step(title), None
            self._put(self._base, total, 0.0)

    def _name_step(self, title: str) -> str:
        if self._steps is None:
            return title
        self._step += 1
        return f"{self._step}/{self._steps} {title}"

    def _put(self, title: str, total: float | None, done: float, pending: float | None = None) -> None:
        now, progress = time.monotonic(), (total, done, pending or 0.0)
        if progress != (self._total, self._done, self._pending):  # otherwise the pending work continues
            self._at = now
        self._pending, self._unit = pending or 0.0, None if pending is None else UNIT
        if self._total is None:
            self._pace = now, done
        self._title, self._total, self._done = title, total, done
        if self._bar is not None:
            self._bar.update(self._task, description=title, total=total, completed=done)

    def event(self, name: str, details: dict[str, Any]) -> None:
        """Show an event of a workflow: a step, its progress or a note; or of a learner: its task and progress."""
        if name == "step":
            if details["steps"] is not None:
                self._steps, self._step = details["steps"], 0
            self.rename(details["title"], details["total"])
            return
        if name == "advance":
            self.advance(details["amount"])
            return
        if name in ("note", "read"):
            show_event(name, details)
            return
        words, done, total = find_progress(details)
        title = f"{self._base}{f', {TUNING}' if name == 'tuning' else ''}{words}"
        with self._lock:
            self._put(title, total, done, details.get("pending"))


def title_column() -> Any:
    """The column of a bar with its title, on one line: only this column is shortened where the terminal is narrow."""
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Title(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(task.description, no_wrap=True, overflow="ellipsis")

    return Title()


def _remaining_column(bar: Progress, column: Any) -> Any:
    """The column of a bar with the remaining time of the step."""
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Remaining(ProgressColumn):
        def render(self, task: Any) -> Text:
            left = bar.estimate_left()
            return Text("-:--" if left is None else _minutes(left), style="progress.remaining")

    return Remaining(column)


def seconds_left(
    done: float, total: float | None, seconds: float, before: float = 0.0, *, pending: float = 0.0, since: float = 0.0,
    unit: float | None = None,
) -> float | None:  # fmt: skip
    """Estimate the remaining seconds of a step; None if the total is unknown or nearly nothing is done.

    done     the part of `total` that was done at the last report, `since` seconds ago
    seconds  time since the first report, when `before` was done
    pending  the part of `total` that is in progress: it is assumed to run at the pace so far, or slower once it takes
             longer than that, and to continue for at least a tenth of the time since the last report
    unit     expected seconds for one unit of `total`; it weighs as much as a tenth of the step at the measured pace

    >>> seconds_left(1, 4, 10.0), seconds_left(2, 4, 10.0, before=1), seconds_left(0, 4, 10.0), seconds_left(1, None, 9)
    (30.0, 20.0, None, None)
    >>> [seconds_left(40, 100, 40 + since, pending=30, since=since, unit=1.0) for since in (0, 10, 30, 46)]
    [60.0, 50.0, 33.0, 40.6]
    """
    if not total or (unit is None and done - before < LEAST_SHARE * total):
        return None
    trust = 0.0 if unit is None else TRUST * total
    expected = trust * (unit or 0.0)
    work = done - before + trust
    pace = max((seconds - since + expected) / work, (seconds + expected) / (work + pending))
    rest = max(pending * pace - since, OVERRUN * since) if pending else 0.0
    return max(total - done - pending, 0.0) * pace + rest


def describe_progress(title: str, done: float, total: float | None, seconds: float, left: float | None = None) -> str:
    """Progress in a line for a log; `left` is the remaining time of the step, if known.

    >>> describe_progress("2/3 learning auto, trying NB-SVM on words", 3, 48, 70, 95.2)
    '… 2/3 learning auto, trying NB-SVM on words, 6 %, 1:10 so far, about 1:35 left of this step'
    >>> describe_progress("reading", 0, None, 10.2)
    '… reading, 0:10 so far'
    """
    share = f", {100 * min(done / total, 1):.0f} %" if total else ""
    rest = "" if left is None else f", about {_minutes(left)} left of this step"
    return f"… {title}{share}, {_minutes(seconds)} so far{rest}"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def find_progress(details: dict[str, Any]) -> tuple[str, float, float | None]:
    """A report of a learner in words, and its progress and total: None if unknown before the end.

    >>> find_progress({"class": 3, "classes": 10, "log_likelihood": -1.5})
    (', class 4 of 10', 3, 10)
    >>> find_progress({"iteration": 7, "max_iter": 1000}), find_progress({"iteration": 7})
    ((', round 7 of at most 1,000', 0.0, None), (', round 7', 0.0, None))
    >>> find_progress({"iteration": 7, "share": 0.25})
    (', round 7', 0.25, 1.0)
    >>> find_progress({"what": "trying NB-SVM on words", "work": 3.0, "total_work": 8.0})
    (', trying NB-SVM on words', 3.0, 8.0)
    """
    if "work" in details:
        return f", {details['what']}", details["work"], details["total_work"]
    for unit, total in (("fold", "folds"), ("class", "classes")):
        if unit in details and details.get(total) is not None:
            return f", {unit} {details[unit] + 1:,} of {details[total]:,}", details[unit], details[total]
    if "iteration" not in details:
        return "", 0.0, None
    if "share" in details:
        return f", round {details['iteration']:,}", details["share"], 1.0
    most = details.get("max_iter")
    limit = "" if most is None else f" of at most {most:,}"
    return f", round {details['iteration']:,}{limit}", 0.0, None


@contextmanager
def reading_progress(
    source: Any, title: str = "reading", *, steps: int | None = None, in_logs: bool = True
) -> Iterator[tuple[Any, Progress]]:
    """The source, watched by a progress bar that knows the size of the file."""
    from dataclasses import replace

    files = [Path(path) for path in source.files()]
    total = sum(path.stat().st_size for path in files) if all(path.is_file() for path in files) else None
    with Progress(title, total, steps=steps, in_logs=in_logs) as bar:
        yield replace(source, options=replace(source.options, on_read=bar.advance)), bar
