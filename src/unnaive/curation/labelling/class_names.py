"""The classes of a record: the names that its decisions add, rename, merge, describe and delete, in order.

A renamed class keeps its old name in the decisions, and an undo removes a decision, so everything here depends only on
the decisions that stand. A merge is a rename to the name of another class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from unnaive.base.errors import BadData
from unnaive.data.label_spelling import plain_spelling


@dataclass
class ClassNames:
    """The present classes in order, and what was said about them.

    renamed       the present name of each name that is no more
    descriptions  a sentence about a class, for the people who label
    guidelines    the text that tells people how to label; empty if there is none

    >>> names = ClassNames(["bug", "error", "howto"])
    >>> names.follow("rename", ["error", "bug"])        # merged
    >>> names.follow("rename", ["howto", "how to"])
    >>> names.names, names.renamed
    (['bug', 'how to'], {'error': 'bug', 'howto': 'how to'})
    """

    names: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    guidelines: str = ""

    @classmethod
    def read(cls, initial: Sequence[str], decisions: Iterable[tuple[str, Sequence[str]]]) -> ClassNames:
        """The classes after all of these decisions, each a kind and its labels."""
        names = cls(list(dict.fromkeys(initial)))
        for kind, labels in decisions:
            names.follow(kind, labels)
        return names

    def follow(self, kind: str, labels: Sequence[str]) -> None:
        """Follow one decision."""
        if kind in ("class", "label"):
            self.names += [label for label in dict.fromkeys(labels) if label not in self.names]
        elif kind == "rename":
            self._rename(*labels)
        elif kind == "drop":
            self.names = [name for name in self.names if name not in labels]
        elif kind == "describe":
            label, words = labels
            self.descriptions.pop(label, None)
            if words:
                self.descriptions[label] = words
        elif kind == "guidelines":
            (self.guidelines,) = labels

    def _rename(self, old: str, new: str) -> None:
        if old not in self.names:
            return  # an earlier renaming was undone, so there is no class of this name
        if new in self.names:
            self.names = [name for name in self.names if name != old]
        else:
            self.names = [new if name == old else name for name in self.names]
        for name in [name for name, current in self.renamed.items() if current == old]:
            self.renamed[name] = new
        self.renamed[old] = new
        if self.renamed.get(new) == new:  # it has its first name again
            del self.renamed[new]
        if old in self.descriptions:
            words = self.descriptions.pop(old)
            self.descriptions.setdefault(new, words)

    def current(self, label: str) -> str:
        """The present name of a class."""
        return self.renamed.get(label, label)

    def check_new(self, label: str, *, alike: bool) -> None:
        """Raise an error if a class cannot have this name, or without `alike`, if it is spelt much like another."""
        if not label:
            raise BadData("a class needs a name; give at least one character")
        if label in self.names:
            raise BadData(f"there is a class called {label!r} already")
        if label in self.renamed:
            raise BadData(f"the class {label!r} was renamed to {self.renamed[label]!r}; choose another name")
        near = next((name for name in self.names if plain_spelling(name) == plain_spelling(label)), None)
        if near is not None and not alike:
            raise AlikeClass(f"{label!r} is spelt much like the class {near!r}; add it again if it is another class")

    def check_rename(self, old: str, new: str, *, merge: bool) -> None:
        """Raise an error if a class cannot be renamed, or without `merge`, if there is a class of the new name."""
        if old not in self.names:
            raise BadData(f"no class is called {old!r}")
        if not new or old == new:
            raise BadData(f"the class {old!r} needs another name; give at least one character")
        if new in self.names and not merge:
            raise BadData(f"there is a class called {new!r} already; merge {old!r} into it, or choose another name")
        after = ClassNames(list(self.names), dict(self.renamed))
        after.follow("rename", [old, new])
        if after.current(new) != new:
            raise BadData(f"the class {new!r} was renamed to {self.current(new)!r}; choose another name")


class AlikeClass(BadData):
    """A new class is spelt much like another, so it is asked about."""
