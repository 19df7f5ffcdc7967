"""Compare models on the same splits of a file or collection; an interrupted comparison continues from its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import Interrupted, UnnaiveError
from unnaive.workflows.feedback import Feedback
from unnaive.workflows.result import Result
from unnaive.workflows.sources import Data, open_data

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback
    from unnaive.data.corpus import Corpus
    from unnaive.evaluation.experiments import Comparison
    from unnaive.evaluation.trials import ExperimentPlan
    from unnaive.io.datafiles import DataFile
    from unnaive.text.tokens import TokenRule

FAMILY = ("auto", "multinomial", "bernoulli", "complement", "or-gate", "rocchio", "hos", "maxent", "svm", "knn", "tree")


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult(Result):
    """Models on the same splits: their measured values, the file of records if one is kept, and remarks."""

    comparison: Comparison
    file: Path | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the summaries, the tests and all records."""
        import json

        values: dict[str, Any] = json.loads(self.comparison.render("json"))
        return values


def compare_file(
    data: Data,
    models: Sequence[str] | None = None,
    *,
    text: str | Sequence[str] = (),
    label: str | None = None,
    splits: int = 10,
    train_sizes: Sequence[float] = (),
    vocabularies: Sequence[int | None] = (None,),
    folds: int | None = None,
    measures: Sequence[str] | None = None,
    word_vectors: str | Path | None = None,
    min_df: int = 1,
    seed: int = 0,
    jobs: int = 1,
    rule: TokenRule | None = None,
    records: str | Path | None = None,
    archives: Path | None = None,
    progress: ProgressCallback | None = None,
) -> ComparisonResult:
    """Compare models on the same splits of documents in files, or of a collection such as "tickets".

    Each model is trained exactly as TextClassifier.fit trains it on the training documents of the split.

    Parameters
    ----------
    data : path, list of paths or DataFile
        Labelled documents.
    models : sequence of str or None, default=None
        Names of models with settings, such as "multinomial:alpha=0.1"; None for one of each family.
    text, label : str, default=()
        Columns; by default they are guessed.
    splits : int, default=10
        Number of random splits.
    train_sizes : sequence of float, default=()
        Training sizes in % of the data; by default 80, or the split of the data.
    vocabularies : sequence of int or None, default=(None,)
        Numbers of terms, selected by information gain; None for all.
    folds : int or None, default=None
        Number of cross-validation folds, instead of random splits.
    measures : sequence of str or None, default=None
        Names of measures; None for accuracy (multilabel: micro-f1) and macro-f1.
    word_vectors : path or None, default=None
        File of word vectors, for the models that use them.
    min_df : int, default=1
        Minimum number of training documents of a term.
    seed : int, default=0
        Random seed.
    jobs : int, default=1
        Number of processes; results do not depend on it.
    rule : TokenRule or None, default=None
        How texts are read.
    records : path or None, default=None
        File for the result of each run, from which an interrupted comparison continues; None for none.
    archives : path or None, default=None
        Folder with the archives of the collections.
    progress : callable or None, default=None
        Called with the name and the details of each event.

    Examples
    --------
    >>> print(compare_file("tickets", ["multinomial", "nbsvm"], measures=["accuracy"]).comparison)
    | accuracy | all terms |
    |---|---|
    | multinomial | 0.8218 |
    | nbsvm | **0.9200** |
    """
    from unnaive.evaluation.trials import Contender, ExperimentPlan
    from unnaive.text.tokens import TokenRule

    plan = ExperimentPlan(
        tuple(Contender.parse(name) for name in (default_models() if models is None else models)),
        ("accuracy", "macro-f1") if measures is None else tuple(measures), splits=splits,
        train_sizes=tuple(train_sizes), vocabularies=tuple(vocabularies), folds=folds, min_df=min_df, seed=seed,
    )  # fmt: skip
    return run_comparison(
        plan, open_data(data, text=text, label=label), rule or TokenRule(), word_vectors=word_vectors,
        usual_measures=measures is None, records=records, archives=archives, jobs=jobs, progress=progress,
    )  # fmt: skip


def run_comparison(
    plan: ExperimentPlan,
    source: DataFile,
    rule: TokenRule,
    *,
    word_vectors: str | Path | None = None,
    usual_measures: bool = False,
    asks_for_splits: bool = False,
    records: str | Path | None = None,
    archives: Path | None = None,
    jobs: int = 1,
    progress: ProgressCallback | None = None,
) -> ComparisonResult:
    """Run a plan on a file or collection.

    usual_measures   whether the plan has the usual measures, which multilabel data changes
    asks_for_splits  whether the number of splits was asked for, which data with one split of its own cannot give
    """
    from unnaive.evaluation.experiment_documents import Material
    from unnaive.evaluation.experiments import Comparison, run
    from unnaive.io.vectors.cached_vectors import read_vectors
    from unnaive.text.messages import PARTS
    from unnaive.workflows.corpora import has_own_split, read_corpus
    from unnaive.workflows.source_fields import settle_fields

    feedback = Feedback(progress)
    source, fields = settle_fields(source, feedback)
    rule = replace(rule, fields=fields)
    source = replace(
        source,
        options=replace(source.options, language=rule.language or "en"),
        message=PARTS if rule.message is None else None,  # for mail, the parts that people read
    )
    corpus = read_corpus(source, archives, feedback)
    material = Material.of(corpus, rule, read_vectors(word_vectors))
    _warn_about_small_classes(corpus)
    if usual_measures and not material.exclusive:
        plan = replace(plan, measures=("micro-f1", "macro-f1"))
    if not plan.train_sizes and plan.folds is None and not has_own_split(corpus):
        plan = replace(plan, train_sizes=(80.0,))
    if asks_for_splits and plan.protocol == "fixed" and plan.splits > 1:
        raise UnnaiveError(
            f"{corpus.name} has its own split, which is one; for {plan.splits} random splits add --train-sizes 0.8, or "
            "leave --splits out"
        )
    file = None if records is None else Path(records)

    def show(done: int, total: int, words: str) -> None:
        feedback.step(words, total)
        feedback.advance(done)

    try:
        results = run(plan, material, file, jobs=jobs, progress=show)
    except KeyboardInterrupt:
        if file is None or not file.exists():
            raise Interrupted("interrupted before anything was measured") from None
        raise Interrupted(f"interrupted; the results so far are in {file}; run the same command to continue") from None
    return ComparisonResult(Comparison(tuple(results)), file, tuple(feedback.notes))


def default_models(*, one_pass: bool = False) -> list[str]:
    """The models compared by default: `auto` and those that train in seconds; with `one_pass`, those that count."""
    from unnaive.models.catalogue import MODELS, find_model

    available = [name for name in FAMILY if name in MODELS]
    return [name for name in available if not one_pass or find_model(name).traits.statistic == "counts"]


def _warn_about_small_classes(corpus: Corpus) -> None:
    """Warn about classes that cannot be on both sides of a split."""
    import warnings
    from collections import Counter

    from unnaive.base.errors import UnnaiveWarning

    sizes = Counter(label for labels in corpus.labels for label in labels)
    alone = sorted(label for label, size in sizes.items() if size == 1)
    if alone:
        names = ", ".join(alone[:5]) + (", …" if len(alone) > 5 else "")
        have = "has" if len(alone) == 1 else "have"
        warnings.warn(
            f"{corpus.name}: {len(alone)} of {len(sizes)} classes {have} a single document ({names}); where one has no "
            "test document, macro averages count it as 0",
            UnnaiveWarning,
            stacklevel=2,
        )
