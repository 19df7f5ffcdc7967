"""Tables that libraries read: Parquet, Arrow files of a Hugging Face dataset, SQLite, Excel workbooks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.decompression import UNPACKED_FREELY
from unnaive.base.errors import BadData, choose
from unnaive.base.extras import import_extra
from unnaive.base.open_files import STDIN, ByteSource, check_exists
from unnaive.data.fields.column_kinds import names_a_column
from unnaive.io.fields.columns import join_names
from unnaive.io.read_options import BATCH_ROWS, ReadOptions
from unnaive.io.tables.csv_tables import find_header
from unnaive.io.tables.tables import SAMPLE_ROWS, Table, TableSample, split_into_batches

if TYPE_CHECKING:
    import sqlite3

SQLITE = "sqlite:"
LABELS = "labels"  # the view of current labels in a record of `unnaive label`
RECORD_TABLES = {"labelling", "decisions", LABELS}
BUFFER = 1 << 20  # bytes of a Parquet column read at a time
STEPS = 1 << 18  # steps of SQLite's virtual machine between two checks
STEPS_FREELY = 1 << 28  # about ten seconds


def _check_file(path: str, what: str) -> Path:
    """The path if it is a regular file, which these formats need for random access."""
    if path == STDIN:
        raise BadData(f"{what} cannot be read from stdin; save it to a file first")
    file_path = check_exists(path)
    if not file_path.is_file():
        raise BadData(f"{path} is not a regular file; {what} cannot be read from a pipe or a folder")
    return file_path


@contextmanager
def explain_arrow_errors(path: str, what: str) -> Iterator[None]:
    """Errors of pyarrow as sentences; lack of memory is distinguished from damage."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowMemoryError, MemoryError) as problem:
        raise BadData(
            f"there is not enough memory to read {path}; split it, or write it in smaller row groups"
        ) from problem
    except UnicodeDecodeError as problem:
        raise BadData(f"a string in {path} is not UTF-8; write the file again in UTF-8") from problem
    except PermissionError as problem:
        raise BadData(f"{path} cannot be read (Permission denied); check its permissions") from problem
    except (pyarrow.ArrowException, OSError) as problem:
        raise BadData(f"{path} is {what} ({str(problem).splitlines()[0]}); write it again") from problem


