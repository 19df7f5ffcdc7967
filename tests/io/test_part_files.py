"""A folder of part files is one table; a folder for each class unpacks its texts and refuses what is no text."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unnaive import audit_file, predict_file, train_file
from unnaive.base.errors import BadData
from unnaive.io.datafiles import DataFile

CSV = "text,label\nred ball,a\nblue vote,b\n"
ROWS = {"text": ["red ball", "blue vote"], "label": ["a", "b"]}


def folder(path, **files):
    for name, content in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def spark_output(path):
    """What Spark leaves: part files, one of them empty, a marker and checksums."""
    parts = {"part-00000.csv": CSV, "part-00001.csv": "", "part-00002.csv": CSV}
    return folder(path, **parts, **{"_SUCCESS": "", ".part-00000.csv.crc": b"crc\0\1"})


def partitioned(path):
    for year in ("2023", "__HIVE_DEFAULT_PARTITION__"):
        (path / f"year={year}" / "kind=a%20b").mkdir(parents=True)
        pq.write_table(pa.table(ROWS), path / f"year={year}" / "kind=a%20b" / "part-0.parquet")
    return str(path)


def test_the_part_files_of_spark_are_one_table(tmp_path):
    source = DataFile(spark_output(tmp_path / "parts"))
    assert source.corpus().labels == [("a",), ("b",)] * 2
    assert source.describe().endswith(
        "parts (csv, header in line 1): text from text, labels from label, 2 files, 4 rows"
    )


def test_partitions_are_columns_that_are_kept_and_learnt_from(tmp_path):
    path = partitioned(tmp_path / "parts")
    batches = list(DataFile(path).batches(labelled=True, keep=True))
    assert [list(batch.kept["year"]) for batch in batches] == [["2023"] * 2, [None] * 2]
    assert [list(batch.kept["kind"]) for batch in batches] == [["a b"] * 2] * 2
    assert DataFile(path, label="kind").corpus().classes == ("a b",)
    texts = DataFile(path, category=("year",)).corpus().texts
    assert [text.partition("year\x1f")[2] for text in texts] == ["2023\x1f2023"] * 2 + ["\x1f(missing)"] * 2


@pytest.mark.parametrize("make", [spark_output, partitioned])
@pytest.mark.slow
def test_commands_read_part_files_as_one_file_of_their_rows(tmp_path, make):
    path = make(tmp_path / "parts")
    trained = train_file(path, "multinomial")
    assert trained.documents == 4
    predict_file(trained.classifier, path, tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 5
    assert lines[1].startswith("red ball,a,")
    assert audit_file(path).to_dict()["documents"] == 4


def test_part_files_of_any_name_are_read_in_the_given_format(tmp_path):
    path = folder(tmp_path / "parts", **{"part-00000": CSV, "part-00001": CSV})
    assert DataFile(path, format="csv").corpus().labels == [("a",), ("b",)] * 2


def test_classes_may_have_packed_texts_but_no_pictures(tmp_path):
    path = folder(tmp_path / "d", **{"a/1.txt.gz": gzip.compress("réd".encode()), "b/1.txt": "blue", "b/2.txt": ""})
    assert list(DataFile(path).corpus().texts) == ["réd", "blue", ""]
    folder(tmp_path / "d", **{"b/3.png": b"\x89PNG\r\n"})
    with pytest.raises(BadData, match=r"b/3.png is a picture, not a text; remove it"):
        DataFile(path).corpus()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"PAR1\x15", "is a Parquet file; save it under a name"),
        (b"%PDF-1.4", "is a PDF; extract its text first"),
        (gzip.compress(b"red" * 99, mtime=0)[:-9], "is truncated or damaged"),
    ],
    ids=["parquet", "pdf", "cut"],
)
def test_documents_that_are_no_text_are_one_sentence(tmp_path, content, sentence):
    path = folder(tmp_path / "d", **{"a/1.txt": "red", "b/1.txt": content})
    with pytest.raises(BadData, match=sentence):
        list(DataFile(path).batches(labelled=False))
