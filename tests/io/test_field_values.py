"""The same value is the same record wherever it comes from, and a value that cannot be is found in its row."""

import pickle
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.base.errors import BadData
from unnaive.data.fields.bad_values import BadRecord
from unnaive.data.fields.fields import as_documents, encode_records
from unnaive.text.field import Field, read_fields

pandas = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("number", [3, 3.0, "3", "3.0", " 3 ", Decimal("3.00"), np.float32(3), np.int64(3), "$3"]),
        ("category", [3, 3.0, "3", "3.00", np.float64(3), [3], np.array([3]), ("3", None), {"3"}]),
        ("category", [["a", "b c"], ("a", "b c"), np.array(["a", "b c"]), {"a", "b c"}, ["a", "", None, "b c"]]),
        ("category", [None, "", [], [None], np.array([]), float("nan"), pandas.NA, pandas.NaT]),
        (
            "date",
            ["2024-03-05", "5 March 2024", "05.03.2024", date(2024, 3, 5), datetime(2024, 3, 5),
             pandas.Timestamp("2024-03-05"), np.datetime64("2024-03-05"), pandas.Period("2024-03-05")],
        ),
        ("date", ["2024-03-05 14:30:59", "2024-03-05T14:30Z", datetime(2024, 3, 5, 14, 30, 59)]),
        ("category", [date(2024, 3, 5), datetime(2024, 3, 5), pandas.Timestamp("2024-03-05"), "2024-03-05"]),
    ],
)  # fmt: skip
def test_one_value_is_one_record_however_it_is_stored(kind, values):
    """Records are recognised by their hashes, so they must not depend on the format of the file."""
    assert len({encode_records({"x": [value]}, [Field.of("x", kind)])[0] for value in values}) == 1


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("number", "old", "a value is 'old' (record 1); correct it"),
        ("number", 10**400, f"a value is '{str(10**400)[:40]}' (record 1); correct it"),
        ("date", 20240305, "a value is '20240305' (record 1); write it as"),
        ("category", {"a": 1}, "a value is a dict (record 1); give a string, or a list of strings"),
        ("text", b"hi", "a value is of the type bytes (record 1); give a str"),
        ("vector", "hello", "a value is 'hello' (record 1); give a list of numbers"),
        ("vector", [10**400], "(record 1); give a list of numbers"),
        ("vector", [1e30], "a vector with a number of size 1e+30, above 1000 (record 1); scale all vectors"),
    ],
)
def test_an_error_names_field_value_and_record(kind, value, found):
    with pytest.raises(BadRecord) as problem:
        encode_records({"x": [None, value]}, [Field.of("x", kind)])
    assert str(problem.value).startswith(f"field 'x' is of kind {kind}, but ")
    assert found in str(problem.value)
    assert str(pickle.loads(pickle.dumps(problem.value))) == str(problem.value)  # noqa: S301  # our own


def test_texts_and_records_that_were_mixed_up_are_named():
    fields, rows = read_fields(["body:text"]), [{"body": "good ball"}, {"body": "vote"}]
    assert as_documents(iter(rows), fields) == as_documents(rows, fields)
    assert as_documents(iter(["good", "ball"]), fields) == ["good", "ball"]
    with pytest.raises(BadData, match=r"text 0 is a dict, not str; .*, name their fields with fields="):
        TextClassifier("multinomial").fit(rows, ["sport", "politics"])
    with pytest.raises(BadData, match=r"text 1 is a dict, not str; .* and give no texts among them"):
        as_documents(["good ball", rows[1]], fields)
    with pytest.raises(BadData, match="several columns; give one of its columns, or name several with fields="):
        TextClassifier("multinomial").fit(pandas.DataFrame({"a": ["x"], "b": ["y"]}), ["sport"])


