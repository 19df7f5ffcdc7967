"""The models by name. Adding a classifier is a file in this package and a line here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from unnaive.base.errors import UnknownName, choose
from unnaive.base.settings import unknown_setting
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


def find_model(name: str) -> type[Model]:
    """The class of the model called `name`, or an error that lists the models.

    >>> find_model("multinomial").traits.title
    'multinomial naive Bayes'
    """
    path = IMPORTED[name] if name in IMPORTED else MODELS[choose(list(MODELS), name, "model")]
    module, class_name = path.split(":")
    model: type[Model] = getattr(import_module(module), class_name)
    return model


def make_model(name: str, settings: dict[str, Any], **runtime: Any) -> Model:
    """The model called `name` with checked settings.

    `runtime` has further arguments; those that the model does not have, or that `settings` sets, are ignored.

    >>> make_model("multinomial", {"alpha": 0.5}, random_state=7)
    MultinomialNB(alpha=0.5)
    """
    model_class = find_model(name)
    declared = model_class.declared()
    for key in settings:
        if key not in declared:
            raise UnknownName(f"{name}: {unknown_setting(key, list(declared))}")
    model = model_class(**{**{key: value for key, value in runtime.items() if key in declared}, **settings})
    model.check_settings()
    return model
