"""The same history through the library and through posts: the same bits, however it is cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

import equipoise as eq
from equipoise.analysis.reading import with_performance
from equipoise.data.history import History
from equipoise.errors import EquipoiseError
from equipoise.messages.pools import PoolRequest
from equipoise.pools.exchange.histories import requests_of
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.replay.verifying import verify_pool
from equipoise.rating.state import pack_players
from equipoise.rating.system import RatingSystem
from equipoise.store import ratings
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, every_change
from test_every_system import VARIANTS, Variant, by_speed, system_of

DAY = 86_400_000_000

#: With what the variants of all systems leave off: sides, roles, and matches without times.
MORE = [
    Variant("elo", {"home_advantage": 60}),
    Variant("team-glicko2", {"roles": True}),
    Variant("trueskill", {"draw_probability": 0.2, "draw_rule": "rating", "draw_slope": 0.4}),
]

#: What the pools of the tests use: all of these can be served.
SERVED = [*VARIANTS, *MORE]

#: Weights of the statistics of the teams' history.
STATISTICS = {"kills": 1.0, "deaths": -0.5}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Give one store for the pools of all systems."""
    found = open_store(f"sqlite:///{tmp_path_factory.mktemp('bits') / 'bits.db'}")
    yield found
    found.close()


def season(system: RatingSystem, matches: int = 14, players: int = 9) -> History:
    """Return a history with everything that a system may look at, and ties and equal times."""
    rng, able = np.random.default_rng(5), system.capabilities
    rows: dict[str, list[object]] = {name: [] for name in ("player", "team", "rank")}
    offsets, times, day = [0], [], 0.0
    for _ in range(matches):
        day += float(rng.choice([0.0, 0.25, 3.0, 30.0]))
        times.append(int(day * DAY))
        teams = 2 if able.max_teams == 2 else int(rng.integers(2, 5))
        size = 1 if able.max_team_size == 1 else int(rng.integers(1, 3))
        ranks = rng.integers(0, teams, teams) if able.draws else rng.permutation(teams)
        dense = np.unique(ranks, return_inverse=True)[1]
        names = rng.permutation(players)[: teams * size]
        rows["player"] += names.tolist()
        rows["team"] += np.repeat(np.arange(teams), size).tolist()
        rows["rank"] += np.repeat(dense, size).tolist()
        offsets.append(offsets[-1] + teams * size)
    count = offsets[-1]
    performance = np.where(rng.random(count) < 0.1, np.nan, rng.normal(10.0, 4.0, count))
    ceiling = np.where(rng.random(matches) < 0.8, np.nan, 1900.0)
    return History(
        match_ids=np.arange(matches) * 3,
        player_ids=np.arange(players) * 7,
        offsets=np.array(offsets, np.int64),
        **{name: np.array(values, np.int64) for name, values in rows.items()},  # type: ignore[arg-type]
        time=np.array(times, np.int64),
        weight=np.where(rng.random(matches) < 0.7, 1.0, 0.5),
        performance_ceiling=ceiling,
        performance=performance,
        share=np.where(rng.random(count) < 0.8, 1.0, 0.25),
        statistics={
            "kills": np.where(rng.random(count) < 0.1, np.nan, rng.integers(0, 9, count)),
            "deaths": rng.integers(0, 9, count).astype(np.float64),
        },
        attributes={
            "at_home": (np.array(rows["team"]) == 0).astype(np.float64),
            "role": np.array(rng.choice(["tank", "healer"], count), dtype=object),
            "event": np.array(rng.choice(["open", "cup", ""], count), dtype=object),
            "birth_year": np.array(rng.choice([1955, 1940, None], count), dtype=object),
            "games_before": rng.choice([0, 29, 500], count),
            "events_before": rng.choice([0.0, 3.0, np.nan], count),
        },
    )


def cuts(matches: int) -> list[list[list[int]]]:
    """Return ways to cut a history: transactions, each of posts, each of so many matches."""
    rest = matches - 9
    return [[[1]] * matches, [[1, 1, 2], [4], [1, rest]]]


def fill(store: Store, name: str, history: History, request: PoolRequest, cut: object) -> None:
    """Post a history to a new pool."""
    create_pool(store, name, request, NOW)
    at = 0
    for transaction in cut:  # type: ignore[attr-defined]
        posts = []
        for size in transaction:
            posts.append(Post(requests_of(history, at, at + size), detailed=size == 2))
            at += size
        for answer in post_matches(store, name, posts, NOW):
            assert not isinstance(answer, EquipoiseError), answer
    assert at == history.matches


