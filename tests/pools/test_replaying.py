"""Replays beside readers and writers: what is swapped in, what is given up, what is left behind."""

from __future__ import annotations

import time
import zlib
from dataclasses import replace

import pytest

from equipoise.pools.pool.pools import pool_message
from equipoise.pools.records import Piece, counted_piece
from equipoise.pools.replay import replaying, states
from equipoise.pools.replay.states import keep_checkpoints
from equipoise.store import checkpoints
from equipoise.store.bulk import SIZES, Sizes
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from pools.pool_trials import Trial, duel
from trials.pace import allow

#: Every border that a long log meets is one that a short log meets.
SMALL = Sizes(matches=3, rows=2, players_left=2)


def filled(store: Store, matches: int = 12, name: str = "trial", **settings: object) -> Trial:
    """Return a pool with duels m0, m1, ... a second apart."""
    pool = Trial(store, name, **{"late": "replay", **settings})
    names = ["ada", "bob", "cyd", "dan"]
    played = [(names[number % 4], names[(number + 1) % 4]) for number in range(matches)]
    pool.post(*(duel(f"m{number}", *two, number) for number, two in enumerate(played)))
    return pool


def test_a_wish_to_rerate_outlasts_a_replay_under_way(store: Store) -> None:
    """The replay began later than the whole log: it does not grant the wish."""
    store = Store(store.engine, SMALL)
    pool = filled(store)
    pool.void("m6")
    asked: list[bool] = []

    def stop() -> bool:
        if not asked:
            replaying.rerate(store, pool.name)
            asked.append(True)
        return False

    assert pool.replay(stop=stop)
    assert pool_message(store, pool.name).pending
    assert pool.replay()
    assert not pool_message(store, pool.name).pending
    assert pool.is_sound()


def test_a_clearing_out_that_is_overtaken_by_a_swap_begins_anew(store: Store) -> None:
    """Rows that the swap put out of date before the place it had reached go too.

    Otherwise a later replay that begins further on would bring them back.
    """
    store = Store(store.engine, SMALL)
    pool = filled(store)
    pool.void("m1")
    pool.replay()
    calls: list[int] = []

    def stop() -> bool:
        calls.append(1)
        if len(calls) == 4:
            pool.restore("m1")
            assert pool.replay()
        return False

    assert replaying.collect_garbage(store, pool.name, stop=stop)
    assert len(calls) > 4
    pool.void("m10")
    pool.check()


def test_a_replay_stopped_while_it_clears_out_is_left_to_others_at_once(store: Store) -> None:
    """They need not wait until its claim runs out."""
    store = Store(store.engine, SMALL)
    pool = filled(store)
    pool.void("m1")
    assert pool.replay()
    pool.restore("m1")
    assert not pool.replay(owner="one", stop=lambda: True)
    assert pool.replay(owner="another")
    pool.check()


def test_a_long_replay_makes_no_more_checkpoints_than_a_pool_keeps(sqlite_store: Store) -> None:
    """The interval grows with the log, not with every checkpoint that was made on the way."""
    store = Store(sqlite_store.engine, replace(SMALL, checkpoints=4, checkpoint_interval=2))
    pool = filled(store, 60)
    replaying.rerate(store, pool.name)
    pool.settle()
    with store.read() as connection:
        record = get_pool(connection, pool.name)
        kept = checkpoints.positions(connection, record.id)
    # 120 participations, and after thinning three or four checkpoints.
    assert 2 <= len(kept) <= 4
    assert 16 <= record.checkpoint_interval <= 64
    assert kept[-1] >= ((59 - record.checkpoint_interval) * 1_000_000, 0)
    pool.void("m58")
    assert pool.replay()
    assert pool.is_sound()


@pytest.mark.parametrize("damage", [b"", b"no checkpoint", zlib.compress(b"PK no state")])
def test_a_checkpoint_that_cannot_be_read_is_passed_over(store: Store, damage: bytes) -> None:
    """The replay goes further back: all of it follows from the log."""
    store = Store(store.engine, replace(SMALL, checkpoint_interval=4, checkpoint_per_player=0))
    pool = filled(store)
    replaying.rerate(store, pool.name)
    pool.settle()
    with store.write() as connection:
        where = checkpoints.positions(connection, 1)
        assert len(where) > 2
        spoilt = checkpoints.Checkpoint(where[-1], 0, "code", damage)
        checkpoints.add_checkpoint(connection, 1, spoilt)
    pool.void("m11")
    pool.check()


def test_a_checkpoint_is_kept_when_it_is_due(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is stored, without a replay; matches after it are rated on it."""
    store = Store(store.engine, Sizes(checkpoint_interval=20))
    pool = filled(store, 9)
    assert not keep_checkpoints(store, pool.name)
    pool.post(duel("more", "ada", "bob", 9))
    assert keep_checkpoints(store, pool.name)
    assert not keep_checkpoints(store, pool.name)
    pool.post(duel("last", "cyd", "bob", 10))
    read = []
    monkeypatch.setattr(
        "equipoise.pools.replay.states.counted_piece",
        lambda *given: read.append(given[-1]) or counted_piece(*given),
    )
    pool.void("last")
    pool.settle()
    assert read == [(9_000_000, 10)]
    assert pool.is_sound()


def test_large_matches_are_read_a_few_at_a_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contests of thousands would otherwise fill the memory; nothing is left out."""
    store = Store(store.engine, Sizes(characters=150, fetched=2, players_left=0))
    pool = filled(store)
    pool.correct(duel("m2", "ada", "dan", 8))
    read: list[int] = []

    def watched(*given: object) -> Piece:
        found = counted_piece(*given)  # type: ignore[arg-type]
        read.append(len(found.matches))
        return found

    monkeypatch.setattr(replaying, "counted_piece", watched)
    pool.settle()
    assert len(read) > 4
    assert max(read) <= 3
    assert pool.is_sound()


@pytest.mark.slow
def test_a_replay_keeps_its_claim_while_it_reads_what_came_before(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Far from the last checkpoint that takes longer than a claim lasts: others must not begin."""
    assert SIZES.beat * 1_000_000 * 4 <= SIZES.lease
    lease = allow(1.5)
    sizes = replace(SMALL, beat=0.0, lease=int(lease * 1_000_000))
    store = Store(sqlite_store.engine, sizes)
    pool = filled(store)
    pool.void("m11")
    others: list[object] = []

    def slowly(*given: object) -> Piece:
        time.sleep(0.3 * lease)
        others.append(replaying.replay_pool(store, pool.name, owner="another"))
        return counted_piece(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(states, "counted_piece", slowly)
    assert pool.replay()
    assert len(others) >= 4
    assert not any(others)
    assert pool.is_sound()
