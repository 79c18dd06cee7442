"""Every request gets an id, every answer its headers, every one of them a line in the log."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from equipoise.web.application import create_application
from equipoise.web.monitoring import FIELDS
from equipoise.web.settings import ServiceSettings
from web.asking import Running
from web.conftest import Serve, Served, duel


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
