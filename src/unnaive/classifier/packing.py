"""A model as arrays and a description, the content of its file; and back, with every value checked.

`pack` returns arrays, each with a name such as "scorer.weights" or "vocabulary.bytes", and a dict for JSON with
everything else; `unpack` restores the model. model_file.py writes them to a file.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadModel, UnnaiveError, UnnaiveWarning, choose
from unnaive.base.mapped_file import MappedFile
from unnaive.base.registry import OURS
from unnaive.base.types import Arrays
from unnaive.classifier.description import check_description, check_parts
from unnaive.data.arrays import FLOATS, StoredMatrix, read_stored, stored
from unnaive.data.counts import Counts, is_part
from unnaive.data.document_register import Register
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.named_counts import NamedCounts
from unnaive.data.packed_documents import PackedDocuments, pack_documents
from unnaive.data.source_section import SourceSection
from unnaive.data.targets import TARGET_TYPES, sorted_classes
from unnaive.data.text_hashes import TextHashes
from unnaive.learning.calibration import Calibration, calibration_from_dict
from unnaive.learning.conformal import ConformalScores
from unnaive.learning.decisions import Argmax, Decision, decision_from_dict
from unnaive.learning.fitted import FittedModel
from unnaive.learning.followed import Followed
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.learnt import Provenance
from unnaive.learning.spec_checks import check_spec
from unnaive.linear.links import LINKS
from unnaive.linear.scorer import Scorer
from unnaive.models.catalogue import find_model, make_model, package_of
from unnaive.models.estimator import Model
from unnaive.text.tokens import BORDERS, TokenRule
from unnaive.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from unnaive.data.word_vectors import WordVectors

LARGEST_COUNT = {"f": 2.0**1000, "i": 2**62, "u": 2**62}  # by kind of dtype; infinity is not allowed
MOST_WHOLE = 2.0**53  # whole numbers below it are exact in float64
GIVEN = "given"  # instead of a tuning: the decision was set by the user, and survives updates


# Kinds of scorers and their classes, imported when a file has one, so that predicting starts quickly.
SCORERS = {
    "linear": "unnaive.linear.linear:Linear",
    "noisy-or": "unnaive.models.or_gate:NoisyOr",
    "blend": "unnaive.models.blend:Blend",
    "diagnostic-networks": "unnaive.models.diagnostic:DiagnosticNetworks",
    "fasttext": "unnaive.models.fasttext.scorer:FastTextScorer",
    "feature-trees": "unnaive.models.tan:FeatureTrees",
    "hidden-networks": "unnaive.models.hierarchical.hidden_networks:HiddenNetworks",
    "label-tree": "unnaive.models.label_tree.scorer:LabelTreeScorer",
    "neighbours": "unnaive.models.neighbours:Neighbours",
    "paths": "unnaive.models.higher_order.path_scorer:PathScorer",
    "pool": "unnaive.linear.sum_of_linears:SumOfLinears",
    "trees": "unnaive.models.trees:Trees",
    "unsmoothed": "unnaive.linear.unsmoothed:Unsmoothed",
}


def find_scorer(kind: str, model: type[Model] | None = None) -> type[Scorer]:
    """The class of a kind of scorer, that of the model itself if it has one; or an error that lists the kinds."""
    for scorer_class in model.traits.scorers if model is not None else ():
        if scorer_class.kind == kind:
            return scorer_class
    module, name = SCORERS[choose(list(SCORERS), kind, "scorer")].split(":")
    scorer: type[Scorer] = getattr(import_module(module), name)
    return scorer


def pack(fitted: FittedModel, *, frozen: bool = False) -> tuple[Arrays, dict[str, Any]]:
    """The arrays of a model, and a description of everything else for JSON."""
    if fitted.token_rule is None or fitted.vocabulary is None:
        raise UnnaiveError("only models that read texts can be saved; use TextClassifier")
    if fitted.file is not None:
        fitted.file.check()  # damaged arrays must not get new checksums
    counts = None if frozen else fitted.counts
    scorer = fitted.scorer.frozen() if frozen else fitted.scorer
    scorer_arrays, settings = scorer.to_arrays()
    arrays = {f"scorer.{name}": array for name, array in scorer_arrays.items()}
    arrays |= _pack_vocabulary("vocabulary", fitted.vocabulary)
    if counts is not None:
        arrays |= _pack_counts(counts, fitted.vocabulary)
    spec, recipe = fitted.spec, fitted.provenance.recipe
    package = package_of(spec.model)
    about = {
        "model": spec.model.traits.name,
        **({} if package == OURS else {"package": package}),
        "settings": {
            name: _plain(value, name) for name, value in spec.model.changed_settings().items() if name != "n_jobs"
        },
        "token_rule": fitted.token_rule.to_dict(),
        "training": {name: _plain(value, name) for name, value in spec.to_dict().items()},
        "classes": list(fitted.classes),
        "target_type": fitted.target_type,
        "decision": fitted.decision.to_dict(),
        "tuning": spec.decision if spec.decision is None or isinstance(spec.decision, str) else GIVEN,
        "calibration": fitted.calibration and fitted.calibration.to_dict(),
        "scorer": {"kind": scorer.kind, "settings": settings | ({"recipe": recipe} if recipe else {})},
        "counts": counts is not None,
        "source": fitted.source and fitted.source.content(),
    }
    if fitted.followed is not None and not frozen:
        about["followed"] = fitted.followed.to_dict()
    if spec.word_vectors is not None and not frozen:
        arrays |= {f"word_vectors.{name}": array for name, array in spec.word_vectors.to_arrays().items()}
        about["word_vectors"] = {"words": len(spec.word_vectors.words), "dimensions": spec.word_vectors.n_dims}
    if fitted.conformal is not None:
        tables, about["conformal"] = fitted.conformal.to_arrays()
        arrays |= {f"conformal.{name}": array for name, array in tables.items()}
    documents = None if frozen else _pack_documents(fitted)
    if documents is not None:
        arrays |= {f"documents.{name}": array for name, array in documents.arrays.items()}
        about["documents"] = documents.about
    if fitted.register is not None and (counts is not None or documents is not None):
        arrays["register"], about["register"] = fitted.register.hashes, fitted.register.to_dict()
    if fitted.text_hashes is not None and not frozen:
        arrays["text_hashes"] = fitted.text_hashes.values
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, about


def _pack_documents(fitted: FittedModel) -> PackedDocuments | None:
    """The documents as stored in a file; None, with a warning, if they exceed the limit."""
    documents, limit = fitted.documents, fitted.spec.documents_limit
    if documents is None or fitted.vocabulary is None or fitted.token_rule is None:
        return None
    if isinstance(documents, KeptDocuments):
        rule = fitted.token_rule
        grams = (*rule.char_ngrams, BORDERS[rule.char_borders]) if rule.analyzer != "word" else None
        documents = pack_documents(documents, fitted.vocabulary, exclusive=not fitted.multilabel, grams=grams)
    elif documents.verify is not None:
        documents.verify()
    if documents.nbytes <= limit:
        return documents
    less = "it cannot be updated" if fitted.counts is None else "updates drop its calibration and tuned decision"
    warnings.warn(
        f"the {documents.n_docs:,} counted documents need {documents.nbytes:,} bytes in the model file, more "
        f"than the limit of {limit:,}; the model is saved without them, so {less}; to keep them, raise "
        "documents_limit (--set documents-limit)",
        UnnaiveWarning,
        stacklevel=4,
    )
    return None


def _plain(value: Any, name: str) -> Any:
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    try:
        json.dumps(value)
    except TypeError as problem:
        raise UnnaiveError(
            f"the setting {name} is {value!r}, which cannot be stored; give numbers, strings, or lists and "
            "dicts of them"
        ) from problem
    return value


def _pack_vocabulary(name: str, vocabulary: Vocabulary) -> Arrays:
    blob, offsets = vocabulary.to_arrays()
    return {f"{name}.bytes": blob, f"{name}.offsets": narrow(offsets)}


def _pack_counts(named: NamedCounts, in_use: Vocabulary) -> Arrays:
    """Counts, and their vocabulary if it is larger than the one in use.

    Sums of weights that are all whole numbers are stored as integers: after documents with soft labels were forgotten,
    the file is the same as if they had never been learnt.
    """
    counts, vocabulary = named.counts, named.vocabulary
    same = vocabulary is None or vocabulary is in_use
    arrays: Arrays = {} if same else _pack_vocabulary("counts.vocabulary", vocabulary)  # type: ignore[arg-type]
    sums = {f"counts.{name}": np.atleast_1d(getattr(counts, name)) for name in ("n_docs", "class_docs", "terms", "df")}
    for name in ("class_terms", "class_df"):
        table = stored(counts, name)
        sums[f"counts.{name}.data"] = table.data
        for part in ("indices", "indptr"):
            arrays[f"counts.{name}.{part}"] = narrow(getattr(table, part))
    if all(map(_is_whole, sums.values())):
        sums = {name: values.astype(np.int64) for name, values in sums.items()}
    return arrays | {name: narrow(values) for name, values in sums.items()}


def _is_whole(values: NDArray[Any]) -> bool:
    """Whether all values are whole numbers that float64 has exactly."""
    if values.dtype.kind in "iu" or not values.size:
        return True
    return bool(np.abs(values).max() < MOST_WHOLE and (values == np.rint(values)).all())


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Nonnegative integers in the smallest type; others unchanged.

    >>> narrow(np.array([1, 300])).dtype, narrow(np.array([0.5])).dtype
    (dtype('uint16'), dtype('float64'))
    """
    if values.dtype.kind not in "iu":
        return values
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _is_utf8(label: Any) -> bool:
    """Whether a label can be written to a file; half a surrogate pair cannot."""
    try:
        str(label).encode()
    except UnicodeEncodeError:
        return False
    return True


