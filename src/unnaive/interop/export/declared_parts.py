"""What an export may carry: token options, kinds of fields, links, decisions and calibrations name their exports.

Each is declared where it is defined, as `exports=("js", "c")`. An export refuses, in one sentence, what does not name
it, so that a new option is refused everywhere until it has been written for an export.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unnaive.base.errors import UnnaiveError
from unnaive.base.settings import EXPORTS, declared_options, same_value, shorten_value
from unnaive.base.types import Label
from unnaive.learning.fitted import FittedModel
from unnaive.linear.links import LINKS
from unnaive.text.field import TEXT_KINDS
from unnaive.text.token_rule import TokenRule

FIELD_EXPORTS = dict.fromkeys((*TEXT_KINDS, "category", "number", "date"), EXPORTS)  # by kind of field
TITLES = {"js": "JavaScript", "page": "the page", "c": "C", "onnx": "ONNX", "sql": "SQL",
          "clickhouse": "ClickHouse"}  # fmt: skip


class CannotExport(UnnaiveError):
    """A target cannot express the model or the token rule; the message says why."""


def refuse_nul(classes: Sequence[Label], why: str) -> None:
    """An error for a class with a NUL in its name, where the target cannot have one."""
    nul = next((str(label) for label in classes if "\0" in str(label)), None)
    if nul is not None:
        raise CannotExport(f"{why}, which the class {nul!r} has; rename the class and train again")


@dataclass(frozen=True)
class DeclaredPart:
    """Something in a model that an export must carry.

    name     as it is declared
    does     what the model does with it, for messages
    exports  the exports declared for it
    instead  how to do without it
    """

    name: str
    does: str
    exports: tuple[str, ...]
    instead: str

    def refusal(self, target: str) -> str:
        """Why the target cannot carry it, what can, and what to do."""
        others = [name for name in self.exports if name != "page"]
        if not others:
            return f"the model {self.does}, which no export supports; {self.instead}"
        listed = " or ".join([", ".join(others[:-1]), others[-1]] if others[1:] else others)
        return (
            f"the model {self.does}, which the export to {TITLES.get(target, target)} does not support; export it to "
            f"{listed}, or {self.instead}"
        )


def check_declared(
    fitted: FittedModel, rule: TokenRule, link: str, target: str, carries: frozenset[str] = frozenset()
) -> None:
    """Raise CannotExport for the first part of a model that neither names the target nor is among `carries`."""
    for part in (*_rule_parts(rule), *_score_parts(fitted, link)):
        if target not in part.exports and part.name not in carries:
            raise CannotExport(part.refusal(target))


def _rule_parts(rule: TokenRule) -> Iterator[DeclaredPart]:
    """The fields, and the token options that do not have their default value."""
    kinds = rule.field_kinds or {}
    for name, declared in declared_options(type(rule)).items():
        value = getattr(rule, name)
        if same_value(value, declared.default):
            continue
        if name == "fields":
            does, instead = f"reads records with fields ({', '.join(kinds)})", "train it on texts"
        else:
            does, instead = (
                f"reads texts with {name}={shorten_value(value)}",
                f"train it with {name}={declared.default!r}",
            )
        yield DeclaredPart(name, does, declared.exports, instead)
    for field, kind in kinds.items():
        yield DeclaredPart(
            kind, f"reads {field!r} as {kind}", FIELD_EXPORTS.get(kind, ()), "train it without this field"
        )


def _score_parts(fitted: FittedModel, link: str) -> Iterator[DeclaredPart]:
    """What turns scores into probabilities and labels."""
    decision, calibration = fitted.decision, fitted.calibration
    yield DeclaredPart(link, f"has {link} scores", LINKS[link].exports, "train another model")
    yield DeclaredPart(decision.kind, f"decides by {decision.kind}", decision.exports, "train it with another decision")
    if calibration is not None:
        does = f"has {calibration.kind} calibration"
        yield DeclaredPart(calibration.kind, does, calibration.exports, "calibrate it by temperature")
