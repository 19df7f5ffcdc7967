"""The numbers of characters in an ONNX graph that reads texts, and the kinds of characters with each number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.interop.export.c_header import KINDS, character_kinds
from unnaive.interop.export.portable import PortableModel
from unnaive.text.languages import fold_table

LETTER, NUMBER, MARK, UNSPACED, PICTURE, TEXT_PICTURE, SPACE = (1 << bit for bit in range(len(KINDS)))
EMOJI_SELECTOR, JOINER, KEYCAP = 0xFE0F, 0x200D, 0x20E3
SELECTORS, TONES, TAGS = (0xFE0E, 0xFE0F), range(0x1F3FB, 0x1F400), range(0xE0020, 0xE0080)
REGIONS, DIGITS = range(0x1F1E6, 0x1F200), range(0x30, 0x3A)
EYES, NOSES, BRACKETS, MOUTHS = ([ord(character) for character in text] for text in (":;", "-'", "()", "()dDpPoO/\\|*"))
SPECIAL = {*SELECTORS, *TONES, *TAGS, *REGIONS, *DIGITS, JOINER, KEYCAP, *EYES, *NOSES, *MOUTHS, *map(ord, "=</3")}
PADDING = "<pad>"  # Tokenizer pads short texts with it; it is longer than a character, so that no text contains it


@dataclass(frozen=True)
class Alphabet:
    """The numbers of characters after case folding; 0 is the padding after the end of a text.

    keys, numbers  each character that has a number other than `other`, and its number
    number_of      the number of each character in the terms, and of the special characters
    codes, kinds   for each number, a character with this number and the kinds of that character
    """

    keys: list[str]
    numbers: NDArray[np.int64]
    other: int
    number_of: dict[int, int]
    codes: NDArray[np.int64]
    kinds: NDArray[np.uint8]

    @property
    def size(self) -> int:
        """The number of numbers; borders come after them."""
        return len(self.codes)

    def table(self, kinds: int = 0, codes: Iterable[int] = ()) -> NDArray[np.bool_]:
        """For each number, whether its characters have one of these kinds or are in `codes`."""
        matching: NDArray[np.bool_] = ((self.kinds & kinds) != 0) | np.isin(self.codes, list(codes))
        return matching


def make_alphabet(model: PortableModel) -> Alphabet:
    """Number the characters of the model's terms and the special ones; others of the same kind share a number."""
    rule, kinds = model.rule, character_kinds()
    lower = np.arange(len(kinds))
    for code, folded in (fold_table(rule.language == "tr") if rule.lowercase else {}).items():
        lower[code] = folded
    lower[0xD800:0xE000] = 0xFFFD  # a text in UTF-8 has no surrogates
    used = {ord(character) for term in (*model.terms.terms, *model.stop_words) for character in term} | SPECIAL
    needed = _kinds_in_use(model)
    shown = (kinds & needed)[lower].astype(np.int64)  # the kinds that matter, after case folding
    in_use = np.zeros(len(kinds), bool)
    in_use[sorted(used)] = True
    shown[in_use[lower]] = 256 + lower[in_use[lower]]
    _, first, numbers = np.unique(shown, return_index=True, return_inverse=True)
    numbers = numbers.ravel() + 1
    other = int(numbers[np.flatnonzero(shown == 0)[0]]) if (shown == 0).any() else len(first) + 1
    listed = [code for code in np.flatnonzero(numbers != other).tolist() if not 0xD800 <= code < 0xE000]
    codes = np.concatenate([[-1], lower[first]])
    shared = ~in_use[lower[first]]
    codes[1:][shared] = -2 - np.flatnonzero(shared)  # a shared number is never that of a special character
    return Alphabet(
        [PADDING, *map(chr, listed)],
        np.concatenate([[0], numbers[listed]]),
        other,
        {code: int(numbers[code]) for code in used if code < 0x110000 and in_use[lower[code]] and lower[code] == code},
        codes,
        np.concatenate([[0], kinds[lower[first]]]).astype(np.uint8),
    )


def _kinds_in_use(model: PortableModel) -> int:
    """The kinds of characters that matter for this rule."""
    rule = model.rule
    in_chunks = rule.analyzer != "word" and rule.char_borders == "spaces"
    in_words = rule.analyzer != "char" or rule.char_borders == "words"
    needed = (SPACE | (0 if rule.digits else NUMBER)) if in_chunks else 0
    if in_words:
        needed |= LETTER | NUMBER | MARK | UNSPACED | ((PICTURE | TEXT_PICTURE) if rule.emoji else 0)
    return needed
