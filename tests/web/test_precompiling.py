"""Precompiling rates a throw-away pool."""

from __future__ import annotations

from equipoise.messages.pools import PoolRequest
from equipoise.web.background import precompile, request_of
from web.conftest import Served


def test_a_system_is_warmed_up_with_the_parameters_of_a_pool(served: Served) -> None:
    """As the pool is told by the service, from which it is remembered after a restart."""
    pool = served.pool(parameters={"k": 20.0}, late="replay")
    told = served.app.state.service
    from equipoise.pools.pool.pools import pool_message

    request = request_of(pool_message(told.store, pool))
    assert request.parameters["k"] == 20.0
    assert precompile(request)


def test_what_cannot_be_warmed_up_does_no_harm() -> None:
    assert not precompile(PoolRequest(system="nothing"))
