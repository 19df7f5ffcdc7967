"""Check the JSON of a model file: its keys, their types, and that model, scorer and arrays match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from unnaive.base.errors import BadModel
from unnaive.base.settings import Setting
from unnaive.base.types import Arrays
from unnaive.classifier.field_rules import FieldRule, find_field_problem
from unnaive.data.arrays import is_number
from unnaive.data.source_section import is_source_content
from unnaive.learning.training_options import TRAINING_OPTIONS
from unnaive.models.estimator import Model


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _is_whole(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value < 2**63


def _or_null(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or test(value)


def _is_list_of_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_small_number, value))


def _is_followed(value: Any) -> bool:
    if not _is_table(value) or set(value) != {"places", "batches"} or not _is_text(value["batches"]):
        return False
    places = value["places"]
    return isinstance(places, list) and all(
        isinstance(place, list) and len(place) == 2 and _is_whole(0)(place[0]) and _is_text(place[1])
        for place in places
    )


def _is_small_number(value: Any) -> bool:
    return type(value) in (int, float) and -(2**1000) < value < 2**1000 and is_number(value)


def is_class_weight(value: Any) -> bool:
    """Whether it is null, "balanced", or a table of nonnegative numbers.

    >>> is_class_weight({"spam": 2.5}), is_class_weight({"spam": "2.5"})
    (True, False)
    """
    if isinstance(value, dict):
        return all(_is_small_number(weight) and weight >= 0 for weight in value.values())
    return value is None or value == "balanced"


def _is_select(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) == 2 and isinstance(value[0], str) and _is_whole(1)(value[1])
    return value is None or _is_whole(1)(value)


def _is_optimise(value: Any) -> bool:
    """Whether it is null, a name or a table of costs; never a path, since a model file must not name files to read."""
    if isinstance(value, dict):
        rows = list(value.values())
        return bool(rows) and all(_is_table(row) and _is_list_of_numbers(list(row.values())) for row in rows)
    return value in (None, "accuracy", "macro-f1")


DESCRIPTION = {
    "format": FieldRule("a whole number", _is_whole(1)),
    "version": FieldRule("a text", _is_text),
    "model": FieldRule("a text", _is_text),
    "package": FieldRule("a text", _is_text, optional=True),
    "settings": FieldRule("a table", _is_table),
    "token_rule": FieldRule("a table", _is_table),
    "training": FieldRule("a table", _is_table),
    "classes": FieldRule("a list", lambda value: isinstance(value, list)),
    "target_type": FieldRule("a text", _is_text),
    "decision": FieldRule("a table", _is_table),
    "tuning": FieldRule("a text or null", _or_null(_is_text)),
    "calibration": FieldRule("a table or null", _or_null(_is_table)),
    "scorer": FieldRule("a table", _is_table),
    "counts": FieldRule("true or false", lambda value: isinstance(value, bool)),
    "source": FieldRule("a table of plain values of bounded size, or null", _or_null(is_source_content), optional=True),
    "followed": FieldRule("a table of places and batches", _is_followed, optional=True),
    "conformal": FieldRule("a table", _is_table, optional=True),
    "documents": FieldRule("a table", _is_table, optional=True),
    "word_vectors": FieldRule("a table", _is_table, optional=True),
    "register": FieldRule("a table", _is_table, optional=True),
    "checksums": FieldRule("a table", _is_table, optional=True),
}
STORED_OPTIONS = {  # training options whose types are not plain
    "select": FieldRule("a number of terms, a measure and a number, or null", _is_select),
    "calibrate": FieldRule("a text, true, false or null", lambda value: value is None or type(value) in (str, bool)),
    "class_weight": FieldRule("a table of numbers, balanced or null", is_class_weight),
    "optimise": FieldRule("accuracy, macro-f1, a table of costs or null", _is_optimise),
}


def _option_rule(option: Setting) -> FieldRule:
    """The rule for a training option in a file: its declared type and range."""
    plain = option.is_plain and option.name not in STORED_OPTIONS
    rule = FieldRule(option.expected, option.accepts) if plain else STORED_OPTIONS[option.name]
    return replace(rule, optional=option.stored == "optional")


TRAINING = {name: _option_rule(option) for name, option in TRAINING_OPTIONS.items() if option.stored != "no"}
SCORER = {"kind": FieldRule("a text", _is_text), "settings": FieldRule("a table", _is_table)}
VECTORS = {"words": FieldRule("a whole number", _is_whole(1)), "dimensions": FieldRule("a whole number", _is_whole(1))}
REGISTER = {"hash": FieldRule("a text", _is_text), "key": FieldRule("a text or null", _or_null(_is_text))}
CONFORMAL = {
    "documents": FieldRule("a whole number", _is_whole(0)),
    "class_documents": FieldRule(
        "a list of whole numbers", lambda value: isinstance(value, list) and all(map(_is_whole(0), value))
    ),
    "several": FieldRule("a whole number", _is_whole(0), optional=True),
    "novelty": FieldRule("a whole number", _is_whole(0), optional=True),
    "right": FieldRule("a whole number", _is_whole(0), optional=True),
    "wrong": FieldRule("a whole number", _is_whole(0), optional=True),
    "unseen": FieldRule("a share from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1, optional=True),
}
SETTINGS = {  # settings of models whose types are not plain
    "class_weight": STORED_OPTIONS["class_weight"],
    "class_prior": FieldRule("a list of numbers or null", _or_null(_is_list_of_numbers)),
    "start": FieldRule("zero or naive-bayes", lambda value: value in ("zero", "naive-bayes")),
}
PARTS: dict[str, Mapping[str, FieldRule]] = {
    "training": TRAINING, "scorer": SCORER, "register": REGISTER, "conformal": CONFORMAL,
    "word_vectors": VECTORS,
}  # fmt: skip


def check_description(about: dict[str, Any]) -> None:
    """Raise an error unless the description of a model file has the required keys with values of the right types.

    >>> check_description({"format": 3, "version": 1})
    Traceback (most recent call last):
    unnaive.base.errors.BadModel: its description has no model; train it again
    """
    check_fields(about, DESCRIPTION, "description")
    for name, rules in PARTS.items():
        if name in about:
            check_fields(about[name], rules, name)
    for name, rule in SETTINGS.items():
        if name in about["settings"] and not rule.accepts(about["settings"][name]):
            raise BadModel(f"its setting {name} is not {rule.words}; train it again")


def check_fields(values: dict[str, Any], rules: Mapping[str, FieldRule], what: str) -> None:
    """Raise an error unless a JSON object has exactly the keys of these rules, with valid values."""
    problem = find_field_problem(
        values,
        rules,
        missing=f"its {what} has no {{name}}",
        unknown=f"its {what} has {{name!r}}, which this version does not know",
        refused=f"{{name}} in its {what} is not {{words}}",
    )
    if problem is not None:
        raise BadModel(f"{problem}; train it again")


def check_parts(model: type[Model], about: dict[str, Any], arrays: Arrays) -> None:
    """Raise an error unless the scorer, the kept data and the arrays are those of a model with this name."""
    kind = about["scorer"]["kind"]
    if kind not in (*model.traits.scorer_kinds, *(scorer.kind for scorer in model.traits.scorers)):
        raise BadModel(f"its scorer is of kind {kind[:40]!r}, which {model.traits.name} does not have; train it again")
    statistics = [name for name in ("counts", "documents") if about.get(name)]
    # models of counts may keep the documents that they were tuned on too
    if statistics and statistics[0] != model.traits.statistic:
        raise BadModel(
            f"it keeps {' and '.join(statistics)}, and {model.traits.name} learns from {model.traits.statistic}; train "
            "it again"
        )
    present = {
        "vocabulary": True, "scorer": True, "counts": about["counts"], "documents": "documents" in about,
        "conformal": "conformal" in about, "register": "register" in about, "text_hashes": True,
        "word_vectors": "word_vectors" in about,
    }  # fmt: skip
    for name in arrays:
        if not present.get(name.partition(".")[0]):
            raise BadModel(f"it has the array {name[:40]!r}, which its description does not mention; train it again")
