"""Prometheus metrics of served models: texts, changes, drift; never the content of a text."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import Counter, Gauge

from unnaive.apps.common.web.metrics import Metrics
from unnaive.apps.service.drift import DriftGauge
from unnaive.base.types import Label

MOST_CLASSES = 200  # maximum number of classes with a share; Prometheus keeps a time series for each


class ModelMetrics(Metrics):
    """The metrics of one process and its models."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = Counter("unnaive_texts", "Texts classified.", ["model"], registry=self.registry)
        self.changes = Counter(
            "unnaive_documents_changed", "Documents taught or forgotten.", ["model", "kind"], registry=self.registry
        )
        self.version = Gauge("unnaive_model_version", "Version being served.", ["model"], registry=self.registry)
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

    def set_drift(self, model: str, classes: Sequence[Label], drift: DriftGauge | None) -> None:
        """Set the drift of recent texts; removes it if it is unknown."""
        if drift is None:
            return
        self.drift.labels(model).set(drift.distance)
        self.drift_texts.labels(model).set(drift.n_texts)
        for label, learnt, recent in zip(classes[:MOST_CLASSES], drift.learnt, drift.recent, strict=False):
            self.class_share.labels(model, str(label), "learnt").set(learnt)
            self.class_share.labels(model, str(label), "recent").set(recent)
