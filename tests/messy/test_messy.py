"""The odd files that people have: each is read as its writer meant it, or asked about in one sentence."""

import json
import sqlite3
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import BadData, MissingExtra, UnknownName, UnnaiveWarning
from unnaive.io.datafiles import DataFile
from unnaive.io.fields.columns import Columns
from unnaive.io.read_options import ReadOptions

FILES = Path(__file__).with_name("files")


def opened(name, **settings):
    options = {key: settings.pop(key) for key in ("header", "table") if key in settings}
    return DataFile(str(FILES / name), options=ReadOptions(**options), **settings)


def described(source):
    return source.describe().replace(f"{FILES}/", "")


# file, settings → what was taken in one line, the first text, all labels
READ = [
    ("sms.tsv", {"header": False}, "sms.tsv (tsv, no header): text from 2, labels from 1, 5 rows",
     "Go until jurong point, crazy..", ["ham", "ham", "spam", "ham", "spam"]),
    ("orange.tab", {}, "orange.tab (tsv, Orange header of 3 rows): text from text, labels from category, 2 rows",
     "win a prize", ["spam", "ham"]),
    ("orange-short.tab", {}, "orange-short.tab (tsv, Orange header): text from text, labels from category, 2 rows",
     "win a prize", ["spam", "ham"]),
    ("excel-export.csv", {}, "excel-export.csv (csv, header in line 1): text from Text, labels from Category, 2 rows",
     "ham; eggs", ["food", "news"]),
    ("fasttext.train", {}, "fasttext.train (fasttext): text from text, labels from label, 2 rows",
     "how to toast ham", ["food+news", "news"]),
    ("label-studio.json", {}, "label-studio.json (jsonl): text from data.text, labels from labels, 3 rows",
     "great phone", ["Positive", "Negative+Returned", ""]),
    ("label-studio-min.json", {}, "label-studio-min.json (jsonl): text from text, labels from sentiment, 2 rows",
     "great phone", ["Positive", "Negative+Returned"]),
    ("nested.jsonl", {"text": ("data.body.text",), "label": "verdict.name", "id": "meta.id"},
     "nested.jsonl (jsonl): text from data.body.text, labels from verdict.name, 2 rows",
     "great phone", ["good", "bad"]),
    ("spacy.json", {}, "spacy.json (jsonl): text from text, labels from labels, 2 rows", "great phone", ["POS", "NEG"]),
    ("prodigy-choice.jsonl", {}, "prodigy-choice.jsonl (jsonl): text from text, labels from labels, 2 rows",
     "great phone", ["a+b", "b"]),
    ("one-hot.csv", {"label_columns": ("tag_*",)},
     "one-hot.csv (csv, header in line 1): text from text, labels from tag_new, tag_phone, tag_old, 3 rows",
     "great phone", ["new+phone", "phone", ""]),
    ("semicolon-labels.csv", {"separator": ";"},
     "semicolon-labels.csv (csv, header in line 1): text from text, labels from tags, 2 rows",
     "great phone", ["new+phone", "phone"]),
    ("parts/*.csv", {}, "parts/*.csv (csv, header in line 1): text from text, labels from label, 2 files, 3 rows",
     "red ball", ["a", "b", "b"]),
    ("helpdesk.csv", {"label": "Category"},
     "helpdesk.csv (csv, header in line 1): text from body, labels from Category, 30 rows", None,
     ["billing", "access", "bug"] * 10),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings", "summary", "first", "labels"), READ, ids=[row[0] for row in READ])
def test_files_are_read_as_they_were_meant(name, settings, summary, first, labels):
    source = opened(name, **settings)
    corpus = source.corpus()
    assert described(source) == summary
    assert first is None or corpus.texts[0] == first
    assert ["+".join(names) for names in corpus.labels] == labels


# file, settings → what is asked
ASKED = [
    ("sms.tsv", {}, "the first row of sms.tsv looks like data, not like column names (ham, Go until jurong "
     "point, …); use --set header=false if it is a document, --set header=true if it is the header"),
    ("no-label-names.csv", {}, "which column of no-label-names.csv holds the labels? Kanal (Mail, Telefon), "
     "Abteilung (Rechnung, Zugang, Lager); use --label NAME"),
    ("only-dates.csv", {}, "no column of only-dates.csv looks like labels: type holds dates, id holds ids; use "
     "--label NAME if one of them is"),
    ("one-hot.csv", {}, "which column of one-hot.csv holds the labels? tag_new (1, 0), tag_phone (1, 0), tag_old (0); "
     "use --label NAME, or --set label-columns='tag_*' for the 3 columns of 0 and 1"),
    ("helpdesk.csv", {"label": "category"}, "helpdesk.csv has no column 'category'; did you mean 'Category'? it has "
     "ticket_id, created, Category, priority, minutes, body"),
    ("one-hot.csv", {"label_columns": ("topic_*",)}, "no column of one-hot.csv matches topic_*; it has text, "
     "tag_new, tag_phone, tag_old"),
    ("one-hot.csv", {"label": "tag_new,tag_old"}, "one-hot.csv has no column 'tag_new,tag_old'; for several "
     "columns of 0 and 1, repeat the option: --set label-columns=tag_new --set label-columns=tag_old; it has"),
    ("one-hot.csv", {"label_columns": ("tag_new,tag_old",)}, "no column of one-hot.csv matches tag_new,tag_old; for "
     "several columns of 0 and 1, repeat the option: --set label-columns=tag_new --set label-columns=tag_old; it has"),
    ("helpdesk.csv", {"label": "categroy"}, "helpdesk.csv has no column 'categroy'; did you mean 'Category'? it has"),
    ("helpdesk.csv", {"text": ("category,body",)}, "helpdesk.csv has no column 'category,body'; for several columns, "
     "repeat the option: --text Category --text body; it has ticket_id"),
    ("helpdesk.csv", {"label_columns": ("minutes",)}, "the column of label 'minutes' has "), ("excel-export.csv",
    {"label": "2"}, "excel-export.csv has no column '2'; it has Text, Category; use --set header=false "
     "if its first row is data"),
    ("parts/*.parquet", {}, "no file matches parts/*.parquet; check the pattern and the current folder"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings", "sentence"), ASKED)
def test_what_is_not_evident_is_asked(name, settings, sentence):
    with pytest.raises(BadData) as asked:
        opened(name, **settings).corpus()
    assert str(asked.value).replace(f"{FILES}/", "").startswith(sentence)


def test_the_evident_label_is_neither_date_nor_id_nor_number():
    source = opened("helpdesk.csv")
    assert source.corpus().classes == ("access", "billing", "bug")
    assert source.options.log.columns.names == ("body", "Category")


@pytest.mark.parametrize("name", ["python-lists.csv", "json-lists.csv"])
def test_lists_written_as_text_are_several_labels(name):
    with pytest.warns(
        UnnaiveWarning, match=("the cells of tags are lists such as .*; each list is read as a set of labels")
    ):
        corpus = opened(name).corpus()
    assert corpus.labels[:2] == [("new", "phone"), ("phone",)]


@pytest.mark.parametrize(("name", "separator"), [("comma-labels.csv", ","), ("semicolon-labels.csv", ";")])
def test_several_labels_in_a_cell_are_noticed_with_the_option_to_type(name, separator):
    with pytest.warns(
        UnnaiveWarning, match=f"is read as one label; if it is several, use --label-separator '{separator}'"
    ):
        opened(name).corpus()
    assert opened(name, separator=separator).corpus().labels[:2] == [("new", "phone"), ("phone",)]


def test_what_an_annotator_rejected_or_ignored():
    with pytest.warns(UnnaiveWarning, match="1 of 2 rows has no label and is left out"):
        corpus = opened("prodigy.jsonl").corpus()
    assert (corpus.texts, corpus.labels) == (["great phone"], [("POS",)])
    with pytest.warns(UnnaiveWarning, match="1 of 3 rows has no label"):
        assert opened("spacy.jsonl").corpus().labels == [("POS",), ("NEG",)]


# documents without labels: a header is never a document, a document never a header


def texts(source):
    return [text for batch in source.batches(labelled=False) for text in batch.texts]


def test_a_document_is_not_taken_for_a_header():
    with pytest.raises(BadData, match=r"the first row of .*one-column.csv looks like data.*; use --set header=false"):
        texts(opened("one-column.csv"))
    assert texts(opened("one-column.csv", header=False))[0] == "my printer is on fire"
    assert texts(opened("one-column-header.csv")) == ["my printer is on fire", "the invoice is wrong"]


@pytest.fixture
def stdin(monkeypatch, tmp_path):
    def give(content):
        (tmp_path / "piped").write_text(content)
        monkeypatch.setattr(sys, "stdin", (tmp_path / "piped").open(encoding="utf-8"))

    return give


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        ("text\nhello there\n", None, ["hello there"]),
        ("ref,Anliegen\n7,mein Drucker brennt\n", Columns(("Anliegen",), "Abteilung"), ["mein Drucker brennt"]),
        ("Anliegen\nmein Drucker brennt\n", Columns(("Anliegen",), "Abteilung"), ["mein Drucker brennt"]),
        ("hello, world\nbye, moon\n", None, ["hello, world", "bye, moon"]),
    ],
)
def test_a_header_on_stdin_is_not_a_document(stdin, content, columns, expected):
    stdin(content)
    assert texts(DataFile("-", default_columns=columns)) == expected


def test_a_table_on_stdin_that_no_name_tells_of_is_asked_about(stdin):
    stdin("ref,Anliegen\n7,mein Drucker brennt\n")
    with pytest.raises(BadData) as asked:
        texts(DataFile("-"))
    assert str(asked.value) == (
        "stdin looks like a table (ref, Anliegen); use --format csv, or --format lines if each line is a document"
    )


def test_a_model_remembers_that_there_was_no_header():
    source = opened("sms.tsv", header=False)
    source.corpus()
    remembered = Columns.from_dict(json.loads(json.dumps(source.options.log.columns.to_dict())))
    assert remembered == Columns(("2",), "1", header=False)
    assert len(texts(opened("sms.tsv", default_columns=remembered))) == 5


def test_several_plain_texts_are_a_document_each():
    letters = (str(FILES / "letters/1.txt"), str(FILES / "letters/2.txt"))
    with pytest.warns(UnnaiveWarning, match="each of the 2 files is read as one document; use --format lines"):
        (batch,) = DataFile(letters).batches(labelled=False)
    assert list(batch.texts) == ["Dear all,\nthe vote is tomorrow.\n", "Two eggs.\nOne ham.\n"]
    assert [Path(name).name for name in batch.ids] == ["1.txt", "2.txt"]
    assert len(texts(DataFile(letters, format="lines"))) == 4
    assert len(texts(DataFile(letters[0]))) == 2
    assert len(texts(DataFile(letters[0], format="files"))) == 1


def test_rows_of_several_files_are_numbered_through():
    (one, two) = opened("parts/*.csv").batches(labelled=True)
    assert (one.ids, two.ids, two.labels) == (["1", "2"], ["3"], [("b",)])


def test_files_that_do_not_share_their_columns(tmp_path):
    (tmp_path / "a.csv").write_text("body,queue\nred ball,a\n")
    (tmp_path / "b.csv").write_text("x,y,z\n1,2,3\n")
    with pytest.raises(BadData, match=r"b.csv has no column 'body', which the first file has; it has x, y, z"):
        DataFile((str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))).corpus()


