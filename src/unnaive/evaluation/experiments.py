"""Experiments: a plan of trials run in one or more processes, every record written as it is made, and their summary.

    records = run(Plan((Contender("multinomial"), Contender("svm")), ("accuracy",), train_sizes=(10, 80)), material,
                  "run.jsonl", jobs=2)

Run again after an interruption it goes on where it stopped; what is in the file is not repeated.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from unnaive.evaluation.records import Key, Record, RecordFile
from unnaive.evaluation.trials import Bench, Material, Plan, Trial

Progress = Callable[[int, int, str], None]  # trials done, trials in all, the last one in words


def run(
    plan: Plan, material: Material, path: Path | str, *, jobs: int = 1, progress: Progress | None = None
) -> list[Record]:
    """All records of the plan: those that the file at `path` has, and the missing ones, which are added to it.

    `jobs` processes share the work; the numbers are the same whatever their number.
    """
    file, bench = RecordFile(path), Bench(material, plan)
    there = _by_trial(file.read())
    wanted = [(trial, _key(bench, trial)) for trial in plan.trials()]
    missing = [trial for trial, key in wanted if not set(plan.measures) <= set(there.get(key, {}))]
    done = len(wanted) - len(missing)
    for trial, made in _made(bench, missing, jobs):
        known = there.setdefault(_key(bench, trial), {})
        new = [record for record in made if record.measure not in known]
        file.append(new)
        known.update({record.measure: record for record in new})
        done += 1
        if progress is not None:
            progress(done, len(wanted), in_words(trial))
    return [there[key][name] for _, key in wanted for name in plan.measures]


def in_words(trial: Trial) -> str:
    """A trial on one line.

    >>> from unnaive.evaluation.trials import Contender
    >>> in_words(Trial(3, 10.0, 2000, Contender("svm")))
    'svm, split 4, 10 % for training, 2,000 terms'
    """
    parts = [str(trial.contender), f"split {trial.split + 1}"]
    if trial.train_size is not None:
        parts.append(f"{trial.train_size:g} % for training")
    if trial.terms is not None:
        parts.append(f"{trial.terms:,} terms")
    return ", ".join(parts)


def _key(bench: Bench, trial: Trial) -> Key:
    return Record(**bench.blank(trial), measure="", value=None).trial


def _by_trial(records: Iterator[Record]) -> dict[Key, dict[str, Record]]:
    found: dict[Key, dict[str, Record]] = {}
    for record in records:
        found.setdefault(record.trial, {})[record.measure] = record
    return found


def _made(bench: Bench, trials: list[Trial], jobs: int) -> Iterator[tuple[Trial, list[Record]]]:
    """Every trial with its records, in the order in which they finish."""
    if jobs <= 1 or len(trials) <= 1:
        yield from ((trial, bench.records(trial)) for trial in trials)
        return
    yield from _made_by_processes(bench, trials, min(jobs, len(trials)))


def _made_by_processes(bench: Bench, trials: list[Trial], jobs: int) -> Iterator[tuple[Trial, list[Record]]]:
    """The same from several processes; when this one is interrupted, they are ended at once."""
    others = set(multiprocessing.active_children())
    # spawned, not forked: threads of the kernel and of BLAS do not survive a fork
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(bench.material, bench.plan))
    queue, running = iter(trials), dict[Future[list[Record]], Trial]()
    try:
        while True:
            with _deaf():
                for trial in islice(queue, 2 * jobs - len(running)):
                    running[pool.submit(_records, trial)] = trial
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes started meanwhile never hear of Ctrl-C, not even while they import; this one hears of it after."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_bench: Bench | None = None  # of a worker process, set when it begins


def _begin(material: Material, plan: Plan) -> None:
    global _bench
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sees to an interruption
    _bench = Bench(replace(material), plan)


def _records(trial: Trial) -> list[Record]:
    if _bench is None:
        raise RuntimeError("a worker was asked for records before it had begun")
    return _bench.records(trial)
