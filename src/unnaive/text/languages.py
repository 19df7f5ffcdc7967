"""Language-dependent steps: case folding, stop words, stemming; tokens.py applies them in order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from threading import local
from typing import Any

from unnaive.base.errors import UnnaiveError, choose
from unnaive.base.extras import import_extra
from unnaive.text import _unicode_table

STOPWORDS = Path(__file__).with_name("stopwords")

# language code → the name of its Snowball stemmer in PyStemmer
SNOWBALL = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}


LANGUAGES = (  # the two-letter codes of ISO 639
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de "
    "dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id "
    "ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu "
    "lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu "
    "rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr "
    "ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
ISO_639 = frozenset(LANGUAGES.split())


def check_language(code: object) -> None:
    """Raise an error unless `code` is a language code or None; it lists the languages with a stemmer or stop list.

    >>> check_language("xx")
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: 'xx' is not a language code of ISO 639; give a two-letter code ...
    """
    if code is None:
        return
    if not (isinstance(code, str) and re.fullmatch("[a-z]{2,3}", code)):
        raise UnnaiveError(f"language is {code!r}; give an ISO 639 code such as 'en', 'tr' or 'de', or None")
    if len(code) == 2 and code not in ISO_639:  # there are thousands of three-letter codes
        supported = {*SNOWBALL, *stop_lists()} & ISO_639
        raise UnnaiveError(
            f"{code!r} is not a language code of ISO 639; give a two-letter code such as en (there "
            "are stemmers or stop "
            f"lists for {', '.join(sorted(supported))})"
        )


@lru_cache(maxsize=2)
def fold_table(turkish: bool) -> dict[int, int]:
    """Lower-case forms for `str.translate`, one character for one, so that offsets do not change.

    İ becomes i, final ς becomes σ; in Turkish I becomes ı.

    >>> "İSTANBUL Iğdır".translate(fold_table(turkish=True))
    'istanbul ığdır'
    """
    pairs = (pair.split(":") for pair in _unicode_table.FOLDS.split())
    table = {int(code, 16): int(lower, 16) for code, lower in pairs}
    return table | {ord("I"): ord("ı")} if turkish else table


def fold_case(text: str, language: str | None) -> str:
    """The text in lower case, by the rules of its language."""
    return text.translate(fold_table(language == "tr"))


def stop_lists() -> list[str]:
    """The names of the included stop lists: SMART and language codes."""
    return sorted(path.stem for path in STOPWORDS.glob("*.txt"))


@lru_cache(maxsize=32)
def stop_list(name: str) -> frozenset[str]:
    """The words of an included stop list; lines that begin with # are comments.

    >>> len(stop_list("smart")), "the" in stop_list("smart")
    (570, True)
    """
    choose(stop_lists(), name, "stop list")
    lines = (STOPWORDS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def stemmer_name(stem: str, language: str | None) -> str:
    """PyStemmer's name of the stemmer; for an unknown language, the error lists those that have one."""
    if stem == "porter":
        return "porter"
    return SNOWBALL[choose(list(SNOWBALL), language or "", "Snowball stemmer")]


_of_thread = local()


def _stemmer(name: str) -> Any:
    """The stemmer of this thread; a stemmer is not thread-safe without the GIL."""
    stemmer = _of_thread.__dict__.get(name)
    if stemmer is None:
        stemmer = _of_thread.__dict__[name] = _make_stemmer(name)
    return stemmer


def _make_stemmer(name: str) -> Any:
    return import_extra("Stemmer", "stemming").Stemmer(name)


def stems(words: Iterable[str], stem: str, language: str | None) -> list[str]:
    """The stem of each word.

    >>> stems(["smoothing", "smoothed"], "porter", "en")
    ['smooth', 'smooth']
    """
    return list(_stemmer(stemmer_name(stem, language)).stemWords(list(words)))
