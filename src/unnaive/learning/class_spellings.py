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
