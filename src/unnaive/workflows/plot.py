"""A figure of the records of a comparison, or of a model on data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import BadData, choose
from unnaive.workflows.feedback import Feedback
from unnaive.workflows.sources import Data, open_data

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback
    from unnaive.io.datafiles import DataFile

CURVES = ("learning-curve", "vocabulary-curve")
OF_A_MODEL = {
    "precision-recall": "precision and recall",
    "calibration": "calibration",
    "abstention": "accuracy of the most certain documents",
    "confusion": "documents by true and predicted class",
    "classes": "precision, recall and F1",
}


@dataclass(frozen=True)
class PlotRequest:
    """Which figure of what, and where it goes: `name` is one of CURVES or OF_A_MODEL, `path` the image file."""

    what: Path
    name: str
    path: Path


def plan_figure(what: str | Path, figure: str | None = None, output: str | Path | None = None) -> PlotRequest:
    """Check the choice of a figure before the work; by default the first, in a file of its name."""
    from unnaive.base.open_files import check_exists
    from unnaive.evaluation.reports.plots import figure_format

    file = check_exists(what)
    of_records = _holds_records(file)
    there = list(CURVES if of_records else OF_A_MODEL)
    name = choose(there, figure or there[0], f"figure of {'records' if of_records else 'a model'}")
    path = Path(output) if output is not None else Path(f"{name}.png")
    figure_format(path)
    return PlotRequest(file, name, path)


def plot_file(
    what: str | Path,
    data: Data | None = None,
    output: str | Path | None = None,
    *,
    figure: str | None = None,
    measure: str | None = None,
    title: str | None = None,
    label: str | None = None,
    archives: Path | None = None,
    progress: ProgressCallback | None = None,
) -> Path:
    """Draw a figure into an image file, whose path is returned.

    Parameters
    ----------
    what : path
        Records of `unnaive compare`, or a model file.
    data : path, list of paths, DataFile or None, default=None
        Labelled data to evaluate a model on; only the test documents if the data has a split.
    output : path or None, default=None
        Image file to write: .png, .svg or .pdf; by default FIGURE.png.
    figure : str or None, default=None
        For records, "learning-curve" or "vocabulary-curve"; for a model, "precision-recall", "calibration",
        "abstention", "confusion" or "classes". By default the first.
    measure : str or None, default=None
        Measure of a curve; by default the first in the records.
    title : str or None, default=None
        Title of the figure.
    label : str or None, default=None
        Column with the labels; by default that of training.
    archives : path or None, default=None
        Folder with the archives of the collections.
    progress : callable or None, default=None
        Called with the name and the details of each event.
    """
    from unnaive.evaluation.reports.plots import save_figure

    request = plan_figure(what, figure, output)
    if request.name in CURVES:
        drawing = _curve_figure(request.what, request.name, measure, title)
    else:
        source = None if data is None else open_data(data, label=label)
        drawing = _model_figure(request.what, source, archives, request.name, title, Feedback(progress))
    return save_figure(drawing, request.path)


def _holds_records(path: Path) -> bool:
    """Whether a file is records of experiments and not a model: JSON lines, by its ending or first byte."""
    from unnaive.io.endings import RECORDS

    if path.suffix.lower() in RECORDS:
        return True
    with path.open("rb") as file:
        return file.read(1) == b"{"


def _curve_figure(path: Path, name: str, measure: str | None, title: str | None) -> Any:
    """A learning or vocabulary curve from records; of the last comparison in the file that has one."""
    from unnaive.evaluation.grids import short_name
    from unnaive.evaluation.reports.plots import curves_figure
    from unnaive.evaluation.results import RecordFile
    from unnaive.evaluation.summaries import group_comparisons, learning_curves, vocabulary_curves

    comparisons = list(group_comparisons(RecordFile(path).read()).values())
    measures = list(dict.fromkeys(record.measure for records in comparisons for record in records))
    if not measures:
        raise BadData(f"{path} has no records; make some with unnaive compare")
    chosen = choose(measures, measure or measures[0], f"measure in {path}")
    by_terms = name == "vocabulary-curve"
    curves = vocabulary_curves if by_terms else learning_curves
    for records in reversed(comparisons):
        points = curves(records, chosen)
        if points:
            break
    else:
        option = "--vocabulary 100,1000,all" if by_terms else "--train-sizes 0.1,0.5,0.8"
        raise BadData(
            f"the figure needs two points or more, and {path} has fewer; run unnaive compare with {option} first"
        )
    axis = "terms, best by information gain (log scale)" if by_terms else "training documents, % of all"
    heading = title or f"{short_name(records[0].data)}: {chosen} by {'vocabulary' if by_terms else 'training size'}"
    return curves_figure(points, title=heading, x=axis, y=chosen, logarithmic=by_terms)


def _model_figure(
    path: Path, source: DataFile | None, archives: Path | None, name: str, title: str | None, feedback: Feedback
) -> Any:
    """The results of a model on labelled data."""
    from unnaive.classifier.model_file import load_model
    from unnaive.evaluation.evaluate import evaluate
    from unnaive.evaluation.evaluation_report import abstention_choices, classes_by_size
    from unnaive.evaluation.grids import short_name
    from unnaive.evaluation.reports import plots
    from unnaive.learning.class_spellings import respell_labels
    from unnaive.workflows.corpora import has_own_split, read_corpus
    from unnaive.workflows.learnt_documents import warn_about_learnt
    from unnaive.workflows.trained_columns import read_as_trained

    fitted = load_model(path)
    if source is None:
        raise BadData(f"the figure needs labelled data to evaluate {path} on; give it as DATA, after the model")
    corpus = read_corpus(read_as_trained(source, fitted), archives, feedback)
    tested = has_own_split(corpus)  # a model is evaluated on documents that it has not learnt
    shown = respell_labels(fitted, corpus.part("test") if tested else corpus)
    warn_about_learnt(fitted, shown)
    evaluation = evaluate(fitted, shown.texts, shown.labels, name=shown.name)
    heading = title or f"{short_name(evaluation.name)}{', test documents' if tested else ''}: {OF_A_MODEL[name]}"
    if name == "precision-recall":
        return plots.precision_recall_figure(evaluation.rankings(), title=heading)
    if name == "calibration":
        if not evaluation.calibration():
            raise BadData(f"{path} gives no probabilities to draw; train it with --calibrate temperature")
        return plots.calibration_figure(evaluation.calibration(), title=heading)
    if name == "abstention":
        if evaluation.abstention is None:
            raise BadData(f"{path} gives no probabilities to draw; train it with --calibrate temperature")
        choices = abstention_choices(evaluation)
        return plots.risk_coverage_figure(evaluation.abstention, choices=choices, title=heading)
    if name == "confusion":
        return plots.confusion_figure(evaluation.confusion, evaluation.classes, title=heading)
    order = classes_by_size(evaluation)
    tally = evaluation.tally
    values = {"precision": tally.precision[order], "recall": tally.recall[order], "F1": tally.f1[order]}
    return plots.classes_figure(values, [evaluation.classes[c] for c in order], title=heading)
