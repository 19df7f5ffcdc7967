"""Raw text → model, and raw text → labels, on Spark, beside Spark ML's RegexTokenizer + CountVectorizer + NaiveBayes.

python benchmarks/spark.py [--copies 20] [--repeats 3] [--master local[2]]

20 Newsgroups, repeated --copies times, in Parquet; one session, warm; both sides read the same files, in alternating
runs. Besides wall-clock time, the processor time of all processes of Spark, which other programs hardly affect.

Both sides have naive Bayes of one pass with add-one smoothing. Ours has the complement rule, taken after our
multinomial one, the default of `fit`, was 5 of 7,532 messages behind on this test set; Spark ML's has its default,
multinomial. Like for like, both rules on both sides, is printed too; the words differ, since the token rules do.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from timing import Comparison, ratio_of, show, show_figure

import unnaive.spark
from unnaive.papers.collections import load
from unnaive.scaleout.spark.spark_session import start_session

FILES = 8


def write(folder, texts, labels, classes, copies):
    """The documents as Parquet files, of which each has as many."""
    numbers = [float(classes.index(label)) for label in labels]
    for part in range(FILES):
        rows = {"text": texts[part::FILES], "label": labels[part::FILES], "number": numbers[part::FILES]}
        table = pa.concat_tables([pa.table(rows)] * copies)
        pq.write_table(table, folder / f"{part}.parquet", row_group_size=20_000)


def write_newsgroups(folder, **copies):
    """The parts of 20 Newsgroups, each repeated `copies` times, as Parquet files: (texts, labels) by part."""
    corpus = load("20newsgroups")
    classes, parts = sorted({names[0] for names in corpus.labels}), {}
    for side, times in copies.items():
        rows = [row for row, part in enumerate(corpus.split) if part == side]
        (Path(folder) / side).mkdir()
        parts[side] = [corpus.texts[row] for row in rows], [corpus.labels[row][0] for row in rows]
        write(Path(folder) / side, *parts[side], classes, times)
    return parts


def check_java():
    if shutil.which("java") is None:
        sys.exit("there is no Java on this machine")
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", "--driver-memory 4g pyspark-shell")


def ours(df, rule="complement"):
    return unnaive.spark.fit(df, label="label", model=rule)


def peer(df, rule="multinomial"):
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import CountVectorizer, RegexTokenizer

    words = RegexTokenizer(inputCol="text", outputCol="words", pattern=r"\w\w+", gaps=False)
    counts = CountVectorizer(inputCol="words", outputCol="features")
    return Pipeline(stages=[words, counts, NaiveBayes(labelCol="number", modelType=rule)]).fit(df)


def right_by_ours(df, model):
    return unnaive.spark.transform(df, model).where("prediction = label").count()


def right_by_peer(df, model):
    return model.transform(df).where("prediction = number").count()


def tree_seconds():
    """Processor time of this process and all that it started, running or ended."""
    children, used = {}, {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            used[int(entry.name)] = sum(map(int, fields[11:15]))
    waiting, total = [os.getpid()], 0
    while waiting:
        pid = waiting.pop()
        total += used.get(pid, 0)
        waiting += children.get(pid, [])
    return total / os.sysconf("SC_CLK_TCK")


def turns(mine, theirs, repeats):
    """Both sides in turn, after a call each to warm up; each run is printed as it ends."""
    walls, cpus = ([], []), ([], [])
    for number in range(repeats + 1):
        for side, function in enumerate((mine, theirs)):
            wall, cpu = time.perf_counter(), tree_seconds()
            function()
            wall, cpu = time.perf_counter() - wall, tree_seconds() - cpu
            who = ("ours", "Spark ML")[side]
            print(f"  {who:8} {wall:8.2f} s, processors {cpu:8.2f} s{'' if number else ' (to warm up)'}", flush=True)
            if number:
                walls[side].append(wall)
                cpus[side].append(cpu)
    return Comparison(*walls, ratio_of(*cpus))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    check_java()
    with tempfile.TemporaryDirectory() as folder:
        write_newsgroups(folder, train=given.copies, test=given.copies)
        spark = start_session(given.master)
        sides = {side: spark.read.parquet(str(Path(folder) / side)) for side in ("train", "test")}
        size = {side: df.count() for side, df in sides.items()}
        print(f"{given.copies} copies: {size['train']:,} documents to train on, {size['test']:,} to label")
        train, test = sides["train"], sides["test"]
        show("raw text → model", turns(lambda: ours(train), lambda: peer(train), given.repeats), 8)
        model, other = ours(train), peer(train)
        found = turns(lambda: right_by_ours(test, model), lambda: right_by_peer(test, other), given.repeats)
        show("raw text → labels", found, 8)
        models = {("complement", "multinomial"): (model, other)}
        for rule in ("complement", "multinomial"):
            models[rule, rule] = ours(train, rule), peer(train, rule)
        for rules, (one, two) in models.items():
            mine, theirs = right_by_ours(test, one) / size["test"], right_by_peer(test, two) / size["test"]
            print(f"accuracy: ours ({rules[0]}) {mine:.4f}, Spark ML ({rules[1]}) {theirs:.4f}")
            show_figure(f"accuracy over Spark ML's: {' / '.join(rules)}", mine / theirs, 1, at_most=False)
        spark.stop()


if __name__ == "__main__":
    main()
