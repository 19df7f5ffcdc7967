"""Random texts: the kernel against the reference, term for term and count for count; and words made to collide."""

import random
import time

import numpy as np

from unnaive.text import native
from unnaive.text.buffer import TextBuffer
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

FRAGMENTS = [
    *"aAiIzZ09_-.,'\t\r\n\x00\x7f",
    *"ıİğĞşŞçÇöÖüÜßẞéÉςσΣ\u0345\u0301\u0307",
    *"ȺⱥÅKΩ½²Ⅷⅷ٣९中字ﬁꙮ\ufeff\u200d\u00ad\ufe0f\ud800\udfff\ud83d\uffff\U0001f600\U0001d518\U0010ffff\U0001e900",
    "word", "Words", "İSTANBUL", "ILIK", "हिन्दी", "naïve", "x" * 7, "Y" * 8, "z" * 9, "é" * 40, "Q" * 63, "q" * 70,
    " ", " ",
    "\n\n", "From: ", "Subject: ", "\nSubject: Re", "From ann", " path\nA: b\n", "begin 644 f\n", "\nend\n", "`\n",
    "\nM" + "A" * 60 + "\n", "\nM" + "B" * 61 + "\n", "\nM" + "C" * 62 + "\n", "#ABCD\n",
    "<b>", "</p>", "<script>", "</script>", "&eacute;", "&#305;", "\x1b[31m", "\u202e",
]  # fmt: skip
BATCH = 500


def random_rule(rng):
    return TokenRule(
        language=rng.choice(["en", "tr", None]),
        lowercase=rng.random() < 0.7,
        min_length=rng.choice([1, 1, 2, 3, 9]),
        digits=rng.random() < 0.5,
        stopwords=rng.choice([None, None, "tr", ("words", "aa", "ılık", "x" * 7)]),
        stem=rng.choice([None, None, None, "porter"]),
        ngrams=rng.choice([(1, 1), (1, 1), (1, 2), (2, 2), (2, 3), (1, 8)]),
        strip_html=rng.random() < 0.1,
        message=rng.choice([None, None, None, "whole", "body", "subject-body", "from-subject-body"]),
    )


def random_text(rng):
    if rng.random() < 0.25:
        return "".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(12)))
    if rng.random() < 0.2:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(30))).decode("latin-1")
    return "".join(rng.choices(FRAGMENTS, k=rng.randrange(10)))


def compare(seed):
    """BATCH texts by the kernel and by the reference; (outcome, note)."""
    native.WORTH_A_THREAD = 1
    rng = random.Random(seed)
    rule = random_rule(rng)
    texts = [random_text(rng) for _ in range(BATCH)]
    ours, reference = TextCounter(rule, threads=1 + seed % 3), TextCounter(rule, backend="reference")
    mine, theirs = ours.count(texts, True), reference.count(texts, True)
    same = all(np.array_equal(getattr(mine, part), getattr(theirs, part)) for part in ("indptr", "indices", "data"))
    utf8 = ours.count(TextBuffer.of([text.encode("utf-8", "replace").decode() for text in texts[:20]]))
    if same and ours.vocabulary == reference.vocabulary and utf8.shape[0] == 20:
        return "survived", ""
    return "crashed", f"seed {seed}: kernel and reference differ under {rule}"


def collision_families(size):
    """Words that share bytes where a weak hash would look only at the others, and words for a known multiplier."""
    inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)
    letters = "abcdefghijklmnop"

    def spelt(number, width=16):
        return "".join(letters[number >> 4 * place & 15] for place in range(width))

    yield "random", [spelt(random.Random(n).getrandbits(64)) for n in range(size)]
    yield "last bytes", ["x" * 12 + spelt(n, 4) for n in range(size)]
    yield "first bytes", [spelt(n, 4) + "x" * 12 for n in range(size)]
    yield "middle block", ["yyyyyyyy" + spelt(n, 8) + "zzzzzzzz" for n in range(size)]
    yield "multiples of the inverse", [spelt(n * inverse % 2**64) for n in range(size)]
    yield "swapped blocks", [spelt(n, 8) + spelt(n, 8) for n in range(size)]
    yield "one letter", ["a" * length for length in range(2, min(size, 3_000))]


def attack_hash(size):
    """Each family is counted about as fast as random words; (name, outcome, note) for each."""
    usual = None
    for name, words in collision_families(size):
        words = list(dict.fromkeys(words))
        text = " ".join(words)
        start = time.process_time()
        counts = TextCounter(threads=1).count([text, text], grow=True)
        spent = (time.process_time() - start) / len(text)
        usual = usual or spent
        sound = (
            counts.shape == (2, len(words)) and spent < 30 * usual
        )  # a table that degrades is hundreds of times slower
        yield name, "survived" if sound else "crashed", f"{name}: {spent / usual:.1f} times the time of random words"
