"""FastTextScorer: the weights of an imported model as arrays; score_texts.py reads texts for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, BadModel
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Arrays, Floats, Ids, Label, Singles, Sparse
from unnaive.data.array_rules import ArrayRule, Rules, check_keys, check_rules, read_whole
from unnaive.linear.scorer import Contributions, Scorer
from unnaive.models.fasttext.binary_file import LARGEST_COUNT, LARGEST_DIM, LONGEST_GRAM, LOSSES
from unnaive.models.fasttext.features import FeatureRule
from unnaive.models.fasttext.huffman import huffman_tree
from unnaive.models.fasttext.matrices import (
    LARGEST,
    LARGEST_SUM,
    LARGEST_WORD,
    QuantisedMatrix,
    check_finite,
    largest_product,
)
from unnaive.models.fasttext.outputs import Outputs
from unnaive.text.vocabulary import Vocabulary

LINKS = {"softmax": "softmax", "hs": "softmax", "ova": "log-odds", "ns": "log-odds"}  # the meaning of scores, by loss


@dataclass(frozen=True, eq=False)
class FastTextScorer(Scorer):
    """score = output · (mean of the rows of the text's features), converted as the loss requires.

    loss          "softmax", "ova", "ns" or "hs"; scores are outputs, for hs log-probabilities
    rows          a row of `dim` numbers for each word and hashed n-gram; if folded, output · row, a number per label
    output        (n_labels, dim); None if rows are folded
    output_scale  factor of the outputs, if quantised; otherwise None
    step          if rows are integers, the value of 1 in each column; otherwise None
    label_counts  occurrences of each label in training, in the order of the output
    places        the class of each label
    n_words       words of the dictionary: the first rows
    bucket, minn, maxn, word_ngrams, kept   how texts are read: see FeatureRule
    prefix        of the labels as fastText writes them; classes are without it
    """

    kind: ClassVar[str] = "fasttext"

    loss: str
    rows: NDArray[Any] | QuantisedMatrix
    output: Singles | None
    output_scale: Singles | None
    step: Singles | None
    label_counts: NDArray[np.int64]
    places: Ids
    n_words: int
    bucket: int
    minn: int
    maxn: int
    word_ngrams: int
    kept: NDArray[np.int32] | None
    prefix: str

    @property
    def link(self) -> str:  # type: ignore[override]  # a field of other scorers
        """The link that defines the meaning of scores."""
        return LINKS[self.loss]

    @property
    def n_classes(self) -> int:
        """Labels."""
        return len(self.places)

    @property
    def n_terms(self) -> int:  # type: ignore[override]  # a field of other scorers
        """Words of the dictionary; hashed n-grams have no names."""
        return self.n_words

    @property
    def folded(self) -> bool:
        """Whether rows have one number for each label."""
        return self.output is None

    @lazy_property
    def dense_rows(self) -> Singles:
        """The rows as float32 (n_rows, dim or n_labels)."""
        if isinstance(self.rows, QuantisedMatrix):
            return self.rows.dense()
        if self.step is not None:
            return self.rows.astype(np.float32) * self.step
        return np.ascontiguousarray(self.rows, np.float32)

    @lazy_property
    def outputs(self) -> Outputs:
        """The meaning of the outputs."""
        tree = huffman_tree(self.label_counts) if self.loss == "hs" else np.zeros((0, 2), np.int32)
        return Outputs(self.loss, tree, self.places)

    def feature_rule(self, words: Sequence[str], classes: Sequence[Label]) -> FeatureRule:
        """How texts are read; `words` of the dictionary and `classes` are the model's."""
        labels = tuple(self.label_names(classes))
        kept = None if self.kept is None else dict(self.kept.tolist())
        return FeatureRule(tuple(words), labels, self.bucket, self.minn, self.maxn, self.word_ngrams, kept)

    def label_names(self, classes: Sequence[Label]) -> list[str]:
        """The labels as fastText writes them, in its order."""
        return [f"{self.prefix}{classes[number]}" for number in self.places.tolist()]

    def raw(self, mean: Floats) -> Singles:
        """Outputs (n, n_labels) of means of rows (n, n_columns)."""
        if self.output is None:
            return mean.astype(np.float32)
        product = mean.astype(np.float32) @ self.output.T
        return product if self.output_scale is None else product * self.output_scale

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents given as counts of features X (n_docs, n_rows): words, then hashed n-grams."""
        if X.shape[1] != len(self.dense_rows):
            raise BadData("a fastText model needs texts, but rows of counts came; give texts")
        totals = np.maximum(np.asarray(X.sum(axis=1), np.float64), 1)
        return self.outputs.scores(self.raw(np.asarray(X @ self.dense_rows, np.float64) / totals[:, None]))

    def text_reader(self, vocabulary: Vocabulary, classes: tuple[Label, ...], n_jobs: int | None) -> Any:
        """The reader of texts, because fastText has its own rules for words, hashes and n-grams."""
        from unnaive.models.fasttext.score_texts import FastTextDocuments

        return FastTextDocuments(self, vocabulary, classes, n_jobs)

    def contributions(self, document: Sparse, chosen: int, rival: int | None) -> Contributions:
        """The contribution of each feature; for hierarchical softmax, which is not a sum, the loss without it."""
        rows = self.dense_rows[document.indices].astype(np.float64)
        counts = np.asarray(document.data, np.float64)
        total, n = counts @ rows, max(counts.sum(), 1.0)
        if self.loss != "hs":
            weights = self._by_class(self.raw(rows * (counts / n)[:, None]).astype(np.float64))
            values: Floats = weights[:, chosen] - self._reference(weights, rival)
            return Contributions(0.0, values)
        means = np.vstack([total / n, (total - counts[:, None] * rows) / np.maximum(n - counts, 1.0)[:, None]])
        leaves = self._by_class(self.outputs.log_values(self.raw(means)).astype(np.float64))
        lead = leaves[:, chosen] - self._reference(leaves, rival)
        loss: Floats = lead[0] - lead[1:]
        return Contributions(float(lead[0] - loss.sum()), loss, exact=False)

    def check_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Raise an error if folded rows of a word and its character n-grams might add up to infinity in float32."""
        super().check_vocabulary(vocabulary)
        if not self.folded or not self.maxn:
            return
        longest = int(np.diff(vocabulary.to_arrays()[1][: self.n_words + 1]).max(initial=0)) + 2  # with < and >
        n_features = 1 + longest * max(0, self.maxn - max(self.minn, 1) + 1)
        largest = largest_product(self.rows, self.step)  # type: ignore[arg-type]  # folded rows are not quantised
        check_finite(np.array([n_features * largest]), LARGEST_WORD)

    def _by_class(self, values: Floats) -> Floats:
        out = np.empty_like(values)
        out[:, self.places] = values
        return out

    def reading(self) -> dict[str, Any]:
        """fastText's options for reading texts, and its loss."""
        return {"loss": self.loss, "minn": self.minn, "maxn": self.maxn, "wordNgrams": self.word_ngrams}

    def strongest_terms(self, chosen: int, frequency: Floats | None, limit: int) -> list[tuple[int, float]]:
        """The strongest words of a class: the score of a text with only that row, above the mean of classes.

        Empty for hierarchical softmax, which has weights of the nodes of a tree and none of labels.
        """
        label = int(np.flatnonzero(self.places == chosen)[0])
        if self.loss == "hs":
            return []
        if self.output is None:
            words = self.dense_rows[: self.n_words]
            lead = words[:, label] - (self._mean_outputs if self.meaning.exclusive else 0.0)
        else:
            output = self.output if self.output_scale is None else self.output * self.output_scale[:, None]
            weights = output[label] - (output.mean(axis=0) if self.meaning.exclusive else 0.0)
            lead = self.dense_rows[: self.n_words] @ weights
        order = np.argsort(-lead, kind="stable")[:limit]
        return [(int(column), float(lead[column])) for column in order if lead[column] > 0]

    @lazy_property
    def _mean_outputs(self) -> Singles:
        return np.asarray(self.dense_rows[: self.n_words].mean(axis=1))

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and settings; quantised rows stay quantised."""
        arrays: Arrays = {"label_counts": self.label_counts, "places": self.places}
        settings: dict[str, Any] = {
            "loss": self.loss, "n_words": self.n_words, "bucket": self.bucket, "minn": self.minn, "maxn": self.maxn,
            "word_ngrams": self.word_ngrams, "prefix": self.prefix,
        }  # fmt: skip
        if isinstance(self.rows, QuantisedMatrix):
            arrays |= {"codes": self.rows.codes, "centroids": self.rows.centroids}
            settings |= {"width": self.rows.width, "dim": self.rows.n_columns}
            if self.rows.norm_codes is not None and self.rows.norms is not None:
                arrays |= {"norm_codes": self.rows.norm_codes, "norms": self.rows.norms}
        else:
            arrays["rows"] = self.rows
        for name in ("output", "output_scale", "step", "kept"):
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """The inverse of `to_arrays`; every value is checked."""
        quantised = "codes" in arrays
        check_keys(settings, *SETTINGS, *(("width", "dim") if quantised else ()))
        if settings["loss"] not in LOSSES.values() or not isinstance(settings["prefix"], str):
            raise BadModel("its loss or its label prefix is unknown; import it again")
        whole = {name: read_whole(settings[name], name, most=most) for name, most in WHOLE.items()}
        sizes = check_rules(arrays, _rules(arrays))
        rows: Any = arrays.get("rows")
        if quantised:
            rows = _quantised_rows(arrays, settings, sizes)
        scorer = cls(
            loss=settings["loss"], rows=rows, output=_single(arrays, "output"),
            output_scale=_single(arrays, "output_scale"), step=_single(arrays, "step"),
            label_counts=arrays["label_counts"].astype(np.int64), places=arrays["places"].astype(np.int64),
            kept=arrays["kept"].astype(np.int32) if "kept" in arrays else None, prefix=settings["prefix"], **whole,
        )  # fmt: skip
        _check_bounds(scorer)
        _check_fit(scorer, sizes["rows"])
        return scorer


SETTINGS = ("loss", "n_words", "bucket", "minn", "maxn", "word_ngrams", "prefix")
WHOLE = {"n_words": 2**31 - 1, "bucket": 2**31 - 1} | dict.fromkeys(("minn", "maxn", "word_ngrams"), LONGEST_GRAM)


def _rules(arrays: Arrays) -> Rules:
    """The rules for the arrays that are there: rows quantised, of whole numbers or of fractions; folded or not."""
    factored = "output" in arrays or "codes" in arrays
    largest = LARGEST if factored else LARGEST_SUM
    weight: dict[str, Any] = {"least": -largest, "most": largest}
    rules: dict[str, Any] = {
        "label_counts": ArrayRule("whole", ("labels",), least=0, most=LARGEST_COUNT - 1),
        "places": ArrayRule("whole", ("labels",), least=0, below="labels"),
        "kept": ArrayRule("whole", ("kept", 2), least=0, most=2**31 - 1, optional=True),
    }
    columns = "labels"
    if factored:
        columns = "dim"
        rules["output"] = ArrayRule("float", ("labels", "dim"), **weight)
        rules["output_scale"] = ArrayRule("float", ("labels",), **weight, optional=True)
    if "codes" in arrays:
        rules["codes"] = ArrayRule("byte", ("rows", "parts"))
        rules["centroids"] = ArrayRule("float", ("centroids",), **weight)
        if "norm_codes" in arrays or "norms" in arrays:
            rules["norm_codes"] = ArrayRule("byte", ("rows",))
            rules["norms"] = ArrayRule("float", (256,), **weight)
    elif "step" in arrays:
        rules["rows"] = ArrayRule("short", ("rows", columns))
        rules["step"] = ArrayRule("float", (columns,), least=0, most=largest)
    else:
        rules["rows"] = ArrayRule("float", ("rows", columns), **weight)
    return rules


def _check_bounds(scorer: FastTextScorer) -> None:
    """Raise an error if a weight times its scale or step is too large."""
    if scorer.output is not None:
        check_finite(np.array([largest_product(scorer.output, scorer.output_scale)]))
    if scorer.step is not None:  # steps are rounded, so the largest restored value may be slightly larger
        largest = LARGEST_SUM if scorer.folded else LARGEST
        check_finite(np.array([largest_product(scorer.rows, scorer.step)]), 1.001 * largest)  # type: ignore[arg-type]


def _single(arrays: Arrays, name: str) -> Singles | None:
    return np.ascontiguousarray(arrays[name], np.float32) if name in arrays else None


def _quantised_rows(arrays: Arrays, settings: dict[str, Any], sizes: dict[str, int]) -> QuantisedMatrix:
    """Product-quantised rows; raise an error if their sizes do not match."""
    dim = read_whole(settings["dim"], "dim", least=1, most=LARGEST_DIM)
    width = read_whole(settings["width"], "width", least=1, most=dim)
    if dim != sizes["dim"] or sizes["parts"] != -(-dim // width) or sizes["centroids"] != 256 * dim:
        raise BadModel("the sizes of its quantised rows do not match; import it again")
    return QuantisedMatrix(
        arrays["codes"], arrays["centroids"].astype(np.float32), width, dim, arrays.get("norm_codes"),
        _single(arrays, "norms"),
    )  # fmt: skip


def _check_fit(scorer: FastTextScorer, n_rows: int) -> None:
    """Raise an error if the numbers of labels, n-grams and rows do not match."""
    if sorted(scorer.places.tolist()) != list(range(scorer.n_classes)) or not scorer.n_classes:
        raise BadModel("its labels and classes do not match; import it again")
    has_grams = scorer.maxn > 0 or scorer.word_ngrams > 1
    if scorer.kept is not None:
        n_grams = int(scorer.kept[:, 1].max(initial=-1)) + 1
    else:
        n_grams = scorer.bucket if has_grams else 0
    if scorer.n_words + n_grams > n_rows or (has_grams and not scorer.bucket):
        raise BadModel("it has fewer rows than words and n-grams; import it again")
    if scorer.loss == "hs":
        huffman_tree(scorer.label_counts)
