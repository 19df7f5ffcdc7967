"""Text → tokens: the specification. The kernel must give the same tokens; property tests check this.

A word is a run of letters, marks and numbers by Unicode category, from a table in this package. The steps are:
clean (message parts, markup) → fold case → extract emoji and symbols → split into words → extract runs of scripts
without spaces → minimum length → stop words → stem → word n-grams.

Emoji and symbols are exempt from the minimum length and from stemming; word n-grams treat them as words. The characters
and pairs of a run are terms whatever the lengths of word n-grams, and n-grams do not cross a run: "go 北京 now" gives
no "go now".

With fields, a text is a record (sections.py), and every section is processed separately. Words of "own" fields get the
field's key as prefix, after stop words and stemming; fixed terms are taken unchanged, whatever the options. Character
n-grams are cut from shared text only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from unnaive.text import _unicode_table
from unnaive.text.languages import fold_case, stems, stop_list
from unnaive.text.pieces import OffsetMap, pieces
from unnaive.text.scripts import (
    character_class,
    chunk_pattern,
    run_grams,
    run_pattern,
    sign_pattern,
    sign_term,
)
from unnaive.text.sections import (
    BOTH,
    FIXED,
    OWN_ONLY,
    TERMS,
    RecordSection,
    fixed_terms,
    own_term,
    sections,
    split_term,
)
from unnaive.text.segmenters import segments
from unnaive.text.token_rule import BORDERS, LONGEST_NGRAM, TokenRule

__all__ = [
    "BORDERS", "GRAM", "LONGEST_NGRAM", "Part", "Span", "TokenRule", "cleaned", "spans", "term_stems", "tokens",
    "word_pattern",
]  # fmt: skip

GRAM = "#"  # prefix of character n-grams, which distinguishes them from words: "# ca" begins a chunk, "#at " ends one


@lru_cache(maxsize=16)
def folded_stop_words(stopwords: str | tuple[str, ...] | None, lowercase: bool, language: str | None) -> frozenset[str]:
    """The words of a stop list, case-folded like the texts."""
    words = stop_list(stopwords) if isinstance(stopwords, str) else frozenset(stopwords or ())
    if not words:
        return words  # avoids compiling the pattern, which is slow
    signs = sign_pattern(emoji=True, symbols=True)
    words = frozenset(sign_term(word) if signs and signs.fullmatch(word) else word for word in words)
    return frozenset(fold_case(word, language) for word in words) if lowercase else words


@lru_cache(maxsize=2)
def word_pattern(digits: bool) -> re.Pattern[str]:
    """A run of letters, marks and (with `digits`) numbers; Hindi and decomposed words stay whole.

    >>> word_pattern(digits=True).findall("हिन्दी, R2D2 _x_")
    ['हिन्दी', 'R2D2', 'x']
    """
    return re.compile(f"[{character_class(_unicode_table.LETTERS, _unicode_table.NUMBERS if digits else '')}]+")


Span = tuple[int, int, str]


def _joined(words: list[Span], shortest: int, longest: int) -> list[Span]:
    """The word n-grams, ordered by their last word, then by length."""
    grams = []
    for last in range(len(words)):
        for length in range(shortest, min(longest, last + 1) + 1):
            run = words[last + 1 - length : last + 1]
            grams.append((run[0][0], run[-1][1], " ".join(word for _, _, word in run)))
    return grams


class Part(NamedTuple):
    """A stretch of a text: a "word", a "fixed" term (never too short, without a stem), or a "run" of characters."""

    start: int
    end: int
    text: str
    kind: str

    @property
    def span(self) -> Span:
        """(start, end, text)."""
        return self.start, self.end, self.text


def _parts(text: str, rule: TokenRule, unspaced: str) -> Iterator[Part]:
    """Yield words, emoji and symbols in order; with `unspaced` "grams" also runs of scripts without spaces."""
    signs = sign_pattern(rule.emoji, rule.symbols)
    start = 0
    for sign in signs.finditer(text) if signs else ():
        yield from _word_parts(text, start, sign.start(), rule, unspaced)
        yield Part(*sign.span(), sign_term(sign[0]), "fixed")
        start = sign.end()
    yield from _word_parts(text, start, len(text), rule, unspaced)


def _word_parts(text: str, start: int, end: int, rule: TokenRule, unspaced: str) -> Iterator[Part]:
    """Yield the words of text[start:end], and the runs extracted from them."""
    for word in word_pattern(rule.digits).finditer(text, start, end):
        at = word.start()
        if unspaced == "grams" and not word[0].isascii():
            for run in run_pattern().finditer(text, *word.span()):
                if run.start() > at:
                    yield Part(at, run.start(), text[at : run.start()], "word")
                yield from _run_parts(run, rule)
                at = run.end()
        if at < word.end():
            yield Part(at, word.end(), text[at : word.end()], "word")


def _run_parts(run: re.Match[str], rule: TokenRule) -> Iterator[Part]:
    """The words that a segmenter finds in a run, or the run itself."""
    places = segments(rule.segmenter, run[0]) if rule.segmenter is not None else ()
    for start, end in places:
        yield Part(run.start() + start, run.start() + end, run[0][start:end], "fixed")
    if not places:
        yield Part(*run.span(), run[0], "run")


def _terms(text: str, rule: TokenRule) -> list[Span]:
    """The terms of a cleaned text with their offsets in it."""
    if rule.lowercase:
        text = fold_case(text, rule.language)
    terms: list[Span] = []
    if rule.analyzer != "char":
        for is_run, stretch in groupby(_parts(text, rule, rule.unspaced), key=lambda part: part.kind == "run"):
            read = _run_terms if is_run else _word_terms
            terms += read(stretch, rule)
    if rule.analyzer != "word":
        terms += [gram for unit in _gram_units(text, rule) for gram in _character_grams(unit, rule)]
    return terms


def _gram_units(text: str, rule: TokenRule) -> Iterator[Span]:
    """The units that character n-grams are cut from: chunks between spaces, or words, emoji and symbols."""
    if rule.char_borders == "words":
        return (part.span for part in _parts(text, rule, "whole"))
    return ((*chunk.span(), chunk[0]) for chunk in chunk_pattern(rule.digits).finditer(text))


def _run_terms(runs: Iterable[Part], rule: TokenRule) -> list[Span]:
    """The characters and pairs of runs, without stop words."""
    grams = [(run.start + a, run.start + b, run.text[a:b]) for run in runs for a, b in run_grams(run.text)]
    return [gram for gram in grams if gram[2] not in rule.stop_set]


def _word_terms(parts: Iterable[Part], rule: TokenRule) -> list[Span]:
    """The terms of consecutive words: minimum length, stop words, stems, n-grams."""
    long = [part for part in parts if part.kind == "fixed" or len(part.text) >= rule.min_length]
    terms = [part for part in long if part.text not in rule.stop_set]
    words = [part.span for part in terms]
    if rule.stem is not None:
        stemmed = iter(stems([part.text for part in terms if part.kind == "word"], rule.stem, rule.language))
        forms = [next(stemmed) if part.kind == "word" else part.text for part in terms]
        words = [(part.start, part.end, form) for part, form in zip(terms, forms, strict=True) if form]
    return words if rule.ngrams == (1, 1) else _joined(words, *rule.ngrams)


def term_stems(terms: list[str], rule: TokenRule) -> list[str]:
    """The stems of words; emoji, symbols and terms of runs are unchanged.

    >>> term_stems(["games", "球星", ":d"], TokenRule(stem="porter"))
    ['game', '球星', ':d']
    """
    if rule.fields is not None:
        return _field_term_stems(terms, rule)
    fixed = [_is_fixed(term, rule) for term in terms]
    stemmed = iter(
        stems([term for term, keep in zip(terms, fixed, strict=True) if not keep], str(rule.stem), rule.language)
    )
    return [term if keep else next(stemmed) for term, keep in zip(terms, fixed, strict=True)]


def _field_term_stems(terms: list[str], rule: TokenRule) -> list[str]:
    """`term_stems` for terms that may have a field's key as prefix; fixed terms are unchanged."""
    parts = [split_term(term, rule.fields) for term in terms]
    stemmed = iter(term_stems([word for _, sign, word in parts if sign != FIXED], replace(rule, fields=None)))
    forms = [word if sign == FIXED else next(stemmed) for _, sign, word in parts]
    return [f"{key}{sign}{form}" if form else "" for (key, sign, _), form in zip(parts, forms, strict=True)]


