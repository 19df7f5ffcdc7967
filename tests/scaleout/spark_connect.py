"""Run by test_spark_connect.py in a process of its own: what works through Spark Connect, on a server of this machine.

Prints one line of JSON: what each part found.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path


def main() -> None:
    warnings.simplefilter("ignore")
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    with tempfile.TemporaryDirectory() as folder:
        found = trained(spark, Path(folder)) | used(spark, Path(folder)) | commands(Path(folder)) | refused(spark)
    spark.stop()
    sys.stdout.write(f"{json.dumps(found)}\n")


def corpus():
    from unnaive.io.tickets import load_tickets

    tickets = load_tickets("queue")
    return list(tickets.texts)[:120], [names[0] for names in tickets.labels[:120]]


def trained(spark, folder):
    """Models of one pass and of several: the bytes, or the scores, of local training."""
    import numpy as np

    import unnaive.spark
    from unnaive import TextClassifier
    from unnaive.classifier.model_file import save

    texts, labels = corpus()
    df = spark.createDataFrame(list(zip(texts, labels, strict=True)), "text string, label string").repartition(3)
    save(unnaive.spark.fit(df, model="complement").fitted_, folder / "connect.model")
    save(TextClassifier("complement").partial_fit(texts, labels).fitted_, folder / "local.model")
    found = {"same file": (folder / "connect.model").read_bytes() == (folder / "local.model").read_bytes()}
    settings = {"model": "sharded-nbsvm", "shard_size": 40}
    sharded = unnaive.spark.fit(df, **settings).fitted_
    local = TextClassifier(**settings).fit(texts, labels).fitted_
    found["same scores of shards"] = bool(np.array_equal(sharded.scores(texts), local.scores(texts)))
    maxent = unnaive.spark.fit(df, model="maxent", max_iter=3).fitted_
    expected = TextClassifier("maxent", max_iter=3).fit(texts, labels).fitted_.scores(texts)
    found["difference of maxent"] = float(np.abs(maxent.scores(texts) - expected).max())
    judged = df.selectExpr("text", "IF(label = 'bug', 0.9, 0.1) AS p_bug")
    found["soft labels"] = list(map(str, unnaive.spark.fit(judged, soft_labels="p_*").classes_))
    return found


def used(spark, folder):
    """Predictions and kept rows are those of the model here."""
    import unnaive.spark
    from unnaive import TextClassifier

    texts, labels = corpus()
    local = TextClassifier.load(folder / "local.model")
    df = spark.createDataFrame(
        [*((text, number) for number, text in enumerate(texts)), (None, 999)], "text string, n int"
    )
    labelled = unnaive.spark.transform(df, folder / "local.model", probability="p", score="s", best="b")
    rows = sorted(labelled.collect(), key=lambda row: row.n)
    found = {"same labels": [row.prediction for row in rows] == [*local.predict(texts).tolist(), None]}
    found["same scores"] = [row.s for row in rows[:-1]] == local.fitted_.scores(texts).tolist()
    keep = labels[0]
    kept = unnaive.spark.filter_texts(df, local, keep=keep, above=0.5, score="odds").collect()
    p = local.predict_proba(texts)[:, local.fitted_.class_index(keep)]
    found["same rows kept"] = sorted(row.n for row in kept) == [n for n, value in enumerate(p) if value >= 0.5]
    return found


def commands(folder):
    """Commands find the session that is running."""
    texts, labels = corpus()
    lines = [json.dumps({"text": text, "label": label}) for text, label in zip(texts, labels, strict=True)]
    (folder / "d.jsonl").write_text("\n".join(lines))
    words = (str(folder / "d.jsonl"), "--engine", "spark")
    found = {"train": run("train", *words, "-m", "complement", "-o", str(folder / "c.model"))}
    found["evaluate"] = run("evaluate", str(folder / "c.model"), *words)
    found["predict"] = run("predict", str(folder / "c.model"), *words, "-o", str(folder / "out.jsonl"))
    found["address"] = run("train", *words, "-m", "complement", "-o", "hdfs://n:8020/c.model")
    return found


def run(*words):
    """The exit code and the last line on stderr of a command."""
    from unnaive.apps.cli.main import exit_code

    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = exit_code([*words, "--quiet"])
    return code, (said.getvalue().strip().splitlines() or [""])[-1]


def refused(spark):
    """What needs Java on this side, and errors that executors found."""
    import unnaive.spark
    from unnaive import UnnaiveError

    df = spark.createDataFrame([("good ball", 0.5), ("fair vote", 0.25)], "text string, label double")
    streamed = unnaive.spark.StreamedModel("models", model="complement")
    tries = {
        "ship": lambda: unnaive.spark.ship(spark),
        "stream": lambda: streamed.learn(df, 0),
        "save": lambda: unnaive.spark.save(None, "hdfs://n:8020/c.model"),
        "bad label": lambda: unnaive.spark.fit(df),
    }
    found = {}
    for name, attempt in tries.items():
        try:
            attempt()
            found[name] = "no error"
        except UnnaiveError as problem:
            found[name] = str(problem)
        except Exception as problem:
            found[name] = f"{type(problem).__name__}: {str(problem)[:600]}"
    return found


if __name__ == "__main__":
    main()
