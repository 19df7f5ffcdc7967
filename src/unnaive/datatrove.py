"""A step for datatrove's pipelines: `UnnaiveFilter`, to be put where its FastTextClassifierFilter stands."""

from __future__ import annotations

from unnaive.scaleout.datatrove_filter import UnnaiveFilter

__all__ = ["UnnaiveFilter"]
