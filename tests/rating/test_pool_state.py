"""Saved states: read back whole, or refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.data.history import History
from equipoise.errors import ConflictError, InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.formats import read_history
from equipoise.rating.elo_mmr.elo_mmr import EloMMR
from equipoise.rating.federation_columns import KNOWN
from equipoise.rating.pool_state import PoolState, seeded_state, soft_reset
from equipoise.rating.registry import SYSTEMS, make_system
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.elo import Elo
from rating.histories import Contest, history_of


def duels(names: list[str], count: int) -> History:
    history = history_of([Contest((0, 1), (0, 1), m / 86_400) for m in range(count)])
    return history.with_players(np.array(names, dtype=object), history.player)


def replace_parts(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Write a saved state anew after its parts have been changed."""
    with np.load(path) as file:
        parts = {part: file[part] for part in file.files}
    change(parts)
    np.savez(path, **parts)


def in_header(**values: object) -> Callable[[dict[str, Any]], None]:
    """Return what changes these entries of the header."""

    def change(parts: dict[str, Any]) -> None:
        header = json.loads(parts["header"].tobytes()) | values
        parts["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)

    return change


def in_table(column: str, value: float) -> Callable[[dict[str, Any]], None]:
    """Return what changes a number of the first player."""

    def change(parts: dict[str, Any]) -> None:
        parts["table"][0, json.loads(parts["header"].tobytes())["columns"].index(column)] = value

    return change


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "state.npz"
    replay(EloMMR(rho=0.04), duels(["zoë", "\u202eb\x00"], 5)).state.save(path)
    return path


def test_ids_of_any_text_survive(saved: Path) -> None:
    """Also right-to-left marks and zero characters, which fixed-width arrays would cut off."""
    assert PoolState.load(saved).player_ids.tolist() == ["zoë", "\u202eb\x00"]


def test_a_file_without_pickles(saved: Path) -> None:
    """Loading a state never runs code."""
    with np.load(saved, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


@pytest.mark.parametrize("keep", [0, 10, 200, 700])
def test_a_cut_off_file_is_refused(saved: Path, keep: int) -> None:
    saved.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(InvalidDataError, match="must be a state saved by equipoise"):
        PoolState.load(saved)


def test_a_state_with_a_removed_parameter_is_refused_as_a_file() -> None:
    """Nobody rates its matches again. A database does, from its log (commit 940f139c wrote it)."""
    path = Path(__file__).with_name("state_few_opponents.npz")
    with pytest.raises(
        InvalidDataError, match=r"rate the history again; got elo-mmr\.opponents was removed: "
    ):
        PoolState.load(path)
    assert PoolState.from_bytes(path.read_bytes(), "seed").system == EloMMR()


def test_another_npz_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InvalidDataError, match="header"):
        PoolState.load(tmp_path / "other.npz")


BROKEN = "must be a state saved by equipoise"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts: parts.update(table=parts["table"][:1]), BROKEN),
        (lambda parts: parts.update(run_spans=parts["run_spans"] + 10_000), BROKEN),
        (lambda parts: parts.update(run_values=parts["run_values"][:5]), BROKEN),
        (lambda parts: parts.update(header=np.frombuffer(b'{"schema": 99}', np.uint8)), BROKEN),
        (in_header(system=3), BROKEN),
        (in_header(parameters=None), BROKEN),
        (in_table("rating", np.nan), "rating nan of the player 'zoë'"),
        (in_table("deviation", np.nan), "deviation nan of the player 'zoë'"),
        (in_table("last_time", np.inf), "last_time inf of the player 'zoë'"),
        (
            lambda parts: parts["run_values"].__setitem__(0, np.nan),
            "a remembered performance that is not finite",
        ),
    ],
)
def test_damaged_parts_are_refused(
    saved: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    """They must not reach kernels, which do not check indices, or every opponent of a player."""
    replace_parts(saved, change)
    with pytest.raises(InvalidDataError, match=message):
        PoolState.load(saved)


def test_a_player_without_a_last_match_is_read_back(saved: Path) -> None:
    """Columns that are without a number for newcomers may be without one."""
    state = PoolState.load(saved)
    state.state.table[0, list(state.state.initial).index("last_time")] = np.nan
    again = PoolState.from_bytes(state.to_bytes(), "pool")
    np.testing.assert_array_equal(again.state.table, state.state.table)


@pytest.mark.parametrize(
    "shared",
    [
        ["home_advantage"],
        {},
        {"home_advantage": [[30.0, 1.0]]},
        {"home_advantage": [float("nan"), 1.0]},
        {"home_advantage": [30.0, float("inf")]},
    ],
)
def test_what_a_pool_learned_is_checked(shared: object, tmp_path: Path) -> None:
    """Kernels read the home advantage by its place."""
    system = Elo(learn_home_advantage=True)
    state = system.initial(2)
    empty = np.zeros(0, np.int64)
    pool = PoolState(system=system, player_ids=np.arange(2), state=state, rated=empty)
    assert PoolState.from_bytes(pool.to_bytes(), "pool").state.shared.keys() == state.shared.keys()
    path = tmp_path / "pool.npz"
    pool.save(path)
    replace_parts(path, in_header(shared=shared))
    with pytest.raises(InvalidDataError, match=BROKEN):
        PoolState.load(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no saved state at"):
        PoolState.load(tmp_path / "none.npz")


def test_numbers_and_text_do_not_mix(saved: Path) -> None:
    """Ids that are numbers in one file and text in the other would double every player."""
    numbers = history_of([Contest((0, 1), (0, 1), 10.0)])
    with pytest.raises(ConflictError, match="one has numbers, the other text"):
        replay(EloMMR(rho=0.04), numbers, state=PoolState.load(saved))


def test_unknown_players_are_named() -> None:
    state = replay(EloMMR(), duels(["a", "b"], 1)).state
    with pytest.raises(NotFoundError, match="not among the 2 rated players: c, d"):
        state.rows(["a", "c", "d"])


def test_matches_known_by_id_must_have_known_players() -> None:
    """Another history may number its matches alike; its players give it away."""
    state = replay(EloMMR(), duels(["ann", "bob"], 2)).state
    with pytest.raises(
        ConflictError, match=r"match 0 has an id that was rated before, .* player cyd"
    ):
        replay(EloMMR(), duels(["ann", "cyd"], 3), state=state)


# --- an order without dates ----------------------------------------------------------------------

ROUNDS = {
    "match": [1, 1, 2, 2, 2, 3, 3, 4, 5, 5],
    "time": [3, 3, 3, 3, 3, 4, 4, 9, 9, 9],
    "player": [1, 2, 2, 3, 4, 1, 4, 5, 3, 1],
    "rank": [0, 1, 0, 0, 0, 1, 0, 0, 0, 1],
}


def test_an_order_goes_on_match_by_match(tmp_path: Path) -> None:
    """As all at once: ratings, and the number of each player's last match that counted."""
    history = read_history(ROUNDS)
    system = EloMMR()
    whole = replay(system, history)
    done = replay(system, history.slice(0, 1))
    for number in range(1, history.matches):
        done.state.save(tmp_path / "state.npz")
        state = PoolState.load(tmp_path / "state.npz")
        done = replay(system, history.slice(number, number + 1), state=state)
    assert done.ratings.to_polars().equals(whole.ratings.to_polars())
    # Player 5 has a match without opponents only, and match 2 was a tie of all.
    last = dict(whole.ratings.to_polars().select("player", "last_time").iter_rows())
    assert last == {1: 9, 2: 3, 3: 9, 4: 4, 5: None}
    assert (done.state.last_order, done.state.last_time) == (9, None)


def test_an_order_is_marked_in_the_file_and_only_an_order(tmp_path: Path) -> None:
    """A state without it is the file that it was."""
    parts = {}
    for name, table in (("file", {**ROUNDS, "time": [None] * 10}), ("order", ROUNDS)):
        path = tmp_path / f"{name}.npz"
        replay(EloMMR(), read_history(table)).state.save(path)
        with np.load(path) as file:
            parts[name] = set(file.files), json.loads(file["header"].tobytes())
    assert parts["order"][0] - parts["file"][0] == {"player_order"}
    assert parts["order"][1] == {**parts["file"][1], "last_order": 9}
    replace_parts(path, lambda parts: parts.update(player_order=np.zeros(1, np.int64)))
    with pytest.raises(InvalidDataError, match="order of shape"):
        PoolState.load(path)


@pytest.mark.parametrize(
    ("order", "rule"),
    [
        ([1, 2], "shape"),
        ([2, 1, 3], "must not decrease"),
        ([-1, 1, 2], "must be from 0 to 9999"),
        ([1, 2, 10_000], "must be from 0 to 9999"),
    ],
)
def test_an_order_is_checked(order: list[int], rule: str) -> None:
    """What a history has is what a table of it can be read back as."""
    history = read_history({"match": [1, 2, 3], "player": [1, 1, 1], "rank": [0, 0, 0]})
    with pytest.raises(InvalidDataError, match=rule):
        replace(history, order=np.array(order))
    with pytest.raises(InvalidDataError, match="must be absent if there are times"):
        replace(history, order=np.array([1, 2, 3]), time=np.array([1, 2, 3]))


# --- players who begin with a rating from elsewhere --------------------------------------------


NAMES = sorted(SYSTEMS)


def start_of(system: RatingSystem) -> tuple[float, float]:
    """Return rating and deviation of a newcomer."""
    first = system.at(system.initial(1), np.zeros(1, np.int64), None)
    return float(first["rating"][0]), float(first["deviation"][0])


@pytest.mark.parametrize("name", NAMES)
def test_a_seeded_player_has_the_rating_and_is_a_newcomer_in_all_else(name: str) -> None:
    """Reading the state gives what was wanted; glicko2 goes through its own scale and back."""
    system = make_system(name)
    rating, deviation = start_of(system)
    spread = deviation if deviation == deviation else 100.0
    wanted = rating + spread * np.array([-1.25, 0.0, 0.7])
    unsure = spread * np.array([0.3, 1.0, 0.55])
    every = np.arange(3)
    state = seeded_state(system, wanted, unsure)
    now = system.at(state, every, None)
    new = system.at(system.initial(3), every, None)
    np.testing.assert_array_equal(now["rating"], wanted)
    if "deviation" in state.initial:
        np.testing.assert_array_almost_equal_nulp(now["deviation"], unsure, 1)
    else:
        np.testing.assert_array_equal(now["deviation"], new["deviation"])
    for column in set(now) - {"rating", "deviation", "effective_rating"}:
        np.testing.assert_array_equal(now[column], new[column])


@pytest.mark.parametrize("name", NAMES)
def test_seeding_with_a_newcomers_numbers_makes_a_newcomer(name: str) -> None:
    """A season that begins so is one that begins with nobody."""
    system = make_system(name)
    rating, deviation = start_of(system)
    state = seeded_state(system, np.full(2, rating), np.full(2, deviation))
    new = system.initial(2)
    if "rated" in new.initial:
        # Federations tell known ratings from those of newcomers.
        new.column("rated")[:] = KNOWN
    np.testing.assert_array_equal(state.table, new.table)


def test_a_soft_reset_moves_ratings_and_widens_deviations_up_to_a_newcomers() -> None:
    rating, deviation = soft_reset(
        np.array([1000.0, 2000.0, 1500.0]),
        np.array([30.0, 340.0, np.nan]),
        centre=1400.0,
        keep=0.5,
        widen=40.0,
        most=350.0,
    )
    assert rating.tolist() == [1200.0, 1700.0, 1450.0]
    assert deviation.tolist() == [50.0, np.hypot(340.0, 40.0), 350.0]
    assert (
        soft_reset(rating, deviation, centre=0.0, keep=1.0, widen=1e4, most=350.0)[1].tolist()
        == [350.0] * 3
    )


@pytest.mark.parametrize(
    ("rating", "deviation"), [(np.nan, 1.0), (np.inf, 1.0), (0.0, 0.0), (0.0, np.nan)]
)
def test_what_is_no_rating_is_refused(rating: float, deviation: float) -> None:
    with pytest.raises(InvalidParameterError, match="every"):
        seeded_state(make_system("glicko2"), np.array([rating]), np.array([deviation]))
