"""A model keeps what the reader of its training files noted, unread; a file with a forged section is refused."""

from dataclasses import replace

import pytest
from tests.support.model_files import LABELS, TEXTS, description, rewrite

from unnaive import TextClassifier
from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.classifier.model_file import load_model, save
from unnaive.data.source_section import MOST_CHARACTERS, SourceSection, is_source_content
from unnaive.io.fields.columns import Columns
from unnaive.io.label_checks import LabelSpelling

COLUMNS = Columns(("body",), "queue", separator=";", spelling=LabelSpelling(("N/A",), lower=True))


@pytest.fixture
def saved(tmp_path):
    fitted = TextClassifier("multinomial").fit(TEXTS, LABELS).fitted_
    save(replace(fitted, source=COLUMNS.section()), tmp_path / "a.model")
    return tmp_path / "a.model"


def test_columns_survive_load_update_forget_and_save(saved, tmp_path):
    model = TextClassifier.load(saved)
    model.partial_fit(["a new game"], ["sport"])
    model.forget(["a new game"], ["sport"])
    model.save(tmp_path / "b.model")
    assert (tmp_path / "b.model").read_bytes() == saved.read_bytes()
    assert Columns.of_section(load_model(tmp_path / "b.model").source) == COLUMNS


def test_a_section_of_another_reader_is_kept_as_it_is(saved, tmp_path):
    content = {"mailbox": {"folders": ["inbox", None], "since": 2024.5}}
    rewrite(saved, lambda arrays, about: about.update(source=content))
    fitted = load_model(saved)
    assert Columns.of_section(fitted.source) is None
    save(fitted, tmp_path / "c.model")
    assert description(tmp_path / "c.model")["source"] == content


def nested(levels):
    return {"columns": nested(levels - 1)} if levels else {}


@pytest.mark.parametrize("section", [[], "columns", 3, True, nested(40), {"columns": "x" * (MOST_CHARACTERS + 1)}])
def test_a_forged_section_is_refused(saved, section):
    rewrite(saved, lambda arrays, about: about.update(source=section))
    with pytest.raises(BadModel, match="source"):
        load_model(saved)


@pytest.mark.parametrize(
    "columns", [3, [], {"texts": "body"}, {"texts": [1]}, {"texts": ["a"], "label_columns": ["b"], "flag_labels": []}]
)
def test_forged_columns_are_refused_by_their_reader(saved, columns):
    rewrite(saved, lambda arrays, about: about.update(source={"columns": columns}))
    section = load_model(saved).source  # the model itself does not need them
    with pytest.raises(BadModel, match="columns of the training files"):
        Columns.of_section(section)


def test_a_section_cannot_change_and_is_bounded():
    content = {"columns": {"texts": ["body"]}}
    section = SourceSection.of(content)
    section.content()["columns"]["texts"].append("other")
    content["columns"] = None
    assert section.content() == {"columns": {"texts": ["body"]}}
    assert hash(section) == hash(SourceSection.of({"columns": {"texts": ["body"]}}))
    assert is_source_content(nested(16))
    assert not is_source_content(nested(17))
    for bad in ({1: "a"}, {"a": float("nan")}, {"a": (1, 2)}, {"a": object()}):
        with pytest.raises(UnnaiveError, match="not plain JSON"):
            SourceSection.of(bad)
