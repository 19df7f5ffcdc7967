"""The verbs: each makes a model from others by what is drawn, and what it made is checked."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from statemachine import data
from statemachine.data import CLASSES, COSTS, Document, Model, labels_of, refusal
from statemachine.draws import Draws
from statemachine.invariants import check_made_of_documents, check_model, unchanged
from statemachine.receipts import check_receipt
from unnaive import FittedModel, TextClassifier, UnnaiveError
from unnaive.classifier.compress import compress_model, file_size
from unnaive.classifier.model_file import load_model

CALIBRATIONS = ("temperature", "platt", "isotonic", "none")
AIMS: tuple[Any, ...] = ("accuracy", "macro-f1", COSTS)
SHARES = (1.5, 0.9, 0.6, 0.3, 0.01)  # of the size of a file, to which it is compressed

File = tuple[Model, Path]  # a model, and where it was saved


class Verbs:
    """Models of some names by some entrances, and all verbs on them; None where a verb refuses with one sentence."""

    def __init__(self, names: tuple[str, ...] = data.NAMES, entrances: tuple[str, ...] = data.ENTRANCES) -> None:
        self.names, self.entrances = names, entrances
        self.folder = Path(tempfile.mkdtemp())
        self.written = 0
        self.refused = 0

    def new_path(self, ending: str) -> Path:
        """A file that is not there yet."""
        self.written += 1
        return self.folder / f"{self.written}.{ending}"

    def close(self) -> None:
        """Nothing is left on disk."""
        shutil.rmtree(self.folder)

    def attempt(self, make: Callable[[], Model], *inputs: Any) -> Model | None:
        """What a verb makes, checked; nothing where it refuses with one sentence. Any other error is a failure."""
        with unchanged(*inputs):
            try:
                made = make()
            except UnnaiveError as error:
                refusal(error)
                self.refused += 1
                return None
        check_model(made, self.folder)
        check_made_of_documents(made)
        return made

    def change(self, model: Model, verb: str, rows: list[Document], **options: Any) -> Model:
        """The model after `partial_fit` or `forget` of documents."""
        made = model.open()
        sentences = model.rows([text for text, _ in rows])
        getattr(made, verb)(sentences, labels_of(rows, multilabel=model.multilabel), **options)
        after = None
        if model.documents is not None:
            after = model.documents + Counter(rows) if verb == "partial_fit" else model.documents - Counter(rows)
        return follow(model, made.fitted_, verb, documents=after)

    def start(self, draws: Draws) -> Model | None:
        """There is always one model: of two classes, and of words that several documents have."""
        return self._train(draws, [("ball goal", (CLASSES[0],)), ("ball vote law", (CLASSES[1],))])

    def train(self, draws: Draws) -> Model | None:
        """Learn from documents."""
        return self._train(draws, [])

    def _train(self, draws: Draws, rows: list[Document]) -> Model | None:
        """A model of `rows` and others that are drawn."""
        name, entrance = draws.choose(self.names), draws.choose(self.entrances)
        multilabel = draws.choose((False, True))
        options = draws.choose(data.OPTIONS) if entrance == "texts" else {}
        rows = rows + draws.documents(multilabel=multilabel)
        how = {"multilabel": multilabel, "registered": entrance == "texts" and draws.choose((False, False, True))}
        return self.attempt(lambda: data.train(name, entrance, options, rows, **how), rows, options)

    def update(self, draws: Draws, model: Model) -> Model | None:
        """Learn more documents."""
        rows, grow = draws.documents(multilabel=model.multilabel), draws.choose((False, True))
        return self.attempt(lambda: self.change(model, "partial_fit", rows, new_classes=grow), model, rows)

    def forget(self, draws: Draws, model: Model) -> Model | None:
        """Unlearn some of the model's own documents; a receipt of that can be verified."""
        own = sorted((model.documents or Counter()).elements())
        if not own:
            return None
        rows = draws.some(own)
        made = self.attempt(lambda: self.change(model, "forget", rows), model, rows)
        if made is not None and made.entrance == "texts":
            check_receipt(model, made, rows, self.folder)
        return made

    def forget_strangers(self, draws: Draws, model: Model) -> None:
        """Unlearn documents that may never have been learnt: refused, or counts cannot tell; nothing is damaged."""
        rows = draws.documents(multilabel=model.multilabel)
        known = model.documents is not None and Counter(rows) <= model.documents
        if not known:
            self.attempt(lambda: replace(self.change(model, "forget", rows), documents=None), model, rows)

    def merge(self, one: Model, other: Model) -> Model | None:
        """Join two models."""

        def join() -> Model:
            made = one.open()
            made.merge(other.open())
            known = one.documents is not None and other.documents is not None
            both = (one.documents or Counter()) + (other.documents or Counter())
            changed = one.changed or other.changed
            return follow(one, made.fitted_, "merge", documents=both if known else None, changed=changed)

        return self.attempt(join, one, other) if one.entrance == other.entrance else None

    def _remade(self, model: Model, /, **parameters: Any) -> Model | None:
        """The model made anew with other parameters."""
        if model.entrance != "texts":
            return None

        def remake() -> Model:
            made = model.open()
            made.remake(**parameters)
            after = follow(model, made.fitted_, f"remake({parameters})", changed=True)
            return replace(after, name=made.fitted_.spec.model.traits.name)

        return self.attempt(remake, model, parameters)

    def remake(self, draws: Draws, model: Model) -> Model | None:
        """Make another model, or the same with other settings, of what was kept."""
        name = draws.choose(self.names)
        settings = data.SETTINGS.get(name, {})
        choices: list[dict[str, Any]] = [{"min_df": 2}, {"select": 3}, {"model": name, **settings}]
        return self._remade(model, **draws.choose(choices))

    def calibrate(self, draws: Draws, model: Model) -> Model | None:
        """Fit probabilities to held-out scores."""
        return self._remade(model, calibrate=draws.choose(CALIBRATIONS))

    def optimise(self, draws: Draws, model: Model) -> Model | None:
        """Decide for something else than the best class."""
        return self._remade(model, optimise=draws.choose(AIMS))

    def compress(self, draws: Draws, model: Model) -> Model | None:
        """Make the file smaller."""
        share = draws.choose(SHARES)

        def squeeze() -> Model:
            limit = int(share * file_size(model.fitted, frozen=True))
            small = compress_model(model.fitted, limit, texts=["ball goal", "soup vote"])
            assert small.bytes <= limit
            return follow(model, small.fitted, f"compress({share})", changed=True)

        return self.attempt(squeeze, model) if model.entrance == "texts" else None

    def save(self, draws: Draws, model: Model) -> File | None:
        """Write the file, which stays for others to load."""
        frozen = draws.choose((False, True))
        if model.entrance != "texts":
            return None
        path = self.new_path("model")
        with unchanged(model):
            TextClassifier.from_fitted(model.fitted).save(path, frozen=frozen)
        return replace(model, changed=model.changed or frozen), path

    def load(self, draws: Draws, file: File) -> Model | None:
        """Read a file, which others may have mapped."""
        model, path = file
        mapped = draws.choose((False, True))
        how = "map" if mapped else "load"
        return self.attempt(lambda: follow(model, load_model(path, mapped=mapped), how, changed=model.changed), model)


def follow(model: Model, fitted: FittedModel, verb: str, **changes: Any) -> Model:
    """The model after a verb."""
    return replace(model, fitted=fitted, notes=[*model.notes, verb], **changes)
