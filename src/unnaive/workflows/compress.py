"""Models of a maximum size: compressed, evaluated before and after, described."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.workflows.result import Result
from unnaive.workflows.sources import Data, ModelSource, open_data, open_model

if TYPE_CHECKING:
    from unnaive.classifier.compress import Compressed
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.data.corpus import Corpus
    from unnaive.learning.fitted import FittedModel

FOLDS = 5  # one of them is held out for evaluation


@dataclass(frozen=True, eq=False, repr=False)
class CompressionResult(Result):
    """A compressed model, its file, what was changed, and the measures before and after if data was given."""

    fitted: FittedModel
    file: Path
    changes: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive compress --json` prints them."""
        return self.changes | {"file": str(self.file)}


def compress_file(
    model: ModelSource, output: str | Path, max_size: str | int, *, data: Data | None = None, label: str | None = None
) -> CompressionResult:
    """Write a model to a file of at most `max_size`, such as "200kB"; labelled `data` shows what that costs."""
    from unnaive.base.byte_sizes import parse_size
    from unnaive.classifier.compress import compress_model
    from unnaive.classifier.model_file import check_writable, save
    from unnaive.learning.class_spellings import respell_labels
    from unnaive.workflows.trained_columns import read_as_trained

    path, limit = Path(output), parse_size(max_size)
    check_writable(path)
    fitted = open_model(model)
    corpus = None
    if data is not None:
        corpus = respell_labels(fitted, read_as_trained(open_data(data, label=label), fitted).corpus())
    small = compress_model(fitted, limit)
    changes = describe_size(small, limit)
    if corpus is not None:
        changes["cost"] = compare_measures(fitted, small.fitted, corpus)
    save(small.fitted, path, frozen=small.frozen)
    return CompressionResult(small.fitted, path, changes)


def measure_cost(classifier: TextClassifier, corpus: Corpus, limit: int, multilabel: bool) -> dict[str, Any]:
    """Measures before and after compression on a fifth of the documents, with a model trained on the rest."""
    import numpy as np

    from unnaive.classifier.compress import compress_model
    from unnaive.workflows.hold_out import as_targets, parts_of_corpus

    aside = parts_of_corpus(classifier, corpus, FOLDS, multilabel) == 0
    rest, held_out = corpus.take(np.flatnonzero(~aside)), corpus.take(np.flatnonzero(aside))
    copy = type(classifier)(**classifier.get_params()).fit(rest.texts, as_targets(rest, multilabel))
    small = compress_model(copy.fitted_, limit, texts=rest.texts)
    return compare_measures(copy.fitted_, small.fitted, held_out)


def compare_measures(before: FittedModel, after: FittedModel, corpus: Corpus) -> dict[str, Any]:
    """The measures of two models on the same documents."""
    from unnaive.workflows.hold_out import measure_model

    return {"before": measure_model(before, corpus), "after": measure_model(after, corpus)}


def describe_size(small: Compressed, limit: int) -> dict[str, Any]:
    """The changes to a model, as plain values."""
    return {
        "limit": limit,
        "bytes": small.bytes,
        "bytes_before": small.bytes_before,
        "weight_bits": small.bits,
        "terms": small.terms,
        "terms_before": small.terms_before,
        "can_be_updated": not small.frozen,
    }
