"""Run by test_spark_cluster.py in a process of its own: clusters whose executors are killed, and models at addresses.

Prints one line of JSON: what each part found.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="unnaive-cluster-"))
    try:
        found = addresses(folder) | killed(folder) | absent(folder)
    finally:
        shutil.rmtree(folder)
    sys.stdout.write(f"{json.dumps(found)}\n")


def start(folder, executors=2, memory=1024, **more):
    """A session on a cluster, whose executors have working folders in the folder."""
    import pyspark
    from pyspark.sql import SparkSession

    home = folder / "home"
    if not home.exists():
        home.mkdir()
        for path in Path(pyspark.__file__).parent.iterdir():
            (home / path.name).symlink_to(path)
    os.environ |= {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    quiet = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.sql.shuffle.partitions": "2"}
    quiet["spark.executor.memory"] = f"{memory}m"
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,{memory}]").config(map=quiet | more)
    return builder.getOrCreate()


def corpus():
    from unnaive.io.tickets import load_tickets

    tickets = load_tickets("queue")
    return list(tickets.texts)[:300], [names[0] for names in tickets.labels[:300]]


def addresses(folder):
    """Data, models and predictions that only Hadoop opens, on three executors; a model here for comparison."""
    from pyspark.ml import Pipeline, PipelineModel

    from unnaive import TextClassifier
    from unnaive.classifier.model_file import load_model, save
    from unnaive.spark import UnnaiveClassifier, transform
    from unnaive.spark import load as load_at
    from unnaive.spark import save as save_at

    (folder / "mounted").mkdir()
    spark = start(folder, executors=3, **{"spark.hadoop.fs.viewfs.mounttable.c.link./data": f"file://{folder}/mounted"})
    texts, labels = corpus()
    df = spark.createDataFrame(list(zip(texts, labels, strict=True)), ["text", "label"]).repartition(5)
    at = "viewfs://c/data"
    df.write.parquet(f"{at}/tickets.parquet")
    found, counting = {}, ("--model", "complement")
    for name in (f"{at}/models/a.model", f"file://{folder}/b.model"):
        found[f"train {name[:4]}"] = run("train", f"{at}/tickets.parquet", "-o", name, *counting)
    local = TextClassifier("complement").partial_fit(texts, labels)
    save(replace(local.fitted_, source=load_model(folder / "b.model").source), folder / "local.model")
    files = folder / "mounted" / "models" / "a.model", folder / "b.model"
    found["same model"] = [path.read_bytes() == (folder / "local.model").read_bytes() for path in files]
    found["left beside it"] = [path.name for path in files[0].parent.iterdir() if path.suffix not in (".model", ".crc")]
    found["predict"] = run("predict", f"{at}/models/a.model", f"{at}/tickets.parquet", "-o", f"{at}/labelled.jsonl")
    rows = spark.read.json(f"{at}/labelled.jsonl").select("text", "predicted_label").collect()
    expected = dict(zip(texts, local.predict(texts).tolist(), strict=True))
    found["same rows"] = len(rows) == len(texts) and all(expected[row[0]] == row[1] for row in rows)
    found["predict again"] = run(
        "predict", f"{at}/models/a.model", f"{at}/tickets.parquet", "-o", f"{at}/labelled.jsonl"
    )
    found["evaluate"] = run("evaluate", f"{at}/models/a.model", f"{at}/tickets.parquet")
    (folder / "mounted" / "other.txt").write_text("not a model")
    found["over data"] = run("train", f"{at}/tickets.parquet", "-o", f"{at}/other.txt", *counting)
    found["over a folder"] = run("train", f"{at}/tickets.parquet", "-o", f"{at}/models", *counting)
    found["no scheme"] = run("train", f"{at}/tickets.parquet", "-o", "xyz://a/b.model", *counting)
    found["no model"] = run("evaluate", f"{at}/none.model", f"{at}/tickets.parquet")
    (folder / "mounted" / "half.model").write_bytes(files[1].read_bytes()[:1000])
    found["half a model"] = run("evaluate", f"{at}/half.model", f"{at}/tickets.parquet")
    save_at(local, f"{at}/models/a.model")
    found["python"] = [
        load_at(f"{at}/models/a.model").predict(texts[:3]).tolist() == local.predict(texts[:3]).tolist(),
        sorted(row.prediction for row in transform(df, f"{at}/models/a.model").collect()) == sorted(expected.values()),
    ]
    Pipeline(stages=[UnnaiveClassifier()]).fit(df).write().overwrite().save(f"{at}/pipeline")
    found["pipeline"] = PipelineModel.load(f"{at}/pipeline").transform(df).count() == len(texts)
    spark.stop()
    return found


def run(*words):
    """The exit code and the last line on stderr of a command on Spark."""
    from unnaive.apps.cli.main import exit_code

    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = exit_code([*words, "--engine", "spark"])
    return code, (said.getvalue().strip().splitlines() or [""])[-1]


def killed(folder):
    """An executor dies while it counts, another while MaxEnt iterates; slow tasks have a second copy."""
    import numpy as np

    import unnaive.spark
    from unnaive import TextClassifier
    from unnaive.classifier.model_file import save

    speculation = {"spark.speculation": "true", "spark.speculation.interval": "100ms"}
    speculation |= {"spark.speculation.multiplier": "1.2", "spark.speculation.quantile": "0.3"}
    spark = start(folder, **speculation)
    texts, labels = corpus()
    df = spark.createDataFrame(list(zip(texts, labels, strict=True)), ["text", "label"]).repartition(4)
    found = {}

    flag = folder / "killed-while-counting"

    def die_once(batches):
        from pyspark import TaskContext

        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if TaskContext.get().partitionId() == 1 and not flag.exists():
                flag.touch()
                kill_executor(os.getpid())
            if TaskContext.get().partitionId() == 2 and TaskContext.get().attemptNumber() == 0:
                time.sleep(1.5)
            yield batch.slice(batch.num_rows // 2)

    trained = unnaive.spark.fit(df.mapInArrow(die_once, df.schema), model="complement")
    local = TextClassifier("complement").partial_fit(texts, labels)
    files = folder / "spark.model", folder / "local.model"
    for model, path in zip((trained, local), files, strict=True):
        save(model.fitted_, path)
    found["killed while counting"] = flag.exists()
    found["same file"] = files[0].read_bytes() == files[1].read_bytes()

    settings = {"model": "maxent", "solver": "gis", "early_stopping": False, "max_iter": 6}
    undisturbed = unnaive.spark.fit(df, **settings).fitted_
    victims, timers = [], []

    def kill_later(_, line):
        if line["iteration"] == 2:
            timers.append(threading.Timer(0.05, lambda: victims.append(kill_one_of(os.getpid()))))
            timers[-1].start()

    survived = unnaive.spark.fit(df, progress=kill_later, **settings).fitted_
    for timer in timers:
        timer.join()
    found["killed in a pass"] = len(victims) == 1 and victims[0] is not None
    found["difference"] = float(np.abs(survived.scores(texts) - undisturbed.scores(texts)).max())
    spark.stop()
    return found


def absent(folder):
    """Executors without the package say so in one sentence; with `ship` they have it."""
    import unnaive.spark
    from unnaive.base.errors import UnnaiveError

    hidden = folder / "hidden" / "unnaive"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'unnaive'\", name='unnaive')\n")
    # an editable install is found by a hook that comes before all paths
    hook = "import sys\nsys.meta_path[:] = [one for one in sys.meta_path if 'ScikitBuild' not in type(one).__name__]\n"
    (hidden.parent / "sitecustomize.py").write_text(hook)
    spark = start(folder, **{"spark.executorEnv.PYTHONPATH": str(hidden.parent), "spark.task.maxFailures": "1"})
    df = spark.createDataFrame([("good ball", "sport"), ("fair vote", "politics")], ["text", "label"])
    found = {}
    try:
        unnaive.spark.fit(df)
    except UnnaiveError as problem:
        found["absent"] = str(problem)
    unnaive.spark.ship(spark)
    found["shipped"] = unnaive.spark.fit(df).predict(["a ball"]).tolist()
    spark.stop()
    return found


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill_executor(pid):
    """End the executor that this Python worker belongs to."""
    while b"CoarseGrainedExecutorBackend" not in command(pid):
        pid = parent(pid)
    os.kill(pid, signal.SIGKILL)
    time.sleep(60)


def kill_one_of(driver):
    """End one executor among the descendants of the driver."""
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and b"CoarseGrainedExecutorBackend" in command(path.name):
            ancestor = int(path.name)
            while ancestor > 1 and ancestor != driver:
                ancestor = parent(ancestor)
            if ancestor == driver:
                os.kill(int(path.name), signal.SIGKILL)
                return int(path.name)
    return None


if __name__ == "__main__":
    main()
