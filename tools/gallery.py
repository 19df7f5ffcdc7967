"""Writes docs/gallery.md and a notebook for each script of examples/: its code, what it prints and what it draws.

A script is cut into cells at its empty lines between statements of the top level; the cells are run one after the
other, as a notebook would run them. Pictures are those that `plt.show()` shows.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "docs" / "gallery.md"
FOLDER = ROOT / "docs" / "gallery"  # pictures and notebooks
ORDER = (  # from the first step on; title and script
    ("A first classifier", "first_classifier"),
    ("Multilabel", "multilabel"),
    ("Which words decided", "why"),
    ("Which model?", "which_model"),
    ("When the model is unsure", "unsure"),
    ("Few labels", "few_labels"),
    ("Wrong labels", "label_errors"),
    ("Forgetting", "forgetting"),
    ("In a scikit-learn pipeline", "in_a_pipeline"),
    ("Languages, mail and HTML", "languages"),
    ("Records with fields", "fields"),
    ("Embeddings beside the words", "embeddings"),
    ("Routing support mail", "support_mail"),
    ("Filing documents, as paperless-ngx does", "paperless"),
    ("A prompt router", "prompt_router"),
    ("Moderation with a recall target", "moderation"),
)


class Cell(NamedTuple):
    """A piece of a script, what it prints, and the picture that it shows as SVG; empty where it has none."""

    code: str
    printed: str
    picture: str


def split_cells(source: str) -> list[str]:
    """The code after the docstring, cut at empty lines between statements of the top level; imports are one cell.

    >>> split_cells('"What it is."\\n\\nimport os\\n\\nimport sys\\n\\nx = [\\n\\n1]\\n\\nprint(x)\\n')
    ['import os\\n\\nimport sys', 'x = [\\n\\n1]', 'print(x)']
    """
    lines, cells, imports = source.splitlines(), list[list[int]](), False
    for node in ast.parse(source).body[1:]:
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        if cells and ((is_import and imports) or lines[first - 1].strip()):
            cells[-1][1] = last
        else:
            cells.append([first, last])
        imports = is_import
    return ["\n".join(lines[first:last]) for first, last in cells]


def run_cells(cells: list[str], name: str) -> Iterator[Cell]:
    """Run the cells in one namespace."""
    import matplotlib

    from unnaive.evaluation.reports.plots import STYLE

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    style = {**STYLE, "figure.figsize": (6.0, 3.4), "figure.constrained_layout.use": True}
    with matplotlib.rc_context(style):
        for code in cells:
            printed, picture = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, name, "exec"), names)  # noqa: S102  # code of this repository
            if plt.get_fignums() and "plt.show()" in code:
                plt.savefig(picture, format="svg", metadata={"Date": None})
                plt.close("all")
            yield Cell(code, printed.getvalue(), picture.getvalue())


def run_example(script: Path) -> list[Cell]:
    """The cells of the script with what they print and show."""
    return list(run_cells(split_cells(script.read_text(encoding="utf-8")), script.name))


def opening_sentence(script: Path) -> str:
    """What the script says of itself."""
    return ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""


def render_example(title: str, script: Path, cells: list[Cell]) -> str:
    """The part of the page on one script: its opening sentence, its code, what it prints, and its picture."""
    code = script.read_text(encoding="utf-8").split('"""', 2)[2].strip()
    printed = "".join(cell.printed for cell in cells).rstrip()
    sentence = opening_sentence(script)
    return (
        f"## {title}\n\n{sentence} [Notebook](gallery/{script.stem}.ipynb)\n\n```python\n{code}\n```\n\n"
        f"```text\n{printed}\n```\n\n![{title}: the picture that the script shows](gallery/{script.stem}.svg)\n"
    )


def make_notebook(title: str, script: Path, cells: list[Cell]) -> dict[str, Any]:
    """The script as an executed Jupyter notebook (nbformat 4.5)."""
    opening = {"cell_type": "markdown", "id": "opening", "metadata": {}, "source": _lines(
        f"# {title}\n\n{opening_sentence(script)}"
    )}  # fmt: skip
    made = [
        {
            "cell_type": "code",
            "execution_count": number,
            "id": f"cell-{number}",
            "metadata": {},
            "outputs": _outputs(cell),
            "source": _lines(cell.code),
        }
        for number, cell in enumerate(cells, 1)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": [opening, *made],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _outputs(cell: Cell) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if cell.printed:
        found.append({"name": "stdout", "output_type": "stream", "text": _lines(cell.printed)})
    if cell.picture:
        data = {"image/svg+xml": _lines(cell.picture), "text/plain": ["<Figure>"]}
        found.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Run every example, and write the page, the pictures and the notebooks."""
    FOLDER.mkdir(exist_ok=True)
    parts = [
        "# Examples\n\nThis page shows the sixteen short scripts of `examples/`, each with its output and its picture. "
        "The scripts run without changes; `python tools/gallery.py` writes this page and the notebooks from them.\n"
    ]
    for title, name in ORDER:
        script = ROOT / "examples" / f"{name}.py"
        cells = run_example(script)
        parts.append(render_example(title, script, cells))
        (FOLDER / f"{name}.svg").write_text("".join(cell.picture for cell in cells), encoding="utf-8")
        notebook = json.dumps(make_notebook(title, script, cells), indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.ipynb").write_text(notebook + "\n", encoding="utf-8")
    PLACE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
