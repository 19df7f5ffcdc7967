"""Run the trials of an experiment plan in one or more processes; every record is written immediately.

    records = run(Plan((Contender("multinomial"), Contender("svm")), ("accuracy",), train_sizes=(10, 80)), material,
                  "run.jsonl", jobs=2)

After an interruption, running it again continues where it stopped; records in the file are not repeated. `compare` is
the same for texts and labels in memory.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from unnaive.base.errors import count_noun
from unnaive.base.system import interrupts_blocked
from unnaive.data.corpus import Corpus
from unnaive.data.targets import label_sets, read_targets
from unnaive.evaluation.experiment_documents import Material
from unnaive.evaluation.grids import grids_as_markdown
from unnaive.evaluation.results import Record, RecordFile, RecordKey
from unnaive.evaluation.summaries import PairwiseTest, Summary, pairwise_tests, records_as_json, summarise
from unnaive.evaluation.trials import Contender, ExperimentPlan, Trial, TrialRunner
from unnaive.models.estimator import Model
from unnaive.text.counting import as_texts
from unnaive.text.tokens import TokenRule

TrialProgress = Callable[[int, int, str], None]  # trials done, total number of trials, a description of the last one


@dataclass(frozen=True)
class Comparison:
    """The results of models on the same splits; prints as a table of means and standard deviations.

    records    every measured value: one for each model, split, size and measure
    """

    records: tuple[Record, ...]

    @property
    def summaries(self) -> list[Summary]:
        """Mean and standard deviation of every model and measure over the splits."""
        return summarise(self.records)

    def pairwise_tests(self, against: str | None = None, measure: str | None = None) -> list[PairwiseTest]:
        """Every model against one of them (the first by default) by paired t-tests over the splits."""
        return pairwise_tests(self.records, against=against, measure=measure)

    def render(self, format: str) -> str:
        """The comparison as "html", "md", "json" or "txt"."""
        if format == "html":
            from unnaive.evaluation.comparison_page import comparison_page

            return comparison_page(self.records)
        return records_as_json(self.records) if format == "json" else grids_as_markdown(self.records) + "\n"

    def __str__(self) -> str:
        return grids_as_markdown(self.records)


def compare(
    models: Iterable[str | Model],
    texts: Any,
    labels: Any,
    *,
    measures: Sequence[str] | None = None,
    folds: int = 5,
    select: int | None = None,
    min_df: int = 1,
    token_rule: TokenRule | None = None,
    random_state: int = 0,
    n_jobs: int = 1,
) -> Comparison:
    """Cross-validate models on the same folds of the same texts.

    Parameters
    ----------
    models : iterable of str or estimators
            Names from the catalogue, optionally with settings as in "multinomial:alpha=0.1", or estimators such as
            MultinomialNB(alpha=0.1).
    texts : list of str, or a column of pandas, polars, numpy or Arrow
        The documents.
    labels : sequence
        A label for each text, or a collection of labels for each (multilabel).
    measures : sequence of str, default=None
        Names of measures; None for accuracy (multilabel: micro-f1) and macro-f1.
    folds : int from 2, default=5
        Folds of the cross-validation, stratified by label; documents that copy or quote each other share a fold.
    select : int or None, default=None
            Number of terms to keep, by information gain on the training documents of each fold; None for all.
    min_df : int from 1, default=1
            Minimum number of training documents of a term.
    token_rule : TokenRule or None, default=None
            The token rule; None for the default of TextClassifier.
    random_state : int from 0, default=0
            Random seed of the folds and of the models.
    n_jobs : int from 1, default=1
            Number of processes; results do not depend on it.

    Examples
    --------
    >>> texts = ["good ball", "late goal", "ball and goal", "fair vote", "new law", "vote on a law"]
    >>> labels = ["sport", "sport", "sport", "politics", "politics", "politics"]
    >>> print(compare(["multinomial", "svm"], texts, labels, folds=3, measures=["accuracy"]))
    | accuracy | all terms |
    |---|---|
    | multinomial | **1.0000 ± 0.0000** |
    | svm | **1.0000 ± 0.0000** |
    <BLANKLINE>
    ± is the standard deviation over the splits.
    """
    documents = list(as_texts(texts))
    targets = read_targets(labels, len(documents))
    names = tuple(map(str, targets.classes))
    corpus = Corpus(documents, label_sets(targets.Y, names), name="texts")
    usual = ("micro-f1" if targets.multilabel else "accuracy", "macro-f1")
    plan = ExperimentPlan(
        tuple(_contender(model) for model in models), usual if measures is None else tuple(measures), folds=folds,
        vocabularies=(select,), min_df=min_df, seed=random_state,
    )  # fmt: skip
    return Comparison(tuple(run(plan, Material.of(corpus, token_rule or TokenRule()), jobs=n_jobs)))


def _contender(model: str | Model) -> Contender:
    if isinstance(model, str):
        return Contender.parse(model)
    return Contender(model.traits.name, tuple(sorted(model.changed_settings().items())))


def run(
    plan: ExperimentPlan,
    material: Material,
    path: Path | str | None = None,
    *,
    jobs: int = 1,
    progress: TrialProgress | None = None,
) -> list[Record]:
    """All records of the plan: those in the file at `path`, and the missing ones, which are computed and appended.

    Without a path nothing is stored. `jobs` processes share the work; results do not depend on their number.
    """
    file, runner = None if path is None else RecordFile(path), TrialRunner(material, plan)
    records = _by_trial(file.read() if file is not None else iter(()))
    wanted = [(trial, _key(runner, trial)) for trial in plan.trials()]
    missing = [trial for trial, key in wanted if not set(plan.measures) <= set(records.get(key, {}))]
    done = len(wanted) - len(missing)
    for trial, result in _run_trials(runner, missing, jobs):
        of_trial = records.setdefault(_key(runner, trial), {})
        new = [record for record in result if record.measure not in of_trial]
        if file is not None:
            file.append(new)
        of_trial.update({record.measure: record for record in new})
        done += 1
        if progress is not None:
            progress(done, len(wanted), describe_trial(trial))
    return [records[key][name] for _, key in wanted for name in plan.measures]


def describe_trial(trial: Trial) -> str:
    """A trial on one line, for progress bars.

    >>> from unnaive.evaluation.trials import Contender
    >>> describe_trial(Trial(3, 10.0, 2000, Contender("svm")))
    'svm, split 4, 10 % for training, 2,000 terms'
    """
    parts = [str(trial.contender), f"split {trial.split + 1}"]
    if trial.train_size is not None:
        parts.append(f"{trial.train_size:g} % for training")
    if trial.terms is not None:
        parts.append(count_noun(trial.terms, "term"))
    return ", ".join(parts)


def _key(runner: TrialRunner, trial: Trial) -> RecordKey:
    return Record(**runner.record_fields(trial), measure="", value=None).trial


def _by_trial(records: Iterator[Record]) -> dict[RecordKey, dict[str, Record]]:
    by_trial: dict[RecordKey, dict[str, Record]] = {}
    for record in records:
        by_trial.setdefault(record.trial, {})[record.measure] = record
    return by_trial


def _run_trials(runner: TrialRunner, trials: list[Trial], jobs: int) -> Iterator[tuple[Trial, list[Record]]]:
    """Yield every trial with its records, in the order of completion."""
    if jobs <= 1 or len(trials) <= 1:
        yield from ((trial, runner.records(trial)) for trial in trials)
        return
    yield from _run_in_processes(runner, trials, min(jobs, len(trials)))


def _run_in_processes(runner: TrialRunner, trials: list[Trial], jobs: int) -> Iterator[tuple[Trial, list[Record]]]:
    """The same in several processes, which are terminated if this one is interrupted."""
    others = set(multiprocessing.active_children())
    # spawned, not forked: threads of the kernel and of BLAS do not survive a fork
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_start_worker, initargs=(runner.material, runner.plan)
    )
    queue, running = iter(trials), dict[Future[list[Record]], Trial]()
    try:
        while True:
            with interrupts_blocked():
                for trial in islice(queue, 2 * jobs - len(running)):
                    running[pool.submit(_run_in_worker, trial)] = trial
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


_runner: TrialRunner | None = None  # the runner of a worker process, set when it starts


def _start_worker(material: Material, plan: ExperimentPlan) -> None:
    global _runner
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interruptions
    _runner = TrialRunner(replace(material), plan)


def _run_in_worker(trial: Trial) -> list[Record]:
    if _runner is None:
        raise RuntimeError("a worker was asked for records before it had begun")
    return _runner.records(trial)
