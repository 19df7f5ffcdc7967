"""PortableModel: a linear model as plain values for other languages; each target writes it in its format.

score[c] = bias[c] + Σ_parts bias_part[c] + Σ_t z_t·(weights[t, c] + class_offset[c] + term_offset[t]) / length

z_t = tf(n_t)·idf_t over the terms of the part, added in ascending order of ids, as in the kernel.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import log
from unnaive.base.sparse import csr_array, issparse
from unnaive.base.types import Floats, Ids, Label
from unnaive.interop.export.declared_parts import CannotExport, check_declared
from unnaive.learning.fitted import FittedModel
from unnaive.linear.linear import Linear
from unnaive.linear.links import LINKS
from unnaive.linear.sum_of_linears import SumOfLinears
from unnaive.linear.unsmoothed import Unsmoothed
from unnaive.models.fasttext.scorer import FastTextScorer
from unnaive.text import _unicode_table
from unnaive.text.gram_units import which_are_grams
from unnaive.text.scripts import SPACES
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

COVERAGES = (0.8, 0.9, 0.95, 0.99)  # coverages for which the limits of sets are written
TERM_FREQUENCIES, NORMS = ("raw", "binary", "log"), (None, "l1", "l2")  # what every target computes
LOG_COUNTS = 256  # 1 + log n is exported for counts below it, because other libraries round logarithms differently


@dataclass(frozen=True, eq=False)
class PortablePart:
    """One linear model over some of the terms.

    columns       the ids of its terms, ascending; None for all of them
    tf, norm      "raw", "binary" or "log"; None, "l1" or "l2"
    idf           idf of each of its terms, or None
    weights       (n_terms_of_part, n_classes), dense or csr_array
    step          (n_classes,) where the weights of a class are whole multiples of a step
    bias          (n_classes,); class_offset (n_classes,) and term_offset (n_terms_of_part,) or None
    """

    columns: Ids | None
    tf: str
    norm: str | None
    idf: Floats | None
    weights: Any
    step: Floats | None
    bias: Floats
    class_offset: Floats | None
    term_offset: Floats | None

    @property
    def n_rows(self) -> int:
        """The number of terms."""
        return int(self.weights.shape[0])


@dataclass(frozen=True, eq=False)
class PortableModel:
    """A linear model with everything after the scores.

    name, title    of the model it was made from
    classes        the labels, sorted
    multilabel     whether a text may have any number of labels
    rule           how texts become terms
    terms          the vocabulary, by id
    gram           whether each term is a character n-gram; None if none or all are
    link           what a score means (linear/links.py); calibration and decision are results of `to_dict`
    probabilistic  whether there are probabilities
    limits         by coverage: the largest −log p in a set, and the same by class; empty without held-out scores
    """

    name: str
    title: str
    classes: tuple[Label, ...]
    multilabel: bool
    rule: TokenRule
    terms: Vocabulary
    gram: NDArray[np.bool_] | None
    bias: Floats
    parts: tuple[PortablePart, ...]
    link: str
    calibration: dict[str, Any] | None
    decision: dict[str, Any]
    probabilistic: bool
    limits: dict[float, tuple[float, list[float]]]

    @property
    def stop_words(self) -> list[str]:
        """The stop words as texts are compared with them, sorted."""
        return sorted(self.rule.stop_set)

    @property
    def reference_is_mean(self) -> bool:
        """Whether explanations compare a class with the mean of all, since classes exclude each other."""
        return LINKS[self.link].exclusive


def portable_model(
    fitted: FittedModel, target: str, *, counts: bool = False, carries: frozenset[str] = frozenset()
) -> PortableModel:
    """The model as plain values for an export; an error if the export cannot carry all that the model contains.

    target   the name of the export, which the declarations of options, decisions, calibrations and links list
    counts   whether models trained on rows of counts, which have no terms, are accepted
    carries  further names of options, decisions, calibrations and links, for an export that no declaration lists

    >>> from unnaive import TextClassifier
    >>> fitted = TextClassifier("multinomial").fit(["good ball", "fair vote"], ["s", "p"]).fitted_
    >>> model = portable_model(fitted, "js")
    >>> model.terms.terms, len(model.parts), model.parts[0].weights.shape
    (['ball', 'fair', 'good', 'vote'], 1, (4, 2))
    """
    rule, vocabulary = fitted.token_rule, fitted.vocabulary
    title, scorer = fitted.spec.model.traits.title, fitted.scorer
    if isinstance(scorer, FastTextScorer):
        raise CannotExport("the page shows the contribution of each term, which imported fastText models do not give; "
                           "leave --page out")  # fmt: skip
    if isinstance(scorer, Unsmoothed):
        raise CannotExport("a probability of 0 has no finite weight, so no export supports alpha=0; train the model "
                           "again with an alpha above 0, such as 1e-10")  # fmt: skip
    if not isinstance(scorer, (Linear, SumOfLinears)):
        raise CannotExport(f"{title} is not linear in the terms of a text, so it cannot be exported; auto, nbsvm, svm, "
                           "maxent and the naive Bayes models can")  # fmt: skip
    if (rule is None or vocabulary is None) and not counts:
        raise CannotExport(f"this {title} was trained on rows of counts, so it cannot be exported; train it on texts")
    rule, vocabulary = rule or TokenRule(), Vocabulary() if vocabulary is None else vocabulary
    check_declared(fitted, rule, scorer.link, target, carries)
    is_gram = which_are_grams(vocabulary)
    return PortableModel(
        name=fitted.spec.model.traits.name,
        title=title,
        classes=fitted.classes,
        multilabel=fitted.multilabel,
        rule=rule,
        terms=vocabulary,
        gram=is_gram if is_gram.any() and not is_gram.all() else None,
        bias=scorer.bias if isinstance(scorer, SumOfLinears) else np.zeros(scorer.n_classes),
        parts=tuple(_parts(scorer)),
        link=scorer.link,
        calibration=None if fitted.calibration is None else fitted.calibration.to_dict(),
        decision=fitted.decision.to_dict(),
        probabilistic=fitted.probabilistic,
        limits=_set_limits(fitted),
    )


def _parts(scorer: Linear | SumOfLinears) -> list[PortablePart]:
    if isinstance(scorer, Linear):
        return [_part(None, scorer)]
    return [_part(columns, linear) for columns, linear in scorer.parts]


def _part(columns: Ids | None, linear: Linear) -> PortablePart:
    weights, weighting = linear.sparse_weights, linear.weighting
    if weighting.tf not in TERM_FREQUENCIES or weighting.norm not in NORMS:
        raise CannotExport(
            f"the model weights terms by tf={weighting.tf!r} and norm={weighting.norm!r}, which no export supports; "
            "train another model"
        )
    by_term: Any = csr_array(weights.T) if issparse(weights) else np.ascontiguousarray(np.asarray(weights).T)
    if issparse(by_term) and 3 * by_term.nnz > by_term.shape[0] * by_term.shape[1]:
        by_term = by_term.toarray()  # an index for each weight would take as much space as the zeros
    if issparse(by_term):
        by_term.sort_indices()
    return PortablePart(
        columns, weighting.tf, weighting.norm, weighting.idf, by_term, linear.step, linear.bias,
        linear.class_offset, linear.term_offset,
    )  # fmt: skip


def _set_limits(fitted: FittedModel) -> dict[float, tuple[float, list[float]]]:
    """The largest nonconformity in sets with some coverages: for all classes, and by class."""
    if fitted.conformal is None or not fitted.probabilistic:
        return {}
    return {
        coverage: (
            float(fitted.conformal.limits(coverage, len(fitted.classes))[0]),
            fitted.conformal.limits(coverage, len(fitted.classes), by_class=True).tolist(),
        )
        for coverage in COVERAGES
    }


def log_counts() -> list[float]:
    """1 + log n for n below LOG_COUNTS, as the kernel computes them; 0 for 0."""
    return [0.0, *(1.0 + log(np.arange(1, LOG_COUNTS))).tolist()]


def character_tables() -> dict[str, str]:
    """The kinds of characters as hexadecimal ranges, and the lower-case forms, by name: the package's own tables."""
    return {
        "letters": _unicode_table.LETTERS, "numbers": _unicode_table.NUMBERS, "marks": _unicode_table.MARKS,
        "unspaced": _unicode_table.UNSPACED_LETTERS, "pictures": _unicode_table.PICTOGRAPHS,
        "textPictures": _unicode_table.TEXT_PICTOGRAPHS, "spaces": SPACES, "folds": _unicode_table.FOLDS,
    }  # fmt: skip


