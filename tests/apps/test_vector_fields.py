"""Vector fields × every verb, every way in which vectors come, and what is said of bad ones."""

import copy
import csv
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.base.errors import BadData, UnnaiveError

FIELDS = {"text": "text", "embedding": "vector"}
TRAIN = ["--label", "queue", "--text", "text", "--vector", "embedding", "--budget", "fast"]
READ = [*TRAIN[:4], "--set", "vector=embedding"]  # of the other commands
WORDS = ["ball goal", "vote law", "code bug"]
LABELS = ["sport", "politics", "tech"]
N_DIMS = 6


def make_rows(n, seed, offset=0.0):
    """Records whose label the vector tells nearly always, and the text rather often."""
    draw = np.random.default_rng(seed)
    centres = 2 * np.eye(3, N_DIMS)
    rows = []
    for number, label in enumerate(draw.integers(0, 3, n).tolist()):
        told = label if draw.random() < 0.6 else draw.integers(3)
        vector = np.round(centres[label] + 0.5 * draw.normal(size=N_DIMS) + offset, 4).tolist()
        text = f"{WORDS[told]} {draw.choice(['hello', 'thanks'])} number{number}"
        rows.append({"text": text, "queue": LABELS[label], "embedding": vector})
    return rows


ROWS, NEW = make_rows(60, seed=1), make_rows(30, seed=2)


def truth(rows):
    return [row["queue"] for row in rows]


def accuracy(model, rows):
    return float(np.mean(model.predict(rows) == truth(rows)))


@pytest.fixture(scope="module")
def model():
    """One of records with vectors."""
    return TextClassifier(fields=FIELDS, budget="fast").fit(ROWS, truth(ROWS))


@pytest.fixture
def files(tmp_path):
    """old, more, all and new, in every format."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, rows in (("old", ROWS[:40]), ("more", ROWS[40:]), ("all", ROWS), ("new", NEW)):
        vectors = np.array([row["embedding"] for row in rows])
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        np.save(tmp_path / f"{name}.npy", vectors)
        for ending, kept in ((".csv", list(rows[0])), ("_plain.csv", ["text", "queue"])):
            with (tmp_path / f"{name}{ending}").open("w", newline="", encoding="utf-8") as file:
                table = csv.DictWriter(file, kept, extrasaction="ignore")
                table.writeheader()
                table.writerows(rows)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), N_DIMS)
        columns = {key: [row[key] for row in rows] for key in ("text", "queue")} | {"embedding": lists}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    return tmp_path


def done(found):
    """stdout of a command that must succeed."""
    code, out, err = found
    assert code == 0, err
    return out


def test_vectors_improve_on_words_alone(model):
    words = TextClassifier(fields={"text": "text"}, budget="fast").fit(ROWS, truth(ROWS))
    alone = TextClassifier(fields={"embedding": "vector"}, budget="fast").fit(ROWS, truth(ROWS))
    assert accuracy(words, NEW) < 0.8 < 0.95 < accuracy(model, NEW)
    assert accuracy(alone, NEW) > 0.9
    assert model.fields_ == {"text": "text", "embedding": f"vector({N_DIMS})"}


@pytest.mark.slow
def test_every_container_gives_the_same_model(model):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    frame = pd.DataFrame(ROWS)
    arrays = {"text": frame["text"].to_numpy(), "embedding": np.array(frame["embedding"].tolist())}
    for records in (frame, pl.DataFrame(ROWS), pa.Table.from_pylist(ROWS), arrays):
        other = TextClassifier(fields=FIELDS, budget="fast").fit(records, truth(ROWS))
        assert (other.predict_proba(NEW) == model.predict_proba(NEW)).all()


def test_a_vector_is_one_part_of_an_explanation(model):
    found = model.explain(NEW[0])
    (own,) = [one for one in found.evidence if "embedding" in one.term]
    assert own.term == f"embedding = {N_DIMS} numbers"
    assert found.by_field["embedding"] == pytest.approx(own.value)
    assert found.score == pytest.approx(found.base + sum(one.value for one in found.evidence))


def test_a_missing_vector_is_no_evidence(model):
    bare = NEW[0] | {"embedding": None}
    found = model.explain(bare)
    assert [one for one in found.evidence if "numbers" in one.term] == []
    frame_missing = {"text": [NEW[0]["text"]], "embedding": [float("nan")]}
    assert (model.predict_proba([bare]) == model.predict_proba(frame_missing)).all()


def test_scores_are_linear_in_the_numbers(model):
    def lead(factor):
        vector = [factor * number for number in (1.0, 0.5, -0.25, 0.0, 2.0, 0.75)]
        return model.explain({"text": "x", "embedding": vector}, "sport").by_field["embedding"]

    assert lead(3.0) - lead(2.0) == pytest.approx(lead(1.0) - lead(0.0), rel=1e-4)
    assert lead(8.0) - lead(4.0) == pytest.approx(4 * (lead(1.0) - lead(0.0)), rel=1e-4)  # larger than any of training


def test_update_forget_and_copies_are_exact(model):
    part = TextClassifier(fields=FIELDS, budget="fast").fit(ROWS[:40], truth(ROWS[:40]))
    expected = part.predict_proba(NEW)
    part.partial_fit(ROWS[40:], truth(ROWS[40:]))
    assert (part.predict_proba(NEW) == model.predict_proba(NEW)).all()
    part.forget(ROWS[40:], truth(ROWS[40:]))
    assert (part.predict_proba(NEW) == expected).all()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301  # it is our own
        assert (other.predict_proba(NEW) == model.predict_proba(NEW)).all()


THREADS = """
import numpy, sys
from unnaive import TextClassifier
draw = numpy.random.default_rng(0)
labels = draw.integers(0, 3, 300)
vectors = draw.normal(size=(3, 200))[labels] + 3 * draw.normal(size=(300, 200))
records = {"text": [f"word{label} number{row % 40}" for row, label in enumerate(labels)], "v": vectors}
for name in ("auto", "maxent", "nbsvm", "svm"):
    settings = {"budget": "fast"} if name == "auto" else {}
    model = TextClassifier(name, fields={"text": "text", "v": "vector"}, **settings)
    model.fit(records, labels, sample_weight=draw.integers(1, 3, 300) if name == "maxent" else None)
    model.save(f"{sys.argv[1]}-{name}.model")
