"""What the machine works on: random tiny documents, and models with how they are to be trained."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_array

from unnaive import FittedModel, TextClassifier, UnnaiveError
from unnaive.classifier.receipts import register_documents
from unnaive.models.catalogue import MODELS, find_model

ENTRANCES = ("texts", "counts")
CLASSES = ("east", "north", "south")
COSTS = {true: {given: float(abs(i - j)) for j, given in enumerate(CLASSES)} for i, true in enumerate(CLASSES)}
MISSPELT = {"east": "East", "north": "nroth"}  # as somebody may have typed them
WORDS = ("ball", "goal", "vote", "law", "soup", "Straße", "IŞIK", "don't", "42", "東京", ":-)", "e\u0301te\u0301")
NOTHING_KNOWN = ("", "unheard-of words", "!?")

Document = tuple[str, tuple[str, ...]]  # a text, and its labels: one, or any number of multilabel documents

# so that training takes milliseconds
SETTINGS: dict[str, dict[str, Any]] = {
    "auto": {"budget": "fast"},
    "hierarchical": {"restarts": 2, "average": 1, "features": 4},
    "hierarchical-naive-bayes": {"restarts": 2, "average": 1, "features": 4},
    "maxent": {"max_iter": 20},
    "word-clusters": {"clusters": 2},
    "diagnostic": {"members": 2},
    "knn": {"k": 3},
}
# how texts are read and models are trained, beside the defaults
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"ngrams": (1, 2)},
    {"analyzer": "both", "char_ngrams": (2, 3)},
    {"language": "tr", "symbols": True},
    {"min_df": 2},
    {"select": ("chi2", 4)},
    {"calibrate": "temperature"},
    {"calibrate": "isotonic"},
    {"optimise": "macro-f1"},
    {"optimise": COSTS},
    {"class_weight": "balanced"},
    {"documents_limit": 0},
)


def texts() -> st.SearchStrategy[str]:
    """A few words, none now and then."""
    return st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@st.composite
def documents(draw: st.DrawFn, *, multilabel: bool, at_least: int = 1, at_most: int = 8) -> list[Document]:
    """Texts with labels."""
    labels = st.lists(st.sampled_from(CLASSES), min_size=0 if multilabel else 1, max_size=3 if multilabel else 1)
    pairs = st.tuples(texts(), labels.map(lambda names: tuple(dict.fromkeys(names))))
    return draw(st.lists(pairs, min_size=at_least, max_size=at_most))


def labels_of(rows: list[Document], *, multilabel: bool) -> list[Any]:
    """The labels as models take them."""
    return [labels for _, labels in rows] if multilabel else [labels[0] for _, labels in rows]


def count_words(rows: list[str]) -> Any:
    """The counts (n_texts, n_words) that estimators learn from, of texts that are words with spaces between them."""
    return csr_array([[text.split().count(word) for word in WORDS] for text in rows], dtype=np.int64).reshape(
        len(rows), len(WORDS)
    )


@dataclass(frozen=True, eq=False)
class Model:
    """A model that the machine holds: what was learnt, by which entrance, and what is known of it.

    documents  that it has learnt, as a multiset; None where that is not known
    changed    whether it is no longer what training on its documents gives: frozen, compressed, remade
    """

    name: str
    entrance: str
    multilabel: bool
    options: dict[str, Any]
    fitted: FittedModel
    documents: Counter[Document] | None = None
    changed: bool = False
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        kind = "multilabel" if self.multilabel else "single-label"
        return f"<{self.name} by {self.entrance}, {kind}, {self.options}: {' '.join(self.notes)}>"

    def open(self) -> Any:
        """A classifier that holds the model, to be changed: TextClassifier or an estimator."""
        if self.entrance == "texts":
            return TextClassifier.from_fitted(self.fitted)
        made = find_model(self.fitted.spec.model.traits.name)(**self.fitted.spec.model.get_params())
        made.fitted_ = self.fitted
        return made

    def rows(self, sentences: list[str]) -> Any:
        """Texts in the form that the entrance takes."""
        return sentences if self.entrance == "texts" else count_words(sentences)


def untrained(name: str, entrance: str, options: dict[str, Any]) -> Any:
    """A classifier that has learnt nothing; the options are those of TextClassifier."""
    settings = SETTINGS.get(name, {})
    return TextClassifier(name, **settings, **options) if entrance == "texts" else find_model(name)(**settings)


def train(
    name: str, entrance: str, options: dict[str, Any], rows: list[Document], *, multilabel: bool,
    registered: bool = False,
) -> Model:  # fmt: skip
    """A model of these documents, with a register of them where it is asked for and what it keeps allows one."""
    labels = labels_of(rows, multilabel=multilabel)
    sentences = [text for text, _ in rows]
    made = untrained(name, entrance, options).fit(sentences if entrance == "texts" else count_words(sentences), labels)
    fitted = made.fitted_
    if registered and fitted.statistic is not None:
        fitted = register_documents(fitted, sentences, [labels for _, labels in rows])
    return Model(name, entrance, multilabel, options, fitted, Counter(rows), notes=["train"])


def refusal(error: UnnaiveError) -> str:
    """The message of an error, which must be one sentence."""
    said = str(error)
    assert said == said.strip() != "", "an error without a message, or with space around it"
    assert "\n" not in said, f"an error of several lines: {said}"
    assert not said.endswith("."), f"an error that ends with a full stop, which none does: {said}"
    assert "Traceback" not in said
    return said


NAMES = tuple(MODELS)
