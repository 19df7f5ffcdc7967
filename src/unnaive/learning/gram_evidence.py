"""Evidence of character n-grams, added to the words that contain them, so that an explanation shows words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import replace

from unnaive.learning.explanation import Evidence
from unnaive.text.scripts import character_spans, run_pattern
from unnaive.text.tokens import GRAM, Span, word_pattern


def sum_over_words(evidence: list[Evidence], spans: list[Span], text: str) -> list[Evidence]:
    """Add the evidence of character n-grams to the words that contain them; the sum stays the same.

    The evidence of an n-gram is split equally among its occurrences, and among several words, as in scripts without
    spaces, by the number of characters. A word that is not a term is shown by its letters if the model knows n-grams of
    it; punctuation belongs to the word that it touches.
    """
    single_words = {(start, end): term for start, end, term in spans if not term.startswith(GRAM) and " " not in term}
    runs = _covered((start, end) for start, end, term in spans if term.startswith(GRAM))
    words = _words_in_runs(runs, list(single_words), text)
    starts = [start for start, _ in runs]
    names = {word: single_words.get(word, text[word[0] : word[1]].lower()) for inside in words for word in inside}
    places: dict[str, list[tuple[int, int]]] = {}
    for word, name in names.items():
        places.setdefault(name, []).append(word)
    totals: dict[str, float] = {}
    others = []
    for item in evidence:
        if not item.term.startswith(GRAM) or not item.places:
            others.append(item)
            continue
        for start, end in item.places:
            inside = words[bisect_right(starts, start) - 1]
            for word, share in _shares((start, end), inside):
                totals[names[word]] = totals.get(names[word], 0.0) + share * item.value / len(item.places)
    summed = [replace(item, value=item.value + totals.pop(item.term, 0.0)) for item in others]
    return summed + [Evidence(term, len(places[term]), value, tuple(places[term])) for term, value in totals.items()]


def _shares(gram: tuple[int, int], words: list[tuple[int, int]]) -> list[tuple[tuple[int, int], float]]:
    """The words that an n-gram overlaps with their shares of it; the nearest word if it overlaps none.

    >>> _shares((0, 3), [(0, 1), (1, 3), (3, 4)])
    [((0, 1), 0.333...), ((1, 3), 0.666...)]
    """
    common = [min(gram[1], end) - max(gram[0], start) for start, end in words]
    total = sum(max(0, n) for n in common)
    if not total:
        return [(words[common.index(max(common))], 1.0)]
    return [(word, n / total) for word, n in zip(words, common, strict=True) if n > 0]


def _covered(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The maximal segments that the spans cover without a gap; empty spans cover nothing.

    >>> _covered([(0, 2), (5, 7), (1, 3), (7, 8)])
    [(0, 3), (5, 7), (7, 8)]
    """
    runs: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if runs and start < runs[-1][1]:
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    return runs


def _shortest(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The sorted spans that contain no other span: characters rather than pairs of them.

    >>> _shortest([(0, 1), (0, 2), (1, 2), (1, 3), (5, 8)])
    [(0, 1), (1, 2), (5, 8)]
    """
    shortest: list[tuple[int, int]] = []
    for start, end in sorted(set(spans), key=lambda span: (span[1], -span[0])):
        if start < end and (not shortest or start > shortest[-1][0]):
            shortest.append((start, end))
    return shortest


def _parts(text: str, word: tuple[int, int]) -> list[tuple[int, int]]:
    """The characters of runs in a script without spaces, and the text between these runs."""
    pieces, at = [], word[0]
    for run in run_pattern().finditer(text, *word):
        pieces += [(at, run.start())] if at < run.start() else []
        pieces += [(run.start() + start, run.start() + end) for start, end in character_spans(run.group())]
        at = run.end()
    return pieces + ([(at, word[1])] if at < word[1] else [])


def _words_in_runs(
    runs: list[tuple[int, int]], word_spans: list[tuple[int, int]], text: str
) -> list[list[tuple[int, int]]]:
    """The positions of the words of each run: terms and other words; a run without words is one word.

    In scripts without spaces, a word is a character or the shortest terms.

    >>> _words_in_runs([(0, 6), (7, 9)], [(1, 2)], "(I'm), :)")
    [[(1, 2), (3, 4)], [(7, 9)]]
    >>> _words_in_runs([(0, 4)], [], "很好ok")
    [[(0, 1), (1, 2), (2, 4)]]
    """
    terms = _shortest(word_spans)
    groups = []
    for run in runs:
        inside = terms[bisect_left(terms, run[:1]) : bisect_left(terms, (run[1],))]
        letters = [
            part for word in word_pattern(digits=True).finditer(text, *run) for part in _parts(text, word.span())
        ]
        inside += [word for word in letters if not any(word[0] < end and start < word[1] for start, end in inside)]
        groups.append(sorted(inside) or [run])
    return groups
