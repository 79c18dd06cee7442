"""Saved states: read back whole, or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from equipoise.data.history import History
from equipoise.errors import ConflictError, InvalidDataError, NotFoundError
from equipoise.rating.elo_mmr import EloMMR
from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import replay


def duels(names: list[str], count: int) -> History:
    return History(
        match_ids=np.arange(count),
        player_ids=np.array(names, dtype=object),
        offsets=2 * np.arange(count + 1),
        player=np.tile([0, 1], count),
        team=np.tile([0, 1], count),
        rank=np.tile([0, 1], count),
        time=1_000_000 * np.arange(count),
    )


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


def test_another_npz_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InvalidDataError, match="header"):
        PoolState.load(tmp_path / "other.npz")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("table", lambda a: a[:1]),
        ("table", lambda a: a[:, :3]),
        ("run_spans", lambda a: a + 10_000),
        ("run_spans", lambda a: -a),
        ("run_values", lambda a: a[:5]),
        ("header", lambda a: np.frombuffer(b'{"schema": 99}', np.uint8)),
    ],
)
def test_parts_that_do_not_fit_are_refused(saved: Path, name: str, change: object) -> None:
    """A damaged state must not reach kernels, which do not check indices."""
    with np.load(saved) as file:
        parts = {part: file[part] for part in file.files}
    parts[name] = change(parts[name])
    np.savez(saved, **parts)
    with pytest.raises(InvalidDataError, match="must be a state saved by equipoise"):
        PoolState.load(saved)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no saved state at"):
        PoolState.load(tmp_path / "none.npz")


def test_numbers_and_text_do_not_mix(saved: Path) -> None:
    """Ids that are numbers in one file and text in the other would double every player."""
    numbers = History(
        match_ids=np.array([9]),
        player_ids=np.array([1, 2]),
        offsets=np.array([0, 2]),
        player=np.array([0, 1]),
        team=np.array([0, 1]),
        rank=np.array([0, 1]),
        time=np.array([10_000_000]),
    )
    with pytest.raises(ConflictError, match="one has numbers, the other text"):
        replay(EloMMR(rho=0.04), numbers, state=PoolState.load(saved))


def test_unknown_players_are_named() -> None:
    state = replay(EloMMR(), duels(["a", "b"], 1)).state
    with pytest.raises(NotFoundError, match="not among the 2 rated players: c, d"):
        state.rows(["a", "c", "d"])


def test_matches_known_by_id_must_have_known_players() -> None:
    """Another history may number its matches alike; its players give it away."""
    state = replay(EloMMR(), duels(["ann", "bob"], 2)).state
    with pytest.raises(ConflictError, match=r"match 0 was rated before by its id, .* player cyd"):
        replay(EloMMR(), duels(["ann", "cyd"], 3), state=state)
