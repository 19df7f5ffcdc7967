"""Traits say what a model is and takes, before it has learnt anything: each model declares them once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from unnaive.linear.scorer import Scorer


@dataclass(frozen=True)
class Traits:
    """What training, the command line, model files and scikit-learn need to know of a model.

    name                 its name in the catalogue
    title                its name in messages and reports
    statistic            what it learns from: sums over documents, or the documents themselves, which it keeps
    scorer_kinds         the kinds of scorer that it learns, as in model files
    scorers              classes of its own scorers, for models of other packages
    probabilistic        it has predict_proba without calibration
    generative           its scores are log joint probabilities, so it has no decision_function, as in scikit-learn
    poor_score           it fails scikit-learn's accuracy check on Gaussian blobs, which are not counts
    takes_sample_weight  documents may have weights
    takes_unlabelled     it also learns from documents without a label
    takes_terms          `learn` gets the names of the terms
    takes_vectors        `learn` gets vectors of the terms, if there are any
    keeps_choice         it selects among candidates; `relearn` keeps the selection
    imported             trained elsewhere and read from a file: it has no statistic
    in_passes            it learns in passes over the documents, which need not all be in memory
    token_rule_changes   defaults of TextClassifier's token rule for this model
    shorter_readings     the same for larger and larger amounts of text; see `Model.token_rule_for`
    """

    name: str
    title: str
    statistic: Literal["counts", "documents"]
    scorer_kinds: tuple[str, ...] = ("linear",)
    scorers: tuple[type[Scorer], ...] = ()
    probabilistic: bool = True
    generative: bool = True
    poor_score: bool = False
    takes_sample_weight: bool = True
    takes_unlabelled: bool = False
    takes_terms: bool = False
    takes_vectors: bool = False
    keeps_choice: bool = False
    imported: bool = False
    in_passes: bool = False
    token_rule_changes: Mapping[str, Any] = field(default_factory=dict)
    shorter_readings: tuple[Mapping[str, Any], ...] = ()
