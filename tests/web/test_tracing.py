"""Spans of requests, commits and replays, for OpenTelemetry."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from equipoise.errors import InvalidParameterError
from equipoise.web import monitoring
from equipoise.web.monitoring import Tracing, check_installed
from equipoise.web.settings import ServiceSettings
from trials.pace import stopwatch
from web.conftest import Serve, Served, duel, lines

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    found = InMemorySpanExporter()
    monkeypatch.setattr(monitoring, "otlp_exporter", lambda: found)
    return found


@pytest.fixture
def traced(serve: Serve, exporter: InMemorySpanExporter) -> Served:
    return serve(tracing=True)


def spans(served: Served, exporter: InMemorySpanExporter, name: str) -> list[Any]:
    """Return the spans of a name, in the order of their ends."""
    served.app.state.service.tracing.flush()
    return [one for one in exporter.get_finished_spans() if one.name == name]


def test_a_request_has_a_span_without_ids(traced: Served, exporter: InMemorySpanExporter) -> None:
    pool = traced.pool()
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "x-request-id": "mine"}
    assert traced.get(f"/v1/pools/{pool}/players/secret", headers=headers).status_code == 404
    (found,) = spans(traced, exporter, "GET /v1/pools/{pool}/players/{player}")
    assert found.kind is SpanKind.SERVER
    assert f"{found.context.trace_id:032x}" == TRACE
    assert f"{found.parent.span_id:016x}" == PARENT
    assert found.attributes["http.route"] == "/v1/pools/{pool}/players/{player}"
    assert found.attributes["http.response.status_code"] == 404
    assert found.attributes["equipoise.request"] == "mine"
    assert found.attributes["equipoise.key"] == 1
    assert "secret" not in str(found.to_json())
    assert found.resource.attributes["service.name"] == "equipoise"


def test_a_commit_is_linked_to_its_requests(traced: Served, exporter: InMemorySpanExporter) -> None:
    pool = traced.pool()
    path = f"/v1/pools/{pool}/matches"
    assert traced.post(path, duel("1")).status_code == 200
    assert traced.post(path, [duel("2"), duel("3")]).status_code == 200
    assert traced.stream(pool, lines(duel("4"), duel("5"), duel("6"))).status_code == 200
    commits = spans(traced, exporter, "commit")
    posts = spans(traced, exporter, "POST /v1/pools/{pool}/matches")
    assert [one.attributes["equipoise.matches"] for one in commits] == [1, 2, 3]
    assert {one.attributes["equipoise.pool"] for one in commits} == {pool}
    assert [[link.context.span_id for link in one.links] for one in commits] == [
        [one.context.span_id] for one in posts
    ]


def test_a_replay_has_a_span(traced: Served, exporter: InMemorySpanExporter) -> None:
    pool = traced.pool(late="replay")
    path = f"/v1/pools/{pool}/matches"
    for number in "123":
        traced.post(path, duel(number))
    assert traced.post(f"{path}/1/void?wait=20", {"reason": "no show"}).status_code == 200
    end = time.monotonic() + 120
    while not (found := spans(traced, exporter, "replay")) and time.monotonic() < end:
        time.sleep(0.05)
    assert found[0].attributes["equipoise.pool"] == pool


def test_a_failure_is_marked(
    traced: Served, exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    pool = traced.pool()
    monkeypatch.setattr("equipoise.pools.posting.posting.post_matches", fail)
    assert traced.post(f"/v1/pools/{pool}/matches", duel("1")).status_code == 500
    (found,) = spans(traced, exporter, "POST /v1/pools/{pool}/matches")
    assert found.status.status_code is StatusCode.ERROR
    (commit,) = spans(traced, exporter, "commit")
    assert commit.status.status_code is StatusCode.ERROR


def test_spans_of_unknown_paths(traced: Served, exporter: InMemorySpanExporter) -> None:
    for header in ("", "x", "00-0-0-00", "00-" + "f" * 5000):
        assert traced.get("/nothing", headers={"traceparent": header}).status_code == 404
    assert len(spans(traced, exporter, "GET")) == 4


def test_there_are_no_traces_by_default(serve: Serve, exporter: InMemorySpanExporter) -> None:
    served = serve()
    assert served.get(f"/v1/pools/{served.pool()}").status_code == 200
    assert served.app.state.service.tracing is None
    assert exporter.get_finished_spans() == ()
    assert not ServiceSettings().tracing


def test_ends_though_the_collector_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    class Stuck(SpanExporter):
        def export(self, spans: object) -> SpanExportResult:
            released.wait(60.0)
            return SpanExportResult.FAILURE

        def shutdown(self) -> None:
            released.wait(60.0)

    monkeypatch.setattr(monitoring, "_LAST", 0.2)
    found = Tracing(Stuck())
    with found.work("replay", pool="p"):
        pass
    with stopwatch() as watch:
        found.close()
    released.set()
    assert watch.seconds < 2.0


def test_says_which_libraries_tracing_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed()
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    monkeypatch.setattr(monitoring, "find_spec", lambda name: None)
    with pytest.raises(InvalidParameterError, match=r"'\.\[tracing\]' in a clone"):
        check_installed()
