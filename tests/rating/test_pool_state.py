"""Saved states: read back whole, or refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from equipoise.arrays import Ids
from equipoise.data.history import History
from equipoise.errors import ConflictError, InvalidDataError, NotFoundError
from equipoise.formats import read_history
from equipoise.rating.elo_mmr.elo_mmr import EloMMR
from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import replay
from equipoise.rating.systems.elo import Elo
from rating.histories import Contest, history_of


def duels(names: list[str], count: int) -> History:
    history = history_of([Contest((0, 1), (0, 1), m / 86_400) for m in range(count)])
    return history.with_players(np.array(names, dtype=object), history.player)


def replace_parts(path: Path, change: Callable[[dict[str, Ids]], object]) -> None:
    """Write a saved state anew after its parts have been changed."""
    with np.load(path) as file:
        parts = {part: file[part] for part in file.files}
    change(parts)
    np.savez(path, **parts)  # type: ignore[arg-type]


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


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("table", lambda a: a[:1]),
        ("run_spans", lambda a: a + 10_000),
        ("run_values", lambda a: a[:5]),
        ("header", lambda a: np.frombuffer(b'{"schema": 99}', np.uint8)),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    saved: Path, name: str, change: Callable[[Ids], Ids]
) -> None:
    """A damaged state must not reach kernels, which do not check indices."""
    replace_parts(saved, lambda parts: parts.update({name: change(parts[name])}))
    with pytest.raises(InvalidDataError, match="must be a state saved by equipoise"):
        PoolState.load(saved)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("rating", np.nan),
        ("deviation", np.nan),
        ("last_time", np.inf),
    ],
)
def test_numbers_that_are_not_finite_are_refused(saved: Path, column: str, value: float) -> None:
    """One of them would reach every opponent; the sentence names the column and the player."""

    def spoil(parts: dict[str, Ids]) -> None:
        parts["table"][0, json.loads(parts["header"].tobytes())["columns"].index(column)] = value

    replace_parts(saved, spoil)
    with pytest.raises(InvalidDataError, match=f"{column} {value} of the player 'zoë'"):
        PoolState.load(saved)


def test_a_remembered_performance_that_is_not_finite_is_refused(saved: Path) -> None:
    replace_parts(saved, lambda parts: parts["run_values"].__setitem__(0, np.nan))
    with pytest.raises(InvalidDataError, match="a remembered performance that is not finite"):
        PoolState.load(saved)


def test_a_player_without_a_last_match_is_read_back(saved: Path) -> None:
    """Columns that are without a number for newcomers may be without one."""
    state = PoolState.load(saved)
    state.state.table[0, list(state.state.initial).index("last_time")] = np.nan
    again = PoolState.from_bytes(state.to_bytes(), "pool")
    np.testing.assert_array_equal(again.state.table, state.state.table)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("system", 3),
        ("parameters", None),
        ("shared", ["home_advantage"]),
        ("shared", {}),
        ("shared", {"home_advantage": [[30.0, 1.0]]}),
        ("shared", {"home_advantage": [float("nan"), 1.0]}),
        ("shared", {"home_advantage": [30.0, float("inf")]}),
    ],
)
def test_a_header_of_other_values_is_refused(name: str, value: object, tmp_path: Path) -> None:
    """Also what a pool learned of its home advantage, which kernels read by its place."""
    system = Elo(learn_home_advantage=True)
    state = system.initial(2)
    empty = np.zeros(0, np.int64)
    pool = PoolState(system=system, player_ids=np.arange(2), state=state, rated=empty)
    assert PoolState.from_bytes(pool.to_bytes(), "pool").state.shared.keys() == state.shared.keys()

    def spoil(parts: dict[str, Ids]) -> None:
        header = json.loads(parts["header"].tobytes()) | {name: value}
        parts["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)

    path = tmp_path / "pool.npz"
    pool.save(path)
    replace_parts(path, spoil)
    with pytest.raises(InvalidDataError, match="must be a state saved by equipoise"):
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
