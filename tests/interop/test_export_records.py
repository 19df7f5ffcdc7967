"""Exports of models with fields: records of drawn values are read, or refused, as in Python."""

import json
import shutil
import subprocess
from itertools import product as product_of
from random import Random

import pytest
from support.exported_records import KINDS, ODD_VALUES, drawn_records, drawn_value, fitted_records, readable
from support.exports import COMPILER, build_c_program, run_c_program

from unnaive.base.errors import BadData
from unnaive.data.fields.fields import one_document
from unnaive.data.fields.numbers_and_dates import read_number
from unnaive.interop.export import sql_engines
from unnaive.interop.export.c_engines import _with_lengths
from unnaive.interop.export.c_header import model_data
from unnaive.interop.export.conformance import TOLERANCE, compare_answers, conformance_lines, conformance_texts
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.export_folder import check_export, export_model
from unnaive.interop.export.hard_records import VALUES
from unnaive.interop.export.portable import portable_model
from unnaive.interop.export.sql import write_sql
from unnaive.text.field import read_fields
from unnaive.text.tokens import TokenRule, spans

SLOW = pytest.mark.slow
NEEDS_COMPILER = pytest.mark.skipif(COMPILER is None, reason="there is neither gcc nor clang on this machine")
BAD_VALUE = 6  # UNNAIVE_BAD_VALUE of the header


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build_c_program(tmp_path_factory.mktemp("built")) if COMPILER else None


@NEEDS_COMPILER
@SLOW
@pytest.mark.parametrize("rule", [{}, {"ngrams": (1, 2), "symbols": True}, {"analyzer": "both"}, {"analyzer": "char"}])
def test_c_reads_every_term_of_a_record(rule, program, tmp_path):
    records = drawn_records(1500)
    fitted = fitted_records(records, **rule)
    found = run_c_program(program, fitted, conformance_lines(fitted, [*records, *conformance_texts(fitted)]), tmp_path)
    assert found.good, found.sentence() + repr(found.example)
    assert found.texts == 1900


@NEEDS_COMPILER
@SLOW
def test_c_refuses_the_values_that_python_refuses(program, tmp_path):
    random, record = Random(3), dict.fromkeys(KINDS)
    fields = {"number": "age", "date": "opened"}
    values = [(kind, value) for kind in fields for value in ODD_VALUES[kind]]
    values += [(kind, drawn_value(kind, random)) for kind in fields for _ in range(5000)]
    lines = [json.dumps({"record": record | {fields[kind]: value}}) for kind, value in values]
    (tmp_path / "model.bin").write_bytes(model_data(portable_model(fitted_records(drawn_records(50)), "c")))
    done = subprocess.run(
        [program, tmp_path / "model.bin"], input=_with_lengths(lines), capture_output=True, check=True
    )
    refused = [json.loads(line).get("problem") == BAD_VALUE for line in done.stdout.splitlines()]
    expected = [not readable(kind, value) for kind, value in values]
    assert [pair for pair, *both in zip(values, refused, expected, strict=True) if both[0] != both[1]] == []
    assert 1000 < sum(refused) < 9500


@NEEDS_COMPILER
@SLOW
def test_a_damaged_data_file_with_fields_is_refused_or_harmless(program, tmp_path):
    fitted, random = fitted_records(drawn_records(60)), Random(0)
    sound = model_data(portable_model(fitted, "c"))
    records = _with_lengths([json.dumps({"record": record}) for record in drawn_records(60)[:20]])
    fields = sound.index(b"Subject_line\0")
    for number in range(120):
        damaged = bytearray(sound)
        for _ in range(random.choice((1, 3, 20))):
            near = random.randrange(max(0, fields - 200), fields + 400)
            damaged[near if number % 2 else random.randrange(2000)] = random.randrange(256)
        (tmp_path / "model.bin").write_bytes(bytes(damaged))
        done = subprocess.run([program, tmp_path / "model.bin"], input=records, capture_output=True, check=False)
        assert not any(word in done.stderr for word in (b"Sanitizer", b"runtime error")), done.stderr.decode()


PROGRAM = r"""
#include <locale.h>
#include "unnaive.h"
static uint64_t data[1 << 17];
int main(int n, char **arguments) {
  unnaive_model model;
  FILE *file = fopen(arguments[n - 1], "rb");
  size_t size = fread(data, 1, sizeof data, file);
  setlocale(LC_ALL, "");
  if (fclose(file) || unnaive_open(&model, data, size)) return 1;
  for (uint32_t f = 0; f < model.n_fields; f++) printf("%s;", unnaive_field_name(&model, f));
  double scores[8], probabilities[8];
  uint8_t decided[8];
  unnaive_answer answer = {scores, probabilities, decided, 0, 0, 0, 0};
  const char *values[] = {"Refund", NULL, "the invoice", "Printer", "3.6", "2024-03-05 14:30"};
  const size_t room = unnaive_scratch_size(&model, 1000);
  void *scratch = calloc(room, 1);
  if (unnaive_classify_record(&model, values, NULL, scratch, room, &answer)) return 1;
  printf("%s;%d;%.17g;", unnaive_label(&model, answer.first), (int)answer.known, scores[0]);
  values[4] = "old";
  if (unnaive_classify_record(&model, values, NULL, scratch, room, &answer) == UNNAIVE_BAD_VALUE)
    printf("%s", unnaive_field_name(&model, answer.field));
  values[4] = "3.6";
  if (unnaive_classify_record(&model, values, NULL, scratch, room, &answer)) return 1;
  printf(";%.17g", scores[0]);
  free(scratch);
  return 0;
}
"""


