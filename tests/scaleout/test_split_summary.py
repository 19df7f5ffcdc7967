"""What an executor says about the rows it read comes to the driver as JSON and an Arrow schema, complete."""

from collections import Counter

import pytest

pa = pytest.importorskip("pyarrow", reason="Spark's reading needs pyarrow")

from unnaive.base.errors import BadData  # noqa: E402
from unnaive.io.read_options import ReadLog  # noqa: E402
from unnaive.scaleout.spark.split_reader import SplitSummary  # noqa: E402


def test_a_summary_is_the_same_after_the_way_to_the_driver():
    # a lone surrogate, an empty label set, a column of nothing but nulls and one that no type holds
    log = ReadLog(
        rows=3, skipped=[(4, 6)], repeated_headers=1, label_sets=Counter({("a", "b"): 2, (): 1, ("\ud800",): 4})
    )
    types = {"day": pa.timestamp("us", "UTC"), "mixed": None, "empty": pa.null(), "list": pa.list_(pa.int64())}
    summary = SplitSummary(
        log, empty=1, missing=2, several=3, plain=False, warnings=["a sentence"], types=types, late=("list",),
        soft_labels=("yes", "no"),
    )  # fmt: skip
    there = SplitSummary.unpack(*summary.pack())
    assert there == summary
    assert list(there.types) == list(types)


def test_an_error_keeps_its_kind_and_its_sentence():
    there = SplitSummary.unpack(*SplitSummary(ReadLog(), error=BadData("line 3 has no label")).pack())
    assert type(there.error) is BadData
    assert str(there.error) == "line 3 has no label"
