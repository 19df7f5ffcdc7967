"""Records with fields in TextClassifier: the kinds of fields, given or guessed, and encoded records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unnaive.base.errors import UnnaiveError
from unnaive.io.fields import as_documents, guess_fields, has_kinds
from unnaive.text.sections import read_fields


class FieldMethods:
    """The methods of TextClassifier about `fields`; `fields_` are the kinds guessed by `fit`."""

    fields: Mapping[str, str] | Sequence[str] | None
    fields_: dict[str, str]

    def _find_fields(self, records: Any) -> None:
        """Guess the missing kinds of fields from the training records."""
        self.__dict__.pop("fields_", None)
        if self.fields is not None and not has_kinds(self.fields):
            self.fields_ = guess_fields(self.fields, records)

    def _known_fields(self) -> Any:
        """The fields with their kinds: as given, or as guessed from the training records."""
        if self.fields is None or has_kinds(self.fields):
            return self.fields
        fitted = self.__dict__.get("fitted_")
        found = self.__dict__.get("fields_") or (fitted and fitted.token_rule and fitted.token_rule.field_kinds)
        if not found:
            raise UnnaiveError("the kinds of fields are guessed from the records to learn; call fit first")
        return found

    def _documents(self, texts: Any) -> Any:
        """Texts in the form for reading: records encoded."""
        fields = self._known_fields()
        return as_documents(texts, None if fields is None else read_fields(fields))
