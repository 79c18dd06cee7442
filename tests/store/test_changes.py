"""Players' changes through generations, as a plain query gives them; what nobody sees goes."""

from __future__ import annotations

import random

import pytest
from sqlalchemy import select

from equipoise.pools.reading.matches import matches as listed_matches
from equipoise.pools.reading.players import player_history
from equipoise.pools.reading.summaries import player_summary
from equipoise.pools.replay.replaying import collect_garbage, rerate
from equipoise.store import changes as changes_store
from equipoise.store.bulk import Sizes
from equipoise.store.changes import (
    SHOWN,
    ChangeRow,
    change_row,
    changes_in_turn,
    changes_of_match,
    changes_of_matches,
    changes_of_player,
    rows_after,
)
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, Position, get_pool
from equipoise.store.schema import changes, ratings
from pools.pool_trials import Trial, duel

PLAYERS = ["ana", "bob", "cyd", "dan", "eve", "é"]


#: Every border that a long log meets is one that a short log meets.
SMALL = Sizes(matches=4, checkpoint_interval=10, rows=3, players_left=4)


def filled(store: Store, matches: int = 40, **more: object) -> Trial:
    """Return a pool of duels ten seconds apart."""
    drawn = random.Random(1)
    pool = Trial(store, **{"late": "replay", **more})
    pool.post(*(duel(f"m{n}", *drawn.sample(PLAYERS, 2), 10 * n) for n in range(matches)))
    return pool


def begun(pool: Trial, steps: int) -> bool:
    """Begin a replay, and leave it after some steps unless it is done by then; return whether."""
    left = [False] * steps
    return pool.replay(stop=lambda: left.pop() if left else True)


def given_up(pool: Trial, steps: int) -> None:
    """Begin a replay that takes more than some steps, and leave it then."""
    assert not begun(pool, steps)


def plain(store: Store, pool: Trial) -> tuple[PoolRecord, dict[str, list[ChangeRow]]]:
    """Return everybody's changes that readers see, newest first, found without a chain."""
    with store.read() as connection:
        record = get_pool(connection, pool.name)
        rows = connection.execute(
            select(changes.c.generation, *SHOWN).where(
                changes.c.pool == record.id, changes.c.generation <= record.generation
            )
        ).all()
    found: dict[str, list[ChangeRow]] = {}
    for generation, *columns in rows:
        row = change_row(columns)
        if generation == record.generation or (row.time, row.seq) < record.begins:
            found.setdefault(row.player, []).append(row)
    for mine in found.values():
        mine.sort(key=lambda row: (row.time, row.seq), reverse=True)
    return record, found


def check(store: Store, pool: Trial) -> None:
    """Compare all ways to read changes with a plain query, from every place on."""
    record, expected = plain(store, pool)
    every = [row for rows in expected.values() for row in rows]
    places: set[Position] = {(row.time, row.seq) for row in every}
    with store.read() as connection:
        for player in [*PLAYERS, "fay", "nobody"]:
            mine = expected.get(player, [])
            assert changes_of_player(connection, record, player, None, 500) == mine
            assert changes_of_player(connection, record, player, None, 3) == mine[:3]
            # Of others too: such as a place that was the player's before a replay.
            for place in [*sorted(places)[::11], (-5, 1), (10**15, 2**62)]:
                older = [row for row in mine if (row.time, row.seq) < place]
                assert changes_of_player(connection, record, player, place, 3) == older[:3]
        for place in sorted(places)[::11]:
            both = {row.player: row for row in every if (row.time, row.seq) == place}
            assert changes_of_match(connection, record, place) == both
        together = {
            place: {row.player: row for row in every if row.position == place} for place in places
        }
        assert changes_of_matches(connection, record, [*places, (-5, 1)]) == together
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(changes_store, "_AT_ONCE", 7)
            wanted = [(place, 2) for place in [*places, (-5, 1)]]
            in_turn = list(changes_in_turn(connection, record, wanted))
        assert in_turn == [*together.values(), {}]
        assert len(rows_after(connection, record, START, (2**62, 2**62))) == len(every)


