"""Prometheus metrics of any application: requests, their duration, open connections."""

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
        self.at_once = Gauge("unnaive_requests_at_once", "Requests being answered.", registry=self.registry)
        self.connections = Gauge("unnaive_connections", "Open connections.", registry=self.registry)
        self._of_path: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        series = self._of_path.get((path, status))  # cached, since looking up labels takes longer than counting
        if series is None:
            series = self._of_path[path, status] = (self.requests.labels(path, str(status)), self.seconds.labels(path))
        series[0].inc()
        series[1].observe(seconds)

    def text(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self.registry)
