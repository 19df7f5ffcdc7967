"""How good a served model is: the evaluation on its card, and the measures of each version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unnaive.apps.service.measuring import HeldOut, measure_version
from unnaive.apps.service.version import Version
from unnaive.base.errors import UnnaiveError
from unnaive.curation.teaching.teaching_log import TeachingRecord


class Evaluations:
    """The output of `unnaive evaluate --json` for the card, and the measures of versions on held-out documents.

    held_out  the documents; None to measure no versions
    """

    def __init__(self, record: TeachingRecord | None) -> None:
        self.held_out: HeldOut | None = None
        self._record = record
        self._card: dict[str, Any] = {}
        self._measured: int | None = None  # the version evaluated last
        self._history: list[dict[str, Any]] = []  # if there is no record

    def take(self, values: dict[str, Any], path: str, version: int | None, model: Path) -> None:
        """Keep the output of `unnaive evaluate --json` for the card; refused if it is about no version of the model.

        version  the version that it measured; None if it is about another model
        """
        again = f"write it again with unnaive evaluate {model} DATA --json"
        if not isinstance(values.get("model_sha256"), str):
            raise UnnaiveError(f"{path} does not say which model it measured; {again}")
        if version is None:
            raise UnnaiveError(
                f"{path} measured another model than {model} (SHA-256 {values['model_sha256'][:12]}…); {again}"
            )
        self._card = values | {"version": version}

    def card(self, current: int) -> dict[str, Any]:
        """The evaluation, with the number of the version that it measured, and whether that is the current one."""
        return self._card and self._card | {"current": self._card["version"] == current}

    def measure(self, version: Version) -> tuple[int, dict[str, Any]] | None:
        """Evaluate a version, whose number and measures are returned; None if that was done."""
        if self.held_out is None or self._measured == version.number:
            return None
        self._measured = version.number  # also if it fails, which it would do again
        return version.number, measure_version(version.fitted, self.held_out)

    def keep(self, number: int, measures: dict[str, Any]) -> None:
        """Store the measures of a version."""
        if self._record is None:
            self._history.insert(0, {"version": number, "at": None, "measures": measures})
        else:
            self._record.keep_measures(number, measures)

    def history(self, limit: int = 100) -> list[dict[str, Any]]:
        """The measured versions, newest first."""
        return self._history[:limit] if self._record is None else self._record.measured(limit)
