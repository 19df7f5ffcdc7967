"""Target sql: tables and one query decide and score as Python does, in SQLite, DuckDB and PostgreSQL."""

from dataclasses import replace

import pytest
from support.exports import drawn_texts, fitted_case

from unnaive import TextClassifier
from unnaive.base.errors import UnnaiveError
from unnaive.interop.export import sql_engines
from unnaive.interop.export.conformance import TOLERANCE, compare_answers, conformance_lines, conformance_texts
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.export_folder import check_export, export_model
from unnaive.interop.export.portable import portable_model
from unnaive.interop.export.sql import write_sql
from unnaive.learning.calibration import Temperature

pytestmark = pytest.mark.slow  # `make quick` leaves these to `make test`

CASES = [
    ("multinomial", "words"), ("bernoulli", "pairs"), ("or-gate", "long"), ("multinomial-temperature", "words"),
    ("rocchio", "pairs"), ("nbsvm-macro-f1", "words"), ("hos", "long"), ("sets-auto-fast", "words"), ("svm", "pairs"),
    ("sets-or-gate", "pairs"), ("sets-multinomial", "words"), ("sets-maxent", "long"),
]  # fmt: skip
SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def server():
    """The psql command of a real server."""
    if sql_engines.postgresql_programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with sql_engines.postgresql_server() as psql:
        yield psql


def agree(fitted, texts, folder, run):
    """How a database agrees with the model on some texts."""
    for name, content in write_sql(portable_model(fitted, "sql")).items():
        (folder / name).write_bytes(content)
    rows = run(folder, sql_engines.documents_table([{"text": text} for text in texts]))
    answers = sql_engines._answers(rows, len(texts), len(fitted.classes))
    return compare_answers("sql", TOLERANCE, conformance_lines(fitted, texts), answers)


@pytest.mark.parametrize(("model", "rule"), [CASES[0], *(pytest.param(*case, marks=SLOW) for case in CASES[1:])])
def test_sqlite_decides_and_scores_as_the_model(model, rule, tmp_path):
    fitted = fitted_case(model, rule)
    texts = conformance_texts(fitted)[:: 4 if (model, rule) == CASES[0] else 1]
    found = agree(fitted, texts, tmp_path, sql_engines.run_sqlite)
    assert found.good, found.sentence() + repr(found.example)


@SLOW
@pytest.mark.parametrize(("model", "rule"), CASES)
def test_duckdb_decides_and_scores_as_the_model(model, rule, tmp_path):
    pytest.importorskip("duckdb", reason="duckdb is not installed")
    fitted = fitted_case(model, rule)
    found = agree(fitted, conformance_texts(fitted), tmp_path, sql_engines.run_duckdb)
    assert found.good, found.sentence() + repr(found.example)


@SLOW
@pytest.mark.parametrize(("model", "rule"), CASES)
def test_postgresql_decides_and_scores_as_the_model(model, rule, server, tmp_path):
    fitted = fitted_case(model, rule)

    def run(folder, table):
        return sql_engines.query_postgresql(server, folder, table)

    found = agree(fitted, conformance_texts(fitted), tmp_path, run)
    assert found.good, found.sentence() + repr(found.example)


@SLOW
def test_five_thousand_drawn_texts_in_sqlite(tmp_path):
    fitted = fitted_case("multinomial", "pairs")
    found = agree(fitted, drawn_texts(fitted, 5000, seed=31), tmp_path, sql_engines.run_sqlite)
    assert found.good, found.sentence() + repr(found.example)


@pytest.mark.parametrize(
    ("model", "rule", "words"),
    [
        ("nbsvm", "both", "analyzer='both', which the export to SQL does not support; export it to js, c or onnx, or"),
        ("multinomial", "turkish", "symbols=True, which the export to SQL does not"),
        (
            "maxent-platt",
            "words",
            "platt calibration, which the export to SQL does not support; export it to js, c or",
        ),
        ("auto-vectors", "words", "weight terms in different ways"),
    ],
)
def test_what_sql_cannot_express_is_refused_in_a_sentence(model, rule, words):
    with pytest.raises(CannotExport, match=words):
        write_sql(portable_model(fitted_case(model, rule), "sql"))


def test_numbers_with_an_exponent_are_literals(tmp_path):
    """Python writes 2e-05 where SQL needs an exponent too."""
    fitted = fitted_case("sets-multinomial", "words")
    fitted = replace(fitted, calibration=Temperature(1e-05, 2e-05, exclusive=False))
    found = agree(fitted, conformance_texts(fitted)[::8], tmp_path, sql_engines.run_sqlite)
    assert found.good, found.sentence() + repr(found.example)


HOSTILE = 'a"b\r; DROP TABLE orders; --'


def hostile_records(**more):
    """A model of records with a hostile name of a field and hostile labels."""
    records = [{HOSTILE: "one", "age": 1, **more}, {HOSTILE: "two", "age": 9, **more}]
    fields = {HOSTILE: "text", "age": "number", **dict.fromkeys(more, "category")}
    return TextClassifier("multinomial", fields=fields).fit(records, ["x\r\ny", 'it\'s\n"z"']).fitted_


@pytest.mark.slow
def test_the_name_of_a_field_does_not_end_the_comment_with_it():
    """For PostgreSQL and DuckDB a carriage return ends a comment."""
    query = write_sql(portable_model(hostile_records(), "sql"))["postgresql-label.sql"].decode()
    comment = next(line for line in query.splitlines() if "Labels the records" in line)
    assert comment.startswith('-- Labels the records of a table records(id, a"b ; DROP TABLE orders; --, age): a row')
    assert 'r."a""b\r; DROP TABLE orders; --"' in query


@pytest.mark.slow
def test_line_ends_in_labels_and_names_stay(tmp_path):
    export_model(hostile_records(), "sql", tmp_path / "out")
    assert [found.good for found in check_export(tmp_path / "out")].count(False) == 0


@pytest.mark.slow
def test_a_damaged_export_is_one_sentence(tmp_path):
    export_model(hostile_records(), "sql", tmp_path / "out")
    (tmp_path / "out" / "sqlite-label.sql").write_text("SELECT absent;")
    with pytest.raises(UnnaiveError, match="SQLite failed on the export: no such column: absent; export the model"):
        check_export(tmp_path / "out")


@pytest.mark.parametrize("name", ["id", "Age"])
def test_columns_that_databases_take_for_one_are_refused(name):
    with pytest.raises(CannotExport, match=f"two columns called '{name.lower()}'"):
        write_sql(portable_model(hostile_records(**{name: "c"}), "sql"))


def test_a_nul_in_a_class_or_in_the_files_is_one_sentence(tmp_path):
    classifier = TextClassifier("multinomial").fit(["red", "blue"], ["a\0x", "b"])
    with pytest.raises(CannotExport, match=r"databases store no NUL, which the class 'a\\x00x' has"):
        export_model(classifier.fitted_, "sql", tmp_path / "sql")
    export_model(TextClassifier("multinomial").fit(["red", "blue"], ["a", "b"]).fitted_, "sql", tmp_path / "sql")
    with (tmp_path / "sql" / "sqlite-tables.sql").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(UnnaiveError, match=r"sqlite-tables.sql contains a NUL, which no export has"):
        check_export(tmp_path / "sql")