def _is_fixed(term: str, rule: TokenRule) -> bool:
    """Whether a term is not a word, judged by its first character; a keycap emoji begins with a digit."""
    if term.isascii() and term.isalnum():
        return False
    if rule.unspaced == "grams" and run_pattern().match(term):
        return True
    return not word_pattern(digits=True).match(term) or (
        rule.emoji and term[1:] == "\u20e3" and term[0] in "0123456789"
    )


def _character_grams(unit: Span, rule: TokenRule) -> list[Span]:
    """The character n-grams of a chunk or word with its borders; a unit too short for any n-gram is one itself.

    >>> [term for _, _, term in _character_grams((0, 3, "cat"), TokenRule(analyzer="char", char_ngrams=(4, 5)))]
    ['# cat', '#cat ', '# cat ']
    """
    start, end, text = unit
    border, (shortest, longest) = BORDERS[rule.char_borders], rule.char_ngrams
    padded = f"{border}{text}{border}"
    lengths = range(min(shortest, len(padded)), min(longest, len(padded)) + 1)
    return [
        (max(start, start + at - 1), min(end, start + at - 1 + n), GRAM + padded[at : at + n])
        for n in lengths
        for at in range(len(padded) - n + 1)
    ]


def spans(text: str, rule: TokenRule) -> list[Span]:
    """(start, end, term) for every term, with offsets into the original text.

    >>> spans("R&amp;D of <b>Cats</b>", TokenRule(strip_html=True))
    [(8, 10, 'of'), (14, 18, 'cats')]
    """
    if rule.fields is not None:
        return [span for section in sections(text, rule.fields) for span in _section_spans(section, rule)]
    if rule.message is None and not rule.strip_html:
        return _terms(text, rule)
    parts = pieces(text, message=rule.message, markup=rule.strip_html)
    places = OffsetMap(parts)
    cleaned = "".join(piece.text for piece in parts)
    return [(*places.original(start, end), term) for start, end, term in _terms(cleaned, rule)]


