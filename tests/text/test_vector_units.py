"""Numbers of vectors as sums of signed powers of two: what the terms add up to, and what is read back of them."""

import numpy as np
import pytest

from unnaive.data.field_vectors import FieldVectors, missing_power_terms
from unnaive.text.sections import UNIT
from unnaive.text.vector_units import LEAST_POWER, find_power_terms, write_vectors
from unnaive.text.vocabulary import Vocabulary


def add_up(units, n_dims):
    """The vector that the units of one document stand for."""
    marker, *powers = units.split(UNIT)
    found = find_power_terms([f"v={unit}" for unit in powers], "v", n_dims)
    assert (marker, len(found.places)) == (f"({n_dims})", len(powers))
    total = np.zeros(n_dims)
    np.add.at(total, found.dims, found.signs * 2.0**found.powers)
    return total


def test_terms_add_up_to_numbers_of_8_significant_bits():
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(300, 7)) * 10.0 ** draw.integers(-9, 9, size=(300, 7))
    rows[draw.random(rows.shape) < 0.1] = 0.0
    totals = np.array([add_up(units, 7) for units in write_vectors(rows)])
    assert (np.abs(totals - rows) <= np.abs(rows) / 256).all()
    assert (np.array([add_up(units, 7) for units in write_vectors(totals)]) == totals).all()


@pytest.mark.parametrize("number", [1.0, -1.0, 0.75, -0.4375, 255.0, 256.0, 3e9, 2.0**LEAST_POWER])
def test_short_binary_numbers_are_exact(number):
    if number == 3e9:
        number = 179 * 2.0**24
    assert add_up(write_vectors(np.array([[number]]))[0], 1) == [number]


def test_no_two_neighbouring_powers_are_used():
    for number in range(1, 257):
        powers = find_power_terms([f"v={unit}" for unit in write_vectors(np.array([[number]]))[0].split(UNIT)], "v", 1)
        assert (np.diff(np.sort(powers.powers)) > 1).all()


def test_what_is_smaller_than_any_power_is_nothing():
    assert write_vectors(np.array([[1e-30, 0.0]])) == ["(2)"]


def test_new_documents_may_have_larger_and_finer_numbers_than_training():
    seen = Vocabulary(["ball", "v=(3)", "v=0+0", "v=1-4"])
    vocabulary, _ = seen.union(missing_power_terms(seen, [("v", 3)]))
    found = FieldVectors.over(vocabulary, "v", 3)
    totals = {(dim, value) for dim, value in zip(*found.units.nonzero()[1:], found.units.data, strict=True)}
    assert totals >= {(0, 64.0), (0, -(2.0**-7)), (1, 1024.0)}
    assert not any(dim == 2 for dim, _ in totals)  # of which training had nothing but 0
    assert vocabulary.terms[found.columns[found.marker]] == "v=(3)"
