"""Documents that are held out as a block: by hand, on data whose end is another, and in random order."""

import csv
import json

import numpy as np
import pytest

from unnaive.apps.cli.main import exit_code
from unnaive.evaluation.block_holdout import BlockEffect, find_block_effect, group_block, last_block
from unnaive.io.datafiles import DataFile
from unnaive.text.counting import TextCounter
from unnaive.workflows.held_out_blocks import are_groups, as_dates, read_other_columns

CLASSES = ("ham", "news", "spam")


def draw(n, seed=0, *, late=0.0, groups=False):
    """(texts, classes, groups): the last fifth of each class has other words for its class in the share `late`.

    Groups are 30 authors; with `groups`, the words of a class depend on the author.
    """
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    authors = rng.integers(30, size=n)
    last = last_block(codes)
    texts = []
    for row in range(n):
        other = last[row] and rng.random() < late
        period = authors[row] if groups else int(other)
        own = [f"c{codes[row]}p{period}w{k}" for k in rng.integers(8, size=3)]
        texts.append(" ".join([*own, *(f"w{k}" for k in rng.integers(40, size=5))]))
    return texts, codes, authors


def effect(texts, codes, block):
    return find_block_effect(TextCounter().count(texts, grow=True), codes, block)


def test_the_last_fifth_of_each_class_by_hand():
    codes = np.array([1, 0, 0, 1, 0, 0, 0, 1, 1, 1])
    assert np.flatnonzero(last_block(codes)).tolist() == [6, 9]
    dates = np.array(["b", "e", "a", "e", "c", "d", "b", "a", "c", "d"])  # the latest of class 0 is row 1, of 1 row 3
    assert np.flatnonzero(last_block(codes, dates)).tolist() == [1, 3]


def test_groups_stay_whole_and_are_about_a_fifth():
    authors = np.random.default_rng(0).integers(40, size=1000)
    block = group_block(authors.tolist())
    assert 0.15 < block.mean() < 0.27
    assert not set(authors[block]) & set(authors[~block])


def test_another_end_is_found_and_the_same_end_is_not():
    found = effect(*draw(600, late=0.6)[:2], last_block(draw(600, late=0.6)[1]))
    assert found.parts
    assert found.at_random > found.without + 0.2
    alike = [effect(*draw(400, seed)[:2], last_block(draw(400, seed)[1])) for seed in range(12)]
    assert sum(one.parts for one in alike) == 0
    assert not BlockEffect(1000, 0.905, 0.9, 0.0001).parts  # half a point is not told


def test_authors_who_write_in_their_own_way():
    texts, codes, authors = draw(900, groups=True)
    assert effect(texts, codes, group_block(authors.tolist())).parts
    assert not effect(texts, codes, last_block(codes)).parts


def test_too_few_documents_say_nothing():
    texts, codes, _ = draw(150, late=0.6)
    assert effect(texts, codes, last_block(codes)) is None


def test_columns_are_told_by_their_values_and_names():
    assert as_dates([f"2024-05-{day:02}T10:00" for day in range(1, 20)] + [None]) is not None
    assert as_dates([f"{day}. May" for day in range(1, 20)]) is None
    assert are_groups("thread-id", [str(n % 20) for n in range(100)])
    assert not are_groups("authority", [str(n % 20) for n in range(100)])
    assert not are_groups("language", ["en", "de"] * 50)


def write_table(path, texts, codes, late):
    """A file in random order with a column of dates: 2021 if a document is late, else 2020."""
    rows = np.random.default_rng(1).permutation(len(texts))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", "sent"])
        writer.writerows([texts[row], CLASSES[codes[row]], f"20{20 + late[row]}-03-{1 + row % 28:02}"] for row in rows)
    return path


@pytest.fixture
def table(tmp_path):
    """A file in random order whose column of dates tells which documents are of the other end."""
    texts, codes, _ = draw(600, late=0.6)
    return write_table(tmp_path / "mail.csv", texts, codes, last_block(codes))


def test_other_columns_of_a_file(table):
    columns = read_other_columns(DataFile((str(table),)), 600)
    assert list(columns) == ["sent"]
    assert columns["sent"][0].startswith("202")


@pytest.mark.slow
def test_train_prints_both_figures_where_they_part(table, tmp_path, capsys):
    assert exit_code(["train", str(table), "-o", str(tmp_path / "a.model"), "--budget", "fast", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["blocks"]  # the date, and not the order of the file
    assert found["by"] == "the latest fifth by sent"
    assert found["n_docs"] == pytest.approx(120, abs=3)
    assert found["accuracy"] < found["at_random"] - 0.2
    assert exit_code(["train", str(table), "-o", str(tmp_path / "b.model"), "--budget", "fast"]) == 0
    assert "on the latest fifth by sent, held out as a whole;" in capsys.readouterr().out
    first, second = (path.read_bytes() for path in (tmp_path / "a.model", tmp_path / "b.model"))
    assert first == second


def test_copies_of_a_held_out_part_do_not_make_it_look_easier(tmp_path, capsys):
    """Every late document has an early copy, by which a model that learnt the copies would classify it correctly."""
    texts, codes, _ = draw(600, late=0.8)
    late = last_block(codes)
    for code in range(3):
        early = np.flatnonzero((codes == code) & ~late)
        for copy, row in zip(early, np.flatnonzero((codes == code) & late), strict=False):
            texts[row] = texts[copy] = " ".join([texts[row], *(f"r{row}k{k}" for k in range(12))])
    path = write_table(tmp_path / "copied.csv", texts, codes, late)
    assert exit_code(["train", str(path), "-o", str(tmp_path / "a.model"), "--budget", "fast", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["blocks"]
    assert found["by"] == "the latest fifth by sent"
    assert found["accuracy"] < found["at_random"] - 0.1
