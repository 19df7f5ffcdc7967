"""The location of the files that all pages share; importable without a web framework."""

from __future__ import annotations

from importlib.resources import files

from unnaive.base.palette import css_variables

STATIC = files("unnaive.apps.common.web") / "static"


def read_stylesheet() -> str:
    """The stylesheet of the pages: the palette and the rules of reports, and the layout of pages with forms."""
    shared = files("unnaive.evaluation.reports") / "shared.css"
    return css_variables() + shared.read_text(encoding="utf-8") + (STATIC / "page.css").read_text(encoding="utf-8")
