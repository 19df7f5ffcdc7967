"""The model file: a safetensors file with the arrays, and JSON with everything else. Nothing in it is run.

Writing is atomic: a temporary file in the same folder, flushed to disk, renamed over the old one. Loading trusts
nothing: a file that is truncated, foreign, hostile or newer gives one sentence.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unnaive import __version__
from unnaive.atomic import replacing
from unnaive.calibration import Calibration, calibration_from_dict
from unnaive.conformal import ConformalScores
from unnaive.core.arrays import FLOATS, StoredMatrix, read_stored
from unnaive.core.counts import Counts
from unnaive.core.kept_documents import KeptDocuments
from unnaive.core.learner import DOCUMENTS_LIMIT, TrainingSpec
from unnaive.core.links import LINKS
from unnaive.core.mapped_arrays import map_arrays
from unnaive.core.named_counts import NamedCounts
from unnaive.core.packed_documents import PackedDocuments, pack_documents
from unnaive.core.register import Register
from unnaive.core.scorer import Scorer
from unnaive.core.targets import TARGET_TYPES, sorted_classes
from unnaive.core.text_hashes import TextHashes
from unnaive.decisions import Argmax, Decision, decision_from_dict
from unnaive.errors import BadModel, UnnaiveError, UnnaiveWarning, choose
from unnaive.fitted import FittedModel
from unnaive.models.catalogue import make_model
from unnaive.reading.columns import Columns
from unnaive.reading.sources import check_exists
from unnaive.text.tokens import BORDERS, TokenRule
from unnaive.text.vocabulary import Vocabulary
from unnaive.training import check_spec
from unnaive.types import Arrays

FORMAT = 2
KINDS = {"f": "F", "i": "I", "u": "U"}  # numbers as safetensors names them
KEY = "unnaive"  # of the JSON in the file's metadata
LARGEST_COUNT = {"f": 2.0**1000, "i": 2**62, "u": 2**62}  # by kind of number; infinity is none
GIVEN = "given"  # in the place of a tuning: the decision was handed in, and outlives updates
TRAINING = ("min_df", "select", "calibrate", "class_weight", "random_state")  # fields of TrainingSpec that are stored


# Kinds of scorers and their classes, imported when a file has one: predicting starts at once.
SCORERS = {
    "linear": "unnaive.core.linear:Linear",
    "noisy-or": "unnaive.models.or_gate:NoisyOr",
    "blend": "unnaive.models.blend:Blend",
    "diagnostic-networks": "unnaive.models.diagnostic:DiagnosticNetworks",
    "feature-trees": "unnaive.models.tan:FeatureTrees",
    "hidden-networks": "unnaive.models.hierarchical.hidden_networks:HiddenNetworks",
    "label-tree": "unnaive.models.label_tree.scorer:LabelTreeScorer",
    "neighbours": "unnaive.models.neighbours:Neighbours",
    "paths": "unnaive.models.higher_order.path_scorer:PathScorer",
    "pool": "unnaive.models.auto.pool:Pool",
    "trees": "unnaive.models.trees:Trees",
}


def find_scorer(kind: str) -> type[Scorer]:
    """The class of a kind of scorer, or an error that lists those there are."""
    module, name = SCORERS[choose(list(SCORERS), kind, "scorer")].split(":")
    found: type[Scorer] = getattr(import_module(module), name)
    return found


def save(fitted: FittedModel, path: str | Path, *, frozen: bool = False) -> None:
    """Write the model; `frozen` leaves out counts, documents and all hashes of documents, so it cannot be updated.

    The same model gives the same bytes. A file that is there already is replaced only if it is a model too.
    """
    target = check_writable(path)
    arrays, about = pack(fitted, frozen=frozen)
    try:
        with replacing(target) as file:
            write_arrays(file, arrays, about)
    except OSError as problem:
        raise UnnaiveError(f"{path} cannot be written ({_reason(problem)}); what was there is untouched") from problem


def write_arrays(file: IO[bytes], arrays: Arrays, about: dict[str, Any]) -> None:
    """A safetensors file: the length of the header, the header, the arrays; by hand, so that nothing is copied."""
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))  # wide ones first, so all are aligned
    header: dict[str, Any] = {"__metadata__": {KEY: json.dumps(about, sort_keys=True)}}
    end = 0
    for name in order:
        start, end = end, end + arrays[name].nbytes
        kind = f"{KINDS[arrays[name].dtype.kind]}{8 * arrays[name].dtype.itemsize}"
        header[name] = {"dtype": kind, "shape": list(arrays[name].shape), "data_offsets": [start, end]}
    words = json.dumps(header).encode()
    words += b" " * (-len(words) % 8)
    file.write(len(words).to_bytes(8, "little") + words)
    for name in order:
        file.write(arrays[name].astype(arrays[name].dtype.newbyteorder("<"), copy=False).data)


def load(path: str | Path, *, mapped: bool = False) -> FittedModel:
    """The model in a file that `save` wrote; `mapped`: for reading alone, its arrays shared with other processes."""
    place = _file(path)
    try:
        return unpack(*(_read_mapped(place) if mapped else _read(place)))
    except BadModel as problem:
        raise BadModel(f"{path}: {' '.join(str(problem).splitlines())}") from problem
    except MemoryError as problem:
        raise BadModel(f"{path}: there is not enough memory to load the model in it") from problem
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as problem:
        raise BadModel(f"{path}: the model in it is damaged ({_first_line(problem)}); train it again") from problem


def _file(path: str | Path) -> Path:
    place = check_exists(path)
    if place.is_dir():
        raise BadModel(f"{path}: this is a folder; name the model file in it")
    return place


def is_model(path: Path) -> bool:
    """Whether the file looks like a model of ours, whole or not: judged by its first bytes."""
    with path.open("rb") as file:
        start = file.read(1 << 16)
    return start[8:9] == b"{" and f'"{KEY}"'.encode() in start


def documents_bytes(path: Path) -> int:
    """How many bytes of a model file are counted documents, which only updates need."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    spans = [one["data_offsets"] for name, one in header.items() if name.startswith("documents.")]
    return sum(end - start for start, end in spans)


