"""Records with fields in TextClassifier: the kinds of fields, given or guessed, and encoded records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unnaive.base.errors import UnnaiveError
from unnaive.models.catalogue import find_model
from unnaive.text.field import has_kinds, read_fields, vector_lengths


class FieldMethods:
    """The methods of TextClassifier for `fields`; `fields_` has the kinds that `fit` found."""

    model: Any
    fields: Mapping[str, str] | Sequence[str] | None
    fields_: dict[str, str]

    def _find_fields(self, records: Any, labels: Any) -> None:
        """Find the kinds of fields and the lengths of vectors from the training records, unless they are given."""
        self.__dict__.pop("fields_", None)
        if self.fields is None or self._is_settled():
            return
        from unnaive.data.fields.field_choice import guess_fields
        from unnaive.data.fields.fields import with_lengths

        vectors = find_model(self.model).traits.takes_vectors
        fields = self.fields if has_kinds(self.fields) else guess_fields(self.fields, records, labels, vectors=vectors)
        self.fields_ = with_lengths(fields, records)

    def _is_settled(self) -> bool:
        """Whether `fields` has all kinds and lengths."""
        return has_kinds(self.fields) and all(vector_lengths(read_fields(self.fields)).values())

    def _known_fields(self) -> Any:
        """The fields with their kinds: as given, or as guessed from the training records."""
        if self.fields is None or self._is_settled():
            return self.fields
        fitted = self.__dict__.get("fitted_")
        fields = self.__dict__.get("fields_") or (fitted and fitted.token_rule and fitted.token_rule.field_kinds)
        if not fields:
            raise UnnaiveError("the kinds of fields are guessed from the training records; call fit first")
        return fields

    def _documents(self, texts: Any) -> Any:
        """The documents for the token rule: texts unchanged, records encoded."""
        from unnaive.data.fields.fields import as_documents

        fields = self._known_fields()
        return as_documents(texts, None if fields is None else read_fields(fields))
