"""The end of a season: an archive that stays, a new pool that begins with its seed; a preview."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from equipoise.errors import ConflictError, EquipoiseError, InvalidDataError, NotFoundError
from equipoise.messages.matches import (
    DisqualifyRequest,
    MatchMessage,
    MatchRequest,
    PostedMessage,
    ReasonRequest,
    TeamRequest,
)
from equipoise.messages.pools import PoolRequest, SeasonRequest, SeasonSettings
from equipoise.messages.upkeep import WebhookRequest
from equipoise.pools.amending import amendments, disqualify, void_match
from equipoise.pools.pool.pools import create_pool, pool_message, pool_messages
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.reading.matches import match
from equipoise.pools.reading.players import leaderboard, player
from equipoise.pools.replay.replaying import keep_checkpoints, maintain_pool, rerate
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import SAMPLE, end_season, preview_season, seasons
from equipoise.pools.webhooks import create_webhook
from equipoise.store.connection import Store

NOW = 1_900_000_000_000_000
DAY = 86_400
PLAYERS = ["ana", "ben", "cyd", "dee", "eva"]


def duels(count: int, begin: int = 0) -> list[MatchRequest]:
    """Return matches of two, a day apart."""
    rng = np.random.default_rng(begin)
    found = []
    for number in range(begin, begin + count):
        first, second = rng.choice(PLAYERS, 2, replace=False).tolist()
        teams = [TeamRequest([first], 0), TeamRequest([second], int(rng.integers(0, 2)))]
        found.append(MatchRequest(f"m{number}", teams, time=1_700_000_000 + DAY * number))
    return found


def post(store: Store, pool: str, matches: list[MatchRequest], now: int = NOW) -> object:
    (answer,) = post_matches(store, pool, [Post(matches, detailed=False)], now)
    if isinstance(answer, EquipoiseError):
        raise answer
    return answer


def ended(store: Store, season: str, now: int = NOW, **how: object) -> object:
    return end_season(store, "ladder", SeasonRequest(season=season, **how), key=None, now=now)  # type: ignore[arg-type]


def preview(store: Store, season: str = "s1", **how: Any) -> Any:
    return preview_season(store, "ladder", SeasonRequest(season=season, **how))


def settle(store: Store, pool: str) -> None:
    """Do all that a pool waits for."""
    while pool_message(store, pool).pending:
        maintain_pool(store, pool, owner="test", stop=lambda: False)


def ladder(store: Store, matches: int = 12, **settings: object) -> None:
    settings = {"system": "glicko2", "placement_matches": 0, **settings}
    create_pool(store, "ladder", PoolRequest(**settings), NOW)  # type: ignore[arg-type]
    post(store, "ladder", duels(matches))


def test_a_soft_reset_seeds_the_new_pool_and_leaves_an_archive(store: Store) -> None:
    """Ratings are drawn to their mean and unsure again; the archive is as the pool was."""
    ladder(store, placement_matches=3)
    before = leaderboard(store, "ladder", provisional=True).players
    told = ended(store, "s1", keep=0.25, widen=60.0)
    archive = leaderboard(store, "ladder.s1", provisional=True)
    assert archive.players == before
    mean = float(np.mean([row.rating for row in sorted(before, key=lambda row: row.player)]))
    new = {row.player: row for row in leaderboard(store, "ladder", provisional=True).players}
    assert leaderboard(store, "ladder").players == []
    for row in before:
        now = new[row.player]
        assert now.rating == pytest.approx(mean + 0.25 * (row.rating - mean), rel=1e-12)
        assert row.deviation is not None
        assert now.deviation == pytest.approx(min(350.0, np.hypot(row.deviation, 60.0)), rel=1e-12)
        assert (now.matches, now.last_time, now.provisional) == (0, None, True)
    assert (told.season, told.archive, told.pool) == ("s1", "ladder.s1", "ladder")  # type: ignore[attr-defined]
    assert (told.players, told.matches, told.seeded) == (5, 12, 5)  # type: ignore[attr-defined]
    assert told.centre == pytest.approx(mean, rel=1e-12)  # type: ignore[attr-defined]
    for pool in ("ladder", "ladder.s1"):
        assert verify_pool(store, pool).identical


@pytest.mark.parametrize("system", ["elo", "glicko2", "elo-mmr"])
def test_a_seeded_pool_is_rated_replayed_and_verified_from_its_seed(
    store: Store, system: str
) -> None:
    """Posts, a void in the middle, a checkpoint, a replay of all: the same bits."""
    ladder(store, system=system, late="replay")
    ended(store, "s1")
    newcomer = player(store, "ladder", "ana").rating
    post(store, "ladder", duels(10, 100))
    assert player(store, "ladder", "ana").rating != newcomer
    assert verify_pool(store, "ladder").identical
    void_match(store, "ladder", "m103", ReasonRequest("late"), key=None, now=NOW)
    settle(store, "ladder")
    found = verify_pool(store, "ladder")
    assert (found.identical, found.matches, found.differences) == (True, 9, [])
    board = leaderboard(store, "ladder").players
    rerate(store, "ladder")
    settle(store, "ladder")
    assert leaderboard(store, "ladder").players == board
    keep_checkpoints(store, "ladder")
    assert verify_pool(store, "ladder").identical


def test_an_archive_takes_nothing_more(store: Store) -> None:
    """Reading goes on; a post, a void and another end are refused with the reason."""
    ladder(store)
    ended(store, "s1")
    with pytest.raises(ConflictError, match="closed: it is the archive of season 's1'"):
        post_matches(store, "ladder.s1", [Post(duels(1, 50))], NOW)
    for preview in (False, True):
        with pytest.raises(ConflictError, match="closed"):
            void_match(
                store, "ladder.s1", "m1", ReasonRequest(), key=None, now=NOW, preview=preview
            )
    with pytest.raises(ConflictError, match="closed"):
        disqualify(store, "ladder.s1", "ana", DisqualifyRequest(), key=None, now=NOW)
    with pytest.raises(ConflictError, match="closed"):
        end_season(store, "ladder.s1", SeasonRequest(season="x"), key=None, now=NOW)
    assert match(store, "ladder.s1", "m1").status == "rated"
    archive = pool_message(store, "ladder.s1")
    assert (archive.archive_of, archive.season) == ("ladder", "s1")
    assert archive.closed is not None
    assert pool_message(store, "ladder").closed is None


def test_the_same_end_again_gets_the_same_answer(store: Store) -> None:
    """Otherwise the same season cannot end, nor one whose archive's name is taken."""
    ladder(store)
    told = ended(store, "s1", keep=0.5)
    post(store, "ladder", duels(3, 60))
    assert ended(store, "s1", now=NOW + 5, keep=0.5) == told
    with pytest.raises(ConflictError, match="has already ended with different settings"):
        ended(store, "s1", keep=0.4)
    create_pool(store, "ladder.s2", PoolRequest(), NOW)
    with pytest.raises(ConflictError, match="is not a season of 'ladder'"):
        ended(store, "s2")
    ended(store, "s3", now=NOW + 9, reset="hard")
    listed = seasons(store, "ladder").seasons
    assert [one.season for one in listed] == ["s3", "s1"]
    assert listed[1] == told
    names = ["ladder", "ladder.s1", "ladder.s2", "ladder.s3"]
    assert [one.pool for one in pool_messages(store)] == names