# formats that other programs write


@pytest.fixture
def workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")

    def write(*rows, sheets=("Tickets",)):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name in sheets:
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / "book.xlsx")
        return str(tmp_path / "book.xlsx")

    return write


def test_a_workbook(workbook):
    path = workbook(("Text", "Stars"), ("great phone", 5.0), (None, None), ("broke\nat once", 1), (17, 1))
    source = DataFile(path, label="Stars")
    corpus = source.corpus()
    assert (corpus.texts, corpus.labels) == (["great phone", "broke\nat once", "17"], [("5",), ("1",), ("1",)])
    assert source.describe().endswith(
        "book.xlsx (excel, header in row 1 of sheet Tickets): text from Text, labels from Stars, 3 rows"
    )


@pytest.mark.slow
def test_a_workbook_with_several_sheets_or_without_a_header(workbook):
    path = workbook(("great phone, I like it", "good"), ("broke at once, sadly", "bad"), sheets=("A", "B"))
    with pytest.raises(BadData, match=r"has 2 sheets \(A, B\); choose one with --set table=NAME"):
        DataFile(path).corpus()
    with pytest.raises(UnknownName, match=r"no sheet in .* called 'C'"):
        DataFile(path, options=ReadOptions(table="C")).corpus()
    with pytest.raises(BadData, match=r"looks like data.*use --set header=false"):
        DataFile(path, options=ReadOptions(table="B")).corpus()
    corpus = DataFile(path, label="2", options=ReadOptions(table="B", header=False)).corpus()
    assert corpus.labels == [("good",), ("bad",)]