@pytest.mark.slow
def test_histories_are_those_of_a_plain_query(store: Store) -> None:
    """After voids, late matches, corrections in time, disqualifications, replays given up."""
    store = Store(store.engine, SMALL)
    pool = filled(store)
    check(store, pool)
    for step in (
        lambda: pool.void("m30"),
        pool.replay,
        lambda: pool.void("m12"),
        lambda: given_up(pool, 9),
        lambda: pool.post(duel("late", "ana", "fay", 55)),
        pool.replay,
        lambda: pool.correct(duel("m35", "bob", "dan", 7)),
        lambda: pool.post(duel("on", "ana", "bob", 1000)),
        pool.replay,
        lambda: pool.correct(duel("m2", "eve", "fay", 2000)),
        lambda: pool.disqualify("cyd", 150),
        lambda: given_up(pool, 14),
        lambda: rerate(store, pool.name),
        lambda: given_up(pool, 30),
        pool.replay,
        lambda: pool.post(duel("more", "ana", "cyd", 3000), duel("end", "eve", "bob", 3000)),
        pool.settle,
    ):
        step()
        check(store, pool)
    assert pool.is_sound()


def test_pages_go_on_while_a_replay_takes_away_where_they_ended(store: Store) -> None:
    """The next page has what is older than the last one, as it is now."""
    store = Store(store.engine, SMALL)
    pool = filled(store)
    first = player_history(store, pool.name, "ana", limit=4)
    last = first.matches[-1].match
    pool.void(last)
    pool.settle()
    following = player_history(store, pool.name, "ana", cursor=first.next, limit=500)
    whole = player_history(store, pool.name, "ana", limit=500)
    assert last not in {one.match for one in whole.matches}
    assert [one.match for one in whole.matches[:3]] == [one.match for one in first.matches[:3]]
    assert following.matches == whole.matches[3:]
    pool.correct(duel(str(following.matches[0].match), "ana", "eve", 5000))
    pool.settle()
    moved = player_history(store, pool.name, "ana", cursor=first.next, limit=500)
    assert [one.match for one in moved.matches] == [one.match for one in following.matches[1:]]


def test_clearing_out_leaves_nothing_that_nobody_sees(store: Store) -> None:
    """Wherever replays began, were given up, and were overtaken by wishes for earlier ones."""
    store = Store(store.engine, SMALL)
    drawn, void = random.Random(3), set[str]()
    pool = filled(store)
    for turn in range(6):
        for _ in range(drawn.randrange(1, 3)):
            match = f"m{drawn.randrange(40)}"
            if match in void:
                pool.restore(match)
            else:
                pool.void(match)
            void ^= {match}
            if drawn.random() < 0.7:
                begun(pool, drawn.randrange(1, 25))
        if turn % 3 == 0:
            rerate(store, pool.name)
        if turn % 2:
            # What the last one that was given up has left is for the next one to clear.
            assert collect_garbage(store, pool.name)
        pool.replay()
        pool.settle()
        _nothing_unseen(store, pool)
        assert pool.is_sound()


def test_what_was_given_up_before_the_last_replay_began_goes(store: Store) -> None:
    """A replay from an early match leaves rows before the first match of the last one."""
    store = Store(store.engine, SMALL)
    pool = filled(store)
    pool.void("m30")
    pool.settle()
    pool.void("m3")
    for _ in range(2):
        given_up(pool, 14)
    assert collect_garbage(store, pool.name)
    with store.read() as connection:
        record = get_pool(connection, pool.name)
        found = set(connection.execute(select(changes.c.generation).distinct()).scalars())
    assert max(found - {record.replay_generation}) == record.generation


def _nothing_unseen(store: Store, pool: Trial) -> None:
    """Look whether all rows of the tables are such as readers see."""
    record, expected = plain(store, pool)
    with store.read() as connection:
        assert connection.execute(select(changes.c.pool)).all() == [(record.id,)] * sum(
            len(rows) for rows in expected.values()
        )
        kept = connection.execute(select(ratings.c.generation).distinct()).all()
    assert kept == [(record.generation,)]
    assert not record.garbage


def test_a_player_with_more_matches_takes_no_more_queries(sqlite_store: Store) -> None:
    """What the matches did to others is read together, and each is looked up by its key."""
    store = Store(sqlite_store.engine, SMALL)
    counted = []
    for matches in (12, 60):
        pool = filled(store, matches, name=f"of{matches}")
        said: list[str] = []
        with store.moment() as moment, moment.read() as connection:
            driver = connection.connection.driver_connection
            driver.set_trace_callback(said.append)
            player_summary(moment, pool.name, "ana")
            player_history(moment, pool.name, "ana")
            listed_matches(moment, pool.name, limit=matches)
            driver.set_trace_callback(None)
            together = [query for query in said if "json_extract" in query]
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {together[0]}").all()
        counted.append(len(said))
        assert [row[-1] for row in plan if " changes " in row[-1]] == [
            "SEARCH changes USING PRIMARY KEY (pool=? AND time=? AND seq=?)"
        ]
    assert counted[0] == counted[1]
