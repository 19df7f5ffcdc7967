"""A fastText file → an ordinary model: input and output are folded into one weight for each feature and class.

The score of a class is linear in the features: output_c · mean of rows = mean of (output_c · row). If there are no more
labels than dimensions, that product is computed once, here, and only the product is stored. With more labels the two
factors are smaller, so they are stored instead. Factors are also stored for a quantised input, which the product would
enlarge, and for the losses one-vs-all and negative sampling: fastText ranks their labels by a table of 512 steps, so
the rounding of a product can change the predicted label.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unnaive.base.errors import BadModel
from unnaive.base.types import Singles
from unnaive.data.targets import sorted_classes
from unnaive.learning.decisions import Argmax, Decision, Thresholds
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.models.catalogue import make_model
from unnaive.models.fasttext.binary_file import FastTextFile, read_fasttext_file
from unnaive.models.fasttext.features import PREFIX
from unnaive.models.fasttext.matrices import LARGEST_SUM, QuantisedMatrix, check_finite
from unnaive.models.fasttext.scorer import FastTextScorer
from unnaive.text.token_rule import TokenRule
from unnaive.text.vocabulary import Vocabulary

TABLE_LOSSES = ("ova", "ns")  # a sigmoid for each label, which fastText reads from a table


def import_fasttext(path: str | Path, *, multilabel: bool = False, fold: bool | None = None) -> FittedModel:
    """The classifier in a .bin or .ftz file of fastText.

    Its decisions are fastText's. With `multilabel`, for models trained with the loss ova or ns, a text gets every label
    with a probability of at least one half. The model cannot learn more or forget, because the file has weights but no
    documents.

    fold  whether input and output are multiplied once, here; by default (None) for the losses softmax and hs, if there
          are no more labels than dimensions and the input is not quantised. Decisions are the same either way, except
          for ties in float32 (one text in some millions) and, with ova and ns, for one text in some 50,000 whose best
          output lies at a step of the table. Outputs that are not folded equal fastText's to the last bit; folded ones
          differ by float32 rounding, in probabilities by up to 3e-6 for long texts.
    """
    file = read_fasttext_file(path)
    try:
        return fasttext_model(file, multilabel=multilabel, fold=fold)
    except BadModel as problem:
        words = str(problem)
        raise BadModel(words if words.startswith(str(path)) else f"{path}: {words}") from None
    except MemoryError as problem:
        raise BadModel(
            f"{path}: there is not enough memory for its weights; quantise it with fastText first"
        ) from problem


def fasttext_model(file: FastTextFile, *, multilabel: bool = False, fold: bool | None = None) -> FittedModel:
    """The model of a file that was read; see `import_fasttext`."""
    if not file.supervised:
        raise BadModel(
            "it has word vectors but no classifier; give a supervised model, or use the vectors with --word-vectors"
        )
    if multilabel and file.loss not in TABLE_LOSSES:
        raise BadModel(f"its loss is {file.loss}, whose labels exclude each other; leave multilabel out")
    names, prefix = _class_names(file.labels)
    classes = sorted_classes(names)
    class_number = {label: i for i, label in enumerate(classes)}
    folds = _is_better_folded(file) if fold is None else fold
    scorer = _scorer(file, np.array([class_number[name] for name in names], np.int64), prefix, folds)
    vocabulary = Vocabulary(_distinct_words(file.words))
    scorer.check_vocabulary(vocabulary)
    decision: Decision = Thresholds((0.0,) * len(classes)) if multilabel else Argmax()
    return FittedModel(
        spec=TrainingSpec(make_model("fasttext", {}), decision=decision if multilabel else None),
        classes=classes,
        target_type="sets" if multilabel else "single",
        scorer=scorer,
        decision=decision,
        token_rule=TokenRule(language=None, lowercase=False, min_length=1),
        vocabulary=vocabulary,
    )


def _is_better_folded(file: FastTextFile) -> bool:
    """Whether one weight for each feature and label is smaller than the factors and gives the same decisions."""
    smaller = len(file.labels) <= file.settings["dim"] and not isinstance(file.input, QuantisedMatrix)
    return smaller and file.loss not in TABLE_LOSSES


def _class_names(labels: list[bytes]) -> tuple[list[str], str]:
    """The labels without fastText's prefix, if all of them have it."""
    try:
        names = [label.decode() for label in labels]
    except UnicodeDecodeError:
        raise BadModel("one of its labels is not UTF-8; train it on a file in UTF-8") from None
    prefix = PREFIX if all(name.startswith(PREFIX) and name != PREFIX for name in names) else ""
    names = [name.removeprefix(prefix) for name in names]
    if len(set(names)) != len(names) or "" in names:
        raise BadModel("it has a repeated or an empty label; it is damaged, save it again")
    return names, prefix


def _distinct_words(words: list[bytes]) -> list[str]:
    """The words as text, by row.

    A word that no text can match, because it is not UTF-8 or is repeated later, is replaced by a space and its row
    number: tokens have no spaces, so it is never matched.
    """
    places = {word: row for row, word in enumerate(words)}
    distinct = []
    for row, word in enumerate(words):
        try:
            text = word.decode()
        except UnicodeDecodeError:
            text = ""
        distinct.append(text if text and places[word] == row else f" {row}")
    if len(set(distinct)) != len(distinct):
        raise BadModel("its dictionary has words that contain spaces; it is damaged, save it again")
    return distinct


def _scorer(file: FastTextFile, places: Any, prefix: str, folds: bool) -> FastTextScorer:
    settings = file.settings
    output, scale = file.output.unscaled, file.output.row_scale
    rows: Any
    if folds:
        rows, output_kept = _folded(file, output if scale is None else output * scale[:, None]), None
        scale = None
    else:
        rows = file.input if isinstance(file.input, QuantisedMatrix) else file.input.dense()
        output_kept = output
    has_grams = settings["maxn"] > 0 or settings["wordNgrams"] > 1
    return FastTextScorer(
        loss=file.loss, rows=rows, output=output_kept, output_scale=scale, step=None, label_counts=file.label_counts,
        places=places, n_words=len(file.words), bucket=settings["bucket"] if has_grams else 0, minn=settings["minn"],
        maxn=settings["maxn"], word_ngrams=settings["wordNgrams"], kept=file.kept if has_grams else None, prefix=prefix,
    )  # fmt: skip


def _folded(file: FastTextFile, output: Singles) -> Singles:
    """output · row for each row of the input (n_rows, n_labels), in blocks of rows."""
    folded = np.empty((file.input.shape[0], len(output)), np.float32)
    columns = output.astype(np.float64).T
    for start, rows in file.input.blocks():
        folded[start : start + len(rows)] = rows.astype(np.float64) @ columns
    return check_finite(folded, LARGEST_SUM)
