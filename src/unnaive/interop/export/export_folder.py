"""An export is a folder: the files of its target, the conformance file, and export.json, which describes it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unnaive import __version__
from unnaive.base.atomic_files import replacing
from unnaive.base.errors import PluginError, UnnaiveError, choose
from unnaive.base.registry import Registry
from unnaive.interop.export.c_engines import check_c
from unnaive.interop.export.c_header import write_c
from unnaive.interop.export.clickhouse import CARRIES, check_clickhouse, write_clickhouse
from unnaive.interop.export.conformance import EngineAgreement, conformance_lines, conformance_texts
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.fasttext_c import check_fasttext_c, write_fasttext_c
from unnaive.interop.export.javascript import check_javascript, write_javascript
from unnaive.interop.export.onnx_target import check_onnx, write_onnx
from unnaive.interop.export.portable import PortableModel, portable_model
from unnaive.interop.export.portable_fasttext import (
    PortableFastText,
    check_fasttext_javascript,
    portable_fasttext,
    write_fasttext_javascript,
)
from unnaive.interop.export.sql import write_sql
from unnaive.interop.export.sql_engines import check_sql
from unnaive.learning.fitted import FittedModel
from unnaive.models.fasttext.scorer import FastTextScorer

MANIFEST, CONFORMANCE = "export.json", "conformance.jsonl"
FORMAT = "unnaive-export-1"
FILE_ENDINGS = frozenset(
    (".js", ".mjs", ".cjs", ".ts", ".html", ".onnx", ".c", ".h", ".wasm", ".bin", ".sql", ".json", ".jsonl", ".zip")
)


@dataclass(frozen=True)
class Target:
    """A language or runtime that models are exported to.

    write  the PortableModel or PortableFastText → its files by name
    check  (folder, lines of the conformance file) → one EngineAgreement for each engine that ran it
    carries  what a target can express that no declaration lists: names of token options, links, decisions, calibrations
    """

    write: Callable[[Any], dict[str, bytes]]
    check: Callable[[Path, list[str]], list[EngineAgreement]]
    carries: frozenset[str] = frozenset()


TARGETS = {
    "js": Target(write_javascript, check_javascript),
    "onnx": Target(write_onnx, check_onnx),
    "c": Target(write_c, check_c),
    "sql": Target(write_sql, check_sql),
    "clickhouse": Target(write_clickhouse, check_clickhouse, CARRIES),
}
REGISTRY = Registry("unnaive.exports", "export target", TARGETS)
FASTTEXT_TARGETS = {  # the targets of imported fastText models
    "js": Target(write_fasttext_javascript, check_fasttext_javascript),
    "c": Target(write_fasttext_c, check_fasttext_c),
}


def find_target(name: str) -> Target:
    """The target of this name, ours or another package's; an error lists the names."""
    target = REGISTRY.find(name)
    if not isinstance(target, Target):
        raise PluginError(f"the export target {name!r} of another package is not a Target; update the package")
    return target


def export_model(
    fitted: FittedModel, target: str, folder: str | Path, *, more: Mapping[str, bytes] | None = None
) -> list[Path]:
    """Export a model to a folder for another language, with its conformance file; returns the written paths.

    Files of an earlier export that this one does not write are removed.

    more  further files to write to the folder, by name
    """
    chosen = find_target(target)
    target_folder = check_folder_writable(folder)
    earlier = _files_of_export(target_folder)
    model: PortableModel | PortableFastText
    if isinstance(fitted.scorer, FastTextScorer):
        if target not in FASTTEXT_TARGETS:
            raise CannotExport(f"an imported fastText model hashes n-grams and has factors, which {target} cannot "
                               f"express; it can be exported to {' and '.join(FASTTEXT_TARGETS)}")  # fmt: skip
        model, chosen = portable_fasttext(fitted), FASTTEXT_TARGETS[target]
    else:
        model = portable_model(fitted, target, carries=chosen.carries)
    contents = {**chosen.write(model), **(more or {})}
    contents[CONFORMANCE] = ("\n".join(conformance_lines(fitted, conformance_texts(fitted))) + "\n").encode()
    fields = None if fitted.token_rule is None else fitted.token_rule.fields
    about = {
        "format": FORMAT, "target": target, "version": __version__, "model": model.name,
        "classes": list(model.classes), "files": sorted(contents),
        "fields": None if fields is None else list(map(str, fields)),
    }  # fmt: skip
    contents[MANIFEST] = (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode()
    write_together(target_folder, contents)
    _remove_earlier(target_folder, [name for name in earlier if name not in contents])
    return [target_folder / name for name in contents]


def _files_of_export(folder: Path) -> list[str]:
    """The names of the files of an export in the folder; empty if there is none, or none that can be read."""
    try:
        names = _read_manifest(folder).get("files")
    except UnnaiveError:
        return []
    plain = [name for name in names or () if isinstance(name, str) and Path(name).name == name != MANIFEST]
    return [name for name in plain if (folder / name).is_file()]


def _remove_earlier(folder: Path, names: list[str]) -> None:
    """Remove files that only an earlier export wrote."""
    for name in names:
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as problem:
            raise UnnaiveError(
                f"{folder} has the new export, but {name} of the earlier one cannot be removed ({problem.strerror}); "
                "remove it"
            ) from problem


def write_together(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files by name to a folder, which is made; if one cannot be written, none is changed.

    The last one replaces an older file after all others, so that it describes what is there.
    """
    is_new = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
        with ExitStack() as stack:  # all are complete before the first one replaces another
            for name, content in reversed(list(contents.items())):  # the stack closes the last one first
                file = stack.enter_context(replacing(folder / name))
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    except OSError as problem:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise UnnaiveError(
            f"{folder} cannot be written ({problem.strerror or problem}); nothing was changed"
        ) from problem


def check_folder_writable(folder: str | Path) -> Path:
    """The folder of an export: a new one, an empty one, or an existing export."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise UnnaiveError(f"{folder} is a file; an export is a folder, so name a new one")
    if not path.exists() and path.suffix.lower() in FILE_ENDINGS:
        raise UnnaiveError(f"{folder} is the name of a file; an export is a folder, so name one such as {path.stem}")
    if not path.exists() and not path.parent.is_dir():
        raise UnnaiveError(f"{folder} cannot be written: there is no folder {path.parent}; make it first")
    if path.is_dir() and any(path.iterdir()) and not (path / MANIFEST).is_file():
        raise UnnaiveError(f"{folder} has other files in it and is not an export; name a new folder")
    return path


def check_export(folder: str | Path) -> list[EngineAgreement]:
    """Run an export on its conformance file, with every engine on this machine."""
    export_folder = Path(folder)
    about = _read_manifest(export_folder)
    try:
        lines = (export_folder / CONFORMANCE).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise UnnaiveError(
            f"{export_folder / CONFORMANCE} cannot be read ({problem}); export the model again"
        ) from problem
    if about.get("model") == "fasttext":
        chosen = FASTTEXT_TARGETS[choose(list(FASTTEXT_TARGETS), about["target"], "export target")]
    else:
        chosen = find_target(about["target"])
    return chosen.check(export_folder, [line for line in lines if line])


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise UnnaiveError(
            f"{folder} is not an export: it has no {MANIFEST}; `unnaive export MODEL --to js -o FOLDER` makes one"
        )
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise UnnaiveError(f"{path} cannot be read ({problem}); export the model again") from problem
    if not isinstance(about, dict) or about.get("format") != FORMAT or not isinstance(about.get("target"), str):
        raise UnnaiveError(f"{path} is not of the form {FORMAT}; export the model again with this version")
    return about
