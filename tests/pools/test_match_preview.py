"""What posting would do, and what was posted; on both databases."""

from __future__ import annotations

import msgspec
import pytest

from equipoise.errors import ConflictError, InvalidDataError, NotFoundError
from equipoise.messages.matches import (
    MatchRequest,
    ParticipationRequest,
    TeamRequest,
)
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.posting.posting import preview_match
from equipoise.pools.reading.matches import posted_match
from equipoise.pools.reading.players import leaderboard
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial

#: The first three are posted.
MATCHES = [
    MatchRequest(
        f"m{at}",
        [TeamRequest(["a"], rank=1 + at % 2), TeamRequest(["b"], rank=2 - at % 2, team="blue")],
        time=1_700_000_000 + at,
    )
    for at in range(4)
]


@pytest.fixture
def pool(store: Store) -> Trial:
    pool = Trial(store, "pool", system="glicko")
    pool.post(*MATCHES[:3])
    return pool


def test_a_preview_is_what_posting_then_does(pool: Trial) -> None:
    """To the bit; and until then nothing has happened."""
    before = (pool_message(pool.store, "pool"), leaderboard(pool.store, "pool"))
    shown = preview_match(pool.store, "pool", MATCHES[3], NOW)
    assert (pool_message(pool.store, "pool"), leaderboard(pool.store, "pool")) == before
    assert pool.post(MATCHES[3]) == [shown]


def test_what_could_not_be_posted_has_no_preview(pool: Trial) -> None:
    """For the same reasons."""
    again = msgspec.structs.replace(MATCHES[0], weight=0.5)
    with pytest.raises(ConflictError):
        preview_match(pool.store, "pool", again, NOW)
    early = msgspec.structs.replace(MATCHES[3], time=1_600_000_000)
    with pytest.raises(InvalidDataError):
        preview_match(pool.store, "pool", early, NOW)
    with pytest.raises(NotFoundError):
        preview_match(pool.store, "other", MATCHES[3], NOW)


def test_a_match_comes_back_as_it_was_posted(pool: Trial) -> None:
    """With its time; void or not."""
    assert posted_match(pool.store, "pool", "m1") == MATCHES[1]
    pool.void("m1")
    assert posted_match(pool.store, "pool", "m1") == MATCHES[1]
    with pytest.raises(NotFoundError):
        posted_match(pool.store, "pool", "m9")


def test_a_corrected_match_comes_back_as_corrected(pool: Trial) -> None:
    """The last correction counts; a time that it does not give stays."""
    teams = [
        TeamRequest([ParticipationRequest("a", performance=2.0)], rank=1),
        TeamRequest(["c"], rank=1),
    ]
    pool.correct(MatchRequest("m1", teams, weight=0.5))
    found = posted_match(pool.store, "pool", "m1")
    assert found == MatchRequest("m1", teams, time=MATCHES[1].time, weight=0.5)