class ParquetTable(Table):
    """An Apache Parquet file; a column of lists holds label sets. `row_groups` are those to read; None for all."""

    reusable = True
    row_groups: Sequence[int] | None = None

    def __init__(self, source: ByteSource, options: ReadOptions) -> None:
        parquet = import_extra("pyarrow.parquet", "reading Parquet files")
        self.path, self.options = source.path, options
        file_path = _check_file(source.path, "Parquet")
        with explain_arrow_errors(self.path, "an incomplete Parquet file"):
            # by default, the whole row group is read each time before its first rows are available
            self.file = parquet.ParquetFile(file_path, pre_buffer=False, buffer_size=BUFFER)
        self.names = tuple(self.file.schema_arrow.names)
        self.types = dict(zip(self.names, self.file.schema_arrow.types, strict=True))

    def sample(self) -> TableSample:
        """The first values of every column that is not nested."""
        if not self.file.metadata.num_rows:
            return {}
        with explain_arrow_errors(self.path, "a damaged Parquet file"):
            first = next(self.file.iter_batches(batch_size=SAMPLE_ROWS, row_groups=[0]), None)
            columns = [] if first is None else first.columns
            return {name: arrow_values(column) for name, column in zip(self.names, columns, strict=False)}

    def arrays(self, names: Sequence[str]) -> Iterator[list[Any]]:
        """The Arrow arrays of the wanted columns, in batches."""
        places = self.find_places(names)
        unique = len(set(self.file.schema_arrow.names)) == len(self.names)  # Arrow takes no columns by number
        wanted = list(dict.fromkeys(names)) if unique else None
        with explain_arrow_errors(self.path, "a damaged Parquet file"):
            for batch in self.file.iter_batches(batch_size=BATCH_ROWS, row_groups=self.row_groups, columns=wanted):
                yield [batch.column(name if unique else place) for name, place in zip(names, places, strict=True)]

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, in batches."""
        for arrays in self.arrays(names):
            yield list(map(arrow_values, arrays))


def arrow_values(array: Any) -> list[Any]:
    """The values of an Arrow array; ScalarText for times that Python cannot hold: too late, too fine, an unknown zone.

    >>> import pyarrow
    >>> arrow_values(pyarrow.array([0], "timestamp[s]")), arrow_values(pyarrow.array([3 * 10**11], "timestamp[s]"))
    ([datetime.datetime(1970, 1, 1, 0, 0)], ['11476-08-15 05:20:00'])
    """
    import pyarrow

    try:
        values: list[Any] = array.to_pylist()
    except (OverflowError, ValueError):
        kind, scalars = array.type, list(array)
        if pyarrow.types.is_timestamp(kind) and kind.tz is not None:
            array = array.cast(pyarrow.timestamp(kind.unit, "UTC"))
        texts = array.cast(pyarrow.string()).to_pylist()
        values = [
            None if text is None else ScalarText.of(text, scalar) for text, scalar in zip(texts, scalars, strict=True)
        ]
    return values


class ScalarText(str):
    """The text of an Arrow value that Python cannot hold; `scalar` is the value, for writing Parquet again."""

    scalar: Any

    @classmethod
    def of(cls, text: str, scalar: Any) -> ScalarText:
        """The text of a scalar."""
        value = cls(text)
        value.scalar = scalar
        return value


class DatasetTable(Table):
    """A Hugging Face dataset on disk: Arrow files, and a description that names the classes."""

    header = "dataset on disk"

    def __init__(self, source: ByteSource, options: ReadOptions) -> None:
        pyarrow = import_extra("pyarrow", "reading Arrow files")
        path = self.path = source.path
        self.options = options
        folder = _choose_split(path)
        state = _read_json(folder / "state.json") if (folder / "state.json").is_file() else {}
        listed = [entry["filename"] for entry in state.get("_data_files", ()) if isinstance(entry, dict)]
        self._files = [folder / Path(name).name for name in listed] or sorted(folder.glob("*.arrow"))
        if not self._files:
            raise BadData(f"{path} has the description of a dataset but no .arrow files; save the dataset again")
        features = _read_json(folder / "dataset_info.json").get("features") or {}
        self._classes = {name: names for name, feature in features.items() if (names := _class_names(feature))}
        first = str(self._files[0])
        with explain_arrow_errors(first, "an incomplete Arrow file"), pyarrow.memory_map(first) as source:
            self.names = tuple(pyarrow.ipc.open_stream(source).schema.names)

    def _read(self) -> Iterator[Any]:
        import pyarrow

        for file in self._files:
            with explain_arrow_errors(str(file), "a damaged Arrow file"), pyarrow.memory_map(str(file)) as source:
                yield from pyarrow.ipc.open_stream(source)

    def sample(self) -> TableSample:
        """The first values of every column."""
        first = next(self._read(), None)
        return {} if first is None else {n: self._values(first.slice(0, SAMPLE_ROWS), n) for n in self.names}

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, in batches; class numbers are replaced by names."""
        for batch in self._read():
            for start in range(0, batch.num_rows, BATCH_ROWS):
                part = batch.slice(start, BATCH_ROWS)
                yield [self._values(part, name) for name in names]

    def _values(self, batch: Any, name: str) -> list[Any]:
        values = arrow_values(batch.column(name))
        classes = self._classes.get(name)
        return values if classes is None else [_name_class(value, classes) for value in values]


def _choose_split(path: str) -> Path:
    """The folder itself, or the only split of a dictionary of datasets; an error for several."""
    folder = check_exists(path)
    if not (folder / "dataset_dict.json").is_file():
        return folder
    splits = [str(name) for name in _read_json(folder / "dataset_dict.json").get("splits", ())]
    if len(splits) != 1:
        raise BadData(
            f"{path} has {len(splits)} splits ({join_names(splits)}); name the folder of one, such as "
            f"{folder / (splits or ['train'])[0]}"
        )
    return folder / splits[0]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise BadData(f"{path} cannot be read as JSON ({problem}); save the dataset again") from problem
    return content if isinstance(content, dict) else {}


def _class_names(feature: Any) -> list[str] | None:
    """The names of a ClassLabel, or of a list of them."""
    if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
        return [str(name) for name in feature.get("names") or ()] or None
    return _class_names(feature["feature"]) if isinstance(feature, dict) and "feature" in feature else None


