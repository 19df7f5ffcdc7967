"""The recipe of a pool: the chosen members as plain values, which a model file stores and `refit` follows.

    {"kind": "single",
     "members": [{"view": "words", "family": "nbsvm", "settings": [0.3], "factor": 2.1}, …],
     "bias": [0.02, −0.1, …],
     "report": {…}}

score = bias + Σ_members factor · score of the member; the factors include temperatures and the weights of both pools.
A member may have "documents", the most documents that it learns from, if all of them would exceed the budget.
The report is for users: what was tried, held-out accuracies, and what was left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from unnaive.base.errors import BadModel
from unnaive.models.auto.candidates import Candidate
from unnaive.models.auto.members import DEAR, FAMILIES
from unnaive.models.auto.search_report import check_report
from unnaive.models.auto.views import is_view_name

Recipe = dict[str, Any]
KINDS = ("single", "multilabel")


def make_member(view: str, candidate: Candidate, factor: float, documents: int | None = None) -> dict[str, Any]:
    """A member of a recipe; its solver learns from at most `documents`, None for all.

    >>> make_member("words", Candidate("nbsvm", (0.3,)), 2.1)
    {'view': 'words', 'family': 'nbsvm', 'settings': [0.3], 'factor': 2.1}
    """
    return {
        "view": view,
        "family": candidate.family,
        "settings": list(candidate.settings),
        "factor": float(factor),
        **({} if documents is None or FAMILIES[candidate.family].cost < DEAR else {"documents": documents}),
    }


def check_recipe(recipe: Any, n_classes: int) -> None:
    """Raise an error if the recipe of a model file has unknown views or families, or numbers that are not finite."""
    sound = (
        isinstance(recipe, dict)
        and recipe.get("kind") in KINDS
        and isinstance(recipe.get("report"), dict)
        and check_report(recipe["report"])
        and _are_numbers(recipe.get("bias"))
        and len(recipe["bias"]) == n_classes
        and isinstance(recipe.get("members"), list)
        and all(map(_is_member, recipe["members"]))
    )
    if not sound:
        raise BadModel("the recipe of the pool in this model is damaged; train it again")


def _is_member(member: Any) -> bool:
    if not isinstance(member, dict) or not is_view_name(member.get("view")) or member.get("family") not in FAMILIES:
        return False
    numbers = [*member["settings"], member["factor"]] if isinstance(member.get("settings"), list) else None
    most = member.get("documents", 1)
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        return False
    return _are_numbers(numbers) and len(member["settings"]) == len(FAMILIES[member["family"]].arguments)


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) for value in values
    )


def place_classes(recipe: Recipe, places: Sequence[int], n_classes: int) -> Recipe:
    """The recipe for other classes: old class i becomes places[i], or is removed if −1; new classes get the mean bias.

    The bias includes the level of the link, which all classes share: a class with bias 0 would be predicted for almost
    every document.

    >>> place_classes({"bias": [-2.0, -3.0]}, [0, 2], 3)["bias"]
    [-2.0, -2.5, -3.0]
    """
    bias = [sum(recipe["bias"]) / max(len(recipe["bias"]), 1)] * n_classes
    for number, value in zip(places, recipe["bias"], strict=True):
        if number >= 0:
            bias[int(number)] = value
    return {**recipe, "bias": bias}
