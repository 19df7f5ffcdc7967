"""The options of training other than the settings of a model: the one declaration of type, range, default and help.

The parameters of TextClassifier, the options of `unnaive train` and the reference pages are generated from it, so this
module imports nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unnaive.base.settings import declared_options, option

if TYPE_CHECKING:
    from unnaive.learning.decisions import Decision

DOCUMENTS_LIMIT = 500_000_000  # bytes, compressed: about 200 times the 11,314 messages of 20 Newsgroups


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingOptions:
    """How a model is trained on texts: everything but the settings of the model and how texts are read.

    TrainingSpec (learning/learner.py) is these options with the model.
    """

    min_df: int = option(
        "Minimum number of documents that a term occurs in; rarer terms are left out.",
        stored="required",
        default=1,
        at_least=1,
    )
    select: int | tuple[str, int] | None = option(
        "Keep the K best terms by information gain or another measure, e.g. chi2:2000; by default all.",
        stored="required",
        default=None,
        metavar="[MEASURE:]K",
        more='In Python 2000, ("chi2", 2000), or ("information-gain-per-class", 30).',
    )
    multilabel: bool | None = option(
        "Whether a text may have any number of labels; by default found from the type of the labels.",
        stored="no",
        default=None,
        more="By default it is multilabel if each text has a list, tuple or set of labels, or labels are a 0/1 matrix.",
    )
    decision: str | Decision | None = option(
        "How scores become labels: argmax (default), scut, rcut, pcut, best (multilabel default) or untuned.",
        stored="no",
        default=None,
        choices=("argmax", "untuned", "best", "scut", "rcut", "pcut"),
        more='None: the best class; for multilabel targets, "best" with at least 50 training documents, else '
        '"untuned". "scut" tunes a threshold for each class on held-out scores, "rcut" tunes one number of labels for '
        'all texts, and "best" takes the better of the two on held-out scores. "pcut" assigns each class to the '
        'same share of texts as in training. "untuned" assigns every class with odds above even (for the OR gate and '
        "cosines: within a tenth of the best score); it is the default of the estimators on counts. After every update "
        "the decision is tuned again on the documents of the model.",
    )
    calibrate: str | bool | None = option(
        "Calibrate probabilities: temperature, platt, isotonic or none.",
        stored="required",
        default=None,
        choices=("temperature", "platt", "isotonic", "none"),
        noun="calibration",
        more="The calibration is fitted to held-out scores: one temperature for all classes (True), or a logistic line "
        "or an increasing function for each class against the rest. Labels stay the same. None: a temperature if "
        "`optimise` needs probabilities, else no calibration.",
    )
    optimise: Any = option(
        "What the decision optimises: accuracy (default), macro-f1, or the expected cost by a CSV file of costs.",
        default=None,
        metavar="AIM|COST.csv",
        path="read",
        more="For single-label documents: accuracy predicts the best class; macro-f1 tunes class weights on held-out "
        "documents, so that rare classes are predicted more often; costs predict the class with the lowest expected "
        "cost, from a CSV file with a line for each true class and a column for each predicted class, or a dict of "
        'dicts. For multilabel targets "macro-f1" is the same as decision="scut".',
    )
    word_vectors: Any = option(
        "Word vectors for auto, maxent, nbsvm or svm: a file of GloVe, word2vec, fastText, .npz; a model2vec folder.",
        stored="no",
        default=None,
        metavar="FILE",
        path="read",
        more="The model can then use words of new texts that training never saw, if they have a vector. This helps "
        "most with few labels. In Python a path or a WordVectors. The model file contains the vectors of the first "
        "100,000 words.",
    )
    class_weight: Any = option(
        "Class weights; balanced gives documents of rare classes more weight; by default all weigh 1.",
        stored="required",
        default=None,
        more='"balanced", or a dict from class to weight: a number from 1e-9 to 1e9, or 0 to leave out the documents '
        "of the class.",
    )
    n_jobs: int | None = option(
        "Number of threads; by default one for each core.", stored="no", default=None, flags=("--jobs", "-j")
    )  # its range is checked where threads start, since −1 means all cores
    random_state: int = option("Random seed.", stored="required", default=0, at_least=0, flags=("--seed",))
    documents_limit: int = option(
        "Maximum size of the counted documents in the model file, e.g. 500MB; updates need them.",
        default=DOCUMENTS_LIMIT,
        at_least=0,
        metavar="SIZE",
        more="In Python in bytes. Models that learn from documents keep them; if they are larger, the file is written "
        "without them, with a warning. 0: never keep them.",
    )


TRAINING_OPTIONS = declared_options(TrainingOptions)


def calibration_name(calibrate: Any, optimise: Any = None) -> str | None:
    """The calibration that the settings ask for; None for none.

    >>> calibration_name(True), calibration_name("none"), calibration_name(None, "macro-f1")
    ('temperature', None, 'temperature')
    """
    if calibrate is None:
        return None if optimise in (None, "accuracy") else "temperature"
    if isinstance(calibrate, str):
        return None if calibrate == "none" else calibrate
    return "temperature" if calibrate else None
