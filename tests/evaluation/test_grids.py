"""A grid has every contender at every place, and calls best all that tie."""

import pytest

from unnaive.evaluation.grids import Grid, grids_as_markdown, make_grids
from unnaive.evaluation.results import Record
from unnaive.evaluation.summaries import group_comparisons, summarise


def rows(model, values, *, measure="accuracy", size=80.0, terms=None):
    one = {"data": "toy#1", "protocol": "random", "seed": 0, "parameters": {}, "seconds": 0.1, "model": model}
    return [
        Record(**one, split=split, measure=measure, value=value, train_size=size, terms=terms)
        for split, value in enumerate(values)
    ]


def test_all_that_tie_are_best_and_gaps_are_dashes():
    records = [*rows("a", [0.5, 0.7]), *rows("b", [0.6, 0.6]), *rows("b", [0.9], size=20.0)]
    (grid,) = make_grids(records)
    assert list(grid.places.values()) == ["80 % training", "20 % training"]
    assert [grid.is_best(name, (80.0, None)) for name in grid.names] == [True, True]
    assert grid.text("a", (20.0, None)) == "–"
    assert not grid.is_best("a", (20.0, None))
    assert "| a | **0.6000 ± 0.1414** | – |" in grids_as_markdown(records)
    assert grids_as_markdown(records).endswith("\n\n± is the standard deviation over the splits.")
    assert "±" not in grids_as_markdown(rows("a", [0.5]))


def test_smaller_is_better_where_the_measure_says_so():
    grid = Grid.of(summarise([*rows("a", [0.2], measure="ece"), *rows("b", [0.1], measure="ece")]))
    assert [grid.is_best(name, (80.0, None)) for name in "ab"] == [False, True]


def test_seconds_are_means_over_the_places_asked_for():
    (grid,) = make_grids([*rows("a", [0.5]), *rows("a", [0.5], size=20.0)])
    assert grid.seconds("a") == pytest.approx(0.1)
    assert grid.seconds("nobody") == 0.0


def test_a_file_of_several_comparisons_is_told_apart_and_the_later_of_two_figures_counts():
    first, second, other = rows("a", [0.1, 0.2]), rows("a", [0.3]), rows("a", [0.5], terms=5)
    (found,) = group_comparisons([*first, *second, *other]).values()
    assert sorted(record.value for record in found) == [0.2, 0.3, 0.5]
