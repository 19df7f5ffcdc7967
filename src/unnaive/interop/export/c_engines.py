"""Run a C export: check.c is built with every compiler, also to WebAssembly, and reads the conformance file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from unnaive.interop.export.conformance import TOLERANCE, EngineAgreement, compare_answers
from unnaive.interop.export.engines import c_compilers, find_program, read_answers, run_program, zig_compiler

RUNTIME = files("unnaive.interop.export")


def check_c(folder: Path, lines: list[str], tolerance: float = TOLERANCE) -> list[EngineAgreement]:
    """Compile the header with every available compiler, also to WebAssembly, and run it on the conformance file."""
    about = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    agreements = []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "check.c").write_bytes((RUNTIME / "check.c.in").read_bytes())
        (work / "documents").write_bytes(_with_lengths(lines))
        for engine, command in _builds(folder, work):
            printed = run_program(command, (work / "documents").read_bytes())
            answers = [_named(answer, about["classes"]) for answer in read_answers(printed)]
            agreements.append(compare_answers(engine, tolerance, lines, answers))
    return agreements


def _with_lengths(lines: Sequence[str]) -> bytes:
    """The texts and records of a conformance file as check.c reads them."""
    documents = map(json.loads, lines)
    return b"".join(
        b"R" + b"".join(map(_with_length, document["record"].values()))
        if "record" in document
        else b"T" + _with_length(document["text"])
        for document in documents
    )


def _with_length(value: str | None) -> bytes:
    data = (value or "").encode("utf-8", "surrogatepass")
    return b"-1\n" if value is None else b"%d\n" % len(data) + data


def _named(answer: dict[str, Any], classes: Sequence[Any]) -> dict[str, Any]:
    answer["labels"] = [classes[index] for index in answer.get("places", ())]
    if "inside" in answer:
        answer["set"] = [classes[index] for index in answer["inside"]]
    return answer


WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
WASI = """
import { readFileSync, openSync } from "node:fs";
import { WASI } from "node:wasi";
const [path, folder] = process.argv.slice(1);
const wasi = new WASI({ version: "preview1", args: ["check", "model/model.bin"], preopens: { model: folder } });
const { instance } = await WebAssembly.instantiate(readFileSync(path), wasi.getImportObject());
process.exit(wasi.start(instance));
"""


def _builds(folder: Path, work: Path) -> Iterator[tuple[str, list[str]]]:
    """(name of the engine, command that runs it) for every compiler; an error if there is none."""
    compilers = c_compilers()
    zig = zig_compiler()
    if not compilers and not zig:
        find_program("cc", what="a C compiler (gcc, clang, or ziglang from the package index)")
    include, data = ["-I", str(folder.resolve())], str((folder / "model.bin").resolve())
    for name, path in compilers.items():
        program = str(work / f"check-{name}")
        run_program([path, *WARNINGS, *SANITIZERS, "-O1", "-g", *include, str(work / "check.c"), "-o", program, "-lm"])
        yield f"{name}, address and undefined-behaviour sanitizers", [program, data]
    if zig:
        from shutil import which

        module, node = str(work / "check.wasm"), which("node")
        run_program([*zig, "-target", "wasm32-wasi", "-O2", *include, str(work / "check.c"), "-o", module, "-lm"])
        if node:
            start = [node, "--no-warnings", "--input-type=module", "-e", WASI, module, str(folder.resolve())]
            yield "WebAssembly by ziglang in Node", start
