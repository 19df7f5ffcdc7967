"""Write the one Unicode table that the kernel and its Python reference share.

    python tools/unicode_table.py

Which characters are letters depends on the interpreter's Unicode version; a table written once makes words the
same on every Python. Two files come out: src/unnaive/text/_unicode_table.py and _kernel_unicode.h beside it.
"""

import sys
import unicodedata
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src" / "unnaive" / "text"
HEAD = "written by tools/unicode_table.py from Unicode {version}; do not edit"


def kind(code: int) -> int:
    """0 for what separates words, 1 for letters and marks, 2 for numbers."""
    return {"L": 1, "M": 1, "N": 2}.get(unicodedata.category(chr(code))[0], 0)


def folded(code: int) -> int:
    """The lower-case form, one code point for one: İ gives i (not i and a dot), final ς gives σ."""
    special = {0x130: 0x69, 0x3C2: 0x3C3}
    lower = chr(code).lower()
    return special.get(code, ord(lower) if len(lower) == 1 else code)


def ranges(codes: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive codes as (first, last)."""
    runs: list[tuple[int, int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


def wrapped(words: list[str], name: str) -> str:
    """A Python constant: the words in one string, over lines."""
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > 100:
            lines.append(line)
            line = ""
        line += word + " "
    body = "\n".join(f'    "{line}"' for line in [*lines, line])
    return f"{name} = (\n{body}\n)\n"


def python_table(kinds: list[int], folds: dict[int, int]) -> str:
    """The table as the reference reads it: hexadecimal ranges, and `code:folded` pairs."""

    def of(wanted: int) -> list[str]:
        runs = ranges([code for code, value in enumerate(kinds) if value == wanted])
        return [f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in runs]

    return (
        f'"""Letters, numbers and lower-case forms; {HEAD.format(version=unicodedata.unidata_version)}."""\n\n'
        + f'VERSION = "{unicodedata.unidata_version}"\n'
        + wrapped(of(1), "LETTERS")
        + wrapped(of(2), "NUMBERS")
        + wrapped([f"{a:x}:{b:x}" for a, b in folds.items()], "FOLDS")
    )


def c_pairs(name: str, pairs: list[tuple[int, int]]) -> str:
    """A C++ constant array of pairs."""
    cells = [f"{{0x{a:X}, 0x{b:X}}}," for a, b in pairs]
    lines = [" ".join(cells[i : i + 6]) for i in range(0, len(cells), 6)]
    return f"static constexpr Pair {name}[] = {{\n    " + "\n    ".join(lines) + "\n};\n"


def cpp_table(kinds: list[int], folds: dict[int, int]) -> str:
    """The table as the kernel reads it at import: first and last of each range, and (code, folded)."""

    def of(wanted: int) -> list[tuple[int, int]]:
        return ranges([code for code, value in enumerate(kinds) if value == wanted])

    return (
        f"// Letters, numbers and lower-case forms; {HEAD.format(version=unicodedata.unidata_version)}.\n"
        + "// clang-format off\n#pragma once\n#include <cstdint>\n\nnamespace unnaive {\n\n"
        + "struct Pair {\n    uint32_t first, second;\n};\n\n"
        + c_pairs("kLetters", of(1))
        + c_pairs("kNumbers", of(2))
        + c_pairs("kFolds", list(folds.items()))
        + "\n}  // namespace unnaive\n"
    )


def main() -> None:
    """Write both files."""
    codes = range(sys.maxunicode + 1)
    kinds = [kind(code) for code in codes]
    folds = {code: folded(code) for code in codes if kinds[code] and folded(code) != code}
    odd = [code for code, lower in folds.items() if kinds[code] != kinds[lower]]
    if odd:  # folding would move the borders of words
        raise SystemExit(f"folding changes the kind of {odd}")
    (FOLDER / "_unicode_table.py").write_text(python_table(kinds, folds), encoding="utf-8")
    (FOLDER / "_kernel_unicode.h").write_text(cpp_table(kinds, folds), encoding="utf-8")


if __name__ == "__main__":
    main()
