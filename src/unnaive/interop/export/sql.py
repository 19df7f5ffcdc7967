"""Target sql: tables and one query that labels a column of texts, for SQLite, DuckDB and PostgreSQL; word n-grams only.

The query reads characters one by one with the package's own table of characters, because databases disagree about
letters and case. Its result has a row for each text and class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from unnaive.base.sparse import csr_array, issparse
from unnaive.interop.export.c_header import character_kinds
from unnaive.interop.export.declared_parts import CannotExport, refuse_nul
from unnaive.interop.export.portable import PortableModel, PortablePart
from unnaive.interop.export.sql_dialects import DIALECTS, Dialect
from unnaive.interop.export.sql_records import SELECT, TABLES, record_rows, record_source, record_terms
from unnaive.text.field import field_kinds
from unnaive.text.languages import fold_table

ROWS = 500  # rows of one INSERT
LETTER, NUMBER, MARK, UNSPACED, PICTURE, TEXT_PICTURE = 1, 2, 4, 8, 16, 32


def write_sql(model: PortableModel) -> dict[str, bytes]:
    """The files of the export by name: for each database its tables, and the query."""
    _check(model)
    files = {}
    for name, dialect in DIALECTS.items():
        files[f"{name}-tables.sql"] = "".join(_tables(model, dialect)).encode()
        files[f"{name}-label.sql"] = label_query(model, dialect).encode()
    return files


def _check(model: PortableModel) -> None:
    columns = ["id", *(name.lower() for name in field_kinds(model.rule.fields or ()))]
    twice = next((name for number, name in enumerate(columns) if name in columns[:number]), None)
    if twice is not None:
        raise CannotExport(
            f"a table of the SQL export would have two columns called {twice!r}, because databases ignore case and the "
            "first is id; rename the field and train again, or export to js or c"
        )
    refuse_nul(model.classes, "databases store no NUL")


def _tables(model: PortableModel, dialect: Dialect) -> Iterator[str]:
    """The statements that make and fill the tables, each name beginning with unnaive_."""
    real = dialect.real
    columns = {
        "ranges": "first INTEGER, last INTEGER, kind INTEGER",
        "characters": "code INTEGER PRIMARY KEY, folded INTEGER, kind INTEGER",
        "stop_words": "word TEXT PRIMARY KEY",
        "terms": "term TEXT PRIMARY KEY, id INTEGER",
        "classes": f"class INTEGER PRIMARY KEY, label TEXT, bias {real}, cut {real}",
        "part_terms": f"part INTEGER, id INTEGER, idf {real}, shift {real}, PRIMARY KEY (id, part)",
        "part_classes": f"part INTEGER, class INTEGER, bias {real}, shift {real}",
        "weights": f"part INTEGER, id INTEGER, class INTEGER, weight {real}, PRIMARY KEY (id, part, class)",
    }
    fields = model.rule.fields or ()
    if fields:
        columns |= {name: declared.format(real=real) for name, declared in TABLES.items()}
    for name, declared in columns.items():
        yield f"DROP TABLE IF EXISTS unnaive_{name};\nCREATE TABLE unnaive_{name} ({declared});\n"
    ranges, folds = _characters(model)
    yield from _insert("ranges", ranges, dialect)
    yield f"INSERT INTO unnaive_characters {dialect.series};\n"
    yield from _insert("characters", folds, dialect)
    yield from _insert("stop_words", ([word] for word in model.stop_words if _plain(word)), dialect)
    yield from _insert("terms", ([term, number] for number, term in enumerate(model.terms.terms)), dialect)
    for name, rows in record_rows(fields, model.terms.terms).items() if fields else ():
        yield from _insert(name, rows, dialect)
    cuts = model.decision.get("values") or model.decision.get("weights") or [0.0] * len(model.classes)
    labels = [[c, str(label), model.bias[c], cuts[c]] for c, label in enumerate(model.classes)]
    yield from _insert("classes", labels, dialect)
    for number, part in enumerate(model.parts):
        yield from _insert("part_terms", _part_terms(model, number, part), dialect)
        offset = np.zeros(len(model.classes)) if part.class_offset is None else part.class_offset
        yield from _insert("part_classes", ([number, c, part.bias[c], offset[c]] for c in range(len(offset))), dialect)
        yield from _insert("weights", _weights(number, part), dialect)


def _characters(model: PortableModel) -> tuple[list[list[int]], list[list[int]]]:
    """(ranges of characters that are their own lower case, with their kind; those that are folded)."""
    kinds = character_kinds()
    folds = fold_table(model.rule.language == "tr") if model.rule.lowercase else {}
    unfolded = kinds.copy()
    unfolded[list(folds)] = 0
    changes = np.flatnonzero(np.diff(unfolded.astype(np.int16), prepend=0, append=0))
    runs = [[int(a), int(b) - 1, int(unfolded[a])] for a, b in pairwise(changes) if unfolded[a]]
    return runs, [[code, lower, int(kinds[lower])] for code, lower in sorted(folds.items())]


def _part_terms(model: PortableModel, number: int, part: PortablePart) -> Iterable[Sequence[Any]]:
    ids = np.arange(len(model.terms)) if part.columns is None else part.columns
    idf = np.ones(len(ids)) if part.idf is None else part.idf
    shift = np.zeros(len(ids)) if part.term_offset is None else part.term_offset
    return ([number, int(term_id), idf[row], shift[row]] for row, term_id in enumerate(ids))


def _weights(number: int, part: PortablePart) -> Iterable[Sequence[Any]]:
    table = part.weights if issparse(part.weights) else csr_array(np.asarray(part.weights, np.float64))
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    ids = rows if part.columns is None else part.columns[rows]
    cells = zip(ids.tolist(), table.indices.tolist(), table.data.tolist(), strict=True)
    return ([number, term, c, float(weight)] for term, c, weight in cells)


def _plain(word: str) -> bool:
    return bool(word) and not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in word)


def _insert(table: str, rows: Iterable[Sequence[Any]], dialect: Dialect) -> Iterator[str]:
    batch: list[str] = []
    for row in rows:
        batch.append("(" + ", ".join(_literal(value, dialect) for value in row) + ")")
        if len(batch) == ROWS:
            yield f"INSERT INTO unnaive_{table} VALUES\n" + ",\n".join(batch) + ";\n"
            batch = []
    if batch:
        yield f"INSERT INTO unnaive_{table} VALUES\n" + ",\n".join(batch) + ";\n"


def _literal(value: Any, dialect: Dialect) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return _real(float(value)) if np.isfinite(value) else dialect.infinity


def _real(value: float) -> str:
    """A finite number as a literal of floating point, with an exponent: without one, PostgreSQL computes in decimals.

    >>> _real(0.5), _real(-2e-05)
    ('0.5e0', '-2e-05')
    """
    shown = repr(value)
    return shown if "e" in shown else f"{shown}e0"


# The modes of a character: 1 a picture, 2 its selector, 3 its tone or tags, 4 what joins the next picture, 5 the first
# half of a flag, 6 and 7 a digit and its selector before a keycap, 8 the last character of a flag or keycap, 9 a
# word, 10 a run of a script without spaces, 0 nothing. Whether an emoji continues depends on the mode before it and the
# characters after it.
GOES_ON = """CASE WHEN s.mode = 4 THEN 1 WHEN s.mode = 5 THEN 8
    WHEN s.mode = 6 THEN CASE WHEN c.code = 65039 THEN 7 ELSE 8 END WHEN s.mode = 7 THEN 8
    WHEN s.mode = 1 AND c.code IN (65038, 65039) THEN 2
    WHEN s.mode IN (1, 2) AND c.code BETWEEN 127995 AND 127999 THEN 3
    WHEN s.mode IN (1, 2, 3) AND c.code BETWEEN 917536 AND 917631 THEN 3
    WHEN s.mode IN (1, 2, 3) AND c.code = 8205 AND c.joins THEN 4 ELSE 0 END"""
BEGINS = """CASE WHEN code BETWEEN 127462 AND 127487 AND code1 BETWEEN 127462 AND 127487 THEN 5
    WHEN code BETWEEN 48 AND 57 AND (code1 = 8419 OR (code1 = 65039 AND code2 = 8419)) THEN 6
    WHEN (kind & 16) <> 0 OR ((kind & 32) <> 0 AND code1 = 65039) THEN 1 ELSE 0 END"""
BEGIN = """CASE WHEN c.begins > 0 THEN c.begins WHEN (c.kind & {word_kinds}) = 0 THEN 0
    WHEN {grams} AND ((c.kind & 8) <> 0 OR ((c.kind & 4) <> 0 AND s.mode = 10)) THEN 10 ELSE 9 END"""
QUERY = """{before}-- {about}
WITH RECURSIVE
{source}positions(id, i, text) AS ({positions}),
letters AS (SELECT p.id, p.i, coalesce(c.folded, {code}(substr(p.text, p.i, 1))) AS code, coalesce(c.kind, 0) AS kind
  FROM positions p LEFT JOIN unnaive_characters c ON c.code = {code}(substr(p.text, p.i, 1))),
