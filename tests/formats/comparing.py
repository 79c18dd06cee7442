"""What the tests of readers share: whether two histories are the same, and where real data is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from equipoise.data.history import COLUMNS, History
from equipoise.errors import Problem

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def real_data(name: str) -> Path:
    """Return the path of a file of real data, or skip the test."""
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip(f"real data is not here: {path}")
    return path


def assert_same(one: object, other: object, name: str) -> None:
    """Compare two arrays, or two absent ones; NaN is itself."""
    if one is None or other is None:
        assert one is other, f"{name}: {one!r} is not {other!r}"
        return
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype, f"{name}: {one.dtype} is not {other.dtype}"
    if one.dtype.kind == "f":
        np.testing.assert_array_equal(one, other, err_msg=name)
    else:
        assert one.tolist() == other.tolist(), name


def assert_same_history(one: History, other: History) -> None:
    """Compare all that histories consist of, their types too."""
    for name in COLUMNS:
        assert_same(getattr(one, name), getattr(other, name), name)
    assert one.time_kind == other.time_kind
    for name in ("statistics", "attributes"):
        left, right = getattr(one, name), getattr(other, name)
        assert list(left) == list(right), name
        for key in left:
            assert_same(left[key], right[key], f"{name} {key}")


def told(problems: tuple[Problem, ...]) -> list[tuple[int | None, str, str, str]]:
    """Return problems as (line, field, rule, what came)."""
    return [(one.line, one.field, one.rule, one.got) for one in problems]


def rows_of(history: History) -> list[tuple[object, object, int]]:
    """Return (match, player, rank) of every row."""
    matches = history.match_ids[history.match_rows()].tolist()
    players = history.player_ids[history.player].tolist()
    return list(zip(matches, players, history.rank.tolist(), strict=True))
