"""TextClassifier: raw texts in, labels out. Texts are counted here; the rest is FittedModel and learning.train.

What only some methods need is imported inside them: the class itself is imported in half the time of numpy.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.base.byte_sizes import parse_size
from unnaive.base.errors import UnknownName, UnnaiveError
from unnaive.base.registry import import_part
from unnaive.base.settings import document_settings
from unnaive.base.types import Label, ProgressCallback
from unnaive.classifier.hub_methods import HubMethods
from unnaive.classifier.parameters import constructor_signature
from unnaive.classifier.predicting_methods import PredictingMethods
from unnaive.classifier.reading_methods import ReadingMethods, count_chars, rule_parameters
from unnaive.learning.training_options import TRAINING_OPTIONS
from unnaive.models.catalogue import find_model, make_model, model_reference, refuse_setting
from unnaive.text.token_rule import OPTIONS, TokenRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unnaive.data.document_register import Register
    from unnaive.data.targets import Targets
    from unnaive.data.text_hashes import TextHashes
    from unnaive.data.training_data import TrainingData
    from unnaive.learning.decisions import Decision
    from unnaive.learning.fitted import FittedModel
    from unnaive.learning.learner import TrainingSpec
    from unnaive.learning.update import Statistic
    from unnaive.models.estimator import Model
    from unnaive.text.vocabulary import Vocabulary

MODEL_FILE = "_model_file"  # in a state: the fitted model, as bytes


class TextClassifier(HubMethods, ReadingMethods, PredictingMethods):
    """A text classifier of the Bayesian family; a scikit-learn estimator whose X is raw texts.

    Counts, or counted documents for models that learn from those, are kept for the whole vocabulary, and `min_df` and
    `select` are applied when weights are computed: so updating, forgetting and merging are exact, in any order. Any
    number of threads may predict while one updates: each call sees one version of the model, since the fitted state is
    one immutable value, `fitted_`, which is replaced as a whole.

    Parameters
    ----------
    model : str or Model, default="auto"
        A name of the catalogue: "auto", "multinomial", "bernoulli", "complement", "or-gate", "maxent", "svm", …; or an
        instance or a class of a model, such as one of another package.
    **settings
        The settings of the model: TextClassifier("multinomial", alpha=0.1). `find_model(name).declared()` lists them.

    Attributes
    ----------
    fitted_ : FittedModel
            The fitted state.
    classes_ : ndarray (n_classes,)
        The labels, sorted.
    target_type_ : str
            The type of the training labels: "single", "sets", "indicator" or "sparse"; predictions have the same.
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

    _named: ClassVar[dict[str, Any]] = {"model": "auto"} | {
        name: declared.default for name, declared in (OPTIONS | TRAINING_OPTIONS).items()
    }

    if TYPE_CHECKING:
        # Written by tools/classifier_signature.py.
        def __init__(
            self,
            model: str | Model | type[Model] = "auto",
            *,
            language: str | None = "en",
            lowercase: bool = True,
            min_length: int = 2,
            digits: bool = True,
            stopwords: str | Sequence[str] | None = None,
            stem: str | None = None,
            ngrams: tuple[int, int] = (1, 1),
            strip_html: bool = False,
            message: str | None = None,
            analyzer: str = "word",
            char_ngrams: tuple[int, int] = (2, 5),
            unspaced: str = "grams",
            segmenter: str | None = None,
            emoji: bool = True,
            symbols: bool = False,
            char_borders: str = "spaces",
            fields: Mapping[str, str] | Sequence[str] | None = None,
            min_df: int = 1,
            select: int | tuple[str, int] | None = None,
            multilabel: bool | None = None,
            decision: str | Decision | None = None,
            calibrate: str | bool | None = None,
            optimise: Any = None,
            word_vectors: Any = None,
            class_weight: Any = None,
            n_jobs: int | None = None,
            random_state: int = 0,
            documents_limit: int = 500_000_000,
            **settings: Any,
        ) -> None:
            self.model = model
            self.language = language
            self.lowercase = lowercase
            self.min_length = min_length
            self.digits = digits
            self.stopwords = stopwords
            self.stem = stem
            self.ngrams = ngrams
            self.strip_html = strip_html
            self.message = message
            self.analyzer = analyzer
            self.char_ngrams = char_ngrams
            self.unspaced = unspaced
            self.segmenter = segmenter
            self.emoji = emoji
            self.symbols = symbols
            self.char_borders = char_borders
            self.fields = fields
            self.min_df = min_df
            self.select = select
            self.multilabel = multilabel
            self.decision = decision
            self.calibrate = calibrate
            self.optimise = optimise
            self.word_vectors = word_vectors
            self.class_weight = class_weight
            self.n_jobs = n_jobs
            self.random_state = random_state
            self.documents_limit = documents_limit

        # end of what it writes
    else:

        def __init__(self, model="auto", **parameters):
            self.model = model
            for name, default in self._named.items():
                if name != "model":
                    setattr(self, name, parameters.pop(name, default))
            for name, value in parameters.items():
                if hasattr(type(self), name):  # it would hide a method
                    raise UnknownName(
                        f"a setting is called {name!r}, which is a method of TextClassifier; leave it out"
                    )
                setattr(self, name, value)

        __init__.__signature__ = constructor_signature(_named)

    __doc__ = document_settings(inspect.cleandoc(__doc__ or ""), OPTIONS | TRAINING_OPTIONS)

    # Learning.

    def fit(
        self, texts: Any, labels: Any, sample_weight: Any = None, *, progress: ProgressCallback | None = None
    ) -> Self:
        """Train on texts and their labels; an earlier model is dropped."""
        from unnaive.learning.train import train
        from unnaive.learning.tuned_models import sums_suffice

        spec = self.spec()
        data = self.count_texts(texts, labels, sample_weight, sums_only=sums_suffice(spec))
        self.fitted_ = train(data, spec, progress=progress)
        return self

    def count_texts(
        self,
        texts: Any,
        labels: Any,
        sample_weight: Any = None,
        *,
        n_chars: float | None = None,
        sums_only: bool = False,
    ) -> TrainingData:
        """The training data of `fit`: counted texts and labels; an error if there is nothing to learn.

        `n_chars` is the amount of text, if it is known before reading; None: it is counted. `sums_only` as in
        `TrainingData.of_texts`.
        """
        from unnaive.data.training_data import TrainingData

        self._find_fields(texts, labels)
        documents = self._documents(texts)
        rule = self.token_rule_of(
            lambda: n_chars if n_chars is not None else count_chars(documents, self._known_fields())
        )
        return TrainingData.of_texts(
            documents, labels, rule, multilabel=self.multilabel, sample_weight=sample_weight, n_jobs=self.n_jobs,
            unlabelled=find_model(self.model).traits.takes_unlabelled, sums_only=sums_only,
        )  # fmt: skip

    def partial_fit(
        self, texts: Any, labels: Any, sample_weight: Any = None, *, new_classes: bool = False,
        classes: Sequence[Label] | None = None, search: str = "again",
        progress: ProgressCallback | None = None,
    ) -> Self:  # fmt: skip
        """Learn more documents: the result equals training on all of them at once, in any order.

        New words are learnt. An unseen class is an error unless `new_classes`. The first call takes the classes
        from `classes`, or from its labels. Everything that was tuned on held-out documents is tuned again. `auto`
        searches "again", which takes as long as `fit`. With `search="keep"`, `auto` trains the members that it selected
        before. With "adjust", it only adjusts its weights to these documents, which takes milliseconds; the documents
        are kept, so that the next exact update trains on all of them.
        """
        from unnaive.data.training_data import TrainingData
        from unnaive.learning.train import train
        from unnaive.learning.update import learn_more, over_known_classes

        if not self.__sklearn_is_fitted__():
            self._find_fields(texts, labels)
        texts = self._documents(texts)
        spec, rule = self.spec(), self.token_rule
        before = self._updatable(spec, rule) if self.__sklearn_is_fitted__() else None
        new, targets = self._count_labelled(spec, texts, labels, sample_weight, rule, before)
        if before is None:
            new = new if classes is None else over_known_classes(new, classes)
            data = TrainingData.of_kept(new, targets.target_type, token_rule=rule, n_jobs=self.n_jobs)
            self.fitted_ = train(data, spec, progress=progress)
        else:
            register = _changed_register(before, True, texts, targets, sample_weight)
            hashes = _changed_text_hashes(before, True, texts, sample_weight)
            self.fitted_ = learn_more(
                before, new, new_classes=new_classes, search=search, progress=progress, register=register,
                text_hashes=hashes,
            )  # fmt: skip
        return self

    def forget(
        self, texts: Any, labels: Any, sample_weight: Any = None, *, search: str = "again",
        progress: ProgressCallback | None = None,
    ) -> Self:  # fmt: skip
        """Forget documents exactly: the result equals a model that never saw them.

        Weights, calibration, thresholds, held-out scores and the selection of `auto` no longer depend on them. `auto`
        searches again, which takes as long as `fit`. With `search="keep"` it keeps the selection that it made with
        the documents, and only trains again. With "adjust" it approximately reverses their effect on the weights; the
        weights may depend on them until the next exact change.

        Words and classes that no other document has are removed too. Give the labels that were learnt. A model that
        keeps documents refuses those that it does not have. A model that keeps counts refuses documents that were never
        learnt if it has a register, or if the counts prove it. Without a register, it cannot recognise an unlearnt
        document whose words all occur in its class.
        """
        from unnaive.learning.update import forget_documents

        spec, rule = self.spec(), self.token_rule
        before = self._updatable(spec, rule)
        texts = self._documents(texts)
        gone, targets = self._count_labelled(spec, texts, labels, sample_weight, rule, before)
        register = _changed_register(before, False, texts, targets, sample_weight)
        hashes = _changed_text_hashes(before, False, texts, sample_weight)
        self.fitted_ = forget_documents(
            before, gone, search=search, progress=progress, register=register,
            text_hashes=hashes,
        )  # fmt: skip
        return self

    def merge(self, *others: TextClassifier, search: str = "again", progress: ProgressCallback | None = None) -> Self:
        """Merge models that were trained separately: the result equals training on all their documents.

        `auto` searches again; with `search="keep"` it keeps the selection of this model.
        """
        from unnaive.data.text_hashes import join_text_hashes
        from unnaive.learning.update import merge_models

        spec, rule = self.spec(), self.token_rule
        parts = [self._updatable(spec, rule), *(other._fitted() for other in others)]
        hashes = join_text_hashes([part.text_hashes for part in parts])
        merged = merge_models(*parts, search=search, progress=progress)
        self.fitted_ = replace(merged, text_hashes=hashes)
        return self

    def remake(self, **parameters: Any) -> Self:
        """Compute the model again with another type or other settings, from the counts or documents that it keeps.

        Models that keep documents can become any other model; models that keep counts can become any other count model.

        >>> model = TextClassifier("multinomial").fit(["good ball", "fair vote"], ["sport", "politics"])
        >>> model.remake(model="bernoulli", alpha=0.5)
        TextClassifier(model='bernoulli', alpha=0.5)
        """
        from unnaive.learning.update import remake_model

        before = self._fitted()
        current = {name: value for name, value in self.get_params().items() if name in self._named}
        settings = self._settings if parameters.get("model", self.model) == self.model else {}
        other = type(self)(**current, **settings).set_params(**parameters)
        spec = other.spec()
        other._check_same_rule(before)
        fitted = replace(remake_model(before, spec), text_hashes=before.text_hashes)
        for name in self._settings.keys() - other._settings.keys():
            delattr(self, name)
        self.__dict__.update(other.__dict__)
        self.fitted_ = fitted
        return self

    def save(self, path: str | Path, *, frozen: bool = False, max_size: str | int | None = None) -> None:
        """Write the model to one file; `frozen` leaves out counts and documents, which updates need.

        max_size  maximum size of the file, such as "5MB": weights are quantised, then terms dropped, until it fits;
                  such a model cannot be updated. This classifier is not changed.
        """
        from unnaive.classifier.model_file import save

        if not self.__sklearn_is_fitted__():
            raise UnnaiveError("this TextClassifier is not fitted yet; call fit before saving")
        if max_size is None:
            save(self.fitted_, path, frozen=frozen)
            return
        from unnaive.classifier.compress import compress_model

        small = compress_model(self.fitted_, parse_size(max_size))
        save(small.fitted, path, frozen=frozen or small.frozen)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model in a file that `save` wrote."""
        from unnaive.classifier.model_file import load_model

        return cls.from_fitted(load_model(path))

    @classmethod
    def from_fitted(cls, fitted: FittedModel) -> Self:
        """A classifier with the fitted state `fitted` and the parameters of its training."""
        spec, rule = fitted.spec, fitted.token_rule
        if rule is None:
            raise UnnaiveError("this model was trained on counts, not on texts; use its estimator")
        changed = {name: value for name, value in spec.model.changed_settings().items() if name not in cls._named}
        classifier = cls(
            model_reference(spec.model),
            **rule_parameters(rule),
            **spec.parameters() | {"multilabel": fitted.multilabel or None, "n_jobs": fitted.n_jobs},
            **changed,
        )
        classifier.fitted_ = fitted
        return classifier

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle or copy; skops passes the fitted model as the bytes of a model file."""
        parameters = dict(state)
        data = parameters.pop(MODEL_FILE, None)
        self.__dict__.update(parameters)
        if data is not None:
            from unnaive.classifier.model_bytes import model_from_bytes

            self.fitted_ = model_from_bytes(data)

    # The fitted state.

    @property
    def vocabulary_(self) -> Vocabulary:
        """The terms in use, the columns of the scorer."""
        from unnaive.text.vocabulary import Vocabulary

        vocabulary = self._attribute("vocabulary_").vocabulary
        return Vocabulary() if vocabulary is None else vocabulary

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The terms in use (n_terms,), as scikit-learn's vectorizers name it."""
        return np.array(self._fitted().reader.term_names, dtype=object)

    # Training.

    def spec(self) -> TrainingSpec:
        """The model and its training options, checked."""
        from unnaive.learning.learner import TrainingSpec
        from unnaive.learning.optimise import read_optimise
        from unnaive.learning.spec_checks import check_spec

        runtime = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        unknown = [name for name in self._settings if name not in self._known_settings()]
        if unknown:
            names = [*self._known_settings(), *self._named]
            raise refuse_setting(find_model(self.model).traits.name, unknown[0], names)
        options = {name: getattr(self, name) for name in TRAINING_OPTIONS}
        options |= {"optimise": read_optimise(self.optimise), "word_vectors": _read_vectors(self.word_vectors)}
        spec = TrainingSpec(make_model(self.model, self._settings, **runtime), **options)
        check_spec(spec)
        return spec

    def _count_labelled(
        self,
        spec: TrainingSpec,
        texts: Any,
        labels: Any,
        sample_weight: Any,
        rule: TokenRule,
        before: FittedModel | None,
    ) -> tuple[Statistic, Targets]:
        from unnaive.data.named_counts import NamedCounts
        from unnaive.data.training_data import TrainingData
        from unnaive.learning.tuned_models import keeps_documents

        data = TrainingData.of_texts(
            texts, labels, rule, multilabel=self.multilabel if before is None else before.multilabel,
            sample_weight=sample_weight, n_jobs=self.n_jobs, check=False,
        )  # fmt: skip
        if before is None:
            of_documents = keeps_documents(spec, multilabel=data.multilabel, texts=True)
        else:
            of_documents = not isinstance(before.statistic, NamedCounts)
        return data.statistic("documents" if of_documents else "counts"), data.targets

    def count_labelled(self, texts: Any, labels: Any) -> Statistic:
        """The counts or counted documents that the model would keep of these documents."""
        before = self.fitted_ if self.__sklearn_is_fitted__() else None
        return self._count_labelled(self.spec(), texts, labels, None, self.token_rule, before)[0]

    def _updatable(self, spec: TrainingSpec, rule: TokenRule) -> FittedModel:
        """The fitted state with the current settings; an error if texts would be read differently."""
        before = self._fitted()
        self._check_same_rule(before)
        return replace(before, spec=spec, token_rule=rule, n_jobs=self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_label=True),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
        )


def _read_vectors(vectors: Any) -> Any:
    """Word vectors, given as the path of a file or as WordVectors; io reads files, and is above this package."""
    return None if vectors is None else import_part("unnaive.io.vectors.cached_vectors:read_vectors")(vectors)


def _changed_register(
    before: FittedModel, added: bool, texts: Any, targets: Targets, sample_weight: Any
) -> Register | None:
    """The register with or without the documents; None if the model has none, or weights are used."""
    from unnaive.data.targets import label_sets

    if before.register is None or sample_weight is not None:
        return None
    change = before.register.plus if added else before.register.without
    return change(texts, label_sets(targets.Y, targets.classes))


def _changed_text_hashes(before: FittedModel, added: bool, texts: Any, sample_weight: Any) -> TextHashes | None:
    """The hashes of texts with or without these; None if the model keeps none, or weights are used."""
    if before.text_hashes is None or sample_weight is not None:
        return None
    return before.text_hashes.plus(texts) if added else before.text_hashes.without(texts)
