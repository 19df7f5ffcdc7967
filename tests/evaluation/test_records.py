"""The file of records: whole lines count, half lines are cut off, nothing else is lost."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.evaluation.results import Record, RecordFile, versions

USUAL = {
    "data": "toy#1",
    "protocol": "random",
    "split": 0,
    "seed": 0,
    "model": "multinomial",
    "parameters": {"alpha": 0.1},
    "measure": "accuracy",
    "seconds": 0.2,
}


def record(value=0.5, **more):
    return Record(**{**USUAL, "value": value, **more})


def test_records_come_back_as_they_were(tmp_path):
    made = [record(train_size=10.0, terms=200, versions=versions(), n_train=8, n_test=2), record(None, measure="ece")]
    file = RecordFile(tmp_path / "deep" / "run.jsonl")
    file.append(made[:1])
    file.append(made[1:])
    assert list(file.read()) == made
    assert list(RecordFile(tmp_path / "absent.jsonl").read()) == []


def test_a_half_line_is_ignored_then_cut_off(tmp_path):
    path = tmp_path / "run.jsonl"
    RecordFile(path).append([record(0.25)])
    path.write_bytes(path.read_bytes() + '{"data": "töy'.encode()[:-1])
    with pytest.warns(UnnaiveWarning, match="incomplete and left out"):
        assert [one.value for one in RecordFile(path).read()] == [0.25]
    RecordFile(path).append([record(0.75)])
    assert [one.value for one in RecordFile(path).read()] == [0.25, 0.75]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text('{"text": "hello"}\n')
    with pytest.raises(BadData, match=r"notes\.jsonl is damaged, or not a record of experiments \(line 1 is not what"):
        list(RecordFile(path).read())


def test_the_trial_tells_jobs_apart_and_survives_json():
    one = record(train_size=10)
    again = Record(**json.loads(json.dumps(one.to_dict())))
    assert again.trial == one.trial == record(train_size=10.0, measure="macro-f1", seconds=9.0).trial
    others = [record(train_size=20), record(seed=1), record(parameters={}), record(terms=5), record(protocol="5 folds")]
    assert len({one.trial, *(other.trial for other in [*others, record(min_df=3)])}) == 7


def test_runs_that_share_a_file_lose_nothing(tmp_path):
    path = tmp_path / "run.jsonl"
    with ThreadPoolExecutor(
        8
    ) as pool:  # a file opened anew for each write: threads lock each other out as processes do
        list(pool.map(lambda split: RecordFile(path).append([record(split=split)] * 5), range(40)))
    assert sorted(one.split for one in RecordFile(path).read()) == sorted([*range(40)] * 5)


def test_versions_name_what_numbers_depend_on():
    assert {"unnaive", "python", "numpy", "scipy", "scikit-learn"} <= set(versions())
