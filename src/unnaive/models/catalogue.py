"""The models by name. Adding a classifier is a file in this package and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unnaive.base.errors import PluginError, UnknownName, UnnaiveError
from unnaive.base.registry import Registry
from unnaive.base.settings import own_arrays, shorten_value, unknown_setting

if TYPE_CHECKING:
    from unnaive.learning.learner import Learner
    from unnaive.models.estimator import Model

# imported on demand: the command line needs only one of them
MODELS = {
    "auto": "unnaive.models.auto.learner:Auto",
    "multinomial": "unnaive.models.naive_bayes:MultinomialNB",
    "bernoulli": "unnaive.models.naive_bayes:BernoulliNB",
    "complement": "unnaive.models.naive_bayes:ComplementNB",
    "nb-em": "unnaive.models.nb_em:NaiveBayesEM",
    "hos": "unnaive.models.higher_order.learner:HigherOrderSmoothing",
    "honb": "unnaive.models.higher_order.learner:HigherOrderNB",
    "or-gate": "unnaive.models.or_gate:OrGate",
    "or-blend": "unnaive.models.blend:OrBlend",
    "rocchio": "unnaive.models.rocchio:Rocchio",
    "rocchio-counts": "unnaive.models.rocchio:RocchioCounts",
    "maxent": "unnaive.models.maxent.learner:MaxEnt",
    "hierarchical": "unnaive.models.hierarchical.learner:HierarchicalBN",
    "hierarchical-naive-bayes": "unnaive.models.hierarchical.learner:HierarchicalNB",
    "tan": "unnaive.models.tan:TreeAugmentedNB",
    "superparent": "unnaive.models.superparent:SuperParentTAN",
    "diagnostic": "unnaive.models.diagnostic:DiagnosticMixture",
    "selective": "unnaive.models.selective:SelectiveNB",
    "word-clusters": "unnaive.models.word_clusters:WordClusterNB",
    "svm": "unnaive.models.svm.learner:LinearSVM",
    "nbsvm": "unnaive.models.svm.nbsvm:NBSVM",
    "sharded-nbsvm": "unnaive.models.svm.sharded:ShardedNBSVM",
    "power-ratio": "unnaive.models.svm.nbsvm:PowerRatio",
    "knn": "unnaive.models.neighbours:NearestNeighbours",
    "tree": "unnaive.models.trees:DecisionTree",
    "label-tree": "unnaive.models.label_tree.learner:LabelTree",
}

# trained elsewhere: they can be read from files, but not trained
IMPORTED = {"fasttext": "unnaive.models.fasttext.learner:FastText"}


_REGISTRY = Registry("unnaive.models", "model", MODELS, unlisted=IMPORTED)
_EXPECTED = "a class with `traits` that is derived from CountsModel or DocumentsModel"


def find_model(model: str | Model | type[Model], package: str | None = None) -> type[Model]:
    """The class of a model, given by its name, as an instance or as the class itself; an error lists the names.

    package  the package that has the model, as a model file names it; None: ours, otherwise any other

    >>> find_model("multinomial").traits.title
    'multinomial naive Bayes'
    """
    from unnaive.models.estimator import Model

    found = _REGISTRY.find(model, package) if isinstance(model, str) else model
    model_class = type(found) if isinstance(found, Model) else found
    if not isinstance(model_class, type) or not issubclass(model_class, Model) or not hasattr(model_class, "traits"):
        raise UnnaiveError(
            f"the model came as {shorten_value(found)}; give a name, such as 'multinomial', or {_EXPECTED}"
        )
    if isinstance(model, str) and model_class.traits.name != model:
        raise PluginError(
            f"the model {model!r} of another package calls itself {model_class.traits.name!r}; update the package"
        )
    return model_class


def package_of(model: Learner) -> str:
    """The package that has a model, which a model file names; an error if no installed package has it."""
    return _REGISTRY.package_of(model.traits.name, type(model))


def model_reference(model: Learner) -> Any:
    """The model as TextClassifier takes it: one of ours by its name, that of another package as its class."""
    path = f"{type(model).__module__}:{type(model).__qualname__}"
    return model.traits.name if path in (MODELS | IMPORTED).values() else type(model)


def refuse_setting(model: str, name: str, names: list[str]) -> UnknownName:
    """The error for a setting that a model does not have, with the models that have it, or the nearest valid name.

    >>> refuse_setting("auto", "smoothing", ["budget"])
    UnknownName("auto: no setting called 'smoothing'; it is one of multinomial, bernoulli, so name the model")
    """
    having = [other for other in MODELS if name in find_model(other).declared()]
    if not having:
        return UnknownName(f"{model}: {unknown_setting(name, names)}")
    return UnknownName(f"{model}: no setting called {name!r}; it is one of {', '.join(having)}, so name the model")


def make_model(model: str | Model | type[Model], settings: dict[str, Any], **runtime: Any) -> Model:
    """A model with checked settings; those of an instance are kept unless `settings` has them too.

    `runtime` has further arguments; those that the model does not have, or that `settings` sets, are ignored.

    >>> make_model("multinomial", {"alpha": 0.5}, random_state=7)
    MultinomialNB(alpha=0.5)
    """
    from unnaive.models.estimator import Model

    model_class = find_model(model)
    if isinstance(model, Model):
        settings = model.changed_settings() | settings
    declared = model_class.declared()
    for key in settings:
        if key not in declared:
            raise refuse_setting(model_class.traits.name, key, list(declared))
    runtime = {key: value for key, value in runtime.items() if key in declared}
    made = model_class(**{**runtime, **own_arrays(settings)})
    made.check_settings()
    return made
