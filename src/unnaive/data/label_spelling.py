"""When two labels are two spellings of one name: the one rule for --set lower-labels=true, audit and the service."""

from __future__ import annotations

import unicodedata

SEPARATORS = " -_"  # between letters these only vary the spelling of a name


def fold_label(label: str) -> str:
    """A label in lower case with single spaces; accents as one character, İ as i.

    >>> fold_label("Log  In"), fold_label("GİRİŞ"), len(fold_label("cafe\u0301"))
    ('log in', 'giriş', 4)
    """
    return unicodedata.normalize("NFC", " ".join(label.split()).lower().replace("i\u0307", "i"))


def plain_spelling(name: str) -> str:
    """The label without what only varies its spelling.

    Case, width (of East Asian text) and repeated spaces are folded, and spaces, hyphens and underscores between letters
    are left out. Signs, symbols and digits are part of the name: 1 and −1, or C, C++ and C#, are different classes.

    >>> plain_spelling(" Log-In ") == plain_spelling("login"), plain_spelling("log  in")
    (True, 'login')
    >>> [plain_spelling(name) for name in ("-1", "C++", "group 1", "group-1")]
    ['-1', 'c++', 'group 1', 'group-1']
    """
    folded = fold_label("".join(map(_usual_width, name))).casefold()
    kept: list[str] = []
    for position, letter in enumerate(folded):
        if letter in SEPARATORS:
            after = folded[position:].lstrip(SEPARATORS)
            if kept and is_letter(kept[-1]) and after and is_letter(after[0]):
                continue
        kept.append(letter)
    return "".join(kept)


def _usual_width(letter: str) -> str:
    """The letter of usual width for a wide or narrow variant.

    >>> _usual_width("Ａ"), _usual_width("²")
    ('A', '²')
    """
    return unicodedata.normalize("NFKC", letter) if unicodedata.east_asian_width(letter) in "FH" else letter


def is_letter(character: str) -> bool:
    """Whether it is a letter or belongs to one, such as an accent or an Indic vowel sign."""
    return unicodedata.category(character)[0] in "LM"
