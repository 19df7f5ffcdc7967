"""Find texts that are empty, too short, or in another script or language than most texts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from unnaive.base.types import Sparse
from unnaive.curation.audit.audit_input import AuditData
from unnaive.curation.audit.findings import DROP, Finding
from unnaive.data.missing_values import is_missing_value
from unnaive.text.languages import stop_list, stop_lists
from unnaive.text.vocabulary import Vocabulary

LOOKED_AT = 1000  # characters of a text that its script is determined from
FEWEST_LETTERS = 8  # minimum number of letters to determine the script
FEWEST_WORDS = 8  # minimum number of words to determine the language
FOREIGN_RATE = 0.15  # minimum share of words that are stop words of the other language alone
OWN_RATE = 0.05  # maximum share of words that are stop words of the usual language
LETTERS = re.compile(r"[^\W\d_]")
NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def text_findings(data: AuditData, X: Sparse, vocabulary: Vocabulary) -> list[Finding]:
    """Find empty texts, texts of one word, and texts in another script or language."""
    findings = list(_empty_and_short(data, X))
    scripts = [main_script(text) for text in data.texts]
    foreign = set()
    for row, reason in foreign_scripts(scripts):
        foreign.add(row)
        findings.append(data.finding(row, "foreign-script", reason, DROP, score=0.9))
    for row, reason, score in foreign_languages(X, vocabulary):
        if row not in foreign:
            findings.append(data.finding(row, "foreign-language", reason, DROP, score=score))
    return findings


def _empty_and_short(data: AuditData, X: Sparse) -> Iterator[Finding]:
    words = np.asarray(X.sum(axis=1))
    for row in np.flatnonzero(words <= 1):
        text = data.texts[int(row)].strip()
        if not text:
            yield data.finding(row, "empty-text", "the text is empty", DROP)
        elif is_missing_value(text):
            reason = f"the text is {text}, which programs write for a missing value"
            yield data.finding(row, "empty-text", reason, DROP, score=0.9)
        elif words[row] == 0 and not LETTERS.search(text):
            yield data.finding(row, "empty-text", "the text has no letters", DROP, score=0.9)
        elif words[row] == 0:
            yield data.finding(row, "short-text", "the text has no word of two letters", DROP, score=0.9)
        elif len(text.split()) == 1:
            yield data.finding(row, "short-text", "the text is one word", DROP, score=0.5)


def main_script(text: str) -> str:
    """The script of most letters; "" for fewer than eight letters.

    >>> main_script("Добрый день, не могу войти"), main_script("good morning"), main_script("42")
    ('CYRILLIC', 'LATIN', '')
    """
    text = text[:LOOKED_AT]
    if text.isascii():
        return "LATIN" if len(LETTERS.findall(text)) >= FEWEST_LETTERS else ""
    other = NOT_ASCII.findall(text)
    latin = len(LETTERS.findall(text)) - sum(letter.isalpha() for letter in other)
    counted = Counter(script for script in map(_script, other) if script)
    counted["LATIN"] += latin
    script, n = counted.most_common(1)[0]
    return script if n and sum(counted.values()) >= FEWEST_LETTERS else ""


@lru_cache(maxsize=1 << 16)
def _script(letter: str) -> str:
    """The script of a letter: the first word of its Unicode name; Japanese and Chinese count as one script."""
    if not letter.isalpha():
        return ""
    name = unicodedata.name(letter, "").split(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA", "CJK") else name


def foreign_scripts(scripts: Sequence[str]) -> list[tuple[int, str]]:
    """Return (row, reason) for each text in a script that fewer than a tenth of the texts use."""
    counted = Counter(script for script in scripts if script)
    if not counted:
        return []
    usual = counted.most_common(1)[0][0]
    total = sum(counted.values())
    return [
        (
            row,
            f"most letters are {script.title()}; {100 * counted[usual] / total:.0f} % of the texts are {usual.title()}",
        )
        for row, script in enumerate(scripts)
        if script and script != usual and counted[script] < total / 10
    ]


def foreign_languages(X: Sparse, vocabulary: Vocabulary) -> Iterator[tuple[int, str, float]]:
    """Yield (row, reason, score) for texts with many stop words of one language and hardly any of the usual language.

    The usual language is the one whose stop words are most frequent in all texts. A stop word of both languages counts
    for the usual one only.
    """
    languages = [name for name in stop_lists() if name != "smart"]
    lists = {name: stop_list(name) for name in languages}
    totals = np.asarray(X.sum(axis=0), np.float64)
    shares = {name: totals[_places(lists[name], vocabulary)].sum() for name in languages}
    usual = max(languages, key=lambda name: shares[name])
    if not shares[usual]:
        return
    table = np.zeros((X.shape[1], len(languages)))
    for column, name in enumerate(languages):
        words = lists[name] if name == usual else lists[name] - lists[usual]
        table[_places(words, vocabulary), column] = 1.0
    lengths = np.asarray(X.sum(axis=1), np.float64)
    rates = np.asarray(X @ table) / np.maximum(lengths, 1)[:, None]
    usual_rate = rates[:, languages.index(usual)].copy()
    rates[:, languages.index(usual)] = 0
    best = rates.argmax(axis=1)
    rate = rates[np.arange(len(best)), best]
    for row in np.flatnonzero((lengths >= FEWEST_WORDS) & (rate >= FOREIGN_RATE) & (usual_rate <= OWN_RATE)):
        language = languages[int(best[row])]
        reason = (
            f"{100 * rate[row]:.0f} % of its words are stop words of {language!r} alone, "
            f"{100 * usual_rate[row]:.0f} % of {usual!r}, the language of most texts"
        )
        yield int(row), reason, float(min(1.0, rate[row] * 2))


def _places(words: Iterable[str], vocabulary: Vocabulary) -> list[int]:
    """The ids of the words that are in the vocabulary."""
    return [vocabulary.id(word) for word in sorted(words) if word in vocabulary]
