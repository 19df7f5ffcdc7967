"""Optional dependencies: which extra of the package brings a module, and one sentence where it is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from unnaive.base.errors import MissingExtra

# module → (the package that has it, what to install)
EXTRAS = {
    "pyarrow": ("pyarrow", "unnaive[tables]"),
    "matplotlib": ("matplotlib", "unnaive[figures]"),
    "sklearn": ("scikit-learn", "unnaive[sklearn]"),
    "Stemmer": ("PyStemmer", "unnaive[stemming]"),
    "openpyxl": ("openpyxl", "unnaive[excel]"),
    "jieba": ("jieba", "unnaive[chinese]"),
    "cryptography": ("cryptography", "unnaive[sign]"),
    "fastapi": ("fastapi", "unnaive[serve]"),
    "uvicorn": ("uvicorn", "unnaive[serve]"),
    "orjson": ("orjson", "unnaive[serve]"),
    "prometheus_client": ("prometheus-client", "unnaive[serve]"),
    "pyspark": ("pyspark", "unnaive[spark]"),
    "pandas": ("pandas", "unnaive[spark]"),
}


def import_extra(module: str, what: str) -> Any:
    """The module, whose package may be missing; the error says what needs it and how to install it.

    >>> import_extra("pyarrow.absent", "reading .zst files")
    Traceback (most recent call last):
    unnaive.base.errors.MissingExtra: reading .zst files needs pyarrow; install it with: pip install 'unnaive[tables]'
    """
    try:
        return import_module(module)
    except ImportError as absent:
        raise missing_extra(module, what) from absent


def missing_extra(module: str, what: str) -> MissingExtra:
    """The error for a missing module; for one that no extra brings, pip installs the package of its name."""
    name = module.partition(".")[0]
    package, target = EXTRAS.get(name, (name, name))
    shown = f"'{target}'" if "[" in target else target
    return MissingExtra(f"{what} needs {package}; install it with: pip install {shown}")
