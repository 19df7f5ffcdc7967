"""Measured values of random splits as lines of JSON in a folder of records, so that a run can be continued."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SplitValues = dict[str, float]  # name of a measurement, for instance "gis/14" → its value


@dataclass(frozen=True)
class SplitRecords:
    """The file `name` of a folder; without a folder nothing is stored. `common` describes the data and the settings."""

    folder: Path | None
    name: str
    common: dict[str, Any]

    @property
    def path(self) -> Path | None:
        """The file; None if nothing is stored."""
        return None if self.folder is None else self.folder / f"{self.name}.jsonl"

    def measure(self, key: dict[str, Any], run: Callable[[], SplitValues]) -> SplitValues:
        """The values of a split that were measured earlier; otherwise measure it and append one line."""
        values = self.find(key)
        if values is None:
            values = run()
            self.add(key, values)
        return values

    def find(self, key: dict[str, Any]) -> SplitValues | None:
        """The values measured earlier."""
        if self.path is None or not self.path.exists():
            return None
        wanted = self.common | key
        lines = (json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines())
        return next((line["values"] for line in lines if line | wanted == line), None)

    def add(self, key: dict[str, Any], values: SplitValues) -> None:
        """Append one line."""
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.common | key | {"values": values}) + "\n")
