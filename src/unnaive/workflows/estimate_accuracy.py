"""Estimate the accuracy of a model on documents without labels in files, in constant memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.workflows.feedback import Feedback
from unnaive.workflows.result import Result
from unnaive.workflows.sources import Data, ModelSource, open_data, open_model

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback
    from unnaive.evaluation.estimated_accuracy import EstimatedAccuracy


@dataclass(frozen=True, repr=False)
class EstimateResult(Result):
    """A model on documents without labels.

    estimate      the estimated accuracy, its interval, and reasons not to believe it
    read          which columns were read, for people
    model_sha256  the SHA-256 of the model file
    """

    estimate: EstimatedAccuracy
    read: str
    model_sha256: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive evaluate --json` prints them for data without labels."""
        values = {"estimated": asdict(self.estimate) | {"doubts": list(self.estimate.doubts)}}
        return values | ({} if self.model_sha256 is None else {"model_sha256": self.model_sha256})


def estimate_accuracy_file(
    model: ModelSource, data: Data, *, text: str | Sequence[str] = (), progress: ProgressCallback | None = None
) -> EstimateResult:
    """Estimate the accuracy of a model on documents without labels in files, which are read like its training data.

    The same as the command `unnaive evaluate` for such files. Nothing can be promised where documents differ from those
    of training; `estimate.doubts` says if that is visible.

    Parameters
    ----------
    model : path, TextClassifier or FittedModel
        A model file or a trained model, with exclusive classes and calibrated probabilities, such as auto.
    data : path, list of paths or DataFile
        Documents without labels.
    text : str or sequence of str, default=()
        Columns with the text, if they are not those of the training data.
    progress : callable or None, default=None
        Called with the name and the details of each event.

    Examples
    --------
    >>> import tempfile
    >>> from unnaive import TextClassifier, train_file, write_tickets
    >>> folder = write_tickets(tempfile.mkdtemp())
    >>> model = TextClassifier("nbsvm", calibrate="temperature")
    >>> trained = train_file(folder / "train.csv", model, label="queue").classifier
    >>> estimate = estimate_accuracy_file(trained, folder / "test.csv").estimate
    >>> estimate.documents, estimate.low < 0.92 < estimate.high
    (275, True)
    """
    from unnaive.base.open_files import hash_file
    from unnaive.evaluation.estimated_accuracy import AccuracyEstimator
    from unnaive.workflows.trained_columns import read_as_trained

    fitted, feedback = open_model(model), Feedback(progress)
    estimator = AccuracyEstimator(fitted)
    watched = feedback.reading(read_as_trained(open_data(data, text=text), fitted))
    for batch in watched.batches(labelled=False):
        estimator.add(batch.texts)
    digest = hash_file(model) if isinstance(model, (str, Path)) else None
    return EstimateResult(estimator.result(), watched.describe(), digest)