def test_a_workbook_without_the_extra_or_that_is_none(tmp_path, monkeypatch, workbook):
    path = workbook(("text", "label"), ("a", "b"))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"install it with: pip install 'unnaive\[excel\]'"):
        DataFile(path).corpus()
    monkeypatch.undo()
    Path(path).write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(BadData, match="is not an Excel workbook"):
        DataFile(path).corpus()


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "notes 1.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "my notes" (id INTEGER, text TEXT, label TEXT)')
        rows = [(1, "great phone", "good"), (2, "broke at once", "bad")]
        connection.executemany('INSERT INTO "my notes" VALUES (?, ?, ?)', rows)
    connection.close()
    return path


def test_a_database(database):
    source = DataFile(f"sqlite:{database}?table=my%20notes", id="id")
    corpus = source.corpus()
    assert (corpus.texts, corpus.labels) == (["great phone", "broke at once"], [("good",), ("bad",)])
    assert source.describe().endswith("(sqlite, table my notes): text from text, labels from label, 2 rows")
    assert DataFile(str(database)).corpus().texts == corpus.texts
    with pytest.raises(UnknownName, match=r"no table in .* called 'notes'"):
        DataFile(f"sqlite:{database}?table=notes").corpus()


def test_a_database_that_is_none_or_has_several_tables(database, tmp_path):
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    with pytest.raises(BadData, match=r"has 2 tables \(my notes, other\); choose one with --set table=NAME"):
        DataFile(str(database)).corpus()
    assert len(DataFile(str(database), options=ReadOptions(table="my notes")).corpus()) == 2
    (tmp_path / "no.db").write_text("text,label\n" * 99)
    with pytest.raises(BadData, match=r"cannot be read as a SQLite database \(.*\); name another file or table"):
        DataFile(str(tmp_path / "no.db")).corpus()
    with pytest.raises(BadData, match="no file or folder called"):
        DataFile("sqlite:nowhere.db?table=t").corpus()


