"""Model files have a schema: what does not belong to a model of its name, or cannot be, is refused at load."""

import json
from typing import ClassVar

import numpy as np
import pytest
from support.model_files import LABELS, SETS, TEXTS, file_bytes, read_parts, rewrite

from unnaive import TextClassifier
from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.classifier.model_file import load_model
from unnaive.classifier.packing import SCORERS, find_scorer
from unnaive.data.array_rules import ArrayRule, TableRule, check_rules
from unnaive.models.catalogue import IMPORTED, MODELS, find_model


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Model files by name, made when they are first asked for."""
    folder, made = tmp_path_factory.mktemp("models"), {}

    def find(name, **options):
        key = f"{name} {options}"
        if key not in made:
            made[key] = folder / f"{len(made)}.model"
            TextClassifier(name, **options).fit(TEXTS, LABELS).save(made[key])
        return made[key]

    return find


def refused(path, tmp_path, change, words):
    """A copy of the file with a change is refused with these words, and with checksums that fit."""
    arrays, about = read_parts(path)
    change(arrays, about)
    damaged = tmp_path / "damaged.model"
    damaged.write_bytes(file_bytes(arrays, about))
    for mapped in (False, True):
        with pytest.raises(BadModel, match=words) as problem:
            load_model(damaged, mapped=mapped)
        assert "\n" not in str(problem.value)


def as_type(name, kind):
    return lambda arrays, about: arrays.update({name: arrays[name].astype(kind)})


def put(name, place, value):
    return lambda arrays, about: arrays[name].__setitem__(place, value)


NO_COUNTS = "it keeps counts, and nbsvm learns from documents"


@pytest.mark.parametrize(
    ("model", "change", "words"),
    [
        ("multinomial", lambda arrays, about: about.update(model="nbsvm"), NO_COUNTS),
        ("nbsvm", lambda arrays, about: about.update(model="multinomial"), "keeps documents, and multinomial lear"),
        ("multinomial", lambda arrays, about: about.update(model="tree"), "scorer is of kind 'linear', which tree "),
        ("multinomial", lambda arrays, about: about.update(counts=1), "counts in its description is not true or false"),
        ("multinomial", lambda arrays, about: about.update(counts=False), "counts.*which its description does not m"),
        ("nbsvm", lambda arrays, about: about.pop("documents"), "'documents.*which its description does not mention"),
        ("multinomial", as_type("scorer.bias", np.bool_), "type BOOL, which no model has"),
        ("multinomial", as_type("counts.df", np.bool_), "type BOOL, which no model has"),
        ("multinomial", put("scorer.weights.data", 0, 1e308), "its weights has values from .* to 1e.308"),
        ("nbsvm", put("scorer.weights", (0, 0), -1e308), "its weights has values from -1e.308"),
        ("label-tree", put("scorer.idf", 0, 1e300), "its idf has values from"),
        ("label-tree", put("scorer.idf", 0, -1.0), "its idf has values from -1.0"),
        ("label-tree", lambda arrays, about: arrays.update({"scorer.idf": np.ones(3)}), "its idf has the shape"),
        ("or-gate", put("scorer.weights.data", 0, -0.5), "its weights has values from -0.5"),
        ("or-gate", put("scorer.bias", 0, 1.0), "its bias has values from 0.0 to 1.0"),
        ("multinomial", lambda arrays, about: about["training"].update(random_state={}), "random_state in its trainin"),
        ("multinomial", lambda arrays, about: about["training"].update(random_state=True), "random_state in its t"),
        ("multinomial", lambda arrays, about: about["training"].update(min_df=0), "min_df in its training is not a"),
        ("multinomial", lambda arrays, about: about["training"].update(class_weight={"food": "2"}), "class_weight in"),
        ("multinomial", lambda arrays, about: about["training"].update(optimise="costs.csv"), "optimise in its train"),
        ("multinomial", lambda arrays, about: about["settings"].update(class_prior="abc"), "class_prior is not a list"),
        ("maxent", lambda arrays, about: about["settings"].update(start={"a": 1}), "start is not zero or naive-bayes"),
        ("multinomial", lambda arrays, about: about.update(more=1), "its description has 'more', which this version"),
        ("multinomial", lambda arrays, about: about["scorer"]["settings"].update(shape=[3.0, 15]), "shape is 3.0"),
        ("multinomial", lambda arrays, about: about["scorer"]["settings"].update(more=1), "have more, which does not"),
        ("multinomial", lambda arrays, about: arrays.update(more=np.zeros(1)), "it has the array 'more', which"),
        ("multinomial", lambda arrays, about: arrays.update({"scorer.more": np.zeros(1)}), "it has more, which does n"),
        ("multinomial", put("counts.terms", 0, 0), "counts of class_terms are more than those of the corpus"),
        ("multinomial", put("counts.df", 0, 0), "counts of class_df are more than those of the corpus"),
        ("nbsvm", lambda arrays, about: about["documents"].update(cells=1.5), "is not a number of documents, cells or"),
        ("nbsvm", lambda arrays, about: about["documents"]["widths"].update(df=3), "df have numbers of 3 bytes"),
        ("nbsvm", lambda arrays, about: arrays.pop("documents.codes"), "it has no codes"),
        ("tan", put("scorer.prior", (0, 0), 0.5), "its prior has values from"),
        ("auto", lambda arrays, about: about["scorer"]["settings"]["parts"].pop(), "which does not belong to it"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(files, tmp_path, model, change, words):
    refused(files(model), tmp_path, change, words)


OPTIONAL = ("idf", "class_offset", "term_offset", "mean_p")  # models may do without them


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.slow
def test_every_array_of_every_model_is_known_by_its_type_and_shape(files, tmp_path, name):
    """No array may be of another type or have another dimension; so the rules speak of all of them."""
    settings = {"max_iter": 3} if "max_iter" in find_model(name).declared() else {}
    path = files(name, **settings)
    arrays, _ = read_parts(path)
    for array in arrays:
        refused(path, tmp_path, as_type(array, np.float16), "damaged|its ")
        refused(path, tmp_path, lambda parts, about, n=array: parts.update({n: parts[n][None]}), "damaged|its ")
        if not array.endswith(OPTIONAL):
            refused(path, tmp_path, lambda parts, about, n=array: parts.pop(n), "damaged|its |it has no")


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.slow
def test_models_name_the_kinds_of_their_scorers(name):
    for labels in (LABELS, SETS):
        fitted = TextClassifier(name).fit(TEXTS, labels).fitted_
        assert {fitted.scorer.kind, fitted.scorer.frozen().kind} <= set(fitted.spec.model.traits.scorer_kinds)


def test_every_kind_of_scorer_belongs_to_a_model():
    kinds = {kind for name in (*MODELS, *IMPORTED) for kind in find_model(name).traits.scorer_kinds}
    assert kinds == set(SCORERS)
    assert all(find_scorer(kind).kind == kind for kind in kinds)


def test_a_path_in_a_model_file_is_never_opened(files, tmp_path):
    """What to optimise may be a file of costs on the command line, and is a table in a model file."""
    secret = tmp_path / "secret.csv"
    secret.write_text("secret words")
    copy = tmp_path / "copy.model"
    copy.write_bytes(files("multinomial").read_bytes())
    rewrite(copy, lambda arrays, about: about["training"].update(optimise=str(secret)))
    with pytest.raises(BadModel) as problem:
        load_model(copy)
    assert "secret words" not in str(problem.value)


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    from dataclasses import replace

    model = TextClassifier("multinomial").fit(TEXTS, LABELS)
    broken = replace(model.fitted_.scorer, bias=np.array([np.nan, 0.0, 0.0]))
    model.fitted_ = replace(model.fitted_, scorer=broken)
    with pytest.raises(UnnaiveError, match="this model cannot be saved, because it could not be loaded again: the"):
        model.save(tmp_path / "broken.model")
    assert not list(tmp_path.iterdir())


class TestRules:
    """Arrays against rules, by hand."""

    rules: ClassVar = {
        "table": TableRule("rows", "columns", "number", 0, 9),
        "bias": ArrayRule("float", ("rows",), or_minus_infinity=True),
        "ends": ArrayRule("whole", ("columns+1",), 0, below="rows"),
        "more": ArrayRule("short", (2, "rows"), optional=True),
    }
    sound: ClassVar = {
        "table.data": np.array([1, 9]), "table.indices": np.array([2, 0]), "table.indptr": np.array([0, 1, 2]),
        "bias": np.array([-np.inf, 1e74]), "ends": np.array([0, 1, 1, 0], np.uint8),
    }  # fmt: skip

    def test_sizes_are_found_and_compared(self):
        assert check_rules(self.sound, self.rules, columns=3) == {"columns": 3, "rows": 2}
        more = self.sound | {"more": np.zeros((2, 2), np.int8)}
        assert check_rules(more, self.rules, columns=3) == {"columns": 3, "rows": 2}

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"table.data": np.array([1, 10])}, "its table has values from 1 to 10 instead of from 0 to 9"),
            ({"table.data": np.array([1.0, np.nan])}, "its table has values from nan to nan"),
            ({"table.indices": np.array([2, 3])}, "its table points outside of its 3 columns"),
            ({"bias": np.array([np.inf, 0])}, "its bias has values from 0.0 to inf"),
            ({"bias": np.array([np.nan, -np.inf])}, "its bias has values from nan"),
            ({"bias": np.zeros(3)}, r"its bias has the shape \[3\] instead of \[2\]"),
            ({"bias": np.zeros(2, np.float16)}, "its bias has the type float16"),
            ({"bias": np.zeros((2, 1))}, "its bias has 2 dimensions instead of 1"),
            ({"ends": np.array([0, 1, 2, 0])}, "its ends has values from 0 to 2 instead of from 0 to 1"),
            ({"ends": np.array([0, 1, 2**64 - 1, 0], np.uint64)}, "its ends has values from 0 to 18446744073709551615"),
            ({"ends": np.array([0, 1, 1])}, r"its ends has the shape \[3\] instead of \[4\]"),
            ({"more": np.zeros((2, 2), np.int32)}, "its more has the type int32"),
            ({"other": np.zeros(1)}, "it has other, which does not belong to it"),
        ],
    )
    def test_what_does_not_fit_is_named(self, change, words):
        with pytest.raises(ValueError, match=words):
            check_rules(self.sound | change, self.rules, columns=3)

    @pytest.mark.parametrize("name", ["bias", "ends", "table.data"])
    def test_what_is_missing_is_named(self, name):
        with pytest.raises(ValueError, match=f"it has no {name}"):
            check_rules({key: one for key, one in self.sound.items() if key != name}, self.rules, columns=3)


def test_a_description_with_other_types_is_refused(files, tmp_path):
    """Every key of the description with a value of another type, one after the other."""
    path = files("multinomial")
    _, about = read_parts(path)
    for name in about:
        for value in (17.5, [[]], {"a": [1]}, "\x1b[31m"):
            change = {name: value}
            kept_unread = name == "source" and isinstance(value, dict)  # test_source_section.py has its bounds
            if json.dumps(value)[0] != json.dumps(about[name])[0] and not kept_unread:
                refused(path, tmp_path, lambda arrays, about, new=change: about.update(new), "damaged|its |reads ")
