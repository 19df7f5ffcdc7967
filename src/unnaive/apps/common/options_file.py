"""Files of options in TOML: --options reads one, --save-options writes one; a line is NAME = VALUE."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from unnaive.base.errors import UnnaiveError


def write_options(path: Path, values: Mapping[str, Any], pairs: Sequence[str], by_set: Container[str]) -> None:
    """Write the options that were given as TOML: a line for each, --set of a model's settings by their own names."""
    from unnaive.apps.common.output import write_text
    from unnaive.base.settings import parse_settings

    others = [pair for pair in pairs if pair.partition("=")[0].strip().replace("_", "-") not in by_set]
    lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
    lines += [f"{name.replace('_', '-')} = {_toml(value)}" for name, value in parse_settings(others).items()]
    write_text(path, "\n".join([*lines, ""]))


def _toml(value: Any) -> str:
    import json

    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False)


def expand_options(arguments: list[str], flags: Mapping[str, Any]) -> list[str]:
    """The arguments of a command with those of the file that --options names, before the user's own.

    flags  by name of a flag, whether it takes no value
    """
    path = next((after for before, after in pairwise(arguments) if before == "--options"), None)
    path = path or next((word[len("--options=") :] for word in arguments if word.startswith("--options=")), None)
    if path is None:
        return arguments
    import tomllib

    from unnaive.base.open_files import check_exists

    try:
        table = tomllib.loads(check_exists(Path(path)).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UnnaiveError(
            f'{path} is not a file of options in TOML: {problem}; give lines such as label = "queue"'
        ) from None
    own = {word.partition("=")[0] for word in arguments}
    more: list[str] = []
    for key, value in table.items():
        name = str(key).replace("_", "-")
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                raise UnnaiveError(f"{path} has a table called {key}; give one value for each name, or a list")
            text = str(item).lower() if isinstance(item, bool) else str(item)
            flag = f"--{name}"
            if flag not in flags:
                more += ["--set", f"{name}={text}"]
            elif flag not in own and not flags[flag]:
                more += [flag, text]
            elif flag not in own and item is True:
                more.append(flag)
    return [*more, *arguments]
