"""Labels as files spell them ↔ the classes of a model, such as true for True."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.data.corpus import Corpus
    from unnaive.learning.fitted import FittedModel


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


def file_spellings(fitted: FittedModel) -> dict[str, Any]:
    """Map what a file may have for a class to the class: pandas writes whole numbers with gaps as 1.0.

    >>> from unnaive import TextClassifier
    >>> file_spellings(TextClassifier("multinomial").fit(["spam", "ham"], ["1", "2.0"]).fitted_)
    {'1.0': '1', '2': '2.0', '1': '1', '2.0': '2.0'}
    """
    classes = class_spellings(fitted)
    others = {name.removesuffix(".0") if name.endswith(".0") else f"{name}.0": label for name, label in classes.items()}
    return {name: label for name, label in others.items() if is_whole_number(name)} | classes


def is_whole_number(name: str) -> bool:
    """Whether a label is a whole number as text, such as 1 or 1.0.

    >>> is_whole_number("1.0"), is_whole_number("-1"), is_whole_number("1.5"), is_whole_number("1e3")
    (True, True, False, False)
    """
    return name.removesuffix(".0").removeprefix("-").isdecimal()


def find_class(fitted: FittedModel, name: str | None) -> Any:
    """The class with this spelling, None for None; an error that lists the classes if there is none."""
    from unnaive.base.errors import choose

    if name is None:
        return None
    classes = class_spellings(fitted)
    return classes[choose(list(classes), name, "class")]


def respell_labels(fitted: FittedModel, corpus: Corpus) -> Corpus:
    """The corpus with labels spelt like str() of the model's classes: a file may have "true" for True, "1.0" for 1."""
    classes = file_spellings(fitted)
    return replace(corpus, labels=[tuple(str(classes.get(name, name)) for name in names) for names in corpus.labels])


def parse_class_labels(fitted: FittedModel, corpus: Corpus) -> list[tuple[Any, ...]]:
    """The labels of the corpus as values of the type of the model's classes."""
    classes = file_spellings(fitted)
    whole = isinstance(next(iter(classes.values())), int)

    def value(name: str) -> Any:
        if name in classes:
            return classes[name]
        return int(name) if whole and name.lstrip("-").isdecimal() else name

    return [tuple(value(name) for name in names) for names in corpus.labels]