around AS (SELECT id, i, code, kind, lead(code, 1, 0) OVER w AS code1, lead(kind, 1, 0) OVER w AS kind1,
  lead(code, 2, 0) OVER w AS code2 FROM letters WINDOW w AS (PARTITION BY id ORDER BY i)),
coded AS MATERIALIZED (SELECT id, i, code, kind, {begins} AS begins,
  ((kind1 & 16) <> 0 OR ((kind1 & 32) <> 0 AND code2 = 65039)) AS joins FROM around),
{rows}states(id, i, mode, part, term, size, unit, before_unit) AS (
  SELECT id, 0, 0, 0, CAST('' AS TEXT), 0, CAST('' AS TEXT), CAST('' AS TEXT) FROM texts
  UNION ALL
  SELECT s.id, c.i, CASE WHEN {sign} > 0 THEN {sign} ELSE {begin} END,
    CASE WHEN {fresh} THEN s.part + 1 ELSE s.part END,
    CAST(CASE WHEN c.code IN (65038, 65039) AND ({sign} > 0 OR {begin} < 9)
      THEN CASE WHEN {fresh} THEN '' ELSE s.term END
      WHEN {fresh} THEN {char}(c.code) ELSE s.term || {char}(c.code) END AS TEXT),
    CASE WHEN {fresh} THEN 1 ELSE s.size + 1 END,
    CAST(CASE WHEN {begin} <> 10 OR {sign} > 0 THEN '' WHEN {fresh} OR (c.kind & 4) = 0 THEN {char}(c.code)
      ELSE s.unit || {char}(c.code) END AS TEXT),
    CAST(CASE WHEN {begin} <> 10 OR {sign} > 0 OR {fresh} THEN '' WHEN (c.kind & 4) = 0 THEN s.unit
      ELSE s.before_unit END AS TEXT)
  FROM states s {next_character}),
