"""Components and classes of a tournament, in plain Python or compiled: the same numbers.

Source: [PRE]_ Assumptions 1 and 2. An arc leads from i to j where i took points off j; arcs stand
one after the other, those of each player together.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Ints
from equipoise.performance import graph_steps
from equipoise.performance.pairs import Pairs


class _Way(NamedTuple):
    """How to run the steps: over lists, or compiled over arrays."""

    steps: ModuleType
    given: Callable[[Any], Any]
    room: Callable[..., Any]


def components_and_classes(pairs: Pairs, players: int, *, plain: bool) -> tuple[Ints, Ints]:
    """Return (component, class) of every player, each shape (N,), -1 for those without games.

    Components are numbered by first player; classes by component, then by the longest chain of
    sweeps that leads to them, then by first player.
    plain : without kernels, for small tournaments
    """
    way = _plain() if plain else _compiled()
    columns = [way.given(one) for one in (pairs.first, pairs.second, pairs.weight, pairs.points)]
    root = way.room(players, -1)
    way.steps.join_players(*columns[:2], root)
    component = _numbered(np.asarray(root, dtype=np.int64))
    start, target = _arcs(way, columns, players)
    number = way.given(np.where(component >= 0, -1, players))
    class_of = way.room(players, -1)
    work = [way.room(players, 0) for _ in range(4)]
    classes = way.steps.find_classes(start, target, class_of, number, *work)
    if classes == int(component.max(initial=-1)) + 1:
        return component, component.copy()
    found = np.asarray(class_of, dtype=np.int64)
    order = np.flatnonzero(found >= 0)
    order = order[np.argsort(-found[order], kind="stable")]
    depth = way.room(classes, 0)
    way.steps.find_depths(start, target, class_of, way.given(order), depth)
    return component, _ranked(component, found, np.asarray(depth, dtype=np.int64))


def _arcs(way: _Way, columns: list[Any], players: int) -> tuple[Any, Any]:
    """Return (start, target): arcs of player i lead to target[start[i]:start[i + 1]]."""
    counts = way.room(players + 1, 0)
    way.steps.count_arcs(*columns, counts)
    ends = np.cumsum(counts)
    start = way.given(ends)
    # Half the memory, and less to fetch: rows fit into 32 bits unless there are billions.
    target = way.room(int(ends[-1]), 0, np.int32 if players < 2**31 else np.int64)
    way.steps.place_arcs(*columns, start, target)
    return start, target


def _plain() -> _Way:
    return _Way(
        steps=graph_steps,
        given=lambda array: array.tolist(),
        room=lambda size, value, kind=np.int64: [value] * size,
    )


def _compiled() -> _Way:
    """Return the way over arrays, loading the compiler now."""
    from equipoise.performance import graph_kernels

    return _Way(
        steps=graph_kernels,
        given=np.ascontiguousarray,
        room=lambda size, value, kind=np.int64: np.full(size, value, dtype=kind),
    )


def _numbered(root: Ints) -> Ints:
    """Return numbers from 0 in the order of first players, given everyone's first player or -1."""
    number = np.cumsum(root == np.arange(len(root))) - 1
    return np.where(root >= 0, number[root], -1)


def _ranked(component: Ints, class_of: Ints, depth: Ints) -> Ints:
    """Return everyone's class, numbered by component, then depth, then first player; or -1."""
    rows = np.flatnonzero(class_of >= 0)[::-1]
    leader = np.zeros(len(depth), dtype=np.int64)
    leader[class_of[rows]] = rows  # of equal indices the last counts: the first player
    place = np.empty(len(depth), dtype=np.int64)
    place[np.lexsort((leader, depth, component[leader]))] = np.arange(len(depth))
    return np.where(class_of >= 0, place[class_of], -1)
