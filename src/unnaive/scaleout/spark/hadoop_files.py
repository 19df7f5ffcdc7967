"""Files at addresses such as hdfs:// and viewfs://, read and written by the driver through Hadoop's file system.

A file is copied beside its target and then replaces it by one rename of a file, which overwrites in one step. Folders
are never renamed. A file system without such a rename, as some object stores, shows a file only when it is complete.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.atomic_files import LEFT_OVER, replacing
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.open_files import is_address
from unnaive.classifier.model_file import START, as_fitted, check_writable, load_model, starts_as_model
from unnaive.classifier.model_file import save as save_here
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.scaleout.spark.spark_session import is_remote, running_session

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel


@dataclass(frozen=True)
class HadoopFiles:
    """The file systems that a session knows, by address."""

    spark: Any

    def exists(self, address: str) -> bool:
        """Whether there is a file or folder."""
        with self._on(address) as (files, path):
            return bool(files.exists(path))

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder; none if there is no folder."""
        with self._on(folder) as (files, path):
            return [entry.getPath().getName() for entry in files.listStatus(path)] if files.exists(path) else []

    def delete(self, address: str) -> None:
        """Delete a file, if it exists."""
        with self._on(address) as (files, path):
            files.delete(path, False)

    def check_writable(self, address: str) -> None:
        """Raise an error if a folder, or a file that is not a model, has this address."""
        with self._on(address) as (files, path):
            if not files.exists(path):
                return
            if files.getFileStatus(path).isDirectory():
                raise UnnaiveError(f"{address} is a folder; name a file")
            stream = files.open(path)
            try:
                start = bytes(stream.readNBytes(START))
            finally:
                stream.close()
        if start and not starts_as_model(start):
            raise UnnaiveError(f"{address} exists and is not a model; name another file, or remove that one")

    @contextmanager
    def fetched(self, address: str) -> Iterator[Path]:
        """A copy of the file on this machine, for as long as the block runs."""
        with tempfile.TemporaryDirectory(prefix="unnaive-") as folder:
            copy = Path(folder) / (address.rstrip("/").rpartition("/")[2] or "file")
            with self._on(address) as (files, path):
                if not files.exists(path):
                    raise BadData(f"there is no file {address}; check the address")
                if files.getFileStatus(path).isDirectory():
                    raise BadData(f"{address} is a folder; name a file in it")
                files.copyToLocalFile(False, path, self._path(f"file://{copy}"), True)
            yield copy

    def place(self, local: Path, address: str) -> None:
        """Copy a file of this machine to an address; readers see the old file or the whole new one."""
        with self._on(address) as (files, path):
            folder, name = path.getParent(), path.getName()
            files.mkdirs(folder)
            self._remove_leftovers(files, folder, name)
            temporary = self._path(f"{folder}/.{name}.{os.urandom(4).hex()}.tmp")
            try:
                files.copyFromLocalFile(False, True, self._path(f"file://{local.resolve()}"), temporary)
                self._replace(files, temporary, path)
            finally:
                with suppress(Exception):  # it is gone, or the connection is
                    files.delete(temporary, False)

    def _replace(self, files: Any, temporary: Any, path: Any) -> None:
        from py4j.protocol import Py4JJavaError

        hadoop = self._jvm.org.apache.hadoop.fs
        rename = getattr(hadoop, "Options$Rename")
        options = self.spark.sparkContext._gateway.new_array(rename, 1)
        options[0] = rename.OVERWRITE
        try:
            context = hadoop.FileContext.getFileContext(files.makeQualified(path).toUri(), self._configuration)
        except Py4JJavaError:  # an object store without a FileContext
            files.delete(path, False)
            files.rename(temporary, path)
        else:
            context.rename(temporary, path, options)

    @staticmethod
    def _remove_leftovers(files: Any, folder: Any, name: str) -> None:
        """Delete temporary files of this name that killed writers left."""
        for entry in files.listStatus(folder):
            left = entry.getPath().getName()
            age = time.time() - entry.getModificationTime() / 1000
            if left.startswith(f".{name}.") and left.endswith(".tmp") and age > LEFT_OVER:
                files.delete(entry.getPath(), False)

    @contextmanager
    def _on(self, address: str) -> Iterator[tuple[Any, Any]]:
        """(the file system of an address, its path); a Java error becomes one sentence."""
        from py4j.protocol import Py4JJavaError

        try:
            path = self._path(address)
            yield path.getFileSystem(self._configuration), path
        except Py4JJavaError as problem:
            message = str(problem.java_exception.getMessage() or problem.java_exception.toString())
            raise UnnaiveError(
                f"Hadoop cannot use {address} ({message.splitlines()[0][:200]}); check the address, and the file "
                "systems that Spark is configured for"
            ) from problem

    def _path(self, address: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(address)

    @property
    def _jvm(self) -> Any:
        if self.spark is None:
            raise UnnaiveError("an address needs a running session; start one with unnaive.spark.start_session()")
        if is_remote(self.spark):
            raise UnnaiveError("Spark Connect gives no access to Hadoop's file system; name a file on this machine")
        return self.spark._jvm

    @property
    def _configuration(self) -> Any:
        return self.spark._jsparkSession.sessionState().newHadoopConf()


class LocalFiles:
    """The same for paths of this machine."""

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder; none if there is no folder."""
        return [path.name for path in Path(folder).iterdir()] if Path(folder).exists() else []

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""
        Path(path).unlink(missing_ok=True)

    @contextmanager
    def fetched(self, path: str) -> Iterator[Path]:
        """The file itself."""
        yield Path(path)

    def place(self, local: Path, path: str) -> None:
        """Copy a file; readers see the old file or the whole new one."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with local.open("rb") as source, replacing(Path(path)) as target:
            shutil.copyfileobj(source, target)


def place_of(path: str | Path) -> Path | str:
    """A path of this machine as a Path, and an address of another file system as it is.

    >>> place_of("file:///data/a.model"), place_of("viewfs://cluster/a.model")
    (PosixPath('/data/a.model'), 'viewfs://cluster/a.model')
    """
    text = str(path)
    if text.startswith("file:///"):
        return Path(text.removeprefix("file://"))
    return text if is_address(text) else Path(path)


def files_at(spark: Any, path: str) -> HadoopFiles | LocalFiles:
    """The files of this machine, or those that the session reads, depending on the path."""
    return HadoopFiles(spark) if isinstance(place_of(path), str) else LocalFiles()


def check_model_target(spark: Any, path: str | Path) -> None:
    """Raise an error if a model cannot be written to a file or an address."""
    place = place_of(path)
    if isinstance(place, str):
        HadoopFiles(spark).check_writable(place)
    else:
        check_writable(place)


@contextmanager
def model_to_write(spark: Any, path: str | Path) -> Iterator[Path]:
    """The file of this machine to write a model to, which is placed at its address when the block ends."""
    place = place_of(path)
    if isinstance(place, Path):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="unnaive-") as folder:
        yield Path(folder) / "model"
        HadoopFiles(spark).place(Path(folder) / "model", place)


