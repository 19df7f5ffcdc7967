"""The command `fasttext` of fastText: `fasttext predict-prob MODEL - 3`, with the same output.

A line from stdin is answered at once, so that a program can keep the command running and ask it line by line.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import BinaryIO, NamedTuple

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.open_files import STDIN
from unnaive.interop.fasttext.model import FastTextModel, load_model
from unnaive.interop.fasttext.training import train_supervised

LINES = 1000  # lines of a file that are predicted at a time
USAGE = """usage: fasttext <command> <args>

  predict, predict-prob MODEL FILE [K] [THRESHOLD]   the K best labels of each line, with probabilities
  test, test-label      MODEL FILE [K] [THRESHOLD]   precision and recall, of each label
  supervised            -input FILE -output NAME …   train a classifier: NAME.bin
  quantize              -output NAME [-cutoff N]     compress NAME.bin: NAME.ftz
  print-word-vectors, print-sentence-vectors MODEL   vectors of the words, or of the lines, of stdin
  nn                    MODEL [K]                    nearest words to those of stdin

FILE may be -, for stdin. Models of fastText and of unnaive are read. skipgram, cbow, print-ngrams, analogies and dump
are left out."""
# options of the command that have another name in Python
RENAMED = {
    "autotune-validation": "autotuneValidationFile", "autotune-metric": "autotuneMetric",
    "autotune-predictions": "autotunePredictions", "autotune-duration": "autotuneDuration",
    "autotune-modelsize": "autotuneModelSize",
}  # fmt: skip


class Streams(NamedTuple):
    """What a command reads and writes."""

    input: BinaryIO
    output: BinaryIO

    def write(self, *lines: str) -> None:
        """Write lines, and hand them on at once."""
        self.output.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
        self.output.flush()


def main() -> None:
    """Run the command; a mistake is one sentence on stderr and exit code 2."""
    try:
        sys.exit(run_command(sys.argv[1:], Streams(sys.stdin.buffer, sys.stdout.buffer)))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever read the output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def run_command(arguments: list[str], streams: Streams) -> int:
    """The exit code of a command with these arguments."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stderr.write(USAGE + "\n")
        return 0 if arguments else 2
    command = COMMANDS.get(arguments[0])
    try:
        if command is None:
            raise UnnaiveError(f"there is no command {arguments[0]!r} here, only {', '.join(COMMANDS)}")
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", UnnaiveWarning)
            command(arguments[0], arguments[1:], streams)
    except (UnnaiveError, OSError) as problem:
        if isinstance(problem, BrokenPipeError):
            raise
        sys.stderr.write(f"fasttext: {problem}\n")
        return 2
    for note in notes:
        sys.stderr.write(f"fasttext: {note.message}\n")
    return 0


def _predict(name: str, arguments: list[str], streams: Streams) -> None:
    model, path, k, threshold = _positions(name, arguments)
    shown = _with_probabilities if name == "predict-prob" else _labels_alone
    if path == STDIN:
        for line in iter(streams.input.readline, b""):
            streams.write(*shown(*model.rank_lines([_text(line)], k, threshold)))
        return
    with _opened(path) as file:
        while lines := [_text(line) for line in islice(file, LINES)]:
            streams.write(*shown(*model.rank_lines(lines, k, threshold)))


def _with_probabilities(labels: list[list[str]], values: list[list[float]]) -> Iterator[str]:
    for names, ps in zip(labels, values, strict=True):
        yield " ".join(f"{name} {p:g}" for name, p in zip(names, ps, strict=True))


def _labels_alone(labels: list[list[str]], values: list[list[float]]) -> Iterator[str]:
    return (" ".join(names) for names in labels)


def _test(name: str, arguments: list[str], streams: Streams) -> None:
    model, path, k, threshold = _positions(name, arguments)
    path = "/dev/stdin" if path == STDIN else path
    if name == "test-label":
        for label, values in model.test_label(path, k, threshold).items():
            streams.write("  ".join([*(_measure(title, values[key]) for title, key in MEASURES), f" {label}"]))
    n_docs, precision, recall = model.test(path, k, threshold)
    form = ".3f" if name == "test-label" else ".3g"
    streams.write(f"N\t{n_docs}", f"P@{k}\t{precision:{form}}", f"R@{k}\t{recall:{form}}")


MEASURES = (("F1-Score", "f1score"), ("Precision", "precision"), ("Recall", "recall"))


def _measure(title: str, value: float) -> str:
    return f"{title} : {f'{value:.6f}' if math.isfinite(value) else '--------'}"


