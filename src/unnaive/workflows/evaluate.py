"""Evaluate a model on labelled documents in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError, count_noun
from unnaive.workflows.feedback import Feedback
from unnaive.workflows.result import Result
from unnaive.workflows.sources import Data, ModelSource, open_data, open_model

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback
    from unnaive.evaluation.abstention import AbstentionChoice
    from unnaive.evaluation.evaluate import Evaluation
    from unnaive.evaluation.out_of_scope import OutOfScope
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.fitted import FittedModel


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationResult(Result):
    """A model on labelled documents.

    report        the whole evaluation: confusions, mistakes, curves; it can be rendered as a page
    measures      value by name of measure
    read          which columns were read, for people
    abstention    the probability to reject below, if an accuracy was asked for
    out_of_scope  how well texts of no class are detected, if some were given
    model_sha256  the SHA-256 of the model file, so that a service can tell which version was measured
    """

    report: Evaluation
    measures: Mapping[str, float]
    read: str
    abstention: AbstentionChoice | None = None
    out_of_scope: OutOfScope | None = None
    model_sha256: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive evaluate --json` prints them."""
        from unnaive.evaluation.evaluation_report import as_dict

        values = as_dict(self.report) | {"measures": dict(self.measures)}
        if self.model_sha256 is not None:
            values |= {"model_sha256": self.model_sha256}
        if self.abstention is not None:
            values |= {"target_accuracy": self.abstention.for_accuracy, "abstain": asdict(self.abstention)}
        return values | ({} if self.out_of_scope is None else {"out_of_scope": asdict(self.out_of_scope)})


def evaluate_file(
    model: ModelSource,
    data: Data,
    *,
    text: str | Sequence[str] = (),
    label: str | None = None,
    measures: Sequence[str] = (),
    target_accuracy: float | None = None,
    confidence: float = 0.9,
    out_of_scope: str | Path | None = None,
    progress: ProgressCallback | None = None,
) -> EvaluationResult:
    """Evaluate a model on labelled documents in files, which are read like its training data.

    The same as the command `unnaive evaluate`.

    Parameters
    ----------
    model : path, TextClassifier or FittedModel
        A model file or a trained model.
    data : path, list of paths or DataFile
        Labelled documents that the model has not seen.
    text, label : str, default=()
        Columns, if they are not those of the training data.
    measures : sequence of str, default=()
        Names of measures; by default the usual ones.
    target_accuracy : float or None, default=None
        Accuracy that accepted documents should have; finds the probability to reject below.
    confidence : float, default=0.9
        Probability that new documents reach this accuracy.
    out_of_scope : path or None, default=None
        Texts of no class, to measure how well the model detects them.
    progress : callable or None, default=None
        Called with the name and the details of each event.

    Examples
    --------
    >>> import tempfile
    >>> from unnaive import train_file, write_tickets
    >>> folder = write_tickets(tempfile.mkdtemp())
    >>> classifier = train_file(folder / "train.csv", "multinomial", label="queue").classifier
    >>> round(evaluate_file(classifier, folder / "test.csv").measures["accuracy"], 3)
    0.822
    """
    from unnaive.base.open_files import hash_file
    from unnaive.evaluation.evaluate import evaluate
    from unnaive.workflows.labelled_documents import read_labelled_corpus
    from unnaive.workflows.learnt_documents import warn_about_learnt
    from unnaive.workflows.trained_columns import read_as_trained

    fitted, source, feedback = open_model(model), open_data(data, text=text, label=label), Feedback(progress)
    watched = feedback.reading(read_as_trained(source, fitted))
    corpus = read_labelled_corpus(watched, fitted)
    warn_about_learnt(fitted, corpus)
    digest = hash_file(model) if isinstance(model, (str, Path)) else None
    feedback.step("measuring")
    evaluation = evaluate(fitted, corpus.texts, corpus.labels, name=corpus.name, ids=corpus.ids)
    values = {name: evaluation.measure(name) for name in measures} if measures else evaluation.measures
    choice = None if target_accuracy is None else _find_choice(evaluation, target_accuracy, confidence)
    novel = None if out_of_scope is None else _find_out_of_scope(fitted, corpus.texts, source, Path(out_of_scope))
    return EvaluationResult(evaluation, values, watched.describe(), choice, novel, digest)


def _find_choice(evaluation: Evaluation, accuracy: float, sureness: float) -> AbstentionChoice:
    """The probability to reject below for an accuracy, or an error that says why there is none."""
    if evaluation.abstention is None:
        raise UnnaiveError("this model gives no probabilities to reject by; train it with --calibrate temperature")
    choice = evaluation.choose_abstention(accuracy, sureness)
    if choice is None:
        best = 100 * float(evaluation.abstention.accuracy.max())
        raise UnnaiveError(
            f"no probability reaches an accuracy of {100 * accuracy:g} % with {100 * sureness:g} % "
            f"confidence on half of {count_noun(len(evaluation), 'document')} (the most certain documents reach "
            f"at most {best:.1f} %); ask for less, or give more documents"
        )
    return choice


def _find_out_of_scope(fitted: FittedModel, texts: Sequence[str], source: DataFile, path: Path) -> OutOfScope:
    """How well the model detects the out-of-scope texts of a file."""
    from unnaive.evaluation.out_of_scope import evaluate_out_of_scope
    from unnaive.io.datafiles import DataFile
    from unnaive.workflows.trained_columns import read_as_trained

    others = read_as_trained(DataFile(str(path), message=source.message), fitted)
    outside = [text for batch in others.batches(labelled=False) for text in batch.texts]
    return evaluate_out_of_scope(fitted, texts, outside)
