"""What must hold of every model after every verb, and of what went into it."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from support.values import writeable_arrays

from statemachine.data import CLASSES, MISSPELT, NOTHING_KNOWN, WORDS, Model, train
from unnaive import TextClassifier, TokenRule
from unnaive.classifier.model_file import load_model
from unnaive.classifier.receipts import model_hash
from unnaive.learning.tuned_models import TUNED_FROM
from unnaive.text.vocabulary import Vocabulary

PROBES = ["ball goal", "vote ball law law", "soup 42", " ".join(WORDS), *NOTHING_KNOWN]


def fingerprint(model: Model) -> str:
    """A hash of all that was learnt: of the file that the model would have, and of documents that no file can hold."""
    fitted = model.fitted
    if model.entrance == "texts":
        return model_hash(fitted)
    kept = b""
    if fitted.documents is not None:
        table = fitted.documents.X
        kept = b"".join(part.tobytes() for part in (table.data, table.indices, table.indptr))
    words = Vocabulary([f"word{number}" for number in range(fitted.scorer.n_terms)])
    named = replace(fitted, token_rule=TokenRule(), vocabulary=words, documents=None)
    return hashlib.sha256(model_hash(named).encode() + kept).hexdigest()


@contextmanager
def unchanged(*inputs: Any) -> Iterator[None]:
    """What went into a verb is the same afterwards, whether it succeeded or not: models, texts, labels."""
    models = [one for one in inputs if isinstance(one, Model)]
    others = [one for one in inputs if not isinstance(one, Model)]
    before, copies = [fingerprint(one) for one in models], copy.deepcopy(others)
    try:
        yield
    finally:
        assert [fingerprint(one) for one in models] == before, "a verb changed the model that it started from"
        assert others == copies, "a verb changed what was handed in"


def check_model(model: Model, folder: Path) -> None:
    """Everything that must hold of a model by itself."""
    made = model.open()
    rows = model.rows(PROBES)
    scores = made.scores(rows)
    assert scores.shape == (len(PROBES), len(made.classes_))
    assert not np.isnan(scores).any()
    assert set(made.classes_.tolist()) <= {*CLASSES, *MISSPELT.values()}
    check_labels(model, made, rows)
    check_probabilities(model, made, rows)
    assert writeable_arrays(model.fitted) == {}
    if model.entrance == "texts":
        check_file(model, made, folder)


def check_labels(model: Model, made: Any, rows: Any) -> None:
    """A document by itself gets the labels that it gets among others; `explain` explains the first of them."""
    together = made.predict(rows)
    by_best_score = made.scores(rows).argmax(axis=1)
    for place in range(len(PROBES)):
        document = PROBES[place] if model.entrance == "texts" else rows[[place]]
        alone = made.predict([document] if model.entrance == "texts" else document)[0]
        labels = list(alone) if model.multilabel else [alone]
        given = list(together[place]) if model.multilabel else [together[place]]
        assert labels == given
        explanation = made.explain(document)
        expected = labels[0] if labels else made.classes_[by_best_score[place]]
        assert explanation.label == expected, f"{PROBES[place]!r}: predicted {labels}, explained {explanation.label}"
        sum_of_evidence = explanation.base + sum(one.value for one in explanation.evidence)
        np.testing.assert_allclose(explanation.score, sum_of_evidence, rtol=1e-9, atol=1e-9)


def check_probabilities(model: Model, made: Any, rows: Any) -> None:
    """Probabilities are finite, between 0 and 1, and of one label each they sum to one."""
    assert hasattr(made, "predict_proba") == model.fitted.probabilistic
    if not model.fitted.probabilistic:
        return
    p, log_p = made.predict_proba(rows), made.predict_log_proba(rows)
    assert np.isfinite(p).all()
    assert ((p >= 0) & (p <= 1)).all()
    assert not np.isnan(log_p).any()
    np.testing.assert_allclose(np.exp(log_p), p, rtol=1e-9, atol=1e-12)
    if not model.multilabel:
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)


def check_file(model: Model, made: Any, folder: Path) -> None:
    """The file comes back as the same bytes, loaded or mapped, and predicts the same."""
    first, again = folder / "first.model", folder / "again.model"
    made.save(first)
    for mapped in (False, True):
        back = TextClassifier.from_fitted(load_model(first, mapped=mapped))
        back.save(again)
        assert again.read_bytes() == first.read_bytes(), f"the file changed when it was loaded, mapped={mapped}"
        assert str(back.predict(PROBES)) == str(made.predict(PROBES))
        np.testing.assert_array_equal(back.scores(PROBES), made.scores(PROBES))


def check_made_of_documents(model: Model) -> None:
    """Whatever led there, the model is the one that training on its documents gives, bit for bit."""
    if not model.documents or model.changed or holds_to_before(model):
        return
    rows = sorted(model.documents.elements())
    classes = {label for _, labels in rows for label in labels}
    if not model.multilabel and len(classes) < 2:
        return  # updates may leave one class, and fit refuses it
    if model.entrance == "counts" and classes != set(model.fitted.classes):
        return  # an estimator keeps classes of which it has no document any more
    registered = model.fitted.register is not None
    anew = train(model.name, model.entrance, model.options, rows, multilabel=model.multilabel, registered=registered)
    assert fingerprint(anew) == fingerprint(model), f"not what training on {rows} gives"


def holds_to_before(model: Model) -> bool:
    """Whether it keeps a choice of other documents, or what needs held-out documents is gone because it kept none."""
    spec, fitted = model.fitted.spec, model.fitted
    if spec.model.traits.statistic == "documents":
        return fitted.choice_kept
    n_docs = sum((model.documents or {}).values())
    tuned = spec.calibration is not None or (model.multilabel and n_docs >= TUNED_FROM)
    return tuned and fitted.documents is None
