"""Stray quotes in CSV: every line is in a record, or reported; a legal field of any length stays a field."""

import csv
import io
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.io import batches
from unnaive.io.datafiles import DataFile
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables.csv_records import STRAY_LINES, RecordReader, find_stray_quote

HEADER = "text,label\n"


def write(tmp_path, content, name="data.csv"):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", newline="")
    return str(path)


def corpus(path, *, skip_bad=False):
    source = DataFile(path, options=ReadOptions(skip_bad=skip_bad))
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", UnnaiveWarning)
        found = source.corpus()
    return found, source, [str(one.message) for one in notes]


def numbered_rows(n, start=2):
    """Rows of one line each, every 66th with a quoted text."""
    return [
        f'"text, number {line}",{"ab"[line % 2]}\n' if line % 66 == 0 else f"text number {line},{'ab'[line % 2]}\n"
        for line in range(start, start + n)
    ]


@pytest.mark.parametrize("column", [0, 1])
def test_a_stray_quote_costs_one_row_and_its_line_is_named(tmp_path, column):
    rows = numbered_rows(1500)
    rows[500 - 2] = '"' + rows[500 - 2] if column == 0 else rows[500 - 2].replace(",", ',"')
    path = write(tmp_path, HEADER + "".join(rows))
    closed = 528  # the next line with a quote
    with pytest.raises(BadData) as refused:
        DataFile(path).corpus()
    assert str(refused.value) == (
        f"line 500 of {path} opens a quote that is closed on line {closed}, and the lines below are "
        "complete rows; repair it, "
        "or leave such rows out with --set skip-bad=true"
    )
    found, source, notes = corpus(path, skip_bad=True)
    assert len(found) == 1499
    assert source.options.log.skipped == [(500, 500)]
    assert source.describe().endswith("1,499 rows, 1 left out")
    assert notes == [f"{path}: 1 bad row was left out: line 500"]
    assert list(found.texts) == [next(csv.reader([row]))[0] for row in rows if row != rows[498]]


def test_a_stray_quote_that_nothing_closes(tmp_path):
    path = write(tmp_path, HEADER + "good,a\n" + 'and "so, b\n' + '"bad,a\n' + "fair,b\n" * 500)
    with pytest.raises(
        BadData, match=r"^line 4 of .* opens a quote that is never closed, and the lines below are complete"
    ):
        DataFile(path).corpus()
    found, source, _ = corpus(path, skip_bad=True)
    assert (len(found), source.options.log.skipped) == (502, [(4, 4)])


def test_an_open_quote_at_the_end_is_no_text(tmp_path):
    path = write(tmp_path, HEADER + "good,a\nfair,b\n" + '"this text, with a comma\nbreaks off here')
    with pytest.raises(BadData, match=r"^line 4 of .* opens a quote that is never closed; repair it"):
        DataFile(path).corpus()
    found, source, notes = corpus(path, skip_bad=True)
    assert (len(found), source.options.log.skipped) == (2, [(4, 5)])
    assert notes == [f"{path}: 1 bad row was left out: lines 4 to 5"]
    assert source.describe().endswith("2 rows, 1 (2 lines) left out")


def test_a_stray_quote_in_the_header_names_line_1(tmp_path):
    with pytest.raises(BadData, match=r"^line 1 of .* opens a quote that is never closed.*; repair it$"):
        DataFile(write(tmp_path, '"text,label\n' + "good,a\n" * 50)).corpus()


LEGAL = {
    "prose": "Dear all,\nthe minutes, as agreed,\n\nyours\n" * 125,
    "one comma in each line": "Dear, all\n" * 500 + "bye",
    "rows of another table": "please look:\n" + "1,2\n" * 500,
    "rows of another table, wider": "a,b,c\n" * 500,
    "quotes": 'he said "yes, or so", and\nleft\n' * 250,
    "line ends of Windows": "one\r\ntwo, three\r\n" * 250,
}