def unpack(
    arrays: Arrays,
    about: dict[str, Any],
    *,
    file: MappedFile | None = None,
    verify_documents: Callable[[], None] | None = None,
) -> FittedModel:
    """The model from the result of `pack`, with every value checked; errors may be plain KeyErrors.

    `file` is the file of mapped arrays. `verify_documents` raises if the documents, which are read on demand, are not
    those that were written.
    """
    check_description(about)
    model_class = find_model(about["model"], about.get("package", OURS))
    check_parts(model_class, about, arrays)
    vocabulary = _vocabulary(arrays, "vocabulary")
    classes = about["classes"]
    if list(sorted_classes(classes)) != classes or not classes:
        raise BadModel("its classes are not a sorted list of distinct labels; train it again")
    if not all(_is_utf8(label) for label in classes):
        raise BadModel("the name of a class has half of a surrogate pair, which UTF-8 cannot encode; rename that label")
    settings = dict(about["scorer"]["settings"])
    recipe = settings.pop("recipe", {})
    scorer = _scorer(arrays, about["scorer"]["kind"], settings, model_class)
    if scorer.n_classes != len(classes):
        raise BadModel("its scorer does not fit its classes; train it again")
    scorer.check_vocabulary(vocabulary)
    choose(list(LINKS), scorer.link, "link")
    decision = decision_from_dict(about["decision"])
    if not isinstance(decision, Argmax):
        decision.decide(np.zeros((1, len(classes))))  # raises an error for the wrong number of classes
    target_type = choose(list(TARGET_TYPES), about["target_type"], "type of target")
    counts = _counts(arrays, tuple(classes), vocabulary) if about["counts"] else None
    documents = _documents(
        arrays, about.get("documents"), tuple(classes), vocabulary, exclusive=target_type == "single",
        verify=verify_documents,
    )  # fmt: skip
    spec = replace(_spec(model_class, about, decision), word_vectors=_vectors(arrays, about.get("word_vectors")))
    spec.model.check_recipe(recipe, len(classes))
    return FittedModel(
        spec=spec,
        classes=tuple(classes),
        target_type=target_type,
        scorer=scorer,
        decision=decision,
        calibration=_calibration(about["calibration"], exclusive=target_type == "single", n_classes=len(classes)),
        token_rule=TokenRule.from_dict(about["token_rule"]),
        vocabulary=vocabulary,
        counts=counts,
        documents=documents,
        register=_register(arrays, about, counts if counts is not None else documents),
        text_hashes=TextHashes.from_file(arrays["text_hashes"]) if "text_hashes" in arrays else None,
        source=None if about.get("source") is None else SourceSection.of(about["source"]),
        followed=Followed.from_dict(about.get("followed")),
        conformal=_conformal(arrays, about.get("conformal"), len(classes)),
        provenance=Provenance(recipe),
        file=file,
    )


