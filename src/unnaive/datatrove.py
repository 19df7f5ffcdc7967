"""A step for datatrove's pipelines: `UnnaiveFilter`, which replaces its FastTextClassifierFilter."""

from __future__ import annotations

from unnaive.scaleout.datatrove_filter import UnnaiveFilter

__all__ = ["UnnaiveFilter"]
