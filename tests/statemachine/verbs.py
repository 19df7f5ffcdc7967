"""The machine: every verb is a rule that makes a model from others, and what it made is checked."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, precondition, rule

from statemachine import data
from statemachine.data import CLASSES, Document, Model, labels_of, refusal
from statemachine.invariants import check_made_of_documents, check_model, unchanged
from unnaive import FittedModel, TextClassifier, UnnaiveError
from unnaive.classifier.compress import compress_model, file_size
from unnaive.classifier.model_file import load_model

COSTS = {true: {given: float(abs(i - j)) for j, given in enumerate(CLASSES)} for i, true in enumerate(CLASSES)}


def reads_texts(machine: VerbMachine) -> bool:
    """Whether there are models that read texts, which alone can be remade, compressed and saved."""
    return "texts" in machine.entrances


class VerbMachine(RuleBasedStateMachine):
    """Models of some names by some entrances, and all verbs on them."""

    models = Bundle("models")
    files = Bundle("files")

    def __init__(self, names: tuple[str, ...] = data.NAMES, entrances: tuple[str, ...] = data.ENTRANCES) -> None:
        super().__init__()
        self.names, self.entrances = names, entrances
        self.folder = Path(tempfile.mkdtemp())
        self.written = 0

    def teardown(self) -> None:
        """Nothing is left on disk."""
        shutil.rmtree(self.folder)

    def attempt(self, make: Callable[[], Model], *inputs: Any) -> Any:
        """What a verb makes, checked; nothing where it refuses with one sentence. Any other error is a failure."""
        with unchanged(*inputs):
            try:
                made = make()
            except UnnaiveError as error:
                refusal(error)
                return multiple()
        check_model(made, self.folder)
        check_made_of_documents(made)
        return made

    def draw_documents(self, draw: Any, model: Model) -> list[Document]:
        """Documents with labels in the form that the model has learnt."""
        rows: list[Document] = draw.draw(data.documents(multilabel=model.multilabel))
        return rows

    def change(self, model: Model, verb: str, rows: list[Document], **options: Any) -> Model:
        """The model after `partial_fit` or `forget` of documents."""
        made = model.open()
        sentences = model.rows([text for text, _ in rows])
        getattr(made, verb)(sentences, labels_of(rows, multilabel=model.multilabel), **options)
        after = None
        if model.documents is not None:
            after = model.documents + Counter(rows) if verb == "partial_fit" else model.documents - Counter(rows)
        return follow(model, made.fitted_, verb, documents=after)

    @initialize(target=models, draw=st.data())
    def start(self, draw: Any) -> Any:
        """There is always one model: of two classes, and of words that several documents have."""
        return self.train_one(draw, [("ball goal", (CLASSES[0],)), ("ball vote law", (CLASSES[1],))])

    @rule(target=models, draw=st.data())
    def train(self, draw: Any) -> Any:
        """Learn from documents."""
        return self.train_one(draw, [])

    def train_one(self, draw: Any, rows: list[Document]) -> Any:
        """A model of `rows` and others that are drawn."""
        name, entrance = draw.draw(st.sampled_from(self.names)), draw.draw(st.sampled_from(self.entrances))
        multilabel = draw.draw(st.booleans())
        options = draw.draw(st.sampled_from(data.OPTIONS)) if entrance == "texts" else {}
        rows = rows + draw.draw(data.documents(multilabel=multilabel))
        return self.attempt(lambda: data.train(name, entrance, options, rows, multilabel=multilabel), rows, options)

    @rule(target=models, model=models, draw=st.data(), grow=st.booleans())
    def update(self, model: Model, draw: Any, grow: bool) -> Any:
        """Learn more documents."""
        rows = self.draw_documents(draw, model)
        return self.attempt(lambda: self.change(model, "partial_fit", rows, grow=grow), model, rows)

    @rule(target=models, model=models, draw=st.data())
    def forget(self, model: Model, draw: Any) -> Any:
        """Unlearn some of the model's own documents."""
        own = sorted((model.documents or Counter()).elements())
        if not own:
            return multiple()
        rows = draw.draw(st.lists(st.sampled_from(own), min_size=1, max_size=3, unique=True))
        return self.attempt(lambda: self.change(model, "forget", rows), model, rows)

    @rule(model=models, draw=st.data())
    def forget_strangers(self, model: Model, draw: Any) -> None:
        """Unlearn documents that may never have been learnt: refused, or counts cannot tell; nothing is damaged."""
        rows = self.draw_documents(draw, model)
        known = model.documents is not None and Counter(rows) <= model.documents
        if not known:
            self.attempt(lambda: replace(self.change(model, "forget", rows), documents=None), model, rows)

    @rule(target=models, one=models, other=models)
    def merge(self, one: Model, other: Model) -> Any:
        """Join two models."""

        def join() -> Model:
            made = one.open()
            made.merge(other.open())
            known = one.documents is not None and other.documents is not None
            both = (one.documents or Counter()) + (other.documents or Counter())
            return follow(one, made.fitted_, "merge", documents=both if known else None)

        if one.entrance != other.entrance:
            return multiple()
        return self.attempt(join, one, other)

    def remade(self, model: Model, /, **parameters: Any) -> Any:
        """The model made anew with other parameters."""
        if model.entrance != "texts":
            return multiple()

        def remake() -> Model:
            made = model.open()
            made.remake(**parameters)
            after = follow(model, made.fitted_, f"remake({parameters})", changed=True)
            return replace(after, name=made.fitted_.spec.model.name)

        return self.attempt(remake, model, parameters)

    @precondition(reads_texts)
    @rule(target=models, model=models, draw=st.data())
    def remake(self, model: Model, draw: Any) -> Any:
        """Make another model, or the same with other settings, of what was kept."""
        name = draw.draw(st.sampled_from(self.names))
        settings = data.SETTINGS.get(name, {})
        choices: list[dict[str, Any]] = [{"min_df": 2}, {"select": 3}, {"model": name, **settings}]
        return self.remade(model, **draw.draw(st.sampled_from(choices)))

    @precondition(reads_texts)
    @rule(target=models, model=models, method=st.sampled_from(["temperature", "platt", "isotonic", "none"]))
    def calibrate(self, model: Model, method: str) -> Any:
        """Fit probabilities to held-out scores."""
        return self.remade(model, calibrate=method)

    @precondition(reads_texts)
    @rule(target=models, model=models, aim=st.sampled_from(["accuracy", "macro-f1", COSTS]))
    def optimise(self, model: Model, aim: Any) -> Any:
        """Decide for something else than the best class."""
        return self.remade(model, optimise=aim)

    @precondition(reads_texts)
    @rule(target=models, model=models, share=st.sampled_from([1.5, 0.9, 0.6, 0.3, 0.01]))
    def compress(self, model: Model, share: float) -> Any:
        """Make the file smaller."""
        if model.entrance != "texts":
            return multiple()

        def squeeze() -> Model:
            limit = int(share * file_size(model.fitted, frozen=True))
            small = compress_model(model.fitted, limit, texts=["ball goal", "soup vote"])
            assert small.bytes <= limit
            return follow(model, small.fitted, f"compress({share})", changed=True)

        return self.attempt(squeeze, model)

    @precondition(reads_texts)
    @rule(target=files, model=models, frozen=st.booleans())
    def save(self, model: Model, frozen: bool) -> Any:
        """Write the file, which stays for others to load."""
        if model.entrance != "texts":
            return multiple()
        self.written += 1
        path = self.folder / f"{self.written}.model"
        with unchanged(model):
            TextClassifier.from_fitted(model.fitted).save(path, frozen=frozen)
        return replace(model, changed=model.changed or frozen), path

    @precondition(reads_texts)
    @rule(target=models, file=files, mapped=st.booleans())
    def load(self, file: tuple[Model, Path], mapped: bool) -> Any:
        """Read a file, which others may have mapped."""
        model, path = file
        how = "map" if mapped else "load"
        return self.attempt(lambda: follow(model, load_model(path, mapped=mapped), how, changed=model.changed), model)


def follow(model: Model, fitted: FittedModel, verb: str, **changes: Any) -> Model:
    """The model after a verb."""
    return replace(model, fitted=fitted, notes=[*model.notes, verb], **changes)
