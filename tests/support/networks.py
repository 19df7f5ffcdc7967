"""The scores of tree-augmented naive Bayes by the definition: log-probabilities of the network that it shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

CLASSES = ["a", "b", "c"]


def check_scores_by_network(model: Any, X: Any, scheme: str) -> None:
    """Scores (n_docs, 3) are log P(class, x) of the one network, or of each class's own log P(yes, x) / P(no, x).

    The network's first node is the class, the others are terms, which are named w0, w1, … here.
    """
    names = [f"w{i}" for i in range(X.shape[1])]
    scores = model.scores(X)
    for c in range(len(CLASSES)):
        network = model.network(c, names, CLASSES)
        top = network.nodes[0]
        for row, score in zip(X.toarray(), scores[:, c], strict=True):
            evidence = {name: int(row[int(name[1:])] > 0) for name in network.nodes[1:]}
            if scheme == "multiclass":
                expected = np.log(network.probability({**evidence, top: c}))
            else:
                no, yes = (network.probability({**evidence, top: state}) for state in (0, 1))
                expected = np.log(yes / no)
            assert score == pytest.approx(expected, abs=1e-9)
