"""The finite automaton of an ONNX graph that reads texts: where words, runs without spaces, emoji and symbols are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# What a character may do in a sign (an emoji or symbol), and what it is in a word.
NONE, TWO, THREE, PICTURED, TONE, LATE_TONE, SELECTOR, TAG, JOINED = range(9)
NO_LETTER, IN_WORD, IS_MARK, IN_RUN = range(4)
# States of the automaton after a character; from BEGIN_PICTURE on it is part of a sign.
(OUT, WORD, RUN, BEGIN_PICTURE, NEXT_PICTURE, AFTER_SELECTOR, AFTER_TONE, AFTER_TAG, AFTER_JOINER, FIRST_OF_TWO,
 FIRST_OF_THREE, MIDDLE, LAST) = range(13)  # fmt: skip
BEGINNINGS = (BEGIN_PICTURE, FIRST_OF_TWO, FIRST_OF_THREE)
GOES_ON = {
    BEGIN_PICTURE: (SELECTOR, TONE, LATE_TONE, TAG, JOINED),
    NEXT_PICTURE: (SELECTOR, TONE, LATE_TONE, TAG, JOINED),
    AFTER_SELECTOR: (TONE, LATE_TONE, TAG, JOINED),
    AFTER_TONE: (TAG, JOINED),
    AFTER_TAG: (TAG, JOINED),
}
AFTER = {
    SELECTOR: AFTER_SELECTOR,
    TONE: AFTER_TONE,
    LATE_TONE: AFTER_TONE,
    TAG: AFTER_TAG,
    JOINED: AFTER_JOINER,
}
FRESH = {TWO: FIRST_OF_TWO, THREE: FIRST_OF_THREE, PICTURED: BEGIN_PICTURE, TONE: BEGIN_PICTURE}
FIXED = {FIRST_OF_TWO: LAST, FIRST_OF_THREE: MIDDLE, MIDDLE: LAST}


def next_state(state: int, role: int, letter: int) -> int:
    """The next state after a character with this role in signs and in words."""
    if state in FIXED:
        return FIXED[state]
    if state == AFTER_JOINER:
        return NEXT_PICTURE
    if role in GOES_ON.get(state, ()):
        return AFTER[role]
    if role in FRESH:
        return FRESH[role]
    if letter == IS_MARK:
        return RUN if state == RUN else WORD
    return {NO_LETTER: OUT, IN_WORD: WORD, IN_RUN: RUN}[letter]


def transitions() -> NDArray[np.int64]:
    """The next state (9 roles × 4 kinds of letters, 13 states)."""
    classes = [(role, letter) for role in range(JOINED + 1) for letter in range(IN_RUN + 1)]
    return np.array([[next_state(state, *pair) for state in range(LAST + 1)] for pair in classes])
