"""Random splits for the papers that average over them: the records of a plan, and their mean and standard deviation."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unnaive.evaluation.experiments import run as run_plan
from unnaive.evaluation.papers.tables import Run
from unnaive.evaluation.records import Record
from unnaive.evaluation.trials import Contender, Material, Plan


def swept(run: Run, material: Material, plan: Plan) -> list[Record]:
    """The records of a plan, with the processes of this run; kept in its folder of records if it has one."""

    def tell(done: int, total: int, words: str) -> None:
        run.tell(f"{material.name}: {done} of {total}, {words}")

    if run.records is not None:
        path = run.records / f"{material.name}.jsonl"
        return run_plan(plan, material, path, jobs=run.jobs, progress=tell)
    with tempfile.TemporaryDirectory() as folder:
        return run_plan(plan, material, Path(folder) / "records.jsonl", jobs=run.jobs, progress=tell)


def values_by_split(
    records: Sequence[Record], contender: Contender, measure: str, *, size: float, terms: int | None = None
) -> list[float]:
    """What a contender reached in each split, in their order."""
    return [
        record.value
        for record in sorted(records, key=lambda record: record.split)
        if (record.model, record.parameters) == (contender.model, dict(contender.settings))
        and (record.measure, record.train_size, record.terms) == (measure, size, terms)
        and record.value is not None
    ]


def mean_and_spread(
    records: Sequence[Record], contender: Contender, measure: str, *, size: float, terms: int | None = None
) -> tuple[float, float]:
    """Mean and standard deviation (divisor n − 1) over the splits."""
    return centre(values_by_split(records, contender, measure, size=size, terms=terms))


def centre(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (divisor n − 1).

    >>> centre([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
