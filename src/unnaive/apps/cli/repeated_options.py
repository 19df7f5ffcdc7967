"""An option that is given twice is a mistake, unless it may be repeated: which of the two was meant?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unnaive.apps.common.given_options import Given, is_list
from unnaive.base.errors import UnnaiveError


def refuse_repeated(command: Any, context: Any, arguments: Sequence[str], by_set: Mapping[str, Given]) -> None:
    """Raise an error for an option, or a name of --set, that comes twice in these arguments and takes one value.

    command  the command, which has the parser; by_set: its names of --set
    """
    values, _, order = command.make_parser(context).parse_args(args=list(arguments))
    # of a flag, which has no value to lose, a second time means the same
    single = [one for one in order if one.param_type_name == "option" and not one.multiple and not one.is_flag]
    names = [max(one.opts, key=len) for one in single]
    pairs = [pair for name in ("settings", "set") for pair in values.get(name) or ()]
    names += [f"--set {name}" for name in _setting_names(pairs) if name not in by_set or not is_list(by_set[name])]
    for name, times in Counter(names).items():
        if times > 1:
            often = "twice" if times == 2 else f"{times} times"
            raise UnnaiveError(f"{name} came {often}, and {context.command_path} takes one value for it; give it once")


def _setting_names(pairs: Iterable[str]) -> list[str]:
    """The names in NAME=VALUE, as --set compares them."""
    return [pair.partition("=")[0].strip().replace("_", "-") for pair in pairs]