def _calibration(stored: Any, *, exclusive: bool, n_classes: int) -> Calibration | None:
    if stored is None:
        return None
    calibration = calibration_from_dict(stored)
    if calibration.exclusive != exclusive or calibration.n_classes not in (None, n_classes):
        raise BadModel("its calibration is for another kind of labels; train it again")
    return calibration


def _conformal(arrays: Arrays, stored: Any, n_classes: int) -> ConformalScores | None:
    if stored is None:
        return None
    optional = [name for name in ("several", "novelty", "mean_p", "right", "wrong") if f"conformal.{name}" in arrays]
    names = ("overall", "by_class", *optional)
    tables = {name: arrays[f"conformal.{name}"] for name in names}
    return ConformalScores.from_arrays(tables, stored, n_classes)


def _spec(model_class: type[Model], about: dict[str, Any], decision: Decision) -> TrainingSpec:
    """The model with its settings, and how it was trained."""
    model = make_model(model_class, dict(about["settings"]))
    tuning = decision if about["tuning"] == GIVEN else about["tuning"]
    spec = TrainingSpec.from_dict(model, about["training"], decision=tuning)
    check_spec(spec)
    return spec


def _vectors(arrays: Arrays, stored: Any) -> WordVectors | None:
    if stored is None:
        return None
    from unnaive.data.word_vectors import WordVectors

    tables = {
        name.removeprefix("word_vectors."): array for name, array in arrays.items() if name.startswith("word_vectors.")
    }
    vectors = WordVectors.from_arrays(tables)
    if stored != {"words": len(vectors.words), "dimensions": vectors.n_dims}:
        raise BadModel("its number of word vectors is not the one in its description; train it again")
    return vectors


