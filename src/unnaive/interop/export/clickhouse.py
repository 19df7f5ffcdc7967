"""Target clickhouse: the counts of a naive Bayes dictionary of ClickHouse, and functions that read and label texts.

The dictionary computes multinomial naive Bayes; which words a text has is an expression with the package's own table of
characters, because lower() and character classes of databases are different.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import exp, expm1
from unnaive.base.errors import MissingExtra
from unnaive.base.sparse import csr_array
from unnaive.interop.export.c_header import KINDS, character_kinds
from unnaive.interop.export.conformance import EngineAgreement, compare_answers
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.portable import PortableModel
from unnaive.text.languages import fold_table

CARRIES = frozenset(("softmax", "argmax", "lowercase", "language", "min_length", "digits", "stopwords"))
FILE = "model.sql"
TOLERANCE = 1e-4  # ClickHouse adds logarithms in single precision: 1e-5 for texts of a hundred words
MARK = "\1"  # around an emoji while words are found
ROWS = 5000  # rows of one INSERT
FINE = 1 << 20  # counts of weights that are not logarithms of whole counts, for an alpha of 1
HEADER = """-- Makes the dictionary unnaive_model and three functions; needs the layout NAIVE_BAYES (ClickHouse 26.9).
-- Then:
--   SELECT unnaive_label(text) FROM documents
--   SELECT unnaive_probabilities(text) FROM documents   -- (label, probability) of each class, the best first
"""


def write_clickhouse(model: PortableModel) -> dict[str, bytes]:
    """The file of the export: statements, each of which ends with a semicolon at the end of a line."""
    return {FILE: (HEADER + "".join(f"{statement};\n" for statement in _statements(model))).encode()}


def _statements(model: PortableModel) -> Iterator[str]:
    counts, alpha, priors = dictionary_counts(model)
    yield "DROP DICTIONARY IF EXISTS unnaive_model"
    yield "DROP TABLE IF EXISTS unnaive_counts"
    yield "CREATE TABLE unnaive_counts (ngram String, class_id UInt32, count UInt64) ENGINE = MergeTree ORDER BY ngram"
    rows = list(zip(*counts, strict=True))
    for start in range(0, len(rows), ROWS):
        values = ", ".join(f"({_literal(model.terms[term])}, {c}, {n})" for term, c, n in rows[start : start + ROWS])
        yield f"INSERT INTO unnaive_counts VALUES {values}"
    shares = ", ".join(f"({c}, {share!r})" for c, share in enumerate(priors) if share > 0)
    yield (
        "CREATE DICTIONARY unnaive_model (ngram String, class_id UInt32 DEFAULT 0, count UInt64 DEFAULT 0) "
        "PRIMARY KEY ngram SOURCE(CLICKHOUSE(TABLE 'unnaive_counts')) LAYOUT(NAIVE_BAYES(class_attribute 'class_id' "
        f"n 1 mode 'token' alpha {alpha!r} priors_mode 'explicit' priors [{shares}])) LIFETIME(0)"
    )
    labels = "[" + ", ".join(_literal(str(label)) for label in model.classes) + "]"
    yield f"CREATE OR REPLACE FUNCTION unnaive_words AS text -> {words_of(model, 'text')}"
    words = "arrayStringConcat(unnaive_words(text), ' ')"
    yield (
        "CREATE OR REPLACE FUNCTION unnaive_label AS text -> "
        f"arrayElement({labels}, naiveBayesClassifier('unnaive_model', {words}) + 1)"
    )
    yield (
        "CREATE OR REPLACE FUNCTION unnaive_probabilities AS text -> arrayMap(p -> "
        f"(arrayElement({labels}, p.1 + 1), p.2), naiveBayesClassifierWithAllProbs('unnaive_model', {words}))"
    )


def dictionary_counts(model: PortableModel) -> tuple[tuple[list[int], list[int], list[int]], float, list[float]]:
    """((terms, classes, counts), alpha, share of each class) that give the model's weights.

    A weight is log (N + α)/α, so it says N/α, and N and α may be multiplied by the same number: by the one that makes
    the smallest count 1 if all are then whole, otherwise by FINE.
    """
    part = model.parts[0]
    is_plain = part.tf == "raw" and part.norm is None and part.columns is None and part.class_offset is not None
    if model.name != "multinomial" or not is_plain or part.term_offset is not None:
        raise CannotExport(
            "a naive Bayes dictionary of ClickHouse has counts with an alpha, so only multinomial naive Bayes with "
            "smoothing=laplace can be exported to it; train with --model multinomial, or export to sql"
        )
    table = csr_array(part.weights)
    ratios = expm1(table.data)
    present = ratios > 0
    if not bool((np.diff(table.indptr) > 0).all()) or not present.any():
        raise CannotExport(
            "the model has terms that no text of its training had, which a dictionary of ClickHouse cannot hold; train "
            "it again from the texts"
        )
    multiple = float(1 / ratios[present].min())
    counts = np.rint(ratios * multiple)
    if np.abs(ratios * multiple - counts).max() > 1e-6 * multiple or (counts[present] < 1).any():
        multiple = float(FINE)
        counts = np.maximum(np.rint(ratios * multiple), present)
    if counts.max() >= 2.0**62:
        raise CannotExport("the counts of the model are too large for ClickHouse; train it with a larger alpha")
    terms = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    kept = counts > 0
    bias = model.bias + part.bias
    shares = exp(bias - bias.max())
    cells = (terms[kept].tolist(), table.indices[kept].tolist(), counts[kept].astype(np.int64).tolist())
    return cells, _short(multiple), (shares / shares.sum()).tolist()


def _short(value: float) -> float:
    """The value without the last digits if it is a rounded number with few: 1/0.1 is 10.000000000000002."""
    return float(f"{value:.12g}")


def words_of(model: PortableModel, text: str) -> str:
    """The expression of the words of `text`, an array.

    Emoji are found first and put between marks; then words and runs of scripts without spaces, of which the units and
    pairs of units are terms.
    """
    kinds = character_kinds()
    bits = {name: 1 << place for place, name in enumerate(KINDS)}
    in_word = (kinds & (bits["letters"] | (bits["numbers"] if model.rule.digits else 0))) > 0
    unspaced = in_word & ((kinds & bits["unspaced"]) > 0)
    marks = in_word & ((kinds & bits["marks"]) > 0)
    word, unit, mark = _class(in_word & ~unspaced), _class(unspaced), _class(marks & ~unspaced)
    emoji = _emoji((kinds & bits["pictures"]) > 0, (kinds & bits["textPictures"]) > 0)
    folds = fold_table(model.rule.language == "tr") if model.rule.lowercase else {}
    before, after = zip(*sorted({ord(MARK): ord(" "), **folds}.items()), strict=True)
    folded = f"translateUTF8({text}, {_literal(''.join(map(chr, before)))}, {_literal(''.join(map(chr, after)))})"
    marked = f"replaceRegexpAll({folded}, {_literal(emoji)}, {_literal(f'{MARK}' + chr(92) + f'0{MARK}')})"
    found = _literal(f"{MARK}[^{MARK}]+{MARK}|{unit}(?:{unit}|{mark})*|{word}+")
    units = f"extractAll(word, {_literal(f'{unit}{mark}*')})"
    pairs = f"arrayMap((one, next) -> concat(one, next), arrayPopBack({units}), arrayPopFront({units}))"
    selectors = _literal(f"[{MARK}\\x{{FE0E}}\\x{{FE0F}}]")
    stop_words = ", ".join(_literal(word) for word in model.stop_words)
    terms = (
        f"arrayFlatten(arrayMap(word -> multiIf(startsWith(word, {_literal(MARK)}), "
        f"[replaceRegexpAll(word, {selectors}, '')], match(word, {_literal(f'^{unit}')}), "
        f"arrayConcat({units}, {pairs}), "
        f"lengthUTF8(word) >= {model.rule.min_length}, [word], []), extractAll({marked}, {found})))"
    )
    return f"arrayFilter(term -> term NOT IN ({stop_words}), {terms})" if stop_words else terms


def _emoji(picture: NDArray[np.bool_], text_picture: NDArray[np.bool_]) -> str:
    """The pattern of an emoji: a flag, a keycap, or pictures with selectors, tones and tags that are joined."""
    one = f"(?:{_class(picture)}[\\x{{FE0E}}\\x{{FE0F}}]?|{_class(text_picture & ~picture)}\\x{{FE0F}})"
    one += "[\\x{1F3FB}-\\x{1F3FF}]?[\\x{E0020}-\\x{E007F}]*"
    flag, keycap = "[\\x{1F1E6}-\\x{1F1FF}]{2}", "[0-9]\\x{FE0F}?\\x{20E3}"
    return f"{flag}|{keycap}|{one}(?:\\x{{200D}}{one})*"


def _class(chosen: NDArray[np.bool_]) -> str:
    """The characters as a class of a regular expression."""
    edges = np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    runs = (f"\\x{{{a:X}}}" if b == a + 1 else f"\\x{{{a:X}}}-\\x{{{b - 1:X}}}" for a, b in edges.tolist())
    return "[" + "".join(runs) + "]"


def _literal(value: str) -> str:
    """A string literal of ClickHouse in one line."""
    shown = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return "'" + shown.replace("\0", "\\0").replace(MARK, "\\x01").encode("utf-8", "replace").decode() + "'"


def check_clickhouse(folder: Path, lines: list[str]) -> list[EngineAgreement]:
    """Run the export in chdb, which is ClickHouse in a Python package."""
    if find_spec("chdb") is None:
        raise MissingExtra("checking this export needs chdb, which was not found; install it first (pip install chdb)")
    about = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    statements = (folder / FILE).read_text(encoding="utf-8").split(";\n")
    answers = run_clickhouse(statements, [json.loads(line)["text"] for line in lines], about["classes"])
    return [compare_answers("ClickHouse (chdb)", TOLERANCE, lines, answers)]


def run_clickhouse(statements: Sequence[str], texts: Sequence[str], classes: Sequence[Any]) -> list[dict[str, Any]]:
    """The label and the probabilities of each text."""
    with tempfile.TemporaryDirectory() as place:
        session = import_module("chdb.session").Session(place)
        try:
            session.query("CREATE DATABASE unnaive")
            session.query("USE unnaive")
            for statement in statements:
                if statement.strip():
                    session.query(statement)
            session.query("CREATE TABLE documents (id UInt32, text String) ENGINE = MergeTree ORDER BY id")
            values = ", ".join(f"({row}, {_literal(text)})" for row, text in enumerate(texts))
            session.query(f"INSERT INTO documents VALUES {values}")
            query = "SELECT unnaive_label(text) AS label, unnaive_probabilities(text) AS p FROM documents ORDER BY id"
            printed = str(session.query(query, "JSONCompactEachRow"))
        finally:
            session.close()
    rows = [json.loads(line) for line in printed.split("\n") if line]
    names = [str(label) for label in classes]
    answers = []
    for label, pairs in rows:
        probability = dict(map(tuple, pairs))
        answers.append(
            {"labels": [classes[names.index(label)]], "probabilities": [probability.get(n, 0.0) for n in names]}
        )
    return answers
