"""Histories for tests of rating systems: made by hand, and drawn by hypothesis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from papers.elo_mmr.fields import newcomers

from drawing import WITHOUT_JIT
from equipoise.arrays import Floats, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.formats import read_history
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.replay import TRACE_COLUMNS
from equipoise.rating.state import COUNT, State
from equipoise.rating.system import RatingSystem

SHARED = Path(__file__).resolve().parents[3] / "shared"

needs_jit = pytest.mark.skipif(WITHOUT_JIT, reason="too large for kernels run as plain Python")

Trace: TypeAlias = Mapping[str, Floats]


def shared_file(folder: str, name: str) -> Path:
    """Return the path of a file of `../shared`, or skip the test."""
    path = SHARED / folder / name
    if not path.exists():
        pytest.skip(f"this file is not here: {path}")
    return path


def first_real_contests(contests: int) -> History:
    """Return the first contests of Codeforces without reading the ten years that follow."""
    table = pl.scan_parquet(shared_file("data", "codeforces.parquet")).head(60_000).collect()
    kept = table["match"].unique(maintain_order=True).head(contests)
    return read_history(table.filter(pl.col("match").is_in(kept.implode())))


# --- histories -------------------------------------------------------------------------------


class Contest(NamedTuple):
    """A match of single players.

    players : rows of players; ranks : lower is better, equal is a tie, gaps do not matter
    time : in days, None without times
    """

    players: tuple[int, ...]
    ranks: tuple[int, ...]
    time: float | None = None
    weight: float = 1.0
    ceiling: float | None = None
    beta: float | None = None
    gamma: float | None = None


def dense(ranks: Sequence[int] | Ints) -> Ints:
    """Return ranks numbered from 0 without gaps."""
    return np.unique(np.asarray(ranks), return_inverse=True)[1].astype(np.int64).reshape(-1)


def history_of(contests: Sequence[Contest], players: int | None = None) -> History:
    """Return a history of these contests; players and contests are named by their numbers."""
    sizes = [len(contest.players) for contest in contests]
    member = np.array([p for contest in contests for p in contest.players], dtype=np.int64)
    known = int(member.max()) + 1 if players is None else players
    times = [contest.time for contest in contests if contest.time is not None]
    ceilings = [math.nan if one.ceiling is None else one.ceiling for one in contests]
    return History(
        match_ids=np.arange(len(contests)),
        player_ids=np.arange(known),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        player=member,
        team=np.concatenate([np.arange(size) for size in sizes]),
        rank=np.concatenate([dense(contest.ranks) for contest in contests]),
        time=np.array([microseconds(time) for time in times]) if times else None,
        weight=np.array([contest.weight for contest in contests]),
        performance_ceiling=np.array(ceilings),
        beta=_numbers([one.beta for one in contests]),
        gamma=_numbers([one.gamma for one in contests]),
    )


def _numbers(values: Sequence[float | None]) -> Floats | None:
    """Return a column with NaN for None; None if all are None."""
    if all(one is None for one in values):
        return None
    return np.array([math.nan if one is None else one for one in values])


def microseconds(days: float) -> int:
    """Return a time in days as histories keep it."""
    return round(days * MICROSECONDS_PER_DAY)


def one_contest(ranks: Sequence[int] | Ints, **more: float) -> History:
    """Return a history of a single contest in which player i has ranks[i]."""
    numbers = [int(rank) for rank in ranks]
    return history_of([Contest(tuple(range(len(numbers))), tuple(numbers), **more)])


def run(
    system: RatingSystem, contests: Sequence[Contest], players: int | None = None
) -> tuple[State, Trace]:
    """Rate contests from new players on; return the state and the trace."""
    history = history_of(contests, players)
    state = system.initial(history.players)
    return state, rate(system, state, history)


def rate(
    system: RatingSystem,
    state: State,
    history: History,
    start: int = 0,
    stop: int | None = None,
) -> Trace:
    """Rate matches start:stop, changing the state, and return the trace."""
    names = (*TRACE_COLUMNS, *system.trace_columns)
    trace = {name: np.full(history.participations, np.nan) for name in names}
    system.run(state, history, start, history.matches if stop is None else stop, trace)
    return trace


@st.composite
def contests(
    draw: st.DrawFn,
    *,
    min_players: int = 2,
    max_players: int = 12,
    max_contests: int = 6,
    smallest: int = 1,
    timed: bool | None = False,
    weighted: bool = False,
    capped: bool = False,
    rounds: bool = False,
    ties: bool = True,
) -> list[Contest]:
    """Draw contests among some of up to `max_players` players, in the order of time.

    smallest : players that a contest has at least
    timed, weighted, capped : whether contests have times (None: perhaps), weights, ceilings
    rounds : whether some contests have a beta or a gamma of their own
    """
    pool = draw(st.integers(min_players, max_players))
    if timed is None:
        timed = draw(st.booleans())
    rows = st.lists(st.integers(0, pool - 1), min_size=smallest, max_size=pool, unique=True)
    drawn, now = [], 14_000.0
    for _ in range(draw(st.integers(1, max_contests))):
        players = draw(rows)
        ranks = draw(places(len(players), ties=ties))
        # Quarters of a day are whole microseconds and exact floats.
        now += 0.25 * draw(st.integers(0, 400)) if timed else 0.0
        weight = draw(st.sampled_from([0.05, 0.5, 1.0, 1.0, 2.5])) if weighted else 1.0
        ceiling = draw(st.sampled_from([None, 1300.0, 1500.0, 1720.5])) if capped else None
        beta = draw(st.sampled_from([None, 15.0, 90.0, 600.0])) if rounds else None
        gamma = draw(st.sampled_from([None, 0.0, 20.0, 300.0])) if rounds else None
        time = now if timed else None
        drawn.append(Contest(tuple(players), tuple(ranks), time, weight, ceiling, beta, gamma))
    return drawn


#: Histories that use every column that Elo-MMR reads.
full_histories = contests(timed=True, weighted=True, capped=True, rounds=True, max_players=8)


def places(count: int, *, ties: bool = True) -> st.SearchStrategy[list[int]]:
    """Draw the ranks of `count` players, dense from 0."""
    if not ties:
        return st.permutations(range(count))
    free = st.lists(st.integers(0, count - 1), min_size=count, max_size=count)
    return free.map(lambda ranks: dense(ranks).tolist())


# --- Elo-MMR ---------------------------------------------------------------------------------

RHOS = (0.0, 0.04, 1.0, math.inf)

#: The logistic and the Gaussian model; they take the same parameters.
MODELS: tuple[type[EloMMRParameters], ...] = (EloMMR, EloMMX)

every_model = pytest.mark.parametrize("model", MODELS, ids=[model.name for model in MODELS])


@st.composite
def spellings(draw: st.DrawFn) -> dict[str, float]:
    """Draw the size of things for Elo-MMR, in one of its two spellings (READINGS B4)."""
    if draw(st.booleans()):
        limit = draw(st.floats(20, 150))
        return {"weight_limit": draw(st.floats(0.02, 2.0)), "sigma_limit": limit}
    return {"beta": draw(st.floats(20, 400)), "gamma": draw(st.floats(5, 200))}


@st.composite
def parameters(
    draw: st.DrawFn,
    *,
    rhos: Sequence[float] = RHOS,
    drift: bool | None = None,
    remembered: bool | None = None,
) -> dict[str, float]:
    """Draw parameters of either model, None: perhaps with that option."""
    chosen = draw(spellings())
    chosen["rho"] = draw(st.sampled_from(rhos))
    chosen["initial_deviation"] = draw(st.sampled_from([100.0, 350.0]))
    chosen["split_ties"] = draw(st.booleans())
    chosen["rate_all_ties"] = draw(st.booleans())
    if draw(st.booleans()) if drift is None else drift:
        chosen["drift_per_day"] = draw(st.sampled_from([0.5, 20.0]))
    if draw(st.booleans()) if remembered is None else remembered:
        chosen["remembered"] = draw(st.integers(1, 4))
    return chosen


def systems(
    model: type[EloMMRParameters] = EloMMR,
    rhos: Sequence[float] = RHOS,
    least_beta: float = 20.0,
) -> st.SearchStrategy[EloMMRParameters]:
    """Draw systems of a model.

    Contests in which all tie are rated: the theorems count them (READINGS B7).
    """
    return st.builds(
        model,
        beta=st.floats(least_beta, max(400.0, 2 * least_beta)),
        gamma=st.floats(5, 200),
        rho=st.sampled_from(rhos),
        split_ties=st.booleans(),
        rate_all_ties=st.just(True),
    )


class Entrants(NamedTuple):
    """Who meets in a contest and how they are placed; one entry a player."""

    ratings: list[float]
    deviations: list[float]
    ranks: list[int]


@st.composite
def entrants(
    draw: st.DrawFn,
    *,
    min_players: int = 2,
    max_players: int = 12,
    low: float = 800.0,
    high: float = 2600.0,
) -> Entrants:
    """Draw players rated from `low` to `high`, of any deviation, and their places."""
    count = draw(st.integers(min_players, max_players))

    def many(least: float, most: float) -> list[float]:
        return draw(st.lists(st.floats(least, most), min_size=count, max_size=count))

    return Entrants(many(low, high), many(30, 350), draw(places(count)))


def performances(system: EloMMRParameters, field: Entrants) -> Floats:
    """Return the performances that these players show in one contest."""
    state = newcomers(system, field.ratings, field.deviations)
    return rate(system, state, one_contest(field.ranks))["performance"]


# --- states ----------------------------------------------------------------------------------


def standing(system: RatingSystem, **columns: Sequence[float] | Floats | float) -> State:
    """Return the state of players who stand like this; one number is that of all of them."""
    state = system.initial(max(np.size(values) for values in columns.values()))
    for name, values in columns.items():
        state.column(name)[:] = values
    return state


def bits(state: State) -> list[Floats]:
    """Return everything that a state knows, apart from how its memory is laid out."""
    records = [state.runs.records(field) for field in range(state.runs.fields)]
    return [state.table, state.runs.spans[:, COUNT], *records]


def assert_same_bits(one: State, other: State) -> None:
    """Compare two states; NaN is itself."""
    for left, right in zip(bits(one), bits(other), strict=True):
        np.testing.assert_array_equal(left, right)
