"""TokenRule: how texts become terms. It declares every token option with its type, range, default and help.

tokens.py specifies what each option does; `exports` names the exports that carry it, and the others refuse it.
TextClassifier's parameters, the command line options, completion and the reference pages are generated from these
fields, so this module imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from typing import Any

from unnaive.base.errors import BadModel, UnnaiveError, choose
from unnaive.base.settings import (
    EXPORTS,
    EXPORTS_BUT_SQL,
    check_options,
    declared_options,
    documented,
    option,
)
from unnaive.text.field import Field

BORDERS = {"spaces": " ", "words": "_"}  # units of character n-grams, and the character that marks their borders
LONGEST_NGRAM = 8
# header fields of a message that are read before its body; None for all
MESSAGE_HEADERS = {"whole": None, "body": (), "subject-body": ("subject",), "from-subject-body": ("from", "subject")}
BEFORE_SCRIPTS: dict[str, Any] = {
    "unspaced": "whole",
    "emoji": False,
    "char_borders": "words",
}  # values for stored rules from before these options existed


@documented
@dataclass(frozen=True)
class TokenRule:
    """How texts become terms; every model stores its rule.

    >>> from unnaive.text.tokens import tokens
    >>> tokens("The Cats sat", TokenRule(stopwords="en", stem="porter", ngrams=(1, 2)))
    ['cat', 'sat', 'cat sat']
    >>> tokens("NBA球星2024 👍🏽", TokenRule())
    ['nba', '球', '球星', '星', '2024', '👍🏽']
    """

    language: str | None = option(
        "Language of the texts as an ISO 639 code, e.g. en, tr or de.",
        default="en", metavar="CODE", exports=EXPORTS,
        more='It sets case folding ("tr" folds I→ı), the Snowball stemmer and the code page of files; None for none.',
    )  # fmt: skip
    lowercase: bool = option(
        "Convert to lower case, by the rules of the language.", default=True, flags=("--lowercase",),
        exports=EXPORTS,
    )  # fmt: skip
    min_length: int = option("Minimum length of a word in characters.", default=2, at_least=1, exports=EXPORTS)
    digits: bool = option(
        "Keep digits as parts of words.",
        default=True,
        more="With False, digits end a word and are ignored, as with the pattern [a-z]+.",
        exports=EXPORTS,
    )
    stopwords: str | tuple[str, ...] | None = option(
        "Stop words to leave out: smart, a language code, or a file of words; by default none.",
        metavar="LIST", path="read", exports=EXPORTS,
        more="In Python, a list of words is allowed too. Stop words are compared with whole words after case folding.",
    )  # fmt: skip
    stem: str | None = option(
        "Stemmer: porter or snowball; by default none.", choices=("porter", "snowball"), noun="stemmer", metavar="NAME"
    )
    ngrams: tuple[int, int] = option(
        "Length of word n-grams, e.g. 2 or 1-2.",
        default=(1, 1),
        metavar="N[-M]",
        more="Words are joined by a space.",
        exports=EXPORTS,
    )
    strip_html: bool = option("Leave out HTML tags, scripts and styles, and decode entities.", default=False)
    message: str | None = option(
        "Parts of e-mail messages to read, e.g. whole, body or subject-body.", choices=tuple(MESSAGE_HEADERS),
        noun="message part", metavar="PARTS", more="UU-encoded blocks are then skipped.",
    )  # fmt: skip
    analyzer: str = option(
        "Terms to count: word, char (character n-grams) or both.",
        default="word", choices=("word", "char", "both"), metavar="KIND", exports=EXPORTS_BUT_SQL,
    )  # fmt: skip
    char_ngrams: tuple[int, int] = option(
        "Length of character n-grams, e.g. 3 or 2-5.", default=(2, 5), metavar="N[-M]",
        needs=("analyzer=char", "analyzer=both"),
        more="The borders of words are marked and count as characters; stop words and short words have n-grams too.",
        exports=EXPORTS,
    )  # fmt: skip
    unspaced: str = option(
        "Terms of scripts without spaces, e.g. Chinese: grams (characters and pairs) or whole (text between spaces).",
        default="grams", choices=("grams", "whole"), noun="treatment of scripts without spaces", metavar="KIND",
        exports=EXPORTS,
        more='Also Lao, Khmer and Burmese. "grams" makes each character (with its marks) and each pair of neighbours a '
        'term, "whole" makes each text between spaces a word.',
    )  # fmt: skip
    segmenter: str | None = option(
        "Word segmenter for Chinese: jieba; by default none.", choices=("jieba",), metavar="NAME",
        more="Its words replace the character grams. Texts are then read by Python, which is slower.",
    )  # fmt: skip
    emoji: bool = option(
        "Count emoji as terms.",
        default=True,
        more="Skin tones and joined emoji belong to the same term.",
        exports=EXPORTS,
    )
    symbols: bool = option("Count symbols such as :-) and <3 as terms.", default=False, exports=EXPORTS_BUT_SQL)
    char_borders: str = option(
        "Borders of character n-grams: spaces (n-grams include punctuation) or words (they do not).", default="spaces",
        choices=tuple(BORDERS), noun="borders of character n-grams", metavar="KIND", exports=EXPORTS,
        needs=("analyzer=char", "analyzer=both"),
    )  # fmt: skip

    fields: tuple[Field, ...] | None = option(
        "Kinds of the fields by name, if documents are records: text, category, number, date or vector.",
        more='For example {"subject": "text", "age": "number"}. The last text field gives plain words, the others give '
        'plain words and words with the field name; "shared", "own" and "both" set this for one field. If only names '
        "are given, kinds are guessed.",
        exports=("js", "c", "sql"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        from unnaive.text.field import read_fields
        from unnaive.text.languages import check_language, stemmer_name
        from unnaive.text.segmenters import check_segmenter

        check_options(self, OPTIONS, type(self).__name__)
        for name, declared in OPTIONS.items():
            if declared.annotation in PLAIN:  # NumPy numbers cannot be written as JSON
                object.__setattr__(self, name, PLAIN[declared.annotation](getattr(self, name)))
        check_language(self.language)
        object.__setattr__(self, "stopwords", _checked_stopwords(self.stopwords))
        object.__setattr__(self, "ngrams", _checked_ngrams(self.ngrams, "ngrams"))
        object.__setattr__(self, "char_ngrams", _checked_ngrams(self.char_ngrams, "char_ngrams"))
        object.__setattr__(self, "fields", read_fields(self.fields))
        if self.fields is not None and self.message is not None:
            raise UnnaiveError(
                "message parts are read only from plain texts, not from records with "
                "fields; leave out message or fields"
            )
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
            del values["fields"]  # older versions do not know this option
        else:
            values["fields"] = [str(field) for field in self.fields]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TokenRule:
        """The inverse of `to_dict`; raises BadModel for anything else."""
        if not isinstance(values, Mapping):
            raise BadModel(
                f"the token rule is a {type(values).__name__}, not an object of settings; the model file is damaged"
            )
        unknown = sorted(map(str, set(values) - {field.name for field in dataclass_fields(cls)}))
        if unknown:
            raise BadModel(f"the token rule has {', '.join(unknown)}, which this version does not know; update unnaive")
        try:
            return cls(**BEFORE_SCRIPTS | dict(values))
        except UnnaiveError as error:
            raise BadModel(f"the token rule cannot be used: {error}") from error

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """The names of all options, which are also parameters of TextClassifier."""
        return tuple(field.name for field in dataclass_fields(cls))

    def with_defaults_changed(self, changes: Mapping[str, Any]) -> TokenRule:
        """The rule with these changes, applied only to options that have their default value.

        >>> TokenRule(ngrams=(1, 3)).with_defaults_changed({"analyzer": "both", "ngrams": (1, 2)}).ngrams
        (1, 3)
        """
        default = TokenRule()
        free = {name: value for name, value in changes.items() if getattr(self, name) == getattr(default, name)}
        return replace(self, **free)

    @property
    def field_kinds(self) -> dict[str, str] | None:
        """The kind of each field by its name; None if documents are plain texts."""
        from unnaive.text.field import field_kinds

        return None if self.fields is None else field_kinds(self.fields)

    def without_vectors(self) -> TokenRule:
        """The same rule without vector fields, for models that cannot use them."""
        from unnaive.text.field import VECTOR

        fields_left = tuple(field for field in self.fields or () if field.kind != VECTOR)
        return (
            self if self.fields is None or len(fields_left) == len(self.fields) else replace(self, fields=fields_left)
        )

    @property
    def stop_set(self) -> frozenset[str]:
        """The stop words, case-folded like the texts."""
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