def _name_class(value: Any, classes: list[str]) -> Any:
    if isinstance(value, list):
        return [_name_class(item, classes) for item in value]
    is_class = isinstance(value, int) and 0 <= value < len(classes)
    return classes[value] if is_class else None  # -1 stands for no label


class SqliteTable(Table):
    """A table or view of a SQLite database: sqlite:file.db?table=name, or a file with --set table."""

    def __init__(self, source: ByteSource, options: ReadOptions) -> None:
        import sqlite3
        from urllib.parse import parse_qs, quote

        path = source.path
        name, _, query = path.removeprefix(SQLITE).partition("?") if path.startswith(SQLITE) else (path, "", "")
        self.path, self.options = path, options
        file_path = _check_file(name, "a database")
        table = parse_qs(query).get("table", [options.table])[0]
        self._size, self._steps = file_path.stat().st_size, 0
        self._max_ratio = options.max_ratio
        self._database = sqlite3.connect(f"file:{quote(str(file_path))}?mode=ro", uri=True)
        self._database.set_progress_handler(self._count_steps, STEPS)
        self._table = self._choose_table(table)
        every = self._run(f"SELECT * FROM {_quote_name(self._table)} LIMIT 0")  # table_info omits generated columns
        self.names = tuple(column[0] for column in every.description)
        self.header = f"table {self._table}"

    def _choose_table(self, name: str | None) -> str:
        tables = [
            row[0]
            for row in self._run(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            )
        ]
        if name is not None:
            return choose(tables, name, f"table in {self.path}")
        if set(tables) >= RECORD_TABLES:
            return LABELS
        if len(tables) != 1:
            raise BadData(
                f"{self.path} has {len(tables)} tables ({join_names(tables)}); choose one with --set table=NAME"
                if tables
                else f"{self.path} has no tables; name another database"
            )
        return str(tables[0])

    def _run(self, query: str) -> sqlite3.Cursor:
        with self._explain_errors():
            return self._database.execute(query)

    def _count_steps(self) -> bool:
        """Whether to stop: a view may run forever without a row."""
        self._steps += STEPS
        return self._steps > max(STEPS_FREELY, self._max_ratio * self._size)

    def _bounded(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """The rows, with a limit: a view may generate any number."""
        most, read = max(UNPACKED_FREELY, self._max_ratio * self._size), 0
        for row in rows:
            read += 64 + sum(map(_length, row))  # a row itself costs memory and time
            if read > most:
                raise BadData(
                    f"reading table {self._table} of {self.path} was stopped after {read >> 20} MiB, because this is "
                    f"more than {self._max_ratio} times the size of the file; if it is a view, save its rows as a table"
                )
            yield row

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        import sqlite3

        try:
            yield
        except sqlite3.Error as problem:
            if self._steps > STEPS_FREELY and "interrupted" in str(problem):
                raise BadData(
                    f"a query of {self.path} was stopped after {self._steps:,} steps, which is too many for a file of "
                    "its size (is it an endless view?); save the rows of the view as a table first"
                ) from problem
            raise BadData(
                f"{self.path} cannot be read as a SQLite database ({problem}); name another file or table"
            ) from problem

    def sample(self) -> TableSample:
        """The first values of every column."""
        with self._explain_errors():
            query = f"SELECT * FROM {_quote_name(self._table)} LIMIT {SAMPLE_ROWS}"
            rows = list(self._bounded(self._database.execute(query)))
        return {name: [row[index] for row in rows] for index, name in enumerate(self.names)}

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, a batch at a time."""
        columns = ", ".join(map(_quote_name, names))
        rows = self._run(f"SELECT {columns} FROM {_quote_name(self._table)}")
        with self._explain_errors():
            for batch in split_into_batches(
                self._bounded(rows), self.options.rows, size=lambda row: sum(map(_length, row))
            ):
                yield [list(column) for column in zip(*batch, strict=True)]


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _length(value: Any) -> int:
    return len(value) if isinstance(value, (str, bytes)) else 16


class ExcelTable(Table):
    """A sheet of an Excel workbook (.xlsx), its first row the header; needs the extra `excel`."""

    def __init__(self, source: ByteSource, options: ReadOptions) -> None:
        path = source.path
        self.path, self.options = path, options
        file_path = _check_file(path, "a workbook")
        load = import_extra("openpyxl", "reading .xlsx files").load_workbook
        check_zip(file_path, options.max_ratio)
        try:
            book = load(file_path, read_only=True, data_only=True)
        except Exception as problem:  # openpyxl raises the errors of its XML and zip libraries
            raise BadData(f"{path} is not an Excel workbook ({problem}); save it again as .xlsx") from problem
        sheet = self._choose_sheet(book.sheetnames)
        book[sheet].reset_dimensions()  # the stated size may be a million empty columns
        self._rows = self._read_rows(book[sheet])
        self._read_header(sheet)

    def _choose_sheet(self, sheets: list[str]) -> str:
        if self.options.table is not None:
            return choose(sheets, self.options.table, f"sheet in {self.path}")
        if len(sheets) != 1:
            raise BadData(
                f"{self.path} has {len(sheets)} sheets ({join_names(sheets)}); choose one with --set table=NAME"
            )
        return sheets[0]

    def _read_rows(self, sheet: Any) -> Iterator[tuple[int, list[Any]]]:
        """(its number in the sheet, the cells up to the last filled one) of each row that is not empty."""
        try:
            for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
                cells = list(map(_plain_cell, row))
                while cells and cells[-1] in (None, ""):
                    cells.pop()
                if cells:
                    yield number, cells
        except Exception as problem:  # openpyxl raises the errors of its XML and zip libraries
            raise BadData(f"{self.path} has a damaged sheet ({problem}); save it again as .xlsx") from problem

    def _read_header(self, sheet: str) -> None:
        start = list(islice(self._rows, SAMPLE_ROWS + 1))
        if not start:
            raise BadData(f"{self.path} is empty; expected a header and rows")
        del start[: self._count_titles([row for _, row in start])]
        number, first = start.pop(0)
        self._width = len(first)
        self._sampled = list(self._even_rows(start))
        cells = [_spell_cell(cell) for cell in first]
        below = [[_spell_cell(cell) for cell in row] for row in self._sampled]
        if find_header(self.path, cells, below, self.options):
            self.names, self.header = tuple(cell.strip() for cell in cells), f"header in row {number} of sheet {sheet}"
        else:
            self._sampled.insert(0, first)
            self.names = tuple(str(number) for number in range(1, len(first) + 1))
            self.header, self.numbered = f"no header, sheet {sheet}", True

    def _count_titles(self, start: Sequence[Sequence[Any]]) -> int:
        """The number of rows above the header: each is one cell, and the header has the usual name of a column."""
        n_titles = next((n for n, row in enumerate(start) if _count_filled(row) > 1), 0)
        header = start[n_titles]
        expected = {name.strip().casefold() for name in self.options.expected}
        named = any(
            isinstance(cell, str) and (names_a_column(cell) or cell.strip().casefold() in expected) for cell in header
        )
        return n_titles if named and self.options.header is not False else 0

    def _even_rows(self, rows: Iterable[tuple[int, list[Any]]]) -> Iterator[list[Any]]:
        """The rows with as many cells as the header; one with more is bad."""
        for number, row in rows:
            if len(row) > self._width:
                problem = f"has {len(row)} cells, but the first row of the table has {self._width}"
                self.options.reject_row(self.path, number, problem, unit="row")
            else:
                yield [*row, *[None] * (self._width - len(row))]

    def sample(self) -> TableSample:
        """The first values of every column."""
        return {name: [row[index] for row in self._sampled] for index, name in enumerate(self.names)}

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, a batch at a time."""
        places = self.find_places(names)
        rows = chain(self._sampled, self._even_rows(self._rows))
        for batch in split_into_batches(rows, self.options.rows, size=lambda row: sum(map(_length, row))):
            yield [[row[index] for row in batch] for index in places]


def check_zip(path: Path, max_ratio: int) -> None:
    """Raise an error for a file that is not a zip archive, or exceeds the compression ratio."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError) as problem:
        raise BadData(f"{path} is not an Excel workbook ({problem}); save it again as .xlsx") from problem
    if unpacked > max(UNPACKED_FREELY, max_ratio * path.stat().st_size):
        raise BadData(f"{path} unpacks to {unpacked >> 20} MiB, more than {max_ratio} times its size; save it as CSV")


def _plain_cell(value: Any) -> Any:
    """Dates as ISO text; integral floats, as spreadsheets store integers, as integers."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _count_filled(row: Sequence[Any]) -> int:
    return sum(cell is not None and cell != "" for cell in row)


def _spell_cell(value: Any) -> str:
    return "" if value is None else str(value)
