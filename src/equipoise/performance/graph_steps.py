"""The steps of finding components and classes of a tournament, each in linear time.

Every function here stands on its own and only indexes, so that it runs as plain Python over lists
(small tournaments, which should not wait for a compiler to be loaded) and compiled over arrays
(`graph_kernels`), with the same answer by construction.

Source: components by union-find with path halving; strongly connected classes by Tarjan (1972),
with a stack of our own in place of recursion.
"""

from __future__ import annotations

from typing import TypeAlias

from equipoise.arrays import Floats, Ints

#: Whole numbers to be indexed: an array where compiled, a list where not.
Rows: TypeAlias = Ints | list[int]
#: Numbers to be indexed: weights and points.
Numbers: TypeAlias = Floats | list[float]


def join_players(first: Rows, second: Rows, root: Rows) -> None:
    """Set root[i] to the first player of i's weakly connected component.

    first, second : shape (K,), rows of the pairs that met
    root : shape (N,), -1 before; players without games keep it
    """
    for k in range(len(first)):
        a, b = first[k], second[k]
        if root[a] < 0:
            root[a] = a
        if root[b] < 0:
            root[b] = b
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        # The smaller row is the root, so that a root is the first player of its component.
        if a < b:
            root[b] = a
        elif b < a:
            root[a] = b
    for i in range(len(root)):
        if root[i] >= 0:
            root[i] = root[root[i]]  # root[i] <= i, so it is already final


def count_arcs(first: Rows, second: Rows, weight: Numbers, points: Numbers, start: Rows) -> None:
    """Add to start[i] the number of players that i took points off; shape (N + 1,)."""
    for k in range(len(first)):
        a, b = first[k], second[k]
        if a != b:
            if points[k] > 0.0:
                start[a] += 1
            if points[k] < weight[k]:
                start[b] += 1


def place_arcs(
    first: Rows, second: Rows, weight: Numbers, points: Numbers, start: Rows, target: Rows
) -> None:
    """Fill target[start[i]:start[i + 1]] with the players that i took points off.

    start : shape (N + 1,), before: the running sum of `count_arcs`, that is the end of every run
    """
    for k in range(len(first) - 1, -1, -1):
        a, b = first[k], second[k]
        if a != b:
            if points[k] > 0.0:
                start[a] -= 1
                target[start[a]] = b
            if points[k] < weight[k]:
                start[b] -= 1
                target[start[b]] = a


def find_classes(
    start: Rows,
    target: Rows,
    class_of: Rows,
    number: Rows,
    low: Rows,
    waiting: Rows,
    path: Rows,
    at: Rows,
) -> int:
    """Find the strongly connected classes, numbered after those they reach; return how many.

    start, target : the arcs, as `place_arcs` leaves them
    class_of : shape (N,), the answer; only players with number -1 get one
    number : shape (N,), -1 for players to visit and N for the others; N for all afterwards
    low, waiting, path, at : shape (N,), room to work in
    """
    done = len(number)
    classes, seen, held = 0, 0, 0
    for root in range(done):
        if number[root] != -1:
            continue
        depth, fresh = -1, root
        while depth >= 0 or fresh >= 0:
            if fresh >= 0:
                number[fresh] = low[fresh] = seen
                seen += 1
                waiting[held] = fresh
                held += 1
                depth += 1
                path[depth], at[depth] = fresh, start[fresh]
                fresh = -1
            v = path[depth]
            low_v, e, end = low[v], at[depth], start[v + 1]
            while e < end and fresh < 0:
                met = number[target[e]]
                if met < 0:
                    fresh = target[e]
                elif met < low_v:
                    low_v = met
                e += 1
            low[v], at[depth] = low_v, e
            if fresh < 0:  # all that v leads to has been seen
                depth -= 1
                if depth >= 0:
                    low[path[depth]] = min(low[path[depth]], low_v)
                if low_v == number[v]:
                    w = -1
                    while w != v:
                        held -= 1
                        w = waiting[held]
                        class_of[w], number[w] = classes, done
                    classes += 1
    return classes


def find_depths(start: Rows, target: Rows, class_of: Rows, order: Rows, depth: Rows) -> None:
    """Set depth[c] to the length of the longest chain of sweeps from the top down to class c.

    order : players with games, those of a class after those of all classes that reach it
    depth : shape (classes,), 0 before
    """
    for k in range(len(order)):
        v = order[k]
        c = class_of[v]
        beneath = depth[c] + 1
        for e in range(start[v], start[v + 1]):
            d = class_of[target[e]]
            if d != c and depth[d] < beneath:
                depth[d] = beneath
