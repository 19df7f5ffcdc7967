"""Passes on Spark: rows that change are refused, parts go one to one, columns beside the text stay untouched."""

import shutil
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive import BadData, TextClassifier
from unnaive.data.counts import UNITS, Counts
from unnaive.data.targets import label_matrix
from unnaive.scaleout.spark.pass_check import Fingerprints, split_fingerprint
from unnaive.scaleout.spark.spark_session import translate

needs_spark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'unnaive[spark]'"),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on this machine"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


def on_spark(test):
    for mark in needs_spark:
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def spark():
    from unnaive.scaleout.spark.spark_session import start_session

    session = start_session("local[2]")
    session.conf.set("spark.sql.shuffle.partitions", 2)
    return session


def draw(seed, n_docs=40, n_classes=3, n_terms=9):
    rng = np.random.default_rng(seed)
    X = csr_array(rng.poisson(0.5, (n_docs, n_terms)))
    labels = [tuple(rng.permutation(n_classes)[: rng.integers(0, 3)].tolist()) for _ in range(n_docs)]
    return X, label_matrix(labels, range(n_classes)), rng.integers(1, 1 << 26, n_docs) / UNITS


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_fingerprints_of_parts_add_up_to_that_of_the_sums(seed, weighted):
    X, Y, weight = draw(seed)
    weight = weight if weighted else np.ones(len(weight))
    fingerprints = Fingerprints(3, 9)
    parts = [fingerprints.of_documents(X[rows], Y[rows], weight[rows]) for rows in np.array_split(np.arange(40), 6)]
    units = Counts.of(X, Y, np.rint(weight * UNITS).astype(np.int64))
    sums = Counts(*(getattr(units, name) / UNITS for name in ("n_docs", "class_docs", "class_terms", "class_df",
                                                              "terms", "df")))  # fmt: skip
    low, high = np.sum([split_fingerprint(part) for part in parts], axis=0).tolist()
    assert (low + (high << 32)) % (1 << 64) == fingerprints.of_counts(sums)
    assert sum(parts) % (1 << 64) == fingerprints.of_counts(sums)


def test_a_word_a_label_or_a_document_that_changed_gives_another_fingerprint():
    X, Y, weight = draw(0)
    fingerprints = Fingerprints(3, 9)
    before = fingerprints.of_documents(X, Y, weight)
    word, label = X.copy(), Y.copy().astype(np.int64)
    word.data[word.indptr[np.flatnonzero(np.diff(Y.indptr) * np.diff(X.indptr))[0]]] += 1
    label.indices[0] = (label.indices[0] + 1) % 3
    labelled = np.flatnonzero(np.diff(Y.indptr))[1:]
    assert fingerprints.of_documents(word, Y, weight) != before
    assert fingerprints.of_documents(X, label, weight) != before
    assert fingerprints.of_documents(X[labelled], Y[labelled], weight[labelled]) != before


def test_results_that_are_too_large_for_the_driver_are_one_sentence():
    said = translate(
        "Job aborted due to stage failure: Total size of serialized results of 3 tasks (1100.0 MiB) is bigger than "
        "spark.driver.maxResultSize (1024.0 MiB)"
    )
    assert str(said).startswith("the sums of all terms are larger than spark.driver.maxResultSize, so that the driver")


@on_spark
@pytest.mark.parametrize(("model", "settings"), [("maxent", {"max_iter": 2}), ("sharded-nbsvm", {"shard_size": 20})])
def test_rows_that_change_between_passes_are_refused(spark, tmp_path, model, settings):
    import unnaive.spark

    rows = [(f"ball goal {number % 7}", "sport") for number in range(30)]
    rows += [(f"vote law {number % 5}", "politics") for number in range(30)]
    same = spark.createDataFrame(rows, "text string, label string").coalesce(1)
    assert unnaive.spark.fit(same, model=model, **settings).predict(["goal"]).tolist() == ["sport"]
    seen = tmp_path / "seen"

    def change(batches):
        for batch in batches:
            yield batch.slice(1) if seen.exists() else batch  # the second time without the first row
        seen.touch()

    with pytest.raises(BadData, match=r"^the rows of the DataFrame changed while they were read: a second pass found"):
        unnaive.spark.fit(same.mapInArrow(change, same.schema), model=model, **settings)


@on_spark
def test_every_part_of_the_counts_has_a_task_of_its_own(spark):
    """A hash of the number of the part would leave 72 of 200 tasks without one."""
    from pyspark.sql import functions as F

    from unnaive.scaleout.spark.counting import RUN_SCHEMA, partition_counter
    from unnaive.text.tokens import TokenRule

    n_parts = 50
    rows = spark.createDataFrame([(" ".join(f"w{n}" for n in range(2000)), "a")], "text string, label string").coalesce(
        1
    )
    runs = rows.mapInArrow(partition_counter(TokenRule(), n_parts), RUN_SCHEMA)
    spread = runs.repartitionById(n_parts, "part").select("part", F.spark_partition_id().alias("task")).collect()
    assert sorted((row.part, row.task) for row in spread) == [(part, part) for part in range(n_parts)]


@on_spark
def test_columns_beside_the_text_do_not_leave_spark(spark):
    """Python has no date before the year 1, and Arrow in Spark no interval of months."""
    import unnaive.spark

    spark.conf.set("spark.sql.session.timeZone", "UTC")
    df = spark.sql(
        "SELECT * FROM VALUES ('good ball', DATE'-0044-03-15', INTERVAL '1-2' YEAR TO MONTH, INTERVAL '3' DAY), "
        "(NULL, DATE'2024-01-01', INTERVAL '0-1' YEAR TO MONTH, INTERVAL '1' DAY), "
        "('fair vote', DATE'1066-10-14', NULL, NULL) AS rows(`the.text`, day, months, days)"
    )
    model = TextClassifier("multinomial").fit(["good ball", "fair vote"], ["sport", "politics"])
    shown = ["`the.text`", "CAST(day AS string) AS day", "CAST(months AS string) AS months"]
    labelled = unnaive.spark.transform(df, model, text="the.text", probability="p", best="b")
    assert labelled.schema.fields[:4] == df.schema.fields
    found = labelled.selectExpr(*shown, "prediction", "size(p) AS n", "b").collect()
    assert [tuple(row)[1:4] for row in found] == [
        ("-0044-03-15", "INTERVAL '1-2' YEAR TO MONTH", "sport"),
        ("2024-01-01", "INTERVAL '0-1' YEAR TO MONTH", None),
        ("1066-10-14", None, "politics"),
    ]
    assert [row.n for row in found] == [2, None, 2]
    np.testing.assert_array_equal([found[0].b, found[2].b], model.predict_proba(["good ball", "fair vote"]).max(axis=1))
    kept = unnaive.spark.filter_texts(df, model, keep="sport", above=0.5, text="the.text", score="s")
    assert [tuple(row)[1:3] for row in kept.selectExpr(*shown, "s").collect()] == [
        ("-0044-03-15", "INTERVAL '1-2' YEAR TO MONTH")
    ]
    assert unnaive.spark.transform(df, model, text="the.text", prediction=None).columns == df.columns


@on_spark
def test_shipping_leaves_nothing_in_the_temporary_folder(spark, tmp_path, monkeypatch):
    import tempfile

    import unnaive.spark

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    unnaive.spark.ship(spark)
    assert list(tmp_path.iterdir()) == []