def test_a_season_may_begin_with_other_settings(store: Store) -> None:
    """What is not named stays; another system only with a hard reset."""
    ladder(store, placement_matches=3, public=True)
    with pytest.raises(InvalidDataError, match="problem"):
        ended(store, "s1", settings=SeasonSettings(system="elo"))
    with pytest.raises(InvalidDataError):
        ended(store, "s1", settings=SeasonSettings(placement_matches=-1))
    ended(store, "s1", reset="hard", settings=SeasonSettings(system="elo", placement_matches=0))
    now = pool_message(store, "ladder")
    assert (now.system, now.placement_matches, now.public) == ("elo", 0, True)
    post(store, "ladder", duels(4, 100))
    assert verify_pool(store, "ladder").identical


def test_a_match_posted_again_after_the_end_counts_once(store: Store) -> None:
    """The client that lost the answer gets it from the archive; other content is a new match."""
    ladder(store)
    (told,) = post_matches(store, "ladder", [Post(duels(1, 40))], NOW)
    ended(store, "s1")
    (again,) = post_matches(store, "ladder", [Post(duels(1, 40))], NOW + 1_000_000)
    assert isinstance(again, list)
    assert again == told
    assert isinstance(again[0], MatchMessage)
    assert post(store, "ladder", duels(1, 40)) == PostedMessage(0, 1, 0)
    teams = [TeamRequest(["ana"], 0), TeamRequest(["zoe"], 1)]
    other = MatchRequest("m40", teams, time=1_600_000_000)
    assert post(store, "ladder", [other]) == PostedMessage(1, 0, 1)
    later = NOW + 2 * DAY * 1_000_000
    assert post(store, "ladder", duels(1, 3), later) == PostedMessage(1, 0, 2)
    assert verify_pool(store, "ladder").identical


