"""TextClassifier: texts in, decisions out. It joins the rooms: tokens → counts → model → scorer → decision."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.core.active import checked_select
from unnaive.core.calibration import Temperature, fit_temperature
from unnaive.core.counts import Counts
from unnaive.core.labels import label_sets
from unnaive.core.ledger import Ledger
from unnaive.core.links import probabilities
from unnaive.core.scorer import Scorer
from unnaive.core.targets import Targets, checked_weight, read_targets, refuse_new_classes, refuse_one_class
from unnaive.decisions import TUNINGS, Argmax, Decision, Proportional, out_of_fold, untuned
from unnaive.errors import BadData, UnnaiveError, UnnaiveWarning, choose
from unnaive.estimators.duck import Parameters, not_fitted, refuse_unknown_settings, same
from unnaive.models.catalogue import Model, find_model
from unnaive.models.recipe import Recipe
from unnaive.models.scoring import TextReader
from unnaive.reading.columns import Columns
from unnaive.text.counting import TextCounter, as_texts
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary
from unnaive.types import Floats, Label, Progress, Sparse


class TextClassifier(Parameters):
    """A text classifier of the Bayesian family; a scikit-learn estimator whose X is raw texts.

    model       a name of the catalogue: "multinomial", "bernoulli", "complement", "or-gate", …; its own settings are
                keyword arguments here: TextClassifier("multinomial", alpha=0.1)
    language, stopwords, stem, ngrams, lowercase, min_length, digits, html, message    see TokenRule
    min_df      leave out terms of fewer documents
    select      keep the best terms: 2000 by information gain, or ("chi2", 2000), or ("information-gain-per-class", 30)
    multilabel  None goes by how labels come: a list, tuple or set for each text means any number of labels
    decision    None: the best class, or with several labels every class above even odds, but for the OR gate and
                cosines those within a tenth of the best score (links.accepted); "scut", "rcut" or "pcut"
                tune it on held-out scores; or a Decision
    calibrate   fit a temperature on held-out scores, so that probabilities are honest
    threads     for reading texts; None for all cores

    Counts are kept for the whole vocabulary, and `min_df` and `select` are applied when weights are made: so updating,
    forgetting and merging are exact, in any order.

    >>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
    >>> model = TextClassifier("multinomial").fit(texts, ["china", "china", "china", "japan"])
    >>> model.predict(["Chinese Chinese Chinese Tokyo Japan"]), model.predict_proba(["Tokyo Japan"]).round(3)
    (array(['china'], dtype='<U5'), array([[0.237, 0.763]]))
    """

    classes_: NDArray[Any]  # the labels, sorted
    form_: str  # of labels: see Targets
    vocabulary_: Vocabulary  # the terms in use: columns of the scorer
    scorer_: Scorer
    decision_: Decision
    temperature_: Temperature | None
    _rule: TokenRule  # how the texts behind it were read
    ledger_: Ledger | None  # counts of the whole vocabulary; None where they were not kept
    columns_: Columns | None  # of the file that it was trained on, if it was one: a convenience for the next file

    def __init__(
        self,
        model: str = "multinomial",
        *,
        language: str | None = "en",
        stopwords: str | Sequence[str] | None = None,
        stem: str | None = None,
        ngrams: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        min_length: int = 2,
        digits: bool = True,
        html: bool = False,
        message: str | None = None,
        min_df: int = 1,
        select: int | tuple[str, int] | None = None,
        multilabel: bool | None = None,
        decision: str | Decision | None = None,
        calibrate: bool = False,
        threads: int | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self.model = model
        self.language = language
        self.stopwords = stopwords
        self.stem = stem
        self.ngrams = ngrams
        self.lowercase = lowercase
        self.min_length = min_length
        self.digits = digits
        self.html = html
        self.message = message
        self.min_df = min_df
        self.select = select
        self.multilabel = multilabel
        self.decision = decision
        self.calibrate = calibrate
        self.threads = threads
        self.seed = seed
        self._settings = settings

    def fit(self, texts: Any, labels: Any, sample_weight: Any = None, *, progress: Progress | None = None) -> Self:
        """Learn from texts and their labels; what was learnt before is dropped."""
        self._checked_model()
        texts, targets = self._documents(texts, labels)
        refuse_one_class(targets)
        X, vocabulary = self._counted(texts)
        if not X.nnz:
            raise BadData(f"none of the {len(texts)} texts has a term to learn from; check the column and the settings")
        weight = checked_weight(sample_weight, len(texts))
        self.form_, self.temperature_ = targets.form, None
        self.__dict__.pop("decision_", None)
        self._learn(Ledger.of(X, targets, vocabulary, weight), X, targets.Y, progress=progress, sample_weight=weight)
        if self.calibrate or self.decision in TUNINGS:
            self._tune(X, targets.Y, vocabulary, weight)
        return self

    def partial_fit(
        self, texts: Any, labels: Any, sample_weight: Any = None, *, grow: bool = False,
        classes: Sequence[Label] | None = None,
    ) -> Self:  # fmt: skip
        """Learn more documents: the model becomes the one that saw all of them at once, whatever their order.

        New words are always welcome. An unseen class is an error unless `grow`. The first call takes the classes from
        `classes`, or from its labels.
        """
        self._checked_model(online=True)
        old = self._ledger("be updated") if self._is_fitted() else None
        texts, targets = self._documents(texts, labels)
        if old is None:
            old = Ledger.empty(targets.classes if classes is None else classes)
            self.form_, self.temperature_ = targets.form, None
        if not grow:
            refuse_new_classes(targets.classes, old.classes)
        X, vocabulary = self._counted(texts)
        new = Ledger.of(X, targets, vocabulary, checked_weight(sample_weight, len(texts)))
        self._learn(old + new)
        return self

    def forget(self, texts: Any, labels: Any, sample_weight: Any = None) -> Self:
        """Unlearn documents exactly: the model becomes the one that never saw them.

        Words and classes that no other document has are gone with them. Give the labels that were learnt.
        """
        self._checked_model(online=True)
        old = self._ledger("forget")
        texts, targets = self._documents(texts, labels)
        X, vocabulary = self._counted(texts)
        left = old - Ledger.of(X, targets, vocabulary, checked_weight(sample_weight, len(texts)))
        if not left.counts.n_docs:
            raise BadData("no document would be left in the model; delete it instead")
        self._learn(left)
        return self

    def merge(self, *others: TextClassifier) -> Self:
        """Take in models that were trained apart: this one becomes the one that saw all their documents."""
        self._checked_model(online=True)
        ledger = self._ledger("be merged")
        for other in others:
            other_ledger = other._ledger("be merged")
            self._refuse_other_reading(other)
            self._tell_of_other_settings(other)
            ledger = ledger + other_ledger
        self._learn(ledger)
        return self

    def remake(self, **parameters: Any) -> Self:
        """Make the weights anew with another model or other settings, from the counts: no document is needed.

        >>> model = TextClassifier().fit(["good ball", "fair vote"], ["sport", "politics"])
        >>> model.remake(model="bernoulli", alpha=0.5)
        TextClassifier(model='bernoulli', alpha=0.5)
        """
        ledger = self._ledger("be made anew")
        kept = {name: value for name, value in self.get_params().items() if name in self._named()}
        settings = self._settings if parameters.get("model", self.model) == self.model else {}
        other = type(self)(**kept, **settings).set_params(**parameters)
        other._checked_model(online=True)
        if other.rule != self.rule:
            raise UnnaiveError("counts depend on how texts were read; to read them otherwise, fit again")
        other.form_, other.temperature_ = self.form_, None
        other._learn(ledger)
        self.__dict__.update({**other.__dict__, "columns_": self.columns_})
        return self

    def predict(self, texts: Any) -> Any:
        """The label of each text: an array of classes or, with several labels, a list of tuples or a 0/1 matrix."""
        texts = self._ready(texts)
        if self._reader.fused is not None and isinstance(self.decision_, Argmax):
            return self.classes_[self._reader.fused.best(texts)]
        if isinstance(self.decision_, Proportional):  # it decides about all texts together
            return self.labels_of(self.scores(texts))
        return self._labels([self._decided(scores) for scores in self._reader.chunks(texts)])

    def predict_proba(self, texts: Any) -> Floats:
        """p of each class (n_texts, n_classes); rows sum to one unless there may be several labels."""
        return self.probabilities(self.scores(texts))

    def predict_log_proba(self, texts: Any) -> Floats:
        """log p of each class (n_texts, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(texts))

    def decision_function(self, texts: Any) -> Floats:
        """Scores (n_texts, n_classes); of two exclusive classes the second's lead (n_texts,), as in scikit-learn."""
        scores = self.scores(texts)
        if len(self.classes_) == 2 and self.form_ == "single":
            with np.errstate(invalid="ignore"):
                lead: Floats = scores[:, 1] - scores[:, 0]
            return lead
        return scores

    def scores(self, texts: Any) -> Floats:
        """Scores of every class (n_texts, n_classes), also of two; `scorer_.link` tells what they mean."""
        texts = self._ready(texts)
        return np.concatenate([np.zeros((0, len(self.classes_))), *self._reader.chunks(texts)])

    def probabilities(self, scores: Floats) -> Floats:
        """What `scores` gave, as probabilities."""
        if self.temperature_ is not None:
            return self.temperature_.probabilities(self.scorer_.link, scores)
        return probabilities(self.scorer_.link, scores, exclusive=self.form_ == "single")

    def labels_of(self, scores: Floats) -> Any:
        """What `scores` gave, as the labels that `predict` gives."""
        return self._labels([self._decided(scores)])

    def score(self, texts: Any, labels: Any, sample_weight: Any = None) -> float:
        """The share of texts whose labels are all right."""
        texts = self._ready(texts)
        truth = _label_rows(read_targets(labels, len(texts), multilabel=self.form_ != "single"))
        given = _label_rows(read_targets(self.predict(texts), len(texts), multilabel=self.form_ != "single"))
        right = [set(one) == set(two) for one, two in zip(truth, given, strict=True)]
        return float(np.average(right, weights=checked_weight(sample_weight, len(texts))))

    # Explaining and storing stand above this room; these are doors to them, looked up by name.

    def explain(self, text: str, label: Label | None = None, *, against: Label | None = None) -> Any:
        """Which terms spoke for and against a class; see explain.py."""
        return import_module("unnaive.explain").explain(self, text, label, against=against)

    def save(self, path: str | Path, *, frozen: bool = False) -> None:
        """Write the model to one file; `frozen` leaves out what only updates need. See store.py."""
        import_module("unnaive.store").save(self, path, frozen=frozen)

    @staticmethod
    def load(path: str | Path) -> TextClassifier:
        """The model in a file that `save` wrote; see store.py."""
        loaded: TextClassifier = import_module("unnaive.store").load(path)
        return loaded

    @property
    def rule(self) -> TokenRule:
        """How texts are read."""
        stopwords: Any = self.stopwords
        return TokenRule(
            self.language, self.lowercase, self.min_length, self.digits, stopwords, self.stem, self.ngrams, self.html,
            self.message,
        )  # fmt: skip

    def assume(
        self, *, classes: Sequence[Label], form: str, vocabulary: Vocabulary, scorer: Scorer, decision: Decision,
        ledger: Ledger | None = None, temperature: Temperature | None = None,
    ) -> Self:  # fmt: skip
        """Take over what was learnt elsewhere; how store.py brings a model back."""
        self.classes_, self.form_, self.vocabulary_ = np.array(classes), form, vocabulary
        self.scorer_, self.decision_ = scorer, decision
        self.ledger_, self.temperature_ = ledger, temperature
        self.__dict__.setdefault("columns_", None)
        self._rule = self.rule  # parameters may be set anew before the next fit
        self._reader = TextReader(self._rule, vocabulary, scorer, self.threads)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_reader"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._is_fitted():
            self._reader = TextReader(self._rule, self.vocabulary_, self.scorer_, self.threads)

    def _known_settings(self) -> dict[str, Any]:
        return find_model(self.model).own_settings()

    def _checked_model(self, *, online: bool = False) -> Model:
        model = find_model(self.model)
        refuse_unknown_settings(self._settings, self._named(), self._known_settings(), self.model)
        model.checked(self._settings)
        checked_select(self.select)
        self._checked_decision()
        if online and model.statistic != "counts":
            raise UnnaiveError(f"{model.title} learns from all documents at once; train it with all of them instead")
        return model

    def _checked_decision(self) -> None:
        if isinstance(self.decision, str):
            choose(["argmax", *TUNINGS], self.decision, "decision")
        elif self.decision is not None and not hasattr(self.decision, "decide"):
            raise UnnaiveError(f"decision is {self.decision!r}; give argmax, scut, rcut, pcut or a Decision")

    def _is_fitted(self) -> bool:
        return "scorer_" in self.__dict__

    def _ready(self, texts: Any) -> Any:
        if not self._is_fitted():
            raise not_fitted(self)
        return as_texts(texts)

    def _documents(self, texts: Any, labels: Any) -> tuple[Any, Targets]:
        texts = as_texts(texts)
        if not len(texts):
            raise BadData("there are no texts; give at least one")
        form = self.__dict__.get("form_") if self._is_fitted() else None
        multilabel = self.multilabel if form is None else form != "single"
        return texts, read_targets(labels, len(texts), multilabel=multilabel)

    def _counted(self, texts: Any) -> tuple[Sparse, Vocabulary]:
        counter = TextCounter(self.rule, threads=self.threads)
        return counter.count(texts, grow=True), counter.vocabulary

    def _ledger(self, purpose: str) -> Ledger:
        if not self._is_fitted():
            raise not_fitted(self)
        if self.ledger_ is None:
            self._checked_model(online=True)  # which may know a better reason
            raise UnnaiveError(f"this model cannot {purpose}: it was saved frozen, without its counts")
        if self.rule != self._rule:
            raise UnnaiveError("counts depend on how texts were read; to read them otherwise, fit again")
        return self.ledger_

    def _refuse_other_reading(self, other: TextClassifier) -> None:
        mine, theirs = self.rule.to_dict(), other.rule.to_dict()
        differing = [name for name in mine if mine[name] != theirs[name]]
        if differing:
            name = differing[0]
            raise UnnaiveError(
                f"models that read texts differently cannot be merged: {name} is {mine[name]!r} and {theirs[name]!r}"
            )
        if (self.form_ == "single") != (other.form_ == "single"):
            raise UnnaiveError("a model of one label for each text and one of several cannot be merged")

    def _tell_of_other_settings(self, other: TextClassifier) -> None:
        mine, theirs = (
            {"model": one.model, "min_df": one.min_df, "select": one.select} | one._settings for one in (self, other)
        )
        names = [name for name in {**mine, **theirs} if not same(mine.get(name), theirs.get(name))]
        if names:
            warnings.warn(
                f"the models differ in {', '.join(names)}; the merged one keeps the settings of the first",
                UnnaiveWarning,
                stacklevel=3,
            )

    def _learn(self, ledger: Ledger, *documents: Sparse, **offered: Any) -> None:
        """Make the scorer anew, from the counts or, where the model needs them, from the documents X, Y."""
        scorer, active = self._recipe.scorer(ledger.counts, ledger.vocabulary, *documents, **offered)
        self.assume(
            classes=ledger.classes,
            form=self.form_,
            vocabulary=ledger.vocabulary if active is None else ledger.vocabulary.take(active),
            scorer=scorer,
            decision=self._kept_decision(scorer) or self._untuned(scorer),
            ledger=ledger if find_model(self.model).statistic == "counts" else None,
            temperature=self.temperature_,
        )

    @property
    def _recipe(self) -> Recipe:
        exclusive = self.form_ == "single"
        return Recipe(find_model(self.model), self._settings, self.min_df, self.select, exclusive, self.seed)

    def _tune(self, X: Sparse, Y: Sparse, terms: Vocabulary, weight: NDArray[Any] | None) -> None:
        """Decision and temperature, from scores of documents by models that have not seen them."""
        total = Counts.of(X, Y, weight)

        def score(train: NDArray[np.int64], held_out: NDArray[np.int64]) -> Floats:
            aside = Counts.of(X[held_out], Y[held_out], None if weight is None else weight[held_out])
            # what is left of the counts is the model without the fold
            scorer, active = self._recipe.scorer(total - aside, terms, X[train], Y[train])
            return scorer.scores(X[held_out] if active is None else X[held_out][:, active])

        scores = out_of_fold(score, Y, seed=self.seed)
        if self.calibrate:
            self.temperature_ = fit_temperature(self.scorer_.link, scores, Y, exclusive=self.form_ == "single")
        if isinstance(self.decision, str) and self.decision in TUNINGS:
            self.decision_ = TUNINGS[self.decision](scores, Y, self.scorer_.link)

    def _kept_decision(self, scorer: Scorer) -> Decision | None:
        """A tuned decision outlives an update, as long as the classes are the same."""
        kept: Decision | None = self.__dict__.get("decision_")
        if kept is None or self.decision not in TUNINGS:
            return None
        if scorer.n_classes == len(self.classes_):
            return kept
        warnings.warn(
            f"the classes have changed, so the decision tuned by {self.decision} is gone; fit anew to tune it again",
            UnnaiveWarning,
            stacklevel=4,
        )
        return None

    def _untuned(self, scorer: Scorer) -> Decision:
        """The decision that needs no held-out scores."""
        if self.decision is not None and not isinstance(self.decision, str):
            return self.decision
        if self.form_ == "single" or self.decision == "argmax":
            return Argmax()
        return untuned(scorer.link, scorer.n_classes)

    def _decided(self, scores: Floats) -> Sparse:
        on_probabilities = getattr(self.decision_, "on", None) == "probabilities"
        return self.decision_.decide(self.probabilities(scores) if on_probabilities else scores)

    def _labels(self, parts: list[Sparse]) -> Any:
        """Decisions (n_texts, n_classes) in the form in which labels came."""
        from scipy.sparse import csr_array, vstack

        Y = csr_array(vstack(parts)) if parts else csr_array((0, len(self.classes_)), dtype=np.int64)
        if self.form_ == "single" and isinstance(self.decision_, Argmax):
            return self.classes_[Y.indices]
        if self.form_ == "indicator":
            return Y.toarray()
        return Y if self.form_ == "sparse" else label_sets(Y, self.classes_.tolist())


def _label_rows(targets: Targets) -> list[tuple[Any, ...]]:
    return label_sets(targets.Y, targets.classes)  # type: ignore[arg-type]
