"""Where the files of the page lie; read without a web framework."""

from __future__ import annotations

from importlib.resources import files

STATIC = files("unnaive.apps.service") / "static"