def stored(store: Store, name: str) -> tuple[dict[str, bytes], list[ChangeRow]]:
    """Return the states and changes of a pool, by player and by position."""
    with store.read() as connection:
        pool = get_pool(connection, name)
        states = {
            row.player: bytes(row.state)
            for rows in ratings.all_states(connection, pool.id, pool.generation)
            for row in rows
        }
        every = every_change(connection, pool)
    return states, sorted(every, key=lambda row: (row.seq, row.player))


def bits(value: float | None) -> str | None:
    """Return a number so that equal means equal bits; None for NaN."""
    return None if value is None or value != value else float(value).hex()


def expected(
    system: RatingSystem, history: History
) -> tuple[dict[str, bytes], list[tuple[object, ...]]]:
    """Return what the library makes of a history all at once: states, and changes in order."""
    result = eq.replay(system, history, trace=True)
    assert result.trace is not None
    state = result.state
    packed = pack_players(state.state)
    states = dict(zip(map(str, state.player_ids.tolist()), packed, strict=True))
    columns = result.trace.columns
    names = [str(one) for one in history.player_ids[history.player].tolist()]
    seqs = (history.match_rows() + 1).tolist()
    performance = columns.get("performance", history.performance)
    assert performance is not None
    extra = [name for name in system.trace_columns if name != "performance"]
    told = ["rating_before", "deviation_before", "rating", "deviation", "expected"]
    rows = [
        (
            seqs[row],
            names[row],
            *(bits(float(columns[name][row])) for name in told),
            bits(float(performance[row])),
            b"".join(columns[name][row].tobytes() for name in extra),
        )
        for row in np.flatnonzero(np.isfinite(columns["rating"])).tolist()
    ]
    return states, sorted(rows)


def seen(rows: list[ChangeRow]) -> list[tuple[object, ...]]:
    """Return stored changes as `expected` has them."""
    told = ["rating_before", "deviation_before", "rating", "deviation", "expected", "performance"]
    return [
        (row.seq, row.player, *(bits(getattr(row, name)) for name in told), bytes(row.extra))
        for row in rows
    ]


def check(store: Store, variant: Variant, weights: Mapping[str, float] = {}) -> None:
    """Post a season to two pools, cut in two ways, and hold them against the library."""
    system = system_of(variant)
    history = season(system)
    request = PoolRequest(
        system=variant.name, parameters=variant.parameters, statistics=dict(weights)
    )
    posted = History(
        **{
            name: getattr(history, name)
            for name in History.__dataclass_fields__
            if not (weights and name == "performance")
        }
    )
    states, rows = expected(system, with_performance(history, weights))
    for number, cut in enumerate(cuts(history.matches)):
        name = f"{variant.name}-{abs(hash(str(variant)))}-{len(weights)}-{number}"
        fill(store, name, posted, request, cut)
        kept, changed = stored(store, name)
        assert {player: kept[player] for player in kept} == {p: states[p] for p in kept}
        assert seen(changed) == rows
        assert verify_pool(store, name).identical


def names(variants: list[Variant]) -> list[str]:
    """Return what the tests of these variants are called."""
    return [f"{one.name}-{'-'.join(one.parameters)}" for one in variants]


@pytest.mark.parametrize("variant", by_speed(SERVED), ids=names(SERVED))
def test_posts_are_rated_as_the_library_rates(shelf: Store, variant: Variant) -> None:
    """With teams, contests, ties, shares, sides, roles, weights, ceilings and performances."""
    check(shelf, variant)


def test_statistics_are_made_a_performance_as_the_library_makes_them(shelf: Store) -> None:
    """A player without one of them has no performance."""
    check(shelf, Variant("team-glicko2", {}), STATISTICS)


@pytest.mark.parametrize("name", ["elo-mmr", "team-glicko2", "glicko2"])
def test_postgresql_keeps_the_same_bits(postgres_url: str, name: str) -> None:
    """Of ratings, changes and all that a system remembers."""
    store = open_store(postgres_url)
    check(store, Variant(name, {}))
    store.close()


def test_matches_without_times_are_rated_as_they_come(shelf: Store) -> None:
    """As a history without times is."""
    system = system_of(Variant("elo-mmr", {}))
    timed = season(system)
    kept = {name: getattr(timed, name) for name in History.__dataclass_fields__ if name != "time"}
    history = History(**kept)
    states, rows = expected(system, history)
    for number, cut in enumerate(cuts(history.matches)):
        name = f"timeless{number}"
        fill(shelf, name, history, PoolRequest(times="none"), cut)
        found, changed = stored(shelf, name)
        assert found == {player: states[player] for player in found}
        assert seen(changed) == rows
        assert verify_pool(shelf, name).identical
