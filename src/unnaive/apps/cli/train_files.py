"""What `unnaive train` does on this machine: learn from files, measure, make smaller, write a model file."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.apps.cli.out_of_core import Limits
from unnaive.base.errors import UnnaiveError, count_noun

if TYPE_CHECKING:
    from unnaive.apps.cli.screen import Progress
    from unnaive.classifier.compress import Compressed
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.io.corpus import Corpus
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.fitted import FittedModel

    Finish = Callable[[FittedModel, Corpus], FittedModel]


@dataclass(frozen=True)
class Learnt:
    """A model, and what it was learnt from.

    corpus      the documents; None where they streamed by
    multilabel  whether they were taken to have any number of labels each
    measured    what was measured on the way, by name
    """

    fitted: FittedModel
    n_docs: int
    corpus: Corpus | None = None
    multilabel: bool = False
    measured: dict[str, Any] = field(default_factory=dict)


def train_file(
    classifier: TextClassifier,
    source: DataFile,
    output: Path,
    *,
    test: Sequence[str] | None = None,
    holdout: float | None = None,
    frozen: bool = False,
    finish: Finish | None = None,
    max_size: str | None = None,
    limits: Limits | None = None,
) -> dict[str, Any]:
    """Train, measure if asked, write; the sizes and measures as plain values. `finish` is applied before writing."""
    from unnaive.apps.cli.measuring import measure
    from unnaive.apps.cli.output import read_as_trained, warn_about_learnt
    from unnaive.apps.cli.screen import reading_progress
    from unnaive.apps.cli.train_summary import describe_training
    from unnaive.base.byte_sizes import parse_size
    from unnaive.classifier.model_file import check_writable, save
    from unnaive.scaleout.scratch import arrays_on_disk

    limit = None if max_size is None else parse_size(max_size)
    check_writable(output)  # before minutes of work
    classifier.spec()  # likewise: an error if a setting is wrong
    start = time.perf_counter()
    source = replace(
        source, options=replace(source.options, language=classifier.language or "en", threads=classifier.n_jobs)
    )
    needs = {"--holdout": holdout is not None, "--register": finish is not None, "--max-size": limit is not None}
    needs_corpus = next((name for name, given in needs.items() if given), None)
    steps = 3 + (holdout is not None) + bool(test)  # reading, learning and writing are always among them
    steps += 0 if limit is None else 2
    with reading_progress(source, steps=steps) as (watched, bar):
        learnt = _learn_large(classifier, watched, limits or Limits(), bar, needs_corpus)
        learnt = learnt or _learn_in_memory(classifier, watched, bar, holdout)
        fitted, corpus, measured = learnt.fitted, learnt.corpus, learnt.measured
        read = watched.describe()
        if test:
            bar.rename("measuring")
            aside = read_as_trained(replace(source, paths=tuple(test)), fitted).corpus()
            measured["test"] = measure(fitted, aside)
            warn_about_learnt(fitted, aside)
        if finish and corpus is not None:
            fitted = finish(fitted, corpus)
        if limit is not None and corpus is not None:
            fitted = replace(fitted, counts=None) if frozen else fitted
            small, measured["size"] = _make_smaller(
                fitted, limit, classifier, corpus, bar, multilabel=learnt.multilabel, registered=finish is not None
            )
            fitted, frozen = small.fitted, frozen or small.frozen
        bar.rename("writing")
        large = corpus is None and fitted.documents is not None
        with arrays_on_disk(output.absolute().parent) if large else nullcontext():
            save(fitted, output, frozen=frozen)
    seconds = time.perf_counter() - start
    found = describe_training(classifier.model, fitted, output, n_docs=learnt.n_docs, seconds=seconds, read=read)
    return found | measured


def _learn_large(
    classifier: TextClassifier, source: DataFile, limits: Limits, bar: Progress, needs_corpus: str | None
) -> Learnt | None:
    """The model of documents that stream by, or that lie in a matrix on disk; None where they go into memory."""
    from unnaive.apps.cli.out_of_core import learn_out_of_core

    found = learn_out_of_core(
        classifier, source, limits, progress=bar.event, needs_corpus=needs_corpus,
        on_counted=lambda n: bar.rename(_learning(classifier, n)),
    )  # fmt: skip
    if found is None:
        return None
    fitted, report = found
    told = report.to_dict()
    return Learnt(fitted, report.documents, measured={"out_of_core": told} if told else {})


def _learn_in_memory(classifier: TextClassifier, source: DataFile, bar: Progress, holdout: float | None) -> Learnt:
    """The model of all documents at once, measured before on a share of them if one was given."""
    from unnaive.apps.cli.measuring import as_targets, measure_holdout
    from unnaive.data.text_hashes import TextHashes
    from unnaive.models.catalogue import find_model

    takes_unlabelled = find_model(classifier.model).takes_unlabelled
    corpus = source.corpus(unlabelled=takes_unlabelled)
    multilabel = bool(source.multilabel) or any(len(names) > 1 for names in corpus.labels)
    multilabel = multilabel or (corpus.multilabel and not takes_unlabelled)
    measured = {}
    if holdout is not None:
        bar.rename(f"measuring {classifier.model} on documents set aside")
        measured["holdout"] = measure_holdout(classifier, corpus, holdout, multilabel, bar.event)
    bar.rename(_learning(classifier, len(corpus)))
    classifier.fit(corpus.texts, as_targets(corpus, multilabel), progress=bar.event)
    columns = source.options.log.columns
    columns = columns and replace(columns, separator=source.separator)
    fitted = replace(classifier.fitted_, columns=columns, text_hashes=TextHashes.of(corpus.texts))
    return Learnt(fitted, len(corpus), corpus, multilabel, measured)


def _learning(classifier: TextClassifier, n_docs: int) -> str:
    """What the progress bar says."""
    return f"learning {classifier.model} from {count_noun(n_docs, 'document')}"


def _make_smaller(
    fitted: FittedModel, limit: int, classifier: TextClassifier, corpus: Corpus, bar: Progress, *,
    multilabel: bool, registered: bool,
) -> tuple[Compressed, dict[str, Any]]:  # fmt: skip
    """The model in at most `limit` bytes, and what was done to it and cost, as plain values."""
    from unnaive.apps.cli.sizes import describe_size, measure_cost
    from unnaive.classifier.compress import compress_model

    bar.rename("making it smaller")
    small = compress_model(fitted, limit, texts=corpus.texts)
    if registered and small.frozen:
        raise UnnaiveError(
            f"a model of at most {limit:,} bytes has no room for a register; allow {small.bytes_before:,}, or "
            "leave out --register"
        )
    size = describe_size(small, limit)
    if small.lossy:
        bar.rename("measuring what that costs")
        size |= {"cost": measure_cost(classifier, corpus, limit, multilabel), "set_aside": True}
    return small, size


def registering(asked: bool, key: Path | None, frozen: bool) -> Finish | None:
    """What adds a register of its documents to a model, if it was asked for."""
    if key is not None and not asked:
        raise UnnaiveError("--key is for the register; add --register")
    if not asked:
        return None
    if frozen:
        raise UnnaiveError("a frozen model cannot forget, so it has no register; leave one of the two out")
    from unnaive.classifier.receipts import read_key, register_documents

    secret = read_key(key)

    def register(fitted: FittedModel, corpus: Corpus) -> FittedModel:
        if secret is not None:  # hashes without a key beside those with one would give away what the key hides
            fitted = replace(fitted, text_hashes=None)
        return register_documents(fitted, corpus.texts, corpus.labels, secret)

    return register
