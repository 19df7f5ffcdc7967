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
from dataclasses import dataclass
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
REMOTE_SETTINGS = {"spark.sql.caseSensitive": SETTINGS["spark.sql.caseSensitive"]}
CONNECT = "sc://"  # the beginning of an address of Spark Connect
OURS = re.compile(r"unnaive\.(?:base\.errors|data\.fields\.bad_values)\.(\w+): (.+)")
ABSENT = re.compile(
    r"ModuleNotFoundError: No module named '(unnaive(?:\.\w+)*|numpy|scipy|pyarrow|safetensors|Stemmer)'"
)


def start_session(master: str | None = None) -> Any:
    """The session that is running, or a new one on `master` ("local[*]", "spark://host:7077", "yarn", …)."""
    require_pyspark()
    from pyspark.sql import SparkSession

    running = running_session()
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise executors on this machine use any python3
    builder = SparkSession.builder.appName("unnaive")
    if master is not None and master.startswith(CONNECT):
        builder = builder.config(map=REMOTE_SETTINGS).remote(master)
    else:
        builder = builder.config(map=SETTINGS)
        builder = builder if master is None else builder.master(master)
    try:
        with _without_pandas_warning():
            return builder.getOrCreate()
    except Exception as problem:
        raise UnnaiveError(
            f"Spark could not be started on {master or 'its default master'} ({_first_line(problem)}); check the "
            f"address, and that {_needs_of(master)} installed"
        ) from problem


def _needs_of(master: str | None) -> str:
    """What a session on a master needs on this machine."""
    if master is not None and master.startswith(CONNECT):
        return "a server answers there, and that the extra is installed with: pip install 'pyspark[connect]'; it is"
    return "Java 17 or newer is"


def running_session() -> Any:
    """The session that is running; None if there is none."""
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote as connect_is_used

    if connect_is_used():
        from pyspark.sql.connect.session import SparkSession as RemoteSession

        return RemoteSession.getActiveSession()
    return SparkSession.getActiveSession()


def is_remote(spark: Any) -> bool:
    """Whether a session is one of Spark Connect, which has no Java on this side."""
    return ".connect." in type(spark).__module__


def default_file_system(spark: Any) -> str:
    """The address of the file system of paths without an address."""
    return str(spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS") or "file:///")


@dataclass(frozen=True)
class SentAlong:
    """A value that Spark Connect, which has no broadcast variables, sends with every function that uses it."""

    value: Any

    def unpersist(self) -> None:
        """Nothing is kept on executors."""


def share(spark: Any, value: Any) -> Any:
    """A value for the functions that executors run, which read it as `.value`: sent to each executor once."""
    return SentAlong(value) if is_remote(spark) else spark.sparkContext.broadcast(value)


def require_pyspark() -> None:
    """Raise an error with the install command if pyspark is missing."""
    import_extra("pyspark", "Spark")


def ship(spark: Any) -> None:
    """Send this package to the executors, which then need only its dependencies: numpy, scipy, pyarrow and so on.

    They must have the same system and the same version of Python, because native modules are sent in compiled form.
    """
    from pyspark import SparkFiles

    if is_remote(spark):
        raise UnnaiveError("Spark Connect gets the package from its server; install it on the machines of the cluster")
    # Spark removes this folder when the session ends
    archive = Path(tempfile.mkdtemp(prefix="unnaive-", dir=SparkFiles.getRootDirectory())) / "unnaive.zip"
    home = Path(unnaive.__file__).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(home.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".cpp", ".h"):
                file.write(path, path.relative_to(home))
    # executors unpack it as a folder `unnaive` in the first place where they look for modules
    spark.sparkContext.addArchive(f"{archive}#unnaive")


def default_parallelism(spark: Any) -> int:
    """The number of tasks that run at the same time."""
    if not is_remote(spark):
        return max(1, int(spark.sparkContext.defaultParallelism))
    from pyspark.sql import functions as F

    # a range has as many partitions as tasks can run
    parts = spark.range(1 << 16).select(F.spark_partition_id().alias("part"))
    return 1 + int(parts.agg({"part": "max"}).collect()[0][0])


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
    if "spark.driver.maxResultSize" in message:
        return UnnaiveError(
            "the sums of all terms are larger than spark.driver.maxResultSize, so that the driver does not fetch them; "
            "raise it, such as --conf spark.driver.maxResultSize=4g, or learn fewer terms"
        )
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
    try:
        from py4j.protocol import Py4JError, Py4JJavaError
    except ImportError:  # Spark Connect alone
        return False

    return isinstance(problem, (ConnectionError, Py4JError)) and not isinstance(problem, Py4JJavaError)


@contextmanager
def _without_pandas_warning() -> Iterator[None]:
    """Suppress pyspark's warning about new versions of pandas, which this package does not use here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:200]
