"""Dates and numbers are read in one way in a whole column; the model remembers which, and the reader says it."""

import pytest

from unnaive import predict_file, train_file
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.data.fields.cell_styles import find_style
from unnaive.data.fields.fields import encode_records
from unnaive.interop.export.portable import portable_model
from unnaive.io.datafiles import DataFile
from unnaive.text.field import Field, read_fields

ROWS = [("red ball", "a"), ("blue vote", "b")] * 12


def write(path, values):
    cells = [f'{text},{label},"{values[number % len(values)]}"' for number, (text, label) in enumerate(ROWS)]
    path.write_text("\n".join(["text,label,x", *cells]) + "\n", encoding="utf-8")
    return str(path)


def train(path, kind):
    return train_file(DataFile(path, **{kind: ("x",)}), "multinomial")


def units(field, value):
    return encode_records({"x": [value]}, [Field.of("x", field)])[0].split("\x1f")[1:]


@pytest.mark.slow
def test_the_day_comes_first_in_all_dates_if_it_does_in_one(tmp_path):
    trained = train(write(tmp_path / "d.csv", ["12/05/2024", "13/05/2024"]), "date")
    assert trained.classifier.fitted_.token_rule.field_kinds["x"] == "date(day-first)"
    assert trained.notes[-1].endswith("in the dates of x the day comes first, as in 13/05/2024")
    assert units("date(day-first)", "12/05/2024")[:3] == ["2024-05-12", "2024", "May"]
    assert units("date", "12/05/2024")[:3] == ["2024-12-05", "2024", "Dec"]
    # a file to predict shows nothing about the order of its dates: the model knows it
    path = write(tmp_path / "new.csv", ["03/04/2024"])
    predict_file(trained.classifier, path, tmp_path / "out.csv")
    assert "Apr" in next(iter(DataFile(path, default_columns=columns_of(trained)).batches(labelled=False))).texts[0]


def columns_of(trained):
    from unnaive.workflows.trained_columns import trained_columns

    return trained_columns(trained.classifier.fitted_)


@pytest.mark.slow
def test_the_comma_is_the_decimal_sign_of_all_numbers_if_it_is_of_one(tmp_path):
    trained = train(write(tmp_path / "d.csv", ["1.234", "1.234,56"]), "number")
    assert trained.classifier.fitted_.token_rule.field_kinds["x"] == "number(comma)"
    assert "the comma is the decimal sign, as in 1.234,56, so 1.234 is 1234" in trained.notes[-1]
    assert [units("number(comma)", value)[0] for value in ("1.234", "1,234", 1.234)] == ["1234", "1.234", "1.234"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "values", "sentence"),
    [
        ("date", ["13/05/2024", "05/13/2024"], "the dates of 'x' have 13/05/2024 beside 05/13/2024"),
        ("number", ["1.234,56", "1,234.5", "1.234"], "have 1.234,56 beside 1,234.5, so 1.234 may be above or below"),
    ],
)
def test_a_column_that_is_written_in_two_ways_is_refused(tmp_path, kind, values, sentence):
    with pytest.raises(BadData, match=sentence):
        train(write(tmp_path / "d.csv", values), kind)


@pytest.mark.parametrize(
    ("kind", "values", "sentence"),
    [
        ("date", ["05/13/2024"], "the month comes first, as in 05/13/2024"),
        ("date", ["05/03/2024"], "no date of x shows whether the day or the month comes first"),
        ("number", ["1,234"], "no number of x shows its decimal sign; 1,234 is read as 1234"),
        ("number", ["1.234", "0.5"], ""),
        ("number", ["12,34,567", "-3"], ""),
        ("date", ["2024-05-13", "5 March 2024"], ""),
    ],
)
def test_other_columns_are_read_as_in_english_and_doubts_are_said(kind, values, sentence):
    style, said = find_style("x", kind, values)
    assert style == ""
    assert sentence in said
    assert bool(said) == bool(sentence)


@pytest.mark.slow
def test_a_style_is_part_of_a_kind_and_no_export_has_it(tmp_path):
    assert [str(field) for field in read_fields(["x:date(day-first)", "y:number(comma)"])] == [
        "x:date(day-first)", "y:number(comma)"
    ]  # fmt: skip
    with pytest.raises(UnnaiveError, match="no kind of field called"):
        read_fields(["x:number(day-first)"])
    trained = train(write(tmp_path / "d.csv", ["13/05/2024"]), "date")
    with pytest.raises(UnnaiveError, match=r"reads 'x' as date\(day-first\)"):
        portable_model(trained.classifier.fitted_, "js")
