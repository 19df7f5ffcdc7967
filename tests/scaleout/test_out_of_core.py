"""Training beyond memory: whatever the cuts, runs, interruptions and formats, the same file as in memory."""

import contextlib
import io
import json
import random
import shutil
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.base.sealed_json import seal_json
from unnaive.classifier.model_file import load_model, save
from unnaive.data import accumulator, memory, run_folders, running_sums
from unnaive.data.accumulator import Accumulator
from unnaive.data.array_folder import MANIFEST, open_arrays
from unnaive.data.text_hashes import TextHashes
from unnaive.io.datafiles import DataFile
from unnaive.learning.train import train
from unnaive.scaleout import scratch
from unnaive.scaleout.checkpoint import STATE, Checkpoint
from unnaive.scaleout.matrix import documents_on_disk, open_matrix
from unnaive.scaleout.read_ahead import counting_threads, in_small_blocks, read_ahead
from unnaive.scaleout.streaming import Resources, stream_documents
from unnaive.text.tokens import TokenRule

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all

WORDS = [f"{start}{end}" for start in ("kal", "mur", "tis", "bren") for end in ("a", "isk", "ong", "ü", "erisation")]
LABELS = ["sport", "politics", "arts"]


def make_rows(n: int, seed: int = 0, several: bool = False) -> list[dict]:
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        text = " ".join(rng.choice(WORDS, rng.integers(1, 12))) + f" rare{number // 3}"
        label = str(rng.choice(LABELS))
        rows.append({"text": text, "label": [label, "arts"] if several and number % 4 == 0 else label})
        if several and isinstance(rows[-1]["label"], str):
            rows[-1]["label"] = [label]
    return rows


