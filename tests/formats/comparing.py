"""What the tests of readers share: whether two histories are the same, and where real data is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.data.history import COLUMNS, History
from equipoise.errors import Problem
from equipoise.formats import scan_history
from equipoise.formats.table import HistoryReading

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


def results_of(history: History) -> str:
    """Return who won and who drew in each match: "ann>bob; bob=cid"."""
    matches = []
    for low, high in pairwise(history.offsets.tolist()):
        order = low + np.argsort(history.rank[low:high], kind="stable")
        text = ""
        for before, row in pairwise([None, *order]):
            if before is not None:
                text += "=" if history.rank[row] == history.rank[before] else ">"
            text += str(history.player_ids[history.player[row]])
        matches.append(text)
    return "; ".join(matches)


def results_of_games(games: Games) -> str:
    """Return who won and who drew in each single game, the winner first."""
    matches = []
    for white, black, points in zip(games.white, games.black, games.points, strict=True):
        first, second = (str(games.player_ids[row]) for row in (white, black))
        both = (
            f"{second}>{first}"
            if points == 0
            else f"{first}{'=' if points == 0.5 else '>'}{second}"
        )
        matches.append(both)
    return "; ".join(matches)


def of_text(text: str | bytes, format: str = "csv", **options: Any) -> HistoryReading:
    """Return what is read from the text of a file, or its bytes."""
    data = text.encode() if isinstance(text, str) else text
    return scan_history(data, format=format, **options)
