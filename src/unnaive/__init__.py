"""Text classification with the Bayesian family: naive Bayes and what was built to make it less naive."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.base.errors import BadData as BadData
    from unnaive.base.errors import BadModel as BadModel
    from unnaive.base.errors import MissingExtra as MissingExtra
    from unnaive.base.errors import PluginError as PluginError
    from unnaive.base.errors import UnknownName as UnknownName
    from unnaive.base.errors import UnnaiveError as UnnaiveError
    from unnaive.base.errors import UnnaiveWarning as UnnaiveWarning
    from unnaive.classifier.text_classifier import TextClassifier as TextClassifier
    from unnaive.data.counts import Counts as Counts
    from unnaive.data.soft_labels import soft_labels as soft_labels
    from unnaive.evaluation.estimated_accuracy import estimate_accuracy as estimate_accuracy
    from unnaive.evaluation.evaluate import evaluate as evaluate
    from unnaive.evaluation.evaluation_report import report as report
    from unnaive.evaluation.experiments import compare as compare
    from unnaive.interop.vectorizers.vectorizers import CountVectorizer as CountVectorizer
    from unnaive.interop.vectorizers.vectorizers import HashingVectorizer as HashingVectorizer
    from unnaive.interop.vectorizers.vectorizers import TfidfVectorizer as TfidfVectorizer
    from unnaive.interop.xc_files import read_texts_and_labels as read_texts_and_labels
    from unnaive.interop.xc_files import read_xc as read_xc
    from unnaive.learning.decisions import Argmax as Argmax
    from unnaive.learning.decisions import Proportional as Proportional
    from unnaive.learning.decisions import Thresholds as Thresholds
    from unnaive.learning.decisions import TopK as TopK
    from unnaive.learning.fitted import FittedModel as FittedModel
    from unnaive.learning.fitted import top_terms as top_terms
    from unnaive.models.auto.learner import Auto as Auto
    from unnaive.models.blend import OrBlend as OrBlend
    from unnaive.models.diagnostic import DiagnosticMixture as DiagnosticMixture
    from unnaive.models.hierarchical.learner import HierarchicalBN as HierarchicalBN
    from unnaive.models.hierarchical.learner import HierarchicalNB as HierarchicalNB
    from unnaive.models.higher_order.learner import HigherOrderNB as HigherOrderNB
    from unnaive.models.higher_order.learner import HigherOrderSmoothing as HigherOrderSmoothing
    from unnaive.models.label_tree.learner import LabelTree as LabelTree
    from unnaive.models.maxent.learner import MaxEnt as MaxEnt
    from unnaive.models.naive_bayes import BernoulliNB as BernoulliNB
    from unnaive.models.naive_bayes import ComplementNB as ComplementNB
    from unnaive.models.naive_bayes import MultinomialNB as MultinomialNB
    from unnaive.models.nb_em import NaiveBayesEM as NaiveBayesEM
    from unnaive.models.neighbours import NearestNeighbours as NearestNeighbours
    from unnaive.models.or_gate import OrGate as OrGate
    from unnaive.models.rocchio import Rocchio as Rocchio
    from unnaive.models.rocchio import RocchioCounts as RocchioCounts
    from unnaive.models.selective import SelectiveNB as SelectiveNB
    from unnaive.models.superparent import SuperParentTAN as SuperParentTAN
    from unnaive.models.svm.learner import LinearSVM as LinearSVM
    from unnaive.models.svm.nbsvm import NBSVM as NBSVM
    from unnaive.models.svm.nbsvm import PowerRatio as PowerRatio
    from unnaive.models.svm.sharded import ShardedNBSVM as ShardedNBSVM
    from unnaive.models.tan import TreeAugmentedNB as TreeAugmentedNB
    from unnaive.models.trees import DecisionTree as DecisionTree
    from unnaive.models.word_clusters import WordClusterNB as WordClusterNB
    from unnaive.text.tokens import TokenRule as TokenRule
    from unnaive.workflows.audit import audit_file as audit_file
    from unnaive.workflows.change import forget_file as forget_file
    from unnaive.workflows.change import merge_files as merge_files
    from unnaive.workflows.change import remake_file as remake_file
    from unnaive.workflows.change import update_file as update_file
    from unnaive.workflows.clean import clean_file as clean_file
    from unnaive.workflows.compare import compare_file as compare_file
    from unnaive.workflows.compress import compress_file as compress_file
    from unnaive.workflows.estimate_accuracy import estimate_accuracy_file as estimate_accuracy_file
    from unnaive.workflows.evaluate import evaluate_file as evaluate_file
    from unnaive.workflows.export import export_file as export_file
    from unnaive.workflows.filter import filter_files as filter_files
    from unnaive.workflows.import_model import import_file as import_file
    from unnaive.workflows.plot import plot_file as plot_file
    from unnaive.workflows.predict import predict_file as predict_file
    from unnaive.workflows.rebase import rebase_file as rebase_file
    from unnaive.workflows.train import train_file as train_file
    from unnaive.workflows.verify import verify_file as verify_file
    from unnaive.workflows.write_tickets import write_tickets as write_tickets

    backend: str  # "native", or "reference" where the package was built without a compiler

__version__ = "0.3.0"

# Imported on first use, so that the command line starts fast; type checkers read the imports above instead.
_HOMES = {
    "TextClassifier": "unnaive.classifier.text_classifier",
    "FittedModel": "unnaive.learning.fitted",
    "top_terms": "unnaive.learning.fitted",
    "evaluate": "unnaive.evaluation.evaluate",
    "compare": "unnaive.evaluation.experiments",
    "report": "unnaive.evaluation.evaluation_report",
    "Counts": "unnaive.data.counts",
    "read_texts_and_labels": "unnaive.interop.xc_files",
    "read_xc": "unnaive.interop.xc_files",
    "soft_labels": "unnaive.data.soft_labels",
    "TokenRule": "unnaive.text.tokens",
    "train_file": "unnaive.workflows.train",
    "evaluate_file": "unnaive.workflows.evaluate",
    "estimate_accuracy": "unnaive.evaluation.estimated_accuracy",
    "estimate_accuracy_file": "unnaive.workflows.estimate_accuracy",
    "predict_file": "unnaive.workflows.predict",
    "compress_file": "unnaive.workflows.compress",
    "verify_file": "unnaive.workflows.verify",
    "audit_file": "unnaive.workflows.audit",
    "compare_file": "unnaive.workflows.compare",
    "clean_file": "unnaive.workflows.clean",
    "export_file": "unnaive.workflows.export",
    "import_file": "unnaive.workflows.import_model",
    "filter_files": "unnaive.workflows.filter",
    "rebase_file": "unnaive.workflows.rebase",
    "plot_file": "unnaive.workflows.plot",
    **dict.fromkeys(("update_file", "forget_file", "merge_files", "remake_file"), "unnaive.workflows.change"),
    "write_tickets": "unnaive.workflows.write_tickets",
    **dict.fromkeys(
        ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer"), "unnaive.interop.vectorizers.vectorizers"
    ),
    **dict.fromkeys(("Argmax", "TopK", "Thresholds", "Proportional"), "unnaive.learning.decisions"),
    **dict.fromkeys(
        ("UnnaiveError", "UnknownName", "BadData", "BadModel", "MissingExtra", "PluginError", "UnnaiveWarning"),
        "unnaive.base.errors",
    ),
}

# What is told about our estimators when somebody imports it, and the module whose `join` does so.
_JOINED = {
    "mlflow.sklearn": "unnaive.interop.integrations.mlflow_sklearn",
    "skl2onnx": "unnaive.interop.integrations.skl2onnx_converters",
    "eli5": "unnaive.interop.integrations.eli5_explanations",
    "skops.io": "unnaive.interop.integrations.skops_files",
}


def _homes() -> dict[str, str]:
    """The module of every public name; those of the models are in the catalogue."""
    from unnaive.models.catalogue import MODELS

    return _HOMES | {name: module for module, name in (path.split(":") for path in MODELS.values())}


if not TYPE_CHECKING:  # else a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name == "backend":
            return import_module("unnaive.text.counting").BACKEND
        homes = _HOMES if name in _HOMES or name.startswith("_") else _homes()
        if name not in homes:
            raise AttributeError(f"module 'unnaive' has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    from unnaive.base.after_import import join_when_imported as _join_when_imported

    _join_when_imported(_JOINED)


def __dir__() -> list[str]:
    return sorted(["__version__", "backend", *_homes()])
