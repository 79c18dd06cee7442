"""Requests made up from the description of the interface: none makes the service fail.

What is made up fits the description, or breaks it on purpose. A longer run:
EQUIPOISE_EXAMPLES=200 pytest tests/service/test_any_request.py
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from equipoise.messages.matches import MatchRequest, TeamRequest
from service.serving import Service

schemathesis = pytest.importorskip("schemathesis")

EXAMPLES = int(os.environ.get("EQUIPOISE_EXAMPLES", "8"))


@pytest.mark.slow
def test_no_request_makes_the_service_fail(service: Service) -> None:
    """Every operation answers every request below 500, in a shape that its description has."""
    pool = service.new_pool(system="elo", public=True)
    service.admin.post_match(
        pool, MatchRequest("m1", [TeamRequest(["a"], 0), TeamRequest(["b"], 1)])
    )
    schema = schemathesis.openapi.from_url(f"{service.server.url}/openapi.json")
    asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            asked += _ask(operation, mode, pool, service.key)
    assert asked > 100


def _ask(operation: Any, mode: Any, pool: str, key: str) -> int:
    """Ask with made-up requests, and return how many there were."""
    asked = 0
    headers = {"Authorization": f"Bearer {key}"}
    known = {"pool": pool, "match": "m1", "player": "a", "seq": "1"}

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode), real=st.booleans())
    def ask(case: Any, real: bool) -> None:
        nonlocal asked
        asked += 1
        if real and isinstance(case.path_parameters, dict):
            # Made-up ids are unknown ones; the handlers behind them should be reached as well.
            for name in set(known) & set(case.path_parameters):
                case.path_parameters[name] = known[name]
        response = case.call(headers=headers, timeout=120)
        assert response.status_code < 500, (operation.label, response.text[:500])

    # Where nothing can be broken there is nothing to make up.
    with suppress(Unsatisfiable):
        ask()
    return asked
