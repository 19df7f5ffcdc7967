"""TextClassifier: raw texts in, decisions out. Texts are counted here; the rest is FittedModel and learning.train."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.base.byte_sizes import parse_size
from unnaive.base.errors import BadData, UnknownName, UnnaiveError, UnnaiveWarning, count_noun
from unnaive.base.protocol import available_if
from unnaive.base.settings import unknown_setting
from unnaive.base.types import Floats, Label, Progress, Sparse
from unnaive.base.work_start import work_begins
from unnaive.classifier.compress import compress_model
from unnaive.classifier.model_file import load, save
from unnaive.data.register import Register
from unnaive.data.sample_weights import check_sample_weight
from unnaive.data.targets import Targets, label_sets, read_targets, refuse_one_class
from unnaive.data.text_hashes import TextHashes, join_text_hashes
from unnaive.data.unlabelled import read_partly_labelled
from unnaive.learning.decisions import Decision
from unnaive.learning.explain import Explanation
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import DOCUMENTS_LIMIT, TrainingSpec, calibration_name
from unnaive.learning.optimise import read_optimise
from unnaive.learning.train import check_spec, train
from unnaive.learning.update import (
    Statistic,
    forget_documents,
    learn_more,
    merge_models,
    over_known_classes,
    remake_model,
    statistic_of,
    train_from,
)
from unnaive.models.catalogue import find_model, make_model
from unnaive.models.parameters import ModelParameters, named_parameters
from unnaive.text.buffer import TextBuffer
from unnaive.text.counting import TextCounter, as_texts
from unnaive.text.gram_units import GramUnits, which_are_grams
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary


class TextClassifier(ModelParameters):
    """A text classifier of the Bayesian family; a scikit-learn estimator whose X is raw texts.

    Counts, or counted documents where a model learns from those, are kept for the whole vocabulary, and `min_df` and
    `select` are applied when weights are made: so updating, forgetting and merging are exact, in any order. Any number
    of threads may predict while one updates: each call sees one version of the model, since what was learnt is one
    immutable value, `fitted_`, that is replaced whole.

    Parameters
    ----------
    model : str, default="auto"
        A name of the catalogue: "auto", "multinomial", "bernoulli", "complement", "or-gate", "maxent", "svm", …
    language : str or None, default="en"
        ISO 639 code of the texts' language: case folding, stemmer, code page. None for no language.
    stopwords : str, sequence of str or None, default=None
        "smart", a language code, or the words to leave out.
    stem : {"porter", "snowball"} or None, default=None
        Reduce words to their stems.
    ngrams : tuple of int, default=(1, 1)
        Shortest and longest run of words that makes a term.
    lowercase : bool, default=True
        Fold case, as the language does.
    min_length : int from 1, default=2
        Shorter words are left out, in characters.
    digits : bool, default=True
        Whether digits belong to words.
    html : bool, default=False
        Leave out markup, and decode entities.
    message : str or None, default=None
        Which parts of a mail to read: "whole", "body", "subject-body", …
    analyzer : {"word", "char", "both"}, default="word"
        Word terms, character n-grams, or both.
    char_ngrams : tuple of int, default=(2, 5)
        Shortest and longest character n-gram.
    char_borders : {"spaces", "words"}, default="spaces"
        Character n-grams lie between spaces, with the punctuation there, or inside words.
    unspaced : {"grams", "whole"}, default="grams"
        Scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese): each character and each pair of
        neighbours is a term, or what stands between spaces is one word.
    segmenter : str or None, default=None
        "jieba", if it is installed, finds the words of Chinese by its dictionary, in the place of characters and pairs.
    emoji : bool, default=True
        Whether emoji are terms.
    symbols : bool, default=False
        Whether symbols such as :-) ;) :D and <3 are terms.
    min_df : int from 1, default=1
        Leave out terms of fewer documents.
    select : int, tuple or None, default=None
        Keep the best terms: 2000 by information gain, ("chi2", 2000), or ("information-gain-per-class", 30).
    multilabel : bool or None, default=None
        Whether a text may have any number of labels; None goes by how labels come: a list, tuple or set for each text,
        or a 0/1 matrix, means any number.
    decision : {"argmax", "untuned", "best", "scut", "rcut", "pcut"}, Decision or None, default=None
        From scores to labels. None: the best class, or for multilabel targets "best" where `fit` has 50 documents or
        more, else "untuned". "scut" gives each class the threshold that is best on held-out scores, "rcut" each text
        the same number of labels, "best" is the better of these two on held-out scores, "pcut" gives each class the
        share of texts that it had in training. "untuned" gives every class above even odds (of the OR gate and of
        cosines those within a tenth of the best score), which is what the estimators on counts do unless told
        otherwise. Models that learn from counts, and auto, keep thresholds when they are updated, forget or are merged
        (those only ever fed by `partial_fit` have none to keep); models that learn from documents tune them on the
        documents that they have then.
    calibrate : {"temperature", "platt", "isotonic", "none"}, bool or None, default=None
        Fit probabilities to held-out scores, so that they are calibrated: one temperature for all classes (True), or
        for each class against the rest a logistic line or a rising function. Labels stay the same. None: a temperature
        where `optimise` needs probabilities.
    optimise : {"accuracy", "macro-f1"}, path, dict or None, default=None
        What labels are decided by, for documents with one label each: the best class; weights of the classes tuned on
        held-out documents for macro F1, which gives rare classes their due; or the least expected cost, from a CSV file
        with a line for each true class and a column for each given one, or a dict of dicts. For multilabel targets
        "macro-f1" is decision="scut".
    class_weight : dict, "balanced" or None, default=None
        Weight of each class.
    n_jobs : int from 1 or None, default=None
        Threads for reading texts; None for all cores.
    random_state : int from 0, default=0
        Seed of everything random.
    documents_limit : int from 0, default=500000000
        Bytes that the counted documents, which models that learn from documents keep for updates, may take in the
        model's file. Where they take more, the file is written without them, with a warning. 0: they are not kept.
    **settings
        The settings of the model: TextClassifier("multinomial", alpha=0.1). `find_model(name).declared()` lists them.

    Attributes
    ----------
    fitted_ : FittedModel
        All that was learnt.
    classes_ : ndarray (n_classes,)
        The labels, sorted.
    target_type_ : str
        The form in which labels came: "single", "sets", "indicator" or "sparse"; predictions leave in it.
    vocabulary_ : Vocabulary
        The terms in use, the columns of the scorer.

    Examples
    --------
    >>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
    >>> model = TextClassifier("multinomial").fit(texts, ["china", "china", "china", "japan"])
    >>> model.predict(["Chinese Chinese Chinese Tokyo Japan"]), model.predict_proba(["Tokyo Japan"]).round(3)
    (array(['china'], dtype='<U5'), array([[0.237, 0.763]]))
    """

    fitted_: FittedModel

    def __init__(
        self,
        model: str = "auto",
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
        analyzer: str = "word",
        char_ngrams: tuple[int, int] = (2, 5),
        char_borders: str = "spaces",
        unspaced: str = "grams",
        segmenter: str | None = None,
        emoji: bool = True,
        symbols: bool = False,
        min_df: int = 1,
        select: int | tuple[str, int] | None = None,
        multilabel: bool | None = None,
        decision: str | Decision | None = None,
        calibrate: str | bool | None = None,
        optimise: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: int = 0,
        documents_limit: int = DOCUMENTS_LIMIT,
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
        self.analyzer = analyzer
        self.char_ngrams = char_ngrams
        self.char_borders = char_borders
        self.unspaced = unspaced
        self.segmenter = segmenter
        self.emoji = emoji
        self.symbols = symbols
        self.min_df = min_df
        self.select = select
        self.multilabel = multilabel
        self.decision = decision
        self.calibrate = calibrate
        self.optimise = optimise
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.documents_limit = documents_limit
        self._settings = settings

    _named = named_parameters(__init__)

    # Learning.

    def fit(self, texts: Any, labels: Any, sample_weight: Any = None, *, progress: Progress | None = None) -> Self:
        """Learn from texts and their labels; what was learnt before is dropped."""
        with work_begins():
            return self._fit(texts, labels, sample_weight, progress)

    def _fit(self, texts: Any, labels: Any, sample_weight: Any, progress: Progress | None) -> Self:
        spec = self.spec()
        unlabelled = getattr(spec.model, "takes_unlabelled", False)
        documents, targets = _check_labelled(texts, labels, self.multilabel, unlabelled=unlabelled)
        refuse_one_class(targets)
        rule = self.token_rule_of(lambda: _count_chars(documents))
        X, vocabulary, units = self._count(documents, rule)
        if not X.nnz or (rule.analyzer == "both" and not _has_shared_term(X, vocabulary)):
            raise BadData(
                f"none of the {count_noun(len(documents), 'text')} has a term to learn from; check the column and the "
                "settings"
            )
        self.fitted_ = train(
            spec, X, targets, vocabulary=vocabulary, token_rule=rule, n_jobs=self.n_jobs, progress=progress, tune=True,
            sample_weight=check_sample_weight(sample_weight, len(documents)), units=units,
        )  # fmt: skip
        return self

    def partial_fit(
        self, texts: Any, labels: Any, sample_weight: Any = None, *, grow: bool = False,
        classes: Sequence[Label] | None = None,
    ) -> Self:  # fmt: skip
        """Learn more documents: the model becomes the one that saw all of them at once, whatever their order.

        New words are always welcome. An unseen class is an error unless `grow`. The first call takes the classes from
        `classes`, or from its labels.
        """
        spec, rule = self.spec(), self.token_rule
        before = self._updatable(spec, rule) if self.__sklearn_is_fitted__() else None
        new, targets = self._count_labelled(spec, texts, labels, sample_weight, rule, before)
        if before is None:
            new = new if classes is None else over_known_classes(new, classes)
            self.fitted_ = train_from(spec, new, targets.target_type, token_rule=rule, n_jobs=self.n_jobs)
        else:
            register = _changed_register(before, "plus", texts, targets, sample_weight)
            hashes = _changed_text_hashes(before, "plus", texts, sample_weight)
            self.fitted_ = learn_more(before, new, grow=grow, register=register, text_hashes=hashes)
        return self

    def forget(self, texts: Any, labels: Any, sample_weight: Any = None) -> Self:
        """Unlearn documents exactly: the model becomes the one that never saw them.

        Words and classes that no other document has are gone with them. Give the labels that were learnt. A model that
        keeps documents refuses those that it does not have. One that keeps counts refuses documents that were never
        learnt where the counts prove it, and always if it has a register; without one, a document made of words that
        its class has anyway cannot be told from one that was learnt.
        """
        spec, rule = self.spec(), self.token_rule
        before = self._updatable(spec, rule)
        gone, targets = self._count_labelled(spec, texts, labels, sample_weight, rule, before)
        register = _changed_register(before, "without", texts, targets, sample_weight)
        hashes = _changed_text_hashes(before, "without", texts, sample_weight)
        self.fitted_ = forget_documents(before, gone, register=register, text_hashes=hashes)
        return self

    def merge(self, *others: TextClassifier) -> Self:
        """Take in models that were trained apart: this one becomes the one that saw all their documents."""
        spec, rule = self.spec(), self.token_rule
        parts = [self._updatable(spec, rule), *(other._fitted() for other in others)]
        hashes = join_text_hashes([part.text_hashes for part in parts])
        self.fitted_ = replace(merge_models(*parts), text_hashes=hashes)
        return self

    def remake(self, **parameters: Any) -> Self:
        """Make the model anew with another one or other settings, from the counts or documents that it keeps.

        Models that learn from documents can become any other; those that learn from counts one another.

        >>> model = TextClassifier("multinomial").fit(["good ball", "fair vote"], ["sport", "politics"])
        >>> model.remake(model="bernoulli", alpha=0.5)
        TextClassifier(model='bernoulli', alpha=0.5)  # 2 classes, 4 terms
        """
        before = self._fitted()
        kept = {name: value for name, value in self.get_params().items() if name in self._named}
        settings = self._settings if parameters.get("model", self.model) == self.model else {}
        other = type(self)(**kept, **settings).set_params(**parameters)
        spec = other.spec()
        other._check_same_rule(before)
        fitted = replace(remake_model(before, spec), text_hashes=before.text_hashes)
        for name, value in other.__dict__.items():
            self.__dict__[name] = value
        self.fitted_ = fitted
        return self

    # Predicting: what was learnt is read once a call, so that each call sees one version of it.

    def predict(self, texts: Any) -> Any:
        """The label of each text: an array of classes or, for multilabel targets, a list of tuples or a 0/1 matrix.

        The labels of a tuple come by score, the most probable first.
        """
        return self._fitted().predict(texts)

    @available_if(lambda self: self._has_probabilities())
    def predict_proba(self, texts: Any) -> Floats:
        """p of each class (n_texts, n_classes); rows sum to one unless the target is multilabel."""
        return self._fitted().predict_proba(as_texts(texts))

    @available_if(lambda self: self._has_probabilities())
    def predict_log_proba(self, texts: Any) -> Floats:
        """log p of each class (n_texts, n_classes), exact also where p underflows."""
        return self._fitted().predict_log_proba(as_texts(texts))

    def predict_set(
        self, texts: Any, confidence: float = 0.9, *, by_class: bool = False, at_least_one: bool = False
    ) -> list[tuple[Label, ...]]:
        """The labels of each text that hold the right one with this confidence, the most probable first.

        Needs held-out scores, which `calibrate` or the model itself made. See `FittedModel.predict_set`.
        """
        return self._fitted().predict_set(as_texts(texts), confidence, by_class=by_class, at_least_one=at_least_one)

    @available_if(lambda self: self._has("probabilistic") and self._has("generative"))
    def predict_joint_log_proba(self, texts: Any) -> Floats:
        """log p(class, text), up to a constant of the text (n_texts, n_classes)."""
        return self._fitted().predict_joint_log_proba(as_texts(texts))

    @available_if(lambda self: not self._has("generative"))
    def decision_function(self, texts: Any) -> Floats:
        """Scores (n_texts, n_classes); of two exclusive classes the second's lead (n_texts,), as in scikit-learn."""
        return self._fitted().decision_function(as_texts(texts))

    def scores(self, texts: Any) -> Floats:
        """Raw scores of every class (n_texts, n_classes), also of two; `scorer_.link` tells what they mean."""
        return self._fitted().scores(as_texts(texts))

    def score(self, texts: Any, labels: Any, sample_weight: Any = None) -> float:
        """The share of texts whose labels are all right."""
        documents = as_texts(texts)
        return self._fitted().subset_accuracy(documents, labels, len(documents), sample_weight)

    def explain(self, text: str, label: Label | None = None, *, against: Label | None = None) -> Explanation:
        """Which terms spoke for and against a class, by default the first that `predict` gives."""
        return self._fitted().explain(text, label, against=against)

    def top_terms(self, label: Label, limit: int = 10) -> list[tuple[str, float]]:
        """The terms that speak most for a class, with what a mention adds to its score."""
        return self._fitted().strongest_terms(label, limit)

    def save(self, path: str | Path, *, frozen: bool = False, max_size: str | int | None = None) -> None:
        """Write the model to one file; `frozen` leaves out what only updates need.

        max_size  bytes that the file may have, such as "5MB": weights are rounded, and then terms left out, until it
                  fits; such a model cannot be updated. This classifier stays as it is.
        """
        if not self.__sklearn_is_fitted__():
            raise UnnaiveError("this TextClassifier has not learnt anything yet; call fit before saving")
        if max_size is None:
            save(self.fitted_, path, frozen=frozen)
            return
        small = compress_model(self.fitted_, parse_size(max_size))
        save(small.fitted, path, frozen=frozen or small.frozen)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model in a file that `save` wrote."""
        return cls.from_fitted(load(path))

    @classmethod
    def from_fitted(cls, fitted: FittedModel) -> Self:
        """The classifier that holds `fitted`, with the parameters that it was trained with."""
        spec, rule = fitted.spec, fitted.token_rule
        if rule is None:
            raise UnnaiveError("this model was trained on counts, not on texts; use its estimator")
        changed = {name: value for name, value in spec.model.changed_settings().items() if name not in cls._named}
        made = cls(
            spec.model.name, **_rule_parameters(rule), min_df=spec.min_df, select=spec.select, decision=spec.decision,
            calibrate=spec.calibrate, class_weight=spec.class_weight, random_state=spec.random_state,
            multilabel=fitted.multilabel or None, n_jobs=fitted.n_jobs, optimise=spec.optimise,
            documents_limit=spec.documents_limit, **changed,
        )  # fmt: skip
        made.fitted_ = fitted
        return made

    # What was learnt.

    @property
    def vocabulary_(self) -> Vocabulary:
        """The terms in use, the columns of the scorer."""
        vocabulary = self._attribute("vocabulary_").vocabulary
        return Vocabulary() if vocabulary is None else vocabulary

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The terms in use (n_terms,), as scikit-learn's vectorizers name it."""
        return np.array(self._fitted().reader.term_names, dtype=object)

    # How texts are read and the model is trained.

    @property
    def token_rule(self) -> TokenRule:
        """How texts are read; what the size of the data has changed about it stays so until the next fit."""
        usual, brief = self._rule_for(0), self._rule_for(np.inf)
        fitted = self.__dict__.get("fitted_")
        return brief if fitted is not None and fitted.token_rule == brief else usual

    def token_rule_of(self, count_chars: Callable[[], float]) -> TokenRule:
        """How texts with so many characters are read, which need not be counted if that makes no difference.

        A budget of `auto` in seconds may be too short to read them by pairs of words and characters; a warning says so.
        """
        usual = self._rule_for(0)
        if usual == self._rule_for(np.inf):
            return usual
        n_chars = count_chars()
        rule = self._rule_for(n_chars)
        if rule != usual:
            warnings.warn(
                f"the budget leaves no time to read {n_chars / 1e6:,.0f} MB of text by pairs of words and by "
                "characters, so words alone are read",
                UnnaiveWarning,
                stacklevel=4,
            )
        return rule

    def _rule_for(self, n_chars: float) -> TokenRule:
        given = {name: getattr(self, name) for name in TokenRule.field_names()}
        return TokenRule(**given).with_defaults_changed(find_model(self.model).token_rule_for(self._settings, n_chars))

    def spec(self) -> TrainingSpec:
        """The model and how it is trained, checked."""
        runtime = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        unknown = [name for name in self._settings if name not in self._known_settings()]
        if unknown:
            known = [*self._known_settings(), *self._named]
            raise UnknownName(f"{self.model}: {unknown_setting(unknown[0], known)}")
        spec = TrainingSpec(
            make_model(self.model, self._settings, **runtime), self.min_df, self.select, self.decision, self.calibrate,
            self.class_weight, self.random_state, read_optimise(self.optimise), self.documents_limit,
        )  # fmt: skip
        check_spec(spec)
        return spec

    def _has(self, trait: str) -> bool:
        return bool(getattr(find_model(self.model), trait))

    def _has_probabilities(self) -> bool:
        if self.__sklearn_is_fitted__():  # remake cannot calibrate models that keep counts
            return self.fitted_.probabilistic
        return self._has("probabilistic") or calibration_name(self.calibrate, self.optimise) is not None

    def _count(self, texts: Any, rule: TokenRule) -> tuple[Sparse, Vocabulary, GramUnits | None]:
        counter = TextCounter(rule, threads=self.n_jobs)
        X, units = counter.count_with_units(texts)
        return X, counter.vocabulary, units

    def _count_labelled(
        self,
        spec: TrainingSpec,
        texts: Any,
        labels: Any,
        sample_weight: Any,
        rule: TokenRule,
        before: FittedModel | None,
    ) -> tuple[Statistic, Targets]:
        documents, targets = _check_labelled(texts, labels, self.multilabel if before is None else before.multilabel)
        X, vocabulary, units = self._count(documents, rule)
        weight = check_sample_weight(sample_weight, len(documents))
        return statistic_of(spec, X, targets, vocabulary, weight, units), targets

    def count_labelled(self, texts: Any, labels: Any) -> Statistic:
        """What the model would keep of these documents: counts, or counted documents."""
        before = self.fitted_ if self.__sklearn_is_fitted__() else None
        return self._count_labelled(self.spec(), texts, labels, None, self.token_rule, before)[0]

    def _updatable(self, spec: TrainingSpec, rule: TokenRule) -> FittedModel:
        """What was learnt, with the settings as they are now; refused if texts would be read otherwise."""
        before = self._fitted()
        self._check_same_rule(before)
        return replace(before, spec=spec, token_rule=rule, n_jobs=self.n_jobs)

    def _check_same_rule(self, before: FittedModel) -> None:
        if self.token_rule != before.token_rule:
            raise UnnaiveError("what was counted depends on how texts were read; to read them otherwise, fit again")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_label=True),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
        )


