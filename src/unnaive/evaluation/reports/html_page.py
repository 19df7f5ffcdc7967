"""One self-contained HTML page: no network, light and dark, narrow and wide, for screen and print.

The helpers are plain functions from values to HTML; all data goes through `escape`. The page's policy allows one
script, report.js, by its hash: it sorts and filters tables, and a page without scripts shows the same.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from unnaive.base.errors import MissingExtra, count_noun
from unnaive.base.palette import css_variables
from unnaive.evaluation.reports.identity import Identity, NamedFile
from unnaive.evaluation.reports.plots import INK, Figure, inline_svg
from unnaive.evaluation.results import versions

HERE = Path(__file__).parent
STYLESHEETS = (HERE / "shared.css", HERE / "page.css")
SCRIPT = HERE / "report.js"
STACKED = ("findings", "documents")
FILTERED = 12  # rows from which a table can be filtered


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading; it is omitted if it has no content."""

    title: str
    content: str

    @property
    def anchor(self) -> str:
        """The anchor that the table of contents links to."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())


def page(
    title: str, verdict: str, sections: Iterable[Section], *, identity: Identity | None = None, below: str = ""
) -> str:
    """The whole document: the verdict in one sentence, the identity, the sections and what is `below` them, as HTML."""
    shown = [section for section in sections if section.content]
    links = " ".join(f'<a href="#{section.anchor}">{escape(section.title)}</a>' for section in shown)
    body = "".join(
        f'<section id="{section.anchor}"><h2>{escape(section.title)}</h2>{section.content}</section>'
        for section in shown
    )
    style = css_variables() + "".join(path.read_text(encoding="utf-8") for path in STYLESHEETS)
    script = SCRIPT.read_text(encoding="utf-8")
    programs = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>"
        f'<header><h1>{escape(title)}</h1><p class="verdict">{escape(verdict)}</p>'
        f"{identity_list(identity or Identity())}<nav>{links}</nav></header>"
        f"<main>{body}{below}</main><footer>Made with {escape(programs)}</footer>"
        f"<script>{script}</script></body></html>\n"
    )


def policy(script: str) -> str:
    """What the browser lets a page do: run this script, and none that comes from data; load and send nothing."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def identity_list(identity: Identity) -> str:
    """What the report is about, as a list of names and values; the whole hashes can be copied."""
    values = {what: escape(value) for what, value in identity.rows()}
    for what, files in (identity.files or {}).items():
        values[what] = ", ".join(map(_file_name, files))
    if identity.command:
        values["command"] = f"<code>{escape(identity.command)}</code>"
    rows = "".join(f"<div><dt>{escape(what)}</dt><dd>{value}</dd></div>" for what, value in values.items())
    return f'<dl class="identity">{rows}</dl>' if rows else ""


def _file_name(file: NamedFile) -> str:
    """A file with the beginning of its hash; the whole one is its title."""
    name = breakable(str(file))
    return f'<span title="{escape(file.sha256, quote=True)}">{name}</span>' if file.sha256 else name


def embedded(name: str, content: Any) -> str:
    """Values for the script of the page, as JSON that no text of the data can end."""
    text = json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def tiles(values: Iterable[tuple[str, str]]) -> str:
    """Figures with their names, as large tiles."""
    return (
        '<ul class="tiles">'
        + "".join(f"<li><b>{escape(v)}</b><span>{escape(n)}</span></li>" for n, v in values)
        + "</ul>"
    )


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    kind: str = "",
    label: str = "",
    first: int = 0,
    marks: Sequence[str] = (),
) -> str:
    """A table that the page's script sorts by a column, and filters if it has many rows; cells are HTML.

    Of more than `first` rows the script hides the others until it is asked for them. `marks` are attributes of rows.
    """
    cells = list(rows)
    settings = f' data-first="{first}"' if 0 < first < len(cells) else ""
    settings += " data-filter" if len(cells) >= FILTERED else ""
    kind = f"{kind} sortable".strip() if len(cells) > 1 else kind
    return fixed_table(head, cells, kind=kind, label=label, settings=settings, marks=marks)


def fixed_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    kind: str = "",
    label: str = "",
    settings: str = "",
    marks: Sequence[str] = (),
) -> str:
    """A table in a box that scrolls by itself on narrow pages; its rows stay in their order.

    Rows of the kinds in STACKED have a text; on narrow pages their cells are below each other, with their names.
    """
    top = "".join(map(_head_cell, head))
    names = [_name(cell) if kind.partition(" ")[0] in STACKED else "" for cell in head]
    cells = [f'<th scope="row"{names[0]}>{cells[0]}</th>' + "".join(map(_cell, cells[1:], names[1:])) for cells in rows]
    attributes = [f" {mark}" for mark in marks] or [""] * len(cells)
    body = "".join(f"<tr{mark}>{inside}</tr>" for mark, inside in zip(attributes, cells, strict=True))
    return scrolling(
        f'<table class="{kind}"{settings}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>', label
    )


