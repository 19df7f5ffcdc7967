"""Options that several verbs share. A verb that reads data says `source: DataFile` and gets it whole."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from unnaive.reading.datafiles import DataFile

INPUT = "Input"  # panel of the help

Text = Annotated[
    list[str] | None, typer.Option("--text", help="Column of text; several are joined.", rich_help_panel=INPUT)
]
Label = Annotated[str | None, typer.Option("--label", help="Column of labels.", rich_help_panel=INPUT)]
Id = Annotated[str | None, typer.Option("--id", help="Column that names the documents.", rich_help_panel=INPUT)]
Separator = Annotated[
    str | None,
    typer.Option(
        "--label-separator",
        help="Between the labels of one document: ';', …, or list for cells such as ['a', 'b'].",
        rich_help_panel=INPUT,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, jsonl, parquet, excel, sqlite, fasttext, lines, files, folder or dataset; found by default.",
        rich_help_panel=INPUT,
    ),
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="Between CSV fields; found by default.", rich_help_panel=INPUT)
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row names the columns, which are else 1, 2, 3, …; found by default.",
        show_default=False,
        rich_help_panel=INPUT,
    ),
]
LabelColumns = Annotated[
    list[str] | None,
    typer.Option("--label-columns", help="Columns of 0 and 1, a label each, such as 'tag_*'.", rich_help_panel=INPUT),
]
TableName = Annotated[
    str | None, typer.Option("--table", help="Table of a database, sheet of a workbook.", rich_help_panel=INPUT)
]
FollowLinks = Annotated[
    bool, typer.Option("--follow-links", help="Read what links lead to, outside a folder.", rich_help_panel=INPUT)
]
MaxLine = Annotated[
    int, typer.Option("--max-line", metavar="MIB", min=1, help="Longest line or field, in MiB.", rich_help_panel=INPUT)
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="UTF-8 by default, else found.", rich_help_panel=INPUT)
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that cannot be read.", rich_help_panel=INPUT)]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]

_SHARED: dict[str, tuple[Any, Any]] = {
    "text": (Text, None),
    "label": (Label, None),
    "id": (Id, None),
    "label_separator": (Separator, None),
    "label_columns": (LabelColumns, None),
    "format": (Format, None),
    "delimiter": (Delimiter, None),
    "header": (Header, None),
    "encoding": (Encoding, None),
    "table": (TableName, None),
    "skip_bad": (SkipBad, False),
    "follow_links": (FollowLinks, False),
    "max_line": (MaxLine, 64),
}


def reading(help: str, *, optional: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb the DATA argument and the options of reading in the place of its parameter `source`."""
    data = Annotated[list[str], typer.Argument(metavar="DATA...", help=help, show_default=False)]
    default = ["-"] if optional else inspect.Parameter.empty

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(verb, eval_str=True, locals={"DataFile": Any}).parameters

        @functools.wraps(verb)
        def wrapper(**given: Any) -> Any:
            shared = {name: given.pop(name) for name in _SHARED}
            return verb(source=data_file(given.pop("data"), **shared), **given)

        keyword = inspect.Parameter.KEYWORD_ONLY
        shown: list[inspect.Parameter] = []
        for name, parameter in own.items():
            if name == "source":
                shown.append(inspect.Parameter("data", keyword, default=default, annotation=data))
            else:
                shown.append(parameter.replace(kind=keyword))
        shown += [inspect.Parameter(n, keyword, default=d, annotation=a) for n, (a, d) in _SHARED.items()]
        wrapper.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return wrapper

    return decorate


def data_file(
    paths: list[str],
    *,
    text: list[str] | None,
    label: str | None,
    id: str | None,
    label_separator: str | None,
    label_columns: list[str] | None,
    format: str | None,
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
    table: str | None,
    skip_bad: bool,
    follow_links: bool,
    max_line: int,
) -> DataFile:
    """The data files that the options describe."""
    from unnaive.errors import UnnaiveError
    from unnaive.reading.datafiles import DataFile
    from unnaive.reading.options import ReadOptions

    if delimiter is not None:
        delimiter = delimiter.replace("\\t", "\t")
        if len(delimiter) != 1:
            raise UnnaiveError(f"the delimiter is {delimiter!r}; give one character, such as ';' or '\\t'")
    options = ReadOptions(
        delimiter=delimiter,
        header=header,
        encoding=encoding,
        table=table,
        skip_bad=skip_bad,
        follow_links=follow_links,
        max_line=max_line << 20,
    )
    return DataFile(
        tuple(paths),
        format,
        text=tuple(text or ()),
        label=label,
        id=id,
        separator=label_separator or None,
        label_columns=tuple(label_columns or ()),
        options=options,
    )


def settings_of(pairs: list[str]) -> dict[str, Any]:
    """name=value pairs as settings; values are JSON where they can be, else words.

    >>> settings_of(["alpha=0.1", "smoothing=jelinek-mercer", "norm=true"])
    {'alpha': 0.1, 'smoothing': 'jelinek-mercer', 'norm': True}
    """
    from unnaive.errors import UnnaiveError

    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UnnaiveError(f"a setting came as {pair!r}; write NAME=VALUE, for instance --set alpha=0.1")
        settings[name.strip().replace("-", "_")] = _value(value.strip())
    return settings


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)
