"""The models by name. Adding a classifier is a file in this package and a line here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from unnaive.base.errors import UnknownName, choose
from unnaive.base.settings import unknown_setting
from unnaive.models.estimator import Model

# Imported when first asked for: the command line needs one of them, not all.
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

# Trained elsewhere: they are read from files, and cannot be chosen for training.
IMPORTED = {"fasttext": "unnaive.models.fasttext.learner:FastText"}


def find_model(name: str) -> type[Model]:
    """The class of the model called `name`, or an error that lists those there are.

    >>> find_model("multinomial").title
    'multinomial naive Bayes'
    """
    place = IMPORTED[name] if name in IMPORTED else MODELS[choose(list(MODELS), name, "model")]
    module, class_name = place.split(":")
    found: type[Model] = getattr(import_module(module), class_name)
    return found


def make_model(name: str, settings: dict[str, Any], **runtime: Any) -> Model:
    """The model called `name` with checked settings; of `runtime`, what the model takes and is not among them.

    >>> make_model("multinomial", {"alpha": 0.5}, random_state=7)
    MultinomialNB(alpha=0.5)
    """
    found = find_model(name)
    declared = found.declared()
    for key in settings:
        if key not in declared:
            raise UnknownName(f"{name}: {unknown_setting(key, list(declared))}")
    model = found(**{**{key: value for key, value in runtime.items() if key in declared}, **settings})
    model.check_settings()
    return model
