"""Write the one Unicode table that the kernel and its Python reference share.

    python tools/unicode_table.py

Which characters are letters depends on the interpreter's Unicode version; a table written once makes words the
same on every Python. Two files come out: src/unnaive/text/unicode_table.txt and _kernel_unicode.h beside it.
"""

import re
import sys
import textwrap
import unicodedata
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src" / "unnaive" / "text"
TITLE = "Kinds of characters and lower-case forms"
HEAD = "written by tools/unicode_table.py from Unicode {version}; do not edit"

# how the names of the letters begin that are written without spaces between words: Han, kana, Thai, Lao, Khmer, Myanmar
UNSPACED = (
    "CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC ", "VERTICAL IDEOGRAPHIC", "HANGZHOU", "HIRAGANA",
    "KATAKANA", "HALFWIDTH KATAKANA", "HENTAIGANA", "VERTICAL KANA", "MASU MARK", "THAI ", "LAO ", "KHMER ", "MYANMAR ",
)  # fmt: skip
# Extended_Pictographic and Emoji_Modifier of emoji-data.txt, which Python does not have. Those that are text unless a
# variation selector follows are apart, up to U+2600: beyond, people write ☺ and ❤ without one.
PICTOGRAPHS = """
231a-231b 23e9-23ec 23f0 23f3 25fd-25fe 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271d 2721 2728
2733-2734 2744 2747 274c 274e 2753-2755 2757 2763-2767 2795-2797 27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55
3030 303d 3297 3299 1f000-1f0ff 1f10d-1f10f 1f12f 1f16c-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f1ad-1f1e5 1f201-1f20f
1f21a 1f22f 1f232-1f23a 1f23c-1f23f 1f249-1f53d 1f546-1f64f 1f680-1f6ff 1f774-1f77f 1f7d5-1f7ff 1f80c-1f80f 1f848-1f84f
1f85a-1f85f 1f888-1f88f 1f8ae-1f8ff 1f90c-1f93a 1f93c-1f945 1f947-1faff 1fc00-1fffd
"""
TEXT_PICTOGRAPHS = """
a9 ae 203c 2049 2122 2194-2199 21a9-21aa 2328 2388 23cf 23ed-23ef 23f1-23f2 23f8-23fa 24c2 25aa-25ab 25b6 25c0 25fb-25fc
"""


def kind(code: int) -> int:
    """0 for what separates words, 1 for letters and marks, 2 for numbers."""
    return {"L": 1, "M": 1, "N": 2}.get(unicodedata.category(chr(code))[0], 0)


def folded(code: int) -> int:
    """The lower-case form, one code point for one: İ gives i (not i and a dot), final ς gives σ."""
    special = {0x130: 0x69, 0x3C2: 0x3C3}
    lower = chr(code).lower()
    return special.get(code, ord(lower) if len(lower) == 1 else code)


def is_mark(code: int) -> bool:
    """Whether it joins the character before it."""
    return unicodedata.category(chr(code))[0] == "M"


def is_unspaced(code: int) -> bool:
    """Whether it is a letter, or a number that is written as one, of a script without spaces."""
    name, category = unicodedata.name(chr(code), ""), unicodedata.category(chr(code))
    return name.startswith(UNSPACED) and (category[0] == "L" or category == "Nl")


def listed(text: str) -> list[tuple[int, int]]:
    """(first, last) of hexadecimal ranges."""
    runs = [[int(code, 16) for code in run.split("-")] for run in text.split()]
    return [(run[0], run[-1]) for run in runs]


Ranges = list[tuple[int, int]]


def tables(kinds: list[int]) -> dict[str, Ranges]:
    """Every table of ranges by its name."""

    def having(test: Callable[[int], bool]) -> Ranges:
        return ranges([code for code in range(len(kinds)) if test(code)])

    return {
        "Letters": having(lambda code: kinds[code] == 1),
        "Numbers": having(lambda code: kinds[code] == 2),
        "Marks": having(is_mark),
        "UnspacedLetters": having(is_unspaced),
        "Pictographs": listed(PICTOGRAPHS),
        "TextPictographs": listed(TEXT_PICTOGRAPHS),
    }


def ranges(codes: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive codes as (first, last)."""
    runs: list[tuple[int, int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


def text_table(runs: dict[str, Ranges], folds: dict[int, int]) -> str:
    """The table as _unicode_table.py reads it: paragraphs of a name and hexadecimal ranges, or `code:folded` pairs."""

    def name(table: str) -> str:
        return re.sub("(?<=[a-z])(?=[A-Z])", "_", table).upper()

    def wrapped(name: str, words: list[str]) -> str:
        return f"{name}\n{textwrap.fill(' '.join(words), 100, break_on_hyphens=False)}\n"

    paragraphs = [
        f"{TITLE}; {HEAD.format(version=unicodedata.unidata_version)}\n",
        *(
            wrapped(name(table), [f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in pairs])
            for table, pairs in runs.items()
        ),
        wrapped("FOLDS", [f"{a:x}:{b:x}" for a, b in folds.items()]),
    ]
    return "\n".join(paragraphs)


def c_pairs(name: str, pairs: list[tuple[int, int]]) -> str:
    """A C++ constant array of pairs."""
    cells = [f"{{0x{a:X}, 0x{b:X}}}," for a, b in pairs]
    lines = [" ".join(cells[i : i + 6]) for i in range(0, len(cells), 6)]
    return f"static constexpr Pair {name}[] = {{\n    " + "\n    ".join(lines) + "\n};\n"


def cpp_table(runs: dict[str, Ranges], folds: dict[int, int]) -> str:
    """The table as the kernel reads it at import: first and last of each range, and (code, folded)."""
    return (
        f"// {TITLE}; {HEAD.format(version=unicodedata.unidata_version)}.\n"
        + "// clang-format off\n#pragma once\n#include <cstdint>\n\nnamespace unnaive {\n\n"
        + "struct Pair {\n    uint32_t first, second;\n};\n\n"
        + "".join(c_pairs(f"k{table}", pairs) for table, pairs in runs.items())
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
    runs = tables(kinds)
    if any(kinds[first] for table in ("Pictographs", "TextPictographs") for first, _ in runs[table]):
        raise SystemExit("a pictograph is a letter or a number")
    (FOLDER / "unicode_table.txt").write_text(text_table(runs, folds), encoding="utf-8")
    (FOLDER / "_kernel_unicode.h").write_text(cpp_table(runs, folds), encoding="utf-8")


if __name__ == "__main__":
    main()
