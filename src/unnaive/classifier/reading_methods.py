"""How TextClassifier reads texts: the token rule from its parameters, its model and the size of the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.classifier.field_methods import FieldMethods
from unnaive.models.catalogue import find_model
from unnaive.text.buffer import TextBuffer
from unnaive.text.field import read_fields, vector_lengths
from unnaive.text.sections import count_record_chars
from unnaive.text.token_rule import TokenRule

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel


class ReadingMethods(FieldMethods):
    """The methods of TextClassifier about reading texts."""

    _model_settings: Callable[[], dict[str, Any]]

    @property
    def token_rule(self) -> TokenRule:
        """The token rule; changes by the size of the data last until the next fit."""
        usual, fitted = self._rule_for(0), self.__dict__.get("fitted_")
        if fitted is None or fitted.token_rule == usual:
            return usual
        shorter = [self._rule_with(dict(changes)) for changes in find_model(self.model).traits.shorter_readings]
        return fitted.token_rule if fitted.token_rule in shorter else usual

    def token_rule_of(self, count_chars: Callable[[], float]) -> TokenRule:
        """The token rule for texts with this number of characters, which is counted only if it makes a difference.

        The budget of `auto` may be too small for characters, or for pairs of words; a warning says so.
        """
        usual, changes = self._rule_for(0), find_model(self.model).token_rule_for
        if changes(self._model_settings(), 0) == changes(self._model_settings(), np.inf):
            return usual
        n_chars = count_chars()
        rule = self._rule_for(n_chars)
        if rule != usual:
            read = "words and pairs of words" if rule.ngrams == usual.ngrams else "words"
            warnings.warn(
                f"the budget is too small to read {n_chars / 1e6:,.0f} MB of text by characters; only {read} are read",
                UnnaiveWarning,
                stacklevel=4,
            )
        return rule

    def _rule_for(self, n_chars: float) -> TokenRule:
        return self._rule_with(find_model(self.model).token_rule_for(self._model_settings(), n_chars))

    def _rule_with(self, changes: dict[str, Any]) -> TokenRule:
        settings = {name: getattr(self, name) for name in TokenRule.field_names()}
        return TokenRule(**settings | {"fields": self._known_fields()}).with_defaults_changed(changes)

    def _check_same_rule(self, before: FittedModel) -> None:
        if self.token_rule != before.token_rule:
            raise UnnaiveError("the counts of this model depend on its tokeniser options; to change them, fit again")


def count_chars(texts: Any, fields: Any = None) -> int:
    """The number of characters, or of bytes if texts are in a buffer; without vector fields."""
    if fields is not None and vector_lengths(read_fields(fields)):
        return sum(count_record_chars(text, read_fields(fields)) for text in texts)
    return len(texts.blob) if isinstance(texts, TextBuffer) else sum(map(len, texts))


def rule_parameters(rule: TokenRule) -> dict[str, Any]:
    """The rule as parameters of TextClassifier."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in rule.to_dict().items()}
    return values | ({} if rule.field_kinds is None else {"fields": rule.field_kinds})