def _supervised(name: str, arguments: list[str], streams: Streams) -> None:
    given = _options(arguments)
    output = given.pop("output", "")
    if not output or "input" not in given:
        raise UnnaiveError("supervised needs -input FILE and -output NAME")
    usual = inspect.signature(train_supervised).parameters
    options: dict[str, str | int | float] = {}
    for option, value in given.items():
        parameter = RENAMED.get(option, option)
        if parameter not in usual or parameter == "input":
            if parameter not in ("input", "saveOutput"):
                raise UnnaiveError(f"supervised has no option -{option}; it has -{', -'.join(usual)}")
            continue
        default = usual[parameter].default
        kind = int if parameter == "thread" else type(default)
        options[parameter] = _number(f"-{option}", value, kind) if kind in (int, float) else value
    model = train_supervised(given["input"], **options)  # type: ignore[arg-type]
    model.save_model(f"{output}.bin")


def _quantize(name: str, arguments: list[str], streams: Streams) -> None:
    given = _options(arguments)
    if not given.get("output"):
        raise UnnaiveError("quantize needs -output NAME; it reads NAME.bin and writes NAME.ftz")
    model = load_model(f"{given['output']}.bin")
    model.quantize(cutoff=int(_number("-cutoff", given.get("cutoff", "0"), int)))
    model.save_model(f"{given['output']}.ftz")


def _vectors(name: str, arguments: list[str], streams: Streams) -> None:
    if len(arguments) != 1:
        raise UnnaiveError(f"{name} takes a model alone; it reads stdin")
    model = load_model(arguments[0])
    for line in iter(streams.input.readline, b""):
        text = _text(line)
        parts = text.split() if name == "print-word-vectors" else [""]
        for word in parts:
            vector = model.get_word_vector(word) if word else model.get_sentence_vector(text)
            streams.write(" ".join([*([word] if word else []), *(f"{value:.5g}" for value in vector)]) + " ")


def _neighbours(name: str, arguments: list[str], streams: Streams) -> None:
    if len(arguments) not in (1, 2):
        raise UnnaiveError("nn takes MODEL [K]; it reads words from stdin")
    model, k = load_model(arguments[0]), int(_number("K", arguments[1], int)) if len(arguments) > 1 else 10
    for line in iter(streams.input.readline, b""):
        for word in _text(line).split():
            streams.write(*(f"{near} {cosine:g}" for cosine, near in model.get_nearest_neighbors(word, k)))


COMMANDS: dict[str, Callable[[str, list[str], Streams], None]] = {
    "predict": _predict, "predict-prob": _predict, "test": _test, "test-label": _test, "supervised": _supervised,
    "quantize": _quantize, "print-word-vectors": _vectors, "print-sentence-vectors": _vectors, "nn": _neighbours,
}  # fmt: skip


def _positions(name: str, arguments: list[str]) -> tuple[FastTextModel, str, int, float]:
    """MODEL FILE [K] [THRESHOLD]."""
    if not 2 <= len(arguments) <= 4:
        raise UnnaiveError(f"{name} takes MODEL FILE [K] [THRESHOLD]; {len(arguments)} were given")
    k = int(_number("K", arguments[2], int)) if len(arguments) > 2 else 1
    threshold = _number("THRESHOLD", arguments[3], float) if len(arguments) > 3 else 0.0
    if k != -1 and k < 1:
        raise UnnaiveError(f"K is {k}; give a number from 1 on, or -1 for all labels")
    return load_model(arguments[0]), arguments[1], k, threshold


def _options(arguments: list[str]) -> dict[str, str]:
    """-name value, in pairs; an option that is given twice has its last value, as in fastText."""
    names = arguments[::2]
    for name in names:
        if not name.startswith("-"):
            raise UnnaiveError(f"{name!r} stands where an option such as -input is expected")
    if len(arguments) % 2:
        raise UnnaiveError(f"the option {names[-1]} has no value")
    return {name.lstrip("-"): value for name, value in zip(names, arguments[1::2], strict=True)}


def _number(name: str, value: str, kind: type) -> int | float:
    try:
        return kind(value)  # type: ignore[no-any-return]
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise UnnaiveError(f"{name} is {value!r}; give {what}") from None


def _opened(path: str) -> BinaryIO:
    try:
        return open(path, "rb")  # noqa: PTH123  # the caller closes it
    except OSError as problem:
        raise UnnaiveError(f"{path} cannot be opened ({problem.strerror}); check the name") from problem


def _text(line: bytes) -> str:
    return line.rstrip(b"\n").decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    main()
