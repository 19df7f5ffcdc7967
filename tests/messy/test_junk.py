"""Junk in files of labelled texts: noticed in one line with the option that mends it, or mended where it is certain."""

import csv
import json
import warnings
from pathlib import Path

import pytest

from unnaive import TextClassifier
from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.io import batches
from unnaive.io.datafiles import DataFile
from unnaive.io.read_options import ReadOptions

FILES = Path(__file__).with_name("files")


def read(name, **settings):
    """The corpus of a file, what was read in one line, and the warnings."""
    options = ReadOptions(skip_bad=settings.pop("skip_bad", False))
    source = DataFile(str(FILES / name), options=options, **settings)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", UnnaiveWarning)
        corpus = source.corpus()
    return corpus, source.describe().replace(f"{FILES}/", ""), [str(n.message).replace(f"{FILES}/", "") for n in notes]


@pytest.fixture(params=["native", "python"])
def parser(request, monkeypatch):
    """Both ways of reading rows."""
    if request.param == "python":
        monkeypatch.setattr(batches, "READERS", {})


@pytest.mark.usefixtures("parser")
class TestMended:
    def test_the_line_of_excel_that_names_the_delimiter(self):
        corpus, line, notes = read("sep-line.csv")
        assert line == (
            "sep-line.csv (csv, sep=; in line 1, header in line 2): text from Text, labels from Category, 2 rows"
        )
        assert (list(corpus.texts), corpus.labels) == (["ham; eggs", "new law, old law"], [("food",), ("news",)])
        assert notes == []

    def test_a_header_that_joined_files_repeat(self):
        corpus, line, notes = read("joined.csv")
        assert corpus.classes == ("a", "b")
        assert list(corpus.texts) == ["red ball", "green leaf", "red car", "the label"]
        assert notes == ["joined.csv: 2 rows repeat the header and are left out"]
        assert line.endswith("4 rows")

    def test_a_stray_quote(self):
        with pytest.raises(
            BadData,
            match=(
                r"^line 14 of .*stray-quote.csv opens a quote that is "
                r"closed on line 49, and the"
            ),
        ):
            read("stray-quote.csv")
        corpus, line, notes = read("stray-quote.csv", skip_bad=True)
        assert (len(corpus), notes) == (57, ["stray-quote.csv: 1 bad row was left out: line 14"])
        assert line.endswith("57 rows, 1 left out")

    def test_spaces_around_a_label_are_none_of_it(self):
        assert read("spellings.csv")[0].class_sizes()["politics"] == 13


# file → the sentence, and the option that it names
NOTICED = [
    ("missing-labels.csv", "the labels NaN (2), N/A (1) and null (1) look like missing values; to leave them out, use "
     "--set ignore-label=NaN --set ignore-label=N/A --set ignore-label=null", {"ignore_label": ("NaN", "N/A", "null")}),
    ("single-class.csv", "the class cricket has only one document, too few to train and test; to leave it out, use "
     "--set ignore-label=cricket", {"ignore_label": ("cricket",)}),
    ("label-prefix.csv", "2 labels begin with __label__; to remove it, use --set label-prefix=__label__",
     {"label_prefix": "__label__"}),
    ("spellings.csv", "4 labels would be 2 if case and spaces were ignored (sport = SPORT; politics = Politics); to "
     "merge them, use --set lower-labels=true", {"lower_labels": True}),
]  # fmt: skip
LEFT_OUT = {
    "missing-labels.csv": ["missing-labels.csv: 4 of 28 rows have no label and are left out"],
    "single-class.csv": ["single-class.csv: 1 of 25 rows has no label and is left out"],
}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(("name", "sentence", "mended"), NOTICED, ids=[row[0] for row in NOTICED])
def test_what_is_odd_is_said_with_the_option_that_mends_it(name, sentence, mended):
    assert f"{name}: {sentence}" in read(name)[2]
    corpus, _, notes = read(name, **mended)
    assert corpus.classes == ("politics", "sport")
    assert notes == LEFT_OUT.get(name, [])


