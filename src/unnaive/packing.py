"""What is in a model file: a classifier to arrays and a JSON description, and back; store.py writes and reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.classifier import TextClassifier
from unnaive.core.calibration import Temperature
from unnaive.core.counts import Counts
from unnaive.core.ledger import Ledger
from unnaive.core.links import LINKS
from unnaive.core.scorer import Scorer
from unnaive.core.targets import sorted_classes
from unnaive.decisions import decision_from_dict
from unnaive.errors import BadModel, UnnaiveError, choose
from unnaive.models.catalogue import find_model
from unnaive.models.neighbours import checked_csr
from unnaive.reading.columns import Columns
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary
from unnaive.types import Arrays

# kind of scorer → its class, imported when a file has one
SCORERS = {
    "linear": "unnaive.core.linear:Linear",
    "blend": "unnaive.models.blend:Blend",
    "feature-trees": "unnaive.models.feature_trees:FeatureTrees",
    "hidden-networks": "unnaive.models.hierarchical.hidden_networks:HiddenNetworks",
    "neighbours": "unnaive.models.neighbours:Neighbours",
    "paths": "unnaive.models.path_scorer:PathScorer",
    "trees": "unnaive.models.trees:Trees",
}
FORMS = ("single", "sets", "indicator", "sparse")
PARAMETERS = ("min_df", "select", "multilabel", "calibrate", "seed")


def packed(classifier: TextClassifier, *, frozen: bool = False) -> tuple[Arrays, dict[str, Any]]:
    """The arrays of a model and the description of everything else, plain enough for JSON."""
    if not classifier._is_fitted():
        raise UnnaiveError("this TextClassifier has not learnt anything yet; call fit before saving")
    ledger = None if frozen else classifier.ledger_
    scorer = _without_documents(classifier.scorer_) if frozen else classifier.scorer_
    own, settings = scorer.to_arrays()
    arrays = {f"scorer.{name}": array for name, array in own.items()}
    arrays |= _packed_vocabulary("vocabulary", classifier.vocabulary_)
    if ledger is not None:
        arrays |= _packed_ledger(ledger, classifier.vocabulary_)
    choose(list(SCORERS), scorer.kind, "scorer")
    about = {
        "model": classifier.model,
        "settings": {name: _plain(value, name) for name, value in classifier._settings.items()},
        "rule": classifier._rule.to_dict(),
        "parameters": {name: getattr(classifier, name) for name in PARAMETERS},
        "classes": classifier.classes_.tolist(),
        "form": classifier.form_,
        "decision": classifier.decision_.to_dict(),
        "tuning": classifier.decision if isinstance(classifier.decision, str) else None,
        "temperature": classifier.temperature_ and classifier.temperature_.to_dict(),
        "scorer": {"kind": scorer.kind, "settings": settings},
        "counts": ledger is not None,
        "columns": classifier.columns_ and classifier.columns_.to_dict(),
    }
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, about


def _without_documents(scorer: Scorer) -> Scorer:
    """The same scores without training documents, for scorers that keep them only to explain."""
    forget: Callable[[], Scorer] | None = getattr(scorer, "forget_documents", None)
    return forget() if forget else scorer


def _plain(value: Any, name: str) -> Any:
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    try:
        json.dumps(value)
    except TypeError as problem:
        raise UnnaiveError(f"the setting {name} is {value!r}, which cannot be stored; give plain values") from problem
    return value


def _packed_vocabulary(name: str, vocabulary: Vocabulary) -> Arrays:
    blob, offsets = vocabulary.to_arrays()
    return {f"{name}.bytes": blob, f"{name}.offsets": narrow(offsets)}


def _packed_ledger(ledger: Ledger, in_use: Vocabulary) -> Arrays:
    """Counts, and their vocabulary where it is larger than the one in use."""
    counts = ledger.counts
    arrays: Arrays = {} if ledger.vocabulary is in_use else _packed_vocabulary("counts.vocabulary", ledger.vocabulary)
    for name in ("n_docs", "class_docs", "terms", "df"):
        arrays[f"counts.{name}"] = narrow(np.atleast_1d(getattr(counts, name)))
    for name in ("class_terms", "class_df"):
        table = getattr(counts, name)
        for part in ("data", "indices", "indptr"):
            arrays[f"counts.{name}.{part}"] = narrow(getattr(table, part))
    return arrays


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers from 0 on in as few bytes as hold them; others as they are.

    >>> narrow(np.array([1, 300])).dtype, narrow(np.array([0.5])).dtype
    (dtype('uint16'), dtype('float64'))
    """
    if values.dtype.kind not in "iu":
        return values
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def unpacked(arrays: Arrays, about: dict[str, Any]) -> TextClassifier:
    """The model that `packed` was given; trusts nothing. What does not fit is an error, often a plain KeyError."""
    vocabulary = _vocabulary(arrays, "vocabulary")
    classes = about["classes"]
    if list(sorted_classes(classes)) != classes or not classes:
        raise BadModel("its classes are not a sorted list of distinct labels; train it again")
    scorer = _scorer(arrays, about["scorer"])
    if (scorer.n_classes, scorer.n_terms) != (len(classes), len(vocabulary)):
        raise BadModel("its scorer does not fit its classes and vocabulary; train it again")
    choose(list(LINKS), scorer.link, "link")
    classifier = _empty(about).assume(
        classes=classes,
        form=choose(list(FORMS), about["form"], "form of labels"),
        vocabulary=vocabulary,
        scorer=scorer,
        decision=decision_from_dict(about["decision"]),
        ledger=_ledger(arrays, tuple(classes), vocabulary) if about["counts"] else None,
        temperature=about["temperature"] and Temperature.from_dict(about["temperature"]),
    )
    classifier.columns_ = Columns.from_dict(about.get("columns"))
    return classifier


