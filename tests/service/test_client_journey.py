"""Client and service understand one another: every answer has the shape that is expected."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from equipoise.client import AsyncClient
from equipoise.errors import InvalidDataError, NotFoundError
from equipoise.messages.matches import MatchRequest
from service.serving import ONCE, Service
from trials.calls import duel


@pytest.fixture
def pool(service: Service) -> str:
    """Return a pool in which a beat b three times."""
    name = service.new_pool(system="glicko2")
    for number in range(3):
        service.admin.post_match(name, duel(number))
    return name


def test_the_async_client_does_the_same(service: Service, pool: str, tmp_path: Path) -> None:

    async def journey() -> None:
        async with AsyncClient(service.server.url, service.key, retries=ONCE) as client:
            posts = [client.post_match(pool, duel(number)) for number in range(20, 40)]
            told = await asyncio.gather(*posts)
            assert sorted(one.seq for one in told) == list(range(4, 24))
            stream = client.stream_matches(pool, map(duel, range(40, 60)), batch=7)
            assert [line.through async for line in stream] == [7, 14, 20]
            rows = [row.player async for row in client.each_on_leaderboard(pool, limit=1)]
            assert rows == ["a", "b"]
            with pytest.raises(NotFoundError):
                await client.player(pool, "nobody")
            await client.export(pool, tmp_path / "ratings.csv", "ratings", "csv")

    asyncio.run(journey())
    assert len((tmp_path / "ratings.csv").read_text().splitlines()) == 3


def test_a_name_is_erased_and_the_rating_stays(service: Service, pool: str) -> None:
    client = service.admin
    before = client.player(pool, "a")
    shown = client.erase_player(pool, "a", preview=True)
    assert (shown.player, shown.pools[0].matches, shown.pools[0].changes) == (None, 3, 3)
    done = client.erase_player(pool, "a", "a asked for it")
    assert done.player is not None
    assert client.player(pool, done.player).rating.hex() == before.rating.hex()
    with pytest.raises(NotFoundError):
        client.player(pool, "a")


def test_times_far_ahead_of_the_clock_are_refused(service: Service, pool: str) -> None:
    """Alone, in an array, in a stream, in a correction: with a sentence."""
    client = service.admin
    far = MatchRequest("far", duel(1).teams, time=99_972_403_200)
    fixed = MatchRequest("m0", duel(0).teams, time=99_972_403_200)
    for ask in (
        lambda: client.post_match(pool, far),
        lambda: client.post_matches(pool, [far]),
        lambda: list(client.stream_matches(pool, [far])),
        lambda: client.correct_match(pool, "m0", fixed),
        lambda: client.correct_match(pool, "m0", fixed, preview=True),
    ):
        with pytest.raises(InvalidDataError, match="ahead of the clock of the service"):
            ask()
