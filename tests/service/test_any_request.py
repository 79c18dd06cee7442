"""Requests made up from the description of the interface: none makes the service fail.

What is made up fits the description, or breaks it on purpose. A longer run:
EQUIPOISE_EXAMPLES=100 pytest tests/service/test_any_request.py --log-cli-level=INFO
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from service.serving import Service, served_by
from trials.calls import duel
from trials.server import running

schemathesis = pytest.importorskip("schemathesis")

log = logging.getLogger(__name__)

EXAMPLES = int(os.environ.get("EQUIPOISE_EXAMPLES", settings().max_examples // 10))


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Service]:
    """Give a service of its own: made-up requests revoke keys and end seasons, too."""
    pytest.importorskip("uvicorn")
    with running(f"sqlite:///{tmp_path / 'service.db'}", tmp_path / "log") as server:
        yield from served_by(server)


@pytest.mark.slow
def test_no_request_makes_the_service_fail(own: Service) -> None:
    """Every operation answers every request below 500."""
    schema = schemathesis.openapi.from_url(f"{own.server.url}/openapi.json")
    statuses: Counter[int] = Counter()
    for found in schema.get_all_operations():
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            statuses += _answers(found.ok(), mode, own)
    log.info("%d requests: %s", statuses.total(), dict(sorted(statuses.items())))
    # Many got through to what does the work.
    assert statuses[200] > statuses.total() / 10


def _answers(operation: Any, mode: Any, service: Service) -> Counter[int]:
    """Ask with made-up requests, and return how they were answered."""
    statuses: Counter[int] = Counter()
    key = service.new_key("admin")
    ours = key.split("_")[1]
    pool = service.new_pool(system="elo")
    service.admin.post_match(pool, duel(1))
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
        if real and isinstance(case.path_parameters, dict):
            # Made-up ids are unknown ones; the handlers behind them should be reached as well.
            for name in set(known) & set(case.path_parameters):
                case.path_parameters[name] = known[name]
        assume(str((case.path_parameters or {}).get("key")) not in {ours, "1"})
        response = case.call(headers={"Authorization": f"Bearer {key}"}, timeout=120)
        statuses[response.status_code] += 1
        assert response.status_code < 500, (operation.label, response.text[:500])

    # Where nothing can be broken there is nothing to make up.
    with suppress(Unsatisfiable):
        ask()
    return statuses
