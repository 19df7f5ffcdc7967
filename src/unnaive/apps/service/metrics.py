"""Prometheus metrics: requests and their duration, texts, changes; never the content of a text."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from unnaive.apps.service.drift import DriftGauge
from unnaive.base.types import Label

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
MOST_CLASSES = 200  # maximum number of classes with a share; Prometheus keeps a time series for each


class Metrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "unnaive_requests", "Requests answered.", ["path", "status"], registry=self.registry
        )  # fmt: skip
        self.seconds = Histogram(
            "unnaive_request_seconds", "Time to answer.", ["path"], buckets=SECONDS, registry=self.registry
        )
        self.at_once = Gauge("unnaive_requests_at_once", "Requests being answered.", registry=self.registry)
        self.connections = Gauge("unnaive_connections", "Open connections.", registry=self.registry)
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
        self._of_path: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        series = self._of_path.get((path, status))  # cached, since looking up labels takes longer than counting
        if series is None:
            series = self._of_path[path, status] = (self.requests.labels(path, str(status)), self.seconds.labels(path))
        series[0].inc()
        series[1].observe(seconds)

    def set_drift(self, model: str, classes: Sequence[Label], drift: DriftGauge | None) -> None:
        """Set the drift of recent texts; removes it if it is unknown."""
        if drift is None:
            return
        self.drift.labels(model).set(drift.distance)
        self.drift_texts.labels(model).set(drift.n_texts)
        for label, learnt, recent in zip(classes[:MOST_CLASSES], drift.learnt, drift.recent, strict=False):
            self.class_share.labels(model, str(label), "learnt").set(learnt)
            self.class_share.labels(model, str(label), "recent").set(recent)

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self.registry)