@contextmanager
def model_to_read(spark: Any, path: str | Path) -> Iterator[Path]:
    """The file of a model, or a copy of the one at an address; errors name the address."""
    place = place_of(path)
    if isinstance(place, Path):
        yield place
        return
    with HadoopFiles(spark).fetched(place) as copy:
        try:
            yield copy
        except UnnaiveError as problem:
            raise type(problem)(str(problem).replace(str(copy), place)) from problem


def read_model(spark: Any, model: Any) -> FittedModel:
    """The FittedModel of a file here, of a file at an address, or of a TextClassifier."""
    if not (isinstance(model, str) and is_address(model)):
        return as_fitted(model)
    with model_to_read(spark, model) as file:
        return load_model(file)


def save(model: Any, path: str | Path, *, frozen: bool = False) -> None:
    """Write a model to a file, here or at an address such as hdfs://namenode:8020/tickets.model.

    Parameters
    ----------
    model : TextClassifier or FittedModel
        A trained model.
    path : str or Path
        The file. An existing one is replaced, in one step, if it is a model.
    frozen : bool, default=False
        Whether to leave out what only updates use.
    """
    spark = running_session()
    check_model_target(spark, path)
    with model_to_write(spark, path) as file:
        save_here(as_fitted(model), file, frozen=frozen)


def load(path: str | Path) -> TextClassifier:
    """Load the model in a file, here or at an address such as hdfs://namenode:8020/tickets.model.

    Parameters
    ----------
    path : str or Path
        The model file.
    """
    return TextClassifier.from_fitted(read_model(running_session(), path))
