"""The Spark session: start it, send this package to the executors, translate executors' errors."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import unnaive
from unnaive.base import errors
from unnaive.base.errors import UnnaiveError
from unnaive.base.extras import import_extra

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.caseSensitive": "true",  # a file may have the columns Text and text
    # if a thread of the driver runs out of memory, Python would wait for an answer forever
    "spark.driver.defaultJavaOptions": "-XX:+ExitOnOutOfMemoryError",
}
OURS = re.compile(r"unnaive\.(?:base\.errors|data\.fields\.bad_values)\.(\w+): (.+)")
ABSENT = re.compile(
    r"ModuleNotFoundError: No module named '(unnaive(?:\.\w+)*|numpy|scipy|pyarrow|safetensors|Stemmer)'"
)


def start_session(master: str | None = None) -> Any:
    """The session that is running, or a new one on `master` ("local[*]", "spark://host:7077", "yarn", …)."""
    require_pyspark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise executors on this machine use any python3
    builder = SparkSession.builder.appName("unnaive").config(map=SETTINGS)
    if master is not None:
        builder = builder.master(master)
    try:
        with _without_pandas_warning():
            return builder.getOrCreate()
    except Exception as problem:
        raise UnnaiveError(
            f"Spark could not be started on {master or 'its default master'} ({_first_line(problem)}); check the "
            "address, and that Java 17 or newer is installed"
        ) from problem


def require_pyspark() -> None:
    """Raise an error with the install command if pyspark is missing."""
    import_extra("pyspark", "Spark")


def ship(spark: Any) -> None:
    """Send this package to the executors, which then need only its dependencies: numpy, scipy, pyarrow and so on.

    They must have the same system and the same version of Python, because native modules are sent in compiled form.
    """
    archive = Path(tempfile.mkdtemp(prefix="unnaive-")) / "unnaive.zip"
    home = Path(unnaive.__file__).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(home.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".cpp", ".h"):
                file.write(path, path.relative_to(home))
    # executors unpack it as a folder `unnaive` in the first place where they look for modules
    spark.sparkContext.addArchive(f"{archive}#unnaive")


def default_parallelism(df: Any) -> int:
    """The number of tasks that run at the same time."""
    return max(1, int(df.sparkSession.sparkContext.defaultParallelism))


def map_in_arrow(df: Any, function: Any, schema: Any) -> Any:
    """`df.mapInArrow(function, schema)`."""
    with _without_pandas_warning():
        return df.mapInArrow(function, schema)


@contextmanager
def reading_errors() -> Iterator[None]:
    """Run a Spark job; an error of this package on an executor is raised here as the same error."""
    try:
        with _without_pandas_warning():
            yield
    except Exception as problem:
        if _driver_has_ended(problem):
            raise UnnaiveError(
                "Spark's driver has ended, most often because it ran out of memory; give it more with "
                "spark.driver.memory in spark-defaults.conf or PYSPARK_SUBMIT_ARGS='--driver-memory 4g "
                "pyspark-shell'"
            ) from problem
        translated = translate(str(problem))
        if translated is None:
            raise
        raise translated from problem


def translate(message: str) -> UnnaiveError | None:
    """The error of this package in the message of a failed job; None if there is none.

    >>> translate("... unnaive.base.errors.BadData: a label is 0.5; give names\\n at ...")
    BadData('a label is 0.5; give names')
    >>> translate("... unnaive.data.fields.bad_values.BadRecord: the age is 'old'; correct it\\n at ...")
    BadData("the age is 'old'; correct it")
    >>> print(translate("ModuleNotFoundError: No module named 'unnaive'"))
    the executors have no module unnaive; install unnaive there, or send it along with --set ship=true
    (unnaive.spark.ship)
    """
    ours = OURS.search(message)
    if ours:
        kind = getattr(errors, ours[1], errors.BadData)  # an error about the value of a field is one of bad data
        return kind(ours[2].strip()) if issubclass(kind, UnnaiveError) else UnnaiveError(ours[2].strip())
    absent = ABSENT.search(message)
    if absent and absent[1].startswith("unnaive"):
        return UnnaiveError(
            f"the executors have no module {absent[1]}; install unnaive there, or send it along with --set ship=true "
            "(unnaive.spark.ship)"
        )
    if absent:
        return UnnaiveError(
            f"the executors have no module {absent[1]}; install unnaive there with: pip install unnaive"
        )
    return None


def _driver_has_ended(problem: Exception) -> bool:
    """Whether the driver process has ended: py4j reports an error without a Java error."""
    from py4j.protocol import Py4JError, Py4JJavaError

    return isinstance(problem, (ConnectionError, Py4JError)) and not isinstance(problem, Py4JJavaError)


@contextmanager
def _without_pandas_warning() -> Iterator[None]:
    """Suppress pyspark's warning about new versions of pandas, which this package does not use here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:200]
