"""Keep the scores of finished folds in files, so that an interrupted audit can be continued."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from unnaive.base.atomic_files import replacing
from unnaive.base.types import Floats, Sparse

PATIENCE = 5.0  # seconds before the first file is written; a shorter audit writes none


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
        """Identify the data by a digest of documents X, labels Y (both csr_array) and seed."""
        digest = hashlib.sha256(f"{seed} {X.shape} {Y.shape}".encode())
        for table in (X, Y):
            for array in (table.indptr, table.indices, table.data):
                digest.update(np.ascontiguousarray(array).tobytes())
        self._digest, self._started = digest.hexdigest()[:24], time.monotonic()

    def scores(self, name: str, shape: tuple[int, int], compute: Callable[[], Floats]) -> Floats:
        """Read the scores called `name` (n_docs, n_classes) from their file, or compute and store them."""
        path = self.folder / f"{self._digest}-{name}.npy"
        with suppress(OSError, ValueError, EOFError):  # a damaged file is ignored
            stored = np.load(path, allow_pickle=False)
            if stored.shape == shape and stored.dtype == np.float64:
                return np.asarray(stored)
        computed = compute()
        if time.monotonic() - self._started >= self.patience:
            with suppress(OSError):  # a full disk must not stop the audit
                self.folder.mkdir(parents=True, exist_ok=True)
                with replacing(path) as file:
                    np.save(file, np.asarray(computed, np.float64), allow_pickle=False)
        return computed

    @property
    def number(self) -> int:
        """The number of stored folds of this data."""
        return len(list(self.folder.glob(f"{self._digest}-*.npy"))) if self._digest else 0

    def remove(self) -> None:
        """Remove the files after the audit, and the folder if it is then empty."""
        for path in self.folder.glob("*-*.npy"):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()
