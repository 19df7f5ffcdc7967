"""What the Python reference shows of docstrings, an extension of griffe that mkdocs.yml names.

Docstrings are taken from the running program, since those of models get their parameters from the settings; and what is
laid out by spaces in them stays as it is: examples that run become code, formulas and lists of fields become blocks.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import griffe

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)  # as numpydoc writes them
# of {"a", "b"} or None, default=None the parser would keep the braces alone, and take "a" for the default
CHOICES = re.compile(r"^(\w+ : )([^\n]*\{[^\n]*?)(, default=[^\n]*)$", re.MULTILINE)
COLUMNS = re.compile(r"\S {2,}\S")
FIELD = re.compile(r"^(\w+(?:, \w+)*) {2,}(\S.*)$")
FORMULA = re.compile(r"[=∝≈].*[Σ∏Π√•·|_^²λαθϑφ−]|[Σ∏Π√•·|_^²λαθϑφ−].*[=∝≈]")


def lay_out(text: str) -> str:
    """The docstring with blocks in the place of paragraphs that are examples, formulas or columns.

    >>> lay_out("Sums.\\n\\nscore = Σ_t n_t   for all t\\n\\n>" ">> 1 + 1\\n2").split("```")[1::2]
    ['text\\nscore = Σ_t n_t   for all t\\n', 'pycon\\n>>> 1 + 1\\n2\\n']
    """
    found = SECTION.search(text)
    before, after = (text[: found.start()], text[found.start() :]) if found else (text, "")
    paragraphs = [_lay_out_paragraph(one) for one in re.split(r"\n{2,}", before.strip("\n"))]
    return "\n\n".join([*paragraphs, *([CHOICES.sub(_write_choices, after)] if after else [])])


def _write_choices(found: re.Match[str]) -> str:
    """The line of a parameter with | between the values that it may have."""
    name, values, default = found.groups()
    return f"{name}{re.sub('[{}]', '', values).replace(', ', ' | ').replace(' or ', ' | ')}{default}"


def _lay_out_paragraph(paragraph: str) -> str:
    lines = paragraph.split("\n")
    if lines[0].startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    if paragraph.startswith(("- ", "```")):
        return paragraph
    fields = _read_fields(lines)
    if fields and not any(FORMULA.search(line) for line in lines):
        return "\n".join(f"- `{name}`: {words}" for name, words in fields)
    formula = all(FORMULA.search(line) for line in lines) and not paragraph.endswith(".")
    if formula or any(COLUMNS.search(line) for line in lines):
        return f"```text\n{paragraph}\n```"
    return paragraph


def _read_fields(lines: list[str]) -> list[tuple[str, str]]:
    """(name, what it is) of lines such as `text   the start of the text`, with those that go on; empty for others.

    >>> _read_fields(["row   the number of a row,", "      from 1 on", "text  its start"])
    [('row', 'the number of a row, from 1 on'), ('text', 'its start')]
    """
    found: list[tuple[str, str]] = []
    for line in lines:
        field = FIELD.match(line)
        if field is not None:
            found.append((field[1], field[2]))
        elif found and line.startswith(" "):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        else:
            return []
    return found


class ReferenceDocstrings(griffe.Extension):
    """Replaces the docstring of every class, function and property that is shown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object once it is known."""
        if obj.docstring is None or obj.is_module:
            return
        text = _running_docstring(obj) or obj.docstring.value
        obj.docstring.value = lay_out(inspect.cleandoc(text))

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called once all is known: what is computed on first use is a property to its reader."""
        for one in _classes(pkg):
            for name, member in list(one.members.items()):
                if member.is_function and any("lazy_property" in str(by.value) for by in member.decorators):
                    shown = griffe.Attribute(name, docstring=member.docstring, annotation=member.returns)
                    shown.labels.add("property")
                    one.set_member(name, shown)


def _classes(module: griffe.Module) -> Iterator[griffe.Class]:
    for member in module.members.values():
        if member.is_alias:
            continue
        if member.is_module:
            yield from _classes(member)
        elif member.is_class:
            yield member


def _running_docstring(obj: griffe.Object) -> str | None:
    """The docstring of a class as the program has it; None for anything else, and where the module needs an extra."""
    if not obj.is_class or "." in obj.path.removeprefix(f"{obj.module.path}."):
        return None
    try:
        return getattr(import_module(obj.module.path), obj.name).__doc__
    except ImportError:  # pyspark is an extra
        return None
