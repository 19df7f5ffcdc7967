"""The grids of candidates that `auto` tries: families with their settings, for each budget and for multilabel data."""

from __future__ import annotations

from dataclasses import dataclass

from unnaive.models.auto.members import FAMILIES


@dataclass(frozen=True)
class Candidate:
    """A family with its settings."""

    family: str
    settings: tuple[float, ...]

    def __str__(self) -> str:
        family = FAMILIES[self.family]
        named = zip(family.arguments, self.settings, strict=True)
        return f"{family.title}, {', '.join(f'{name} {value:g}' for name, value in named)}"


# the grid of the budget "fast": the two families that win most often, each with one setting
FAST = (Candidate("maxent", (3.0, 1.0, 0.1)), Candidate("nbsvm", (0.3,)))
# a few settings of each family that wins most often
BRIEF = (
    *(Candidate("complement", (alpha,)) for alpha in (0.1, 0.3)),
    *(Candidate("maxent", (C, 1.0, 0.1)) for C in (1.0, 10.0)),
    Candidate("nbsvm", (0.3,)),
)
# the grid of the budget "normal"
USUAL = (
    *(Candidate("complement", (alpha,)) for alpha in (0.03, 0.1, 0.3, 1.0)),
    *(Candidate("maxent", (C, s, 0.1)) for C, s in ((1.0, 1.0), (10.0, 1.0), (10.0, 0.5))),
    Candidate("maxent", (10.0, 0.5, 1.0)),
    *(Candidate("nbsvm", (C,)) for C in (0.1, 0.3, 1.0)),
    *(Candidate("svm", (C,)) for C in (0.3, 1.0, 3.0)),
)
# the grid of the budget "normal" for few documents: two more families, which are computed from sums
FEW_DOCUMENTS = (
    *USUAL,
    *(Candidate("power", (alpha,)) for alpha in (0.01, 0.1, 1.0)),
    *(Candidate("rocchio", (gamma,)) for gamma in (0.0, 0.3, 0.6, 1.0)),
)
# the grid of the thorough budget and of budgets in seconds
LONG = (
    *FEW_DOCUMENTS,
    *(Candidate("maxent", (C, 1.0, 0.1)) for C in (3.0, 30.0)),
    *(Candidate("maxent", (C, 1.0, 1.0)) for C in (1.0, 3.0, 10.0, 30.0)),
    *(Candidate("nbsvm", (C,)) for C in (0.03, 3.0)),
    *(Candidate("svm", (C,)) for C in (0.1, 10.0)),
)
# the members if no document can be held out
UNTRIED = (Candidate("maxent", (10.0, 1.0, 0.1)), Candidate("nbsvm", (0.3,)))
# the grid on word vectors
DENSE = tuple(Candidate("softmax", (C,)) for C in (0.03, 0.1, 0.3, 1.0))
# the grid on squared word vectors
SQUARED = tuple(Candidate("ridge", (penalty,)) for penalty in (0.03, 0.1, 0.3, 1.0, 3.0))
# the member on word vectors, for multilabel data
DENSE_MULTILABEL = Candidate("svm", (0.01,))
# the members for multilabel data on characters; pairs of words added nothing to words and characters
MULTILABEL_CHARACTERS = (Candidate("svm", (1.0,)), Candidate("nbsvm", (0.3,)))
# the members for multilabel data on words
MULTILABEL = (Candidate("svm", (1.0,)), Candidate("nbsvm", (0.3,)), Candidate("rocchio", (0.6,)))
