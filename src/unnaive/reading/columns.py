"""Which column of a table is the text and which the label: named by the user, or evident from the names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unnaive.errors import BadData

# Names that settle it, then names that do where no better one is there.
TEXT_NAMES = (
    ("text", "texts", "body", "message", "content", "document", "doc"),
    ("description", "comment", "review", "sentence", "abstract", "tweet", "post", "article", "ticket", "question",
     "utterance", "query", "email", "title", "subject"),
)  # fmt: skip
LABEL_NAMES = (
    ("label", "labels", "class", "category", "categories", "target"),
    ("queue", "tag", "tags", "topic", "topics", "intent", "sentiment", "genre", "department", "type", "y"),
)


@dataclass(frozen=True)
class Columns:
    """The columns to read: one or more of text (joined by a newline), one of labels or none, one of ids or none.

    `separator` stands between the labels of one document, where it has several.
    """

    texts: tuple[str, ...]
    label: str | None = None
    id: str | None = None
    separator: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON of what the next file is likely to share; `from_dict` reads it."""
        return {"texts": list(self.texts), "label": self.label, "separator": self.separator}

    @classmethod
    def from_dict(cls, stored: Any) -> Columns | None:
        """The inverse of `to_dict`; None for anything that is not so, since models come from files.

        >>> Columns.from_dict({"texts": ["body"], "label": "queue"})
        Columns(texts=('body',), label='queue', id=None, separator=None)
        """
        texts = stored.get("texts") if isinstance(stored, dict) else None
        if not isinstance(texts, list) or not all(isinstance(name, str) for name in texts):
            return None
        label, separator = (
            value if isinstance(value, str) and value else None for value in map(stored.get, ("label", "separator"))
        )
        return cls(tuple(texts), label, separator=separator)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, texts first."""
        return (*self.texts, *(name for name in (self.label, self.id) if name is not None))


def choose_columns(
    names: Sequence[str],
    source: str,
    *,
    text: Sequence[str] = (),
    label: str | None = None,
    id: str | None = None,
    labelled: bool = True,
) -> Columns:
    """The columns named, the others guessed; an error that lists the columns if that is not evident.

    >>> choose_columns(["id", "Body", "queue"], "tickets.csv")
    Columns(texts=('Body',), label='queue', id=None, separator=None)
    >>> choose_columns(["a", "b"], "tickets.csv")
    Traceback (most recent call last):
    unnaive.errors.BadData: which column of tickets.csv holds the text? it has a, b; say --text NAME
    """
    for name in (*text, label, id):
        if name is not None and name not in names:
            raise BadData(f"{source} has no column {name!r}; it has {join_names(names)}")
    if labelled and label is None:
        label = _find_known_name(names, LABEL_NAMES, taken=text) or _other_of_two(
            names, text or _guess_text(names, None)
        )
    texts = tuple(text) or _guess_text(names, label) or _only_column(names)
    if not texts:
        raise BadData(f"which column of {source} holds the text? it has {join_names(names)}; say --text NAME")
    if labelled and label is None:
        raise BadData(f"which column of {source} holds the labels? it has {join_names(names)}; say --label NAME")
    if label in texts:
        raise BadData(f"column {label!r} of {source} cannot be both text and label; name two columns")
    return Columns(texts, label if labelled else None, id)


def join_names(names: Sequence[str], limit: int = 30) -> str:
    """The names with commas, the last ones left out where there are very many."""
    shown = ", ".join(names[:limit]) or "no columns"
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def _guess_text(names: Sequence[str], label: str | None) -> tuple[str, ...]:
    taken = () if label is None else (label,)
    found = _find_known_name(names, TEXT_NAMES, taken) or (_other_of_two(names, taken) if label is not None else None)
    return (found,) if found else ()


def _find_known_name(names: Sequence[str], known: Sequence[Sequence[str]], taken: Sequence[str]) -> str | None:
    """The one column with a telling name; None if there is none, or several that tell equally."""
    for group in known:
        hits = [name for name in names if name.strip().casefold() in group and name not in taken]
        if hits:
            return hits[0] if len(hits) == 1 else None
    return None


def _other_of_two(names: Sequence[str], taken: Sequence[str]) -> str | None:
    others = [name for name in names if name not in taken]
    return others[0] if len(names) == 2 and len(others) == 1 else None


def _only_column(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names) if len(names) == 1 else ()
