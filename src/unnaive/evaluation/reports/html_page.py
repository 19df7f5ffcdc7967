"""One self-contained HTML page: no network, no scripts, light and dark, narrow and wide, for screen and print.

The helpers are plain functions from values to HTML; all data goes through `escape`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from unnaive.base.errors import MissingExtra, count_noun
from unnaive.evaluation.reports.plots import INK, Figure, inline_svg
from unnaive.evaluation.results import versions

STYLESHEETS = tuple(Path(__file__).with_name(name) for name in ("palette.css", "page.css"))


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading; it is omitted if it has no content."""

    title: str
    content: str

    @property
    def anchor(self) -> str:
        """The anchor that the table of contents links to."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())


def page(title: str, about: str, sections: Iterable[Section]) -> str:
    """The whole document; `about` is text, sections contain HTML."""
    shown = [section for section in sections if section.content]
    links = " ".join(f'<a href="#{section.anchor}">{escape(section.title)}</a>' for section in shown)
    body = "".join(
        f'<section id="{section.anchor}"><h2>{escape(section.title)}</h2>{section.content}</section>'
        for section in shown
    )
    style = "".join(path.read_text(encoding="utf-8") for path in STYLESHEETS)
    programs = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>"
        f"<header><h1>{escape(title)}</h1><p>{escape(about)}</p><nav>{links}</nav></header>"
        f"<main>{body}</main><footer>Made with {escape(programs)}</footer></body></html>\n"
    )


def tiles(values: Iterable[tuple[str, str]]) -> str:
    """Figures with their names, as large tiles."""
    return (
        '<ul class="tiles">'
        + "".join(f"<li><b>{escape(v)}</b><span>{escape(n)}</span></li>" for n, v in values)
        + "</ul>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "", label: str = "") -> str:
    """A table in a box that scrolls by itself on narrow pages; cells are HTML."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(_cell(cell) for cell in rest) + "</tr>" for first, *rest in rows
    )
    return scrolling(f'<table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>', label)


def _cell(content: str) -> str:
    """Wrap content in a cell, unless it is one already."""
    return content if content.startswith("<td") else f"<td>{content}</td>"


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
