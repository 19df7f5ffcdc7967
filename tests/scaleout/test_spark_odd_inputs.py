"""Every odd input on Spark: the model, rows and sentences that local commands give; `make spark` counts them."""

import csv
import json
import re
import shutil
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.odd_inputs import ODD_INPUTS, command_runner, paths_of, save_small_model

from unnaive.classifier.model_file import load_model
from unnaive.io.datafiles import DataFile

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'unnaive[spark]'"),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on this machine"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

SPARK = ("--engine", "spark", "--set", "master=local[2]")
RECORD = Path(__file__).parents[2] / "build" / "spark-odd-inputs.txt"  # what was compared, when this last ran
COUNTED: Counter[tuple[str, str]] = Counter()


@pytest.fixture(scope="module", autouse=True)
def spark():
    from unnaive.scaleout.spark.spark_session import start_session

    yield start_session("local[2]")
    RECORD.parent.mkdir(exist_ok=True)
    lines = [f"{command}: {kind} of {COUNTED[command, kind]} inputs" for command, kind in sorted(COUNTED)]
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def run(capfd):
    return command_runner(capfd)


def sentences(said):
    """What was said about the input: errors and notes; on Spark there is no column of known terms.

    Where there are no labels, evaluate tries to estimate the accuracy on one machine only: the reason is compared.
    """
    said = re.sub(r"no labels were found \((.*)\), and .*", r"\1", said)
    spoken = {line for line in said.splitlines() if line.startswith(("unnaive: ", "note: ", "warning: "))}
    return sorted(line for line in spoken if "known_terms" not in line)


def same_sentences(command, local, on_spark):
    """Whether both have ended with an error, the same one; notes are the same in any case."""
    assert (on_spark[0], sentences(on_spark[2])) == (local[0], sentences(local[2]))
    COUNTED[command, "the same sentence" if local[0] else "the same rows"] += 1
    return bool(local[0])


@pytest.mark.parametrize("given", ODD_INPUTS, ids=str)
def test_train(given, tmp_path, run):
    words = ["train", *paths_of(given, tmp_path), *given.words, *given.label_words, "--model", "multinomial", "-o"]
    local, on_spark = run(*words, tmp_path / "local.model"), run(*words, tmp_path / "spark.model", *SPARK)
    if same_sentences("train", local, on_spark):
        assert not (tmp_path / "spark.model").exists()
        return
    expected, found = load_model(tmp_path / "local.model"), load_model(tmp_path / "spark.model")
    assert found.classes == expected.classes
    assert found.counts == expected.counts
    assert found.source == expected.source


@pytest.mark.parametrize("given", ODD_INPUTS, ids=str)
def test_evaluate(given, tmp_path, model, run):
    words = ["evaluate", model, *paths_of(given, tmp_path), *given.words, *given.label_words, "--json"]
    local, on_spark = run(*words), run(*words, *SPARK)
    if "without labels" in local[2] and local[0]:  # plain texts, whose accuracy only one machine estimates
        assert on_spark[0] == 2
        return
    if not same_sentences("evaluate", local, on_spark):
        expected, found = json.loads(local[1])["measures"], json.loads(on_spark[1])
        assert found["documents"] == given.n_learnt
        assert found["accuracy"] == expected["accuracy"]


@pytest.mark.parametrize("given", ODD_INPUTS, ids=str)
@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_predict(given, tmp_path, model, run, ending):
    words = ["predict", model, *paths_of(given, tmp_path), *given.words, "-o"]
    local = run(*words, tmp_path / f"local.{ending}")
    on_spark = run(*words, tmp_path / f"spark.{ending}", *SPARK)
    if same_sentences(f"predict to {ending}", local, on_spark):
        assert not (tmp_path / f"spark.{ending}").exists()
        return
    expected, found = rows_of(tmp_path / f"local.{ending}"), rows_of(tmp_path / f"spark.{ending}")
    assert len(found) == len(expected) == given.n_read
    new = {f"{before}{name}" for name in ("labels", "label", "predicted_label") for before in ("", "predicted_")}
    new |= {"probability", "known_terms"}
    kept = [name for name in expected[0] if name not in new]
    late = sorted({name for row in expected for name in row} - new - set(kept))
    for name in (*kept, *late):
        assert [plain(row.get(name)) for row in found] == [plain(row.get(name)) for row in expected]


def plain(value):
    """A value without what Spark has not: half surrogate pairs are escapes, and times have microseconds."""
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode()
    return re.sub(r"(:\d\d)\.0+$", r"\1", text)


def rows_of(path):
    """The rows of a file, or of a folder of part files."""
    rows = []
    for inspection in DataFile(str(path)).inspections(labelled=True):
        names = inspection.table.kept_names()
        for columns in inspection.table.batches(names):
            every = (*names, *inspection.table.late_names)
            rows += [dict(zip(every, row, strict=True)) for row in zip(*columns, strict=True)]
    return rows


def test_a_column_that_only_a_later_file_has(tmp_path, model, run):
    (tmp_path / "a.csv").write_text("text,n\nred,1\n")
    (tmp_path / "b.csv").write_text("text,z,n\nblue,zz,2\n")
    words = ["predict", model, tmp_path / "a.csv", tmp_path / "b.csv", "-o"]
    refused = [run(*words, tmp_path / f"{engine}.csv", *more) for engine, more in (("local", ()), ("spark", SPARK))]
    assert [code for code, _, _ in refused] == [2, 2]
    assert sentences(refused[0][2]) == sentences(refused[1][2])
    assert run(*words, tmp_path / "spark.jsonl", *SPARK)[0] == 0
    assert [(row["text"], row["n"], row["z"]) for row in rows_of(tmp_path / "spark.jsonl")] == [
        ("red", "1", None), ("blue", "2", "zz")
    ]  # fmt: skip


def test_large_files_are_cut_and_give_the_same_rows(tmp_path, model, run, monkeypatch, spark):
    """Each file in many parts: the model, the rows, their order, and the line of the first bad one."""
    from unnaive.scaleout.spark import files

    monkeypatch.setattr(files, "OPEN_COST", 500)
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "2000")
    try:
        rows = [('the "red" ball, goal' if n % 2 else "blue vote\nand law", "ab"[n % 2], n) for n in range(300)]
        with (tmp_path / "d.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label", "n"), *rows])
        named = [dict(zip(("text", "label", "n"), row, strict=True)) for row in rows]
        (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in named))
        for name in ("d.csv", "d.jsonl"):
            words = ["train", tmp_path / name, "--model", "multinomial", "-o"]
            assert run(*words, tmp_path / "local.model")[0] == run(*words, tmp_path / "spark.model", *SPARK)[0] == 0
            assert load_model(tmp_path / "spark.model").counts == load_model(tmp_path / "local.model").counts
            output = tmp_path / f"{name}.parquet"
            assert run("predict", model, tmp_path / name, "-o", output, *SPARK)[0] == 0
            assert len(list(output.glob("*.parquet"))) > 2
            assert [(row["text"], int(row["n"])) for row in rows_of(output)] == [(row[0], row[2]) for row in rows]
        with (tmp_path / "d.jsonl").open("a") as file:
            file.write('{"text"\n')
        with (tmp_path / "d.csv").open("a") as file:
            file.write("one, two,a,b,c\n")
        for name, line in (("d.jsonl", "line 301 of"), ("d.csv", "line 452 of")):
            words = ["train", tmp_path / name, "--model", "multinomial", "-o", tmp_path / "x.model"]
            local, on_spark = run(*words), run(*words, *SPARK)
            assert line in local[2]
            assert sentences(on_spark[2]) == sentences(local[2])
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)
