"""Exports of models with fields: records of drawn values are read, or refused, as in Python."""

import json
import shutil
import subprocess
from random import Random

import pytest
from support.exports import COMPILER, build_c_program, run_c_program

from unnaive import TextClassifier
from unnaive.base.errors import BadData
from unnaive.classifier.export.c_engines import _with_lengths
from unnaive.classifier.export.c_header import model_data
from unnaive.classifier.export.conformance import conformance_lines, conformance_texts
from unnaive.classifier.export.folders import check_export, export_model
from unnaive.classifier.export.hard_records import VALUES
from unnaive.classifier.export.portable import CannotExport, portable_model
from unnaive.io.fields import encode_records, one_document

NEEDS_COMPILER = pytest.mark.skipif(COMPILER is None, reason="there is neither gcc nor clang on this machine")
KINDS = {
    "Subject line": "text", "note": "own", "body": "text", "product": "category", "age": "number", "opened": "date",
}  # fmt: skip
TEXTS = [
    "Refund ÉTÉ the invoice",
    "",
    None,
    "good:ball good:) 日本語 text",
    "it stops with an error 👍🏽 2024",
    "N/A",
    "I I",
]
BAD_VALUE = 6  # UNNAIVE_BAD_VALUE of the header
ODD_VALUES = {
    "category": ["\x1c", "a\x00b", "\ud800", "\u2003wide\u3000", "٣.0", "３.00", "3.٠", "n/a ", "-5.0",
                 "--5.0", "\ufffd", "²"],
    "number": ["3.4999999999999999999", "5e-324", "2.2250738585072014e-308", "1.7976931348623157e308", "-1e400",
               "1e-400", "٣٫٥", "٣", "３.５e１", "miſſing", " nan ", "+nan", "$nan", "$", "%%", "1_", "_1", "1__0",
               "1e", "e5", ".", "-", "- 5", "0x10", "1,2,3", "1,234,56", "12,3456,789", "1 234,5", "1 2", "7\x1f",
               "\u00a07\u00a0", "1e5_0", "infinit", "-INF", "ınf", "1,234.", "1'234_567 890.25",
               "0." + "0" * 400 + "1e401", "9" * 400],
    "date": ["5 March 2024", "Tue, 5 Mar 2024 00:00", "Tuesday March 5, 1999 23:59:59", "26-FEB-1987 15:01:01.79",
             "Mar. 5 2024", "5 ſep 2024", "5 Sept., 2024T9:30", "Wednesdayy 5 May 2024", "5 Foo 2024", "2023-02-29",
             "2024-13-13", "2024-13-12", "3/5/024", "3/5/024 9:00", "1.2.24", "2024-03-05 24:00", "2024-03-05 9:60",
             "2024-03-05T", "2024-03-05 9", "2024-03-0５", "2024-3-5\u20039:07", "99-1-1", "1-1-99", "٢٠٢٤-٠٣-٠٥",
             "Mon Jan 1 2024", "5 Marchs 2024 x", "5--March 2024", "5 March,-. 2024, T 7:00 o'clock", "9999-12-31"],
}  # fmt: skip
DRAWN = {
    "number": "0123456789" * 2 + ".,eE+-_ '$%€٣\u00a0x",
    "date": "0123456789" * 2 + "--//. :,T",
}
WORDS = {"number": ["1,234", "e-3", "inf", "1_0", "3.5"],
         "date": ["2024", "March", "5", " 14:30", "Tue, ", "12", "jan", "-03-", "/5/"]}  # fmt: skip


def readable(kind, value):
    """Whether Python reads a value of this kind."""
    try:
        encode_records({"x": [value]}, (f"x:{kind}",))
    except BadData:
        return False
    return True


def drawn_value(kind, random):
    """A value of a few characters or words of its kind."""
    pieces = [
        random.choice(WORDS[kind] if random.random() < 0.3 else DRAWN[kind]) for _ in range(random.choice((2, 4, 8)))
    ]
    return "".join(pieces)


def drawn_records(n, seed=0):
    """Records of hard, odd and drawn values, which Python reads."""
    random = Random(seed)
    pools = {kind: [*VALUES[kind], *ODD_VALUES[kind]] for kind in VALUES}
    for kind in ("number", "date"):
        pools[kind] += [drawn_value(kind, random) for _ in range(4 * n)]
    values = {kind: [value for value in pool if readable(kind, value)] for kind, pool in pools.items()}
    assert len(values["number"]) > n
    return [{name: random.choice(values.get(kind, TEXTS)) for name, kind in KINDS.items()} for _ in range(n)]


def fitted_records(records, **rule):
    """A model that knows every term of these records, so that each counts."""
    random = Random(1)
    labels = [random.choice("abc") for _ in records]
    return TextClassifier("multinomial", fields=KINDS, **rule).fit(records, labels).fitted_


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build_c_program(tmp_path_factory.mktemp("built")) if COMPILER else None


@NEEDS_COMPILER
@pytest.mark.slow
@pytest.mark.parametrize("rule", [{}, {"ngrams": (1, 2), "symbols": True}, {"analyzer": "both"}, {"analyzer": "char"}])
def test_c_reads_every_term_of_a_record(rule, program, tmp_path):
    records = drawn_records(1500)
    fitted = fitted_records(records, **rule)
    found = run_c_program(program, fitted, conformance_lines(fitted, [*records, *conformance_texts(fitted)]), tmp_path)
    assert found.good, found.sentence() + repr(found.example)
    assert found.texts == 1900


@NEEDS_COMPILER
@pytest.mark.slow
def test_c_refuses_the_values_that_python_refuses(program, tmp_path):
    random, record = Random(3), dict.fromkeys(KINDS)
    fields = {"number": "age", "date": "opened"}
    values = [(kind, value) for kind in fields for value in ODD_VALUES[kind]]
    values += [(kind, drawn_value(kind, random)) for kind in fields for _ in range(5000)]
    lines = [json.dumps({"record": record | {fields[kind]: value}}) for kind, value in values]
    (tmp_path / "model.bin").write_bytes(model_data(portable_model(fitted_records(drawn_records(50)), records=True)))
    done = subprocess.run(
        [program, tmp_path / "model.bin"], input=_with_lengths(lines), capture_output=True, check=True
    )
    refused = [json.loads(line).get("problem") == BAD_VALUE for line in done.stdout.splitlines()]
    expected = [not readable(kind, value) for kind, value in values]
    assert [pair for pair, *both in zip(values, refused, expected, strict=True) if both[0] != both[1]] == []
    assert 1000 < sum(refused) < 9500


@NEEDS_COMPILER
@pytest.mark.slow
def test_a_damaged_data_file_with_fields_is_refused_or_harmless(program, tmp_path):
    fitted, random = fitted_records(drawn_records(60)), Random(0)
    sound = model_data(portable_model(fitted, records=True))
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


def test_what_reads_no_records_says_what_does(tmp_path):
    fitted = fitted_records(drawn_records(50))
    with pytest.raises(CannotExport, match=r"which SQL, ONNX and the page do not support; export it to js or c"):
        export_model(fitted, "onnx", tmp_path / "out")