def test_whoever_is_disqualified_stays_so_unless_it_is_asked_otherwise(store: Store) -> None:
    """From the time on that was named; the new log says it."""
    ladder(store)
    request = DisqualifyRequest(since=1_700_000_000 + 100 * DAY)
    disqualify(store, "ladder", "ana", request, key=None, now=NOW)
    disqualify(store, "ladder", "ben", DisqualifyRequest(), key=None, now=NOW)
    create_webhook(store, "ladder", WebhookRequest(url="https://e.org"), key=None, now=NOW)
    settle(store, "ladder")
    assert (preview(store).barred, preview(store).webhooks) == (2, 1)
    assert preview(store, disqualified="return").barred == 0
    ended(store, "s1")
    told = amendments(store, "ladder").amendments
    assert [(one.kind, one.player) for one in told] == [
        ("disqualify", "ben"),
        ("disqualify", "ana"),
    ]
    teams = [TeamRequest(["ana", "cyd"], 0), TeamRequest(["ben", "dee"], 1)]
    create_pool(store, "teams", PoolRequest(system="elo"), NOW)
    disqualify(store, "teams", "ben", DisqualifyRequest(), key=None, now=NOW)
    end_season(store, "teams", SeasonRequest(season="s"), key=None, now=NOW)
    post(store, "teams", [MatchRequest("1", teams, time=1_700_000_000)])
    found = match(store, "teams", "1")
    counted = [one.counted for team in found.teams for one in team.players]
    assert counted == [True, True, False, True]
    for pool in ("ladder", "teams"):
        assert verify_pool(store, pool).identical
    ended(store, "s2", now=NOW + 1, disqualified="return")
    assert amendments(store, "ladder").amendments == []


def test_posts_go_on_while_seasons_end(store: Store) -> None:
    """Each match is in one season, none is lost, and nobody is told that there is no pool."""
    create_pool(store, "ladder", PoolRequest(system="elo"), NOW)
    failures: list[Exception] = []

    def posting(player: str) -> None:
        try:
            for number in range(20):
                teams = [TeamRequest([player], 0), TeamRequest(["dee"], 1)]
                post(store, "ladder", [MatchRequest(f"{player}{number}", teams)])
        except Exception as error:  # noqa: BLE001 - told by the thread of the test
            failures.append(error)

    threads = [threading.Thread(target=posting, args=(player,)) for player in PLAYERS[:3]]
    for thread in threads:
        thread.start()
    for number in range(5):
        time.sleep(0.05)
        ended(store, f"s{number}", now=NOW + number)
    for thread in threads:
        thread.join()
    assert not failures
    pools = pool_messages(store)
    assert sum(one.matches for one in pools) == 60
    assert len(pools) == 6
    for one in pools:
        assert verify_pool(store, one.pool).identical


