"""The exceptions of this package; each message is one sentence: what came, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class UnnaiveError(ValueError):
    """The input is wrong; the command line prints the message and exits with status 2."""


class UnknownName(UnnaiveError):
    """A name is in none of our tables; the message lists the valid names."""


class BadData(UnnaiveError):
    """Texts, labels or a data file cannot be used as they are."""


class BadModel(UnnaiveError):
    """A model file is truncated, malicious, not ours, or of a newer format."""


class MissingExtra(UnnaiveError, ImportError):
    """An optional dependency is missing; the message has the install command."""


class Interrupted(UnnaiveError):
    """Ctrl-C during work of which a part is kept; the message says how to continue."""

    exit_code = 130


class PluginError(UnnaiveError):
    """A part of another package, such as its model, is missing or cannot be used."""


class UnnaiveWarning(UserWarning):
    """An operation succeeded, but not as well as it could have."""


@contextmanager
def refuse_damaged(part: str) -> Iterator[None]:
    """Turn any error while `part` of a model file is read and checked into BadModel, with the reason.

    >>> with refuse_damaged("the trees in this model are"):
    ...     raise ValueError("a branch has no end")
    Traceback (most recent call last):
    unnaive.base.errors.BadModel: the trees in this model are damaged (a branch has no end); train it again
    """
    try:
        yield
    except BadModel:  # raised by a part inside this one, with its own message
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as problem:
        raise BadModel(f"{part} damaged ({problem}); train it again") from problem


def count_noun(number: float, noun: str, plural: str = "") -> str:
    """Format a number with its noun in the singular or plural.

    >>> count_noun(1, "document"), count_noun(1024, "document"), count_noun(2, "class", "classes")
    ('1 document', '1,024 documents', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def choose(table: dict[str, object] | list[str], name: str, kind: str) -> str:
    """Return `name` if it is in `table`; otherwise raise an error that lists the names in the table.

    >>> choose(["ml", "laplace"], "laplace", "weight estimate")
    'laplace'
    >>> choose(["ml", "laplace"], "lapalce", "weight estimate")
    Traceback (most recent call last):
    unnaive.base.errors.UnknownName: no weight estimate called 'lapalce'; there are laplace, ml; did you mean 'laplace'?
    """
    if name in table:
        return name
    import difflib

    near = difflib.get_close_matches(str(name), list(table), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UnknownName(f"no {kind} called {name!r}; there are {', '.join(sorted(table))}{hint}")