def _empty(about: dict[str, Any]) -> TextClassifier:
    """The classifier with its settings, before what it learnt."""
    rule = TokenRule.from_dict(about["rule"])
    model = find_model(about["model"])
    known = {name: about["parameters"][name] for name in PARAMETERS}
    settings = model.checked(dict(about["settings"]))
    return TextClassifier(model.name, **rule_parameters(rule), **known, decision=about["tuning"], **settings)


def rule_parameters(rule: TokenRule) -> dict[str, Any]:
    """The rule as parameters of TextClassifier."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in rule.to_dict().items()}


def _vocabulary(arrays: Arrays, name: str) -> Vocabulary:
    return Vocabulary.from_arrays(arrays[f"{name}.bytes"], arrays[f"{name}.offsets"])


def _scorer(arrays: Arrays, about: dict[str, Any]) -> Scorer:
    module, name = SCORERS[choose(list(SCORERS), about["kind"], "scorer")].split(":")
    make: Callable[..., Scorer] = getattr(import_module(module), name).from_arrays
    own = {key.removeprefix("scorer."): array for key, array in arrays.items() if key.startswith("scorer.")}
    return make(own, dict(about["settings"]))


def _ledger(arrays: Arrays, classes: tuple[Any, ...], in_use: Vocabulary) -> Ledger:
    vocabulary = _vocabulary(arrays, "counts.vocabulary") if "counts.vocabulary.bytes" in arrays else in_use
    shape = (len(classes), len(vocabulary))
    counts = Counts(
        n_docs=_numbers(arrays, "n_docs", 1)[0],
        class_docs=_numbers(arrays, "class_docs", shape[0]),
        class_terms=_table(arrays, "class_terms", shape),
        class_df=_table(arrays, "class_df", shape),
        terms=_numbers(arrays, "terms", shape[1]),
        df=_numbers(arrays, "df", shape[1]),
    )
    return Ledger(classes, vocabulary, counts)


def _numbers(arrays: Arrays, name: str, size: int) -> NDArray[Any]:
    values = arrays[f"counts.{name}"]
    if values.shape != (size,) or values.dtype.kind not in "uif" or not bool(np.all(values >= 0)):
        raise BadModel(f"its counts of {name} do not fit; train it again")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _table(arrays: Arrays, name: str, shape: tuple[int, int]) -> Any:
    table = checked_csr(arrays, f"counts.{name}", shape)
    whole = table.data.dtype.kind in "iu"
    sound = bool(np.all(table.data > 0)) and table.has_canonical_format
    if not sound:
        raise BadModel(f"its counts of {name} are damaged; train it again")
    table.data = table.data.astype(np.int64 if whole else np.float64)
    return table
