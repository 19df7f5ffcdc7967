"""The settings of a scikit-learn vectorizer as a rule of the kernel, or the reason why scikit-learn must count."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any

from sklearn.feature_extraction import text as theirs

from unnaive.base.errors import BadData
from unnaive.text.backend import kernel
from unnaive.text.buffer import TextBuffer, as_texts
from unnaive.text.python_text import PythonRule

log = logging.getLogger("unnaive.vectorizers")

# the minimum length of words for each pattern that the kernel reads
PATTERNS = {
    mode + pattern: length
    for mode in ("", "(?u)")
    for pattern, length in ((r"\b\w\w+\b", 2), (r"\w\w+", 2), (r"\b\w+\b", 1), (r"\w+", 1))
}
LONGEST = 8  # n-grams of words, or of characters between spaces
# methods that say what a term is: the kernel does not know those of a subclass
ANALYSIS = (
    "build_analyzer", "build_preprocessor", "build_tokenizer", "get_stop_words", "_word_ngrams", "_char_ngrams",
    "_char_wb_ngrams",
)  # fmt: skip


def kernel_rule(vectorizer: Any) -> PythonRule | None:
    """The rule that gives the same terms as the vectorizer's settings, or None if scikit-learn must count.

    The reason is then logged, once for each.
    """
    reason = _reason(vectorizer)
    if reason:
        _log_once(reason)
        return None
    words = vectorizer.analyzer == "word"
    stops = vectorizer.get_stop_words() if words else None
    return PythonRule(
        analyzer=vectorizer.analyzer,
        ngrams=(int(vectorizer.ngram_range[0]), int(vectorizer.ngram_range[1])),
        lowercase=bool(vectorizer.lowercase),
        accents=vectorizer.strip_accents or None,
        min_length=PATTERNS[vectorizer.token_pattern] if words else 1,
        stop_words=tuple(sorted(word for word in stops or () if isinstance(word, str))),
    )


def _reason(vectorizer: Any) -> str:
    """Why the kernel cannot count for this vectorizer; empty if it can."""
    if kernel is None:
        return "unnaive was built without its native kernel"
    for name in ANALYSIS:
        own = getattr(vectorizer, name)
        if getattr(own, "__func__", None) is not getattr(theirs._VectorizerMixin, name):
            return f"{name} is not scikit-learn's own"
    callables = [name for name in ("analyzer", "preprocessor", "tokenizer", "strip_accents")
                 if callable(getattr(vectorizer, name))]  # fmt: skip
    if callables:
        return f"{callables[0]} is a function of Python"
    if vectorizer.analyzer == "word" and vectorizer.token_pattern not in PATTERNS:
        return f"token_pattern is {vectorizer.token_pattern!r}"
    shortest, longest = vectorizer.ngram_range
    if shortest < 1 or (longest > LONGEST and vectorizer.analyzer != "char"):
        return f"ngram_range is {vectorizer.ngram_range!r}"
    return ""


@cache
def _log_once(reason: str) -> None:
    log.warning("scikit-learn counts the terms, many times more slowly than the kernel, because %s", reason)


def read_texts(vectorizer: Any, documents: Any) -> Sequence[str]:
    """The documents as str, decoded or read as the vectorizer's settings say; errors are scikit-learn's own."""
    plain = vectorizer.input == "content" and vectorizer.decode.__func__ is theirs._VectorizerMixin.decode
    if plain:
        columns = _column(documents)
        if columns is not None:
            return columns
    texts: Sequence[Any] = documents if isinstance(documents, (list, tuple)) else list(documents)
    if plain and kernel.all_str(texts):
        return texts
    return [_text(vectorizer, row, document) for row, document in enumerate(texts)]


def _column(documents: Any) -> TextBuffer | None:
    """The texts of an Arrow array or a column of pandas or polars, without a copy; None for anything else."""
    module, kind = type(documents).__module__.partition(".")[0], type(documents).__name__
    if module != "pyarrow" and (module not in ("pandas", "polars") or kind != "Series"):
        return None
    try:
        texts = as_texts(documents)
    except BadData:
        if module == "pyarrow":  # which scikit-learn cannot read
            raise
        return None
    return texts if isinstance(texts, TextBuffer) else None


def _text(vectorizer: Any, row: int, document: Any) -> str:
    text = vectorizer.decode(document)
    if type(text) is str:
        return text
    if isinstance(text, str):
        return str.__str__(text)
    vectorizer.build_analyzer()(document)  # raises scikit-learn's own error
    raise TypeError(f"document {row} is {type(text).__name__}; give str or bytes")
