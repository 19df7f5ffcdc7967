"""Exports carry what is declared for them and refuse everything else, in one sentence."""

from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from support.exports import fitted_case, option_values

from unnaive.base.settings import EXPORTS, option
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.export_folder import TARGETS, export_model
from unnaive.interop.export.portable import portable_model
from unnaive.learning.calibration import KINDS
from unnaive.learning.decisions import DECISIONS, Argmax
from unnaive.linear.links import LINKS, Link
from unnaive.text.token_rule import OPTIONS, TokenRule

pytestmark = pytest.mark.slow  # `make quick` leaves these to `make test`


def test_every_target_and_the_page_can_be_declared():
    assert {name for name, target in TARGETS.items() if not target.carries} | {"page"} == set(EXPORTS)


def is_carried(fitted, target):
    try:
        portable_model(fitted, target)
    except CannotExport:
        return False
    return True


def fitted_with(rule, **options):
    """A fitted model whose rule has these values; they are set without the checks of the rule, which need extras."""
    rule = copy(rule)
    for name, value in options.items():
        object.__setattr__(rule, name, value)
    return replace(fitted_case("multinomial", "words"), token_rule=rule)


@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_carried_by_the_exports_that_it_declares(name, target):
    values = [value for value in option_values(name) if value != OPTIONS[name].default]
    carried = {is_carried(fitted_with(TokenRule(), **{name: value}), target) for value in values}
    assert carried == {target in OPTIONS[name].exports}


@dataclass(frozen=True)
class RuleOfTomorrow(TokenRule):
    """The token rule with one option more, which no export has heard of."""

    backwards: bool = option("Read texts backwards.", default=False)


@pytest.mark.parametrize("target", TARGETS)
def test_every_export_refuses_a_new_option(target, tmp_path):
    export_model(fitted_with(RuleOfTomorrow()), target, tmp_path / "default")
    expected = "the model reads texts with backwards=True, which no export supports; train it with backwards=False"
    with pytest.raises(CannotExport, match=f"^{expected}$"):
        export_model(fitted_with(RuleOfTomorrow(backwards=True)), target, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@dataclass(frozen=True)
class DecisionOfTomorrow(Argmax):
    """A decision that no export has heard of."""

    kind: ClassVar[str] = "coin"
    exports: ClassVar[tuple[str, ...]] = ()


@pytest.mark.parametrize("target", EXPORTS)
def test_a_new_decision_and_a_new_link_are_refused(target, monkeypatch):
    fitted = fitted_case("multinomial", "words")
    with pytest.raises(CannotExport, match="decides by coin, which no export supports; train it with another decision"):
        portable_model(replace(fitted, decision=DecisionOfTomorrow()), target)
    monkeypatch.setitem(LINKS, "softmax", Link("softmax", LINKS["softmax"].log_odds, exclusive=True))
    with pytest.raises(CannotExport, match="has softmax scores, which no export supports; train another model"):
        portable_model(fitted, target)


def test_a_name_that_no_declaration_lists_carries_what_it_says():
    fitted = fitted_with(TokenRule(), digits=False)
    with pytest.raises(CannotExport, match="the export to cobol does not support; export it to js, c, onnx or sql, or"):
        portable_model(fitted, "cobol", carries=frozenset({"softmax", "argmax"}))
    assert portable_model(fitted, "cobol", carries=frozenset({"softmax", "argmax", "digits"})).rule.digits is False


def test_sql_alone_carries_less_than_the_others():
    kinds = [*DECISIONS.values(), *KINDS.values()]
    assert {kind.kind for kind in kinds if "sql" not in kind.exports} == {
        "least-cost", "proportional", "platt", "isotonic",
    }  # fmt: skip
    assert {kind.kind for kind in kinds if "js" not in kind.exports} == {"proportional"}
