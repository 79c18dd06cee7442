"""Profiles of players: log records that change no rating, and the table that follows from them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import select, update

from equipoise.errors import InvalidDataError
from equipoise.messages.matches import ReasonRequest
from equipoise.messages.pools import ProfileRequest, ProfilesRequest, SeasonRequest
from equipoise.pools.amending import amendments
from equipoise.pools.erasing import erase_player
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.profiles import MOST_PROFILES, set_file, set_profiles
from equipoise.pools.reading.players import leaderboard, player, search_players
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.store import profiles
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import get_pool
from equipoise.store.schema import log
from pools.pool_trials import NOW, Trial, duel

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
        contents = "".join(connection.execute(select(log.c.content)).scalars())
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
    for pause in (0.0, 0.01, 0.03, 0.06):
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
