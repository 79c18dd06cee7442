"""What posting would do, and what was posted; on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import pytest

from equipoise.errors import ConflictError, InvalidDataError, NotFoundError
from equipoise.messages.matches import (
    MatchRequest,
    ParticipationRequest,
    ReasonRequest,
    TeamRequest,
)
from equipoise.messages.pools import PoolRequest
from equipoise.pools.amending import correct_match, void_match
from equipoise.pools.pool.pools import create_pool, pool_message
from equipoise.pools.posting.posting import Post, post_matches, preview_match
from equipoise.pools.reading.matches import posted_match
from equipoise.pools.reading.players import leaderboard
from equipoise.store.connection import Store, open_store

NOW = 2_000_000_000_000_000


@dataclass(frozen=True)
class Pool:
    store: Store
    matches: list[MatchRequest]


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    store = open_store(database_url)
    create_pool(store, "pool", PoolRequest(system="glicko", placement_matches=0), NOW)
    matches = [
        MatchRequest(
            f"m{at}",
            [TeamRequest(["a"], rank=1 + at % 2), TeamRequest(["b"], rank=2 - at % 2, team="blue")],
            time=1_700_000_000 + at,
        )
        for at in range(4)
    ]
    post_matches(store, "pool", [Post(matches[:3], detailed=False)], NOW)
    yield Pool(store, matches)
    store.close()


def test_a_preview_is_what_posting_then_does(pool: Pool) -> None:
    """To the bit; and until then nothing has happened."""
    before = (pool_message(pool.store, "pool"), leaderboard(pool.store, "pool"))
    shown = preview_match(pool.store, "pool", pool.matches[3], NOW)
    assert (pool_message(pool.store, "pool"), leaderboard(pool.store, "pool")) == before
    done = post_matches(pool.store, "pool", [Post([pool.matches[3]])], NOW)[0]
    assert done == [shown]


def test_what_could_not_be_posted_has_no_preview(pool: Pool) -> None:
    """For the same reasons."""
    again = msgspec.structs.replace(pool.matches[0], weight=0.5)
    with pytest.raises(ConflictError):
        preview_match(pool.store, "pool", again, NOW)
    early = msgspec.structs.replace(pool.matches[3], time=1_600_000_000)
    with pytest.raises(InvalidDataError):
        preview_match(pool.store, "pool", early, NOW)
    with pytest.raises(NotFoundError):
        preview_match(pool.store, "other", pool.matches[3], NOW)


def test_a_match_comes_back_as_it_was_posted(pool: Pool) -> None:
    """With its time; void or not."""
    assert posted_match(pool.store, "pool", "m1") == pool.matches[1]
    void_match(pool.store, "pool", "m1", ReasonRequest(), key=None, now=NOW)
    assert posted_match(pool.store, "pool", "m1") == pool.matches[1]
    with pytest.raises(NotFoundError):
        posted_match(pool.store, "pool", "m9")


def test_a_corrected_match_comes_back_as_corrected(pool: Pool) -> None:
    """The last correction counts; a time that it does not give stays."""
    teams = [
        TeamRequest([ParticipationRequest("a", performance=2.0)], rank=1),
        TeamRequest(["c"], rank=1),
    ]
    correct_match(
        pool.store, "pool", "m1", MatchRequest("m1", teams, weight=0.5), key=None, now=NOW
    )
    found = posted_match(pool.store, "pool", "m1")
    assert found == MatchRequest("m1", teams, time=pool.matches[1].time, weight=0.5)
