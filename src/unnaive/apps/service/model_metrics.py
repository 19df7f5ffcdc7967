"""Prometheus metrics of served models: texts, changes, drift; never the content of a text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from prometheus_client import Counter, Gauge

from unnaive.apps.common.web.metrics import Metrics
from unnaive.apps.service.drift import DriftGauge
from unnaive.apps.service.problems import KINDS, Problems
from unnaive.base.types import Label

MOST_CLASSES = 200  # maximum number of classes with a share; Prometheus keeps a time series for each


class ModelMetrics(Metrics):
    """The metrics of one process and its models."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[str, set[str]] = {}  # classes with a share, by model
        self.texts = Counter("unnaive_texts", "Texts classified.", ["model"], registry=self.registry)
        self.changes = Counter(
            "unnaive_documents_changed", "Documents taught or forgotten.", ["model", "kind"], registry=self.registry
        )
        self.version = Gauge("unnaive_model_version", "Version being served.", ["model"], registry=self.registry)
        self.problem = Gauge(
            "unnaive_problem", "Whether a model has a problem of a kind, which /readyz describes.", ["model", "kind"],
            registry=self.registry,
        )  # fmt: skip
        self.drift = Gauge(
            "unnaive_drift",
            "Share of recent texts that would have to change class to match the class shares of the documents "
            "learnt, from 0 to 1.",
            ["model"],
            registry=self.registry,
        )
        self.drift_texts = Gauge(
            "unnaive_drift_texts", "Recent texts on which drift is measured.", ["model"], registry=self.registry
        )
        self.class_share = Gauge(
            "unnaive_class_share",
            "Share of a class among the documents learnt, and its estimate for recent texts.",
            ["model", "label", "of"],
            registry=self.registry,
        )

    def count_texts(self, model: str) -> int:
        """How many texts a model has classified."""
        return int(self.registry.get_sample_value("unnaive_texts_total", {"model": model}) or 0)

    def set_problems(self, model: str, problems: Problems) -> None:
        """Set 1 for each kind of problem that a model has, else 0."""
        for kind in KINDS:
            self.problem.labels(model, kind).set(kind in problems)

    def set_drift(self, model: str, classes: Sequence[Label], drift: DriftGauge | None) -> None:
        """Set the drift of recent texts; removes it if it is unknown, and shares of classes that are gone."""
        shown = {str(label) for label in classes[:MOST_CLASSES]} if drift is not None else set()
        for gone in self._shown.get(model, set()) - shown:
            for of in ("learnt", "recent"):
                self.class_share.remove(model, gone, of)
        self._shown[model] = shown
        if drift is None:
            for gauge in (self.drift, self.drift_texts):
                with suppress(KeyError):
                    gauge.remove(model)
            return
        self.drift.labels(model).set(drift.distance)
        self.drift_texts.labels(model).set(drift.n_texts)
        for label, learnt, recent in zip(classes[:MOST_CLASSES], drift.learnt, drift.recent, strict=False):
            self.class_share.labels(model, str(label), "learnt").set(learnt)
            self.class_share.labels(model, str(label), "recent").set(recent)
