"""A pool to which matches are added one at a time is the state of a replay, bit for bit."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from drawing import examples
from equipoise.data.history import History
from equipoise.errors import (
    ConflictError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
)
from equipoise.rating.one_match import OneMatch, history_of
from equipoise.rating.replay import predict, replay
from rating.entry_histories import LEARNERS
from rating.one_call.matches import VARIANTS, by_speed, call_of, histories, system_of

LEARNED: dict[str, object] = {
    "entry": "learned",
    "entry_half_life": 5,
    "hold_level": 0.5,
    "level_experienced": 1,
}

#: What needs a pool, beside all that does not.
POOLED: list[tuple[str, dict[str, object]]] = [
    *VARIANTS,
    *((name, LEARNED) for name in LEARNERS if name not in ("codeforces", "elo")),
    ("glicko", {**LEARNED, "period_days": 2.5}),
    ("glicko2", {**LEARNED, "period_days": 2.5}),
    ("team-glicko2", {"roles": True}),
]

few = examples(15)


def as_a_pool_numbers(history: History, *, text: bool, roles: bool) -> History:
    """Return the same matches with players numbered by first appearance, and ids of either kind."""
    order = list(dict.fromkeys(history.player.tolist()))
    place = {row: k for k, row in enumerate(order)}
    ids = history.player_ids[order]
    attributes = dict(history.attributes)
    if roles:
        attributes["role"] = np.where(history.player % 2, "tank", "healer").astype(object)
    return replace(
        history,
        player_ids=np.array([f"p{one}" for one in ids], dtype=object) if text else ids,
        player=np.array([place[row] for row in history.player.tolist()]),
        match_ids=np.arange(1, 1 + history.matches),
        time_kind="datetime",
        attributes=attributes,
    )


def file_of(state: eq.PoolState) -> bytes:
    """Return the file of a state, its roles in order: a replay meets those of all matches first."""
    state.state.shared = dict(sorted(state.state.shared.items()))
    return state.to_bytes()


def add(pool: eq.Pool, history: History, match: int) -> None:
    """Add a match of a history to a pool."""
    rows, said = call_of(pool.system, history.slice(match, match + 1))
    names = [history.player_ids[team].tolist() for team in rows]
    for name in said.keys() & {"performance", "share", "role"}:
        each = zip(names, said[name], strict=True)
        said[name] = [dict(zip(team, values, strict=True)) for team, values in each]
    pool.rate(names, **said)


@pytest.mark.parametrize(("name", "parameters"), [("elo", LEARNED), *by_speed(POOLED)])
@given(data=st.data())
@few
def test_a_pool_is_the_state_of_a_replay(
    name: str, parameters: dict[str, object], data: st.DataObject
) -> None:
    """The file has the same bytes, also after going on from the middle."""
    system = system_of(name, parameters)
    history = as_a_pool_numbers(
        data.draw(histories(system)),
        text=data.draw(st.booleans()),
        roles="role" in system.capabilities.uses,
    )
    pool, half = eq.Pool(system), history.matches // 2
    for match in range(history.matches):
        if match == half:
            pool = eq.Pool.of(pool.state)
        add(pool, history, match)
    # The history names players who never play.
    there = np.unique(history.player)
    history = history.with_players(history.player_ids[: len(there)], history.player)
    done = replay(system, history)
    assert file_of(pool.state) == file_of(done.state)
    assert pool.ratings.rating.tolist() == done.ratings.rating.tolist()
    again = replay(system, history, state=pool.state)
    assert (again.rated_matches, again.unchecked_matches) == (0, 0)
    day = float(history.days()[-1]) + 3.5
    teams = [[history.player_ids[0]], ["nobody" if history.player_ids.dtype == object else 99]]
    expected = predict(system, done.state, teams, at=day)
    found = pool.predict(teams, time=day)
    assert found.expected == expected.expected
    assert found.newcomers == expected.newcomers


def test_known_ratings_are_seeds() -> None:
    """As `replay(initial=...)`, where the entry is learned too."""
    for system in (eq.Glicko2(), eq.EloMMR(entry="learned"), eq.Elo()):
        pool = eq.Pool(system, initial={"bo": (1700, 60), "ada": 1610})
        assert [one.rating for one in (pool["ada"], pool["bo"])] == [1610, 1700]
        pool.rate(["ada", "cy"])
        history = history_of([OneMatch((1, 1), (0, 1))], [["ada", "cy"]], [1])
        history = replace(history, time_kind="seconds")
        initial = eq.InitialRatings(
            player_ids=np.array(["bo", "ada"], dtype=object),
            rating=np.array([1700.0, 1610.0]),
            deviation=np.array([60.0, math.nan]),
        )
        done = replay(system, history, initial=initial)
        assert pool.state.to_bytes() == done.state.to_bytes()


def test_a_known_rating_is_a_number_a_pair_or_a_rating() -> None:
    system = eq.Glicko2()
    ada = system.rating(1600, 90)
    pool = eq.Pool(system, initial={"ada": ada, "bo": 1400})
    assert pool["ada"] == eq.Pool(system, initial={"ada": (1600, 90)})["ada"] == ada
    assert (pool["bo"].rating, pool["bo"].deviation) == (1400, 350)
    played, _ = system.rate([ada, system.rating()])
    assert eq.Pool(system, initial={"ada": played})["ada"].matches == 0
    with pytest.raises(InvalidParameterError, match="the rating is of elo, not glicko2"):
        eq.Pool(system, initial={"ada": eq.Elo().rating()})


def test_a_pool_is_saved_and_resumed(tmp_path: Path) -> None:
    pool = eq.Pool(eq.TrueSkill())
    pool.rate([["ada", "bo"], ["cy"]], scores=[1, 2], match="semi", time=20_000)
    pool.save(tmp_path / "pool.npz")
    again = eq.Pool.load(tmp_path / "pool.npz")
    assert again["cy"] == pool["cy"]
    assert eq.PoolState.load(tmp_path / "pool.npz").to_bytes() == pool.state.to_bytes()
    assert again.rate(["ada", "cy"], match="final", time=20_001) == pool.rate(
        ["ada", "cy"], match="final", time=20_001
    )
    assert again.state.to_bytes() == pool.state.to_bytes()
    assert (repr(again), again.matches) == ("<Pool of 3 players, 2 matches, trueskill>", 2)
    assert (list(again), len(again), "bo" in again, "di" in again) == (
        ["ada", "bo", "cy"],
        3,
        True,
        False,
    )
    assert again.ratings.to_polars().height == 3


def test_a_replay_is_continued_as_a_pool() -> None:
    history = eq.read_history("examples/contests.csv")
    done = replay(eq.EloMMR(), history)
    before = done.state.to_bytes()
    pool = eq.Pool.of(done)
    best = done.ratings.to_polars()["player"][0]
    pool.rate([best, "newcomer"], time=datetime(2030, 1, 1, tzinfo=UTC))
    assert (len(pool), pool.matches) == (len(done.ratings.player_ids) + 1, history.matches + 1)
    assert done.state.to_bytes() == before


def test_ids_of_matches_go_on_counting() -> None:
    pool = eq.Pool(eq.Elo())
    pool.rate(["a", "b"], match=2)
    pool.rate(["a", "b"])
    pool.rate(["a", "b"], match=np.int64(9))  # type: ignore[call-overload]
    assert pool.state.rated.tolist() == [2, 3, 9]
    named = eq.Pool(eq.Elo())
    named.rate(["a", "b"], match="first")
    named.rate(["a", "b"])
    assert named.state.rated.tolist() == ["first", "2"]


@pytest.mark.parametrize("name", ["elo", "elo-mmr"])
@pytest.mark.parametrize(
    "copied", [lambda pool: pickle.loads(pickle.dumps(pool)), copy.deepcopy, copy.copy]
)
def test_a_copy_of_a_pool_goes_on_alone(name: str, copied: Callable[[eq.Pool], eq.Pool]) -> None:
    pool = eq.Pool(eq.make_system(name))
    for _ in range(2):
        pool.rate(["ada", "bo"])
        pool.predict(["ada", "bo"])
    again, before = copied(pool), pool.state.to_bytes()
    assert again.state.to_bytes() == before
    again.rate(["bo", "cy"], ranks=[1, 2])
    assert pool.state.to_bytes() == before
    pool.rate(["bo", "cy"], ranks=[1, 2])
    assert again.state.to_bytes() == pool.state.to_bytes()
    assert again["bo"] == pool["bo"]


POOL = eq.Pool(eq.Elo())
DATED = eq.Pool(eq.Elo())


@pytest.fixture(autouse=True)
def _one_match() -> None:
    """Give both pools a match, one of them with a time."""
    if not POOL.matches:
        POOL.rate(["ada", "bo"])
        DATED.rate(["ada", "bo"], time=datetime(2026, 1, 2, tzinfo=UTC))


@pytest.mark.parametrize(
    ("attempt", "error", "sentence"),
    [
        (lambda: POOL.rate(["ada", "ada"]), InvalidParameterError, "ada is named twice"),
        (lambda: POOL.rate(["ada", 3]), InvalidParameterError, "all text or all whole numbers"),
        (
            lambda: POOL.rate(["ada", ""]),
            InvalidParameterError,
            "must not name a player",
        ),
        (lambda: POOL.rate([{"ada": 1}, {"bo": 2}]), InvalidParameterError, "knows their ratings"),
        (lambda: POOL.rate(["ada", "bo"], match=1), ConflictError, "match 1 has been rated"),
        (lambda: POOL.rate(["ada", "bo"], match=1.5), InvalidParameterError, "text or a whole"),
        (lambda: POOL.rate(["ada", "bo"], time=3), InvalidParameterError, "must be left out"),
        (lambda: POOL.rate(["ada", "bo"], role=["x", "y"]), InvalidParameterError, "role must be"),
        (lambda: DATED.rate(["ada", "bo"]), InvalidParameterError, "time must be given"),
        (lambda: DATED.rate(["ada", "bo"], time=3), ConflictError, "older than the last match"),
        (lambda: DATED.predict(["ada", "bo"], time=3), InvalidParameterError, "not be before"),
        (
            lambda: POOL["eda"],
            NotFoundError,
            r"no rated player .eda. in this pool \(2 players\); did you mean ada\?",
        ),
        (lambda: eq.Pool(eq.Elo), InvalidParameterError, r"got the class Elo; write Elo\(\.\.\."),
        (lambda: eq.Pool(eq.Elo(), initial={"a": "x"}), InvalidParameterError, "initial must be r"),
        (lambda: eq.Pool.load("nowhere.npz"), NotFoundError, "no saved state at nowhere.npz"),
        (lambda: eq.Pool.load(__file__), InvalidDataError, "must be a state saved by equipoise"),
        (
            lambda: eq.Pool(eq.TeamGlicko2(roles=True)).rate(["a", "b"]),
            InvalidParameterError,
            "needs the role of each player",
        ),
    ],
)
def test_what_a_pool_cannot_take_gets_a_sentence(
    attempt: Callable[[], Any], error: type[Exception], sentence: str
) -> None:
    before = POOL.state.to_bytes(), DATED.state.to_bytes()
    with pytest.raises(error, match=sentence):
        attempt()
    assert before == (POOL.state.to_bytes(), DATED.state.to_bytes())


def test_an_order_without_dates_is_left_to_replay() -> None:
    history = eq.read_history("examples/contests.csv").slice(0, 2)
    done = replay(eq.EloMMR(), replace(history, time=None, order=np.array([1, 2])))
    with pytest.raises(InvalidParameterError, match="ordered by number, not by date"):
        eq.Pool.of(done)