def test_records_come_in_arrays_and_columns_of_dicts_too():
    fields, records = read_fields(["age:number"]), [{"age": 1}, {"age": None}]
    structured = np.array([(1,), (float("nan"),)], dtype=[("age", "f8")])
    pyarrow = pytest.importorskip("pyarrow")
    for form in (tuple(records), np.array(records, object), pandas.Series(records), structured, pyarrow.array(records)):
        assert as_documents(form, fields) == as_documents(records, fields)


def test_what_are_no_records_is_refused_in_a_sentence():
    twice = pandas.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(BadData, match="the records have 2 columns called 'age'; rename or drop all but one"):
        as_documents(twice, read_fields(["age:number"]))
    with pytest.raises(BadData, match="fields need records, but generator came; give a DataFrame"):
        TextClassifier("svm", fields={"v": "vector"}).fit(({"v": [1.0]} for _ in "ab"), ["a", "b"])
    with pytest.raises(BadData, match=r"no field 'vip' \(category\) in the records; there are age; add it, empty"):
        as_documents([{"age": 1}], read_fields(["age:number", "vip:category"]))


def test_a_file_names_the_row(run, tmp_path, monkeypatch):
    """Rows are counted from 1 without the header, in whatever format, also when the rest is read row by row."""
    monkeypatch.chdir(tmp_path)
    frame = pandas.DataFrame({"body": [f"text {n}" for n in range(9000)], "age": 5, "queue": ["a", "b"] * 4500})
    frame.to_csv("good.csv", index=False)
    frame["age"] = frame["age"].astype(object)
    frame.loc[8999, "age"] = "old"
    frame.to_csv("bad.csv", index=False)
    frame.to_json("bad.jsonl", orient="records", lines=True)
    train = ["--text", "body", "--number", "age", "--label", "queue", "-m", "multinomial", "-o", "m.model"]
    for name in ("bad.csv", "bad.jsonl"):
        code, _, err = run("train", name, *train)
        assert (code, f"a value is 'old' (row 9000 of {name}); correct it" in err) == (2, True)
    assert "(row 9000 of bad.csv)" in run("train", "good.csv", "bad.csv", *train)[2]
    assert not (tmp_path / "m.model").exists()


def test_concatenated_files_with_fields(run, tmp_path, monkeypatch):
    """The header in the middle is no row, though its cells are no numbers."""
    monkeypatch.chdir(tmp_path)
    rows = "body,age,queue\n" + "good ball,3,sport\nfair vote,4,politics\n" * 5
    (tmp_path / "twice.csv").write_text(rows + rows, encoding="utf-8")
    options = ["--text", "body", "--number", "age", "--label", "queue", "-m", "multinomial", "-o", "m.model"]
    code, out, err = run("train", "twice.csv", *options)
    assert (code, "1 row repeats the header" in err, "20 rows" in out + err) == (0, True, True)


def test_every_format_of_a_table_with_dates_is_one_model(run, tmp_path, monkeypatch):
    """Excel and Parquet store dates, and CSV writes them; integers with empty cells become floats."""
    monkeypatch.chdir(tmp_path)
    frame = pandas.DataFrame({
        "body": ["good ball", "fair vote", "ball game", "new law"] * 3, "age": [3, None, 250, 4] * 3,
        "opened": ["2024-03-05", "2024-04-06", "2024-05-07 14:30", None] * 3, "queue": ["s", "p", "s", "p"] * 3,
    })  # fmt: skip
    frame.to_csv("t.csv", index=False)
    frame["opened"] = pandas.to_datetime(frame["opened"], format="mixed")
    frame.to_parquet("t.parquet")
    frame.to_excel("t.xlsx", index=False)
    options = ["--label", "queue", "--text", "body", "--number", "age", "--date", "opened", "-m", "nbsvm"]
    for name in ("t.csv", "t.parquet", "t.xlsx"):
        assert run("train", name, *options, "-o", f"{name}.model")[0] == 0
    assert len({(tmp_path / f"t.{ending}.model").read_bytes() for ending in ("csv", "parquet", "xlsx")}) == 1
    assert "12 of 12 documents of t.parquet are in the training data" in run("evaluate", "t.csv.model", "t.parquet")[2]
