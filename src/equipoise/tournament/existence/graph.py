"""Whether finite performance ratings exist, and which sweeps prevent them.

Source: [PRE]_ sec. 3: Assumption 1 (irreducibility), Assumption 2 (non-dominance), Theorems 1 and
2; READINGS C3. Let there be an arc from i to j if i took points off j. A set S sweeps the rest of
its component exactly if no arc leads into S, so non-dominance holds exactly if every weakly
connected component is strongly connected. If a component is not, its strongly connected classes are
partially ordered by sweeps.

Departures: none in substance. The document's condition is about every subset of players; here it
is decided in time and memory proportional to players and pairs: up to 10 bytes a pair in addition
to the pairs, 26 with contracted players, 100 a player, and 50 a pair of players in different
classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.errors import Sweep, require
from equipoise.numeric.graph import PLAIN_LIMIT, components_and_classes
from equipoise.tournament.pairs import Pairs

#: `PLAIN_LIMIT` for more than 500 players, whose ratings always need compiled code.
PLAIN_LIMIT_OF_MANY = 20_000
#: Number of classes up to which the partial order is kept as a matrix.
MATRIX_LIMIT = 2_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Existence:
    """The components and classes of a tournament of N players, and the sweeps between classes.

    exists : whether finite ratings predict every score: no sweeps, every component is one class
    component : shape (N,), weakly connected component, numbered from 0 by its first player;
        -1 for players without games
    components : number of components
    class_of : shape (N,), strongly connected class, -1 for players without games. Numbered
        component by component, in each from the top down: by the longest chain of sweeps that
        leads to it, then by its first player. A class has a lower number than those it swept
    classes : number of classes
    above, below : shape (A,), classes that met, of which `above` took all points of `below`;
        in the order of (above, below)
    games : shape (A,), number (weight) of the games between the two
    """

    exists: bool
    component: Ints
    components: int
    class_of: Ints
    classes: int
    above: Ints
    below: Ints
    games: Floats

    def members(self, number: int) -> Ints:
        """Return the rows of the players of a class, in order."""
        rows, start = self._by_class
        return rows[start[number] : start[number + 1]]

    @property
    def sizes(self) -> Ints:
        """Number of players of every class, shape (classes,)."""
        return np.diff(self._by_class[1])

    def sweeps_of(self, player_ids: Ids, differences: Floats | None = None) -> tuple[Sweep, ...]:
        """Return every sweep between two classes, in the order of `above` and `below`.

        player_ids : shape (N,)
        differences : shape (A,), of the levels of the classes (`sweep_bounds`); None: NaN
        """
        named = [tuple(ids) for ids in self._ids_by_class(player_ids)]
        least = np.full(len(self.games), np.nan) if differences is None else differences
        rows = zip(self.above, self.below, self.games.tolist(), least.tolist(), strict=True)
        return tuple(Sweep(named[a], named[b], games, by) for a, b, games, by in rows)

    def incomparable_pairs(self) -> Ints:
        """Return the pairs of classes a < b of one component that cannot be compared, (P, 2).

        There must be at most `MATRIX_LIMIT` classes, because there may be half their square of
        pairs.
        """
        require(self.classes <= MATRIX_LIMIT, "classes", f"at most {MATRIX_LIMIT}", self.classes)
        rows, start = self._by_class
        component = self.component[rows[start[:-1]]]
        incomparable = (component[:, None] == component) & ~self._reach
        return np.argwhere(np.triu(incomparable, 1)).astype(np.int64)

    @cached_property
    def _reach(self) -> Flags:
        """Whether class a is class b or above it, shape (classes, classes)."""
        reached = np.eye(self.classes, dtype=np.bool_)
        start = np.searchsorted(self.above, np.arange(self.classes + 1))
        for number in range(self.classes - 1, -1, -1):
            beneath = self.below[start[number] : start[number + 1]]
            reached[number] |= reached[beneath].any(axis=0)
        return reached

    @cached_property
    def _by_class(self) -> tuple[Ints, Ints]:
        """Players with games sorted by class, and where each class starts, (classes + 1,)."""
        rows = np.flatnonzero(self.class_of >= 0)
        rows = rows[np.argsort(self.class_of[rows], kind="stable")]
        return rows, np.searchsorted(self.class_of[rows], np.arange(self.classes + 1))

    def _ids_by_class(self, player_ids: Ids) -> list[list[Any]]:
        rows, start = self._by_class
        ids, cuts = player_ids[rows].tolist(), start.tolist()
        return [ids[a:b] for a, b in pairwise(cuts)]


def existence(
    pairs: Pairs, players: int, *, contracted: Ints | None = None, plain: bool | None = None
) -> Existence:
    """Return whether finite ratings exist: [PRE]_ Theorem 1, with the classes and sweeps.

    pairs : of the tournament; any points above 0 count as taking points off the opponent
    players : N
    contracted : rows of players whose ratings are given. They count as one node of the graph: a
        sweep between them is allowed, and components with some of them are one
    plain : whether to run without compiled code; None decides by speed. The result is the same
    """
    node = _nodes(pairs, players, contracted)
    if node is not None:
        pairs = pairs._replace(first=node[pairs.first], second=node[pairs.second])
    if plain is None:
        limit = PLAIN_LIMIT if players <= 500 else PLAIN_LIMIT_OF_MANY
        plain = players + len(pairs.first) <= limit
    component, class_of = components_and_classes(
        pairs.first,
        pairs.second,
        forth=pairs.points > 0.0,
        back=pairs.points < pairs.weight,
        nodes=players,
        plain=plain,
    )
    classes = int(class_of.max(initial=-1)) + 1
    above, below, games = _condensed(pairs, class_of, classes)
    components = int(component.max(initial=-1)) + 1
    if node is not None:
        component, class_of = component[node], class_of[node]
    for column in (component, class_of, above, below, games):
        column.setflags(write=False)
    return Existence(
        exists=classes == components,
        component=component,
        components=components,
        class_of=class_of,
        classes=classes,
        above=above,
        below=below,
        games=games,
    )


def _nodes(pairs: Pairs, players: int, contracted: Ints | None) -> Ints | None:
    """Return the node of every player: the first contracted player with games for all of them."""
    if contracted is None:
        return None
    rows = np.asarray(contracted, dtype=np.int64)
    holds = bool(((rows >= 0) & (rows < players)).all())
    require(holds, "contracted", "rows of players", contracted)
    played = np.zeros(players, dtype=np.bool_)
    played[pairs.first] = True
    played[pairs.second] = True
    rows = rows[played[rows]]
    if len(rows) < 2:
        return None
    node = np.arange(players)
    node[rows] = rows.min()
    return node


def _condensed(pairs: Pairs, class_of: Ints, classes: int) -> tuple[Ints, Ints, Floats]:
    """Return (above, below, games) of every two classes that met."""
    crossing = class_of[pairs.first] != class_of[pairs.second]
    a, b = class_of[pairs.first[crossing]], class_of[pairs.second[crossing]]
    # Numbers grow along sweeps, so the smaller is the winner.
    key = np.minimum(a, b) * np.int64(classes) + np.maximum(a, b)
    del a, b
    order = np.argsort(key, kind="stable")
    key = key[order]
    start = np.flatnonzero(np.diff(key, prepend=-1))
    games = np.add.reduceat(pairs.weight[crossing][order], start) if len(start) else np.zeros(0)
    key = key[start]
    return key // max(classes, 1), key % max(classes, 1), games
