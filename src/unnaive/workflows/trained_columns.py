"""Read a file as the training data of a model was read: its columns, fields, language and label separator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from unnaive.base.errors import UnnaiveError
from unnaive.text.field import Field
from unnaive.workflows.source_fields import recorded_fields

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile
    from unnaive.io.fields.columns import Columns
    from unnaive.learning.fitted import FittedModel


def read_as_trained(source: DataFile, fitted: FittedModel) -> DataFile:
    """The source with the language, columns and label separator of the model's training."""
    from unnaive.text.messages import PARTS

    language = fitted.token_rule.language if fitted.token_rule is not None else None
    how = replace(source.options, language=language or "en")
    usual = trained_columns(fitted)
    fields = None if fitted.token_rule is None else fitted.token_rule.fields
    check_named_fields(source, fields)
    # the model says what its fields are; files of vectors are those of the command
    source = replace(source, fields=None, category=(), number=(), date=(), characters=())
    if fitted.token_rule is not None and fitted.token_rule.message is None and fields is None:
        source = replace(
            source, message=PARTS
        )  # a model that was not trained on mail has no words of headers and encodings
    if fields is not None and (recorded := recorded_fields(source)) is not None:
        if recorded != fields:
            raise UnnaiveError(f"{source.name} has other fields than the model: {', '.join(map(str, recorded))}")
        return replace(source, options=how)  # its texts are whole records
    if usual is None:
        return replace(source, options=how)
    spelling, learnt = source.spelling, usual.spelling
    return replace(
        source, options=how, default_columns=usual, separator=source.separator or usual.separator,
        ignore_label=spelling.ignored or learnt.ignored, label_prefix=spelling.prefix or learnt.prefix,
        lower_labels=spelling.lower or learnt.lower,
    )  # fmt: skip


def check_named_fields(source: DataFile, fields: Sequence[Field] | None) -> None:
    """Raise an error if options name other fields than those of the model, which would be ignored."""
    from unnaive.text.field import TEXT, describe_fields, field_kinds

    if source.fields == "auto" or (source.fields is not None and fields is not None):
        raise UnnaiveError(
            f"--fields {source.fields} is an option for training; leave it out: the model has its fields"
        )
    named = field_kinds(source.fixed_fields)
    if fields is None:
        if named:
            raise UnnaiveError(f"the model reads texts, but {min(named)!r} is named as a field; leave it out")
        return
    kinds = {field.name: TEXT if field.is_text else field.kind for field in fields}
    named |= dict.fromkeys(source.text, TEXT)
    other = next((name for name, kind in named.items() if kinds.get(name) != kind), None)
    if other is not None:
        raise UnnaiveError(
            f"{other!r} is named as a {named[other]}, but the model reads the fields {describe_fields(fields)}; leave "
            "the option out, and give the columns these names"
        )


def trained_columns(fitted: FittedModel) -> Columns | None:
    """The columns that the model was trained on, if known; all of them for a model with fields."""
    from unnaive.io.fields.columns import Columns
    from unnaive.text.field import text_names

    fields = None if fitted.token_rule is None else fitted.token_rule.fields
    learnt = Columns.of_section(fitted.source)
    if fields is None:
        return learnt
    return replace(learnt or Columns(()), texts=text_names(fields), fields=fields)