def script_zeros() -> list[int]:
    """The code points of the digit zero in every script except ASCII; the other nine digits follow each.

    >>> [chr(zero) for zero in script_zeros()[:3]]
    ['٠', '۰', '߀']
    """
    return [code for code in range(0x80, 0x110000) if unicodedata.decimal(chr(code), None) == 0]


def exact_form(weights: NDArray[Any], step: Floats | None, classes: NDArray[Any] | None) -> tuple[str, NDArray[Any]]:
    """(the smallest kind of number that holds the weights exactly, the numbers): f64, f32, or i8 and i16 of steps.

    classes  of each weight, where they are the data of a sparse table; else weights are (n_rows, n_classes)

    >>> exact_form(np.array([[0.5, -2.0]]), None, None)[0], exact_form(np.array([[0.1, 0.2]]), None, None)[0]
    ('f32', 'f64')
    """
    numbers = np.asarray(weights)
    if step is not None:
        multiples = np.rint(numbers / (step if classes is None else step[classes]))
        largest = np.abs(multiples).max(initial=0)
        if largest <= 127:
            return "i8", multiples.astype(np.int8)
        if largest < 2**15:
            return "i16", multiples.astype(np.int16)
    if numbers.dtype == np.float32 or bool(np.all(numbers.astype(np.float32) == numbers)):
        return "f32", numbers.astype(np.float32)
    return "f64", numbers.astype(np.float64)
