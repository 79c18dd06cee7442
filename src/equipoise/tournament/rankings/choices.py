"""Rankings as choices: the first place is chosen among all, the second among the rest, and so on.

Source: [Plackett 1975], [Luce 1959]; Hunter (2004), "MM algorithms for generalized Bradley-Terry
models", sec. 5. With strengths x, the probability of a choice of player i among a set S is
exp(x_i) / sum over S of exp(x_j); a ranking is the product of its choices.

What the model leaves open:
- players who share the last place of a match are not ranked among themselves: the players before
  them were chosen, and nothing more is known. So a winner among five players has the ranks
  1, 2, 2, 2, 2, and the first three among ten have 1, 2, 3, 4, ..., 4;
- another tie of g players is refused, or counts as g choices from the set of these players and all
  below them (Breslow's rule, which is an approximation);
- a weight counts a match so many times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.errors import InvalidDataError, Problem
from equipoise.numeric.graph import PLAIN_LIMIT, components_and_classes

#: What happens to ties above the last place.
Ties: TypeAlias = Literal["refuse", "breslow"]


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """The choices of M rankings with K rows; a row is a player in a match.

    offsets : shape (M + 1,), rows of every match, which are in the order of rank
    player : shape (K,), rows of the players
    count : shape (K,), number of choices (weight) from the set of this row and all below it in the
        match; 0 where no choice begins
    won : shape (K,), how often (weight) this row was chosen
    """

    offsets: Ints
    player: Ints
    count: Floats
    won: Floats

    def offered(self) -> Floats:
        """Return the number of choices (weight) in the match of every row, shape (K,)."""
        if len(self.offsets) < 2:
            return np.zeros(0)
        of_match = np.add.reduceat(self.count, self.offsets[:-1])
        return np.repeat(of_match, np.diff(self.offsets))


def choices_of(history: History, *, top: int | None, ties: Ties) -> Choices:
    """Return the choices of a history.

    top : number of first places that count; None: all
    Raises : InvalidDataError   a team has several players, or a tie is refused
    """
    match = history.match_rows()
    _check_single_players(history)
    order = np.lexsort((history.rank, match))
    rank, player = history.rank[order], history.player[order].astype(np.int64)
    last = history.distinct_ranks()[match] - 1
    chosen = rank < last
    if ties == "refuse":
        _check_ties(history, match, rank, last, top)
    if top is not None:
        chosen &= rank < top
    begins = np.ones(len(rank), np.bool_)
    begins[1:] = (match[1:] != match[:-1]) | (rank[1:] != rank[:-1])
    group = np.cumsum(begins) - 1
    size = np.bincount(group, minlength=1)[group] if len(group) else group
    weight = history.weights()[match]
    return Choices(
        offsets=history.offsets.astype(np.int64),
        player=player,
        count=np.where(begins & chosen, size * weight, 0.0),
        won=np.where(chosen, weight, 0.0),
    )


def _check_single_players(history: History) -> None:
    teams = np.flatnonzero(history.teams() != history.sizes())
    if len(teams):
        rule = "must have one player in every team, because a ranking compares players"
        one = f"match {history.match_ids[teams[0]]} with teams of several players"
        raise InvalidDataError([Problem("", None, "team", rule, one)])


def _check_ties(history: History, match: Ints, rank: Ints, last: Ints, top: int | None) -> None:
    """Refuse ties above the last place that count, and matches in which all tie."""
    used = rank < last if top is None else rank < np.minimum(last, top)
    same = np.zeros(len(rank), np.bool_)
    same[1:] = (match[1:] == match[:-1]) & (rank[1:] == rank[:-1])
    bad = np.flatnonzero(same & (used | (last == 0)))
    if len(bad):
        matches = np.unique(match[bad])
        rule = "must not be shared above the last place, unless the parameter ties is breslow"
        names = ", ".join(str(one) for one in history.match_ids[matches[:4]].tolist())
        more = f" and {len(matches) - 4} more" if len(matches) > 4 else ""
        got = f"ties in match {names}{more}"
        raise InvalidDataError([Problem("", None, "rank", rule, got)])


def groups_of(choices: Choices, players: int) -> tuple[Ints, Ints]:
    """Return (component, class) of every player, each shape (N,), -1 without choices.

    There is an arc from everybody chosen to everybody left behind. Finite strengths exist exactly
    if every component is one class. A class has a lower number than those that never beat it. The
    arcs followed here are from one place to the next, which connects the same players.
    """
    first, second, back = _arcs(choices)
    return components_and_classes(
        first,
        second,
        forth=np.ones(len(first), np.bool_),
        back=back,
        nodes=players,
        plain=players + len(first) <= PLAIN_LIMIT,
    )


def _arcs(choices: Choices) -> tuple[Ints, Ints, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return the ends of arcs, and whether they lead both ways (tied players who were chosen)."""
    rows = np.arange(len(choices.player))
    match = np.repeat(np.arange(len(choices.offsets) - 1), np.diff(choices.offsets))
    # The latest row at or before each one at which a choice begins: every row is linked to it, or,
    # if it begins a choice itself, to the one before.
    begins = choices.count > 0.0
    latest = np.maximum.accumulate(np.where(begins, rows, -1))
    before = np.r_[-1, latest[:-1]]
    source = np.where(begins, before, latest)
    inside = (source >= 0) & (match[np.maximum(source, 0)] == match)
    target, source = rows[inside], source[inside]
    tied = (choices.won[target] > 0.0) & ~begins[target]
    return choices.player[source], choices.player[target], tied
