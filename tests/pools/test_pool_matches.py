"""Matches as they are read: parts of large ones, previews, titles."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl
import pytest

from equipoise.analysis.reading import HistoryRequest
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.messages.matches import (
    MatchMessage,
    MatchRequest,
    ParticipationRequest,
    ReasonRequest,
    TeamRequest,
)
from equipoise.pools.erasing import erase_player
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.posting.posting import preview_match
from equipoise.pools.reading.matches import match, matches, posted_match
from equipoise.pools.reading.players import leaderboard
from equipoise.pools.reading.players import player_history as history
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial, duel

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
    assert (whole.players_in_match, whole.teams_in_match) == (None, None)
    assert (whole.previous, whole.next) == (None, None)
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


def test_a_disqualified_player_is_marked_in_a_part(store: Store) -> None:
    pool = Trial(store)
    pool.post(contest([1] * 6))
    pool.disqualify("p0004", match="large")
    pool.replay()
    part = match(store, pool.name, "large", limit=2, around="p0004")
    marked = {one.player: one.disqualified for team in part.teams for one in team.players}
    assert marked == {"p0003": False, "p0004": True}
    # A part that a correction removed begins with the last player.
    end = match(store, pool.name, "large", limit=5)
    assert end.next is not None
    pool.correct(contest([1] * 3))
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
    """To the bit; until then nothing has happened. What cannot be posted has no preview."""
    before = (pool_message(pool.store, "pool"), leaderboard(pool.store, "pool"))
    shown = preview_match(pool.store, "pool", MATCHES[3], NOW)
    assert (pool_message(pool.store, "pool"), leaderboard(pool.store, "pool")) == before
    assert pool.post(MATCHES[3]) == [shown]
    again = msgspec.structs.replace(MATCHES[0], weight=0.5)
    early = msgspec.structs.replace(MATCHES[3], match="early", time=1_600_000_000)
    for refused, error in ((again, ConflictError), (early, InvalidDataError)):
        with pytest.raises(error):
            preview_match(pool.store, "pool", refused, NOW)
    with pytest.raises(NotFoundError):
        preview_match(pool.store, "other", MATCHES[3], NOW)


def test_a_match_comes_back_as_it_was_posted(pool: Trial) -> None:
    """With its time; void or not, and as it was corrected."""
    assert posted_match(pool.store, "pool", "m1") == MATCHES[1]
    pool.void("m1")
    assert posted_match(pool.store, "pool", "m1") == MATCHES[1]
    with pytest.raises(NotFoundError):
        posted_match(pool.store, "pool", "m9")
    # The last correction counts; a time that it does not give stays.
    detailed = TeamRequest([ParticipationRequest("a", performance=2.0)], rank=1)
    teams = [detailed, TeamRequest(["c"], rank=1)]
    pool.correct(MatchRequest("m1", teams, weight=0.5))
    found = posted_match(pool.store, "pool", "m1")
    assert found == MatchRequest("m1", teams, time=MATCHES[1].time, weight=0.5)


LINK = "https://example.org/final?player=J%C3%B6rg"
TEXTS = {"title": "The final of Jörg", "link": LINK, "attributes": {"round": 7, "by": "Jörg"}}


def final(**more: object) -> MatchRequest:
    """Return a match with title, link and attributes."""
    return duel("final", "Jörg", "ada", 10, **{**TEXTS, **more})


def test_every_answer_has_the_title(store: Store) -> None:
    """The match has all three; lists have the title."""
    pool = Trial(store)
    (posted,) = pool.post(final())
    for found in (posted, match(store, "trial", "final")):
        assert (found.title, found.link, found.attributes) == tuple(TEXTS.values())
    assert matches(store, "trial").matches[0].title == TEXTS["title"]
    assert history(store, "trial", "ada").matches[0].title == TEXTS["title"]
    pool.refused(final(title="Another"))
    assert pool.is_sound()


def test_a_correction_of_texts_alone_needs_no_replay(store: Store) -> None:
    """Ratings and generation stay; with another result too, a replay follows."""
    pool = Trial(store, late="replay")
    pool.post(duel("final", "Jörg", "ada", 10), duel("next", "ada", "bo", 20))
    before, generation = pool.ratings(), pool_message(store, "trial").generation
    previewed = pool.correct(final(), preview=True)
    assert previewed.difference.matches == 0
    said = pool.correct(final())
    assert (said.kind, said.status) == ("describe", "done")
    now = pool_message(store, "trial")
    assert (now.pending, now.generation) == (False, generation)
    assert pool.ratings() == before
    found = match(store, "trial", "final")
    assert (found.title, found.status, found.corrected) == (TEXTS["title"], "rated", said.seq)
    assert history(store, "trial", "Jörg").matches[0].title == TEXTS["title"]
    assert pool.is_sound()
    pool.correct(duel("final", "ada", "Jörg", 10, title="Turned"))
    assert pool_message(store, "trial").pending
    pool.settle()
    assert match(store, "trial", "final").title == "Turned"
    assert pool.ratings() != before
    assert pool.is_sound()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_have_the_texts_as_columns(sqlite_store: Store, tmp_path: Path, ending: str) -> None:
    """A table that is imported gives the same texts, those of corrections included."""
    pool = Trial(sqlite_store)
    pool.post(final(), duel("next", "ada", "bo", 20), duel("last", "bo", "ada", 30))
    pool.correct(duel("next", "ada", "bo", 20, title="Third place"))
    path = str(tmp_path / f"trial.{ending}")
    export_file(sqlite_store, "trial", "log", path)
    frame = pl.read_csv(path) if ending == "csv" else pl.read_parquet(path)
    assert frame["match_title"].to_list()[::2] == [TEXTS["title"], "Third place", None]
    request = ImportRequest(
        history=HistoryRequest(source=path), create=True, settings={"system": "elo"}
    )
    import_pool(sqlite_store, "copy", request, NOW)
    first, second, third = (match(sqlite_store, "copy", name) for name in ("final", "next", "last"))
    assert (first.title, first.link, first.attributes) == tuple(TEXTS.values())
    assert (second.title, third.title, third.attributes) == ("Third place", None, {})


def test_an_erasure_rewrites_the_name_in_texts(store: Store, tmp_path: Path) -> None:
    """The preview counts them; the name is also found as links write it."""
    pool = Trial(store)
    pool.post(final(), duel("other", "ada", "bo", 20))
    pool.correct(duel("other", "ada", "bo", 20, title="Without Jörg", link=LINK))
    preview = erase_player(store, "trial", "Jörg", ReasonRequest(), key=None, now=NOW, preview=True)
    done = erase_player(store, "trial", "Jörg", ReasonRequest(), key=None, now=NOW)
    for found in (preview, done):
        assert (found.pools[0].texts, found.pools[0].matches) == (5, 2)
    for name in ("final", "other"):
        text = msgspec.json.encode(match(store, "trial", name)).decode()
        assert "Jörg" not in text
        assert "J%C3%B6rg" not in text
        assert f"https://example.org/final?player={done.player}" in text
    path = tmp_path / "trial.ndjson"
    export_file(store, "trial", "log", str(path))
    assert "Jörg" not in path.read_text()
    assert pool.is_sound()