def _has_shared_term(X: Sparse, vocabulary: Vocabulary) -> bool:
    """Whether there is a word, or a character n-gram that two texts have; punctuation has n-grams too."""
    return not which_are_grams(vocabulary).all() or bool(np.bincount(X.indices).max() > 1)


def _count_chars(texts: Any) -> int:
    """How many characters there are, or bytes where texts lie in a buffer."""
    return len(texts.blob) if isinstance(texts, TextBuffer) else sum(map(len, texts))


def _check_labelled(
    texts: Any, labels: Any, multilabel: bool | None, *, unlabelled: bool = False
) -> tuple[Any, Targets]:
    documents = as_texts(texts)
    if not len(documents):
        raise BadData("there are no texts; give at least one")
    read = read_partly_labelled if unlabelled else read_targets
    return documents, read(labels, len(documents), multilabel=multilabel)


def _changed_register(
    before: FittedModel, change: str, texts: Any, targets: Targets, sample_weight: Any
) -> Register | None:
    """The model's register with or without the documents; None where it keeps none, or cannot follow weights."""
    if before.register is None or sample_weight is not None:
        return None
    changed: Register = getattr(before.register, change)(as_texts(texts), label_sets(targets.Y, targets.classes))
    return changed


def _changed_text_hashes(before: FittedModel, change: str, texts: Any, sample_weight: Any) -> TextHashes | None:
    """The hashes of texts with or without these; None where the model keeps none, or cannot follow weights."""
    if before.text_hashes is None or sample_weight is not None:
        return None
    changed: TextHashes = getattr(before.text_hashes, change)(as_texts(texts))
    return changed


def _rule_parameters(rule: TokenRule) -> dict[str, Any]:
    """The rule as parameters of TextClassifier."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in rule.to_dict().items()}