def write_jsonl(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def trained_in_memory(source: DataFile, path: Path, model: str = "multinomial", *, hashed: bool = False) -> bytes:
    """The file of the model that `TextClassifier.fit` makes; `hashed` as `unnaive train` keeps hashes of its texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnnaiveWarning)
        corpus = source.corpus()
    several = corpus.multilabel or bool(source.multilabel)
    labels = list(corpus.labels) if several else [names[0] for names in corpus.labels]
    classifier = TextClassifier(model).fit(corpus.texts, labels)
    columns = source.options.log.columns
    columns = columns and replace(columns, separator=source.separator)
    hashes = TextHashes.of(corpus.texts) if hashed else None
    save(replace(classifier.fitted_, source=columns and columns.section(), text_hashes=hashes), path)
    return path.read_bytes()


@dataclass
class Ran:
    """The exit code of a command and all that it printed, on one line."""

    exit_code: int
    output: str


def run(*words: str) -> Ran:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = exit_code(["train", *words])
    return Ran(code, " ".join(printed.getvalue().split()))


# The law: the same file, for every format and every way in which documents are cut.


@pytest.fixture
def formats(tmp_path):
    """The same documents in every format, by name."""
    import csv

    import pyarrow
    import pyarrow.parquet

    rows = make_rows(90)
    found = {"jsonl": [write_jsonl(tmp_path / "a.jsonl", rows)]}
    with (tmp_path / "a.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["text", "label"])
        writer.writeheader()
        writer.writerows(rows)
    found["csv"] = [tmp_path / "a.csv"]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=20)
    found["parquet"] = [tmp_path / "a.parquet"]
    found["many files"] = [write_jsonl(tmp_path / f"part{n}.jsonl", rows[n * 30 : n * 30 + 30]) for n in range(3)]
    for number, row in enumerate(rows):
        place = tmp_path / "folder" / row["label"] / f"{number:03d}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(row["text"], encoding="utf-8")
    found["folder"] = [tmp_path / "folder"]
    return {name: [str(path) for path in paths] for name, paths in found.items()}


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "many files", "folder"])
def test_the_command_writes_the_file_of_training_in_memory(formats, form, tmp_path):
    expected = trained_in_memory(DataFile(tuple(formats[form])), tmp_path / "memory.model", hashed=True)
    result = run(*formats[form], "-o", str(tmp_path / "streamed.model"), "-m", "multinomial")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "streamed.model").read_bytes() == expected


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "complement", "or-gate", "rocchio-counts", "hos"])
def test_every_counting_model_gives_the_same_file(model, tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", make_rows(60))
    expected = trained_in_memory(DataFile(str(path)), tmp_path / "memory.model", model, hashed=True)
    assert run(str(path), "-o", str(tmp_path / "b.model"), "-m", model).exit_code == 0
    assert (tmp_path / "b.model").read_bytes() == expected


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.text(st.sampled_from("ab ü\0"), max_size=20), st.sampled_from(["x", "y", ""])), max_size=40),
    st.lists(st.integers(1, 7), min_size=1),
    st.lists(st.booleans(), min_size=1),
)
def test_sums_do_not_depend_on_batches_and_runs(tmp_path_factory, documents, sizes, spills):
    rule = TokenRule(min_length=1)
    whole, cut = Accumulator(rule), Accumulator(rule, folder=tmp_path_factory.mktemp("runs"))
    texts = [text for text, _ in documents]
    labels = [(label,) if label else () for _, label in documents]
    whole.add(texts, labels)
    at = turn = 0
    while at < len(texts):
        size = sizes[turn % len(sizes)]
        cut.add(texts[at : at + size], labels[at : at + size])
        at += size
        if spills[turn % len(spills)]:
            cut.write_run()
        turn += 1
    for multilabel in (True, False):
        one, other = (counter.total(multilabel=multilabel).in_order() for counter in (whole, cut))
        assert one.classes == other.classes
        assert one.vocabulary == other.vocabulary
        assert one.counts == other.counts


def test_sums_beyond_32_bits_are_exact(monkeypatch):
    """Sums are kept in 32 bits as long as they fit; 2³⁰ twice is 2³¹, which does not."""
    monkeypatch.setattr(running_sums, "HELD", 1)
    running = running_sums.RunningSums()
    for _ in range(3):
        running.add(csr_array(np.array([[2**30, 1]], np.int32)), csr_array(np.array([[1]])))
    total = running.total()
    assert total.class_terms.dtype == total.class_df.dtype == np.int64
    assert total.class_terms.toarray().tolist() == [[3 * 2**30, 3]]
    assert total.class_df.toarray().tolist() == [[3, 3]]


def test_many_runs_in_small_blocks_are_merged_exactly(tmp_path, monkeypatch):
    monkeypatch.setattr(accumulator, "MOST_RUNS", 3)
    monkeypatch.setattr(run_folders, "BLOCK_TERMS", 5)
    monkeypatch.setattr(run_folders, "MERGED_TERMS", 20)
    monkeypatch.setattr(running_sums, "HELD", 100)
    rows = make_rows(200)
    whole, cut = Accumulator(TokenRule()), Accumulator(TokenRule(), folder=tmp_path)
    for start in range(0, 200, 10):
        part = [row["text"] for row in rows[start : start + 10]], [(row["label"],) for row in rows[start : start + 10]]
        whole.add(*part)
        cut.add(*part)
        cut.write_run()
    one, other = whole.total(multilabel=False).in_order(), cut.total(multilabel=False)
    assert one.vocabulary == other.vocabulary
    assert one.counts == other.counts


def test_rows_without_a_label_are_left_out_as_in_memory(tmp_path):
    rows = make_rows(60)
    rows[0] = {"text": "onlyhere", "label": ""}
    rows[7]["label"] = None
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    expected = trained_in_memory(DataFile(str(path)), tmp_path / "memory.model", hashed=True)
    result = run(str(path), "-o", str(tmp_path / "b.model"), "-m", "multinomial")
    assert "2 of 60 rows have no label and are left out" in result.output
    assert (tmp_path / "b.model").read_bytes() == expected
    assert "onlyhere" not in load_model(tmp_path / "b.model").vocabulary


# Multilabel data and models of documents: through the matrix on disk.


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("model", ["nbsvm", "maxent", "svm", "multinomial", "hos", "knn", "auto"])
def test_the_matrix_on_disk_gives_the_same_file(model, several, tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "LEAST", 256)  # so that the arrays of learners lie in files here too
    rows = make_rows(60, several=several)
    rows[30]["label"] = [] if several else ""
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    expected = trained_in_memory(DataFile(str(path)), tmp_path / "memory.model", model, hashed=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnnaiveWarning)
        classifier = TextClassifier(model)
        with documents_on_disk(
            DataFile(str(path)), classifier.token_rule, resources=Resources(scratch=tmp_path), hash_texts=True
        ) as data:
            save(train(data, classifier.spec()), tmp_path / "b.model")
    assert (tmp_path / "b.model").read_bytes() == expected
    assert data.n_docs == 60 - (not several)
    assert not list(tmp_path.glob(".unnaive-*"))


@pytest.mark.slow
def test_much_text_is_read_alike_in_memory_and_on_disk(tmp_path, monkeypatch):
    """auto leaves characters out by the size of the files, which is known before they are read."""
    monkeypatch.setattr("unnaive.models.auto.learner.WITH_CHARACTERS", 1.0)
    path = write_jsonl(tmp_path / "a.jsonl", make_rows(60))
    for name, more in (("a", ()), ("b", ("--memory", "1G"))):
        result = run(str(path), "-o", str(tmp_path / f"{name}.model"), *more)
        assert result.exit_code == 0, result.output
        assert "of text by characters; only words and pairs of words are read" in result.output
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()


def test_unlabelled_rows_before_the_first_multilabel_one_belong_to_the_data(tmp_path):
    rows = make_rows(60, several=True)
    for row in rows[:40]:
        row["label"] = row["label"][:1]
    rows[0]["label"] = []
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    expected = trained_in_memory(DataFile(str(path)), tmp_path / "memory.model", hashed=True)
    result = run(str(path), "-o", str(tmp_path / "b.model"), "-m", "multinomial", "--memory", "1G")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "b.model").read_bytes() == expected
    assert load_model(tmp_path / "b.model").counts.counts.n_docs == 60


@pytest.mark.slow
@pytest.mark.parametrize("model", ["nbsvm", "auto"])
def test_a_kept_matrix_is_used_again_and_only_for_the_same_data(model, tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", make_rows(40))
    words = str(path), "-m", model, "--set", f"cache={tmp_path / 'cache'}", "-o"
    assert "taken from" not in run(*words, str(tmp_path / "one.model")).output
    again = run(*words, str(tmp_path / "two.model"))
    assert "the counted documents of the same data are taken from" in again.output
    assert "a.jsonl: text from text, labels from label, 40 rows" in again.output
    assert (tmp_path / "one.model").read_bytes() == (tmp_path / "two.model").read_bytes()
    assert open_matrix(tmp_path / "cache" / "matrix").X.shape[0] == 40
    write_jsonl(path, make_rows(41))
    assert "taken from" not in run(*words, str(tmp_path / "three.model")).output
    assert open_matrix(tmp_path / "cache" / "matrix").X.shape[0] == 41


def test_checkpoints_at_a_distance_need_a_folder(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", make_rows(40))
    result = run(str(path), "-o", str(tmp_path / "a.model"), "-m", "multinomial", "--set", "checkpoint-every=1M")
    assert "--set checkpoint-every has an effect only with --set checkpoint; add --set checkpoint" in result.output
    assert not (tmp_path / "a.model").exists()


def test_a_damaged_matrix_is_refused(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", make_rows(40))
    words = str(path), "-m", "nbsvm", "--set", f"cache={tmp_path / 'cache'}", "-o", str(tmp_path / "a.model")
    assert run(*words).exit_code == 0
    data = tmp_path / "cache" / "matrix" / "X.data"
    raw = bytearray(data.read_bytes())
    raw[3] ^= 1
    data.write_bytes(raw)
    with pytest.raises(BadData, match=r"is damaged .X.data has a wrong checksum.; remove it and count again"):
        open_arrays(tmp_path / "cache" / "matrix")
    assert run(*words).exit_code == 2
    (tmp_path / "cache" / "matrix" / MANIFEST).unlink()
    assert run(*words).exit_code == 0  # not whole: written anew


# Memory.


def test_a_small_budget_spills_and_gives_the_same_file(tmp_path, monkeypatch):
    monkeypatch.setattr(accumulator, "table_budget", lambda size: None if size is None else 1_000_000)
    monkeypatch.setattr(accumulator, "table_bytes", lambda *sizes: 2_000_000)
    path = write_jsonl(tmp_path / "a.jsonl", make_rows(300))
    monkeypatch.setattr("unnaive.io.read_options.BATCH_ROWS", 20)
    source = DataFile(str(path), options=replace(DataFile(str(path)).options, rows=20))
    expected = trained_in_memory(DataFile(str(path)), tmp_path / "memory.model")
    classifier = TextClassifier("multinomial")
    with stream_documents(source, classifier.token_rule, resources=Resources(memory=1 << 30, scratch=tmp_path)) as data:
        save(train(data, classifier.spec()), tmp_path / "b.model")
    assert (tmp_path / "b.model").read_bytes() == expected
    assert data.report == {"runs_written": 15}
    assert not list(tmp_path.glob(".unnaive-*"))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("spilled", [False, True])
def test_pruning_is_min_df_whatever_the_order(order, spilled, tmp_path, monkeypatch):
    """A model that does not fit has the terms of d documents or more, and they weigh what min_df=d makes them."""
    rows = make_rows(120)[::order]
    whole = TextClassifier("multinomial", min_df=4).fit([r["text"] for r in rows], [r["label"] for r in rows])
    n_all = len(TextClassifier("multinomial").fit([r["text"] for r in rows], [r["label"] for r in rows]).vocabulary_)
    kept = whole.vocabulary_
    # room for the terms of 4 documents or more, but not for the 40 that are in 3
    cells = whole.fitted_.counts.counts.take_terms(whole.fitted_.counts.vocabulary.ids(kept)).class_terms.nnz
    budget = run_folders.TermCost().of(len(kept), len(kept.to_arrays()[0]), cells) + 100
    monkeypatch.setattr(accumulator, "table_budget", lambda size: None if size is None else budget)
    monkeypatch.setattr(accumulator, "table_bytes", lambda *sizes: budget + spilled)
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    classifier = TextClassifier("multinomial")
    with stream_documents(DataFile(str(path)), classifier.token_rule, resources=Resources(1 << 30, tmp_path)) as data:
        fitted = train(data, classifier.spec())
    assert data.report["pruned_below_df"] == 4
    assert data.report["pruned_terms"] == n_all - len(kept) == 40
    assert fitted.vocabulary == kept
    assert (fitted.scorer.sparse_weights != whole.fitted_.scorer.sparse_weights).nnz == 0
    np.testing.assert_array_equal(fitted.scorer.bias, whole.fitted_.scorer.bias)


def test_memory_is_said_in_words(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", make_rows(40))
    for words, part in ((["--memory", "lots"], "size is 'lots'"), (["--memory", "3M"], "at least 256M"),
                        (["--memory", "1G", "--holdout", "0.2"], "--holdout needs all documents in memory"),
                        (["--set", f"checkpoint={tmp_path}/c", "-m", "svm"], "use --set cache=FOLDER")):  # fmt: skip
        model = [] if "-m" in words else ["-m", "multinomial"]
        result = run(str(path), "-o", str(tmp_path / "a.model"), *model, *words)
        assert result.exit_code == 2
        assert part in result.output
    assert not (tmp_path / "a.model").exists()
    assert memory.table_bytes(0, 0, 0) == 0


# Checkpoints.


@pytest.mark.slow
def test_an_interrupted_run_goes_on_and_gives_the_same_file(tmp_path):
    """kill -9 at the first checkpoint of each run, three times; the run does it itself, or it might be over before."""
    path = write_jsonl(tmp_path / "a.jsonl", make_rows(30_000))
    words = [
        "train", str(path), "-m", "multinomial", "-o", str(tmp_path / "b.model"),
        "--set", f"checkpoint={tmp_path / 'ck'}", "--set", "checkpoint-every=100K", "--json",
    ]  # fmt: skip
    killed = (
        "import os, signal, sys\n"
        "import unnaive.io.tables.native_parser as blocks\n"
        "blocks.BLOCK = 1 << 18\n"  # the file is less than one usual block, and checkpoints stand between blocks
        "from unnaive.apps.cli.main import exit_code\n"
        "from unnaive.scaleout.checkpoint import Checkpoint\n"
        "save = Checkpoint.save\n"
        "Checkpoint.save = lambda *given: (save(*given), os.kill(os.getpid(), signal.SIGKILL))\n"
        f"sys.exit(exit_code({words!r}))\n"
    )
    seen = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", killed], capture_output=True)
        assert done.returncode == -signal.SIGKILL
        seen.append(_recorded(tmp_path / "ck"))
    assert seen[0] > 0
    assert seen == sorted(set(seen))
    assert not (tmp_path / "b.model").exists()
    summary = json.loads(
        subprocess.run([sys.executable, "-m", "unnaive", *words], capture_output=True, check=True).stdout
    )
    assert summary["out_of_core"]["resumed_at"] == seen[-1]
    assert summary["documents"] == 30_000
    assert (tmp_path / "b.model").read_bytes() == trained_in_memory(DataFile(str(path)), tmp_path / "m.model")
    assert not (tmp_path / "ck").exists()


def _recorded(folder: Path) -> int:
    try:
        return json.loads((folder / STATE).read_text().splitlines()[-1])["rows"]
    except (FileNotFoundError, IndexError, ValueError):  # nothing, or not all of the first line
        return 0


def test_a_checkpoint_of_other_data_or_a_strange_folder_is_refused(tmp_path, monkeypatch):
    path = write_jsonl(tmp_path / "a.jsonl", make_rows(40))
    folder = tmp_path / "ck"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    words = str(path), "-m", "multinomial", "-o", str(tmp_path / "a.model"), "--set", f"checkpoint={folder}"
    assert "has notes.txt in it, which is not part of a checkpoint" in run(*words).output
    (folder / "notes.txt").unlink()
    state = {"format": 3, "of": {"files": [["other", 1, 1]]}, "rows": 3, "counter": {}}
    (folder / STATE).write_bytes(seal_json(state))
    assert "was written by another run (files differ); remove the folder" in run(*words).output
    (folder / STATE).write_bytes(seal_json(state | {"format": 2}))
    assert "was written by another version of unnaive; remove the folder" in run(*words).output
    (folder / STATE).write_text("{\n")
    assert "is damaged, or not a checkpoint (line 1 is not what was written); the data are" in run(*words).output
    (folder / STATE).unlink()
    (folder / "run-000001").mkdir()  # left by a run that was killed before its first record
    assert run(*words).exit_code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert "stdin cannot be read twice" in run("-", *words[1:]).output


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """The words of a training run, and the folder of the checkpoint that its interruption left."""
    path, folder = write_jsonl(tmp_path / "a.jsonl", make_rows(2_000)), tmp_path / "ck"
    words = str(path), "-m", "multinomial", "-o", str(tmp_path / "a.model"), "--set", f"checkpoint={folder}"
    words += "--set", "checkpoint-every=1K"
    save = Checkpoint.save

    def save_and_stop(*given):
        save(*given)
        raise UnnaiveError("interrupted")

    monkeypatch.setattr(Checkpoint, "save", save_and_stop)
    assert "interrupted" in run(*words).output
    monkeypatch.setattr(Checkpoint, "save", save)
    return words, folder


def damage_file(path, seed):
    """Flip a bit, cut, fill with zeros, or remove."""
    rng, raw = random.Random(seed), bytearray(path.read_bytes())
    place = rng.randrange(max(len(raw), 1))
    if seed % 4 == 3 or not raw:
        path.unlink()
        return
    if seed % 4 == 0:
        raw[place] ^= 1 << rng.randrange(8)
    elif seed % 4 == 1:
        raw = raw[:place]
    else:
        raw[place] ^= 0xFF
    path.write_bytes(raw)


@pytest.mark.parametrize("seed", range(16))
def test_a_damaged_checkpoint_is_one_sentence_whose_remedy_works(tmp_path, interrupted, seed):
    words, folder = interrupted
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    names = {path.name for path in files}
    assert {STATE, "manifest.json", "df", "blob"} <= names
    victim = files[seed % len(files)] if seed % 4 != 3 else next(path for path in files if path.name == "df")
    damage_file(victim, seed)
    result = run(*words)
    assert result.exit_code == 2, victim
    sentence = result.output
    assert "; remove the folder" in sentence
    assert str(folder) in sentence
    assert not (tmp_path / "a.model").exists()
    shutil.rmtree(folder)
    assert run(*words).exit_code == 0
    expected = trained_in_memory(DataFile(words[0]), tmp_path / "m.model")
    assert (tmp_path / "a.model").read_bytes() == expected


# Reading ahead.


def test_threads_are_shared_between_reading_and_counting():
    assert [counting_threads(jobs) for jobs in (1, 2, 3, 8)] == [1, 1, 1, 4]
    assert [in_small_blocks(DataFile("a.csv"), jobs).options.block for jobs in (1, 2, 64)] == [
        1 << 19,
        1 << 20,
        1 << 22,
    ]
    assert in_small_blocks(DataFile("a.csv"), 64).options.threads == 8


def test_errors_of_the_reader_come_out_where_they_belong():
    def items():
        yield 1
        raise BadData("row 2 is bad")

    with read_ahead(items()) as found:
        assert next(found) == 1
        with pytest.raises(BadData, match="row 2 is bad"):
            next(found)


def test_a_reader_that_is_left_early_is_closed():
    closed = []

    def items():
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    with read_ahead(items()) as found:
        assert next(found) == 0
    assert closed == [True]


# Skew and dirt.


def test_bad_data_is_refused_with_the_sentences_of_training_in_memory(tmp_path):
    one = write_jsonl(tmp_path / "one.jsonl", [{"text": "a word", "label": "x"}] * 30)
    result = run(str(one), "-o", str(tmp_path / "a.model"), "-m", "multinomial")
    assert result.exit_code == 2
    assert "every document has the label 'x'; a classifier needs at least two classes" in result.output
    none = write_jsonl(tmp_path / "none.jsonl", [{"text": "!", "label": "x"}, {"text": "?", "label": "y"}] * 30)
    result = run(str(none), "-o", str(tmp_path / "a.model"), "-m", "multinomial")
    assert "none of the 60 texts has a term to learn from" in result.output
    nobody = write_jsonl(tmp_path / "nobody.jsonl", [{"text": "word", "label": ""}] * 30)
    result = run(str(nobody), "--label", "label", "-o", str(tmp_path / "a.model"), "-m", "multinomial")
    assert "nobody.jsonl: no document has a label; label some documents" in result.output
    with pytest.raises(UnnaiveError), stream_documents(DataFile(str(one)), TokenRule()):
        pass


def test_as_many_labels_as_documents(tmp_path):
    """Tables follow the cells that were seen, never classes × terms: 20,000 × 20,000 of them would be 3 GB."""
    rows = [{"text": f"word{number} shared{number % 7}", "label": f"L{number}"} for number in range(20_000)]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    words = str(path), "-m", "multinomial", "-o", str(tmp_path / "a.model")
    refused = run(*words)
    assert refused.exit_code == 2
    assert "label holds ids; use --label NAME if one of them is" in refused.output
    result = run(*words, "--label", "label")
    assert result.exit_code == 0, result.output
    assert "20,000 classes in 20,000 documents; is this the column of labels?" in result.output
    model = load_model(tmp_path / "a.model")
    assert model.counts.counts.class_terms.nnz == 40_000
    assert model.predict(["word123 shared4"]).tolist() == ["L123"]
    write_jsonl(tmp_path / "new.jsonl", [{"text": row["text"]} for row in rows[:3]])
    answers = tmp_path / "answers.csv"
    assert exit_code(["predict", str(tmp_path / "a.model"), str(tmp_path / "new.jsonl"), "-o", str(answers)]) == 0
    assert [line.split(",")[1] for line in answers.read_text().splitlines()] == ["label", "L0", "L1", "L2"]


@pytest.mark.slow
def test_a_document_of_50_mb_and_null_texts(tmp_path):
    rows = make_rows(60)
    rows[3]["text"] = " ".join(f"{word}{number % 1000}" for number in range(700_000) for word in WORDS[:8])
    rows[9]["text"] = None
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    assert path.stat().st_size > 50 << 20
    expected = trained_in_memory(DataFile(str(path)), tmp_path / "memory.model", hashed=True)
    result = run(str(path), "-o", str(tmp_path / "b.model"), "-m", "multinomial")
    assert result.exit_code == 0, result.output
    assert "1 of 60 texts is empty" in result.output
    assert (tmp_path / "b.model").read_bytes() == expected