def _section_spans(section: RecordSection, rule: TokenRule) -> list[Span]:
    """The terms of one section of a record, with offsets into the record."""
    if section.mode == TERMS:
        return fixed_terms(section) if rule.analyzer != "char" else []
    plain = replace(rule, fields=None)
    terms = [] if section.mode == OWN_ONLY else spans(section.text, plain)
    if section.mode in (OWN_ONLY, BOTH) and rule.analyzer != "char":
        own_spans = spans(section.text, replace(plain, analyzer="word"))
        terms += [(start, end, own_term(section.key, term)) for start, end, term in own_spans]
    return [(section.start + start, section.start + end, term) for start, end, term in terms]


def cleaned(text: str, rule: TokenRule) -> str:
    """The text without markup and without the unwanted parts of a message."""
    if rule.message is None and not rule.strip_html:
        return text
    return "".join(piece.text for piece in pieces(text, message=rule.message, markup=rule.strip_html))


def tokens(text: str, rule: TokenRule) -> list[str]:
    """The terms of a text, in order.

    >>> tokens("İyi günler, IŞIK!", TokenRule(language="tr"))
    ['iyi', 'günler', 'ışık']
    >>> rule = TokenRule(fields={"subject": "text", "body": "text", "product": "category"})
    >>> tokens("\\x1esubject\\x1fRefund\\x1ebody\\x1fmy money\\x1eproduct\\x1fPrinter\\x1fPrinter", rule)
    ['refund', 'subject:refund', 'my', 'money', 'product=Printer']
    """
    if rule.fields is not None:
        return [term for _, _, term in spans(text, rule)]
    return [term for _, _, term in _terms(cleaned(text, rule), rule)]