@pytest.mark.parametrize(
    ("system", "how"),
    [
        ("glicko2", {"keep": 0.25, "widen": 60.0}),
        ("glicko2", {"towards": "initial", "keep": 1.0, "widen": 0.0}),
        ("glicko2", {"reset": "hard"}),
        ("elo", {}),
        ("elo-mmr", {"keep": 0.25}),
    ],
)
def test_what_is_shown_is_what_is_done(store: Store, system: str, how: dict[str, Any]) -> None:
    """To the last bit, for systems with and without deviations; showing it changes nothing."""
    ladder(store, system=system)
    before = {row.player: row for row in leaderboard(store, "ladder").players}
    shown = preview(store, **how)
    assert seasons(store, "ladder").seasons == []
    done = ended(store, "s1", **how)
    after = {row.player: row for row in leaderboard(store, "ladder").players}
    for name in ("archive", "players", "matches", "reset", "keep", "widen", "towards", "centre"):
        assert getattr(shown, name) == getattr(done, name), name
    assert {one.player for one in shown.sample} == set(PLAYERS)
    for one in shown.sample:
        old, new = before[one.player], after.get(one.player)
        assert (one.rating_before, one.deviation_before) == (old.rating, old.deviation)
        if new is None:
            assert (one.rating, one.deviation, one.change) == (None, None, None)
        else:
            assert (one.rating, one.deviation) == (new.rating, new.deviation)


def test_a_few_players_are_shown_from_the_best_to_the_last(store: Store) -> None:
    """Both ends among them."""
    ladder(store)
    names = [f"p{at:02}" for at in range(40)]
    for at, (first, second) in enumerate(zip(names, reversed(names), strict=True)):
        one = duels(1, 100 + at)[0]
        teams = [type(one.teams[0])([first], 0), type(one.teams[0])([second], 1)]
        post(store, "ladder", [type(one)(one.match, teams, time=one.time)])
    board = sorted(leaderboard(store, "ladder", limit=100).players, key=lambda row: -row.rating)
    found = [one.rating_before for one in preview(store).sample]
    assert len(found) == SAMPLE
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == (board[0].rating, board[-1].rating)


def test_what_could_not_be_done_is_not_shown(store: Store) -> None:
    """With the same errors as when it is tried; an empty pool can end its season."""
    ladder(store, matches=0)
    found = preview(store)
    assert (found.players, found.centre, found.sample) == (0, None, [])
    with pytest.raises(NotFoundError):
        preview_season(store, "nowhere", SeasonRequest(season="s1"))
    with pytest.raises(InvalidDataError, match="season could not be ended: 1 problem"):
        preview(store, season="s" * 40, settings=SeasonSettings(placement_matches=-1))
    with pytest.raises(InvalidDataError):
        preview(store, settings=SeasonSettings(system="elo"))
    ended(store, "s1")
    with pytest.raises(ConflictError, match="another name"):
        preview(store)
    with pytest.raises(ConflictError, match="closed"):
        preview_season(store, "ladder.s1", SeasonRequest(season="s2"))
    post(store, "ladder", duels(2, 50))
    void_match(store, "ladder", "m50", ReasonRequest(), key=None, now=NOW)
    assert pool_message(store, "ladder").pending
    with pytest.raises(ConflictError, match="waits for a replay"):
        preview(store, season="s2")
    with pytest.raises(ConflictError, match="waits for a replay"):
        end_season(store, "ladder", SeasonRequest(season="s2"), key=None, now=NOW)
