"""What is counted: requests by route, matches, commits; shown to whom the settings say."""

from __future__ import annotations

from web.conftest import Serve, Served, duel, lines


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
