"""Writes the live demo of the documentation site: the tickets model as one page that runs in the browser.

python tools/demo_page.py [FOLDER]      build/site by default, where `make docs` has put the site
"""

from __future__ import annotations

import sys
from pathlib import Path

from unnaive import TextClassifier
from unnaive.apps.cli.commands.export import make_page
from unnaive.io.tickets import load_tickets

NAME = "tickets-demo.html"  # docs/run-elsewhere.md shows it


def demo_page(model: str = "auto") -> str:
    """The page, with a model of all built-in tickets."""
    corpus = load_tickets()
    labels = [labels[0] for labels in corpus.labels]
    return make_page(TextClassifier(model).fit(list(corpus.texts), labels).fitted_)


def main() -> None:
    """Write the page into the folder of the site."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/site")
    (folder / NAME).write_text(demo_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