def _head_cell(content: str) -> str:
    """Wrap a heading in a cell, unless it is one already; an empty cell is no heading."""
    if content.startswith("<th"):
        return content
    return f'<th scope="col">{content}</th>' if content else "<td></td>"


def _cell(content: str, name: str) -> str:
    """Wrap content in a cell, unless it is one already."""
    return content.replace("<td", f"<td{name}", 1) if content.startswith("<td") else f"<td{name}>{content}</td>"


def _name(head: str) -> str:
    """The attribute with the name of a column."""
    return f' data-name="{re.sub("<[^<>]*>", "", head)}"'


def scrolling(content: str, label: str) -> str:
    """A box that scrolls horizontally, also with the keyboard."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label, quote=True)}">{content}</div>'


def bar(share: float, name: str) -> str:
    """A cell with a bar from 0 to 1."""
    wide = 100 * min(max(share, 0.0), 1.0)
    return f'<td class="bar"><i style="width:{wide:.1f}%" role="img" aria-label="{escape(name, quote=True)}"></i></td>'


def figure(
    draw: Callable[..., Figure], *values: Any, alt: str, caption: str = "", kind: str = "", **settings: Any
) -> str:
    """A figure drawn by one of plots.py, or the install command if matplotlib is missing."""
    try:
        svg = inline_svg(draw(*values, ink=INK, **settings), alt)
    except MissingExtra as problem:
        return page_note(f"{escape(alt)}: {escape(str(problem))}")
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure class="{kind}">{svg}{text}</figure>'


def breakable(name: str) -> str:
    """A name as HTML with optional line breaks after punctuation.

    >>> breakable("comp.sys & co")
    'comp.<wbr>sys &amp; co'
    """
    return re.sub(r"([._/-])(?=\w)", r"\1<wbr>", escape(name))


def figures(*drawn: str) -> str:
    """Figures side by side, as many as fit."""
    return f'<div class="figures">{"".join(drawn)}</div>' if any(drawn) else ""


def page_note(content: str) -> str:
    """A small remark above or below its subject; content is HTML."""
    return f'<p class="note">{content}</p>'


def bullets(items: Iterable[str], *, kind: str = "", numbered: bool = False) -> str:
    """A list of HTML items; empty if there are none.

    >>> bullets(["ham", "eggs"], numbered=True)
    '<ol><li>ham</li><li>eggs</li></ol>'
    """
    inside = "".join(f"<li>{item}</li>" for item in items)
    name, marked = "ol" if numbered else "ul", f' class="{kind}"' if kind else ""
    return f"<{name}{marked}>{inside}</{name}>" if inside else ""


def headed(title: str, content: str) -> str:
    """Content in a box below a small heading, to be placed beside others."""
    return f"<div><h3>{escape(title)}</h3>{content}</div>"


def side_by_side(*parts: str) -> str:
    """Parts side by side if the page is wide enough."""
    return f'<div class="side">{"".join(parts)}</div>'


def marked(text: str, share: float) -> str:
    """A segment of text with its evidence: shaded by |share|, from −1 against the class to 1 for it.

    >>> marked("ball", 0.5), marked("the", 0.01)
    ('<mark class="for" style="--weight:45%">ball</mark>', 'the')
    """
    if abs(share) < 0.05:
        return escape(text)
    kind = "for" if share > 0 else "against"
    return f'<mark class="{kind}" style="--weight:{15 + 60 * abs(share):.0f}%">{escape(text)}</mark>'


def evidence_legend(class_name: str = "the class") -> str:
    """The legend of the marks in a text."""
    return page_note(
        f'<mark class="for" style="--weight:40%">solid line</mark> is evidence for {escape(class_name)}, '
        '<mark class="against" style="--weight:40%">dashed line</mark> against it; darker means stronger.'
    )


def describe_sizes(documents: int, classes: int, terms: int) -> str:
    """The size of the data in words.

    >>> describe_sizes(300, 1, 2_500)
    '300 documents, 1 class, 2,500 terms'
    """
    parts = (count_noun(documents, "document"), count_noun(classes, "class", "classes"), count_noun(terms, "term"))
    return ", ".join(parts)


def collapsible(summary: str, content: str) -> str:
    """Content that is hidden until its summary line is opened."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"
