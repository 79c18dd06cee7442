"""A database of an earlier version is brought to the current schema, and nothing in it changes."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import MetaData, create_engine, inspect

from equipoise.messages.matches import MatchRequest, PostedMessage, TeamRequest
from equipoise.messages.pools import PoolChange
from equipoise.messages.seasons import SeasonRequest
from equipoise.pools.amended_log import counted_piece
from equipoise.pools.pool.pools import create_pool, pool_message, pool_messages
from equipoise.pools.pool.settings import change_settings
from equipoise.pools.posting.planning import Post
from equipoise.pools.posting.posting import post_matches
from equipoise.pools.reading.leaderboard import leaderboard
from equipoise.pools.reading.players import player_history
from equipoise.pools.replay.replaying import maintain_pool, rerate
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.rating.draws import DRAWS
from equipoise.store import replays
from equipoise.store.connection import Store, open_store
from equipoise.store.keys import list_keys
from equipoise.store.migrations import migrating
from equipoise.store.migrations.migrating import CURRENT, configuration, schema_version
from equipoise.store.pools import START, Position, get_pool
from equipoise.store.schema import metadata
from equipoise.store.sizes import Sizes
from pools.pool_trials import Trial, duel
from trials.first_schema import NOW, SETTINGS, make_schema
from trials.saved_database import restore

#: Every column, or every schema there ever was: a sweep.
pytestmark = pytest.mark.slow

#: A replay of a short log takes many steps.
SMALL = Sizes(matches=3, rows=2, players_left=2)

#: Tables of schema 0003 as the code of that time filled them, one object a table.
_PREVIOUS = Path(__file__).parent.parent / "trials" / "schema_0003.json"


def test_a_database_of_the_first_version_goes_on(first_schema_url: str) -> None:
    """Its pool verifies, is set as it was, takes matches and can end a season."""
    store = open_store(first_schema_url)
    try:
        with store.read() as connection:
            assert schema_version(connection) == CURRENT
        assert verify_pool(store, "old").identical
        before = pool_message(store, "old")
        assert create_pool(store, "old", SETTINGS, NOW + 1) == before
        assert [key.name for key in list_keys(store)] == ["server"]
        more = MatchRequest("new", [TeamRequest(["ana"], 0), TeamRequest(["eva"], 1)])
        (answer,) = post_matches(store, "old", [Post([more], detailed=False)], NOW + 2)
        assert answer == PostedMessage(1, 0, before.last_seq + 1)
        assert verify_pool(store, "old").identical
        end_season(store, "old", SeasonRequest(season="one"), key=None, now=NOW + 3)
        assert verify_pool(store, "old").identical
        assert leaderboard(store, "old").players_in_pool == before.players + 1
    finally:
        store.close()


def test_upgrading_leads_to_the_tables_of_the_code(first_schema_url: str) -> None:
    """Every table and column is there with the same type and may be null where it may here."""
    open_store(first_schema_url).close()
    engine = create_engine(first_schema_url)
    found = inspect(engine)
    for table in metadata.sorted_tables:
        columns = {one["name"]: one for one in found.get_columns(table.name)}
        assert set(columns) == {column.name for column in table.columns}
        for column in table.columns:
            assert columns[column.name]["nullable"] == column.nullable, (table.name, column.name)
        indexes = {one["name"] for one in found.get_indexes(table.name)}
        assert {index.name for index in table.indexes} <= indexes
    engine.dispose()


def _second(url: str) -> None:
    """Fill a database with pools in all conditions in which an upgrade may meet them."""
    store = open_store(url, sizes=SMALL)
    names = ["ana", "ben", "cyd", "dee", "eve"]
    for name, times in (("replayed", "seconds"), ("given-up", "seconds"), ("untimed", "none")):
        timed = {"late": "replay"} if times != "none" else {}
        pool = Trial(store, name, times=times, **timed)
        for number in range(24):
            two = names[number % 5], names[(number + 1 + number % 3) % 5]
            pool.post(duel(f"m{number}", *two, 10 * number if timed else None))
        # Two replays, the second from further on; what they have replaced is still there.
        pool.void("m6")
        assert pool.replay()
        pool.void("m15")
        assert pool.replay()
        pool.post(duel("after", "ana", "fay", 500 if timed else None))
    steps: list[int] = []

    def stop() -> bool:
        # Its own rows lie beside all others when it is left.
        steps.append(1)
        return len(steps) > 14

    late = Trial.__new__(Trial)
    late.store, late.name = store, "given-up"
    late.post(duel("late", "dee", "ben", 35))
    assert not late.replay(stop=stop)
    season = Trial(store, "season")
    season.post(duel("a", "ana", "ben", 1), duel("b", "ben", "cyd", 2))
    end_season(store, "season", SeasonRequest(season="one"), key=None, now=NOW + 3)
    season.post(duel("c", "cyd", "dee", 3))
    Trial(store, "empty")
    store.close()


def _told(url: str) -> dict[str, Any]:
    """Return the board of every pool and the matches of everybody on it."""
    store = open_store(url)
    found: dict[str, Any] = {}
    for pool in ("replayed", "given-up", "untimed", "season", "season.one", "empty"):
        board = leaderboard(store, pool, provisional=True)
        people = [row.player for row in board.players]
        found[pool] = board, [player_history(store, pool, one, limit=500) for one in people]
    store.close()
    return found


def test_pools_in_every_condition_are_upgraded(database_url: str, tmp_path: Path) -> None:
    """Nobody sees a difference; what waits can be replayed, and what is left over is cleared."""
    make_schema(database_url, tmp_path, "0002", _second)
    before = _told(f"sqlite:///{tmp_path / 'made.db'}")
    assert _told(database_url) == before
    store = open_store(database_url, sizes=SMALL)
    for pool in before:
        assert verify_pool(store, pool).identical
    for pool in before:
        maintain_pool(store, pool, owner="tester", stop=lambda: False)
        assert verify_pool(store, pool).identical
    assert _told(database_url)["replayed"] == before["replayed"]
    assert _told(database_url)["given-up"] != before["given-up"]
    for pool in before:
        rerate(store, pool)
        maintain_pool(store, pool, owner="tester", stop=lambda: False)
        assert verify_pool(store, pool).identical
    store.close()


def _previous(url: str) -> None:
    """Fill an empty database with what the code of schema 0003 wrote."""
    engine = create_engine(url)
    with engine.begin() as connection:
        settings = configuration()
        settings.attributes["connection"] = connection
        command.upgrade(settings, "0003")
    tables = MetaData()
    tables.reflect(engine)
    flags = {"needs_replay", "garbage", "provisional"}
    with engine.begin() as connection:
        for name, stored in json.loads(_PREVIOUS.read_text()).items():
            rows = []
            for values in stored["rows"]:
                row = dict(zip(stored["columns"], values, strict=True))
                for column, value in row.items():
                    if isinstance(value, dict):
                        row[column] = base64.b64decode(value["bytes"])
                    elif column in flags:
                        row[column] = bool(value)
                if name != "outbox":
                    # The database numbers pools and keys itself, from 1 as before.
                    row.pop("id", None)
                rows.append(row)
            if rows:
                connection.execute(tables.tables[name].insert(), rows)
    engine.dispose()


def test_a_database_of_the_version_before_goes_on(database_url: str) -> None:
    """Who is disqualified is marked, what waits is replayed, settings can be changed."""
    _previous(database_url)
    store = open_store(database_url)
    pools = ["ladder", "league", "league.one", "untimed"]
    assert [one.pool for one in pool_messages(store)] == pools
    for pool in pools:
        found = verify_pool(store, pool)
        assert found.identical, found.differences
    board = leaderboard(store, "ladder", provisional=True).players
    assert {row.player for row in board if row.disqualified} == {"ana", "cyd"}
    assert [row.disqualified for row in board] == [False] * 4 + [True] * 2
    for pool, others in (("league", {"ben", "cyd", "dee"}), ("league.one", {"ben", "cyd"})):
        *listed, last = leaderboard(store, pool).players
        assert {row.player for row in listed if row.place} == others
        assert (last.player, last.place, last.disqualified) == ("ana", None, True)
    maintain_pool(store, "ladder", owner="tester", stop=lambda: False)
    change_settings(store, "ladder", PoolChange(late="append", placement_matches=0), NOW)
    more = MatchRequest("new", [TeamRequest(["ben"], 0), TeamRequest(["gus"], 1)], time=1)
    (answer,) = post_matches(store, "ladder", [Post([more], detailed=False)], NOW)
    assert isinstance(answer, PostedMessage)
    for pool in pools:
        rerate(store, pool)
        maintain_pool(store, pool, owner="tester", stop=lambda: False)
        found = verify_pool(store, pool)
        assert found.identical, found.differences
    store.close()


def test_sqlite_sorts_large_tables_in_files_while_it_upgrades(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And in memory, which is faster, on the connections that come after."""
    upgrade, seen = migrating._upgrade, []

    def watched(connection: Any) -> None:
        upgrade(connection)
        seen.append(connection.exec_driver_sql("PRAGMA temp_store").scalar())

    monkeypatch.setattr(migrating, "_upgrade", watched)
    store = open_store(sqlite_url)
    with store.read() as connection:
        seen.append(connection.exec_driver_sql("PRAGMA temp_store").scalar())
    assert seen == [1, 2]
    store.close()


