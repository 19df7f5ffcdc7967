"""Compares the model files that two checkouts write, byte for byte: every model of the catalogue, in every way.

python tools/compare_models.py BEFORE AFTER [--only PATTERN] [--expected PATTERN]… [--spark] [--keep FOLDER]

BEFORE and AFTER are checkouts with a .venv, or their interpreters. model_ways.py has the ways: the command line in
memory, streaming and through a matrix on disk, TextClassifier, the estimators, updates, compressed files and so on, on
200 built-in tickets and a synthetic multilabel file. Where a way refuses a model, the messages must be the same. What
differs in the header of a model file is listed by key, beside what differs in its arrays. Exits with 1 if anything
differs that is not matched by an --expected pattern of WAY/NAME, such as 'compress-*/rocchio'.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

WORKER = Path(__file__).with_name("model_ways.py")
KINDS = {"F": "f", "I": "i", "U": "u"}  # numbers as safetensors names them
CRASHED = "crashed"  # begins what model_ways.py writes where a process died
N_ROWS, N_MORE = 200, 60
TURKISH = ("IŞIK", "İstanbul'da", "kalıyorum", "Irmaklar", "ısındı", "İYİ")

Row = tuple[str, str]


def make_data(python: str, folder: Path) -> None:
    """The data files of all ways: from the built-in tickets, and made up with a seed."""
    tour = [python, "-m", "unnaive", "demo", "-o", str(folder / "tour")]
    subprocess.run(tour, check=True, stdout=subprocess.DEVNULL)
    tickets = []
    for part in ("train", "test"):
        with (folder / "tour" / f"{part}.csv").open(encoding="utf-8", newline="") as file:
            tickets.append([(row["text"], row["queue"]) for row in csv.DictReader(file)])
    train, test = tickets
    rows, more = train[:N_ROWS], train[N_ROWS : N_ROWS + N_MORE]
    chance = random.Random(24)  # noqa: S311
    files = {
        "rows": rows,
        "more": more,
        "gone": rows[:40],
        "first": rows[: N_ROWS // 2],
        "second": rows[N_ROWS // 2 :],
        "test": test[:N_MORE],
        "turkish": [(f"{text} {chance.choice(TURKISH)} {chance.choice(TURKISH)}", label) for text, label in rows],
        "tags": list(make_tagged(chance)),
    }
    for name, lines in files.items():
        write_csv(folder / f"{name}.csv", [("text", "label"), *lines])
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)
    for number, (text, label) in enumerate(rows):
        place = folder / "folder" / label
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:03}.txt").write_text(text, encoding="utf-8")
    (folder / "scratch").mkdir()  # for what ways leave behind
    names = sorted({label for _, label in rows})
    table = [[true, *(str(abs(i - j)) for j in range(len(names)))] for i, true in enumerate(names)]
    write_csv(folder / "costs.csv", [("true", *names), *table])


def make_tagged(chance: random.Random) -> Iterator[Row]:
    """120 texts of synthetic words with one to three of four tags."""
    tags = ("north", "east", "south", "west")
    words = {tag: [f"{tag}{number}" for number in range(12)] for tag in tags}
    common = [f"common{number}" for number in range(12)]
    for _ in range(120):
        own = chance.sample(tags, chance.choice((1, 1, 1, 2, 2, 3)))
        said = [chance.choice(words[tag]) for tag in own for _ in range(chance.randint(1, 5))]
        said += chance.choices(common, k=chance.randint(0, 6))
        chance.shuffle(said)
        yield " ".join(said), ";".join(sorted(own))


def write_csv(path: Path, rows: Any) -> None:
    """A CSV file of these rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def interpreter(place: str) -> str:
    """The interpreter of a checkout, or the one that was named."""
    path = Path(place).absolute()  # not resolved: an interpreter of a virtual environment is a link
    return str(path / ".venv" / "bin" / "python" if path.is_dir() else path)


def go_all_ways(python: str, folder: Path, pattern: str, spark: bool) -> None:
    """Run the ways in `folder` with one interpreter."""
    start = time.perf_counter()
    words = [python, str(WORKER), str(folder), pattern, *(["--spark"] if spark else [])]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(words, check=True, stdout=sys.stderr, env=environment)
    print(f"{time.perf_counter() - start:6.1f} s  {python}", file=sys.stderr)


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The description and the arrays of a model file, without its format and its checksums, which follow from them."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    about: dict[str, Any] = json.loads(header.pop("__metadata__")["unnaive"])
    about = {name: value for name, value in about.items() if name not in ("format", "checksums")}
    arrays = {}
    for name, one in header.items():
        start, end = (8 + size + offset for offset in one["data_offsets"])
        kind = np.dtype(f"<{KINDS[one['dtype'][0]]}{int(one['dtype'][1:]) // 8}")
        arrays[name] = np.frombuffer(content[start:end], kind).reshape(one["shape"])
    return about, arrays


def other_format(before: Path, after: Path) -> bool:
    """Whether two model files are of different formats, so that their bytes cannot be the same."""
    formats = set()
    for path in (before, after):
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        formats.add(json.loads(header["__metadata__"]["unnaive"])["format"])
    return len(formats) > 1


