"""Client and service understand one another: every answer has the shape that is expected."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from equipoise.client import AsyncClient
from equipoise.errors import InvalidDataError, NotFoundError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import (
    InitialMapping,
    InitialRating,
    InitialRequest,
    SeasonRequest,
)
from equipoise.messages.questions import BalancePlayer, BalanceRequest, PredictRequest
from service.serving import ONCE, Service
from trials.calls import duel
from trials.crash import wait_until_replayed

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def pool(service: Service) -> str:
    """Return a pool in which a beat b three times."""
    name = service.new_pool(system="glicko2")
    for number in range(3):
        service.admin.post_match(name, duel(number))
    return name


def test_a_pool_begins_with_known_ratings(service: Service) -> None:
    client, (name, other) = service.admin, (service.new_pool(system="elo") for _ in range(2))
    ratings = [InitialRating("a", 1800.0), InitialRating("b", 1600.0), InitialRating(3, 1500.0)]
    told = client.set_initial_ratings(name, InitialRequest(ratings=ratings))
    assert (told.seq, told.players) == (1, 3)
    found = list(client.each_initial_rating(name, limit=2))
    assert [(one.player, one.rating) for one in found] == [("3", 1500), ("a", 1800), ("b", 1600)]
    mapping = InitialMapping(there=(1500.0, 1600.0), here=(1500.0, 1550.0))
    copy = client.set_initial_ratings(other, InitialRequest(pool=name, mapping=mapping))
    assert (copy.source, copy.mapping) == (name, mapping)
    ratings_of_copy = [one.rating for one in client.each_initial_rating(other)]
    assert ratings_of_copy == [1500.0, 1650.0, 1550.0]


def test_amendments_are_previewed_carried_out_and_taken_back(service: Service, pool: str) -> None:
    client = service.admin
    before = client.player(pool, "a")
    shown = client.void_match(pool, "m1", preview=True)
    assert (shown.kind, client.match(pool, "m1").status) == ("preview", "rated")
    done = client.void_match(pool, "m1", "server crashed", wait=20)
    assert (done.status, done.reason) == ("done", "server crashed")
    assert done.difference is not None
    assert done.difference == shown.difference
    assert client.match(pool, "m1").status == "void"
    client.restore_match(pool, "m1", wait=20)
    swapped = MatchRequest("m2", [TeamRequest(["b"], 0), TeamRequest(["a"], 1)])
    client.correct_match(pool, "m2", swapped, wait=20)
    assert client.player(pool, "a").rating < before.rating
    foreseen = client.disqualify(pool, "b", 0, effect="void", preview=True)
    assert foreseen.effect == "void"
    assert foreseen.others is not None
    assert client.disqualify(pool, "b", 0, effect="keep", wait=20).effect == "keep"
    client.reinstate(pool, "b", 0, wait=20)
    kinds = [one.kind for one in client.each_amendment(pool, limit=2)]
    assert kinds == ["reinstate", "disqualify", "correct", "restore", "void"]
    assert client.amendment(pool, done.seq or 0) == done
    client.replay(pool)
    wait_until_replayed(client, pool)


def test_questions_are_answered(service: Service, pool: str) -> None:
    client = service.admin
    foreseen = client.predict(pool, PredictRequest([["a"], ["b"]], what_if=["a"]))
    assert foreseen.teams[0].expected > 0.5
    lobby = BalanceRequest(["a", "b", "new", BalancePlayer("other", rating=1500.0)], teams=2)
    assert len(client.balance(pool, lobby).teams) == 2
    why = client.explain(pool, "a")
    assert why.match == "m2"
    changes = sum(one.change for one in why.contributions)
    assert changes == pytest.approx(why.change)
    rows = list(client.each_in_history(pool, "a", limit=2))
    assert [row.match for row in rows] == ["m2", "m1", "m0"]
    assert [line.match for line in client.each_match(pool, limit=1)] == ["m2", "m1", "m0"]


def test_calculations_are_answered(service: Service) -> None:
    games = (EXAMPLES / "interzonal1970.csv").read_bytes()
    table = service.admin.performance(games, "csv", superiority=True)
    assert table.exists
    request = json.loads((EXAMPLES / "rebalance.json").read_bytes())
    assert service.admin.rebalance(request, method="greedy").method == "greedy"


def test_seasons_end(service: Service, pool: str) -> None:
    request = SeasonRequest(season="2025-1")
    shown = service.admin.preview_season(pool, request)
    assert service.admin.seasons(pool).seasons == []
    ended = service.admin.end_season(pool, request)
    assert (shown.archive, shown.players, shown.matches, shown.centre) == (
        ended.archive,
        ended.players,
        ended.matches,
        ended.centre,
    )
    assert ended.archive == f"{pool}.2025-1"
    assert [one.season for one in service.admin.seasons(pool).seasons] == ["2025-1"]
    assert service.admin.pool(ended.archive).closed is not None


def test_a_pool_is_exported(service: Service, pool: str, tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    service.admin.export(pool, path, "log", "ndjson")
    assert len(path.read_bytes().splitlines()) == 4  # a head and three matches
    with pytest.raises(NotFoundError):
        service.admin.export("no-such-pool", tmp_path / "none", "log", "ndjson")


def test_the_service_tells_of_itself(service: Service) -> None:
    assert service.admin.ready()
    assert "equipoise" in service.admin.metrics()
    assert service.admin.openapi()["openapi"].startswith("3.")


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
