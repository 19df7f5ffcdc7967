"""The interval of a share, by hand and against the tables."""

import math

import pytest

from unnaive.learning.confidence_interval import wilson_interval


def test_by_hand():
    """z = 2, 8 of 16: 1 + z²/n = 5/4; centre (1/2 + 1/8)·4/5 = 1/2; half 2·√(1/64 + 1/256)·4/5 = √5/10"""
    half = math.sqrt(5) / 10  # 2 · √5/16 · 4/5
    assert wilson_interval(8, 16, z=2.0) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half))
    # 8 of 10: centre (.8 + .192) / 1.384 = .717, half width 1.96·√(.016 + .0096) / 1.384 = .227
    assert wilson_interval(8, 10) == (pytest.approx(0.490, abs=0.001), pytest.approx(0.943, abs=0.001))


def test_ends():
    assert wilson_interval(0, 10)[0] == 0
    assert wilson_interval(10, 10) == (pytest.approx(0.7225, abs=1e-4), pytest.approx(1))  # the tables' value
    assert wilson_interval(0, 0) == (0, 1)
