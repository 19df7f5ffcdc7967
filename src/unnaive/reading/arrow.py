"""Files through pyarrow into buffers of texts, without a Python string for each; datafiles.py tries this first.

Only what pyarrow reads exactly as our own readers do is read so: the bytes are looked at before, the result after,
and anything unusual (another encoding, NULs, blank lines, missing values, a row that does not fit) is left to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.reading.binary_tables import ParquetTable, explain_arrow_errors
from unnaive.reading.columns import Columns
from unnaive.reading.corpus import Labels
from unnaive.reading.json_tables import ANNOTATION_KEYS, JsonTable
from unnaive.reading.options import BATCH_ROWS, ReadOptions
from unnaive.reading.tables import CsvTable, Table
from unnaive.text.buffer import TextBuffer, as_texts

SMALLEST = 4 << 20  # bytes of a text file for which loading pyarrow pays
BLOCK = 8 << 20  # bytes that pyarrow parses at a time; a longer row is left to our readers
SCAN = 1 << 23  # bytes of a text file in memory at a time
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff")

Bytes = NDArray[np.uint8]
Documents = tuple[TextBuffer, list[Labels], list[str] | None, dict[str, list[Any]]]
Parse = Callable[[Any], Labels]


class NotPlain(Exception):
    """The rest of a file must be read row by row."""


def read_whole(table: Table, columns: Columns, parse: Parse) -> Documents:
    """(texts, label sets, ids or None, kept columns) of all rows; NotPlain where the table's own reader must do it."""
    return _make_documents(_find_reader(table, columns)[0](table, columns), columns, parse)


def read_chunks(table: Table, columns: Columns, parse: Parse) -> Iterator[Documents]:
    """The same, some megabytes at a time; NotPlain may also come after some of them."""
    for part in _find_reader(table, columns)[1](table, columns):
        if part.num_rows:
            yield _make_documents(part, columns, parse)


def _find_reader(table: Table, columns: Columns) -> tuple[Callable[..., Any], Callable[..., Iterator[Any]]]:
    if type(table) not in READERS or columns.label_columns:
        raise NotPlain
    return READERS[type(table)]


def _make_documents(found: Any, columns: Columns, parse: Parse) -> Documents:
    texts = _join_texts([found.column(name) for name in columns.texts])
    labels: list[Labels] = [()] * len(texts)
    if columns.label is not None:
        labels = _parse_labels(found.column(columns.label), parse)
    ids = None if columns.id is None else [str(one) for one in found.column(columns.id).to_pylist()]
    return texts, labels, ids, {name: found.column(name).to_pylist() for name in columns.kept}


def _join_texts(columns: list[Any]) -> TextBuffer:
    """The columns of text joined by newlines, as one buffer; missing texts are empty."""
    import pyarrow
    import pyarrow.compute

    if not all(_holds_strings(column.type) for column in columns):
        raise NotPlain
    wide = pyarrow.large_string()
    texts = [column.fill_null("") if column.null_count else column for column in (one.cast(wide) for one in columns)]
    if len(texts) > 1:
        texts = [pyarrow.compute.binary_join_element_wise(*texts, pyarrow.scalar("\n", wide))]
    found = as_texts(texts[0])
    if not isinstance(found, TextBuffer):
        raise NotPlain
    return found


def _holds_strings(kind: Any) -> bool:
    import pyarrow

    kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _parse_labels(column: Any, parse: Parse) -> list[Labels]:
    """The label set of each row; a value that comes back is parsed once."""
    import pyarrow

    kind = column.type
    if not (_holds_strings(kind) or pyarrow.types.is_integer(kind)) or pyarrow.types.is_dictionary(kind):
        return [parse(value) for value in column.to_pylist()]
    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pyarrow.ChunkedArray):
        coded = coded.combine_chunks()
    sets = [parse(value) for value in coded.dictionary.to_pylist()]
    missing = parse(None)
    return [missing if code is None else sets[code] for code in coded.indices.to_pylist()]


def read_parquet(table: ParquetTable, columns: Columns) -> Any:
    """All rows of a Parquet file."""
    with explain_arrow_errors(table.path, "a damaged Parquet file"):
        return _check_strings(table.file.read(columns=list(dict.fromkeys(columns.names))), columns)