ended AS (SELECT s.*, lead(part, 1, -1) OVER (PARTITION BY id ORDER BY i) AS next_part,
  lead(mode, 1, 0) OVER (PARTITION BY id ORDER BY i) AS next_mode,
  lead(unit, 1, '') OVER (PARTITION BY id ORDER BY i) AS next_unit FROM states s WHERE i > 0),
parts AS (SELECT id, part, mode, term, size FROM ended WHERE mode > 0 AND (next_part <> part OR next_mode = 0)),
stretches AS (SELECT id, part, mode, term, size,
  sum(CASE WHEN mode = 10 THEN 1 ELSE 0 END) OVER (PARTITION BY id ORDER BY part) AS stretch FROM parts),
words AS (SELECT id, part, stretch, term FROM stretches WHERE mode <> 10 AND (mode <> 9 OR size >= {min_length})
  AND term NOT IN (SELECT word FROM unnaive_stop_words)),
rows_of_words AS (SELECT id, term AS term1{lags} FROM words
  WINDOW w AS (PARTITION BY id, stretch ORDER BY part)),
units AS (SELECT id, unit, before_unit FROM ended
  WHERE mode = 10 AND (next_part <> part OR next_mode <> 10 OR length(next_unit) <= length(unit))),
found(id, term) AS ({ngrams}
  UNION ALL SELECT id, unit FROM units WHERE unit NOT IN (SELECT word FROM unnaive_stop_words)
  UNION ALL SELECT id, before_unit || unit FROM units
    WHERE before_unit <> '' AND before_unit || unit NOT IN (SELECT word FROM unnaive_stop_words)),
{record_terms}counted AS (SELECT f.id AS text_id, t.id AS term_id, count(*) AS n FROM {found} f
  JOIN unnaive_terms t ON t.term = f.term GROUP BY f.id, t.id),
