"""The options of training other than the settings of a model: the one declaration of type, range, default and help.

The parameters of TextClassifier, the options of `unnaive train` and the reference pages are generated from it, so this
module imports nothing heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unnaive.base.settings import Settings, setting

if TYPE_CHECKING:
    from unnaive.learning.decisions import Decision

DOCUMENTS_LIMIT = 500_000_000  # bytes, compressed: about 200 times the 11,314 messages of 20 Newsgroups


class TrainingOptions(Settings):
    """How a model is trained on texts: everything but the settings of the model and how texts are read."""

    min_df: int = setting(
        "Minimum number of documents that a term occurs in; rarer terms are left out.", default=1, at_least=1
    )
    select: int | tuple[str, int] | None = setting(
        "Keep the K best terms by information gain or another measure, e.g. chi2:2000; by default all.",
        default=None,
        metavar="[MEASURE:]K",
        more='In Python 2000, ("chi2", 2000), or ("information-gain-per-class", 30).',
    )
    multilabel: bool | None = setting(
        "Whether a text may have any number of labels; by default found from the type of the labels.",
        default=None,
        more="A list, tuple or set for each text, or a 0/1 matrix, means any number.",
    )
    decision: str | Decision | None = setting(
        "How scores become labels: argmax (default), scut, rcut, pcut, best (multilabel default) or untuned.",
        default=None,
        choices=("argmax", "untuned", "best", "scut", "rcut", "pcut"),
        more='None: the best class, or for multilabel targets "best" where `fit` has 50 documents or more, else '
        '"untuned". "scut" gives each class the threshold that is best on held-out scores, "rcut" each text the '
        'same number of labels, "best" is the better of these two on held-out scores, "pcut" gives each class the '
        'share of texts that it had in training. "untuned" gives every class above even odds (of the OR gate and '
        "of cosines those within a tenth of the best score), which is what the estimators on counts do unless "
        "told otherwise. After every update they are tuned on the documents that the model has then.",
    )
    calibrate: str | bool | None = setting(
        "Calibrate probabilities: temperature, platt, isotonic or none.",
        default=None,
        choices=("temperature", "platt", "isotonic", "none"),
        more="They are fitted to held-out scores: one temperature for all classes (True), or for each class against "
        "the rest a logistic line or a rising function. Labels stay the same. None: a temperature where "
        "`optimise` needs probabilities.",
    )
    optimise: Any = setting(
        "What the decision optimises: accuracy (default), macro-f1, or the expected cost by a CSV file of costs.",
        default=None,
        metavar="AIM|COST.csv",
        path="read",
        more="For documents with one label each: the best class; weights of the classes tuned on held-out documents "
        "for macro F1, which gives rare classes their due; or the lowest expected cost, from a CSV file with a "
        "line for each true class and a column for each given one, or a dict of dicts. For multilabel targets "
        '"macro-f1" is decision="scut".',
    )
    vectors: Any = setting(
        "Word vectors for auto, maxent, nbsvm or svm: GloVe, word2vec or fastText files, or .npz; may be gz or zst.",
        default=None,
        metavar="FILE",
        path="read",
        more="Words of new texts that have a vector count, though training never saw them. Worth most where labels are "
        "few. In Python a path or a WordVectors. The vectors of the first 100,000 words become part of the model.",
    )
    class_weight: Any = setting(
        "Class weights; balanced gives documents of rare classes more weight; by default all weigh 1.",
        default=None,
        more='"balanced", or a dict from class to weight: 0, which leaves the documents of the class out, or a number '
        "from 1e-9 to 1e9.",
    )
    n_jobs: int | None = setting(
        "Number of threads; by default one for each core.", default=None, at_least=1, flags=("--threads",)
    )
    random_state: int = setting("Random seed.", default=0, at_least=0, flags=("--seed",))
    documents_limit: int = setting(
        "Maximum size of the counted documents in the model file, e.g. 500MB; updates need them.",
        default=DOCUMENTS_LIMIT,
        at_least=0,
        metavar="SIZE",
        more="In Python in bytes. Models that learn from documents keep them; where they take more, the file is "
        "written without them, with a warning. 0: they are not kept.",
    )
