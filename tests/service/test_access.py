"""Roles and secrets as a client meets them; `web/test_access.py` has every endpoint."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from equipoise.client import Client
from equipoise.errors import AccessError, ConflictError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolChange, PoolRequest
from equipoise.messages.questions import BalanceRequest, PredictRequest
from service.serving import Service

DUEL = MatchRequest("m1", [TeamRequest(["a"], 0), TeamRequest(["b"], 1)])

#: What each role is the least to be allowed: a name, and the call in a pool.
READS: list[tuple[str, Callable[[Client, str], object]]] = [
    ("pool", lambda c, p: c.pool(p)),
    ("leaderboard", lambda c, p: c.leaderboard(p)),
    ("player", lambda c, p: c.player(p, "a")),
    ("history", lambda c, p: c.player_history(p, "a")),
    ("summary", lambda c, p: c.player_summary(p, "a")),
    ("explain", lambda c, p: c.explain(p, "a")),
    ("match", lambda c, p: c.match(p, "m1")),
    ("matches", lambda c, p: c.matches(p)),
    ("amendments", lambda c, p: c.amendments(p)),
    ("predict", lambda c, p: c.predict(p, PredictRequest([["a"], ["b"]]))),
    ("balance", lambda c, p: c.balance(p, BalanceRequest(["a", "b"]))),
]
WRITES: list[tuple[str, Callable[[Client, str], object]]] = [
    ("post", lambda c, p: c.post_match(p, DUEL)),
    ("post many", lambda c, p: c.post_matches(p, [DUEL])),
    ("stream", lambda c, p: list(c.stream_matches(p, [DUEL]))),
]
AMENDS: list[tuple[str, Callable[[Client, str], object]]] = [
    ("void", lambda c, p: c.void_match(p, "m1", preview=True)),
    ("restore", lambda c, p: c.restore_match(p, "m1", preview=True)),
    ("correct", lambda c, p: c.correct_match(p, "m1", DUEL, preview=True)),
    ("disqualify", lambda c, p: c.disqualify(p, "a", preview=True)),
    ("reinstate", lambda c, p: c.reinstate(p, "a", preview=True)),
    ("erase", lambda c, p: c.erase_player(p, "a", preview=True)),
    ("replay", lambda c, p: c.replay(p)),
    ("create", lambda c, p: c.create_pool(p, PoolRequest(system="elo"))),
    ("change", lambda c, p: c.change_pool(p, PoolChange(late="reject"))),
]
ALL = [*READS, *WRITES, *AMENDS]


def code_of(ask: Callable[[Client, str], object], client: Client, pool: str) -> str:
    """Return the code with which a call is refused."""
    with pytest.raises(AccessError) as raised:
        ask(client, pool)
    return raised.value.code


@pytest.fixture(scope="module")
def pool(service: Service) -> str:
    """Return a private pool with one match."""
    name = service.new_pool(system="elo")
    service.admin.post_match(name, DUEL)
    return name


@pytest.mark.parametrize("role", ["reader", "writer", "admin"])
def test_a_role_may_do_what_it_is_for_and_no_more(service: Service, pool: str, role: str) -> None:
    allowed = {"reader": READS, "writer": [*READS, *WRITES], "admin": ALL}[role]
    with service.client(role, pool) as client:
        for one in ALL:
            name, ask = one
            if one in allowed:
                with suppress(ConflictError):  # nothing is void, nobody is disqualified
                    ask(client, pool)
            else:
                assert code_of(ask, client, pool) == "forbidden", name


def test_secrets_are_told_once(service: Service) -> None:
    """No list of keys, and no database, has a secret in it."""
    made = service.admin.create_key("one", "reader")
    random = made.secret.split("_", 2)[2]
    assert len(random) >= 20
    listed = service.admin.keys().keys
    assert made.key.key in {key.key for key in listed}
    assert random not in repr(listed)
    database = Path(service.server.database.removeprefix("sqlite:///"))
    for file in database.parent.glob(f"{database.name}*"):
        assert random.encode() not in file.read_bytes()
    assert random not in service.server.log.read_text()