def _vocabulary(arrays: Arrays, name: str) -> Vocabulary:
    return Vocabulary.from_arrays(arrays[f"{name}.bytes"], arrays[f"{name}.offsets"])


def _scorer(arrays: Arrays, kind: str, settings: dict[str, Any], model: type[Model]) -> Scorer:
    tables = {key.removeprefix("scorer."): array for key, array in arrays.items() if key.startswith("scorer.")}
    return find_scorer(kind, model).from_arrays(tables, settings)


def _counts(arrays: Arrays, classes: tuple[Any, ...], in_use: Vocabulary) -> NamedCounts:
    vocabulary = _vocabulary(arrays, "counts.vocabulary") if "counts.vocabulary.bytes" in arrays else in_use
    shape = (len(classes), len(vocabulary))
    counts = Counts(
        n_docs=_numbers(arrays, "n_docs", 1)[0],
        class_docs=_numbers(arrays, "class_docs", shape[0]),
        class_terms=_table(arrays, "class_terms", shape),
        class_df=_table(arrays, "class_df", shape),
        terms=_numbers(arrays, "terms", shape[1]),
        df=_numbers(arrays, "df", shape[1]),
    )
    _check_sums(counts)
    return NamedCounts(classes, vocabulary, counts)


def _check_sums(counts: Counts) -> None:
    """Raise an error if a class has more occurrences of a term than the corpus.

    Document counts are not compared: forgetting documents that were never learnt may leave fewer documents than a
    term has.
    """
    for name, whole in (("class_terms", counts.terms), ("class_df", counts.df)):
        table = stored(counts, name)
        if not is_part(table.data, whole[table.indices]):
            raise BadModel(f"its counts of {name} are more than those of the corpus; train it again")


def _documents(
    arrays: Arrays, about: Any, classes: tuple[Any, ...], in_use: Vocabulary, *, exclusive: bool,
    verify: Callable[[], None] | None,
) -> PackedDocuments | None:  # fmt: skip
    """The compressed documents; they are read when an update needs them."""
    if about is None:
        return None
    tables = {name.removeprefix("documents."): array for name, array in arrays.items() if name.startswith("documents.")}
    return PackedDocuments.from_file(tables, about, classes, in_use, exclusive=exclusive, verify=verify)


def _register(
    arrays: Arrays, about: dict[str, Any], statistic: NamedCounts | PackedDocuments | None
) -> Register | None:
    if "register" not in about:
        return None
    if statistic is None:
        raise BadModel("it has a register and neither counts nor documents; train it again")
    return Register.from_file(arrays["register"], about["register"], statistic.n_docs)


def _numbers(arrays: Arrays, name: str, size: int) -> NDArray[Any]:
    values = arrays[f"counts.{name}"]
    sound = values.dtype in FLOATS or values.dtype.kind in "iu"
    if (
        values.shape != (size,)
        or not sound
        or not bool(np.all((values >= 0) & (values < LARGEST_COUNT[values.dtype.kind])))
    ):
        raise BadModel(f"its counts of {name} do not fit; train it again")
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _table(arrays: Arrays, name: str, shape: tuple[int, int]) -> StoredMatrix:
    table = read_stored(arrays, f"counts.{name}", shape)
    whole = table.data.dtype.kind in "iu"
    sound = bool(np.all((table.data > 0) & (table.data < LARGEST_COUNT[table.data.dtype.kind]))) and table.in_order
    if not sound:
        raise BadModel(f"its counts of {name} are damaged; train it again")
    return replace(table, data=table.data.astype(np.int64 if whole else np.float64))