"""


@pytest.mark.slow
def test_the_number_of_threads_changes_no_byte(tmp_path):
    for threads in ("1", "2"):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, threads)
        subprocess.run([sys.executable, "-c", THREADS, threads], check=True, cwd=tmp_path, env=environment)
    for name in ("auto", "maxent", "nbsvm", "svm"):
        assert (tmp_path / f"1-{name}.model").read_bytes() == (tmp_path / f"2-{name}.model").read_bytes(), name


def test_a_vector_is_one_known_term():
    for name in ("nbsvm", "multinomial"):
        fields = FIELDS if name == "nbsvm" else {"text": "text"}
        fitted = TextClassifier(name, fields=fields).fit(ROWS, truth(ROWS)).fitted_
        records = [{"text": "ball unheard", "embedding": [0.5] * N_DIMS}, {"text": "", "embedding": None}]
        assert fitted.known_terms(records).tolist() == [1 + (name == "nbsvm"), 0]


@pytest.mark.parametrize("name", ["svm", "nbsvm", "maxent"])
def test_linear_models_weigh_vectors(name, tmp_path):
    other = TextClassifier(name, fields=FIELDS).fit(ROWS, truth(ROWS))
    assert accuracy(other, NEW) > 0.9
    part = TextClassifier(name, fields=FIELDS).fit(ROWS[:40], truth(ROWS[:40]))
    part.partial_fit(ROWS[40:], truth(ROWS[40:]))
    assert (part.scores(NEW) == other.scores(NEW)).all()
    other.save(tmp_path / "m.model")
    assert (TextClassifier.load(tmp_path / "m.model").scores(NEW) == other.scores(NEW)).all()
    assert other.explain(NEW[0]).evidence[0].term == f"embedding = {N_DIMS} numbers"


@pytest.mark.parametrize("name", ["svm", pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.parametrize("fields", [FIELDS, {"embedding": "vector"}])
def test_multilabel_records_have_vectors(name, fields):
    def sets(rows):
        return [{row["queue"], *(["high"] if row["embedding"][3] > 0 else [])} for row in rows]

    other = TextClassifier(name, fields=fields, multilabel=True).fit(ROWS, sets(ROWS))
    right = np.mean([set(found) == expected for found, expected in zip(other.predict(NEW), sets(NEW), strict=True)])
    assert right > 0.75


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([1.0, 2.0], f"have {N_DIMS} numbers, but one has 2"),
        ([1.0] * 5 + [float("nan")], "NaN or infinity"),
        ([1.0] * 5 + [float("inf")], "NaN or infinity"),
        ("hello", "field 'embedding' is of kind vector, but a value is 'hello'"),
        (3, "field 'embedding' is of kind vector, but a value is '3'"),
        ([[1.0] * 6], "is of kind vector, but a value is"),
        ([1e9] + [1.0] * 5, "a value is a vector with a number of size 1e\\+09, above 1000; scale all vectors"),
        ([1e-9] * 6, "a value is a vector whose numbers are all below 5e-07; scale all vectors"),
    ],
)
def test_bad_vectors_are_one_sentence(model, value, sentence):
    with pytest.raises(BadData, match=sentence):
        model.predict([NEW[0] | {"embedding": value}])


def test_what_cannot_weigh_vectors_says_so():
    with pytest.raises(UnnaiveError, match="multinomial naive Bayes cannot use the vectors of 'embedding'"):
        TextClassifier("multinomial", fields=FIELDS).fit(ROWS, truth(ROWS))
    with pytest.raises(BadData, match="is of kind vector, but no record has a value of it"):
        TextClassifier(fields=FIELDS).fit([row | {"embedding": None} for row in ROWS], truth(ROWS))


@pytest.mark.slow
def test_every_format_and_way_of_training_gives_the_same_bytes(run, files):
    for name in ("all.jsonl", "all.csv", "all.parquet"):
        done(run("train", name, *TRAIN, "-o", f"{name}.model"))
    npy = [one if one != "embedding" else "embedding=all.npy" for one in TRAIN]
    done(run("train", "all_plain.csv", *npy, "-o", "npy.model"))
    done(run("train", "all.parquet", *TRAIN, "--memory", "1G", "-o", "disk.model"))
    guessed = ["--label", "queue", "--text", "text", "--fields", "auto", "--budget", "fast"]
    code, _, err = run("train", "all.parquet", *guessed, "-o", "guessed.model")
    assert (code, "embedding (vector(6))" in err) == (0, True)
    done(run("train", "old.jsonl", *TRAIN, "-o", "old.model"))
    before = (files / "old.model").read_bytes()
    done(run("update", "old.model", "more.csv"))
    models = ("all.csv", "all.parquet", "npy", "disk", "guessed", "old")
    assert {(files / f"{name}.model").read_bytes() for name in models} == {(files / "all.jsonl.model").read_bytes()}
    done(run("forget", "old.model", "more.jsonl", "--receipt", "r.json"))
    assert (files / "old.model").read_bytes() == before
    done(run("verify", "old.model", "--receipt", "r.json"))


@pytest.mark.slow
def test_every_other_verb(run, files):
    done(run("train", "old.jsonl", *TRAIN, "-o", "m.model"))
    done(run("train", "more.jsonl", *TRAIN, "-o", "other.model"))
    predicted = done(run("predict", "m.model", "new_plain.csv", "--set", "vector=embedding=new.npy"))
    assert predicted.startswith("text,queue,")
    done(run("merge", "m.model", "other.model", "-o", "both.model"))
    done(run("compress", "m.model", "-o", "small.model", "--max-size", "24kB"))
    for name in ("m", "both", "small"):
        measured = json.loads(done(run("evaluate", f"{name}.model", "new.parquet", "--json")))["measures"]
        assert measured["accuracy"] > 0.9, name
    shown = done(run("explain", "m.model", json.dumps(NEW[0])))
    assert all(part in shown for part in ("embedding: 6 numbers", "embedding = 6 numbers", "by field:"))
    assert "embedding (vector(6))" in done(run("inspect", "m.model"))
    done(run("audit", "all.csv", *READ, "--fast", "-o", "audit"))
    found = json.loads(
        done(run("compare", "all.csv", *READ, "--models", "auto:budget=fast,svm", "--folds", "2", "--json"))
    )
    assert "auto" in json.dumps(found)
    done(run("label", "status", "old.csv", *READ, "-o", "labels.db"))
    done(run("train", "labels.db", "--budget", "fast", "-o", "labelled.model"))
    done(run("predict", "labelled.model", "new.csv"))
    simulated = {}
    for given in (READ, READ[:-2]):
        curves = json.loads(
            done(run("label", "simulate", "all.csv", *given, "--labels", "20", "--seeds", "2", "--json"))
        )
        simulated[len(given)] = curves["ways"][0]["accuracy"]
    assert simulated[len(READ)] >= simulated[len(READ) - 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["export", "m.model", "--to", "js", "-o", "out"], "reads 'embedding' as vector(6), which no export supports"),
        (["export", "m.model", "--to", "c", "-o", "out"], "reads 'embedding' as vector(6), which no export supports"),
        (["predict", "m.model", "new_plain.csv"], "has no column 'embedding', which the model reads as a field"),
        (["predict", "m.model", "new_plain.csv", "--set", "vector=embedding=all.npy"], "there are 60 vectors"),
        (["predict", "m.model", "all_plain.csv", "--set", "vector=embedding=new.npy"], "there are 30 vectors"),
        (["predict", "m.model", "new_plain.csv", "--set", "vector=embedding=no.npy"], "no file called no.npy"),
        (["train", "new_plain.csv", *TRAIN[:4], "--vector", "embedding=all.npy", "-o", "x.model"], "are 60 vectors"),
        (["train", "all_plain.csv", *TRAIN[:4], "--vector", "embedding=new.npy", "-o", "x.model"], "are 30 vectors"),
        (["train", "all_plain.csv", *TRAIN[:4], "--vector", "all.npy", "-o", "x.model"], "give it as NAME=all.npy"),
        (["predict", "m.model", "new_plain.csv", "--set", "vector=new.npy"], "names no field of vectors; give it as"),
        (["predict", "m.model", "new_plain.csv", "--set", "vector=embedding=new.csv"], "came as new.csv; give an .npy"),
        (["train", "new.csv", *TRAIN[:4], "--vector", "text", "-o", "x.model"], "named twice"),
        (["train", "new.csv", "--label", "queue", "--vector", "text", "-o", "x.model"], "'text' is of kind vector"),
        (["train", "new.csv", *TRAIN[:6], "-m", "multinomial", "-o", "x.model"], "cannot use the vectors"),
        (["train", "-", *TRAIN[:6], "-o", "x.model"], "vectors cannot be read from stdin"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(run, files, command, sentence):
    done(run("train", "old.jsonl", *TRAIN, "-o", "m.model"))
    code, _, err = run(*command)
    assert (code, sentence in err, err.count("\n")) == (2, True, 1), err


@pytest.mark.slow
def test_the_service_takes_vectors(tmp_path, model):
    from fastapi.testclient import TestClient

    from unnaive.apps.service.app import create_app

    from .service.conftest import options

    model.save(tmp_path / "records.model")
    with TestClient(create_app(options(tmp_path / "records.model"))) as client:
        answer = client.post("/v1/classify", json={"texts": NEW[:3]}).json()
        given = [one["classes"][0]["probability"] for one in answer["results"]]
        assert given == pytest.approx(model.predict_proba(NEW[:3]).max(axis=1).tolist())
        short = client.post("/v1/classify", json={"text": NEW[0] | {"embedding": [1.0]}})
        assert (short.status_code, "but one has 1" in short.text) == (422, True)
