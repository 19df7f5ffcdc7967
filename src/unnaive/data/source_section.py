"""What a reader of files notes about the training documents; a model keeps it and passes it on, unread."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unnaive.base.errors import UnnaiveError

MOST_CHARACTERS = 16 << 20
DEEPEST = 16


@dataclass(frozen=True)
class SourceSection:
    """A JSON object as text, so that it cannot change; only its writer, such as io, knows what is in it.

    >>> section = SourceSection.of({"columns": {"label": "queue"}})
    >>> section.text, section.content()
    ('{"columns": {"label": "queue"}}', {'columns': {'label': 'queue'}})
    """

    text: str

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> SourceSection:
        """The section with this content, which must be plain JSON of bounded size and depth."""
        if not is_source_content(content):
            raise UnnaiveError(
                f"the description of the training files is not plain JSON of at most {MOST_CHARACTERS >> 20} MiB and "
                f"{DEEPEST} levels; give columns shorter names"
            )
        return cls(json.dumps(content, sort_keys=True))

    def content(self) -> dict[str, Any]:
        """The content, a new object each time."""
        content: dict[str, Any] = json.loads(self.text)
        return content


def is_source_content(content: Any) -> bool:
    """Whether a value can be the content of a section, as a model file must have it.

    >>> is_source_content({"columns": [1, None]}), is_source_content([]), is_source_content({"columns": {1, 2}})
    (True, False, False)
    """
    room = MOST_CHARACTERS
    waiting = [(content, 0)]
    while waiting:
        value, depth = waiting.pop()
        room -= len(value) if isinstance(value, str) else 1
        if room < 0 or depth > DEEPEST:
            return False
        if isinstance(value, dict):
            room -= sum(len(key) for key in value if isinstance(key, str))
            if not all(isinstance(key, str) for key in value):
                return False
            waiting += [(inside, depth + 1) for inside in value.values()]
        elif isinstance(value, list):
            waiting += [(inside, depth + 1) for inside in value]
        elif not (value is None or isinstance(value, (str, bool, int, float))) or value != value:
            return False
    return isinstance(content, dict)
