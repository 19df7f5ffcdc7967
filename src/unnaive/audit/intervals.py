"""The interval of a share that was counted."""

from __future__ import annotations

import math

Z95 = 1.959963984540054


def wilson(hits: float, total: float, z: float = Z95) -> tuple[float, float]:
    """The 95 % interval of a share, hits of total (Wilson 1927).

    >>> tuple(round(end, 3) for end in wilson(8, 10))
    (0.49, 0.943)
    """
    if total <= 0:
        return 0.0, 1.0
    share = hits / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, middle - half), min(1.0, middle + half)