def first_difference(before: Any, after: Any, name: str = "header") -> str | None:
    """Where two plain values differ first, and how.

    >>> first_difference({"a": [1, 2]}, {"a": [1, 3]})
    'header.a.1: 2 became 3'
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if key not in before or key not in after:
                return f"{name}.{key} is {'new' if key in after else 'gone'}"
            found = first_difference(before[key], after[key], f"{name}.{key}")
            if found:
                return found
        return None
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        parts = (first_difference(*pair, f"{name}.{i}") for i, pair in enumerate(zip(before, after, strict=True)))
        return next(filter(None, parts), None)
    return None if before == after else f"{name}: {str(before)[:60]} became {str(after)[:60]}"


def header_differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What differs in each key of the header.

    >>> header_differences({"a": 1, "b": {"c": 2}}, {"b": {"c": 3}, "d": 4})
    ['header.a is gone', 'header.b.c: 2 became 3', 'header.d is new']
    """
    found = (
        first_difference({key: before[key]} if key in before else {}, {key: after[key]} if key in after else {})
        for key in sorted({*before, *after})
    )
    return [difference for difference in found if difference]


def array_difference(before: Any, after: Any) -> str | None:
    """How the first array that is not the same differs."""
    for name in sorted({*before, *after}):
        if name not in before or name not in after:
            return f"{name} is {'new' if name in after else 'gone'}"
        one, other = before[name], after[name]
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"{name}: {one.dtype}{list(one.shape)} became {other.dtype}{list(other.shape)}"
        if one.tobytes() != other.tobytes():
            different = np.flatnonzero(one.ravel() != other.ravel())
            if not len(different):
                return f"{name}: a zero changed its sign, or a NaN its bits"
            at = different[0]
            values = f"{one.ravel()[at]} became {other.ravel()[at]}"
            return f"{name}: {len(different):,} of {one.size:,} values, the first at {at:,}: {values}"
    return None


def compare_files(before: Path | None, after: Path | None) -> str | None:
    """What differs between what the two checkouts made of one model in one way; None if nothing does."""
    if before is None or after is None:
        one = before or after
        return f"only {'AFTER' if before is None else 'BEFORE'} has {one and one.name}"
    if after.suffix == ".error" and after.read_text(encoding="utf-8").startswith(CRASHED):
        return after.read_text(encoding="utf-8")
    if before.suffix != after.suffix:
        said = next(path.read_text(encoding="utf-8") for path in (before, after) if path.suffix == ".error")
        return f"{before.suffix[1:]} became {after.suffix[1:]}: {' '.join(said.split())[:150]}"
    if before.read_bytes() == after.read_bytes():
        return None
    if before.suffix == ".model":
        (about, arrays), (about_after, arrays_after) = read_model(before), read_model(after)
        differences = [*header_differences(about, about_after), array_difference(arrays, arrays_after)]
        if differences == [None]:
            return None if other_format(before, after) else "the same values in another order"
        return "; ".join(difference or "all arrays are the same" for difference in differences)
    lines = [path.read_text(encoding="utf-8").splitlines() for path in (before, after)]
    for number, (one, other) in enumerate(zip(*lines, strict=False), 1):
        if one != other:
            return f"line {number}: {one[:100]} became {other[:100]}"
    return f"{len(lines[0])} lines became {len(lines[1])}"


def results_of(folder: Path, way: str) -> dict[str, Path]:
    """The file of each model in one way."""
    endings = (".model", ".csv", ".error")
    return {path.stem: path for path in sorted((folder / way).iterdir()) if path.suffix in endings}


def compare_folders(before: Path, after: Path, data: set[str], expected: list[str]) -> int:
    """Print a line for each way; how many differences are not among the expected ones."""
    unexpected = total = 0
    ways = sorted({path.name for folder in (before, after) for path in folder.iterdir()} - data)
    for way in (
        name for name in ways if not name.endswith(".model") and not name.startswith(("cache-", "checkpoint-"))
    ):
        one, other = (results_of(folder, way) if (folder / way).is_dir() else {} for folder in (before, after))
        names = sorted({*one, *other})
        found = {name: compare_files(one.get(name), other.get(name)) for name in names}
        differing = {name: difference for name, difference in found.items() if difference is not None}
        refused = sum(name not in differing and one[name].suffix == ".error" for name in names)
        total += len(names)
        print(f"{way:<26}{len(names) - len(differing) - refused:>3} equal{refused:>4} refused alike", end="")
        print(f"{len(differing):>4} differ" if differing else "")
        alike: dict[str, list[str]] = {}
        for name, difference in differing.items():
            awaited = any(fnmatch(f"{way}/{name}", pattern) for pattern in expected)
            unexpected += not awaited
            alike.setdefault(difference, []).append(f"{name}{' (expected)' if awaited else ''}")
        for difference, models in alike.items():
            print(f"    {', '.join(models)}: {difference}")
    print(f"{total:,} files compared, {unexpected:,} differ{' unexpectedly' if expected else ''}")
    return unexpected


def main() -> int:
    """Make the data, go all ways twice, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", help="a checkout with a .venv, or its interpreter")
    parser.add_argument("after", help="the same, of the change")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="ways to go, such as 'fit-*'")
    parser.add_argument("--expected", action="append", default=[], metavar="PATTERN", help="WAY/NAME that may differ")
    parser.add_argument("--spark", action="store_true", help="also training on Spark, where pyspark is installed")
    parser.add_argument("--keep", metavar="FOLDER", help="a folder for all files, which is not removed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(options.keep or scratch).absolute()
        pythons = [interpreter(place) for place in (options.before, options.after)]
        folders = [root / "before", root / "after"]
        for python, folder in zip(pythons, folders, strict=True):
            folder.mkdir(parents=True)
            make_data(pythons[0], folder)
            data = {path.name for path in folder.iterdir()}
            go_all_ways(python, folder, options.only, options.spark)
        return 1 if compare_folders(*folders, data, options.expected) else 0


if __name__ == "__main__":
    sys.exit(main())
