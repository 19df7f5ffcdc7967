"""fastText's Huffman tree over labels: hierarchical softmax multiplies probabilities along the path to a label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadModel

UNSET = 10**15  # fastText's count of a node that does not exist yet


def huffman_tree(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """The two children of every inner node (n_labels − 1, 2), the last being the root.

    Numbers below n_labels are labels, others inner nodes; node n_labels + i is scored by row i of the output. Labels
    are merged from the last on, as in fastText, which sorts labels by descending count.

    >>> huffman_tree(np.array([5, 2, 1])).tolist()      # the two rarest first
    [[2, 1], [3, 0]]
    """
    n = len(counts)
    total = [int(count) for count in counts] + [UNSET] * (n - 1)
    leaf, node = n - 1, n
    children = np.zeros((n - 1, 2), np.int32)
    for parent in range(n, 2 * n - 1):
        pair = []
        for _ in range(2):
            if leaf >= 0 and total[leaf] < total[node]:
                pair.append(leaf)
                leaf -= 1
            elif node < parent:
                pair.append(node)
                node += 1
            else:
                raise BadModel("its label counts do not form a Huffman tree; it is damaged, save it again")
        children[parent - n] = pair
        total[parent] = total[pair[0]] + total[pair[1]]
    return children
