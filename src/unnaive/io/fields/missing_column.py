"""A column that a table does not have: the nearest name, or how to name several columns."""

from __future__ import annotations

import difflib
import shlex
import warnings
from collections.abc import Sequence

from unnaive.base.errors import UnnaiveWarning

FLAGS_OPTION = "--set label-columns="


def suggest_columns(given: str, names: Sequence[str], texts: Sequence[str], flags: Sequence[str]) -> str:
    """What to do about a name that is none of `names`: repeat an option for a list with commas, or the nearest name.

    `given` was named as a text if it is in `texts`; labels may be in the columns `flags` of zeros and ones.

    >>> suggest_columns("subject,body", ["Subject", "Body"], ["subject,body"], ())
    'for several columns, repeat the option: --text Subject --text Body; '
    """
    several = split_columns(given, names)
    if several and given in texts:
        return f"for several columns, repeat the option: {repeat_option('--text ', several)}; "
    if several and set(several) <= set(flags):
        return f"for several columns of 0 and 1, repeat the option: {repeat_option(FLAGS_OPTION, several)}; "
    return suggest_name(given, names)


def suggest_name(name: str, names: Sequence[str]) -> str:
    """The column that was probably meant, as a question; empty if none is near.

    >>> suggest_name("queue", ["id", "meta.queue"])
    "did you mean 'meta.queue'? "
    """
    meant = name.strip().casefold()
    near = [other for other in names if other.strip().casefold() == meant]
    near += [other for other in names if last_key(other) == meant]
    folded = fold_names(names)
    near += [folded[other] for other in difflib.get_close_matches(meant, folded, n=1, cutoff=0.75)]
    return f"did you mean {near[0]!r}? " if near else ""


def fold_names(names: Sequence[str]) -> dict[str, str]:
    """The columns by their name in lower case, or by the significant part of it."""
    folded = {last_key(name): name for name in reversed(names)}
    return folded | {name.strip().casefold(): name for name in reversed(names)}


def last_key(name: str) -> str:
    """The significant part of a name: `text` of data.text."""
    return name.rpartition(".")[2].strip().casefold()


def split_columns(given: str, names: Sequence[str]) -> list[str]:
    """The columns of a list with commas, which are allowed in names, too; empty if it is not a list of columns.

    >>> split_columns("Subject, short,body", ["Subject, short", "Body", "Queue"])
    ['Subject, short', 'Body']
    """
    folded = fold_names(names)
    columns, parts = [], given.split(",")[: 2 * len(names) + 1]
    while parts:
        starts = range(len(parts), 0, -1)
        size = next((size for size in starts if ",".join(parts[:size]).strip().casefold() in folded), 0)
        if not size:
            return []
        columns.append(folded[",".join(parts[:size]).strip().casefold()])
        parts = parts[size:]
    return columns if len(columns) > 1 else []


def repeat_option(option: str, columns: Sequence[str]) -> str:
    """The option once for each column, as it is typed in a shell.

    >>> repeat_option("--text ", ["Subject, short", "Message"])
    "--text 'Subject, short' --text Message"
    >>> repeat_option("--set label-columns=", ["a", "b"])
    '--set label-columns=a --set label-columns=b'
    """
    return " ".join(option + shlex.quote(column) for column in columns)


def trained_texts(source: str, texts: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The columns of text of training that a table has; a warning if it lacks some of them, () if it has none."""
    present = tuple(name for name in texts if name in names)
    missing = [repr(name) for name in texts if name not in names]
    if present and missing:
        warnings.warn(
            f"{source} has no column {' and '.join(missing)}, which the model learnt as part of the text; only "
            f"{' and '.join(map(repr, present))} {'is' if len(present) == 1 else 'are'} read",
            UnnaiveWarning,
            stacklevel=3,
        )
    return present
