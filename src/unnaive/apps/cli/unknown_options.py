"""The answer to an option that a command does not have: the nearest that it has, or what --set calls it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

# names that people know from other programs, or that differ too much from ours to be found as a misspelling
OTHER_NAMES = {
    "--abstain-confidence": ("--confidence",),
    "--abstain-for": ("--target-accuracy",),
    "--against": (
        "--baseline",
        "--new-data",
        "--remaining",
    ),
    "--alpha": ("--set alpha=VALUE",),
    "--approximate": ("--search adjust",),
    "--classes": ("--class",),
    "--confidence": ("--coverage",),
    "--csv": ("--report FILE.csv",),
    "--export": ("unnaive label export",),
    "--grow": ("--new-classes",),
    "--html": ("--report FILE.html",),
    "--import": ("unnaive label import",),
    "--keep": (
        "--class",
        "--output",
    ),
    "--keep-case": ("--set lowercase=false",),
    "--keep-choice": ("--search keep",),
    "--label": ("--class",),
    "--markdown": ("--report FILE.md",),
    "--markup": ("--set strip-html=true",),
    "--record": ("--output",),
    "--records": ("--output",),
    "--rechoose": ("--search again",),
    "--reject-below": ("--min-probability",),
    "--simulate": ("unnaive label simulate",),
    "--smoothing": ("--set smoothing=VALUE",),
    "--status": ("unnaive label status",),
    "--threads": ("--jobs",),
    "--top": ("--top-k",),
    "--unknown": ("--undecided",),
    "--unknown-rate": ("--out-of-scope-rate",),
    "--vectors": ("--word-vectors",),
}


def unknown_option(option: str, command: str, flags: Sequence[str], by_set: Sequence[str]) -> str:
    """The sentence for an unknown option of a command with these flags and these names of --set.

    >>> unknown_option("--delimiter", "unnaive train", ["--label"], ["delimiter"])
    "unnaive train has no option --delimiter; did you mean '--set delimiter=VALUE'? See: unnaive train --help"
    >>> unknown_option("--top", "unnaive predict", ["--top-k"], [])
    "unnaive predict has no option --top; did you mean '--top-k'? See: unnaive predict --help"
    """
    name = option.removeprefix("--").replace("_", "-")
    settings = {f"--{one}": f"--set {one}=VALUE" for one in by_set}
    settings |= {f"--no-{one}": f"--set {one}=false" for one in by_set}
    known = {flag: flag for flag in flags} | settings
    meant = known.get(f"--{name}") or _other_name(f"--{name}", known)
    if meant is None:
        near = difflib.get_close_matches(option, flags, n=1) or difflib.get_close_matches(option, settings, 1, 0.75)
        meant = known[near[0]] if near else None
    hint = "" if meant is None else f"; did you mean {meant!r}?"
    return f"{command} has no option {option}{hint}{' See:' if hint else '; see:'} {command} --help"


def _other_name(option: str, known: dict[str, str]) -> str | None:
    """What the command calls an option with this other name; None if it has none."""
    for meant in OTHER_NAMES.get(option, ()):
        flag, _, rest = meant.partition(" ")
        wanted = f"--{rest.partition('=')[0]}" if flag == "--set" else flag
        if wanted in known or (flag == "--set" and flag in known) or not flag.startswith("--"):
            return meant
    return None
