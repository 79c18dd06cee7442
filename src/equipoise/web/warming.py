"""Compile the kernels of a system by rating a throw-away pool.

Numba compiles a kernel at its first use. Without a cache on disk that takes seconds, for which the
first match of a pool would wait.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import msgspec

from equipoise.errors import EquipoiseError
from equipoise.messages.amendments import ReasonRequest
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import PoolMessage, PoolRequest
from equipoise.store.connection import open_store
from equipoise.workflows import amending, posting, replaying
from equipoise.workflows.pools import create_pool

log = logging.getLogger(__name__)

_POOL = "warm"
_NOW = 0


def request_of(pool: PoolMessage) -> PoolRequest:
    """Return the settings of a pool that decide which kernels it uses."""
    return PoolRequest(
        system=pool.system,
        parameters={name: value for name, value in pool.parameters.items() if value is not None},
        times=pool.times,  # type: ignore[arg-type]
    )


def precompile(request: PoolRequest) -> bool:
    """Rate, void and replay in a throw-away pool; return whether the system could do that."""
    request = msgspec.structs.replace(request, statistics={}, late="reject")
    with tempfile.TemporaryDirectory(prefix="equipoise-warm-") as folder:
        store = open_store(f"sqlite:///{Path(folder) / 'warm.db'}")
        try:
            create_pool(store, _POOL, request, _NOW)
            answers = posting.post_matches(store, _POOL, [posting.Post(_matches())], _NOW)
            failed = [one for one in answers if isinstance(one, EquipoiseError)]
            if failed:
                raise failed[0]
            amending.void_match(store, _POOL, "1", ReasonRequest(), key=None, now=_NOW)
            replaying.maintain_pool(store, _POOL, owner="warm", stop=lambda: False)
        except EquipoiseError as error:
            log.debug("%s could not be precompiled: %s", request.system, error)
            return False
        finally:
            store.close()
    return True


def _matches() -> list[MatchRequest]:
    """Return two matches that every system can rate."""

    def team(player: str, rank: int) -> TeamRequest:
        return TeamRequest([ParticipationRequest(player, performance=2.0 - rank)], rank)

    return [
        MatchRequest(str(number), [team("a", 0), team("b", 1)], time=86_400 * number)
        for number in range(3)
    ]