def test_a_folder_for_each_class_too(tmp_path):
    for folder, n in (("sport", 12), ("Sport", 2), ("N", 2), ("null", 2)):
        (tmp_path / folder).mkdir()
        for number in range(n):
            (tmp_path / folder / f"{number}.txt").write_text(f"text {number}")
    with pytest.warns(UnnaiveWarning) as notes:
        DataFile(str(tmp_path)).corpus()
    assert [str(note.message).partition(": ")[2].partition(";")[0] for note in notes] == [
        "the label null (2 documents) looks like a missing value",
        "the labels sport (12) and Sport (2) differ only in case or spaces",
    ]
    with pytest.warns(UnnaiveWarning, match="2 of 18 rows have no label and are left out"):
        corpus = DataFile(str(tmp_path), ignore_label=("null",), lower_labels=True).corpus()
    assert corpus.class_sizes() == {"sport": 14, "n": 2}


@pytest.mark.parametrize("model", ["multinomial", "nbsvm"])
def test_train_says_it_once_and_a_model_remembers_how_labels_are_spelt(run, model):
    data = FILES / "spellings.csv"
    code, _, err = run("train", data, "-m", model, "-o", "odd.model")
    assert (code, err.count("4 labels would be 2 if case and spaces were ignored")) == (0, 1)
    code, out, err = run("train", data, "-m", model, "-o", "m.model", "--set", "lower-labels=true")
    assert (code, err) == (0, "")
    assert "2 classes" in out
    code, out, err = run("update", "m.model", data)
    assert code == 0
    assert "27 of the 27 documents" in err
    assert TextClassifier.load("m.model").classes_.tolist() == ["politics", "sport"]


def test_a_mailbox_is_read_as_mail():
    corpus, line, notes = read("support.mbox", label="x-queue", message="subject-body")
    assert line == "support.mbox (mbox, each message a document): text from text, labels from x-queue, 2 rows"
    assert notes == ["support.mbox: the texts are e-mail messages; of each, subject and body are read"]
    assert corpus.labels == [("billing",), ("access",)]
    text = "Gebühr twice I was charged twice for café. From now on I shall pay by card. invoice.pdf"
    assert " ".join(corpus.texts[0].split()) == text
    assert corpus.texts[1] == "password\nplease reset it"
    maildir = DataFile(str(FILES / "Maildir"))
    texts = [text for batch in maildir.batches(labelled=False) for text in batch.texts]
    assert [text.partition("\n")[0] for text in texts] == ["From: ann@example.org", "From: bob@example.org"]
    assert maildir.describe().endswith("Maildir (maildir, each message a document): text from text, 2 rows")


@pytest.mark.slow
def test_audit_lists_them(run):
    _, out, _ = run("audit", FILES / "missing-labels.csv", "--json")
    assert json.loads(out)["kinds"]["missing-label"] == 3
    run("audit", FILES / "label-prefix.csv", "-o", "found")
    run("clean", FILES / "label-prefix.csv", "found/findings.csv", "-o", "clean.csv")
    with Path("clean.csv").open() as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["sport", "politics"]


def test_texts_that_are_missing_values_are_counted(parser, tmp_path):
    (tmp_path / "t.csv").write_text("text,label\nNaN,a\nN/A,b\nred ball,a\nnone of it,b\n,a\n")
    with pytest.warns(UnnaiveWarning) as notes:
        DataFile(str(tmp_path / "t.csv")).corpus()
    assert [str(note.message).partition(": ")[2] for note in notes] == [
        "1 of 5 texts is empty", ("2 of 5 texts are NaN, None or the like (unnaive audit lists them, "
                                 "unnaive clean drops them)"),
    ]  # fmt: skip


def test_columns_of_a_repeated_header_go_by_number(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("queue,text,queue\nx,red ball,a\nx,green leaf,b\n")
    with pytest.raises(BadData, match=r"1 called 'queue', 3 called 'queue'; use --label NAME or its number$"):
        DataFile(str(path)).corpus()
    for text in ("text", "2"):
        corpus = DataFile(str(path), text=(text,), label="3").corpus()
        assert (list(corpus.texts), corpus.classes) == (["red ball", "green leaf"], ("a", "b"))
