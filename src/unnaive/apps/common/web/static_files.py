"""The location of the files that all pages share; importable without a web framework."""

from __future__ import annotations

from importlib.resources import files

STATIC = files("unnaive.apps.common.web") / "static"
