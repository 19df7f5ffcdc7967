"""Messages about files that commands read and write, and labels spelt as in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.apps.cli.screen import echo, is_quiet
from unnaive.apps.cli.source_fields import recorded_fields
from unnaive.base.errors import UnnaiveError
from unnaive.io.writing.output_files import open_output

if TYPE_CHECKING:
    from unnaive.base.types import RowValues
    from unnaive.data.corpus import Corpus
    from unnaive.io.datafiles import DataFile
    from unnaive.io.fields.columns import Columns
    from unnaive.learning.fitted import FittedModel


def write_text(path: Path, text: str) -> None:
    """Write a file atomically and report it on stderr; - is stdout."""
    with open_output(path) as file:
        file.write(text)
    say_what_was_written(path)


def write_whole_table(
    path: Path, rows: Sequence[RowValues], columns: Sequence[str], *, excel_safe: bool = False
) -> None:
    """Write a table in the format of its name, atomically, and report it on stderr; - is stdout."""
    from unnaive.io.writing.table_writer import write_table

    write_table(path, rows, columns, excel_safe=excel_safe)
    say_what_was_written(path)


def say_what_was_written(path: Path) -> None:
    """Print one line on stderr, unless --quiet or the output is stdout."""
    if str(path) != "-" and not is_quiet():
        echo(f"wrote {path}", err=True)


def say_what_was_read(source: DataFile) -> None:
    """Print one line on stderr, unless --quiet: the columns, the header, the number of rows."""
    if not is_quiet():
        echo(f"read {source.describe()}", err=True)


def say_what_sets_promise(fitted: FittedModel, confidence: float, *, by_class: bool) -> None:
    """Print on stderr, unless --quiet, what prediction sets cover, and which classes only together."""
    from unnaive.learning.conformal import describe_sets

    if not is_quiet():
        sentences = describe_sets(
            fitted.conformal_scores(), fitted.classes, confidence, multilabel=fitted.multilabel, by_class=by_class
        )
        for sentence in sentences:
            echo(sentence, err=True)


def warn_about_learnt(fitted: FittedModel, corpus: Corpus) -> None:
    """Warn if a model is evaluated on documents that it was trained on, if its file shows it."""
    import warnings

    from unnaive.base.errors import UnnaiveWarning, count_noun

    n = 0 if fitted.text_hashes is None else fitted.text_hashes.count_learnt(corpus.texts)
    if n:
        warnings.warn(
            f"{n:,} of {count_noun(len(corpus), 'document')} of {corpus.name} {'is' if n == 1 else 'are'} "
            "in the training data of the model, so the measures are too high; use documents that the model has not "
            "learnt",
            UnnaiveWarning,
            stacklevel=2,
        )


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
            raise UnnaiveError(f"{source.name} has other fields than the model: {', '.join(recorded)}")
        return replace(source, options=how)  # its texts are whole records
    if usual is None:
        return replace(source, options=how)
    spelling, learnt = source.spelling, usual.spelling
    return replace(
        source, options=how, default_columns=usual, separator=source.separator or usual.separator,
        ignore_label=spelling.ignored or learnt.ignored, label_prefix=spelling.prefix or learnt.prefix,
        lower_labels=spelling.lower or learnt.lower,
    )  # fmt: skip


def check_named_fields(source: DataFile, fields: Sequence[str] | None) -> None:
    """Raise an error if options name other fields than those of the model, which would be ignored."""
    from unnaive.text.sections import TEXT, TEXT_KINDS, base_kind, describe_fields, field_kinds

    if source.fields == "auto" or (source.fields is not None and fields is not None):
        raise UnnaiveError(
            f"--fields {source.fields} is an option for training; leave it out: the model has its fields"
        )
    named = field_kinds(source.fixed_fields)
    if fields is None:
        if named:
            raise UnnaiveError(f"the model reads texts, but {min(named)!r} is named as a field; leave it out")
        return
    kinds = {name: TEXT if kind in TEXT_KINDS else base_kind(kind) for name, kind in field_kinds(fields).items()}
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
    from unnaive.text.sections import TEXT_KINDS, field_kinds

    fields = None if fitted.token_rule is None else fitted.token_rule.fields
    if fields is None:
        return fitted.columns
    texts = tuple(name for name, kind in field_kinds(fields).items() if kind in TEXT_KINDS)
    return replace(fitted.columns or Columns(()), texts=texts, fields=fields)


def class_spellings(fitted: FittedModel) -> dict[str, Any]:
    """Map the spellings of a class in files to the class.

    >>> from unnaive import TextClassifier
    >>> class_spellings(TextClassifier("multinomial").fit(["spam", "ham"], [True, False]).fitted_)
    {'False': False, 'True': True, 'false': False, 'true': True}
    """
    spellings = {str(label): label for label in fitted.classes}
    if isinstance(fitted.classes[0], bool):
        spellings |= {str(label).lower(): label for label in fitted.classes}
    return spellings


def find_class(fitted: FittedModel, name: str | None) -> Any:
    """The class with this spelling, None for None; an error that lists the classes if there is none."""
    from unnaive.base.errors import choose

    if name is None:
        return None
    classes = class_spellings(fitted)
    return classes[choose(list(classes), name, "class")]


def respell_labels(fitted: FittedModel, corpus: Corpus) -> Corpus:
    """The corpus with labels spelt like str() of the model's classes: a file may have "true" for True."""
    classes = class_spellings(fitted)
    return replace(corpus, labels=[tuple(str(classes.get(name, name)) for name in names) for names in corpus.labels])


def parse_class_labels(fitted: FittedModel, corpus: Corpus) -> list[tuple[Any, ...]]:
    """The labels of the corpus as values of the type of the model's classes."""
    classes = class_spellings(fitted)
    whole = isinstance(next(iter(classes.values())), int)

    def value(name: str) -> Any:
        if name in classes:
            return classes[name]
        return int(name) if whole and name.lstrip("-").isdecimal() else name

    return [tuple(value(name) for name in names) for names in corpus.labels]
