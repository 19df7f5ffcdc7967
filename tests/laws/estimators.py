"""Every estimator, once. A line here, and all laws of this folder hold for it; an opt-out carries its reason."""

from dataclasses import dataclass, field
from typing import Any

import unnaive


@dataclass(frozen=True)
class Case:
    """An estimator under the laws. `unlike` maps the name of a law that does not hold to the reason why not."""

    estimator: Any
    unlike: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return "".join(repr(self.estimator).split())


ABSENCE = "absent terms are evidence, so an empty document is not without any"
LEARNED = "its prior is learned together with its weights, and is not the share of documents"
HELD_OUT = "which documents are held out while it chooses depends on their number"
ROUNDING = "what it chooses may hang on the last digit of a weight"
NO_PRIOR = "it has no prior: an empty document leaves all classes alike"

CASES = [
    Case(unnaive.MultinomialNB()),
    Case(unnaive.MultinomialNB(scheme="one-vs-rest")),
    Case(unnaive.MultinomialNB(smoothing="jelinek-mercer")),
    Case(unnaive.MultinomialNB(smoothing="absolute", scheme="one-vs-rest", fit_prior=False), {"prior": NO_PRIOR}),
    Case(unnaive.MultinomialNB(alpha=0)),
    Case(unnaive.BernoulliNB(), {"prior": ABSENCE}),
    Case(unnaive.BernoulliNB(smoothing="jelinek-mercer"), {"prior": ABSENCE}),
    Case(unnaive.BernoulliNB(smoothing="absolute", scheme="one-vs-rest"), {"prior": ABSENCE}),
    Case(unnaive.ComplementNB(), {"prior": NO_PRIOR}),
    Case(unnaive.ComplementNB(norm=True, fit_prior=True)),
    Case(unnaive.NaiveBayesEM()),
    Case(unnaive.OrGate(), {"prior": NO_PRIOR}),
    Case(unnaive.OrGate(weights="laplace", counts=False), {"prior": NO_PRIOR}),
    Case(unnaive.OrBlend()),
    Case(unnaive.Rocchio()),
    Case(unnaive.RocchioCounts()),
    Case(unnaive.MaxEnt(), {"prior": LEARNED}),
    Case(unnaive.MaxEnt(solver="gis", early_stopping=False), {"prior": LEARNED}),
    Case(unnaive.LinearSVM(tol=1e-11)),  # so that the order of documents is irrelevant to the last digits
    Case(unnaive.NBSVM(tol=1e-11)),
    Case(unnaive.ShardedNBSVM(tol=1e-11)),
    Case(unnaive.ShardedNBSVM(shard_size=5, tol=1e-11)),
    Case(unnaive.LabelTree(tol=1e-11), {"prior": LEARNED}),
    Case(unnaive.PowerRatio()),
    Case(
        unnaive.Auto(),
        {
            "prior": LEARNED,
            **dict.fromkeys(
                (
                    "weights_are_repetitions_and_zero_is_absence",
                    "in_multi_output_weights_are_repetitions",
                    "check_sample_weight_equivalence_on_dense_data",
                    "check_sample_weight_equivalence_on_sparse_data",
                ),
                HELD_OUT,
            ),
            "fractions_are_added_and_removed_up_to_rounding": ROUNDING,
        },
    ),
    Case(unnaive.NearestNeighbours(k=5)),
    Case(unnaive.DecisionTree(), {"prior": ABSENCE}),
    Case(unnaive.HigherOrderSmoothing(), {"prior": ABSENCE}),
    Case(unnaive.HigherOrderSmoothing(events="multinomial", weights="tfidf")),
    Case(unnaive.HigherOrderSmoothing(norm="l2"), {"prior": ABSENCE}),
    Case(unnaive.HigherOrderNB(), {"prior": ABSENCE}),
    Case(unnaive.HigherOrderNB(prior="paths"), {"prior": ABSENCE}),
    Case(unnaive.HierarchicalBN(restarts=8, average=2), {"prior": ABSENCE}),
    Case(unnaive.HierarchicalBN(clustering="dep", branching=3, restarts=8, average=2), {"prior": ABSENCE}),
    Case(unnaive.HierarchicalNB(restarts=8, average=2), {"prior": ABSENCE}),
    Case(unnaive.SelectiveNB(scheme="one-vs-rest"), {"prior": ABSENCE}),
    Case(unnaive.TreeAugmentedNB(scheme="one-vs-rest"), {"prior": ABSENCE}),
    Case(unnaive.SelectiveNB(), {"prior": ABSENCE}),
    Case(unnaive.TreeAugmentedNB(), {"prior": ABSENCE}),
    Case(unnaive.SuperParentTAN(), {"prior": ABSENCE}),
    Case(unnaive.SuperParentTAN(scheme="one-vs-rest", folds=3), {"prior": ABSENCE}),
    Case(unnaive.DiagnosticMixture(), {"prior": ABSENCE}),
    Case(unnaive.DiagnosticMixture(scheme="one-vs-rest", members=3), {"prior": ABSENCE}),
    Case(unnaive.WordClusterNB(clusters=4)),
    Case(unnaive.WordClusterNB(clusters=4, terms=9, scheme="one-vs-rest")),
]
