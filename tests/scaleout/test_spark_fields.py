"""Records with fields on Spark: columns of a DataFrame are the fields, and every result is the local one."""

import json
import random
import shutil
from importlib.util import find_spec

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'unnaive[spark]'"),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on this machine"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

KINDS = {"subject": "text", "text": "text", "product": "category", "age": "number", "opened": "date"}
OPTIONS = [
    "--text", "subject", "--text", "text", "--category", "product", "--number", "age", "--date", "opened",
]  # fmt: skip
WORDS = {"billing": "my card was charged", "bug": "it stops with an error", "sales": "we want to order"}


@pytest.fixture(scope="module")
def spark():
    from unnaive.scaleout.spark.spark_session import start_session

    return start_session("local[2,3]")


@pytest.fixture(scope="module")
def rows():
    """Tickets, one of whose fields is called as the column of texts is by default."""
    draw = random.Random(0)
    queues = [draw.choice(sorted(WORDS)) for _ in range(60)]
    return [
        {
            "ticket": f"T{number:04}", "subject": draw.choice(["hello", "question", WORDS[queue][-8:]]),
            "text": " ".join(draw.sample(WORDS[queue].split(), 2)),
            "product": draw.choice(["Laser Printer", "App", None]),
            "age": draw.choice([1.0, 3.5, 40.0, None]) if queue == "bug" else draw.choice([200.0, 250.0]),
            "opened": f"2024-0{draw.randint(1, 9)}-0{draw.randint(1, 9)}", "code": queue[:2], "queue": queue,
        }
        for number, queue in enumerate(queues)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def df(spark, rows):
    schema = ", ".join(f"{name} {'double' if name == 'age' else 'string'}" for name in rows[0])
    return spark.createDataFrame([tuple(row.values()) for row in rows], schema).repartition(3).cache()


def run(*words):
    from unnaive.apps.cli.main import exit_code

    return exit_code([str(word) for word in words])


def test_dataframes_of_records_give_the_local_model_and_labels(df, rows):
    from unnaive.spark import filter_texts, fit, transform

    labels = [row["queue"] for row in rows]
    for fields in (KINDS, list(KINDS)):
        on_spark = fit(df, label="queue", fields=fields)
        local = TextClassifier("multinomial", fields=fields).fit(rows, labels)
        assert on_spark.fitted_.token_rule == local.fitted_.token_rule
        assert np.allclose(on_spark.scores(rows), local.scores(rows), rtol=0, atol=1e-12)
    found = transform(df, local, probability="share").orderBy("ticket").collect()
    assert [row.prediction for row in found] == local.predict(rows).tolist()
    assert np.array_equal([row.share for row in found], local.predict_proba(rows))
    assert found[0].asDict().keys() == {*rows[0], "prediction", "share"}
    kept = filter_texts(df, local, keep="bug", above=0.5).orderBy("ticket").collect()
    bugs = local.predict_proba(rows)[:, list(local.classes_).index("bug")] >= 0.5
    assert [row.ticket for row in kept] == [row["ticket"] for row, good in zip(rows, bugs, strict=True) if good]
    with pytest.warns(UserWarning, match="code .reveals the label."):
        assert set(fit(df, label="queue", fields="auto").fields) == {"subject", "text", "product", "age", "opened"}
    with pytest.raises(BadData, match="no column 'product', which is a field"):
        transform(df.drop("product"), local)


def test_models_with_vectors_predict_and_do_not_train(spark, rows, tmp_path, capsys):
    from unnaive.spark import fit, transform

    draw = np.random.default_rng(0)
    records = [{"text": row["text"], "embedding": draw.normal(size=4).tolist(), "queue": row["queue"]} for row in rows]
    df = spark.createDataFrame(records).coalesce(1)
    kinds = {"text": "text", "embedding": "vector"}
    local = TextClassifier("nbsvm", fields=kinds).fit(records, [row["queue"] for row in rows])
    found = transform(df, local, best="most").collect()
    assert [row.prediction for row in found] == local.predict(records).tolist()
    assert np.allclose([row.most for row in found], local.scores(records).max(axis=1), rtol=0, atol=1e-12)
    words = {word for row in rows for word in row["text"].split()}
    lines = (f"{word} {' '.join(map(str, draw.normal(size=3)))}\n" for word in sorted(words))
    (tmp_path / "words.txt").write_text("".join(lines), encoding="utf-8")
    texts = [row["text"] for row in rows]
    local = TextClassifier("nbsvm", word_vectors=tmp_path / "words.txt").fit(texts, [row["queue"] for row in rows])
    assert [row.prediction for row in transform(df, local).collect()] == local.predict(texts).tolist()
    for more in ({"fields": kinds}, {"word_vectors": tmp_path / "words.txt"}):
        with pytest.raises(UnnaiveError, match="vectors are weighed with all documents on one machine"):
            fit(df, label="queue", model="maxent", **more)


def test_the_command_line_reads_columns_as_fields(spark, rows, tmp_path, capsys):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = tmp_path / "tickets.parquet"
    pq.write_table(pa.Table.from_pylist(rows), table)
    counting = ["--label", "queue", "-m", "multinomial"]
    for name, more in (("local", []), ("spark", ["--engine", "spark"])):
        assert run("train", table, *counting, *OPTIONS, "-o", tmp_path / f"{name}.model", *more, "--frozen") == 0
    local = TextClassifier.load(tmp_path / "local.model").scores(rows)
    assert np.allclose(TextClassifier.load(tmp_path / "spark.model").scores(rows), local, rtol=0, atol=1e-12)
    model = tmp_path / "local.model"
    assert run("predict", model, table, "-o", tmp_path / "labelled.parquet", "--engine", "spark", "--quiet") == 0
    found = spark.read.parquet(str(tmp_path / "labelled.parquet")).orderBy("ticket").collect()
    assert [row.label for row in found] == TextClassifier.load(model).predict(rows).tolist()
    capsys.readouterr()
    assert run("evaluate", model, table, "--json", "--engine", "spark") == 0
    measured = json.loads(capsys.readouterr().out)
    assert run("evaluate", model, table, "--json") == 0
    assert measured["accuracy"] == json.loads(capsys.readouterr().out)["measures"]["accuracy"]
    assert run("train", table, *counting, "--fields", "auto", "-o", tmp_path / "x.model", "--engine", "spark") == 0
    said = capsys.readouterr().err
    assert "left out: ticket (nearly all values differ), code (reveals the label)" in said
    fields = ["--set", "category=product", "--set", "number=age", "--set", "date=opened"]
    words = ["compare", table, "--label", "queue", *OPTIONS[:4], *fields, "--models", "multinomial", "--folds", "2"]
    assert run(*words, "--engine", "spark", "--quiet") == 0


def test_a_bad_value_on_an_executor_is_one_sentence(df):
    import unnaive.spark

    with pytest.raises(BadData, match=r"^field 'product' is of kind number, but a value is '.*'; correct it"):
        unnaive.spark.fit(df, label="queue", model="multinomial", fields=KINDS | {"product": "number"})


def test_guessed_fields_leave_vectors_out(df):
    """Training on Spark has no vectors, so that auto must not choose them."""
    from pyspark.sql import functions as F

    import unnaive.spark

    wider = df.withColumn("embedding", F.array(*map(F.lit, (0.1, 0.2, 0.3, 0.4))))
    with pytest.warns(UnnaiveWarning, match=r"embedding \(vectors, which the model cannot use\)"):
        model = unnaive.spark.fit(wider, label="queue", model="multinomial", fields="auto")
    assert "embedding" not in model.fitted_.token_rule.field_kinds