def check_writable(path: str | Path) -> Path:
    """Where to write: links are followed; a folder, a device or somebody's other file is refused."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise UnnaiveError(f"{path} cannot be written: there is no folder {target.parent}; make it first")
    if not os.access(target.parent, os.W_OK):
        raise UnnaiveError(f"{path} cannot be written: you may not write in {target.parent}; choose another folder")
    try:
        kind = target.stat().st_mode
    except FileNotFoundError:
        return target
    except OSError as problem:
        raise UnnaiveError(f"{path} cannot be written ({_reason(problem)})") from problem
    if not stat.S_ISREG(kind):
        raise UnnaiveError(f"{path} is {'a folder' if stat.S_ISDIR(kind) else 'no regular file'}; name a file")
    if target.stat().st_size and not is_model(target):
        raise UnnaiveError(f"{path} is there already and is not a model; name another file, or remove that one")
    return target


def update(
    path: str | Path, change: Callable[[FittedModel], FittedModel], *, done: Callable[[], None] = lambda: None
) -> FittedModel:
    """Replace the model in a file by what `change` makes of it; others who update the file wait.

    Nothing is written if `change` raises. `done` is called when the new file is there, while others still wait.
    """
    with _locked(_file(path)):
        changed = change(load(path))
        save(changed, path)
        done()
        return changed


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """An exclusive lock on the file that is at `path` when the lock is there; a writer before us renames a new one."""
    while True:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                yield
                return


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)


def _read(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and description of a file; the library checks sizes against the file before it hands out anything."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:  # there is none for some interpreters without a GIL
        arrays, about = _read_mapped(path)
        return {name: array.copy() for name, array in arrays.items()}, about
    try:
        with safe_open(path, framework="np") as file:
            about = _description(file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
    except SafetensorError as problem:
        raise BadModel(f"this is no model, or a damaged one ({_first_line(problem)})") from problem
    except (OSError, AttributeError, TypeError) as problem:  # unreadable; or a kind of number that numpy has not
        raise BadModel(f"it cannot be read ({_reason(problem)})") from problem
    return arrays, about


def _read_mapped(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """The same, the arrays being pages of the file."""
    try:
        arrays, metadata = map_arrays(path)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        raise BadModel(f"this is no model, or a damaged one ({_first_line(problem)})") from problem
    except OSError as problem:
        raise BadModel(f"it cannot be read ({_reason(problem)})") from problem
    return arrays, _description(metadata)


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or ["no reason given"])[0][:120]


def _description(metadata: dict[str, str]) -> dict[str, Any]:
    if KEY not in metadata:
        raise BadModel("this is a safetensors file, but no model of unnaive")
    try:
        about = json.loads(metadata[KEY])
    except (ValueError, RecursionError) as problem:
        raise BadModel("its description is damaged; train it again") from problem
    if not isinstance(about, dict) or not isinstance(about.get("format"), int):
        raise BadModel("its description is damaged; train it again")
    if about["format"] < FORMAT:
        raise BadModel(
            f"it has format {about['format']}, written by unnaive {about.get('version', 'of earlier date')}, and this "
            f"unnaive {__version__} reads format {FORMAT}; train it again"
        )
    if about["format"] > FORMAT:
        raise BadModel(
            f"it has format {about['format']}, written by unnaive {about.get('version', 'of later date')}, and this "
            f"unnaive {__version__} reads up to {FORMAT}; update with: pip install --upgrade unnaive"
        )
    return about


def pack(fitted: FittedModel, *, frozen: bool = False) -> tuple[Arrays, dict[str, Any]]:
    """The arrays of a model and the description of everything else, plain enough for JSON."""
    if fitted.token_rule is None or fitted.vocabulary is None:
        raise UnnaiveError("only models that read texts can be saved; use TextClassifier")
    counts = None if frozen else fitted.counts
    scorer = fitted.scorer.frozen() if frozen else fitted.scorer
    own, settings = scorer.to_arrays()
    arrays = {f"scorer.{name}": array for name, array in own.items()}
    arrays |= _pack_vocabulary("vocabulary", fitted.vocabulary)
    if counts is not None:
        arrays |= _pack_counts(counts, fitted.vocabulary)
    spec = fitted.spec
    about = {
        "model": spec.model.name,
        "settings": {
            name: _plain(value, name) for name, value in spec.model.changed_settings().items() if name != "n_jobs"
        },
        "token_rule": fitted.token_rule.to_dict(),
        "training": {name: _plain(getattr(spec, name), name) for name in (*TRAINING, "optimise", "documents_limit")},
        "classes": list(fitted.classes),
        "target_type": fitted.target_type,
        "decision": fitted.decision.to_dict(),
        "tuning": spec.decision if spec.decision is None or isinstance(spec.decision, str) else GIVEN,
        "calibration": fitted.calibration and fitted.calibration.to_dict(),
        "scorer": {"kind": scorer.kind, "settings": settings},
        "counts": counts is not None,
        "columns": fitted.columns and fitted.columns.to_dict(),
        "format": FORMAT,
        "version": __version__,
    }
    if fitted.conformal is not None:
        tables, about["conformal"] = fitted.conformal.to_arrays()
        arrays |= {f"conformal.{name}": array for name, array in tables.items()}
    documents = None if frozen else _pack_documents(fitted)
    if documents is not None:
        arrays |= {f"documents.{name}": array for name, array in documents.arrays.items()}
        about["documents"] = documents.about
    if fitted.register is not None and (counts is not None or documents is not None):
        arrays["register"], about["register"] = fitted.register.hashes, fitted.register.to_dict()
    if fitted.text_hashes is not None and not frozen:
        arrays["text_hashes"] = fitted.text_hashes.values
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, about


def _pack_documents(fitted: FittedModel) -> PackedDocuments | None:
    """The documents as a file holds them; None, and a warning, where they take more than they may."""
    kept, limit = fitted.documents, fitted.spec.documents_limit
    if kept is None or fitted.vocabulary is None or fitted.token_rule is None:
        return None
    if isinstance(kept, KeptDocuments):
        rule = fitted.token_rule
        grams = (*rule.char_ngrams, BORDERS[rule.char_borders]) if rule.analyzer != "word" else None
        kept = pack_documents(kept, fitted.vocabulary, exclusive=not fitted.multilabel, grams=grams)
    if kept.nbytes <= limit:
        return kept
    warnings.warn(
        f"the {kept.n_docs:,} counted documents would take {kept.nbytes:,} bytes in the model's file and may take "
        f"{limit:,}, so it is written without them and cannot be updated; to keep them, raise "
        "documents_limit, or --documents-limit",
        UnnaiveWarning,
        stacklevel=4,
    )
    return None


def _plain(value: Any, name: str) -> Any:
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    try:
        json.dumps(value)
    except TypeError as problem:
        raise UnnaiveError(f"the setting {name} is {value!r}, which cannot be stored; give plain values") from problem
    return value


def _pack_vocabulary(name: str, vocabulary: Vocabulary) -> Arrays:
    blob, offsets = vocabulary.to_arrays()
    return {f"{name}.bytes": blob, f"{name}.offsets": narrow(offsets)}


def _pack_counts(named: NamedCounts, in_use: Vocabulary) -> Arrays:
    """Counts, and their vocabulary where it is larger than the one in use."""
    counts, vocabulary = named.counts, named.vocabulary
    same = vocabulary is None or vocabulary is in_use
    arrays: Arrays = {} if same else _pack_vocabulary("counts.vocabulary", vocabulary)  # type: ignore[arg-type]
    for name in ("n_docs", "class_docs", "terms", "df"):
        arrays[f"counts.{name}"] = narrow(np.atleast_1d(getattr(counts, name)))
    for name in ("class_terms", "class_df"):
        table = getattr(counts, name)
        for part in ("data", "indices", "indptr"):
            arrays[f"counts.{name}.{part}"] = narrow(getattr(table, part))
    return arrays


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers from 0 on in as few bytes as hold them; others as they are.

    >>> narrow(np.array([1, 300])).dtype, narrow(np.array([0.5])).dtype
    (dtype('uint16'), dtype('float64'))
    """
    if values.dtype.kind not in "iu":
        return values
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def unpack(arrays: Arrays, about: dict[str, Any]) -> FittedModel:
    """The model that `pack` was given; trusts nothing. What does not fit is an error, often a plain KeyError."""
    vocabulary = _vocabulary(arrays, "vocabulary")
    classes = about["classes"]
    if not isinstance(classes, list) or list(sorted_classes(classes)) != classes or not classes:
        raise BadModel("its classes are not a sorted list of distinct labels; train it again")
    "".join(map(str, classes)).encode()  # text that no file could hold: a UnicodeEncodeError, which is a ValueError
    scorer = _scorer(arrays, about["scorer"])
    if (scorer.n_classes, scorer.n_terms) != (len(classes), len(vocabulary)):
        raise BadModel("its scorer does not fit its classes and vocabulary; train it again")
    choose(list(LINKS), scorer.link, "link")
    decision = decision_from_dict(about["decision"])
    if not isinstance(decision, Argmax):
        decision.decide(np.zeros((1, len(classes))))  # of the wrong number of classes: an error
    target_type = choose(list(TARGET_TYPES), about["target_type"], "type of target")
    counts = _counts(arrays, tuple(classes), vocabulary) if about["counts"] else None
    documents = _documents(
        arrays, about.get("documents"), tuple(classes), vocabulary, exclusive=target_type == "single"
    )
    return FittedModel(
        spec=_spec(about, decision),
        classes=tuple(classes),
        target_type=target_type,
        scorer=scorer,
        decision=decision,
        calibration=_calibration(about["calibration"], exclusive=target_type == "single", n_classes=len(classes)),
        token_rule=TokenRule.from_dict(about["token_rule"]),
        vocabulary=vocabulary,
        counts=counts,
        documents=documents,
        register=_register(arrays, about, counts if counts is not None else documents),
        text_hashes=TextHashes.from_file(arrays["text_hashes"]) if "text_hashes" in arrays else None,
        columns=Columns.from_dict(about.get("columns")),
        conformal=_conformal(arrays, about.get("conformal"), len(classes)),
    )


