"""PortableFastText: an imported fastText model as plain values, which the targets js and c write."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from unnaive import __version__
from unnaive.interop.export.conformance import TOLERANCE_OF_SINGLES, EngineAgreement
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.javascript import check_javascript, encode_numbers, package_files
from unnaive.learning.decisions import Argmax, Thresholds
from unnaive.learning.fitted import FittedModel
from unnaive.models.fasttext.features import TOKENS
from unnaive.models.fasttext.matrices import QuantisedMatrix
from unnaive.models.fasttext.scorer import FastTextScorer

RUNTIME = files("unnaive.interop.export")


@dataclass(frozen=True, eq=False)
class PortableFastText:
    """An imported fastText model, with its decision.

    words       the words of its dictionary, by row; "" for a word that no text can have
    skipped     labels without the usual prefix, which are left out of texts
    thresholds  of a multilabel model the least score of each class; else None
    """

    name: str
    title: str
    classes: tuple[str, ...]
    scorer: FastTextScorer
    words: list[str]
    skipped: list[str]
    thresholds: tuple[float, ...] | None


def portable_fasttext(fitted: FittedModel) -> PortableFastText:
    """The imported fastText model as plain values; an error if it cannot be exported."""
    scorer, decision, vocabulary = fitted.scorer, fitted.decision, fitted.vocabulary
    if not isinstance(scorer, FastTextScorer) or vocabulary is None:
        raise CannotExport(f"{fitted.spec.model.traits.title} is not an imported fastText model; use portable_model")
    fits = isinstance(decision, Argmax) or (
        isinstance(decision, Thresholds) and decision.on == "scores" and not decision.at_least_one
    )
    if not fits or fitted.calibration is not None:
        raise CannotExport("this imported fastText model has another decision or calibration than fastText's, which "
                           "cannot be exported; import it again")  # fmt: skip
    return PortableFastText(
        name=fitted.spec.model.traits.name,
        title=fitted.spec.model.traits.title,
        classes=tuple(str(label) for label in fitted.classes),
        scorer=scorer,
        words=[word if TOKENS.fullmatch(word) else "" for word in vocabulary.terms],
        skipped=scorer.label_names(fitted.classes) if scorer.prefix == "" else [],
        thresholds=decision.values if isinstance(decision, Thresholds) else None,
    )


def write_fasttext_javascript(model: PortableFastText) -> dict[str, bytes]:
    """The files of the export by name."""
    data = json.dumps(_values(model), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    runtime = (RUNTIME / "fasttext.js").read_text(encoding="utf-8")
    module = runtime.replace("/*MODEL*/", f"const MODEL = {data};", 1)
    return package_files(module, (RUNTIME / "fasttext.d.ts").read_bytes())


def _values(model: PortableFastText) -> dict[str, Any]:
    scorer = model.scorer
    stored = stored_arrays(scorer)
    return {
        "about": {
            "name": model.name, "title": model.title, "version": __version__, "loss": scorer.loss, "link": scorer.link,
            "multilabel": model.thresholds is not None,
        },
        "classes": list(model.classes), "multilabel": model.thresholds is not None, "loss": scorer.loss,
        "thresholds": None if model.thresholds is None else list(model.thresholds),
        "places": scorer.places.tolist(), "nWords": scorer.n_words, "bucket": scorer.bucket, "minn": scorer.minn,
        "maxn": scorer.maxn, "wordNgrams": scorer.word_ngrams, "width": scorer.dense_rows.shape[1],
        "partWidth": scorer.rows.width if isinstance(scorer.rows, QuantisedMatrix) else 0,
        **{name: None if values is None else encode_numbers(kind, values) for name, (kind, values) in stored.items()},
        "skipped": model.skipped, "words": "\n".join(model.words),
    }  # fmt: skip


def stored_arrays(scorer: FastTextScorer) -> dict[str, tuple[str, NDArray[Any] | None]]:
    """The arrays of a model by name, each with its number type; None for an array that this model does not have.

    rows are of float32 or whole multiples of step, or there are the codes of a product quantiser.
    """
    rows, step = scorer.rows, scorer.step
    arrays: dict[str, tuple[str, NDArray[Any] | None]] = dict.fromkeys(("codes", "normCodes"), ("u8", None))
    arrays |= dict.fromkeys(("rows", "centroids", "norms"), ("f32", None))
    if isinstance(rows, QuantisedMatrix):
        arrays |= {"codes": ("u8", rows.codes), "normCodes": ("u8", rows.norm_codes)}
        arrays |= {"centroids": ("f32", rows.centroids), "norms": ("f32", rows.norms)}
    else:
        arrays["rows"] = "f32" if step is None else {1: "i8", 2: "i16"}[rows.dtype.itemsize], rows
    return arrays | {
        "step": ("f32", step),
        "output": ("f32", scorer.output),
        "outputScale": ("f32", scorer.output_scale),
        "children": ("i32", scorer.outputs.children if scorer.loss == "hs" else None),
        "kept": ("i32", scorer.kept),
    }


def check_fasttext_javascript(folder: Path, lines: list[str]) -> list[EngineAgreement]:
    """Run the module in Node on the conformance file; 32-bit logarithms may differ in the last bit."""
    return check_javascript(folder, lines, TOLERANCE_OF_SINGLES)