def stream_parquet(table: ParquetTable, columns: Columns) -> Iterator[Any]:
    """The rows of a Parquet file, a batch at a time."""
    import pyarrow

    with explain_arrow_errors(table.path, "a damaged Parquet file"):
        for batch in table.file.iter_batches(batch_size=BATCH_ROWS, columns=list(dict.fromkeys(columns.names))):
            yield _check_strings(pyarrow.Table.from_batches([batch]), columns)


def _check_strings(found: Any, columns: Columns) -> Any:
    import pyarrow

    try:
        for name in columns.texts:
            found.column(name).validate(full=True)
    except pyarrow.ArrowInvalid:
        raise NotPlain from None
    return found


def read_csv(table: CsvTable, columns: Columns) -> Any:
    """All rows of a CSV file."""
    import pyarrow.csv

    options = _prepare_csv(table, columns)
    with _not_plain_if_invalid(), pyarrow.OSFile(table.path) as file:
        found = pyarrow.csv.read_csv(file, *options)
        _report(table.options, file.size())
    return found


def stream_csv(table: CsvTable, columns: Columns) -> Iterator[Any]:
    """The rows of a CSV file, a block at a time."""
    import pyarrow.csv

    options = _prepare_csv(table, columns)
    with _not_plain_if_invalid(), pyarrow.OSFile(table.path) as file:
        at = 0
        for batch in pyarrow.csv.open_csv(file, *options):
            step = min(BLOCK, file.size() - at)
            _report(table.options, step)
            at += step
            yield pyarrow.Table.from_batches([batch])


def _prepare_csv(table: CsvTable, columns: Columns) -> tuple[Any, Any, Any]:
    """pyarrow's options for a CSV file; NotPlain where Python's reader and pyarrow's may differ."""
    import pyarrow
    import pyarrow.csv

    if not table.is_file or table.orange or len(set(table.names)) < len(table.names):
        raise NotPlain
    quotes = 0
    for number, lines in enumerate(_read_lines(table.path, table.options)):
        if not number and bytes(lines[:1]) in (b"\n", b"\r"):
            raise NotPlain
        quotes += int(np.count_nonzero(lines == ord('"')))
    if quotes % 2:  # one is open, or stands inside a field
        raise NotPlain
    reading = pyarrow.csv.ReadOptions(
        column_names=list(table.names), skip_rows_after_names=0 if table.numbered else 1, block_size=BLOCK
    )
    parsing = pyarrow.csv.ParseOptions(delimiter=table.delimiter, newlines_in_values=quotes > 0)
    converting = pyarrow.csv.ConvertOptions(
        include_columns=list(dict.fromkeys(columns.names)),
        column_types={name: pyarrow.string() for name in columns.names},
        strings_can_be_null=False,
        check_utf8=False,  # the whole file was checked
    )
    return reading, parsing, converting


def read_json(table: JsonTable, columns: Columns) -> Any:
    """All rows of a file of JSON lines."""
    import pyarrow

    return pyarrow.concat_tables(stream_json(table, columns))


def stream_json(table: JsonTable, columns: Columns) -> Iterator[Any]:
    """The rows of a file of JSON lines, some megabytes of lines at a time."""
    if not table.is_file:
        raise NotPlain
    schema = _find_schema(table, columns)
    for lines in _read_lines(table.path, table.options):
        yield _parse_json(lines, schema, columns)
        _report(table.options, len(lines))


