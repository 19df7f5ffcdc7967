"""A model that learns from a stream: each batch once, no batch left out, on this machine and at an address."""

import json
import shutil
from importlib.util import find_spec

import pytest

from unnaive import TextClassifier, UnnaiveError, UnnaiveWarning
from unnaive.classifier.model_file import save
from unnaive.io.tickets import load_tickets

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'unnaive[spark]'"),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on this machine"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

SCHEMA = "text string, label string"


@pytest.fixture(scope="module")
def spark():
    from unnaive.scaleout.spark.spark_session import start_session

    session = start_session("local[2]")
    session.conf.set("spark.sql.shuffle.partitions", 2)
    return session


@pytest.fixture(scope="module")
def tickets():
    corpus = load_tickets("queue")
    return list(corpus.texts)[:90], [names[0] for names in corpus.labels[:90]]


@pytest.fixture(params=["here", "viewfs"])
def folder(request, spark, tmp_path):
    """A folder of models: of this machine, or at an address that only Hadoop opens."""
    if request.param == "here":
        return str(tmp_path / "models")
    (tmp_path / "mounted").mkdir()
    cluster = tmp_path.name.rstrip("_").replace("_", "-").lower()  # Hadoop keeps a file system that it has opened
    spark.conf.set(f"fs.viewfs.mounttable.{cluster}.link./data", f"file://{tmp_path}/mounted")
    return f"viewfs://{cluster}/data/models"


class Inbox:
    """A folder of JSON lines, each file of which is a batch."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.n_files = spark, folder, 0
        (folder / "inbox").mkdir()

    def put(self, rows):
        lines = [json.dumps({"text": text, "label": label}) for text, label in rows]
        (self.folder / "inbox" / f"{self.n_files:03d}.json").write_text("\n".join(lines))
        self.n_files += 1

    def run(self, stream, checkpoint="checkpoint"):
        """Run a query over all files that its checkpoint has not seen; its error, if it failed."""
        source = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(self.folder / "inbox"))
        writer = source.writeStream.foreachBatch(stream.learn)
        query = writer.option("checkpointLocation", str(self.folder / checkpoint)).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except Exception as problem:  # a StreamingQueryException
            return str(problem)
        return None


@pytest.fixture
def inbox(spark, tmp_path):
    return Inbox(spark, tmp_path)


def model_bytes(stream, tmp_path, name="loaded.model"):
    save(stream.load().fitted_, tmp_path / name)
    return (tmp_path / name).read_bytes()


def local_bytes(rows, tmp_path):
    local = TextClassifier("complement").partial_fit(*map(list, zip(*rows, strict=True)))
    save(local.fitted_, tmp_path / "local.model")
    return (tmp_path / "local.model").read_bytes()


def batches(stream):
    return [(learnt.query, learnt.batch) for learnt in stream.learnt()]


def test_a_stream_is_learnt_exactly_and_each_batch_once(spark, tickets, folder, inbox, tmp_path):
    from unnaive.spark import StreamedModel

    rows = list(zip(*tickets, strict=True))
    stream = StreamedModel(folder, model="complement")
    for part in range(3):
        inbox.put(rows[part::3])
    assert inbox.run(stream) is None
    assert batches(stream) == [(0, 1), (0, 2)]
    before = model_bytes(stream, tmp_path)
    assert before == local_bytes(rows, tmp_path)
    df = spark.createDataFrame(rows, SCHEMA)
    stream.learn(df, 2)  # handed over a second time, after a failure
    stream.learn(df, 0)
    assert batches(stream) == [(0, 1), (0, 2)]
    assert model_bytes(stream, tmp_path) == before
    assert stream.load().predict(tickets[0]).tolist() == (
        TextClassifier("complement").partial_fit(*tickets).predict(tickets[0]).tolist()
    )


def test_another_query_is_refused_or_added_and_never_left_out(tickets, folder, inbox, tmp_path):
    from unnaive.spark import StreamedModel

    rows = list(zip(*tickets, strict=True))
    stream = StreamedModel(folder, model="complement")
    inbox.put(rows[:40])
    inbox.put(rows[40:60])
    assert inbox.run(stream) is None
    before = model_bytes(stream, tmp_path)
    said = inbox.run(stream, checkpoint="lost")  # the batches of a new checkpoint start at 0
    assert f"{folder} has learnt the batches up to 1 of another query; continue with the checkpoint location" in said
    assert model_bytes(stream, tmp_path) == before
    other = Inbox(inbox.spark, tmp_path / "other")
    other.put(rows[60:])
    second = StreamedModel(folder, model="complement", new_query=True)
    assert other.run(second) is None
    assert batches(second) == [(0, 1), (1, 0)]
    assert model_bytes(second, tmp_path) == local_bytes(rows, tmp_path)
    inbox.put(rows[:1])
    said = inbox.run(second)  # the first query has not ended, but the model went on without it
    assert "has learnt the batches up to 0 of another query, and the query continues with its batch 2" in said


@pytest.fixture(autouse=True)
def other_folder(tmp_path):
    (tmp_path / "other").mkdir()


def test_lost_models_are_an_error_and_not_a_new_start(tickets, inbox, tmp_path):
    from unnaive.spark import StreamedModel

    rows = list(zip(*tickets, strict=True))
    stream = StreamedModel(tmp_path / "models", model="complement")
    for part in range(2):
        inbox.put(rows[part::3])
    assert inbox.run(stream) is None
    shutil.rmtree(tmp_path / "models")
    inbox.put(rows[2::3])
    said = inbox.run(stream)
    assert "has no batch before 2, and the query continues with its batch 2; restore the files of the folder" in said
    with pytest.raises(UnnaiveError, match=r"^there is no model in .*models yet; wait for the next batch"):
        stream.load()


def test_batches_that_are_too_little_for_a_model_are_kept_for_the_next(tickets, folder, inbox, tmp_path):
    from unnaive.spark import StreamedModel

    rows = list(zip(*tickets, strict=True))
    stream = StreamedModel(folder, model="complement")
    first = [row for row in rows if row[1] == rows[0][1]]
    inbox.put([(None, "sport"), ("a ball", None)])  # no complete row
    inbox.put(first)  # one class
    with pytest.warns(UnnaiveWarning):
        assert inbox.run(stream) is None
    assert [learnt.kind for learnt in stream.learnt()] == ["counts", "counts"]
    with pytest.raises(UnnaiveError, match="the documents of the batches so far are too few; wait for the next batch"):
        stream.load()
    inbox.put([row for row in rows if row[1] != rows[0][1]])
    inbox.put([(None, None)])
    with pytest.warns(UnnaiveWarning, match="no text or no label"):
        assert inbox.run(stream) is None
    assert batches(stream) == [(0, 2), (0, 3)]
    expected = local_bytes(first + [row for row in rows if row[1] != rows[0][1]], tmp_path)
    assert model_bytes(stream, tmp_path) == expected
