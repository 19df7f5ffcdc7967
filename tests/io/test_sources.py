"""Bytes to lines: encodings, packed files, NULs, names that are not there."""

import gzip
import io

import pyarrow
import pytest

from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.base.open_files import check_exists, open_bytes
from unnaive.io.text_encoding import decode_lines


def lines(raw, **options):
    return [line for _, line in decode_lines(io.BytesIO(raw), "data.csv", **options)]


def test_utf8_with_and_without_a_byte_order_mark():
    assert lines("çay\nhindî हिन्दी\n".encode()) == ["çay\n", "hindî हिन्दी\n"]
    assert lines("çay\n".encode("utf-8-sig")) == ["çay\n"]
    with pytest.warns(UnnaiveWarning, match="such lines are read as cp1252"):
        assert lines("çay\n".encode("utf-8-sig") + b"caf\xe9\n") == ["çay\n", "café\n"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_of_a_wide_encoding_is_believed(encoding):
    assert lines("a,ğ\nb\n".encode(encoding)) == ["a,ğ\n", "b\n"]


def test_other_bytes_are_read_as_the_code_page_and_a_warning_names_it_once():
    with pytest.warns(
        UnnaiveWarning, match=r"not UTF-8 \(byte 0xe9 on line 2\): such lines are read as cp1252"
    ) as told:
        assert lines(b"plain\ncaf\xe9\nna\xefve\n" + "ütf\n".encode()) == ["plain\n", "café\n", "naïve\n", "ütf\n"]
    assert len(told) == 1


def test_the_code_page_follows_the_language():
    with pytest.warns(UnnaiveWarning, match="read as cp1254"):
        assert lines("şıklık\n".encode("cp1254"), language="tr") == ["şıklık\n"]


def test_a_named_encoding_is_used_and_a_wrong_one_is_an_error():
    assert lines("şık\n".encode("cp1254"), encoding="cp1254") == ["şık\n"]
    with pytest.raises(BadData, match=r"data.csv is not utf-8 \(byte 0xfe\); use another --set encoding=NAME"):
        lines(b"\xfe\n", encoding="utf-8")
    with pytest.raises(BadData, match="no encoding called 'utf-99'"):
        lines(b"x\n", encoding="utf-99")


def test_carriage_returns_end_lines_too():
    assert lines(b"a\rb\r\nc") == ["a\r", "b\r\n", "c"]


def test_a_few_nuls_are_told_of_and_many_are_refused():
    with pytest.warns(UnnaiveWarning, match=r"data.csv contains NULs \(line 2\); they are read as word borders"):
        assert lines(b"one\ntwo words\0three\n") == ["one\n", "two words\0three\n"]
    with pytest.raises(BadData, match="mostly NULs; if the file is UTF-16, use --set encoding=utf-16"):
        lines("wide".encode("utf-16-le"))


@pytest.mark.parametrize("pack", [gzip.compress, lambda raw: pyarrow.compress(raw, codec="zstd", asbytes=True)])
def test_packed_files_are_known_by_their_first_bytes(tmp_path, pack):
    path = tmp_path / "no-telling-name"
    raw = "günaydın\n".encode() * 10_000
    path.write_bytes(pack(raw))
    with open_bytes(path) as stream:
        assert stream.read() == raw
    path.write_bytes(pack(raw)[:-9])
    with pytest.raises(BadData, match="is truncated or damaged"), open_bytes(path) as stream:
        list(decode_lines(stream, "data.gz"))


def test_gzip_members_one_after_another_are_one_file(tmp_path):
    path = tmp_path / "two.gz"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    with open_bytes(path) as stream:
        assert stream.read() == b"one\ntwo\n"


def test_a_spreadsheet_is_told_apart(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"PK\x03\x04rest")
    with pytest.raises(BadData, match="is a zip archive or a spreadsheet; export it as CSV"):
        open_bytes(path)


def test_a_missing_file_suggests_the_nearest_name(tmp_path):
    (tmp_path / "tickets.csv").touch()
    with pytest.raises(BadData, match=r"no file or folder called .*ticket.csv; did you mean .*tickets.csv\?"):
        check_exists(tmp_path / "ticket.csv")
    with pytest.raises(BadData, match="no file or folder called xxx"):
        check_exists("x" * 5000)


def test_watching_sees_every_byte(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"x" * 1_000_000)
    seen: list[int] = []
    with open_bytes(path, seen.append) as stream:
        stream.read()
    assert sum(seen) == 1_000_000


def test_a_parquet_file_by_another_name_is_told_apart(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    path.write_bytes(b"PAR1\x15\x04")
    with pytest.raises(BadData, match=r"data.csv is a Parquet file; save it under a name that ends in .parquet"):
        open_bytes(path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(path.open("rb")))
    with pytest.raises(BadData, match=r"^stdin is a Parquet file"):
        open_bytes("-")


def test_a_packed_file_that_breaks_off_says_where(tmp_path):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\n")[:12])
    with open_bytes(path) as stream, pytest.raises(BadData, match="damaged before its first line"):
        list(decode_lines(stream, "data.csv.gz"))
