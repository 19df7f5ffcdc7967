"""The confidence interval of a share."""

from __future__ import annotations

from math import sqrt

Z95 = 1.959963984540054  # the normal distribution has 95 % of its mass between −Z95 and Z95


def wilson_interval(hits: float, total: float, z: float = Z95) -> tuple[float, float]:
    """The 95 % interval of the share p = hits / total by Wilson's score (1927); (0, 1) if total is 0.

    (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n),  n = total

    >>> tuple(round(end, 3) for end in wilson_interval(8, 10))
    (0.49, 0.943)
    """
    if total <= 0:
        return 0.0, 1.0
    p, shrink = hits / total, 1 + z * z / total
    middle, half = p + z * z / (2 * total), z * sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    return max(0.0, (middle - half) / shrink), min(1.0, (middle + half) / shrink)
