"""Failures on a cluster of two executors of 512 MB: every model is that of an undisturbed run, or the job says why not.

    python tests/scaleout/spark_failures.py [--seconds 180] [--partitions 200]

An executor is killed in every stage of a training, and slow tasks have a second copy (speculation). Other runs have a
partition with nine tenths of the rows, empty partitions, and many partitions. Prints a table of runs, one line for each
that says whether the model is the one of local training; runs that would begin after --seconds are named.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import spark_cluster
from pyspark import cloudpickle

MODELS: dict[str, dict[str, Any]] = {
    "complement": {},
    "sharded-nbsvm": {"shard_size": 60},
    "maxent": {"solver": "gis", "early_stopping": False, "max_iter": 2},
}
SPECULATION = {
    "spark.speculation": "true", "spark.speculation.interval": "100ms", "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.3",
}  # fmt: skip
CALLERS = ("counting", "sharding", "passes")  # the modules with stages in Python
ROUNDING = 1e-11  # of maxent, whose sums are fractions; the others are exact


class Stages:
    """Numbers the stages of a training that run Python, and kills an executor once in one of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.n, self.victim = folder, 0, 0
        from importlib import import_module

        for name in CALLERS:
            module = import_module(f"unnaive.scaleout.spark.{name}")
            vars(module)["map_in_arrow"] = self.wrap(module.map_in_arrow)

    def begin(self, victim: int) -> Path:
        """Start counting again; an executor dies in the stage `victim`, 0 for none, and makes this file."""
        self.n, self.victim = 0, victim
        return self.folder / f"killed-{time.monotonic_ns()}"

    def wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def map_in_arrow(df: Any, function: Any, schema: Any) -> Any:
            self.n += 1
            return original(df, die_once(function, self.flag) if self.n == self.victim else function, schema)

        return map_in_arrow

    flag: Path


def die_once(function: Any, flag: Path) -> Any:
    """The function, in which the executor of the first task is killed after its first batch."""

    def dying(batches: Any) -> Any:
        import os

        for batch in function(batches):
            if not flag.exists():
                flag.touch()
                spark_cluster.kill_executor(os.getpid())
            yield batch

    return dying


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--partitions", type=int, default=200)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--first-stage", type=int, default=1, help="the first stage in which an executor is killed")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    cloudpickle.register_pickle_by_value(spark_cluster)
    with tempfile.TemporaryDirectory(prefix="unnaive-failures-") as folder:
        runs = Runs(Path(folder), arguments.seconds, arguments.models)
        runs.run(arguments.partitions, arguments.first_stage)


class Runs:
    """All runs, in order of importance, until time is over."""

    def __init__(self, folder: Path, seconds: float, models: list[str]) -> None:
        self.models, self.n_wrong = models, 0
        self.spark = spark_cluster.start(folder, memory=512, **SPECULATION)
        self.stages = Stages(folder)
        self.texts, self.labels = spark_cluster.corpus()
        rows = list(zip(self.texts, self.labels, strict=True))
        self.df = self.spark.createDataFrame(rows, "text string, label string").repartition(3)
        self.expected = {name: self.local(name) for name in models}
        self.end = time.monotonic() + seconds

    def local(self, name: str) -> Any:
        """The scores of local training, with the terms in order, as on Spark."""
        from unnaive import TextClassifier

        return TextClassifier(name, **MODELS[name]).fit(self.texts, self.labels).fitted_.scores(self.texts)

    def run(self, n_partitions: int, first_stage: int) -> None:
        """Train in every way, and end with 1 if a model is another one."""
        say(f"{'model':14} {'what happened':44} {'result':28} seconds")
        n_stages = {name: self.train(name, "nothing", self.df) for name in self.models}
        skewed = self.df.coalesce(1).union(self.df.limit(0).repartition(4))
        for name in self.models[:2]:
            self.train(name, "all rows in one partition, four empty", skewed)
        for name, number in n_stages.items():
            for victim in range(first_stage, number + 1):
                self.train(name, f"an executor killed in stage {victim} of {number}", self.df, victim)
        self.train(self.models[0], f"{n_partitions:,} partitions", self.df.repartition(n_partitions))
        self.spark.stop()
        sys.exit(1 if self.n_wrong else 0)

    def train(self, name: str, what: str, df: Any, victim: int = 0) -> int:
        """Train and print a line; the number of stages."""
        import unnaive.spark
        from unnaive import UnnaiveError

        began = time.monotonic()
        if began > self.end:
            say(f"{name:14} {what:44} not run, the time was over")
            return 0
        self.stages.flag = self.stages.begin(victim)
        try:
            scores = unnaive.spark.fit(df, model=name, **MODELS[name]).fitted_.scores(self.texts)
        except UnnaiveError as problem:
            result = f"refused: {problem}"
        except Exception as problem:  # a job that Spark gave up, which is clear too
            result = f"the job failed: {str(problem).splitlines()[0][:60]}"
        else:
            difference = float(np.abs(scores - self.expected[name]).max())
            same = (
                difference <= ROUNDING * float(np.abs(self.expected[name]).max())
                if name == "maxent"
                else not difference
            )
            result = "the same model" if same else f"ANOTHER MODEL ({difference:.1e})"
            self.n_wrong += not same
            if victim and not self.stages.flag.exists():
                result += ", none was killed"
        say(f"{name:14} {what:44} {result:28} {time.monotonic() - began:.1f}")
        return self.stages.n


if __name__ == "__main__":
    main()
