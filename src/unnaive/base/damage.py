"""What every damaged record of unfinished work says: what is damaged, what is safe, what to do."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData

LONGEST = 120  # characters of a reason


@dataclass(frozen=True)
class RecordKind:
    """A kind of file that records unfinished work.

    name    what such a file is, e.g. "the record of a served model"
    safe    what damage to it does not affect
    remedy  what to do about damage
    """

    name: str
    safe: str
    remedy: str

    def damage(self, file: Path, problem: Any) -> DamagedRecord:
        """The error for a damaged file of this kind.

        >>> kind = RecordKind("a checkpoint", "the data are as they were", "remove the folder to start again")
        >>> print(kind.damage(Path("ck"), "line 3 is not what was written"))
        ck is damaged, or not a checkpoint (line 3 is not what was written); the data are as they were; remove the \
folder to start again
        """
        reason = " ".join(str(problem).split())[:LONGEST]
        return DamagedRecord(f"{file} is damaged, or not {self.name} ({reason}); {self.safe}; {self.remedy}")


class DamagedRecord(BadData):
    """A record of unfinished work is not what was written."""


def find_sqlite_damage(data: sqlite3.Connection) -> str | None:
    """What SQLite finds wrong with its pages and indexes; None if nothing."""
    problem = str(data.execute("PRAGMA integrity_check(1)").fetchone()[0])
    return None if problem == "ok" else problem


def hash_values(values: Sequence[Any], n_bytes: int = 32) -> bytes:
    """The hash that seals rows of an SQLite file, which does not notice a flipped bit inside a text.

    >>> hash_values([0, "1", "a ball"], 8).hex()
    '29c19d62d7ba5e35'
    """
    return hashlib.blake2b(json.dumps(list(values), ensure_ascii=True).encode(), digest_size=n_bytes).digest()