def _calibration(stored: Any, *, exclusive: bool, n_classes: int) -> Calibration | None:
    if stored is None:
        return None
    found = calibration_from_dict(stored)
    if found.exclusive != exclusive or found.n_classes not in (None, n_classes):
        raise BadModel("its calibration is for another kind of labels; train it again")
    return found


def _conformal(arrays: Arrays, stored: Any, n_classes: int) -> ConformalScores | None:
    if stored is None:
        return None
    own = {name: arrays[f"conformal.{name}"] for name in ("overall", "by_class")}
    return ConformalScores.from_arrays(own, stored, n_classes)


def _spec(about: dict[str, Any], decision: Decision) -> TrainingSpec:
    """The model with its settings, and how it was trained."""
    training = {name: about["training"][name] for name in TRAINING}
    training["documents_limit"] = about["training"].get("documents_limit", DOCUMENTS_LIMIT)
    training["optimise"] = about["training"].get("optimise")  # files from before it could be chosen have none
    select = training["select"]
    training["select"] = tuple(select) if isinstance(select, list) else select
    model = make_model(about["model"], dict(about["settings"]))
    tuning = decision if about["tuning"] == GIVEN else about["tuning"]
    spec = TrainingSpec(model, decision=tuning, **training)
    check_spec(spec)
    return spec


