"""TokenRule: how texts are read. The one declaration of every token option: type, range, default and help.

tokens.py says what each option means. TextClassifier's parameters, the options of the command line, completion and the
reference pages are made from the fields, so this module imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from typing import Any

from unnaive.base.errors import BadModel, UnnaiveError, choose
from unnaive.base.settings import check_options, declared_options, documented, option

BORDERS = {"spaces": " ", "words": "_"}  # what character grams stay within, and the sign of its borders
LONGEST_NGRAM = 8
# which headers of a message are read before its body; None for all
MESSAGE_HEADERS = {"whole": None, "body": (), "subject-body": ("subject",), "from-subject-body": ("from", "subject")}
BEFORE_SCRIPTS: dict[str, Any] = {
    "unspaced": "whole",
    "emoji": False,
    "char_borders": "words",
}  # how rules were meant that were written without these


@documented
@dataclass(frozen=True)
class TokenRule:
    """How texts are read; a value that travels with every model.

    >>> from unnaive.text.tokens import tokens
    >>> tokens("The Cats sat", TokenRule(stopwords="en", stem="porter", ngrams=(1, 2)))
    ['cat', 'sat', 'cat sat']
    >>> tokens("NBA球星2024 👍🏽", TokenRule())
    ['nba', '球', '球星', '星', '2024', '👍🏽']
    """

    language: str | None = option(
        "Language of the texts as an ISO 639 code, e.g. en, tr or de.",
        default="en", metavar="CODE",
        more='Decides case folding ("tr" folds I→ı), the Snowball stemmer and the code page of files; None: none.',
    )  # fmt: skip
    lowercase: bool = option(
        "Convert to lower case, by the rules of the language.", default=True, flags=("--lowercase/--keep-case",)
    )
    min_length: int = option("Minimum length of a word in characters.", default=2, at_least=1)
    digits: bool = option(
        "Keep digits as parts of words.",
        default=True,
        more="False makes them separate words, as the pattern [a-z]+ does.",
    )
    stopwords: str | tuple[str, ...] | None = option(
        "Stop words to leave out: smart, a language code, or a file of words; by default none.",
        metavar="LIST", path="read",
        more="In Python, the words themselves; they are compared as whole words after folding.",
    )  # fmt: skip
    stem: str | None = option(
        "Stemmer: porter or snowball; by default none.", choices=("porter", "snowball"), noun="stemmer", metavar="NAME"
    )
    ngrams: tuple[int, int] = option(
        "Length of word n-grams, e.g. 2 or 1-2.",
        default=(1, 1),
        metavar="N[-M]",
        more="Words are joined by a space.",
    )
    html: bool = option(
        "Leave out HTML tags, scripts and styles, and decode entities.", default=False, flags=("--markup", "--html")
    )
    message: str | None = option(
        "Parts of e-mail messages to read, e.g. whole, body or subject-body.", choices=tuple(MESSAGE_HEADERS),
        noun="message part", metavar="PARTS", more="UU-encoded blocks are then skipped.",
    )  # fmt: skip
    analyzer: str = option(
        "Terms to count: word, char (character n-grams) or both.",
        default="word", choices=("word", "char", "both"), metavar="KIND",
    )  # fmt: skip
    char_ngrams: tuple[int, int] = option(
        "Length of character n-grams, e.g. 3 or 2-5.", default=(2, 5), metavar="N[-M]",
        more="Borders of words are marked and counted; short and frequent words have some too.",
    )  # fmt: skip
    unspaced: str = option(
        "Terms of scripts without spaces, e.g. Chinese: grams (characters and pairs) or whole (text between spaces).",
        default="grams", choices=("grams", "whole"), noun="treatment of scripts without spaces", metavar="KIND",
        more='Also Lao, Khmer and Burmese. "grams" makes each character (with its marks) and each pair of neighbours a '
        'term, "whole" takes what is between spaces as a word.',
    )  # fmt: skip
    segmenter: str | None = option(
        "Word segmenter for Chinese: jieba; by default none.", choices=("jieba",), metavar="NAME",
        more="They take the place of grams; texts are then read by Python, which is slower.",
    )  # fmt: skip
    emoji: bool = option(
        "Count emoji as terms.", default=True, more="An emoji is one term with its skin tone and what is joined to it."
    )
    symbols: bool = option("Count symbols such as :-) and <3 as terms.", default=False)
    char_borders: str = option(
        "Borders of character n-grams: spaces (n-grams include punctuation) or words (they do not).", default="spaces",
        choices=tuple(BORDERS), noun="borders of character n-grams", metavar="KIND",
    )  # fmt: skip

    fields: tuple[str, ...] | None = option(
        "Fields of records in the place of texts: kinds by name, as text, category, number, date, vector.",
        more='{"subject": "text", "age": "number"}, for instance. The last text is read as texts are, others so and '
        'as words of their own; "shared", "own" and "both" say it for one field. Names alone have their kinds guessed.',
    )  # fmt: skip

    def __post_init__(self) -> None:
        from unnaive.text.languages import check_language, stemmer_name
        from unnaive.text.sections import read_fields
        from unnaive.text.segmenters import check_segmenter

        check_options(self, OPTIONS)
        for name, declared in OPTIONS.items():
            if declared.annotation in PLAIN:  # numbers of NumPy have no JSON
                object.__setattr__(self, name, PLAIN[declared.annotation](getattr(self, name)))
        check_language(self.language)
        object.__setattr__(self, "stopwords", _checked_stopwords(self.stopwords))
        object.__setattr__(self, "ngrams", _checked_ngrams(self.ngrams, "ngrams"))
        object.__setattr__(self, "char_ngrams", _checked_ngrams(self.char_ngrams, "char_ngrams"))
        object.__setattr__(self, "fields", read_fields(self.fields))
        if self.fields is not None and self.message is not None:
            raise UnnaiveError("message parts are read of texts, not of records with fields; leave one of the two out")
        if self.segmenter is not None:
            check_segmenter(self.segmenter)
        if self.stem is not None:
            stemmer_name(self.stem, self.language)

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain values, for JSON.

        >>> TokenRule.from_dict(TokenRule(ngrams=(1, 2)).to_dict()) == TokenRule(ngrams=(1, 2))
        True
        """
        values = {field.name: getattr(self, field.name) for field in dataclass_fields(self)}
        if self.fields is None:
            del values["fields"]  # which older versions do not know
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TokenRule:
        """The rule that `to_dict` wrote; anything else is an error of one sentence."""
        if not isinstance(values, Mapping):
            raise BadModel(f"the token rule is {type(values).__name__}; it should be a table of settings")
        unknown = sorted(map(str, set(values) - {field.name for field in dataclass_fields(cls)}))
        if unknown:
            raise BadModel(f"the token rule has {', '.join(unknown)}, which this version does not know; update unnaive")
        try:
            return cls(**BEFORE_SCRIPTS | dict(values))
        except UnnaiveError as error:
            raise BadModel(f"the token rule cannot be used: {error}") from error

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """The names of all options, which are parameters of TextClassifier too."""
        return tuple(field.name for field in dataclass_fields(cls))

    def with_defaults_changed(self, changes: Mapping[str, Any]) -> TokenRule:
        """The rule with these options, each only if its value is the default.

        >>> TokenRule(ngrams=(1, 3)).with_defaults_changed({"analyzer": "both", "ngrams": (1, 2)}).ngrams
        (1, 3)
        """
        default = TokenRule()
        free = {name: value for name, value in changes.items() if getattr(self, name) == getattr(default, name)}
        return replace(self, **free)

    @property
    def field_kinds(self) -> dict[str, str] | None:
        """The kind of each field by its name; None where documents are texts."""
        from unnaive.text.sections import field_kinds

        return None if self.fields is None else field_kinds(self.fields)

    def without_vectors(self) -> TokenRule:
        """The rule that reads the same but vector fields, which it skips; for what cannot weigh them."""
        from unnaive.text.sections import vector_lengths

        skipped = vector_lengths(self.fields)
        kept = tuple(one for one in self.fields or () if one.rpartition(":")[0] not in skipped)
        return replace(self, fields=kept) if skipped else self

    @property
    def stop_set(self) -> frozenset[str]:
        """The stop words, folded as the text is."""
        from unnaive.text.tokens import folded_stop_words

        return folded_stop_words(self.stopwords, self.lowercase, self.language)


OPTIONS = declared_options(TokenRule)
PLAIN: dict[str, Any] = {"bool": bool, "int": int}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _checked_stopwords(stopwords: object) -> str | tuple[str, ...] | None:
    from unnaive.text.languages import stop_lists

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
