"""What Prometheus may know: requests, their time, texts, changes; never a text."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


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
        self.texts = Counter("unnaive_texts", "Texts classified.", ["model"], registry=self.registry)
        self.changes = Counter(
            "unnaive_documents_changed", "Documents taught or forgotten.", ["model", "kind"], registry=self.registry
        )
        self.version = Gauge("unnaive_model_version", "Version that answers now.", ["model"], registry=self.registry)
        self._of_path: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        found = self._of_path.get((path, status))  # looking labels up takes longer than counting
        if found is None:
            found = self._of_path[path, status] = (self.requests.labels(path, str(status)), self.seconds.labels(path))
        found[0].inc()
        found[1].observe(seconds)

    def text(self) -> bytes:
        """All of them in Prometheus's text format."""
        return generate_latest(self.registry)
