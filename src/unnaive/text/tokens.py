"""Text → tokens: the specification. The kernel must give the same tokens, and the property tests see to it.

A word is a run of letters, marks and numbers by Unicode category, from one table that is shipped. The order is:
clean (message parts, markup) → fold case → take out emoji and symbols → split → take runs of scripts without spaces out
of words → minimum length → stop words → stem → word n-grams.

Emoji and symbols are never too short and have no stem; in word n-grams they stand as words do. The characters and pairs
of a run are terms whatever the lengths of word n-grams, and no n-gram goes over a run: "go 北京 now" has no "go now".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from unnaive.base.errors import BadModel, UnnaiveError, choose
from unnaive.text import _unicode_table
from unnaive.text.languages import check_language, folded, stemmer_name, stems, stop_list, stop_lists
from unnaive.text.pieces import MESSAGE_PARTS, Places, pieces
from unnaive.text.scripts import (
    UNSPACED,
    character_class,
    chunk_pattern,
    run_grams,
    run_pattern,
    sign_pattern,
    sign_term,
)
from unnaive.text.segmenters import check_segmenter, segments

STEMMERS = ("porter", "snowball")
ANALYZERS = ("word", "char", "both")
GRAM = "#"  # before a character gram, so that it is no word: "# ca" begins a chunk, "#at " ends one
BORDERS = {"spaces": " ", "words": "_"}  # what character grams stay within, and the sign of its borders
LONGEST_NGRAM = 8
BEFORE_SCRIPTS: dict[str, Any] = {
    "unspaced": "whole",
    "emoji": False,
    "char_borders": "words",
}  # how rules were meant that were written without these


@dataclass(frozen=True)
class TokenRule:
    """How texts are read; a value that travels with every model.

    - `language`: an ISO 639 code; "tr" folds I→ı; it picks the Snowball stemmer. None for no language.
    - `min_length`: shorter words are left out, in characters.
    - `digits`: False makes digits separate words, as the pattern `[a-z]+` does.
    - `stopwords`: "smart", a language code, or words; they are compared as whole words after folding.
    - `stem`: "porter" or "snowball".
    - `ngrams`: (shortest, longest) run of words that makes a term, joined by a space.
    - `analyzer`: "word"; "char" for character n-grams; "both" for word terms and character n-grams.
    - `char_ngrams`: (shortest, longest) character n-gram, the borders marked and counted; of all words, short and
      frequent ones too.
    - `char_borders`: "spaces" keeps character n-grams between spaces, with the punctuation there; "words" inside words.
    - `html`: leave out tags, comments, scripts and styles, and decode entities.
    - `message`: which parts of an RFC 822 message to read; UU-encoded blocks are then skipped.
    - `unspaced`: Chinese, Japanese, Thai, Lao, Khmer and Burmese are written without spaces: "grams" makes each
      character (with its marks) and each pair of neighbours a term, "whole" takes what is between spaces as a word.
    - `segmenter`: "jieba", if it is installed, finds the words of Chinese by its dictionary; they stand in the place of
      "grams", and texts are then read by Python, which is slower.
    - `emoji`: an emoji, with its skin tone and what is joined to it, is a term.
    - `symbols`: so is a symbol such as :-) ;) :D :/ or <3.

    >>> tokens("The Cats sat", TokenRule(stopwords="en", stem="porter", ngrams=(1, 2)))
    ['cat', 'sat', 'cat sat']
    >>> tokens("NBA球星2024 👍🏽", TokenRule())
    ['nba', '球', '球星', '星', '2024', '👍🏽']
    """

    language: str | None = "en"
    lowercase: bool = True
    min_length: int = 2
    digits: bool = True
    stopwords: str | tuple[str, ...] | None = None
    stem: str | None = None
    ngrams: tuple[int, int] = (1, 1)
    html: bool = False
    message: str | None = None
    analyzer: str = "word"
    char_ngrams: tuple[int, int] = (2, 5)
    unspaced: str = "grams"
    segmenter: str | None = None
    emoji: bool = True
    symbols: bool = False
    char_borders: str = "spaces"

    def __post_init__(self) -> None:
        for name in ("lowercase", "digits", "html", "emoji", "symbols"):
            if not isinstance(getattr(self, name), bool):
                raise UnnaiveError(f"{name} is {getattr(self, name)!r}; it is either True or False")
        check_language(self.language)
        if not _is_count(self.min_length):
            raise UnnaiveError(f"min_length is {self.min_length!r}; give a whole number from 1 on")
        object.__setattr__(self, "stopwords", _checked_stopwords(self.stopwords))
        object.__setattr__(self, "ngrams", _checked_ngrams(self.ngrams, "ngrams"))
        object.__setattr__(self, "char_ngrams", _checked_ngrams(self.char_ngrams, "char_ngrams"))
        choose(list(ANALYZERS), self.analyzer, "analyzer")
        choose(list(BORDERS), self.char_borders, "borders of character n-grams")
        choose(list(UNSPACED), self.unspaced, "treatment of scripts without spaces")
        if self.segmenter is not None:
            check_segmenter(self.segmenter)
        if self.stem is not None:
            stemmer_name(choose(list(STEMMERS), self.stem, "stemmer"), self.language)
        if self.message is not None:
            choose(list(MESSAGE_PARTS), self.message, "message part")

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain values, for JSON.

        >>> TokenRule.from_dict(TokenRule(ngrams=(1, 2)).to_dict()) == TokenRule(ngrams=(1, 2))
        True
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TokenRule:
        """The rule that `to_dict` wrote; anything else is an error of one sentence."""
        if not isinstance(values, Mapping):
            raise BadModel(f"the token rule is {type(values).__name__}; it should be a table of settings")
        unknown = sorted(map(str, set(values) - {field.name for field in fields(cls)}))
        if unknown:
            raise BadModel(f"the token rule has {', '.join(unknown)}, which this version does not know; update unnaive")
        try:
            return cls(**BEFORE_SCRIPTS | dict(values))
        except UnnaiveError as error:
            raise BadModel(f"the token rule cannot be used: {error}") from error

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """The names of all options, which are parameters of TextClassifier too."""
        return tuple(field.name for field in fields(cls))

    def with_defaults_changed(self, changes: Mapping[str, Any]) -> TokenRule:
        """The rule with these options, each only where nobody chose another than the default.

        >>> TokenRule(ngrams=(1, 3)).with_defaults_changed({"analyzer": "both", "ngrams": (1, 2)}).ngrams
        (1, 3)
        """
        default = TokenRule()
        free = {name: value for name, value in changes.items() if getattr(self, name) == getattr(default, name)}
        return replace(self, **free)

    @property
    def stop_set(self) -> frozenset[str]:
        """The stop words, folded as the text is."""
        return _stop_set(self.stopwords, self.lowercase, self.language)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _checked_stopwords(stopwords: object) -> str | tuple[str, ...] | None:
    if stopwords is None:
        return None
    if isinstance(stopwords, str):
        return choose(stop_lists(), stopwords, "stop list")
    words = tuple(stopwords) if isinstance(stopwords, Iterable) else (None,)
    if isinstance(stopwords, (set, frozenset)):
        words = tuple(sorted(words, key=str))
    if not all(isinstance(word, str) for word in words):
        raise UnnaiveError(f"stopwords is {stopwords!r}; give the name of a list ({', '.join(stop_lists())}) or words")
    return words


def _checked_ngrams(ngrams: object, name: str) -> tuple[int, int]:
    if isinstance(ngrams, (tuple, list)) and len(ngrams) == 2 and all(_is_count(n) for n in ngrams):
        shortest, longest = ngrams
        if shortest <= longest <= LONGEST_NGRAM:
            return shortest, longest
    raise UnnaiveError(f"{name} is {ngrams!r}; give (shortest, longest) with 1 ≤ shortest ≤ longest ≤ {LONGEST_NGRAM}")


@lru_cache(maxsize=16)
def _stop_set(stopwords: str | tuple[str, ...] | None, lowercase: bool, language: str | None) -> frozenset[str]:
    words = stop_list(stopwords) if isinstance(stopwords, str) else frozenset(stopwords or ())
    if not words:
        return words  # the pattern takes long to make
    signs = sign_pattern(emoji=True, symbols=True)
    words = frozenset(sign_term(word) if signs and signs.fullmatch(word) else word for word in words)
    return frozenset(folded(word, language) for word in words) if lowercase else words


@lru_cache(maxsize=2)
def word_pattern(digits: bool) -> re.Pattern[str]:
    """A run of letters, marks and (with `digits`) numbers; Hindi and decomposed words stay whole.

    >>> word_pattern(digits=True).findall("हिन्दी, R2D2 _x_")
    ['हिन्दी', 'R2D2', 'x']
    """
    return re.compile(f"[{character_class(_unicode_table.LETTERS, _unicode_table.NUMBERS if digits else '')}]+")


Span = tuple[int, int, str]


def _joined(words: list[Span], shortest: int, longest: int) -> list[Span]:
    """The n-grams; for each word, those that end with it, the short ones first."""
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
        """Without the kind."""
        return self.start, self.end, self.text


def _parts(text: str, rule: TokenRule, unspaced: str) -> Iterator[Part]:
    """Words, emoji and symbols, and with `unspaced` "grams" runs of scripts without spaces, in order."""
    signs = sign_pattern(rule.emoji, rule.symbols)
    start = 0
    for sign in signs.finditer(text) if signs else ():
        yield from _word_parts(text, start, sign.start(), rule, unspaced)
        yield Part(*sign.span(), sign_term(sign[0]), "fixed")
        start = sign.end()
    yield from _word_parts(text, start, len(text), rule, unspaced)


def _word_parts(text: str, start: int, end: int, rule: TokenRule, unspaced: str) -> Iterator[Part]:
    """The words between two places, runs taken out of them."""
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
        text = folded(text, rule.language)
    terms: list[Span] = []
    if rule.analyzer != "char":
        for is_run, stretch in groupby(_parts(text, rule, rule.unspaced), key=lambda part: part.kind == "run"):
            read = _run_terms if is_run else _word_terms
            terms += read(stretch, rule)
    if rule.analyzer != "word":
        terms += [gram for unit in _gram_units(text, rule) for gram in _character_grams(unit, rule)]
    return terms


def _gram_units(text: str, rule: TokenRule) -> Iterator[Span]:
    """What character n-grams are cut from: what stands between spaces, or words, emoji and symbols."""
    if rule.char_borders == "words":
        return (part.span for part in _parts(text, rule, "whole"))
    return ((*chunk.span(), chunk[0]) for chunk in chunk_pattern(rule.digits).finditer(text))


def _run_terms(runs: Iterable[Part], rule: TokenRule) -> list[Span]:
    """The characters and pairs of runs, without stop words."""
    grams = [(run.start + a, run.start + b, run.text[a:b]) for run in runs for a, b in run_grams(run.text)]
    return [gram for gram in grams if gram[2] not in rule.stop_set]


def _word_terms(parts: Iterable[Part], rule: TokenRule) -> list[Span]:
    """The terms of words in a row: length, stop words, stems, n-grams."""
    long = [part for part in parts if part.kind == "fixed" or len(part.text) >= rule.min_length]
    kept = [part for part in long if part.text not in rule.stop_set]
    words = [part.span for part in kept]
    if rule.stem is not None:
        stemmed = iter(stems([part.text for part in kept if part.kind == "word"], rule.stem, rule.language))
        forms = [next(stemmed) if part.kind == "word" else part.text for part in kept]
        words = [(part.start, part.end, form) for part, form in zip(kept, forms, strict=True) if form]
    return words if rule.ngrams == (1, 1) else _joined(words, *rule.ngrams)


def term_stems(terms: list[str], rule: TokenRule) -> list[str]:
    """The stems of words; emoji, symbols and what runs are cut into stay as they are.

    >>> term_stems(["games", "球星", ":d"], TokenRule(stem="porter"))
    ['game', '球星', ':d']
    """
    fixed = [_is_fixed(term, rule) for term in terms]
    stemmed = iter(
        stems([term for term, keep in zip(terms, fixed, strict=True) if not keep], str(rule.stem), rule.language)
    )
    return [term if keep else next(stemmed) for term, keep in zip(terms, fixed, strict=True)]


def _is_fixed(term: str, rule: TokenRule) -> bool:
    """Whether a term is no word, seen by how it begins; a keycap is a digit in a box."""
    if term.isascii() and term.isalnum():
        return False
    if rule.unspaced == "grams" and run_pattern().match(term):
        return True
    return not word_pattern(digits=True).match(term) or (
        rule.emoji and term[1:] == "\u20e3" and term[0] in "0123456789"
    )


def _character_grams(unit: Span, rule: TokenRule) -> list[Span]:
    """The character n-grams of a chunk or word with its borders; one too short for any is one itself.

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
    """(start, end, term) for every term, with offsets into the text as it came.

    >>> spans("R&amp;D of <b>Cats</b>", TokenRule(html=True))
    [(8, 10, 'of'), (14, 18, 'cats')]
    """
    if rule.message is None and not rule.html:
        return _terms(text, rule)
    parts = pieces(text, message=rule.message, markup=rule.html)
    places = Places(parts)
    cleaned = "".join(piece.text for piece in parts)
    return [(*places.original(start, end), term) for start, end, term in _terms(cleaned, rule)]


def cleaned(text: str, rule: TokenRule) -> str:
    """The text without the parts of a message that are not wanted and without markup."""
    if rule.message is None and not rule.html:
        return text
    return "".join(piece.text for piece in pieces(text, message=rule.message, markup=rule.html))


def tokens(text: str, rule: TokenRule) -> list[str]:
    """The terms of a text, in order.

    >>> tokens("İyi günler, IŞIK!", TokenRule(language="tr"))
    ['iyi', 'günler', 'ışık']
    """
    return [term for _, _, term in _terms(cleaned(text, rule), rule)]
