"""Components of a graph by union-find, and strongly connected classes by Tarjan's algorithm.

Source: union-find with path halving; Tarjan (1972), with an explicit stack instead of recursion;
longest chains in topological order. Each step takes linear time.

Every step only uses indices. So the same code runs compiled over arrays, and as plain Python over
lists for small graphs, which need not wait until a compiler is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from equipoise.arrays import Flags, Ints

#: Whole numbers with an index: an array in compiled code, else a list.
Rows: TypeAlias = Ints | list[int]
#: Whether an edge leads in one direction; an array or a list, as above.
Ways: TypeAlias = Flags | list[bool]

#: Number of nodes and edges together up to which plain Python is faster than loading a compiler.
PLAIN_LIMIT = 200_000


def components(first: Ints, second: Ints, nodes: int, *, plain: bool | None = None) -> Ints:
    """Return the component of every node, shape (nodes,), numbered in the order of first nodes.

    first, second : shape (K,), the nodes that an edge joins; a node without edges is a component
    plain : whether to run without the compiler; None means up to `PLAIN_LIMIT` nodes and edges
    """
    run = _Runner(nodes + len(first) <= PLAIN_LIMIT if plain is None else plain)
    root = run.given(np.arange(nodes))
    run.compiled(_join)(run.given(first), run.given(second), root)
    return _numbered(np.asarray(root, dtype=np.int64))


def components_and_classes(
    first: Ints, second: Ints, forth: Flags, back: Flags, nodes: int, *, plain: bool
) -> tuple[Ints, Ints]:
    """Return (component, class) of every node, each shape (nodes,), -1 for those without edges.

    Components are numbered by first node; classes by component, then by the longest chain of
    arcs between classes that leads to them, then by first node.

    first, second : shape (K,), the nodes that an edge joins
    forth, back : shape (K,), whether an arc leads from first to second, and from second to first
    plain : whether to run without the compiler
    """
    run = _Runner(plain)
    edges = [run.given(edges) for edges in (first, second, forth, back)]
    root = run.room(nodes, -1)
    run.compiled(_join)(*edges[:2], root)
    component = _numbered(np.asarray(root, dtype=np.int64))
    start, target = _arcs(run, edges, nodes)
    number = run.given(np.where(component >= 0, -1, nodes))
    class_of = run.room(nodes, -1)
    work = [run.room(nodes, 0) for _ in range(4)]
    classes = run.compiled(_find_classes)(start, target, class_of, number, *work)
    if classes == int(component.max(initial=-1)) + 1:
        return component, component.copy()
    found = np.asarray(class_of, dtype=np.int64)
    order = np.flatnonzero(found >= 0)
    order = order[np.argsort(-found[order], kind="stable")]
    depth = run.room(classes, 0)
    run.compiled(_find_depths)(start, target, class_of, run.given(order), depth)
    return component, _ranked(component, found, np.asarray(depth, dtype=np.int64))


class _Runner(NamedTuple):
    """Runs steps over lists, or compiled over arrays."""

    plain: bool

    def given(self, array: Any) -> Any:
        return array.tolist() if self.plain else np.ascontiguousarray(array)

    def room(self, size: int, value: int, kind: Any = np.int64) -> Any:
        return [value] * size if self.plain else np.full(size, value, dtype=kind)

    def compiled(self, step: Callable[..., Any]) -> Callable[..., Any]:
        return step if self.plain else _kernel(step)


@lru_cache
def _kernel(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiled step; this loads the compiler."""
    from equipoise._jit import kernel

    return kernel(step)


def _arcs(run: _Runner, edges: list[Any], nodes: int) -> tuple[Any, Any]:
    """Return (start, target): arcs of node i lead to target[start[i]:start[i + 1]]."""
    counts = run.room(nodes + 1, 0)
    run.compiled(_count_arcs)(*edges, counts)
    ends = np.cumsum(counts)
    start = run.given(ends)
    # Rows fit into 32 bits unless there are billions, which takes half the memory.
    target = run.room(int(ends[-1]), 0, np.int32 if nodes < 2**31 else np.int64)
    run.compiled(_place_arcs)(*edges, start, target)
    return start, target


def _numbered(root: Ints) -> Ints:
    """Return numbers from 0 in the order of first nodes, given each node's first node or -1."""
    number = np.cumsum(root == np.arange(len(root))) - 1
    return np.where(root >= 0, number[root], -1)


def _ranked(component: Ints, class_of: Ints, depth: Ints) -> Ints:
    """Return each node's class or -1, numbered by component, then depth, then first node."""
    rows = np.flatnonzero(class_of >= 0)[::-1]
    leader = np.zeros(len(depth), dtype=np.int64)
    leader[class_of[rows]] = rows  # the last of equal indices counts, which is the first node
    place = np.empty(len(depth), dtype=np.int64)
    place[np.lexsort((leader, depth, component[leader]))] = np.arange(len(depth))
    return np.where(class_of >= 0, place[class_of], -1)


def _join(first: Rows, second: Rows, root: Rows) -> None:
    """Set root[i] to the first node of i's component.

    first, second : shape (K,), the nodes that an edge joins
    root : shape (N,); on entry i itself, or -1, which nodes without edges keep
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
        # The smaller row is the root, so that a root is the first node of its component.
        if a < b:
            root[b] = a
        elif b < a:
            root[a] = b
    for i in range(len(root)):
        if root[i] >= 0:
            root[i] = root[root[i]]  # root[i] <= i, so it is already final


def _count_arcs(first: Rows, second: Rows, forth: Ways, back: Ways, start: Rows) -> None:
    """Add to start[i] the number of arcs from i; shape (N + 1,)."""
    for k in range(len(first)):
        a, b = first[k], second[k]
        if a != b:
            if forth[k]:
                start[a] += 1
            if back[k]:
                start[b] += 1


def _place_arcs(
    first: Rows, second: Rows, forth: Ways, back: Ways, start: Rows, target: Rows
) -> None:
    """Fill target[start[i]:start[i + 1]] with the nodes that arcs from i lead to.

    start : shape (N + 1,); on entry the running sum of `_count_arcs`, which is the end of every run
    """
    for k in range(len(first) - 1, -1, -1):
        a, b = first[k], second[k]
        if a != b:
            if forth[k]:
                start[a] -= 1
                target[start[a]] = b
            if back[k]:
                start[b] -= 1
                target[start[b]] = a


def _find_classes(
    start: Rows,
    target: Rows,
    class_of: Rows,
    number: Rows,
    low: Rows,
    waiting: Rows,
    path: Rows,
    at: Rows,
) -> int:
    """Find the strongly connected classes, numbered after those they reach; return their number.

    start, target : the arcs, as `_place_arcs` leaves them
    class_of : shape (N,), the answer; only nodes with number -1 get one
    number : shape (N,), -1 for nodes to visit and N for the others; N for all afterwards
    low, waiting, path, at : shape (N,), working memory
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
            if fresh < 0:  # all nodes that v leads to have been visited
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


def _find_depths(start: Rows, target: Rows, class_of: Rows, order: Rows, depth: Rows) -> None:
    """Set depth[c] to the length of the longest chain of arcs from the top down to class c.

    order : nodes with edges, those of a class after those of all classes that reach it
    depth : shape (classes,), 0 on entry
    """
    for k in range(len(order)):
        v = order[k]
        c = class_of[v]
        beneath = depth[c] + 1
        for e in range(start[v], start[v + 1]):
            d = class_of[target[e]]
            if d != c and depth[d] < beneath:
                depth[d] = beneath