weighed AS (SELECT text_id, part, term_id, {tf} * idf AS z, shift
  FROM counted JOIN unnaive_part_terms p ON p.id = term_id),
lengths AS (SELECT text_id, part, sum(z) AS total, sum(z * shift) AS shifted, {norm} AS length
  FROM weighed GROUP BY text_id, part),
sums AS (SELECT text_id, w.part, class, sum(z * weight) AS total FROM weighed w
  JOIN unnaive_weights u ON u.id = w.term_id AND u.part = w.part GROUP BY text_id, w.part, class),
part_scores AS (SELECT x.id AS text_id, p.class,
  sum((coalesce(s.total, 0) + coalesce(l.total * p.shift + l.shifted, 0)) / coalesce(l.length, 1) + p.bias) AS score
  FROM {documents} x CROSS JOIN unnaive_part_classes p LEFT JOIN lengths l ON l.text_id = x.id AND l.part = p.part
  LEFT JOIN sums s ON s.text_id = x.id AND s.part = p.part AND s.class = p.class GROUP BY x.id, p.class),
scored AS (SELECT s.text_id AS id, c.class, c.label, c.cut, s.score + c.bias AS score,
  coalesce(k.known, 0) AS known FROM part_scores s JOIN unnaive_classes c ON c.class = s.class
  LEFT JOIN (SELECT text_id, sum(n) AS known FROM counted GROUP BY text_id) k ON k.text_id = s.text_id),