def test_a_database_with_states_of_version_1_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checkpoints and the seed of its season are read, and what follows from them is the same.

    The file was written by the code before version 2 of saved states: a ladder after a season of
    its own, and contests, each with checkpoints.
    """
    packed = Path(__file__).parent / "states_version_1.db.gz"
    (tmp_path / "old.db").write_bytes(gzip.decompress(packed.read_bytes()))
    store = open_store(f"sqlite:///{tmp_path / 'old.db'}")
    began: list[Position] = []
    monkeypatch.setattr(
        "equipoise.pools.replay.checkpointing.counted_piece",
        lambda *given: began.append(given[-1]) or counted_piece(*given),
    )
    for name in ("ladder", "ladder.one", "contests"):
        assert verify_pool(store, name).identical
    for name, match, checkpoint in (
        ("contests", "m21", (1_641_600_000_000, 20)),
        ("ladder", "m26", (2_073_600_000_000, 10)),
        ("ladder", "m16", START),
    ):
        pool = Trial.__new__(Trial)
        pool.store, pool.name = store, name
        began.clear()
        pool.void(match)
        pool.settle()
        assert began[0] == checkpoint
        assert pool.is_sound()
    store.close()


def _draws(store: Store, pool: str) -> list[float]:
    """Return the sums that a pool keeps of its two-team matches."""
    with store.read() as connection:
        found = get_pool(connection, pool).shared.get(DRAWS)
    return [] if found is None else found.tolist()


def test_a_database_of_schema_0003_counts_draws_from_its_upgrade_on(
    database_url: str, tmp_path: Path
) -> None:
    """It was written by that version, with checkpoints, voids, a season and a replay to come.

    Whatever becomes of matches before and after, the log gives the sums that are stored.
    """
    restore(database_url, "0003", tmp_path)
    store = open_store(database_url)
    pools = ["duels", "waiting", "untimed", "teams", "contests", "season", "season.one"]
    for name in pools:
        with store.read() as connection:
            record = get_pool(connection, name)
        assert record.draws_from == record.last_seq + 1
        assert verify_pool(store, name).identical
        assert _draws(store, name) == []
        maintain_pool(store, name, owner="tester", stop=lambda: False)
        assert verify_pool(store, name).identical
        assert _draws(store, name) == []
    duels = Trial.__new__(Trial)
    duels.store, duels.name = store, "duels"
    for number in range(60):
        teams = [TeamRequest(["ana"], 0), TeamRequest(["ben"], number % 3 and 1)]
        duels.post(MatchRequest(f"new{number}", teams, time=1000 + number))
    matches, drawn, spread = _draws(store, "duels")
    assert (matches, drawn) == (60, 20)
    assert verify_pool(store, "duels").identical
    # A replay from a checkpoint that has seen them.
    maintain_pool(store, "duels", owner="tester", stop=lambda: False)
    duels.post(duel("extra", "ana", "ben", 2000))
    with store.read() as connection:
        seen = replays.last_before(connection, 1, (2_000_000_000, 0))
    assert seen is not None
    assert seen.position[0] == 1_059_000_000
    duels.void("extra")
    assert duels.replay()
    assert _draws(store, "duels") == [matches, drawn, spread]
    assert verify_pool(store, "duels").identical
    # Not one that counts: its going changes what was expected of those that do.
    duels.void("m3")
    assert duels.replay()
    assert _draws(store, "duels")[:2] == [60, 20]
    assert _draws(store, "duels")[2] != spread
    assert verify_pool(store, "duels").identical
    # One that counts; and one that came late, whose place is among those that do not.
    duels.void("new3")
    duels.post(duel("late", "ana", "cyd", 15))
    assert duels.replay()
    assert _draws(store, "duels")[:2] == [60, 19]
    assert verify_pool(store, "duels").identical
    stored = _draws(store, "duels")
    rerate(store, "duels")
    maintain_pool(store, "duels", owner="tester", stop=lambda: False)
    assert _draws(store, "duels") == stored
    assert verify_pool(store, "duels").identical
    store.close()


def test_a_database_of_schema_0005_goes_on(database_url: str, tmp_path: Path) -> None:
    """Every pool of it verifies, as it is and after a replay of the whole log."""
    restore(database_url, "0005", tmp_path)
    store = open_store(database_url)
    pools = [one.pool for one in pool_messages(store)]
    expected = ["contests", "duels", "far", "season", "season.one", "shown", "teams"]
    assert pools == [*expected, "untimed", "waiting"]
    for name in pools:
        found = verify_pool(store, name)
        assert found.identical, found.differences
    board = leaderboard(store, "shown", provisional=True).players
    assert len(board) == 4
    for name in pools:
        rerate(store, name)
        maintain_pool(store, name, owner="tester", stop=lambda: False)
        found = verify_pool(store, name)
        assert found.identical, found.differences
    assert leaderboard(store, "shown", provisional=True).players == board
    store.close()