def _parse_json(data: Bytes, schema: Any, columns: Columns) -> Any:
    """The rows of some lines; NotPlain where Python's reader and pyarrow's may differ."""
    import pyarrow.json

    n_lines = _count_json_lines(data)
    with _not_plain_if_invalid():
        found = pyarrow.json.read_json(
            pyarrow.BufferReader(pyarrow.py_buffer(data)),
            pyarrow.json.ReadOptions(block_size=max(BLOCK >> 2, 1 << 10)),
            pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    missing = any(found.column(name).null_count for name in columns.names)
    annotated = any(found.column(name).null_count < n_lines for name in ANNOTATION_KEYS)
    if found.num_rows != n_lines or missing or annotated:
        raise NotPlain
    return found


@contextmanager
def _not_plain_if_invalid() -> Iterator[None]:
    import pyarrow

    try:
        yield
    except pyarrow.ArrowInvalid:
        raise NotPlain from None


def _find_schema(table: JsonTable, columns: Columns) -> Any:
    """The types of the wanted keys if all of a sample have the same plain one, and stand at the top."""
    import pyarrow

    if table.annotated or set(columns.names) & set(ANNOTATION_KEYS):
        raise NotPlain
    types = {str: pyarrow.string(), int: pyarrow.int64(), list: pyarrow.list_(pyarrow.string())}
    fields = []
    for name in dict.fromkeys(columns.names):
        if not all(name in record for record in table.records):
            raise NotPlain
        kinds = {type(record[name]) for record in table.records}
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind not in types or (kind is not str and name in columns.texts):
            raise NotPlain
        if kind is list and not all(isinstance(one, str) for record in table.records for one in record[name]):
            raise NotPlain
        fields.append(pyarrow.field(name, types[kind]))
    return pyarrow.schema([*fields, *(pyarrow.field(name, pyarrow.string()) for name in ANNOTATION_KEYS)])


def _count_json_lines(data: Bytes) -> int:
    """How many lines there are, if each begins with { and ends with }; NotPlain otherwise.

    With as many objects as such lines, each line holds one object: none can run over the end of its line.
    """
    ends = np.flatnonzero(data == ord("\n"))
    starts = np.concatenate([[0], ends[ends + 1 < len(data)] + 1])
    last = data[np.maximum(ends - 1, 0)]
    last = np.where(last == ord("\r"), data[np.maximum(ends - 2, 0)], last)
    if np.any(data[starts] != ord("{")) or np.any(last != ord("}")):
        raise NotPlain
    return len(starts)


def _read_lines(path: str, options: ReadOptions) -> Iterator[Bytes]:
    """The bytes of a file, without its byte-order mark, some megabytes of whole lines at a time.

    NotPlain where they are packed, not UTF-8, or have NULs; where the options ask for something else; where a line is
    very long; and where the file is so small that loading pyarrow does not pay.
    """
    plain = Path(path)
    utf8 = options.encoding is None or options.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    if options.skip_bad or options.rows < BATCH_ROWS or not utf8:
        raise NotPlain
    if not plain.is_file() or plain.stat().st_size < SMALLEST:
        raise NotPlain
    with plain.open("rb") as file:
        rest = file.read(4).removeprefix(b"\xef\xbb\xbf")
        if rest.startswith(PACKED):
            raise NotPlain
        while block := file.read(SCAN):
            block = rest + block
            cut = block.rfind(b"\n") + 1
            if not cut and len(block) > 4 * BLOCK:
                raise NotPlain
            if cut:
                yield _check_text(np.frombuffer(block, np.uint8, cut))
            rest = block[cut:]
        if rest:
            yield _check_text(np.frombuffer(rest, np.uint8))


def _check_text(data: Bytes) -> Bytes:
    """The bytes if they are UTF-8 without NULs."""
    import pyarrow

    ends = np.array([0, len(data)], dtype=np.int64)
    whole = pyarrow.LargeStringArray.from_buffers(1, pyarrow.py_buffer(ends), pyarrow.py_buffer(data))
    with _not_plain_if_invalid():
        whole.validate(full=True)
    if not data.all():
        raise NotPlain
    return data


def _report(options: ReadOptions, size: int) -> None:
    if options.on_read is not None:
        options.on_read(size)


READERS: dict[type[Table], tuple[Callable[..., Any], Callable[..., Iterator[Any]]]] = {
    CsvTable: (read_csv, stream_csv), JsonTable: (read_json, stream_json), ParquetTable: (read_parquet, stream_parquet),
}  # fmt: skip


def concatenate(parts: Sequence[Sequence[str]]) -> Sequence[str]:
    """The texts of several files one after another: in one buffer if all of them are in buffers."""
    if len(parts) == 1:
        return parts[0]
    buffers = [part for part in parts if isinstance(part, TextBuffer)]
    if len(buffers) < len(parts):
        return [text for part in parts for text in part]
    blobs = [part.blob[part.offsets[0] : part.offsets[-1]] for part in buffers]
    sizes = np.concatenate([np.diff(part.offsets) for part in buffers])
    return TextBuffer(np.concatenate(blobs), np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]))


def count_empty(texts: Sequence[str]) -> int:
    """How many texts have no character."""
    if isinstance(texts, TextBuffer):
        return int(np.count_nonzero(np.diff(texts.offsets) == 0))
    return sum(not text for text in texts)


def number_rows(seen: int, size: int) -> list[str]:
    """Ids for rows that have none: their numbers, from 1 on."""
    return [str(number) for number in range(seen + 1, seen + size + 1)]
