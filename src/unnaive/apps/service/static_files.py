"""The location of the page's files; importable without a web framework."""

from __future__ import annotations

from importlib.resources import files

STATIC = files("unnaive.apps.service") / "static"
