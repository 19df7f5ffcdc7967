"""Keep the scores of finished folds in files, so that an interrupted audit can be continued.

A journal has the checksum of each file; scores that are not what was written are computed again.
"""

from __future__ import annotations

import hashlib
import time
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import numpy as np

from unnaive.base.atomic_files import replacing
from unnaive.base.damage import RecordKind
from unnaive.base.errors import UnnaiveWarning
from unnaive.base.journal import Journal
from unnaive.base.types import Floats, Sparse

JOURNAL = "folds.jsonl"
KIND = RecordKind("a record of an unfinished audit", "the data are as they were", "remove the folder to start again")
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
        checksum = self._checksums().get(path.name)
        if checksum is not None:
            with suppress(OSError, ValueError, EOFError):
                raw = path.read_bytes()
                if zlib.crc32(raw) == checksum:
                    stored: Floats = np.load(BytesIO(raw), allow_pickle=False)
                    if stored.shape == shape:
                        return stored
            warnings.warn(
                f"{path} is damaged (wrong checksum); its scores are computed again",
                UnnaiveWarning,
                stacklevel=2,
            )
        computed = compute()
        if time.monotonic() - self._started >= self.patience:
            with suppress(OSError):  # a full disk must not stop the audit
                self._keep(path, computed)
        return computed

    def _keep(self, path: Path, scores: Floats) -> None:
        buffer = BytesIO()
        np.save(buffer, np.asarray(scores, np.float64), allow_pickle=False)
        raw = buffer.getvalue()
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(raw)
        self._journal.append([{"file": path.name, "checksum": zlib.crc32(raw)}])

    @property
    def _journal(self) -> Journal:
        return Journal(self.folder / JOURNAL, KIND)

    def _checksums(self) -> dict[str, int]:
        """The checksum of each stored file of this data."""
        rows = self._journal.read()
        return {row["file"]: row["checksum"] for row in rows if row["file"].startswith(f"{self._digest}-")}

    @property
    def number(self) -> int:
        """The number of stored folds of this data."""
        return len(self._checksums()) if self._digest else 0

    def remove(self) -> None:
        """Remove the files after the audit, and the folder if it is then empty."""
        for path in (*self.folder.glob("*-*.npy"), self.folder / JOURNAL):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()
