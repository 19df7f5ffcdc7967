"""What Prometheus may know: requests, their time, texts, changes; never a text."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from unnaive.apps.service.drift import DriftGauge
from unnaive.base.types import Label

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
MOST_CLASSES = 200  # whose shares are shown; Prometheus keeps a series for each


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
        self.at_once = Gauge("unnaive_requests_at_once", "Requests being answered now.", registry=self.registry)
        self.connections = Gauge("unnaive_connections", "Connections that are open now.", registry=self.registry)
        self.texts = Counter("unnaive_texts", "Texts classified.", ["model"], registry=self.registry)
        self.changes = Counter(
            "unnaive_documents_changed", "Documents taught or forgotten.", ["model", "kind"], registry=self.registry
        )
        self.version = Gauge("unnaive_model_version", "Version that answers now.", ["model"], registry=self.registry)
        self.drift = Gauge(
            "unnaive_drift",
            "Share of recent texts that would have to change class for the classes to come as often as when they were "
            "learnt, from 0 to 1.",
            ["model"],
            registry=self.registry,
        )
        self.drift_texts = Gauge(
            "unnaive_drift_texts", "Recent texts that drift is measured on.", ["model"], registry=self.registry
        )
        self.class_share = Gauge(
            "unnaive_class_share",
            "Share of a class among the documents learnt, and estimated among recent texts.",
            ["model", "label", "of"],
            registry=self.registry,
        )
        self._of_path: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        found = self._of_path.get((path, status))  # looking labels up takes longer than counting
        if found is None:
            found = self._of_path[path, status] = (self.requests.labels(path, str(status)), self.seconds.labels(path))
        found[0].inc()
        found[1].observe(seconds)

    def set_drift(self, model: str, classes: Sequence[Label], drift: DriftGauge | None) -> None:
        """Show how recent texts differ from those learnt; nothing where that is not known."""
        if drift is None:
            return
        self.drift.labels(model).set(drift.distance)
        self.drift_texts.labels(model).set(drift.n_texts)
        for label, learnt, recent in zip(classes[:MOST_CLASSES], drift.learnt, drift.recent, strict=False):
            self.class_share.labels(model, str(label), "learnt").set(learnt)
            self.class_share.labels(model, str(label), "recent").set(recent)

    def text(self) -> bytes:
        """All of them in Prometheus's text format."""
        return generate_latest(self.registry)
