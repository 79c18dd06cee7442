"""Profiles and ids of players: log records, and what follows from them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import select, update

from equipoise.errors import ConflictError, InvalidDataError, NotFoundError
from equipoise.messages.matches import (
    MatchRequest,
    ParticipationRequest,
    ReasonRequest,
    TeamRequest,
)
from equipoise.messages.pools import (
    InitialRating,
    InitialRequest,
    ProfileRequest,
    ProfilesRequest,
    SeasonRequest,
)
from equipoise.pools.amending import amendments
from equipoise.pools.erasing import erase_player
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.initial_ratings import initial_content, keep_content
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.profiles import MOST_PROFILES, names_of, set_file, set_profiles
from equipoise.pools.reading.matches import match, matches, posted_match
from equipoise.pools.reading.players import leaderboard, player, player_history, search_players
from equipoise.pools.reading.questions import explain_player
from equipoise.pools.replay import replaying
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.store import keys, log, profiles
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import get_pool
from equipoise.store.ratings import count_of_player
from equipoise.store.schema import log as log_table
from pools.pool_trials import NOW, Trial, duel, every_change

ANA = ProfileRequest("1", "Ana Müller", "https://example.org/ana", {"country": "NL"})
BO = ProfileRequest("2", "Bo")


def put(store: Store, *given: ProfileRequest, pool: str = "trial") -> int | None:
    """Set profiles, and return the number of the record."""
    return set_profiles(store, pool, ProfilesRequest(list(given)), key=None, now=NOW).seq


def league(store: Store) -> Trial:
    """Return a pool with two players and their profiles."""
    pool = Trial(store)
    pool.post(duel("m1", "1", "2", 10, title="Ana Müller against Bo"))
    put(store, ANA, BO)
    return pool


def names(store: Store, pool: str = "trial") -> dict[str, str | None]:
    """Return the names on the leaderboard by id."""
    return {row.player: row.name for row in leaderboard(store, pool).players}


def test_answers_have_the_profile_and_ratings_stay(store: Store) -> None:
    pool = Trial(store)
    pool.post(duel("m1", "1", "2", 10))
    before = pool.ratings()
    number = put(store, ANA, BO)
    assert number == 2
    assert put(store, ANA, BO) is None, "the same profiles are not recorded again"
    assert (pool.ratings(), names(store)) == (before, {"1": "Ana Müller", "2": "Bo"})
    shown = player(store, "trial", "1")
    assert (shown.name, shown.link, shown.attributes) == (ANA.name, ANA.link, ANA.attributes)
    (listed,) = amendments(store, "trial").amendments
    assert (listed.kind, listed.seq, listed.status) == ("profiles", number, "done")
    put(store, ProfileRequest("2"))
    assert names(store) == {"1": "Ana Müller", "2": None}
    assert not pool_message(store, "trial").pending
    assert pool.is_sound()


@pytest.mark.parametrize("text", ["müller", "MULLER", "ana m", "1"])
def test_search_finds_names_and_ids(store: Store, text: str) -> None:
    league(store)
    assert [row.player for row in search_players(store, "trial", text, limit=5)] == ["1"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ([], "profiles"),
        ([BO] * 2, "profiles[1].player"),
        ([BO, ProfileRequest("", "x")], "profiles[1].player"),
        ([ProfileRequest("1", "x" * 201)], "profiles[0].name"),
        ([ProfileRequest("1", link="http://example.org")], "profiles[0].link"),
        (
            [ProfileRequest("1", attributes=dict.fromkeys("abcdefghijk", 1))],
            "profiles[0].attributes",
        ),
    ],
)
def test_rejects_all_profiles_if_one_is_wrong(
    sqlite_store: Store, wrong: list[ProfileRequest], field: str
) -> None:
    league(sqlite_store)
    with pytest.raises(InvalidDataError) as error:
        put(sqlite_store, *wrong)
    assert error.value.problems[0].field == field
    assert names(sqlite_store) == {"1": "Ana Müller", "2": "Bo"}


def test_verify_compares_the_table_with_the_log(store: Store) -> None:
    """A changed name, a missing and an additional profile are found."""
    league(store)
    with store.write() as connection:
        number = get_pool(connection, "trial").id
        mine = profiles.profiles.c.pool == number
        connection.execute(update(profiles.profiles).where(mine).values(name="Eve"))
        profiles.remove(connection, number, ["2"])
        profiles.put(connection, number, [profiles.ProfileRow("3", "Cy", "cy", None, "{}")])
    found = verify_pool(store, "trial").differences
    assert [one for one in found if "profile" in one] == [
        "player 1: the profile is not that of the log",
        "player 3: the profile is not that of the log",
        "player 2: the profile in the log is missing",
    ]


def test_the_next_season_begins_with_the_profiles(store: Store) -> None:
    pool = league(store)
    pool.disqualify("2")
    end_season(store, "trial", SeasonRequest(season="one"), key=None, now=NOW)
    assert player(store, "trial", "1").link == ANA.link
    assert player(store, "trial.one", "1").link == ANA.link
    for name in ("trial", "trial.one"):
        assert verify_pool(store, name).identical


def test_an_erasure_removes_the_profile_and_its_name(store: Store, tmp_path: Path) -> None:
    """The name of the profile is gone from titles too; other profiles stay."""
    pool = league(store)
    put(store, msgspec.structs.replace(BO, attributes={"team of": "Ana Müller"}))
    put(store, ProfileRequest("1", "Anouk"))
    end_season(store, "trial", SeasonRequest(season="one"), key=None, now=NOW)
    done = erase_player(store, "trial", "1", ReasonRequest(), key=None, now=NOW)
    assert done.pools[0].texts == 1
    assert done.player is not None
    assert names(store) == {done.player: None, "2": "Bo"}
    assert not search_players(store, "trial", "ana", limit=5)
    with store.read() as connection:
        contents = "".join(connection.execute(select(log_table.c.content)).scalars())
    path = tmp_path / "log.ndjson"
    for name in ("trial", "trial.one"):
        assert verify_pool(store, name).identical
        export_file(store, name, "log", str(path))
        for text in (contents, path.read_text()):
            assert not [word for word in ("Ana", "Anouk", "example.org") if word in text]
    assert pool.is_sound()


def test_a_table_has_one_profile_in_each_row(sqlite_store: Store, tmp_path: Path) -> None:
    league(sqlite_store)
    path = tmp_path / "players.csv"
    rows = [f"{number},Player {number},{number % 7}" for number in range(1, MOST_PROFILES + 2)]
    path.write_text("player,name,division\n" + "\n".join(rows) + "\n2,,\n")
    with pytest.raises(InvalidDataError) as error:
        set_file(sqlite_store, "trial", str(path), "", now=NOW)
    assert (error.value.problems[0].line, error.value.problems[0].field) == (10_003, "player")
    assert names(sqlite_store)["1"] == "Ana Müller"
    path.write_text("player,name,division\n" + "\n".join(rows) + "\n")
    done = set_file(sqlite_store, "trial", str(path), "from the site", now=NOW)
    assert done.changed == MOST_PROFILES + 1
    shown = player(sqlite_store, "trial", "2")
    assert (shown.name, shown.attributes) == ("Player 2", {"division": "2"})


_WRITES = """
import sys
from equipoise.messages.pools import ProfileRequest, ProfilesRequest
from equipoise.pools.profiles import set_profiles
from equipoise.store.connection import open_store
store = open_store(sys.argv[1])
for number in range(1_000_000):
    given = [ProfileRequest(f"p{player}", f"name {number}") for player in range(1_000)]
    set_profiles(store, "trial", ProfilesRequest(given), key=None, now=number)
    print(number, flush=True)