def run_in_locale(command, folder, name):
    """What a program prints in a locale, which is made for it."""
    environment = {"LC_ALL": "C"}
    if name != "C":
        made = shutil.which("localedef") and subprocess.run(
            ["localedef", "-i", name, "-f", "UTF-8", folder / f"{name}.UTF-8"], capture_output=True, check=False
        )
        if not made or made.returncode:
            pytest.skip("localedef cannot make the locale on this machine")
        environment = {"LC_ALL": f"{name}.UTF-8", "LOCPATH": str(folder)}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.mark.slow
@NEEDS_COMPILER
@pytest.mark.parametrize("locale", ["C", "de_DE"])
def test_a_c_program_gives_strings_and_is_told_the_field_that_cannot_be_read(locale, tmp_path):
    record = dict(zip(KINDS, ["Refund", None, "the invoice", "Printer", "3.6", "2024-03-05 14:30"], strict=True))
    fitted = fitted_records([*drawn_records(50), record])
    export_model(fitted, "c", tmp_path / "out")
    (tmp_path / "program.c").write_text(PROGRAM)
    build = [COMPILER, "-std=c11", "-I", "out", "program.c", "-o", "program", "-lm"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    printed = run_in_locale([tmp_path / "program", "out/model.bin"], tmp_path, locale)
    *names, label, known, score, bad, again = printed.split(";")
    assert ("," in score) == (locale == "de_DE")  # the locale is in force
    text = one_document(record, fitted.token_rule.fields)
    assert (names, bad, int(known)) == (list(KINDS), "age", fitted.known_terms([text])[0])
    assert label == fitted.predict([text])[0]
    scores = [float(number.replace(",", ".")) for number in (score, again)]
    assert scores == pytest.approx([fitted.scores([text])[0, 0]] * 2, abs=1e-12)


@SLOW
def test_the_check_of_an_sql_export_runs_its_records_in_every_database(tmp_path):
    export_model(fitted_records(drawn_records(200)), "sql", tmp_path / "out")
    found = check_export(tmp_path / "out")
    assert [one.engine for one in found] == list(sql_engines.databases())
    assert {(one.good, one.texts) for one in found} == {(True, 360)}


@pytest.mark.slow
def test_the_conformance_file_has_records_and_a_changed_key_is_found(tmp_path):
    if shutil.which("node") is None:
        pytest.skip("there is no Node.js on this machine")
    export_model(fitted_records(drawn_records(200)), "js", tmp_path / "out")
    (found,) = check_export(tmp_path / "out")
    assert (found.good, found.texts) == (True, 400)
    lines = [json.loads(line) for line in (tmp_path / "out" / "conformance.jsonl").read_text().splitlines()]
    assert sum("record" in line for line in lines) == 360
    assert list(lines[1]["record"]) == list(KINDS)
    module = tmp_path / "out" / "model.js"
    module.write_text(module.read_text().replace('"key":"age"', '"key":"agf"', 1))
    (found,) = check_export(tmp_path / "out")
    assert not found.good
    assert set(found.example) == set(KINDS)


READ = """
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
const { tokens } = await import(pathToFileURL(process.argv[1]));
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  let found = null;
  try { found = tokens(JSON.parse(line)).map((one) => one[2]); }
  catch (problem) { if (!(problem instanceof RangeError)) throw problem; }
  console.log(JSON.stringify(found));
}
"""


@pytest.fixture(scope="module")
def read_in_javascript(tmp_path_factory):
    """A function that gives the sorted terms of records in JavaScript; None for a record that is refused."""
    if shutil.which("node") is None:
        pytest.skip("there is no Node.js on this machine")
    folder = tmp_path_factory.mktemp("js") / "out"
    export_model(fitted_records(drawn_records(50)), "js", folder)

    def read(records):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        command = ["node", "--input-type=module", "-e", READ, folder / "model.js"]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        return [found and sorted(found) for found in map(json.loads, done.stdout.split("\n")[:-1])]

    return read


def terms_in_python(record):
    rule = TokenRule(fields=read_fields(KINDS))
    try:
        return sorted(term for *_, term in spans(one_document(record, rule.fields), rule))
    except BadData:
        return None


@pytest.mark.slow
def test_javascript_reads_or_refuses_every_value_as_python_does(read_in_javascript):
    random, empty = Random(3), dict.fromkeys(KINDS)
    fields = {"number": "age", "date": "opened", "category": "product"}
    values = [(kind, value) for kind in fields for value in [*VALUES[kind], *ODD_VALUES[kind]]]
    values += [(kind, drawn_value(kind, random)) for kind in ("number", "date") for _ in range(4000)]
    records = [*(empty | {fields[kind]: value} for kind, value in values), *drawn_records(1000)]
    pairs = zip(records, read_in_javascript(records), strict=True)
    assert [(record, found) for record, found in pairs if found != terms_in_python(record)] == []


def test_javascript_reads_values_of_every_type_as_python_does(read_in_javascript):
    numbers = [0, -0.0, 3, 2.5, 1e-4, 1e-5, 1.5e-7, 1e21, -1e22, 123456789.125, 5e-324, 1.7976931348623157e308, True]
    odd = [*numbers, False, None, "", [], [3.0, None, "a b"], [["a"], "b"], {}, {"a": 1}, "\x00", "\x85 7", "\ufeff7"]
    empty = dict.fromkeys(KINDS)
    records = [empty | {name: value} for name in ("product", "age", "opened") for value in odd]
    records += [empty | {name: value} for name in ("note", "body") for value in odd if not isinstance(value, float)]
    records += [{}, {"body": "x"}, {**empty, "more": 1}]
    pairs = zip(records, read_in_javascript(records), strict=True)
    assert [(record, found) for record, found in pairs if found != terms_in_python(record)] == []


def sql_answers(fitted, records, folder, run):
    """(the answers of a database, the name of an unreadable field) for each record."""
    for name, content in write_sql(portable_model(fitted, "sql")).items():
        (folder / name).write_bytes(content)
    rows = list(
        run(folder, sql_engines.documents_table([{"record": record} for record in records], fitted.token_rule.fields))
    )
    unreadable = {int(row[0]): row[7] for row in rows if row[7]}
    answers = sql_engines._answers(rows, len(records), len(fitted.classes))
    return [(answer, unreadable.get(row)) for row, answer in enumerate(answers)]


@pytest.fixture(
    scope="module", params=["SQLite", *(pytest.param(name, marks=SLOW) for name in ("DuckDB", "PostgreSQL"))]
)
def database(request):
    """The function that runs an export in a database."""
    if request.param not in sql_engines.databases():
        pytest.skip(f"{request.param} is not installed")
    if request.param != "PostgreSQL":
        yield sql_engines.databases()[request.param]
        return
    with sql_engines.postgresql_server() as psql:
        yield lambda folder, table: sql_engines.query_postgresql(psql, folder, table)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [{}, pytest.param({"ngrams": (1, 2), "unspaced": "whole"}, marks=SLOW)])
