"""Intermediate results of an interrupted audit: scores of folds in files, from which the same audit continues."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from unnaive.base.atomic_files import replacing
from unnaive.base.types import Floats, Sparse

PATIENCE = 5.0  # seconds of work before anything is written; a short audit writes nothing


class Unfinished:
    """A folder with the scores of every finished fold; it exists only until the audit is complete.

    File names contain a digest of documents, labels and seed, so that scores of other data are never used.

    >>> import tempfile
    >>> from scipy.sparse import csr_array
    >>> kept = Unfinished(Path(tempfile.mkdtemp()) / "unfinished", patience=0)
    >>> kept.begin(csr_array([[1.0]]), csr_array([[1.0]]), seed=0)
    >>> kept.scores("0", (1, 1), lambda: np.array([[2.0]])), kept.scores("0", (1, 1), lambda: np.array([[9.0]]))
    (array([[2.]]), array([[2.]]))
    >>> kept.number
    1
    """

    def __init__(self, folder: Path, *, patience: float = PATIENCE) -> None:
        self.folder, self.patience = folder, patience
        self._digest, self._started = "", time.monotonic()

    def begin(self, X: Sparse, Y: Sparse, seed: int) -> None:
        """Name the data: documents X and labels Y, both csr_array."""
        digest = hashlib.sha256(f"{seed} {X.shape} {Y.shape}".encode())
        for table in (X, Y):
            for one in (table.indptr, table.indices, table.data):
                digest.update(np.ascontiguousarray(one).tobytes())
        self._digest, self._started = digest.hexdigest()[:24], time.monotonic()

    def scores(self, name: str, shape: tuple[int, int], compute: Callable[[], Floats]) -> Floats:
        """The scores called `name` (n_docs, n_classes), read from their file, or computed and stored."""
        path = self.folder / f"{self._digest}-{name}.npy"
        with suppress(OSError, ValueError, EOFError):  # a damaged file is ignored
            found = np.load(path, allow_pickle=False)
            if found.shape == shape and found.dtype == np.float64:
                return np.asarray(found)
        made = compute()
        if time.monotonic() - self._started >= self.patience:
            with suppress(OSError):  # a full disk must not stop the audit
                self.folder.mkdir(parents=True, exist_ok=True)
                with replacing(path) as file:
                    np.save(file, np.asarray(made, np.float64), allow_pickle=False)
        return made

    @property
    def number(self) -> int:
        """The number of stored folds of this data."""
        return len(list(self.folder.glob(f"{self._digest}-*.npy"))) if self._digest else 0

    def remove(self) -> None:
        """Remove the files after the audit; other files in the folder, and then the folder too, are kept."""
        for path in self.folder.glob("*-*.npy"):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()
