"""Texts that tokenisers disagree about: scripts, marks, emoji, controls, case and borders; for conformance files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from unnaive.text import _unicode_table
from unnaive.text.scripts import SPACES

WORDS = (
    "the", "Cat", "don't", "e-mail", "R2D2", "2024", "x_y", "naïve", "NAÏVE", "Straße", "STRASSE", "İstanbul",
    "IŞIK", "ılık", "ΣΊΣΥΦΟΣ", "ὈΔΥΣΣΕΎΣ", "Ǆungla", "ﬁne", "ＡＢＣ１２", "привет", "ПРИВЕТ", "שָׁלוֹם",
    "مُحَمَّد", "٣٤٥", "हिन्दी", "தமிழ்", "ελληνικά", "한국어", "北京大学", "東京タワー", "ﾊﾝｶｸ", "ราคากี่บาท",
    "ລາຄາ", "ភាសាខ្មែរ", "မြန်မာ", "NBA球星2024", "go北京now", "e\u0301te\u0301", "A\u030angstro\u0308m",
    "\u0301mark", "K\u212a", "\u212bngstrom", "𐐀𐐁𐐨", "𝔘𝔫𝔦", "𞤀𞤢", "Ⅷ", "①②", "½", "zero\u200bwidth",
    "zwnj\u200cword", "soft\u00adhyphen", "a\u0000b", "tab\tword", "http://x.y/z?a=1&b=2", "C++", "#tag", "@me",
)  # fmt: skip
SIGNS = (
    "👍", "👍🏽", "❤", "❤\ufe0f", "❤\ufe0e", "©", "©\ufe0f", "▶\ufe0f", "🇹🇷", "🇹🇷🇩🇪", "🇹", "1\ufe0f\u20e3",
    "7\u20e3", "#\ufe0f\u20e3", "👨\u200d👩\u200d👧", "👩🏾\u200d💻", "🏳\ufe0f\u200d🌈", "👨\u200d", "\u200d👩",
    "🏴\U000e0067\U000e0062\U000e007f", "🏽", "☝🏿", "\u20e3", ":-)", ":)", ";(", "=D", ":P", ":-/", "<3",
    "</3", "x<3y", "a:)b", "good:)", ":d2", "x=(y)", ":'(", ":-", "=|", ":*", "2:0",
)  # fmt: skip
SEPARATORS = (
    " ", "  ", "", "", "\n", "\r\n", "\t", ", ", ".", "\u00a0", "\u3000", "\u2028", "\u200b", "\ufeff", "-",
    "\u0085", "\u001f", "_",
)  # fmt: skip
ODD = ("\ud800", "\udfff", "\ufffd", "\ufffe", "\U0010ffff", "\u0000", "\u0007", "\u007f", "\u009f", "\ue000", "\u0378")


def hard_texts(words: Sequence[str], n: int, seed: int = 0) -> Iterator[str]:
    """`n` texts of hard pieces and of `words`, which are terms of a model; the same for the same seed.

    >>> len(list(hard_texts(["ball"], 300))), next(hard_texts(["ball"], 1)) == next(hard_texts(["ball"], 1))
    (300, True)
    """
    random = Random(seed)  # noqa: S311
    tables = [_codes(table) for table in (
        _unicode_table.LETTERS, _unicode_table.NUMBERS, _unicode_table.MARKS, _unicode_table.UNSPACED_LETTERS,
        _unicode_table.PICTOGRAPHS, _unicode_table.TEXT_PICTOGRAPHS, SPACES, _folded(),
    )]  # fmt: skip
    fixed = ["", " ", "\n", "\ud800", "#", "a", "\u0301", *WORDS, *SIGNS, *ODD]
    for number in range(n):
        if number < len(fixed) and n >= 2 * len(fixed):
            yield fixed[number]
        else:
            yield _without_pairs("".join(_pieces(random, words, tables)))


def _pieces(random: Random, words: Sequence[str], tables: Sequence[Sequence[int]]) -> Iterator[str]:
    for _ in range(random.choice((1, 2, 3, 5, 8, 13, 40))):
        draw = random.random()
        if words and draw < 0.4:
            word = random.choice(words).removeprefix("#")
            yield word.upper() if random.random() < 0.1 else word.title() if random.random() < 0.1 else word
        elif draw < 0.55:
            yield random.choice(WORDS)
        elif draw < 0.7:
            yield random.choice(SIGNS)
        elif draw < 0.85:
            table = random.choice(tables)
            yield "".join(chr(random.choice(table)) for _ in range(random.choice((1, 1, 2, 4))))
        elif draw < 0.9:
            yield random.choice(ODD)
        else:
            yield chr(random.randrange(0x110000))
        yield random.choice(SEPARATORS)


def _codes(table: str) -> list[int]:
    """The first, middle and last code of each range."""
    codes = []
    for run in table.split():
        first, _, last = run.partition("-")
        low, high = int(first, 16), int(last or first, 16)
        codes += [low, (low + high) // 2, high]
    return codes


def _folded() -> str:
    """The codes that have a lower-case form."""
    return " ".join(pair.partition(":")[0] for pair in _unicode_table.FOLDS.split())


def _without_pairs(text: str) -> str:
    """Two lone surrogates in a row would be one character in UTF-16: the second is left out."""
    characters: list[str] = []
    for character in text:
        if not (characters and "\ud800" <= characters[-1] <= "\udbff" and "\udc00" <= character <= "\udfff"):
            characters.append(character)
    return "".join(characters)
