"""Numbers of vectors in fixed point: what is lost, what is written into records, and what is read back."""

import numpy as np
import pytest

from unnaive.text.counting import TextCounter
from unnaive.text.fixed_point import (
    LARGEST,
    ONE,
    STEPS,
    decode_vector,
    decode_vectors,
    from_cells,
    to_cells,
    vector_terms,
    write_vectors,
)
from unnaive.text.sections import SECTION, UNIT
from unnaive.text.token_rule import TokenRule
from unnaive.text.vocabulary import Vocabulary


def make_record(text, numbers):
    vector = f"{len(numbers)} numbers{UNIT}{write_vectors(to_cells([numbers]))[0]}"
    return f"{SECTION}body{UNIT}{text}{SECTION}v{UNIT}{vector}"


def test_numbers_are_rounded_to_the_nearest_step():
    draw = np.random.default_rng(0)
    rows = draw.uniform(-1, 1, size=(300, 7)) * 10.0 ** draw.integers(-6, 4, size=(300, 7))
    again = from_cells(to_cells(rows))
    assert np.abs(again - rows).max() <= 0.5 / STEPS
    assert (from_cells(to_cells(again)) == again).all()


@pytest.mark.parametrize("number", [0.0, 1.0, -1.0, 0.75, -0.4375, 255.0, LARGEST, -LARGEST, 1 / STEPS])
def test_short_binary_numbers_are_exact(number):
    assert from_cells(to_cells([number])).tolist() == [number]
    assert to_cells([number])[0] > 0  # 0 means that there is no vector


@pytest.mark.parametrize("n_dims", [1, 2, 3, 384])
def test_a_vector_is_read_back_as_it_was_written(n_dims):
    cells = to_cells(np.random.default_rng(1).normal(size=(5, n_dims)))
    assert [decode_vector(unit, n_dims).tolist() for unit in write_vectors(cells)] == cells.tolist()


@pytest.mark.parametrize(
    "unit",
    ["", " ", "AAAIQA==", " AAAIQA=", " AAAIQA", " AAAI", " ÄAAIQA==", " AAAIQA==AAAIQA==", " AAAAAA==", " AAAAgA=="],
)
def test_what_is_damaged_is_no_vector(unit):
    assert decode_vector(unit) is None
    assert not decode_vectors([f"{SECTION}v{UNIT}1 numbers{UNIT}{unit}"], "v", 1).any()


def test_a_vector_is_found_wherever_its_section_is():
    other = f"{SECTION}w{UNIT}2 numbers{UNIT}{write_vectors(to_cells([[9.0, 9.0]]))[0]}"
    records = [make_record("ball", [0.5, -2.0]) + other, other, make_record("ball", [0.5]), "ball"]
    found = decode_vectors(records, "v", 2)
    assert from_cells(found).tolist() == [[1.0, 0.5, -2.0], [0.0] * 3, [0.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("backend", ["native", "reference"])
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_vectors_are_columns_beside_the_words(backend, ngrams):
    rule = TokenRule(fields=("body:text", "v:vector(2)"), ngrams=ngrams)
    records = [make_record("good ball", [0.5, -2.0]), f"{SECTION}body{UNIT}ball{SECTION}v{UNIT}{UNIT}(missing)"]
    counter = TextCounter(rule, backend=backend)
    X = counter.count(records, grow=True)
    columns = counter.vocabulary.ids(vector_terms("v", 2))
    assert from_cells(X[:, columns].toarray()).tolist() == [[1.0, 0.5, -2.0], [0.0, 0.0, 0.0]]
    assert X[:, counter.vocabulary.ids(["ball", "v=(missing)"])].toarray().tolist() == [[1, 0], [1, 1]]
    known = Vocabulary(["vote", "v=\x1f1", "ball"])  # only one of the columns is known
    part = TextCounter(rule, known, backend=backend).count(records)
    assert part.toarray().tolist() == [[0, ONE - 3 * STEPS, 1], [0, 0, 1]]
    assert part.has_canonical_format
    more = counter.count([make_record("vote", [0.0, 1.0])], grow=True)  # the columns stay where they are
    assert from_cells(more[:, columns].toarray()).tolist() == [[1.0, 0.0, 1.0]]
