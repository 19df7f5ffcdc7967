"""`unnaive doctor`: the installation, for bug reports."""

from __future__ import annotations

from typing import Any

import typer

from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import Archives, AsJson
from unnaive.base.visible_text import visible_json

PACKAGES = ("numpy", "scipy", "safetensors", "typer", "rich")
OPTIONAL = {
    "pyarrow": "Parquet, Arrow, .zst files and word vectors (pip install 'unnaive[tables]')",
    "matplotlib": "figures (pip install 'unnaive[figures]')",
    "scikit-learn": "-m tree, pipelines and searches (pip install 'unnaive[sklearn]')",
    "PyStemmer": "--set stem=snowball (pip install 'unnaive[stemming]')",
    "openpyxl": "Excel files (pip install 'unnaive[excel]')",
    "fastapi": "unnaive serve (pip install 'unnaive[serve]')",
    "uvicorn": "unnaive serve (pip install 'unnaive[serve]')",
    "orjson": "unnaive serve (pip install 'unnaive[serve]')",
    "prometheus-client": "metrics of unnaive serve (pip install 'unnaive[serve]')",
    "pyspark": "--engine spark (pip install 'unnaive[spark]')",
    "jieba": "words of Chinese (pip install 'unnaive[chinese]')",
    "pandas": "columns of pandas, and Spark (pip install 'unnaive[spark]')",
    "polars": "columns of polars",
    "cryptography": "signatures of receipts (pip install 'unnaive[sign]')",
    "pgmpy": "queries to exported networks",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(archives: Archives = None, as_json: AsJson = False) -> None:
    """Show versions, the native kernel, threads, collections and optional packages, for a bug report.

    unnaive doctor
    """
    installation = examine(archives)
    if as_json:
        echo(visible_json(installation))
        return
    for line in describe_installation(installation):
        echo(line)


def examine(archives: Any = None) -> dict[str, Any]:
    """The installation as plain values."""
    import os
    import platform

    import unnaive
    from unnaive.apps.cli.commands.collections import describe_collection
    from unnaive.base.system import count_cores
    from unnaive.papers.collections import COLLECTIONS, data_folders

    there = {name: describe_collection(collection, archives)["path"] for name, collection in COLLECTIONS.items()}
    return {
        "unnaive": unnaive.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": platform.machine(),
        "backend": unnaive.backend,
        "cores": count_cores(),
        "threads": {name: os.environ[name] for name in ("OMP_NUM_THREADS", "UNNAIVE_THREADS") if name in os.environ},
        "packages": {name: find_version(name) for name in PACKAGES},
        "optional": {name: find_version(name) for name in OPTIONAL},
        "data_folders": [str(folder) for folder in data_folders(archives)],
        "collections": there,
    }


def find_version(name: str) -> str | None:
    """The version of an installed package; None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def describe_installation(description: dict[str, Any]) -> list[str]:
    """The description of the installation as lines of text."""
    native = description["backend"] == "native"
    slow = "" if native else " (the same results, slower; install again where there is a C++ compiler)"
    here = [name for name, path in description["collections"].items() if path]
    absent = [name for name, path in description["collections"].items() if not path]
    lines = [
        f"unnaive {description['unnaive']}, Python {description['python']}, {description['system']}",
        f"backend: {description['backend']}{slow}",
        f"threads: {description['cores']} cores"
        + "".join(f", {name}={value}" for name, value in description["threads"].items()),
        "packages: " + ", ".join(f"{name} {version or 'MISSING'}" for name, version in description["packages"].items()),
    ]
    for name, version in description["optional"].items():
        lines.append(f"optional: {name} {version or 'not installed'}, for {OPTIONAL[name]}")
    lines.append(f"collections looked for in: {', '.join(description['data_folders'])}")
    lines.append(f"collections here: {', '.join(here) or 'none'}")
    lines.append(f"collections not here: {', '.join(absent) or 'none'}")
    return lines