def test_sql_reads_every_term_of_a_record(rule, database, tmp_path):
    ages = [(record, read_number(record["age"])) for record in drawn_records(600)]
    records = [record for record, age in ages if not age or abs(age) > 1e-307]  # below, intervals share their borders
    fitted = fitted_records(records, **rule)
    answers = sql_answers(fitted, records, tmp_path, database)
    found = compare_answers("sql", TOLERANCE, conformance_lines(fitted, records), [answer for answer, _ in answers])
    assert found.good, found.sentence() + repr(found.example)
    assert {field for _, field in answers} == {None}


@pytest.mark.slow
def test_sql_reads_columns_of_numbers_and_times(database, tmp_path):
    values = {
        "product": [3, 4, None],
        "age": [0.1, 3.4999999999999996, 3.5, 7.0, 0.0, -2.25, 1e22, None],
        "opened": ["2024-03-05 14:30:00", "1999-12-31 00:00:00", "2024-02-29 00:01:00", None],
    }
    records = [
        dict.fromkeys(KINDS) | {"body": "text", "product": product, "age": age, "opened": opened}
        for product, age, opened in product_of(*values.values())
    ]
    fitted = fitted_records(records)
    for name, content in write_sql(portable_model(fitted, "sql")).items():
        (tmp_path / name).write_bytes(content)
    kinds = KINDS | {"product": "number"}  # a category that the database stores as a number
    table = sql_engines.DocumentsTable(
        "records", kinds, [[row, *record.values()] for row, record in enumerate(records)]
    )
    answers = sql_engines._answers(database(tmp_path, table), len(records), len(fitted.classes))
    found = compare_answers("sql", TOLERANCE, conformance_lines(fitted, records), answers)
    assert found.good, found.sentence() + repr(found.example)


def test_in_sqlite_a_value_of_another_type_names_its_field(tmp_path):
    records = [
        dict.fromkeys(KINDS) | {name: value}
        for name, value in (("age", "old"), ("opened", "soon"), ("age", "3.5"), ("opened", "2024-02-30"), ("age", None))
    ]
    fitted = fitted_records(drawn_records(50))
    answers = sql_answers(fitted, records, tmp_path, sql_engines.run_sqlite)
    assert [field for _, field in answers] == ["age", "opened", None, "opened", None]
    assert [answer["labels"] == [] for answer, field in answers] == [field is not None for _, field in answers]


def test_what_reads_no_records_says_what_does(tmp_path):
    fitted = fitted_records(drawn_records(50))
    with pytest.raises(CannotExport, match="which the export to ONNX does not support; export it to js, c or sql, or"):
        export_model(fitted, "onnx", tmp_path / "out")