@pytest.mark.parametrize("kind", LEGAL)
@pytest.mark.parametrize("skip_bad", [False, True])
def test_legal_fields_of_500_lines_survive(tmp_path, kind, skip_bad):
    text = LEGAL[kind]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("text", "label"), ("short", "a"), (text, "b"), ("last", "a")])
    found, source, notes = corpus(write(tmp_path, out.getvalue()), skip_bad=skip_bad)
    assert list(found.texts) == ["short", text, "last"]
    assert (source.options.log.skipped, notes) == ([], [])


def test_what_is_judged_is_the_rule_as_stated():
    def judged(inside, *, first='"one,a\n', last='"two",b\n', right=True):
        return find_stray_quote([first, *["row,c\n"] * inside, last], 2, ",", right=right)

    assert judged(STRAY_LINES) == 0
    assert judged(STRAY_LINES - 1) is None  # a record of the right width and few lines stays one
    assert judged(0, right=False) == 0
    assert judged(STRAY_LINES, first='"one\n') is None  # no whole row above
    assert judged(STRAY_LINES, last='the end",b\n') is None  # a quote that closes and opens nothing
    assert find_stray_quote(['"one,a\n', "row,c\n", "no row\n"], 2, ",", right=False) is None
    assert find_stray_quote(['"one\n', "two\n"], 1, ",", right=False) is None


CELLS = st.sampled_from(
    ["", "a", "word two", "ham, eggs", 'say "hi"', "two\nlines", "x, y\nz, w\n", "\r\n", '5" nails']
)
TABLES = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=40)
DAMAGE = st.lists(
    st.tuples(st.sampled_from(['"', ",", "\n", '""', '",', "", "x"]), st.integers(0, 10_000), st.integers(0, 2)),
    max_size=4,
)


def damaged(rows, damage, ends):
    """The CSV of rows, with pieces written over or into it anywhere behind the header."""
    out = io.StringIO()
    csv.writer(out, lineterminator=ends).writerows(rows)
    content = out.getvalue()
    for piece, place, gone in damage:
        at = place % (len(content) + 1)
        content = content[:at] + piece + content[at + gone :]
    return content


@given(TABLES, DAMAGE, st.sampled_from(["\n", "\r\n"]), st.booleans())
@settings(deadline=None)
def test_every_line_is_in_one_record_or_blank_or_reported(rows, damage, ends, long):
    body = damaged(rows + [("plain", "text", "a")] * (30 if long else 0), damage, ends)
    lines = list(enumerate(io.StringIO("id,text,label\n" + body, newline=""), start=1))
    reader = RecordReader(iter(lines), ",", 1 << 20)
    records = reader.records()
    header = next(records)
    assert (header.first, header.last, header.problem) == (1, 1, "")
    reader.width = 3
    accounted = {1}
    for fields, first, last, problem in records:
        assert problem or len(fields) == 3
        for number in range(first, last + 1):
            assert number not in accounted, "a line is in two records"
            accounted.add(number)
    assert all(not line.strip("\r\n") for number, line in lines if number not in accounted)


@given(TABLES, DAMAGE)
@settings(deadline=None, max_examples=50)
def test_the_native_parser_reads_what_python_reads(tmp_path_factory, rows, damage):
    path = write(tmp_path_factory.mktemp("csv"), "id,text,label\n" + damaged(rows, damage, "\n"))

    def read():
        try:
            batches = DataFile(path, text=("text",), label="label", options=ReadOptions(header=True)).batches(
                labelled=True
            )
            return [(text, labels) for batch in batches for text, labels in zip(batch.texts, batch.labels, strict=True)]
        except BadData as problem:
            return str(problem)

    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", UnnaiveWarning)
        native = read()
        patch.setattr(batches, "READERS", {})
        assert read() == native


def test_a_sound_file_with_one_quote_too_many_loses_one_line(tmp_path):
    rows = numbered_rows(300)
    for place in range(0, 300, 7):
        broken = list(rows)
        broken[place] = '"' + broken[place]
        found, source, _ = corpus(write(tmp_path, HEADER + "".join(broken)), skip_bad=True)
        lost = sum(last - first + 1 for first, last in source.options.log.skipped)
        assert len(found) + lost == 300
        assert lost <= 1 if not rows[place].startswith('"') else 2
