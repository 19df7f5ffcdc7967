"""How a training reads data: sums over a stream, a matrix on disk, or in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError

if TYPE_CHECKING:
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.data.training_data import TrainingData
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.learner import TrainingSpec
    from unnaive.text.tokens import TokenRule

CHECKPOINT_EVERY = "256M"
LARGE = 256 << 20  # bytes of input from which documents models are trained through a matrix on disk
NUMBER_BYTES, NUMBER_CHARS = 8, 12  # bytes of a number of a vector, in a binary file and in text
LARGE_IN_CHARACTERS = 32 << 20  # the same for a model that also reads character n-grams: 5 GB of arrays


@dataclass(frozen=True)
class LargeDataOptions:
    """The options about large data.

    memory            such as 2G
    checkpoint        folder of checkpoints
    checkpoint_every  text between two checkpoints, such as 256M
    cache             folder that stores the counted matrix
    scratch           folder for temporary files
    """

    memory: str | None = None
    checkpoint: Path | None = None
    checkpoint_every: str = CHECKPOINT_EVERY
    cache: Path | None = None
    scratch: Path | None = None

    @property
    def is_set(self) -> bool:
        """Whether any of these options was given."""
        return self.memory is not None or self.checkpoint is not None or self.cache is not None


def open_large_data(
    stack: ExitStack, classifier: TextClassifier, spec: TrainingSpec, source: DataFile, limits: LargeDataOptions,
    needs_corpus: str | None,
) -> TrainingData | None:  # fmt: skip
    """The documents as a stream or a matrix on disk, open as long as the stack; None to read them into memory.

    `spec` is the model that is to be trained on them, made of `classifier`, which says how texts are read.
    `needs_corpus` names an option that needs all documents in memory, if one was given.
    """
    if needs_corpus is not None:
        if limits.is_set:
            raise UnnaiveError(
                f"{needs_corpus} needs all documents in memory; it cannot be combined with --memory, "
                "--set checkpoint or --set cache"
            )
        return None
    from unnaive.scaleout.streaming import NeedsDocuments, stream_documents

    from_sums = learns_from_sums(spec)
    least = LARGE_IN_CHARACTERS if classifier.token_rule.analyzer == "both" else LARGE
    large = not from_sums and _is_large(limits, source, least)
    rule = classifier.token_rule_of(lambda: text_size(source)) if large else classifier.token_rule
    resources = _resources(limits, source, rule)
    hashed = limits.checkpoint is None  # a checkpoint stores sums and no hashes, which take 8 bytes per document
    common: dict[str, Any] = {"n_jobs": classifier.n_jobs, "resources": resources, "hash_texts": hashed}
    in_passes = large and learns_in_passes(spec) and source.read_once() is None
    streamed = from_sums and (spec.decision is not None or source.read_once() is None)
    if (streamed or in_passes) and limits.cache is None:
        tunes = spec.decision is None
        try:
            data = stream_documents(source, rule, tunes_multilabel=tunes, second_pass=in_passes, **common)
            return _without_hashes(stack.enter_context(data), limits)
        except NeedsDocuments:
            if limits.checkpoint is not None:
                raise UnnaiveError(
                    "thresholds of multilabel data are tuned on documents, but a checkpoint keeps only sums; add "
                    "--set decision=untuned, or leave --set checkpoint=out"
                ) from None
    elif limits.checkpoint is not None:
        raise UnnaiveError(
            f"--set checkpoint needs a model that learns from counts, which {spec.model.traits.title} with these "
            "options does not; use --set cache=FOLDER, which stores the counted documents"
        )
    if not large and not _is_large(limits, source, least):
        return None
    from unnaive.scaleout.matrix import documents_on_disk

    return _without_hashes(stack.enter_context(documents_on_disk(source, rule, keep=limits.cache, **common)), limits)


def _without_hashes(data: TrainingData, limits: LargeDataOptions) -> TrainingData:
    """The data, whose report names the option with which no hashes of texts are kept, if one was given."""
    option = next((name for name, value in _kept(limits).items() if value is not None), None)
    return data if option is None else replace(data, report=data.report | {"option_without_hashes": option})


def _kept(limits: LargeDataOptions) -> dict[str, Path | None]:
    """The options that keep work on disk, as users write them."""
    return {"--set checkpoint": limits.checkpoint, "--set cache": limits.cache}


def open_soft_labels(
    stack: ExitStack, classifier: TextClassifier, source: DataFile, soft: Sequence[str], limits: LargeDataOptions
) -> tuple[TrainingData, int] | None:
    """Documents with probabilities as labels in a matrix on disk, and how many; None: they go into memory."""
    option = next((name for name, value in _kept(limits).items() if value is not None), None)
    if option is not None:
        raise UnnaiveError(
            f"--soft-labels cannot be combined with {option}, which keeps no probabilities; leave it out"
        )
    if not _is_large(limits, source, LARGE):
        return None
    from unnaive.scaleout.soft_documents import soft_documents_on_disk

    rule = classifier.token_rule_of(lambda: text_size(source))
    resources = _resources(limits, source, rule)
    return stack.enter_context(
        soft_documents_on_disk(source, tuple(soft), rule, n_jobs=classifier.n_jobs, resources=resources)
    )


def _is_large(limits: LargeDataOptions, source: DataFile, least: int) -> bool:
    """Whether documents go through a matrix on disk: with at least `least` bytes of input."""
    return limits.memory is not None or limits.cache is not None or input_size(source) >= least


def _resources(limits: LargeDataOptions, source: DataFile, rule: TokenRule) -> Any:
    from unnaive.base.byte_sizes import parse_size
    from unnaive.data.memory import parse_memory
    from unnaive.scaleout.checkpoint import Checkpoint, fingerprint
    from unnaive.scaleout.streaming import Resources

    checkpoint = None
    if limits.checkpoint is None and limits.checkpoint_every != CHECKPOINT_EVERY:
        raise UnnaiveError("--set checkpoint-every needs a checkpoint; add --set checkpoint=FOLDER")
    if limits.checkpoint is not None:
        of = fingerprint(source, rule)
        checkpoint = Checkpoint(limits.checkpoint, of, parse_size(limits.checkpoint_every))
    memory = None if limits.memory is None else parse_memory(limits.memory)
    return Resources(memory, limits.scratch, checkpoint)


def learns_from_sums(spec: TrainingSpec) -> bool:
    """Whether training needs only sums over documents: no class weights, nothing tuned on documents."""
    return spec.model.traits.statistic == "counts" and not _holds_out(spec) and spec.class_weight is None


def learns_in_passes(spec: TrainingSpec) -> bool:
    """Whether training reads the files in several passes, and needs neither all documents at once nor held-out ones."""
    return spec.model.traits.in_passes and not _holds_out(spec) and spec.class_weight is None


def _holds_out(spec: TrainingSpec) -> bool:
    """Whether something is tuned on held-out documents."""
    from unnaive.learning.tuning import TUNINGS

    tuned = isinstance(spec.decision, str) and spec.decision in TUNINGS
    return tuned or bool(spec.calibration) or spec.optimise not in (None, "accuracy")


def text_size(source: DataFile) -> int:
    """Bytes of text in all files, without vectors; their share is estimated from the first rows."""
    from unnaive.text.field import VECTOR, Field

    size, fields = input_size(source), [Field(name, VECTOR) for name in source.vector if "=" not in name]
    if not fields or not size:
        return size
    from unnaive.io.formats import find_format
    from unnaive.text.sections import count_record_chars

    sample = source.sample_texts()
    chars = sum(count_record_chars(text, fields) for text in sample)
    numbers = sum(int(n) for text in sample for n in re.findall(r"\x1f(\d+) numbers\x1f", text))
    width = NUMBER_BYTES if find_format(source.files()[0]) == "parquet" else NUMBER_CHARS
    return int(size * chars / (chars + numbers * width)) if chars else size


def input_size(source: DataFile) -> int:
    """Bytes of all files; 0 for stdin and for databases."""
    total = 0
    for path in source.files():
        file_path = Path(path)
        if file_path.is_dir():
            total += sum(file.stat().st_size for file in file_path.rglob("*") if file.is_file())
        elif file_path.is_file():
            total += file_path.stat().st_size
    return total
