"""Matches of very many players: answers list a part of them, and paging lists each of them once."""

from __future__ import annotations

import pytest

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.messages.matches import MatchMessage, MatchRequest, TeamRequest
from equipoise.pools import amending
from equipoise.pools.reading.matches import match
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial

PLAYERS = [f"p{number:04d}" for number in range(1_205)]


def contest(sizes: list[int]) -> MatchRequest:
    """Return a match of teams of these sizes, in the order in which they were posted, best last."""
    names, teams = iter(PLAYERS), []
    for number, size in enumerate(sizes):
        teams.append(TeamRequest([next(names) for _ in range(size)], len(sizes) - number))
    return MatchRequest("large", teams, time=1)


def listed(found: MatchMessage) -> list[tuple[str, int]]:
    """Return the listed players with their places."""
    return [(one.player, team.rank) for team in found.teams for one in team.players]


def followed(pool: Trial, start: MatchMessage, way: str, limit: int) -> list[tuple[str, int]]:
    """Return the players of a part and of all parts after it, or before it."""
    rows, part = listed(start), start
    while (cursor := getattr(part, way)) is not None:
        part = match(pool.store, pool.name, "large", cursor=cursor, limit=limit)
        rows = [*rows, *listed(part)] if way == "next" else [*listed(part), *rows]
    return rows


@pytest.mark.parametrize("limit", [1, 4, 7, 1000])
def test_parts_list_every_player_once_in_their_place(store: Store, limit: int) -> None:
    """Forwards, backwards and both ways around a player, though parts cut through teams."""
    pool = Trial(store)
    sizes = [1, 5, 2, 4]
    whole = [
        (name, len(sizes) - team)
        for team, names in enumerate((PLAYERS[:1], PLAYERS[1:6], PLAYERS[6:8], PLAYERS[8:12]))
        for name in names
    ]
    pool.post(contest(sizes))
    first = match(store, pool.name, "large", limit=limit)
    assert followed(pool, first, "next", limit) == whole
    last = first
    while last.next is not None:
        assert (last.players_in_match, last.teams_in_match) == (12, 4)
        last = match(store, pool.name, "large", cursor=last.next, limit=limit)
    assert followed(pool, last, "previous", limit) == whole
    for name in PLAYERS[:12]:
        around = match(store, pool.name, "large", limit=limit, around=name)
        assert name in [player for player, _ in listed(around)]
        after = followed(pool, around, "next", limit)
        assert followed(pool, around, "previous", limit)[: -len(listed(around))] + after == whole


def test_a_part_has_the_changes_of_its_players(store: Store) -> None:
    """Each player has the same numbers in a part as in the whole."""
    pool = Trial(store)
    pool.post(contest([2, 3, 3]))
    whole = match(store, pool.name, "large")
    numbers = {one.player: one for team in whole.teams for one in team.players}
    assert all(one.counted for one in numbers.values())
    part = match(store, pool.name, "large", limit=3, around="p0004")
    assert [player for player, _ in listed(part)] == ["p0003", "p0004", "p0005"]
    for team in part.teams:
        for one in team.players:
            assert one == numbers[one.player]


def test_the_answer_to_a_post_lists_a_thousand_players(store: Store) -> None:
    """The answer to the same post again, and that to a question without a limit, are the same."""
    pool = Trial(store, system="codeforces")
    request = contest([1] * len(PLAYERS))
    (answer,) = pool.post(request)
    assert [player for player, _ in listed(answer)] == PLAYERS[:1000]
    assert answer.players_in_match == answer.teams_in_match == len(PLAYERS)
    assert all(one.counted for team in answer.teams for one in team.players)
    assert pool.post(request) == [answer]
    assert match(store, pool.name, "large") == answer
    assert answer.next is not None
    rest = match(store, pool.name, "large", cursor=answer.next)
    assert [player for player, _ in listed(rest)] == PLAYERS[1000:]
    assert rest.next is None


def test_a_match_of_few_players_has_no_parts(store: Store) -> None:
    pool = Trial(store)
    pool.post(contest([2, 2]))
    found = match(store, pool.name, "large")
    assert (found.players_in_match, found.teams_in_match) == (None, None)
    assert (found.previous, found.next) == (None, None)


def test_a_disqualified_player_is_marked_in_a_part(store: Store) -> None:
    pool = Trial(store)
    pool.post(contest([1] * 6))
    pool.disqualify("p0004", match="large")
    pool.replay()
    part = match(store, pool.name, "large", limit=2, around="p0004")
    marked = {one.player: one.disqualified for team in part.teams for one in team.players}
    assert marked == {"p0003": False, "p0004": True}


def test_a_part_that_a_correction_removed_begins_with_the_last_player(store: Store) -> None:
    pool = Trial(store)
    pool.post(contest([1] * 6))
    end = match(store, pool.name, "large", limit=5)
    assert end.next is not None
    amending.correct_match(store, pool.name, "large", contest([1] * 3), key=None, now=NOW)
    found = match(store, pool.name, "large", cursor=end.next, limit=5)
    assert [player for player, _ in listed(found)] == ["p0002"]


@pytest.mark.parametrize(
    "asked", [{"limit": 0}, {"limit": 1001}, {"cursor": "?"}, {"cursor": "IngiCg", "limit": 2}]
)
def test_a_part_that_cannot_be_is_refused(store: Store, asked: dict[str, object]) -> None:
    pool = Trial(store)
    pool.post(contest([1, 1]))
    with pytest.raises(InvalidParameterError):
        match(store, pool.name, "large", **asked)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="around"):
        match(store, pool.name, "large", cursor="WzAsMV0", around="p0000")
    with pytest.raises(NotFoundError, match="nobody did not take part"):
        match(store, pool.name, "large", around="nobody")