"""


def test_a_killed_process_leaves_all_profiles_or_none(sqlite_url: str) -> None:
    """Whenever it is killed, all thousand names are of the same request."""
    store = open_store(sqlite_url)
    Trial(store)
    for pause in (0.0, 0.04):
        command = [sys.executable, "-c", _WRITES, sqlite_url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            acknowledged = int(writer.stdout.readline())
            time.sleep(pause)
            writer.kill()
            acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])
        with store.read() as connection:
            number = get_pool(connection, "trial").id
            pieces = list(profiles.all_profiles(connection, number))
        found = [row.name for rows in pieces for row in rows]
        assert len(found) == 1_000
        assert len(set(found)) == 1
        assert int(found[0].removeprefix("name ")) >= acknowledged
        assert verify_pool(store, "trial").identical
    store.close()


#: Ada also played as "ada2", and met everybody under both ids.
GAMES = [("ada", "bob"), ("cyd", "ada2"), ("ada2", "bob"), ("bob", "cyd"), ("ada", "cyd")]


def played(store: Store, name: str, ids: dict[str, str], **settings: Any) -> Trial:
    """Return a pool with the games, in which some players have other ids."""
    pool = Trial(store, name, late="replay", **settings)
    for at, (winner, loser) in enumerate(GAMES):
        pool.post(duel(f"g{at}", ids.get(winner, winner), ids.get(loser, loser), 10 * at))
    return pool


def numbers(store: Store, name: str) -> list[Any]:
    """Return every change of a pool, as far as the ids and numbers go."""
    with store.read() as connection:
        rows = every_change(connection, get_pool(connection, name))
    return sorted((row.time, row.player, row.rating_before, row.rating) for row in rows)


@pytest.mark.parametrize("system", ["glicko2", "elo-mmr"])
def test_two_players_become_one(store: Store, system: str) -> None:
    """Bit for bit the pool in which the player had one id; the preview says what would change."""
    pool = played(store, "trial", {}, system=system)
    one = played(store, "one", {"ada2": "ada"}, system=system)
    before = pool.ratings()
    preview = pool.rename("ada2", "ada", preview=True)
    assert (preview.kind, preview.to, pool.ratings()) == ("preview", "ada", before)
    would = {row.player: row.rating for row in preview.difference.players}
    assert would["ada2"] is None
    assert preview.others.changed == len(would) - 2
    done = pool.rename("ada2", "ada")
    assert (done.kind, done.player, done.to, done.status) == ("rename", "ada2", "ada", "pending")
    # Until the replay, readers see the players as they were rated.
    assert pool.ratings() == before
    assert pool.is_sound()
    pool.settle()
    assert pool.ratings() == one.ratings()
    assert pool.ratings() | would == pool.ratings() | {"ada2": None}
    assert numbers(store, "trial") == numbers(store, "one")
    assert pool.is_sound()


def test_a_renamed_player_keeps_everything_and_later_posts_go_to_the_new_id(store: Store) -> None:
    pool = played(store, "trial", {})
    one = played(store, "one", {"ada": "lovelace"})
    set_profiles(
        store, "trial", ProfilesRequest([ProfileRequest("ada", "Ada L.")]), key=None, now=NOW
    )
    rated = pool.ratings()["ada"]
    pool.rename("ada", "lovelace")
    assert names_of(store, "trial", ["ada", "lovelace"]) == {"lovelace": "Ada L."}
    # While the rename waits, a match counts for the id that is rated, and then for the new one.
    pool.post(duel("early", "ada", "bob", 100))
    assert pool.is_sound()
    pool.settle()
    assert "ada" not in pool.ratings()
    (team, _) = pool.post(duel("late", "ada", "bob", 110))[0].teams
    assert [one.player for one in team.players] == ["lovelace"]
    pool.post(duel("new", "lovelace", "ada2", 120))
    again = duel("late", "ada", "bob", 110)
    assert pool.post(again)[0].seq == match(store, "trial", "late").seq
    one.post(duel("early", "lovelace", "bob", 100), duel("late", "lovelace", "bob", 110))
    one.post(duel("new", "lovelace", "ada2", 120))
    assert numbers(store, "trial") == numbers(store, "one")
    assert rated != pool.ratings()["lovelace"]
    assert pool.is_sound()
    history = player_history(store, "trial", "lovelace").matches
    assert [line.match for line in history] == ["new", "late", "early", "g4", "g0"]
    assert history[1].result == "win"
    assert explain_player(store, "trial", "lovelace", "g0").player == "lovelace"
    assert posted_match(store, "trial", "g0").teams[0].players == ["lovelace"]
    sides = matches(store, "trial", limit=10).matches[-1].sides
    assert sides[0].players == ["lovelace"]
    with pytest.raises(NotFoundError):
        player(store, "trial", "ada")


def test_chains_of_renames_and_the_way_back(store: Store) -> None:
    pool = played(store, "trial", {})
    before = pool.ratings()
    pool.rename("ada", "x")
    pool.rename("x", "y")
    pool.rename("ada2", "z")
    with pytest.raises(ConflictError, match="'ada' is already renamed to 'y'"):
        pool.rename("ada", "w")
    with pytest.raises(ConflictError, match="'x' is already renamed to 'y'"):
        pool.rename("bob", "x")
    pool.settle()
    names = {"ada": "y", "ada2": "z"}
    assert pool.ratings() == {names.get(name, name): rating for name, rating in before.items()}
    pool.rename("y", "ada")
    pool.rename("z", "ada2")
    pool.settle()
    assert pool.ratings() == before
    pool.post(duel("x", "x", "bob", 100))
    assert pool.ratings()["ada"] != before["ada"]
    assert pool.is_sound()


def test_what_cannot_be_renamed_is_refused(store: Store) -> None:
    """Players who met are two, in void matches too, and nobody is in a match by two ids."""
    pool = played(store, "trial", {})
    pool.post(duel("met", "ada2", "dan", 90))
    pool.void("met")
    for to in ("bob", "cyd"):
        with pytest.raises(ConflictError, match=f"'ada' and '{to}' met in match 'g"):
            pool.rename("ada", to)
    with pytest.raises(ConflictError, match="met in match 'met'"):
        pool.rename("ada2", "dan")
    with pytest.raises(NotFoundError):
        pool.rename("nobody", "ada")
    with pytest.raises(InvalidDataError, match="another id"):
        pool.rename("ada", "ada")
    pool.rename("ada2", "ada")
    both = duel("both", "ada", "ada2", 200)
    for _ in range(2):
        refused = pool.refused(both)
        assert isinstance(refused, InvalidDataError)
        assert "one player by several ids" in str(refused)
        with pytest.raises(InvalidDataError, match="several ids"):
            pool.correct(duel("g0", "ada", "ada2", 0))
        pool.settle()
    corrected = pool.correct(duel("g0", "ada2", "bob", 0, title="Final"))
    assert corrected.kind == "describe"


def test_details_of_players_and_disqualifications_move_along(store: Store) -> None:
    pool = played(store, "trial", {})
    one = Trial(store, "one", late="replay")
    for at, (winner, loser) in enumerate(GAMES):
        one.post(duel(f"g{at}", winner.removesuffix("2"), loser.removesuffix("2"), 10 * at))
    for trial, name in ((pool, "ada2"), (one, "ada")):
        listed: list[ParticipationRequest | str | int] = [ParticipationRequest(name, role="mid")]
        teams = [TeamRequest(listed, 0), TeamRequest(["bob"], 1)]
        trial.post(MatchRequest("team", teams, 60))
        trial.disqualify(name, since=20, effect="without")
        trial.settle()
    pool.rename("ada2", "ada")
    assert pool.is_sound()
    pool.settle()
    assert numbers(store, "trial") == numbers(store, "one")
    assert player(store, "trial", "ada").disqualified is not None
    # The record has the earlier id, and holds for posts with the present one.
    for trial in (pool, one):
        trial.post(duel("barred", "ada", "cyd", 65))
    assert pool.ratings() == one.ratings()
    with pytest.raises(ConflictError, match="already disqualified"):
        pool.disqualify("ada2")
    pool.reinstate("ada2")
    one.reinstate("ada")
    pool.post(duel("again", "ada2", "cyd", 70))
    one.post(duel("again", "ada", "cyd", 70))
    assert pool.ratings() == one.ratings()
    assert pool.is_sound()


def test_known_ratings_belong_to_the_present_id(store: Store) -> None:
    """A merged player begins with the known rating of the present id, or else of the earlier."""
    for known, to in ((["ada", "ada2"], "ada"), (["ada2"], "ada"), (["ada"], "lovelace")):
        pool = Trial(store, f"known.{to}.{len(known)}", late="replay")
        rows = [InitialRating(name, 1600.0 + 100 * at) for at, name in enumerate(known)]
        content = initial_content(InitialRequest(ratings=rows))
        keep_content(store, pool.name, content, key=None, now=NOW)
        for at, (winner, loser) in enumerate(GAMES):
            pool.post(duel(f"g{at}", winner, loser, 10 * at))
        pool.rename("ada2" if "ada2" in known else "ada", to)
        pool.settle()
        assert player(store, pool.name, to).known_rating == 1600.0
        assert player_history(store, pool.name, to).matches[-1].rating_before == 1600.0
        assert explain_player(store, pool.name, to, "g0").match == "g0"
        assert pool.is_sound()


def test_the_log_carries_renames_into_the_next_season(store: Store) -> None:
    pool = played(store, "trial", {})
    pool.rename("ada2", "ada")
    pool.post(duel("then", "ada2", "bob", 100))
    pool.settle()
    season = SeasonRequest(season="s1", reset="soft", keep=0.5)
    end_season(store, "trial", season, key=None, now=NOW)
    pool.post(duel("next", "ada2", "bob", 300))
    assert "ada2" not in pool.ratings()
    assert pool.is_sound()
    pool.rename("bob", "robert")
    pool.settle()
    assert "robert" in pool.ratings()
    assert pool.is_sound()


def test_an_erasure_removes_every_id(store: Store) -> None:
    """Also while the rename waits for its replay, from every table."""
    for waits in (True, False):
        pool = Trial(store, f"waits-{waits}".lower(), late="replay")
        pool.post(duel("a", "Ada Old", "bob", 1), duel("b", "Ada New", "bob", 2))
        profile = ProfilesRequest([ProfileRequest("Ada Old", "Ada, once old")])
        set_profiles(store, pool.name, profile, key=None, now=NOW)
        pool.rename("Ada Old", "Ada New")
        if not waits:
            pool.settle()
        ratings = sorted(pool.ratings().values())
        reason = ReasonRequest("Ada Old asked")
        given: dict[str, Any] = {"key": None, "now": NOW}
        seen = erase_player(store, pool.name, "Ada Old", reason, preview=True, **given)
        found = erase_player(store, pool.name, "Ada Old", reason, **given)
        assert [one.matches for one in found.pools] == [one.matches for one in seen.pools] == [1, 1]
        assert sorted(pool.ratings().values()) == ratings
        assert pool.is_sound()
        pool.settle()
        assert found.player in pool.ratings()
        assert len(pool.ratings()) == 2
        assert pool.is_sound()
        with store.read() as connection:
            number = get_pool(connection, pool.name).id
            told = str(keys.audit_rows_after(connection, 0, 1000))
            for name in ("Ada Old", "Ada New", "once old"):
                assert not list(log.records_with(connection, number, name))
                assert set(count_of_player(connection, number, name).values()) == {0}
                assert name not in told


class _KilledError(Exception):
    """The process ends here."""


@pytest.fixture
def small(database_url: str) -> Iterator[Store]:
    """Give a store that replays in small steps."""
    store = open_store(database_url, sizes=Sizes(matches=2, rows=2, players_left=0))
    yield store
    store.close()


def test_killed_before_the_commit_nothing_is_renamed(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the replay, the players are as they were, and the next replay renames them."""
    store = small
    pool = played(store, "trial", {})
    one = played(store, "one", {"ada2": "ada"})
    before = pool.ratings()

    def kill(*_: Any, **__: Any) -> None:
        raise _KilledError

    with monkeypatch.context() as patched:
        patched.setattr("equipoise.pools.records.add_audit_row", kill)
        with pytest.raises(_KilledError):
            pool.rename("ada2", "ada")
    assert not pool.replay()
    assert pool.is_sound()
    pool.rename("ada2", "ada")
    for place in ("_put_changes", "_put_ratings", "_append_events"):
        with monkeypatch.context() as patched:
            patched.setattr(replaying, place, kill)
            with pytest.raises(_KilledError):
                pool.replay(owner=place)
        assert pool.ratings() == before
        assert pool.is_sound()
        with store.write() as connection:
            replaying.change_pool(connection, get_pool(connection, "trial").id, replay_until=0)
    pool.settle()
    assert pool.ratings() == one.ratings()
    assert pool.is_sound()
