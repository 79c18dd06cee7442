"""Counts and durations of the service, as Prometheus reads them; of all its processes together."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

#: Names a folder that all processes share; read by the library when it is imported.
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
MEDIA_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_REPLAY_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_MATCHES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own: Any = {"namespace": "equipoise", "registry": self._registry}
        self._requests = Counter(
            "requests", "Requests answered", ["method", "route", "status"], **own
        )
        self._seconds = Histogram(
            "request_seconds", "Time to answer", ["route"], buckets=_SECONDS, **own
        )
        self._matches = Counter("matches", "Matches posted, by what became of them", ["as"], **own)
        self.refused = Counter("refused_posts", "Posts of matches that were refused", **own)
        self.queue = Gauge(
            "queued_matches",
            "Matches that wait for the writer",
            multiprocess_mode="livesum",
            **own,
        )
        self.batch = Histogram("batch_matches", "Matches a commit", buckets=_MATCHES, **own)
        self.commit = Histogram("commit_seconds", "Time of a commit", buckets=_SECONDS, **own)
        self.replay = Histogram(
            "replay_seconds", "Time of a replay that was swapped in", buckets=_REPLAY_SECONDS, **own
        )
        sent = Counter("webhook_posts", "Posts to webhooks, by what became of them", ["as"], **own)
        self.delivered, self.undelivered = sent.labels("delivered"), sent.labels("failed")
        self.failures = Counter("replay_failures", "Replays that failed", **own)
        self.pending = Gauge(
            "pending_pools",
            "Pools that wait for a replay",
            multiprocess_mode="max",
            **own,
        )
        self._new = self._matches.labels("new")
        self._known = self._matches.labels("known")
        #: What counts the answers of a method, route and status, and what takes their seconds.
        self._answers: dict[
            tuple[str, str, int], tuple[Callable[[], None], Callable[[float], None]]
        ] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is the path with its variable parts in braces."""
        found = self._answers.get((method, route, status))
        if found is None:
            counter = self._requests.labels(method, route, str(status))
            found = self._answers[method, route, status] = (
                counter.inc,
                self._seconds.labels(route).observe,
            )
        count, observe = found
        count()
        observe(seconds)

    def posted(self, new: int, known: int) -> None:
        """Count matches that were recorded, and those that were already."""
        if new:
            self._new.inc(new)
        if known:
            self._known.inc(known)

    def page(self) -> bytes:
        """Return all metrics as text for Prometheus."""
        if FOLDER_VARIABLE not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def close(self) -> None:
        """Take the gauges of this process out of the sums."""
        if FOLDER_VARIABLE in os.environ:
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]
