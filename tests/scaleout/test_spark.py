"""Spark gives what local training gives: counts and files the same to the byte, iterated models up to rounding."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from support.fasttext_files import KINDS, TEXTS, write_fasttext

from unnaive import BadData, TextClassifier, UnnaiveError, UnnaiveWarning, soft_labels
from unnaive.classifier.model_file import load_model, save
from unnaive.data.counts import Counts
from unnaive.data.targets import label_matrix, read_targets
from unnaive.data.training_data import TrainingData
from unnaive.io.tickets import load_tickets
from unnaive.learning.train import train
from unnaive.models.fasttext.importing import import_fasttext
from unnaive.text.counting import TextCounter

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'unnaive[spark]'"),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on this machine"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

SCHEMA = "text string, label string"
N = 240


@pytest.fixture(scope="session")
def spark():
    from unnaive.scaleout.spark.spark_session import start_session

    session = start_session("local[2,3]")  # two cores; a task that fails is run again, three times in all
    session.conf.set("spark.sql.shuffle.partitions", 2)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def tickets():
    corpus = load_tickets("queue")
    return list(corpus.texts)[:N], [names[0] for names in corpus.labels[:N]]


@pytest.fixture(scope="session")
def df(spark, tickets):
    return spark.createDataFrame(list(zip(*tickets, strict=True)), SCHEMA).cache()


def file_bytes(model, path):
    save(model.fitted_, path)
    return path.read_bytes()


def train_in_order(texts, labels, model, **parameters):
    """Local training of a model that learns from documents, with the terms in order, as Spark has them."""
    classifier = TextClassifier(model, **parameters)
    counter = TextCounter(classifier.token_rule)
    X = counter.count(texts, grow=True)
    ordered = counter.vocabulary.in_order()
    X = X[:, counter.vocabulary.ids(ordered)]
    data = TrainingData.of_rows(X, read_targets(labels, len(texts)), ordered, token_rule=classifier.token_rule)
    return train(data, classifier.spec())


# Laws: any partitions, any order, tasks that ran twice.


@pytest.mark.parametrize("n_partitions", [1, 2, 7])
def test_counts_and_file_are_those_of_local_training(df, tickets, tmp_path, n_partitions):
    import unnaive.spark

    shuffled = df.orderBy("text").repartition(n_partitions) if n_partitions > 1 else df.orderBy("label").coalesce(1)
    trained = unnaive.spark.fit(shuffled)
    local = TextClassifier("multinomial").fit(*tickets)
    assert trained.fitted_.counts == local.fitted_.counts
    # `remake` puts the terms in order, which partitions cannot have in that of first occurrence
    assert file_bytes(trained, tmp_path / "spark.model") == file_bytes(local.remake(), tmp_path / "local.model")


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("bernoulli", {"select": ("chi2", 100)}),
        ("complement", {"stem": "porter", "stopwords": "smart", "min_df": 2}),
        ("or-gate", {"select": 200}),
        ("rocchio-counts", {"ngrams": (1, 2)}),
        ("word-clusters", {"clusters": 20}),
    ],
)
def test_every_model_that_learns_from_counts_is_the_local_one(df, tickets, tmp_path, model, parameters):
    import unnaive.spark

    trained = unnaive.spark.fit(df.repartition(3), model=model, **parameters)
    local = TextClassifier(model, **parameters).partial_fit(*tickets)
    assert file_bytes(trained, tmp_path / "spark.model") == file_bytes(local, tmp_path / "local.model")


def test_a_task_that_failed_and_ran_again_is_counted_once(df, tickets, tmp_path):
    import unnaive.spark

    flag = tmp_path / "failed"

    def fail_once(batches):
        for batch in batches:
            yield batch.slice(0, 10)
            if not flag.exists():
                flag.touch()
                raise RuntimeError("a machine that is short of memory")
            yield batch.slice(10)

    trained = unnaive.spark.fit(df.coalesce(1).mapInArrow(fail_once, SCHEMA))
    assert flag.exists()
    local = TextClassifier("multinomial").partial_fit(*tickets)
    assert file_bytes(trained, tmp_path / "spark.model") == file_bytes(local, tmp_path / "local.model")


@pytest.mark.parametrize("n_partitions", [1, 3])
@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("maxent", {"max_iter": 6, "min_df": 2}),
        ("maxent", {"solver": "gis", "early_stopping": False, "max_iter": 5}),
        ("hos", {"weights": "log", "norm": "l2", "events": "multinomial"}),
    ],
)
def test_iterated_models_are_the_local_ones_up_to_rounding(df, tickets, model, parameters, n_partitions):
    import unnaive.spark

    kept = {"keep_documents": False} if model == "hos" else {}
    trained = unnaive.spark.fit(df.repartition(n_partitions), model=model, **parameters).fitted_
    local = train_in_order(*tickets, model, **parameters, **kept)
    scores, expected = trained.scores(tickets[0]), local.scores(tickets[0])
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert trained.predict(tickets[0]).tolist() == local.predict(tickets[0]).tolist()


def test_paths_of_presence_are_whole_numbers_and_the_model_is_the_local_one(df, tickets, tmp_path):
    import unnaive.spark

    trained = unnaive.spark.fit(df.repartition(3), model="hos")
    local = train_in_order(*tickets, "hos", keep_documents=False)
    save(trained.fitted_, tmp_path / "spark.model")
    save(replace(local, documents=None), tmp_path / "local.model")  # which local training alone keeps, for updates
    assert (tmp_path / "spark.model").read_bytes() == (tmp_path / "local.model").read_bytes()


@pytest.mark.parametrize("n_partitions", [1, 3])
def test_shards_are_the_same_and_so_is_the_model(df, tickets, tmp_path, n_partitions):
    import unnaive.spark

    parameters = {"model": "sharded-nbsvm", "shard_size": 60, "min_df": 2}
    trained = unnaive.spark.fit(df.orderBy("text").repartition(n_partitions), **parameters)
    local = TextClassifier(**parameters).fit(*tickets)
    save(replace(local.fitted_, documents=None), tmp_path / "local.model")  # which local training alone keeps
    assert file_bytes(trained, tmp_path / "spark.model") == (tmp_path / "local.model").read_bytes()


SOFT = "text string, p_a double, p_b float, p_c double"


def soft_table(texts, seed=0):
    """Probabilities of three labels for each text, some of them 0 and some texts without any."""
    table = np.random.default_rng(seed).dirichlet([0.3] * 3, len(texts)).round(3)
    table[::17] = 0.0
    table[:, 1] = table[:, 1].astype(np.float32)
    return table


@pytest.mark.parametrize("n_partitions", [1, 3])
@pytest.mark.parametrize("model", ["multinomial", "complement", "bernoulli", "sharded-nbsvm"])
def test_soft_labels_give_the_model_of_local_training(spark, tickets, n_partitions, model):
    """Sums of probabilities are exact, so they are the same from any partitions, and so are weights."""
    import unnaive.spark

    texts, table = tickets[0], soft_table(tickets[0])
    rows = [(text, *values) for text, values in zip(texts, table.tolist(), strict=True)]
    given = spark.createDataFrame(rows, SOFT).orderBy("text").repartition(n_partitions)
    parameters = {"model": model, "min_df": 2} | ({"shard_size": 60} if model == "sharded-nbsvm" else {})
    found = unnaive.spark.fit(given, soft_labels="p_*", **parameters).fitted_
    expanded = soft_labels(texts, {label: table[:, column] for column, label in enumerate("abc")})
    local = TextClassifier(**parameters).fit(*expanded).fitted_
    assert found.classes == local.classes == ("a", "b", "c")
    assert found.vocabulary == local.vocabulary
    np.testing.assert_array_equal(found.scores(texts), local.scores(texts))
    if model != "sharded-nbsvm":  # which keeps no counts
        assert found.counts.counts.n_docs == pytest.approx(table.sum(), abs=1e-4)
        assert found.counts.vocabulary == local.counts.vocabulary
        assert found.counts.counts == local.counts.counts


def test_one_soft_label_has_an_opposite_and_certain_ones_are_labels(spark, tickets):
    import unnaive.spark

    texts, good = tickets[0], [float(number % 3 == 0) for number in range(N)]
    given = spark.createDataFrame(list(zip(texts, good, strict=True)), "text string, p_good double")
    found = unnaive.spark.fit(given, soft_labels=["p_good"]).fitted_
    local = TextClassifier("multinomial").fit(texts, ["good" if value else "not good" for value in good]).fitted_
    assert found.classes == local.classes == ("good", "not good")
    assert found.counts.counts == local.counts.counts
    assert found.counts.counts.terms.dtype == np.int64


def test_mistakes_in_soft_labels_are_one_sentence(spark):
    import unnaive.spark

    schema = "text string, p_good double"
    with pytest.raises(BadData, match=r"^a probability of 'good' is 1\.5; give numbers from 0 to 1$"):
        unnaive.spark.fit(spark.createDataFrame([("a text", 0.5), ("more", 1.5)], schema), soft_labels="p_*")
    rows = spark.createDataFrame([("a text", 0.5), ("more", None), (None, 1.0), ("text", 1.0)], schema)
    with pytest.raises(BadData, match="2 of 4 rows have no text or no label"):
        unnaive.spark.fit(rows, soft_labels="p_*")
    with pytest.warns(UnnaiveWarning, match="2 of 4 rows have no text or no label and are left out"):
        found = unnaive.spark.fit(rows, soft_labels="p_*", missing="skip").fitted_
    assert found.counts.counts.class_docs.tolist() == [1.5, 0.5]


def test_soft_labels_on_the_command_line(spark, tickets, tmp_path):
    texts, table = tickets[0], soft_table(tickets[0])
    rows = [
        dict(zip(("text", "p_a", "p_b"), (text, *values[:2]), strict=True))
        for text, values in zip(texts, table.tolist(), strict=True)
    ]
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--text", "text", "-m", "sharded-nbsvm", "--set", "shard_size=60", "--soft-labels", "p_*"]
    assert (
        run("train", path, "-o", tmp_path / "spark.model", *words, "--engine", "spark", "--set", "master=local[2]") == 0
    )
    assert run("train", path, "-o", tmp_path / "local.model", *words) == 0
    found, local = load_model(tmp_path / "spark.model"), load_model(tmp_path / "local.model")
    assert found.vocabulary == local.vocabulary
    np.testing.assert_array_equal(found.scores(texts), local.scores(texts))


def test_sums_are_the_same_added_up_by_the_driver_or_across_the_cluster(df, tickets):
    from unnaive.data.weighting import Weighting
    from unnaive.scaleout.spark.passes import CountedDocuments
    from unnaive.scaleout.spark.rows import labelled_rows
    from unnaive.scaleout.spark.solvers import sum_first_pass
    from unnaive.text.tokens import TokenRule

    counter = TextCounter(TokenRule())
    X = counter.count(tickets[0], grow=True)
    classes = sorted(set(tickets[1]))
    counts = Counts.of(X, label_matrix([(label,) for label in tickets[1]], classes))
    rows = labelled_rows(df.repartition(3), "text", "label")
    with CountedDocuments.of(rows, TokenRule(), counter.vocabulary, classes, Weighting("log"), counts) as documents:
        assert documents.small
        here = documents.sum(sum_first_pass, "multiclass")
        documents.small = False
        there = documents.sum(sum_first_pass, "multiclass")
    assert here[0] == N
    assert all(np.array_equal(one, two) for one, two in zip(here, there, strict=True))


# Predicting.


def test_predictions_and_probabilities_are_the_local_ones(spark, df, tickets):
    import unnaive.spark

    local = TextClassifier("multinomial").fit(*tickets)
    rows = unnaive.spark.transform(df, local, probability="p", score="s").collect()
    assert [row.text for row in rows] == tickets[0]
    assert [row.prediction for row in rows] == local.predict(tickets[0]).tolist()
    assert np.array_equal([row.p for row in rows], local.predict_proba(tickets[0]))
    assert np.array_equal([row.s for row in rows], local.scores(tickets[0]))


def test_an_imported_fasttext_model_predicts_as_locally(spark, tmp_path):
    import unnaive.spark

    for name in ("softmax-subwords", "pruned-hs-factors"):
        (tmp_path / "model.bin").write_bytes(write_fasttext(KINDS[name]))
        local = import_fasttext(tmp_path / "model.bin")
        texts = spark.createDataFrame([(text,) for text in TEXTS], "text string").coalesce(1)
        rows = unnaive.spark.transform(texts, local, probability="p").collect()
        assert [row.prediction for row in rows] == local.predict(list(TEXTS)).tolist()
        assert np.array_equal([row.p for row in rows], local.predict_proba(list(TEXTS)))


def test_a_row_without_a_text_gets_no_prediction(spark, tickets):
    import unnaive.spark

    local = TextClassifier("multinomial").fit(*tickets)
    texts = [None, tickets[0][0], None]
    few = spark.createDataFrame([(number, text) for number, text in enumerate(texts)], "id int, body string").coalesce(
        1
    )
    rows = unnaive.spark.transform(few, local, text="body").orderBy("id").collect()
    assert [row.prediction for row in rows] == [None, local.predict(tickets[0][:1])[0], None]


def test_multilabel_and_numbers_as_labels(spark, tickets):
    import unnaive.spark

    texts = tickets[0][:40]
    sets = [[label, f"{len(text) % 3}"] if len(text) % 5 else [] for text, label in zip(*tickets, strict=True)][:40]
    rows = spark.createDataFrame(list(zip(texts, sets, strict=True)), "text string, label array<string>")
    trained = unnaive.spark.fit(rows.repartition(3), model="bernoulli")
    local = TextClassifier("bernoulli").partial_fit(texts, sets)
    assert trained.fitted_.counts == local.fitted_.counts
    given = [tuple(row.prediction) for row in unnaive.spark.transform(rows, trained).collect()]
    assert given == local.predict(texts)
    numbers = [len(text) % 3 for text in texts]
    whole = spark.createDataFrame(list(zip(texts, numbers, strict=True)), "text string, label int")
    trained = unnaive.spark.fit(whole)
    assert trained.classes_.tolist() == [0, 1, 2]
    assert unnaive.spark.transform(whole, trained).schema["prediction"].dataType.typeName() == "long"


# Skew and dirt.


def test_a_partition_with_nine_tenths_of_the_rows_and_empty_ones(spark, df, tickets, tmp_path):
    import unnaive.spark

    rows = list(zip(*tickets, strict=True))
    most, rest = rows[: 9 * N // 10], rows[9 * N // 10 :]
    nothing = spark.createDataFrame([], SCHEMA)
    skewed = spark.createDataFrame(most, SCHEMA).coalesce(1).union(nothing).union(spark.createDataFrame(rest, SCHEMA))
    filtered = df.repartition(7, "label").where("label = 'bug'").limit(0)  # empty partitions, not just none
    trained = unnaive.spark.fit(skewed.union(filtered))
    local = TextClassifier("multinomial").partial_fit(*tickets)
    assert file_bytes(trained, tmp_path / "spark.model") == file_bytes(local, tmp_path / "local.model")


def test_rows_without_text_or_label_are_refused_or_left_out(spark, df, tickets, tmp_path):
    import unnaive.spark

    holes = df.union(spark.createDataFrame([(None, "bug"), ("a text", None), (None, None)], SCHEMA))
    with pytest.raises(BadData, match=f"^3 of {N + 3} rows have no text or no label; fill them, or set missing='skip'"):
        unnaive.spark.fit(holes)
    with pytest.warns(UnnaiveWarning, match=f"3 of {N + 3} rows have no text or no label and are left out"):
        trained = unnaive.spark.fit(holes, missing="skip")
    local = TextClassifier("multinomial").partial_fit(*tickets)
    assert file_bytes(trained, tmp_path / "spark.model") == file_bytes(local, tmp_path / "local.model")


def test_a_document_of_fifty_megabytes_is_counted_and_scored(spark, df):
    import unnaive.spark

    # by the column `id`: Spark would work a constant out beforehand and write all of it into the plan of the query
    long = spark.range(1).selectExpr("repeat('alpha beta ', int(4800000 + id)) AS text", "'long' AS label")
    trained = unnaive.spark.fit(df.limit(20).union(long))
    counts = trained.fitted_.counts
    assert counts.counts.terms[counts.vocabulary.ids(["alpha", "beta"])].tolist() == [4800000, 4800000]
    assert unnaive.spark.transform(long, trained).select("prediction").collect()[0][0] == "long"


def test_a_driver_without_memory_is_one_sentence_and_no_hang(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import unnaive.spark\n"
        "from unnaive.scaleout.spark.spark_session import start_session\n"
        "spark = start_session('local[2]')\n"
        # a constant, which Spark writes into the plan of the query, and copies there, time and again
        "rows = spark.range(2).selectExpr(\"repeat('alpha beta ', 4800000) AS text\", 'id AS label')\n"
        "try:\n    unnaive.spark.fit(rows)\nexcept unnaive.UnnaiveError as problem:\n    print(problem)\n"
    )
    little = os.environ | {"PYSPARK_SUBMIT_ARGS": "--driver-memory 480m pyspark-shell"}
    done = subprocess.run(
        [sys.executable, program], env=little, capture_output=True, text=True, timeout=300, check=False
    )
    assert "\nSpark's driver has ended, most often because it ran out of memory;" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"text": "body"}, "the DataFrame has no column 'body'; it has text, label: name the column with text=NAME"),
        (
            {"model": "svm"},
            "linear support vector machine needs all documents on one machine; on Spark use sharded-nbsvm",
        ),
        (
            {"model": "auto"},
            "pool of models on several views needs all documents on one machine; on Spark use sharded-nbsvm, or",
        ),
        (
            {"model": "nbsvm"},
            "support vector machine on naive Bayes ratios needs all documents on one machine; on Spark use",
        ),
        ({"model": "label-tree"}, "tree of labels needs all documents on one machine; on Spark use sharded-nbsvm"),
        ({"soft_labels": "p_*"}, "no column of the DataFrame matches p_*; it has text, label"),
        ({"soft_labels": "label"}, "the column 'label' has type string; probabilities must be numbers from 0 to 1"),
        ({"soft_labels": "p_*", "model": "maxent"}, "maximum entropy takes no soft labels on Spark; use sharded-nbsvm"),
        ({"calibrate": True}, "the calibration needs held-out documents on one machine"),
        ({"decision": "scut"}, "the decision 'scut' needs held-out documents on one machine"),
        ({"class_weight": "balanced"}, "class_weight makes counts fractions"),
        ({"missing": "drop"}, "no treatment of missing values called 'drop'; there are error, skip"),
    ],
)
def test_what_cannot_be_is_one_sentence(df, given, sentence):
    import unnaive.spark

    with pytest.raises(UnnaiveError) as problem:
        unnaive.spark.fit(df, **given)
    assert str(problem.value).startswith(sentence)
    assert "\n" not in str(problem.value)


def test_data_that_cannot_be_learnt_from_is_one_sentence(spark, df):
    import unnaive.spark

    with pytest.raises(BadData, match=r"^there are no documents; give at least one"):
        unnaive.spark.fit(df.limit(0))
    with pytest.raises(BadData, match=r"^every document has the label 'x'; a classifier needs at least two classes"):
        unnaive.spark.fit(df.selectExpr("text", "'x' AS label"))
    with pytest.raises(BadData, match=r"^none of the 240 texts has a term to learn from"):
        unnaive.spark.fit(df.selectExpr("'' AS text", "label"))
    with pytest.raises(
        BadData, match=r"^the column 'label' has type map<string,int>; labels must be strings, whole numbers"
    ):
        unnaive.spark.fit(df.selectExpr("text", "map(label, 1) AS label"))
    with pytest.raises(BadData, match=r"^the column 'text' has type array<string>; texts must be strings"):
        unnaive.spark.fit(df.selectExpr("array(text) AS text", "label"))
    with pytest.raises(BadData, match=r"^Unknown label type: continuous. A label is 0.5"):  # found on an executor
        unnaive.spark.fit(df.selectExpr("text", "0.5D AS label"))
    with pytest.raises(UnnaiveError, match=r"^early stopping selects held-out documents by their position"):
        unnaive.spark.fit(df, model="maxent", solver="gis")


# Pipelines and streams.


def test_estimator_in_a_pipeline_under_cross_validation(spark, df, tickets, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import StringIndexer
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    from unnaive.spark import UnnaiveClassifier

    stage = UnnaiveClassifier(labelCol="index", probabilityCol="probability")
    pipeline = Pipeline(stages=[StringIndexer(inputCol="label", outputCol="index"), stage])
    grid = ParamGridBuilder().addGrid(stage.settings, [{"alpha": 1e6}, {"alpha": 0.1}]).build()
    judge = MulticlassClassificationEvaluator(labelCol="index", metricName="accuracy")
    found = CrossValidator(
        estimator=pipeline, estimatorParamMaps=grid, evaluator=judge, numFolds=2, seed=0, parallelism=1
    ).fit(df)
    assert found.avgMetrics[1] > found.avgMetrics[0]  # so much smoothing leaves nothing but the prior
    best = found.bestModel
    assert best.stages[1].fitted.spec.model.alpha == 0.1
    best.write().overwrite().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    columns = ["text", "prediction", "probability"]
    assert again.transform(df).select(columns).collect() == best.transform(df).select(columns).collect()
    assert judge.evaluate(again.transform(df)) > 0.9  # of the documents that it learnt from


# The command line.


@pytest.fixture(scope="module")
def table(tickets, tmp_path_factory):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path_factory.mktemp("tables") / "tickets.parquet"
    pq.write_table(pa.table({"body": tickets[0], "queue": tickets[1], "number": range(N)}), path)
    return path


def run(*words):
    from unnaive.apps.cli.main import exit_code

    return exit_code([str(word) for word in words])


def test_the_command_line_trains_the_same_file_as_locally(spark, table, tmp_path):
    counting = ("--model", "multinomial", "--quiet")
    assert run("train", table, "-o", tmp_path / "spark.model", "--engine", "spark", *counting) == 0
    assert run("train", table, "-o", tmp_path / "local.model", *counting) == 0
    local = load_model(tmp_path / "local.model")
    remade = TextClassifier.from_fitted(local).remake().fitted_  # terms in order
    # hashes of the texts, by which overlap with test files is found, are kept by local training alone
    save(replace(remade, source=local.source, text_hashes=None), tmp_path / "ordered.model")
    assert (tmp_path / "spark.model").read_bytes() == (tmp_path / "ordered.model").read_bytes()


def test_csv_with_quotes_and_lines_is_read_as_locally(spark, tmp_path, capsys):
    import csv

    path = tmp_path / "mails.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        rows = [
            ("text", "label"),
            ('a "good", ball\nand goal', " sport "),
            ("fair vote; new law", "politics"),
            ("x", ""),
        ]
        writer.writerows(rows)
    assert run("train", path, "-o", tmp_path / "spark.model", "--engine", "spark", "--model", "multinomial") == 0
    assert "mails.csv: 1 of 3 rows has no label and is left out" in capsys.readouterr().err
    assert run("train", path, "-o", tmp_path / "local.model", "--quiet", "--model", "multinomial") == 0
    assert load_model(tmp_path / "spark.model").counts == load_model(tmp_path / "local.model").counts
    assert load_model(tmp_path / "spark.model").classes == ("politics", "sport")


def test_the_command_line_predicts_and_evaluates(spark, table, tickets, tmp_path, capsys):
    model = tmp_path / "tickets.model"
    assert run("train", table, "-o", model, "--quiet") == 0
    assert run("predict", model, table, "-o", tmp_path / "labelled.parquet", "--engine", "spark", "--quiet") == 0
    rows = spark.read.parquet(str(tmp_path / "labelled.parquet")).orderBy("number").collect()
    fitted = load_model(model)
    assert [row.label for row in rows] == fitted.predict(tickets[0]).tolist()
    assert np.array_equal([row.probability for row in rows], fitted.predict_proba(tickets[0]).max(axis=1))
    assert rows[0].asDict().keys() == {"body", "queue", "number", "label", "probability"}
    capsys.readouterr()
    assert run("evaluate", model, table, "--engine", "spark", "--json") == 0
    on_spark = json.loads(capsys.readouterr().out)
    assert run("evaluate", model, table, "--json") == 0
    local = json.loads(capsys.readouterr().out)["measures"]
    assert on_spark["documents"] == N
    assert on_spark["accuracy"] == local["accuracy"]
    assert on_spark["macro-f1"] == pytest.approx(local["macro-f1"], abs=1e-12)
    assert on_spark["unknown"] == []
    few = ["good ball", "please pay", "rain"], ["sport", tickets[1][0], "weather"]
    TextClassifier("multinomial").fit(*few).save(model)
    assert run("evaluate", model, table, "--engine", "spark") == 0
    said = capsys.readouterr().err
    others = N - list(tickets[1]).count(tickets[1][0])
    assert "note: the model was not trained on" in said
    assert f"these {others} labels cannot be right" in said
    assert "note: macro averages leave out 1 class without a document or a prediction here: weather" in said


def test_the_command_line_compares_by_folds(spark, table, tmp_path):
    words = ["compare", table, "--models", "multinomial,complement", "--folds", "2", "--engine", "spark", "--quiet"]
    assert run(*words, "-o", tmp_path / "records.jsonl", "--report", tmp_path / "out.json") == 0
    records = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert [(one["model"], one["split"]) for one in records if one["measure"] == "accuracy"] == [
        ("multinomial", 0), ("complement", 0), ("multinomial", 1), ("complement", 1)
    ]  # fmt: skip
    assert sum(one["n_test"] for one in records if one["model"] == "multinomial" and one["measure"] == "accuracy") == N
    assert {one["n_train"] + one["n_test"] for one in records} == {N}
    assert all(0.2 < one["value"] <= 1 for one in records)  # eight classes: chance is an eighth


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--engine", "sparc"], "no engine called 'sparc'; there are local, spark; did you mean 'spark'?"),
        (["--set", "master=yarn"], "--set master has an effect only with --engine spark; add --engine spark, or leave"),
        (["--engine", "spark", "--holdout", "0.2"], "train --engine spark has no --holdout; leave it out, or use"),
        (["--engine", "spark", "--memory", "2G"], "train --engine spark has no --memory; leave it out, or use"),
        (["--engine", "spark", "--model", "knn"], "needs all documents on one machine; on Spark use sharded-nbsvm"),
    ],
)
def test_mistakes_of_the_command_line_are_one_sentence(table, tmp_path, capsys, words, sentence):
    assert run("train", table, "-o", tmp_path / "x.model", *words) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not (tmp_path / "x.model").exists()


def test_sets_of_labels_are_refused_on_spark(table, tmp_path, capsys):
    TextClassifier("multinomial").fit(["good ball", "fair vote"], ["sport", "politics"]).save(tmp_path / "a.model")
    for words in ([], ["--by-class"], ["--at-least-one"]):
        words = ["-o", tmp_path / "x.csv", "--engine", "spark", "--coverage", "0.9", *words]
        assert run("predict", tmp_path / "a.model", table, *words) == 2
        assert "predict --engine spark has no --coverage; leave it out" in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()


def test_what_spark_cannot_read_is_one_sentence(spark, tmp_path, capsys):
    wanted = ("-o", tmp_path / "x.model", "--engine", "spark", "--model", "multinomial")
    assert run("train", f"file://{tmp_path}/nothing.parquet", *wanted) == 2
    assert "Spark cannot read" in capsys.readouterr().err
    (tmp_path / "tickets").write_text("a")
    assert run("train", f"file://{tmp_path}/tickets", *wanted) == 2
    assert "add --format parquet, csv, tsv, jsonl, orc or table" in capsys.readouterr().err


def test_filter_texts_keeps_the_rows_that_the_command_keeps(spark, df, tickets, tmp_path):
    from unnaive.apps.cli.main import exit_code
    from unnaive.spark import filter_texts

    texts, labels = tickets
    model = TextClassifier("multinomial").fit(texts[::2], labels[::2])
    model.save(tmp_path / "m.model")
    keep = labels[0]
    found = filter_texts(df, tmp_path / "m.model", keep=keep, above=0.3, score="odds").collect()
    p = model.predict_proba(texts)[:, model.fitted_.class_index(keep)]
    assert 0 < len(found) < len(texts)
    assert sorted(row.text for row in found) == sorted(np.array(texts)[p >= 0.3].tolist())
    assert np.allclose(sorted(1 / (1 + np.exp(-row.odds)) for row in found), np.sort(p[p >= 0.3]))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (tmp_path / "h.jsonl").write_text(
        "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in zip(texts, labels, strict=True))
    )
    words = f"filter m.model a.jsonl -o k.jsonl --recall 0.8 --held-out h.jsonl --confidence 0.8 --class {keep}".split()
    assert exit_code([str(tmp_path / word) if word.endswith(("l", ".model")) and "." in word else word
                      for word in words]) == 0  # fmt: skip
    by_recall = filter_texts(df, model, keep=[keep], recall=0.8, held_out=(texts, labels), confidence=0.8).collect()
    kept = [json.loads(line)["text"] for line in (tmp_path / "k.jsonl").read_text().splitlines()]
    assert sorted(row.text for row in by_recall) == sorted(kept)
    nulls = spark.createDataFrame([(texts[0], 1), (None, 2)], "body string, n int")
    assert [row.n for row in filter_texts(nulls, model, keep=keep, above=0.0, text="body").collect()] == [1]
    with pytest.raises(BadData, match="no column 'text'; it has body, n"):
        filter_texts(nulls, model, keep=keep, above=0.5)
    with pytest.raises(UnnaiveError, match=r"either above=0\.5, or recall"):
        filter_texts(df, model, keep=keep)
