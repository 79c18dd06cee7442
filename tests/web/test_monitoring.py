"""Every request has an id, its headers, a line in the log, and is counted."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from equipoise.web.application import create_application
from equipoise.web.monitoring import FIELDS, JsonFormatter
from equipoise.web.settings import ServiceSettings
from equipoise.wording import printable
from web.asking import Running
from web.conftest import Serve, Served, duel, lines


def fields(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return what the access log has noted."""
    return [
        getattr(record, FIELDS) for record in caplog.records if record.name == "equipoise.access"
    ]


@pytest.mark.parametrize("path", ["/healthz", "/v1/pools", "/nothing", "/docs", "/v1/keys"])
def test_every_answer_has_secure_headers(served: Served, path: str) -> None:
    headers = served.get(path, None).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert len(headers["x-request-id"]) >= 8
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_answers_are_kept_nowhere_unless_they_have_a_tag(served: Served) -> None:
    assert served.get("/v1/keys").headers["cache-control"] == "no-store"


def test_a_sane_id_of_the_caller_is_kept(served: Served) -> None:
    """Any other is replaced, so that nobody writes into our log."""
    sane = served.get("/healthz", headers={"X-Request-ID": "abc-1.2_3"})
    assert sane.headers["x-request-id"] == "abc-1.2_3"
    for given in ("a" * 65, "a b", "<script>", ""):
        other = served.get("/healthz", headers={"X-Request-ID": given})
        assert other.headers["x-request-id"] != given


def test_log_lines_contain_no_secret(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    """The path with its braces, the number of the key; no secret, no body, no id of a player."""
    pool = served.pool()
    caplog.set_level(logging.INFO, "equipoise")
    caplog.clear()
    headers = {"X-Request-ID": "mine"}
    served.post(f"/v1/pools/{pool}/matches", duel("1", "somebody"), headers=headers)
    (noted,) = fields(caplog)
    assert noted.pop("milliseconds") > 0
    assert noted == {
        "request": "mine",
        "method": "POST",
        "route": "/v1/pools/{pool}/matches",
        "status": 200,
        "key": 1,
    }
    assert served.admin not in caplog.text
    assert "somebody" not in caplog.text


def test_a_page_is_counted_by_its_route(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Ids of players are not in the log; a slash too many leads nowhere, and nowhere else."""
    settings = ServiceSettings(database=f"sqlite:///{tmp_path / 'pages.db'}")
    caplog.set_level(logging.INFO, "equipoise")
    with Running(create_application(settings)) as running:
        caplog.clear()
        running.request("GET", "/pools/x/players/a/b")
        running.request("DELETE", "/pools/x")
        assert running.request("GET", "/pools/x/").status_code == 404
    assert [(one["route"], one["status"]) for one in fields(caplog)] == [
        ("/pools/{pool}/players/{player}", 303),
        ("/pools/{pool}", 405),
        ("(none)", 404),
    ]


@pytest.mark.parametrize("path", ["/v1/pools", "/"])
def test_a_fault_is_told_without_its_trace(
    serve: Serve, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    served = serve(page=True)

    def fail(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("equipoise.pools.pool.pools.pool_messages", fail)
    monkeypatch.setattr("equipoise.web.page.players.pool_messages", fail)
    answer = served.get(path, headers={"X-Request-ID": "fault-1"})
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal"
    assert "fault-1" in answer.text
    assert "secret" not in answer.text
    assert "secret" in caplog.text


def test_other_origins_may_call_where_the_settings_say_so(serve: Serve) -> None:
    served = serve(cors=("https://a.example",))
    preflight = {"Origin": "https://a.example", "Access-Control-Request-Method": "GET"}
    answer = served.ask("OPTIONS", "/v1/pools", None, headers=preflight)
    assert answer.headers["access-control-allow-origin"] == "https://a.example"
    other = served.get("/v1/pools", None, headers={"Origin": "https://b.example"})
    assert "access-control-allow-origin" not in other.headers


def written(message: str, **more: object) -> dict[str, object]:
    record = logging.LogRecord("equipoise.x", logging.INFO, "", 1, message, (), None)
    setattr(record, FIELDS, more)
    text = JsonFormatter().format(record)
    assert printable(text) == text
    found: dict[str, object] = json.loads(text)
    return found


def test_a_line_has_time_level_message_and_fields() -> None:
    found = written("hello", request="1", status=200)
    assert str(found.pop("time")).endswith("+00:00")
    assert found == {
        "level": "info",
        "logger": "equipoise.x",
        "message": "hello",
        "request": "1",
        "status": 200,
    }


def test_nothing_breaks_a_line() -> None:
    """Line ends are escaped, and halves of characters are written as what they are."""
    found = written("a\nb\x9b\u202e", path="\ud800")
    assert found["message"] == "a\nb\x9b\u202e"
    assert found["path"] == "\\ud800"


def test_an_exception_is_part_of_its_line() -> None:
    try:
        raise ValueError("deep")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "failed", (), sys.exc_info())
    found = json.loads(JsonFormatter().format(record))
    assert "ValueError: deep" in found["exception"]


def values(served: Served) -> dict[str, float]:
    """Return all metrics by their names and labels."""
    page = served.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    found = (line.rsplit(" ", 1) for line in page.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in found}


def test_requests_and_matches_are_counted(serve: Serve) -> None:
    served = serve()
    pool = served.pool()
    served.post(f"/v1/pools/{pool}/matches", duel("1"))
    served.post(f"/v1/pools/{pool}/matches", [duel("1"), duel("2")])
    served.stream(pool, lines(duel("3")))
    served.post(f"/v1/pools/{pool}/matches", duel("1", "x"))
    served.get("/nothing")
    found = values(served)
    posts = 'equipoise_requests_total{method="POST",route="/v1/pools/{pool}/matches",status="%s"}'
    assert found[posts % 200] == 3
    assert found[posts % 409] == 1
    assert found['equipoise_requests_total{method="GET",route="(none)",status="404"}'] == 1
    assert found['equipoise_matches_total{as="new"}'] == 3
    assert found['equipoise_matches_total{as="known"}'] == 1
    assert found["equipoise_refused_posts_total"] == 1
    assert found["equipoise_queued_matches"] == 0
    assert found["equipoise_batch_matches_count"] >= 1
    assert found["equipoise_commit_seconds_count"] >= 1
    assert found['equipoise_request_seconds_count{route="/v1/pools/{pool}/matches"}'] == 4


def test_metrics_may_need_a_key(serve: Serve) -> None:
    served = serve(metrics="key")
    assert served.get("/metrics", None).status_code == 401
    assert served.get("/metrics", served.key("reader", "x")).status_code == 403
    assert served.get("/metrics", served.key("reader")).status_code == 200


def test_metrics_may_be_off(serve: Serve) -> None:
    assert serve(metrics="off").get("/metrics").status_code == 404
