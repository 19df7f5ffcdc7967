"""Every odd input × every command that reads documents: the rows that the input has, or one sentence, and a count."""

import json
import re
from collections import Counter

import pytest
from support.odd_inputs import ODD_INPUTS, command_runner, paths_of, save_small_model

from unnaive.base.errors import UnnaiveError
from unnaive.classifier.model_file import load_model
from unnaive.io.datafiles import DataFile

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::unnaive.base.errors.UnnaiveWarning")]

NOT_FILTERED = (
    "cannot be filtered", "is one JSON array", "several files are filtered into a folder", "has no file to filter",
    "has an effect only with --held-out",  # options of tables, which are not filtered
)  # fmt: skip
IN_FILTER = {"is a list; expected a string": "has a list under 'text', not a text"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def run(capsys):
    return command_runner(capsys)


def refused(outcome, sentence):
    """Whether a command has ended with the sentence; nothing else is an error."""
    code, _, said = outcome
    if code:
        assert (code, said.count("unnaive: ")) == (2, 1), said
        assert sentence, said
        assert sentence in said
    return bool(code)


def test_the_table_is_long_enough():
    assert len(ODD_INPUTS) >= 60
    assert len({given.name for given in ODD_INPUTS}) == len(ODD_INPUTS)


@pytest.mark.parametrize("given", ODD_INPUTS, ids=str)
def test_train(given, tmp_path, run):
    words = [*paths_of(given, tmp_path), *given.words, *given.label_words]
    path = tmp_path / "t.model"
    outcome = run("train", *words, "-o", path, "--model", "multinomial")
    if refused(outcome, given.sentence):
        assert not path.exists()
        return
    counts = load_model(path).counts
    sizes = Counter(name for _, names in given.rows for name in names)
    assert dict(zip(map(str, counts.classes), counts.counts.class_docs.tolist(), strict=True)) == sizes
    assert counts.n_docs == given.n_learnt
    if given.n_learnt < len(given.rows) or "skip-bad=true" in given.words:
        assert "left out" in outcome[2]


@pytest.mark.parametrize("given", ODD_INPUTS, ids=str)
def test_evaluate(given, tmp_path, model, run):
    words = " ".join(given.label_words).replace("--label-separator ", "--set label-separator=").split()
    outcome = run("evaluate", model, *paths_of(given, tmp_path), "--json", *given.words, *words)
    if not refused(outcome, given.sentence):
        result = json.loads(outcome[1])
        assert result["measures"].get("documents", result.get("documents")) == given.n_learnt


@pytest.mark.parametrize("given", ODD_INPUTS, ids=str)
def test_audit(given, tmp_path, run):
    outcome = run("audit", *paths_of(given, tmp_path), "--json", *given.words, *given.label_words)
    if not refused(outcome, given.sentence):
        assert json.loads(outcome[1])["documents"] == len(given.rows)


@pytest.mark.parametrize("given", ODD_INPUTS, ids=str)
def test_predict(given, tmp_path, model, run):
    output = tmp_path / "predicted.jsonl"
    outcome = run("predict", model, *paths_of(given, tmp_path), "-o", output, *given.words)
    if refused(outcome, given.plain):
        assert not output.exists()
    else:
        assert len(output.read_text(encoding="utf-8").splitlines()) == given.n_read


@pytest.mark.parametrize("given", ODD_INPUTS, ids=str)
def test_label(given, tmp_path, run):
    record = tmp_path / "labels.db"
    outcome = run("label", "status", *paths_of(given, tmp_path), "-o", record, *given.words)
    if refused(outcome, given.plain):
        assert not record.exists()
    else:
        assert f"0 texts of {given.n_read:,} labelled" in outcome[1]


@pytest.mark.parametrize("given", ODD_INPUTS, ids=str)
def test_filter(given, tmp_path, model, run):
    paths = paths_of(given, tmp_path)
    ending = paths[0].suffix if paths[0].suffix in (".txt", ".parquet") else ".jsonl"
    output = tmp_path / f"kept{ending}"
    outcome = run("filter", model, *paths, "-o", output, "--class", "a", "--above", "0", *given.words)
    if outcome[0] and any(sentence in outcome[2] for sentence in NOT_FILTERED):
        return
    if refused(outcome, IN_FILTER.get(given.plain, given.plain)):
        assert not output.exists()
    else:
        assert f"kept {given.n_read} of {given.n_read} texts" in outcome[2] + outcome[1]


COLUMNS = {
    "--text": "text", "--label": "label", "--label-separator": "separator", "label-columns": "label_columns",
    "ignore-label": "ignore_label",
}  # fmt: skip


@pytest.mark.parametrize("given", ODD_INPUTS, ids=str)
def test_texts_and_labels_are_those_of_the_input(given, tmp_path):
    from unnaive.io.read_options import ReadOptions

    pairs = [word.split("=") if "=" in word else [word] for word in (*given.words, *given.label_words)]
    words = [word for pair in pairs for word in pair if word != "--set"]
    columns = {COLUMNS[word]: words[at + 1] for at, word in enumerate(words) if word in COLUMNS}
    columns |= {name: (value,) for name, value in columns.items() if name in ("text", "label_columns", "ignore_label")}
    columns |= {"lower_labels": True} if "lower-labels" in words else {}
    encoding = words[words.index("encoding") + 1] if "encoding" in words else None
    header = False if "header" in words else None
    options = ReadOptions(header=header, skip_bad="skip-bad" in words, encoding=encoding)
    source = DataFile(tuple(map(str, paths_of(given, tmp_path))), options=options, **columns)
    if given.sentence and not given.rows:
        with pytest.raises(UnnaiveError, match=re.escape(given.sentence)):
            list(source.batches(labelled=True))
        return
    batches = source.batches(labelled=True)
    found = [pair for batch in batches for pair in zip(batch.texts, batch.labels, strict=True)]
    if given.rows and not given.rows[0][0] and given.name.startswith("mailboxes"):
        assert [names for _, names in found] == [names for _, names in given.rows]
    else:
        assert found == list(given.rows)
