"""Kernels that a pool needs: compiled, or loaded from disk, by rating a throw-away pool."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import msgspec

from equipoise._jit import NotCachedError, cached_only
from equipoise.errors import EquipoiseError
from equipoise.messages.matches import (
    MatchRequest,
    ParticipationRequest,
    ReasonRequest,
    TeamRequest,
)
from equipoise.messages.pools import PoolRequest
from equipoise.pools import amending
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.posting import posting
from equipoise.pools.reading.questions import explain_player
from equipoise.pools.replay import replaying
from equipoise.rating.base_system import System
from equipoise.rating.contexts import CONTEXT
from equipoise.store.connection import open_store

log = logging.getLogger(__name__)

_POOL = "precompile"
#: Time of the throw-away pool, microseconds: no match in it is in the future.
_NOW = 10 * 86_400_000_000


def precompile(request: PoolRequest) -> bool:
    """Rate, void and replay in a throw-away pool; return whether the system can do that.

    Where newcomers do not enter at a fixed rating, a match is explained as well.
    """
    request = msgspec.structs.replace(request, statistics={}, late="reject")
    with tempfile.TemporaryDirectory(prefix="equipoise-precompile-") as folder:
        store = open_store(f"sqlite:///{Path(folder) / 'pools.db'}")
        try:
            create_pool(store, _POOL, request, _NOW)
            answers = posting.post_matches(store, _POOL, [posting.Post(_matches())], _NOW)
            failed = [answer for answer in answers if isinstance(answer, EquipoiseError)]
            if failed:
                raise failed[0]
            system = PoolRules(request).system
            apart = {"at_home", CONTEXT} & system.capabilities.uses
            if isinstance(system, System) and (system.changes_entry or apart):
                # Explanations also rate with a fixed entry, on neutral ground and without contexts,
                # which no other pool may need.
                explain_player(store, _POOL, "a")
            amending.void_match(store, _POOL, "1", ReasonRequest(), key=None, now=_NOW)
            replaying.maintain_pool(store, _POOL, owner="precompile", stop=lambda: False)
        except EquipoiseError as error:
            log.debug("%s could not be precompiled: %s", request.system, error)
            return False
        finally:
            store.close()
    return True


def _matches() -> list[MatchRequest]:
    """Return matches that every system can rate."""
    players = [ParticipationRequest(name, performance=2.0 - rank) for rank, name in enumerate("ab")]
    teams = [TeamRequest([player], rank) for rank, player in enumerate(players)]
    return [MatchRequest(str(number), teams, time=86_400 * number) for number in range(3)]


def is_cached(request: PoolRequest) -> bool:
    """Load the kernels of a pool; return whether all of them were loaded or on disk."""
    try:
        with cached_only():
            precompile(request)
    except NotCachedError as error:
        log.debug("kernel %s of %s is not on disk", error, request.system)
        return False
    return True