odds AS (SELECT *, {logit} AS odds FROM scored),
tops AS (SELECT *, max(odds) OVER (PARTITION BY id) AS top, max(score) OVER (PARTITION BY id) AS top_score FROM odds),
probable AS (SELECT *, {probability} AS probability FROM tops),
measured AS (SELECT *, {measure} AS measure FROM probable),
ranked AS (SELECT *, row_number() OVER (PARTITION BY id ORDER BY measure DESC, class) AS place FROM measured)
{select}"""
TEXT_SELECT = (
    "SELECT id, label, class, score, probability, ({decided}) AS decided, known FROM ranked ORDER BY id, class;\n"
)


def label_query(model: PortableModel, dialect: Dialect) -> str:
    """The query of a model in the dialect of a database."""
    rule = model.rule
    shortest, longest = rule.ngrams
    lags = "".join(f", lag(term, {n - 1}) OVER w AS term{n}" for n in range(2, longest + 1))
    ngrams = " UNION ALL ".join(
        f"SELECT id, {' || '.join([*(f'term{k} || ' + chr(39) + ' ' + chr(39) for k in range(n, 1, -1)), 'term1'])} "
        f"FROM rows_of_words{f' WHERE term{n} IS NOT NULL' if n > 1 else ''}"
        for n in range(shortest, longest + 1)
    )
    sign = f"({GOES_ON if rule.emoji else 0})"
    grams = "1 = 1" if rule.unspaced == "grams" else "1 = 0"
    begin = f"({BEGIN.format(word_kinds=LETTER | NUMBER if rule.digits else LETTER, grams=grams)})"
    return QUERY.format(
        sign=sign, begin=begin, fresh=f"({sign} = 0 AND ({begin} < 9 OR {begin} <> s.mode))",
        before=dialect.before, rows=dialect.rows, next_character=dialect.next_character,
        positions=dialect.positions, code=dialect.code, char=dialect.char,
        begins=BEGINS if rule.emoji else "0",
        min_length=rule.min_length, lags=lags, ngrams=ngrams, tf=_tf(model), norm=_norm(model),
        **_probabilities(model), measure=_decision(model)["measure"], **_documents(model, dialect),
    )  # fmt: skip


def _documents(model: PortableModel, dialect: Dialect) -> dict[str, str]:
    """The parts of the query that differ between texts and records."""
    fields, decided = model.rule.fields, _decision(model)["decided"]
    if not fields:
        about = "Labels the texts of a table documents(id, text): a row for each text and class."
        source = "texts AS (SELECT id, text FROM documents),\n"
        select = TEXT_SELECT.format(decided=decided)
        return {"about": about, "source": source, "record_terms": "", "found": "found", "documents": "texts",
                "select": select}  # fmt: skip
    names = " ".join(", ".join(field_kinds(fields)).split())  # a line break would end the comment
    about = f"Labels the records of a table records(id, {names}): a row for each record and class."
    return {"about": about, "source": record_source(fields, dialect), "record_terms": record_terms(dialect),
            "found": "record_terms", "documents": "records", "select": SELECT.format(decided=decided)}  # fmt: skip


def _one(model: PortableModel, name: str) -> Any:
    """The value that all parts share; a model whose parts differ cannot be exported."""
    values = {getattr(part, name) for part in model.parts}
    if len(values) != 1:
        raise CannotExport(
            "the parts of the model weight terms in different ways, which the SQL export does not support; "
            "export it to js or c"
        )
    return values.pop()


def _tf(model: PortableModel) -> str:
    return {"raw": "n", "binary": "1", "log": "(1 + ln(n))"}[_one(model, "tf")]


def _norm(model: PortableModel) -> str:
    return {None: "1.0e0", "l1": "sum(z)", "l2": "sqrt(sum(z * z))"}[_one(model, "norm")]


def _exp(inner: str) -> str:
    """e^x without an error on underflow."""
    return f"CASE WHEN {inner} < -700 THEN 0 WHEN {inner} > 700 THEN exp(700e0) ELSE exp({inner}) END"


def _probabilities(model: PortableModel) -> dict[str, str]:
    """SQL expressions for the log-odds of a score and for the probability."""
    how = model.calibration
    sigmoid = "CASE WHEN {x} < -700 THEN {x} ELSE -ln(1 + exp(-({x}))) END"
    logits = {"one-of-all": sigmoid.format(x="score"), "noisy-or":
              "CASE WHEN score > 30 THEN score WHEN score <= 0 THEN -1e300 ELSE ln(exp(score) - 1) END"}  # fmt: skip
    logit = logits.get(model.link, "score")
    if not model.probabilistic:
        return {"logit": "score", "probability": "NULL"}
    exclusive = how["exclusive"] if how else not model.multilabel or model.reference_is_mean
    if how:
        logit = f"({logit}) / {_real(how['value'])}"
    if exclusive:
        share = _exp("(odds - top)")
        return {"logit": logit, "probability": f"({share}) / sum({share}) OVER (PARTITION BY id)"}
    if not how and model.link == "noisy-or":
        return {"logit": logit, "probability": f"1 - ({_exp('-score')})"}
    shifted = f"(-(odds + ({_real((how or {}).get('offset', 0.0))})))"
    return {"logit": logit, "probability": f"1 / (1 + ({_exp(shifted)}))"}


def _decision(model: PortableModel) -> dict[str, str]:
    """SQL expressions for the rank of classes, and for whether a class is predicted."""
    decision = model.decision
    if decision["kind"] == "thresholds":
        scale = {"scores": "score", "probabilities": "probability",
                 "relative": "score / CASE WHEN top_score > 0 THEN top_score ELSE 1 END"}[decision["on"]]  # fmt: skip
        at_least = " OR place = 1" if decision["at_least_one"] else ""
        return {"measure": f"({scale}) - cut", "decided": f"measure >= 0{at_least}"}
    measure = "probability * cut" if decision["kind"] == "weighted-argmax" else "score"
    return {"measure": measure, "decided": f"place <= {decision.get('k', 1)}"}
