"""Writes the constructor of TextClassifier for type checkers, from the declarations of TokenRule and TrainingOptions.

Type checkers and editors need parameters that are written out; this script writes them, and with --check a test sees to
it that they are what is declared. Python itself makes the constructor from the declarations.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from unnaive.base.settings import Setting
from unnaive.learning.training_options import TRAINING_OPTIONS
from unnaive.text.token_rule import OPTIONS

PLACE = Path(__file__).parent.parent / "src" / "unnaive" / "classifier" / "text_classifier.py"
START = "        # Written by tools/classifier_signature.py.\n"
END = "\n        # end of what it writes\n"


def main() -> None:
    """Write the constructor, or with --check say whether it is up to date."""
    text = PLACE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    wanted = before + START + constructor() + END + after
    if "--check" in sys.argv:
        if text != wanted:
            sys.exit(f"{PLACE.name} has other parameters than are declared; run: python {Path(__file__).name}")
        return
    PLACE.write_text(wanted, encoding="utf-8")


def constructor() -> str:
    """The signature of `__init__`."""
    declared = [*OPTIONS.values(), *TRAINING_OPTIONS.values()]
    lines = ["def __init__(", "    self,", '    model: str | Model | type[Model] = "auto",', "    *,"]
    lines += [f"    {one.name}: {annotation(one)} = {default(one)}," for one in declared]
    lines += ["    **settings: Any,", ") -> None:", "    self.model = model"]
    lines += [f"    self.{one.name} = {one.name}" for one in declared]
    return "".join(f"        {line}\n" for line in lines)


def annotation(one: Setting) -> str:
    """The type of a parameter: where a tuple of any length is kept, any sequence may come, and for fields a dict."""
    if one.name == "fields":
        return "Mapping[str, str] | Sequence[str] | None"
    return one.annotation.replace("tuple[str, ...]", "Sequence[str]")


def default(one: Setting) -> str:
    """The default as code, large numbers in groups of three digits."""
    return f"{one.default:_}" if type(one.default) is int else re.sub("'", '"', repr(one.default))


if __name__ == "__main__":
    main()
