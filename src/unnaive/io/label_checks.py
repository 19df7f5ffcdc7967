"""Labels that are probably not classes, each with a message and the option that corrects it.

Missing values, one class in several spellings, fastText's prefix, classes of a single document. Readers warn about them
and `unnaive audit` lists them; nothing is changed without an option.
"""

from __future__ import annotations

import shlex
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unnaive.base.errors import UnnaiveWarning, count_noun
from unnaive.data.label_spelling import fold_label
from unnaive.data.missing_values import is_missing_value

PREFIX = "__label__"  # fastText's
LARGE = 10  # documents of the largest class, from which a class of one document is reported
SHOWN = 5  # labels in a message
MOST_OPTIONS = 16  # maximum number of --set ignore-label options in a message


@dataclass(frozen=True)
class LabelSpelling:
    """How labels are normalised.

    ignored  labels that mean no label, as spelt in the file
    prefix   removed from the start of labels
    lower    whether labels are converted to lower case, with single spaces
    """

    ignored: tuple[str, ...] = ()
    prefix: str | None = None
    lower: bool = False

    def __bool__(self) -> bool:
        return bool(self.ignored or self.prefix or self.lower)

    def apply(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """The labels of one document after normalisation, each once.

        >>> LabelSpelling(("N/A",), "__label__", lower=True).apply(("N/A", "__label__Sport", "sport"))
        ('sport',)
        """
        spelled = (self._spell(label) for label in labels if label not in self.ignored)
        return tuple(dict.fromkeys(label for label in spelled if label))

    def _spell(self, label: str) -> str:
        if self.prefix:
            label = label.removeprefix(self.prefix).strip()
        return fold_label(label) if self.lower else label


def missing_labels(sizes: Mapping[str, int]) -> list[str]:
    """Labels that are markers of missing values.

    >>> missing_labels({"sport": 9, "NaN": 2, "N/A": 1})
    ['NaN', 'N/A']
    """
    return [label for label in sizes if is_missing_value(label)]


def alike_labels(sizes: Mapping[str, int]) -> list[list[str]]:
    """Groups of labels that differ only in case and spaces, the largest first; without missing values.

    >>> alike_labels({"Politics": 2, "sport": 3, "politics": 9})
    [['politics', 'Politics']]
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for label in sizes:
        if not is_missing_value(label):
            groups[fold_label(label)].append(label)
    return [sorted(group, key=lambda label: (-sizes[label], label)) for group in groups.values() if len(group) > 1]


def prefixed_labels(sizes: Mapping[str, int]) -> list[str]:
    """Labels with fastText's prefix left in.

    >>> prefixed_labels({"__label__sport": 9, "politics": 2})
    ['__label__sport']
    """
    return [label for label in sizes if label.startswith(PREFIX)]


def labels_of_one_document(sizes: Mapping[str, int]) -> list[str]:
    """Classes of one document if there is a class of ten or more; without missing values.

    >>> labels_of_one_document({"sport": 12, "cricket": 1}), labels_of_one_document({"sport": 2, "cricket": 1})
    (['cricket'], [])
    """
    if max(sizes.values(), default=0) < LARGE:
        return []
    return [label for label, size in sizes.items() if size == 1 and not is_missing_value(label)]


def label_sentences(sizes: Mapping[str, int]) -> list[str]:
    """One sentence for each problem of the labels, with `sizes` in documents.

    >>> for sentence in label_sentences({"sport": 12, "Sport": 2, "NaN": 1, "cricket": 1}): print(sentence)
    the label NaN (1 document) looks like a missing value; to leave it out, use --set ignore-label=NaN the labels sport
    (12) and Sport (2) differ only in case or spaces; to make them one class, use --set lower-labels=true the class
    cricket has only one document, too few to train and test; to leave it out, use --set ignore-label=cricket
    """
    sentences = []
    missing, prefixed, alike = missing_labels(sizes), prefixed_labels(sizes), alike_labels(sizes)
    respelt = {label for group in alike for label in group}
    single = [label for label in labels_of_one_document(sizes) if label not in respelt]
    if missing:
        alone = len(missing) == 1
        what = f"label {missing[0]} ({count_noun(sizes[missing[0]], 'document')}) looks like a missing value"
        several = f"labels {_join(missing, sizes)} look like missing values"
        them = "it" if alone else "them"
        sentences.append(f"the {what if alone else several}; to leave {them} out, use {_ignore(missing)}")
    if len(alike) == 1:
        names = _join(alike[0], sizes)
        sentences.append(
            f"the labels {names} differ only in case or spaces; to make them one class, use --set lower-labels=true"
        )
    elif alike:
        names = "; ".join(" = ".join(group[:SHOWN]) for group in alike[:SHOWN]) + ("; …" if len(alike) > SHOWN else "")
        sentences.append(
            f"{len(respelt):,} labels would be {len(alike):,} if case and spaces were ignored "
            f"({names}); to merge them, use --set lower-labels=true"
        )
    if prefixed:
        begin = "label begins" if len(prefixed) == 1 else "labels begin"
        sentences.append(f"{len(prefixed):,} {begin} with {PREFIX}; to remove it, use --set label-prefix={PREFIX}")
    if single:
        alone = len(single) == 1
        subject = f"the class {single[0]} has" if alone else f"{len(single):,} classes ({_names(single)}) have"
        them = "it" if alone else "them"
        sentences.append(
            f"{subject} only one document{'' if alone else ' each'}, too few to train and test; to leave {them} out, "
            f"use {_ignore(single)}"
        )
    return sentences


def warn_about_odd_labels(name: str, sizes: Mapping[str, int]) -> None:
    """Warn about each problem of the labels of a file."""
    for sentence in label_sentences(sizes):
        warnings.warn(f"{name}: {sentence}", UnnaiveWarning, stacklevel=4)


def _names(labels: Sequence[str]) -> str:
    return ", ".join(labels[:SHOWN]) + (", …" if len(labels) > SHOWN else "")


def _join(labels: Sequence[str], sizes: Mapping[str, int]) -> str:
    *most, last = (f"{label} ({sizes[label]:,})" for label in labels[:SHOWN])
    return f"{', '.join(most)} and {last}" if most else last


def _ignore(labels: Sequence[str]) -> str:
    """The options that leave labels out."""
    shown = " ".join(f"--set ignore-label={shlex.quote(label)}" for label in labels[:MOST_OPTIONS])
    return shown + (" …" if len(labels) > MOST_OPTIONS else "")
