"""A package that adds two models, a scorer, an export, a format and a command to unnaive."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from unnaive.plugins import (
    ArrayRule,
    ByteSource,
    Counts,
    CountsModel,
    EngineAgreement,
    Linear,
    PortableModel,
    ReadOptions,
    Scorer,
    Table,
    Target,
    Traits,
    check_keys,
    check_rules,
    setting,
)


class Lift(CountsModel):
    """Lift of a term in a class over the corpus: weight[c, t] = log (N_ct + alpha) − log (N_t + alpha), no prior."""

    traits = Traits("lift", "lift over the corpus", "counts")

    alpha: float = setting("Added to every count.", default=1.0, above=0)

    def rule(self, counts: Counts, *, exclusive: bool = True) -> Linear:
        """log (N_ct + alpha) − log (N_t + alpha)."""
        smoothed = counts.class_terms.toarray() + self.alpha
        return Linear(np.log(smoothed) - np.log(counts.terms + self.alpha), bias=np.zeros(counts.n_classes))


class SharedTermsScorer(Scorer):
    """The score of a class is the number of different terms that the document shares with its training documents."""

    kind = "shared-terms"
    link = "margin"

    def __init__(self, present: Any) -> None:
        self.present = present  # (n_classes, n_terms), 0 or 1
        self.n_terms = present.shape[1]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.present)

    def scores(self, X: Any) -> Any:
        """The number of shared terms (n_docs, n_classes)."""
        return np.asarray(X.sign() @ self.present.T, np.float64)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """One array, no settings."""
        return {"present": self.present}, {}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], settings: dict[str, Any]) -> SharedTermsScorer:
        """The inverse of `to_arrays`, with every value checked."""
        check_keys(settings)
        check_rules(arrays, {"present": ArrayRule("byte", ("classes", "terms"), 0, 1)})
        return cls(arrays["present"])


class SharedTerms(CountsModel):
    """The class that shares most terms with the document."""

    traits = Traits(
        "shared-terms", "number of shared terms", "counts", scorer_kinds=(), scorers=(SharedTermsScorer,),
        probabilistic=False, generative=False,
    )  # fmt: skip

    def rule(self, counts: Counts, *, exclusive: bool = True) -> SharedTermsScorer:
        """Which terms each class has."""
        return SharedTermsScorer((counts.class_terms.toarray() > 0).astype(np.uint8))


def write_weights(model: PortableModel) -> dict[str, bytes]:
    """The biases of a linear model as JSON."""
    return {"weights.json": json.dumps({"classes": model.classes, "bias": list(model.bias)}).encode()}


def check_weights(folder: Path, lines: list[str]) -> list[EngineAgreement]:
    """The file has a bias for each class."""
    about = json.loads((folder / "weights.json").read_text())
    return [EngineAgreement("json", 0.0, texts=len(lines), off=len(about["classes"]) - len(about["bias"]))]


WEIGHTS = Target(write_weights, check_weights, carries=frozenset({"softmax", "argmax"}))


class BarTable(Table):
    """Lines of the form label|text."""

    names = ("label", "text")
    header = "the format"

    def __init__(self, source: ByteSource, options: ReadOptions) -> None:
        self._rows = [line.split("|", 1) for line in Path(source.path).read_text().splitlines()]

    def sample(self) -> dict[str, list[Any]]:
        """All rows, by column."""
        return dict(zip(self.names, map(list, zip(*self._rows, strict=True)), strict=True))

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """All rows in one batch."""
        columns = self.sample()
        yield [columns[name] for name in names]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(hello)


def hello(name: str = "world") -> None:
    """Say hello.

    unnaive hello --name Ada
    """
    typer.echo(f"hello {name}")