def save_dataset(folder, feature, labels):
    """The files that `save_to_disk` of Hugging Face's datasets writes."""
    folder.mkdir(parents=True)
    table = pyarrow.table({"text": ["great phone", "broke at once", "no opinion"], "label": labels})
    path = str(folder / "data-00000-of-00001.arrow")
    with pyarrow.OSFile(path, "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    info = {"features": {"text": {"dtype": "string", "_type": "Value"}, "label": feature}}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))


CLASSES = {"names": ["bad", "good"], "_type": "ClassLabel"}


def test_a_dataset_on_disk(tmp_path):
    save_dataset(tmp_path / "one", CLASSES, [1, 0, -1])
    with pytest.warns(UnnaiveWarning, match="1 of 3 rows has no label"):
        corpus = DataFile(str(tmp_path / "one")).corpus()
    assert (corpus.texts, corpus.labels) == (["great phone", "broke at once"], [("good",), ("bad",)])
    save_dataset(tmp_path / "many", {"feature": CLASSES, "_type": "Sequence"}, [[1, 0], [0], []])
    assert DataFile(str(tmp_path / "many")).corpus().labels == [("good", "bad"), ("bad",), ()]


def test_the_splits_of_a_dataset_are_asked_about(tmp_path):
    save_dataset(tmp_path / "all/train", CLASSES, [1, 0, 1])
    (tmp_path / "all/dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(BadData, match=r"has 2 splits \(train, test\); name the folder of one, such as .*all/train"):
        DataFile(str(tmp_path / "all")).corpus()
    assert len(DataFile(str(tmp_path / "all/train")).corpus()) == 3
    (tmp_path / "all/dataset_dict.json").write_text('{"splits": ["train"]}')
    assert len(DataFile(str(tmp_path / "all")).corpus()) == 3


def test_parts_of_parquet(tmp_path):
    for number in range(3):
        rows = {"text": [f"text {number}"], "label": [f"label {number % 2}"]}
        pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / f"part-{number}.parquet")
    corpus = DataFile(str(tmp_path / "part-*.parquet")).corpus()
    assert list(corpus.texts) == ["text 0", "text 1", "text 2"]
    assert corpus.ids == ["1", "2", "3"]


def test_classes_about_as_many_as_documents_are_told_of(tmp_path):
    rows = "".join(f"some words here,c{row // 3 if row < 15 else row}\n" for row in range(40))
    (tmp_path / "d.csv").write_text("text,label\n" + rows)
    with pytest.warns(UnnaiveWarning, match="30 classes in 40 documents; is this the column of labels?"):
        DataFile(str(tmp_path / "d.csv"), label="label").corpus()


@pytest.mark.slow
def test_terms_about_as_many_as_documents_are_told_of(tmp_path, capsys):
    words = [f"{'ab'[row % 2]}{row:04x}" for row in range(40)]  # an id in the place of a text
    (tmp_path / "ids.csv").write_text("text,label\n" + "".join(f"{word},{word[0]}\n" for word in words))
    chinese = "".join(f"今天{chr(0x4E00 + 97 * row)}{chr(0x5000 + 89 * row)},{row % 2}\n" for row in range(40))
    (tmp_path / "chinese.csv").write_text("text,label\n" + chinese)

    def note(name, *words):
        target = ["-o", str(tmp_path / "m.model"), "--text", "text", "--label", "label"]
        assert exit_code(["train", str(tmp_path / name), *target, *words]) == 0
        return [line for line in capsys.readouterr().err.splitlines() if " in two of them" in line]

    (line,) = note("ids.csv")
    assert line.startswith("note: 40 terms in 40 documents, but hardly any term is in two of them")
    assert note("chinese.csv") == []
    assert len(note("chinese.csv", "--set", "unspaced=whole", "--model", "svm")) == 1


def test_several_inputs_on_the_command_line(tmp_path, capsys):
    model = str(tmp_path / "m.model")
    assert exit_code(["train", str(FILES / "parts/1.csv"), str(FILES / "parts/2.csv"), "-o", model]) == 0
    assert "learnt 3 documents, 2 classes" in capsys.readouterr().out
    assert exit_code(["predict", model, str(FILES / "letters/*.txt"), "--format", "files"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert exit_code(["train", str(FILES / "sms.tsv"), "--set", "header=false", "-o", model]) == 0
    capsys.readouterr()
    assert exit_code(["predict", model, str(FILES / "sms.tsv")]) == 0  # it remembers
    assert len(capsys.readouterr().out.splitlines()) == 6
    assert exit_code(["train", str(FILES / "one-hot.csv"), "--set", "label-columns=tag_*", "-o", model]) == 0
    assert "any number of labels" in capsys.readouterr().out


def test_labels_of_flags_are_the_same_for_the_next_file():
    source = opened("one-hot.csv", label_columns=("tag_*",))
    source.corpus()
    remembered = Columns.from_dict(source.options.log.columns.to_dict())
    assert opened("one-hot.csv", default_columns=remembered).corpus().classes == ("new", "phone")
