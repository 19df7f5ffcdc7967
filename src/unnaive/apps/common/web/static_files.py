"""The location of the files that all pages share; importable without a web framework."""

from __future__ import annotations

from importlib.resources import files

STATIC = files("unnaive.apps.common.web") / "static"


def read_stylesheet() -> str:
    """The stylesheet of the pages: the palette of reports and figures, and the layout of pages with forms."""
    palette = files("unnaive.evaluation.reports") / "palette.css"
    return palette.read_text(encoding="utf-8") + (STATIC / "page.css").read_text(encoding="utf-8")
