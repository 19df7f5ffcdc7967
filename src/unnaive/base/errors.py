"""One family of exceptions; each reads as one sentence: what came, what was expected, what to do."""


class UnnaiveError(ValueError):
    """A mistake in what was handed in; the command line prints it and exits with 2."""


class UnknownName(UnnaiveError):
    """A name that is in none of our tables; the message lists the names that are."""


class BadData(UnnaiveError):
    """Texts, labels or a data file that cannot be used as they are."""


class BadModel(UnnaiveError):
    """A model file that is truncated, foreign, hostile or of a newer format."""


class MissingExtra(UnnaiveError, ImportError):
    """A verb that needs an optional dependency; the message has the install command."""


class UnnaiveWarning(UserWarning):
    """Something worked, but not as well as it could."""


def count_noun(number: float, noun: str, plural: str = "") -> str:
    """A number with its noun, in the singular for one.

    >>> count_noun(1, "document"), count_noun(1024, "document"), count_noun(2, "class", "classes")
    ('1 document', '1,024 documents', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def choose(table: dict[str, object] | list[str], name: str, kind: str) -> str:
    """`name` if it is in `table`; otherwise an error that lists what is.

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