def _vocabulary(arrays: Arrays, name: str) -> Vocabulary:
    return Vocabulary.from_arrays(arrays[f"{name}.bytes"], arrays[f"{name}.offsets"])


def _scorer(arrays: Arrays, about: dict[str, Any]) -> Scorer:
    own = {key.removeprefix("scorer."): array for key, array in arrays.items() if key.startswith("scorer.")}
    return find_scorer(about["kind"]).from_arrays(own, dict(about["settings"]))


def _counts(arrays: Arrays, classes: tuple[Any, ...], in_use: Vocabulary) -> NamedCounts:
    vocabulary = _vocabulary(arrays, "counts.vocabulary") if "counts.vocabulary.bytes" in arrays else in_use
    shape = (len(classes), len(vocabulary))
    counts = Counts(
        n_docs=_numbers(arrays, "n_docs", 1)[0],
        class_docs=_numbers(arrays, "class_docs", shape[0]),
        class_terms=_table(arrays, "class_terms", shape),
        class_df=_table(arrays, "class_df", shape),
        terms=_numbers(arrays, "terms", shape[1]),
        df=_numbers(arrays, "df", shape[1]),
    )
    return NamedCounts(classes, vocabulary, counts)


def _documents(
    arrays: Arrays, about: Any, classes: tuple[Any, ...], in_use: Vocabulary, *, exclusive: bool
) -> PackedDocuments | None:
    """The documents, packed as they are: they are looked at when an update needs them."""
    if about is None:
        return None
    own = {name.removeprefix("documents."): one for name, one in arrays.items() if name.startswith("documents.")}
    return PackedDocuments.from_file(own, about, classes, in_use, exclusive=exclusive)


def _register(arrays: Arrays, about: dict[str, Any], kept: NamedCounts | PackedDocuments | None) -> Register | None:
    if "register" not in about:
        return None
    if kept is None:
        raise BadModel("it has a register and neither counts nor documents; train it again")
    return Register.from_file(arrays["register"], about["register"], kept.n_docs)


def _numbers(arrays: Arrays, name: str, size: int) -> NDArray[Any]:
    values = arrays[f"counts.{name}"]
    sound = values.dtype in FLOATS or values.dtype.kind in "iu"
    if (
        values.shape != (size,)
        or not sound
        or not bool(np.all((values >= 0) & (values < LARGEST_COUNT[values.dtype.kind])))
    ):
        raise BadModel(f"its counts of {name} do not fit; train it again")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _table(arrays: Arrays, name: str, shape: tuple[int, int]) -> StoredMatrix:
    table = read_stored(arrays, f"counts.{name}", shape)
    whole = table.data.dtype.kind in "iu"
    sound = bool(np.all((table.data > 0) & (table.data < LARGEST_COUNT[table.data.dtype.kind]))) and table.in_order
    if not sound:
        raise BadModel(f"its counts of {name} are damaged; train it again")
    return replace(table, data=table.data.astype(np.int64 if whole else np.float64))
