"""Whether finite performance ratings exist, what sweeps imply instead, and sentences on it.

Source: [PRE]_ sec. 3: Assumption 1 (irreducibility), Assumption 2 (non-dominance), Theorems 1 and
2; READINGS C3. Let there be an arc from i to j if i took points off j. A set S sweeps the rest of
its component exactly if no arc leads into S, so non-dominance holds exactly if every weakly
connected component is strongly connected. If a component is not, its strongly connected classes are
partially ordered by sweeps.

Departures: none in substance. The document's condition is about every subset of players; here it
is decided in time and memory proportional to players and pairs: up to 10 bytes a pair in addition
to the pairs, 26 with contracted players, 100 a player, and 50 a pair of players in different
classes.

Source: READINGS C3. A sweep has no finite rating difference, but it gives a lower bound. Let class
a have taken all points of class b, let x be every player's rating relative to the mean of the
class, and d the level of a minus that of b. The probability of the sweep,

    prod over the games of psi((x_i - x_j + d)/beta)^w,    i in a, j in b

grows with d from 0 to 1. The bound is the d at which it is 1 - confidence: with a smaller d such a
sweep was improbable.

The rating of a player whose class swept a class of known level m_b is at least the player's
position in the class plus m_b + d. If the class was swept by a class of level m_a, the rating is at
most the position plus m_a - d. A bound uses one sweep, at the given confidence, and takes the
ratings within classes as exact. It is on the scale of the other class's level. Example: a player
who lost all nine games of a Swiss has the upper bound u at which losing them has probability
1 - confidence: prod psi((x_j - u)/beta) = 1 - confidence over the opponents' ratings x_j.

Players are named by their ids. The report only describes the findings. It stays short
for tournaments of every size: further groups are only counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, TypeAlias

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.errors import SHOWN_IDS, SHOWN_PROBLEMS, ConvergenceError, Sweep, require
from equipoise.numeric.graph import PLAIN_LIMIT, components_and_classes
from equipoise.tournament.curves import Curve
from equipoise.tournament.pairs import Pairs

#: `PLAIN_LIMIT` for more than 500 players, whose ratings always need compiled code.
PLAIN_LIMIT_OF_MANY = 20_000
#: Number of classes up to which the partial order is kept as a matrix.
MATRIX_LIMIT = 2_000

#: Width of the last bracket of a difference, rating points.
TOLERANCE = 1e-9

#: More halvings than are needed from the widest bracket to the tolerance.
MAX_STEPS = 200

#: Largest number of groups and of pairs of groups shown; the rest is only counted.
SHOWN_GROUPS = 6


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


#: The bracket starts with 1 scale to either side and is multiplied by WIDER, up to MAX_WIDENINGS
#: times.
WIDER, MAX_WIDENINGS = 8.0, 40

_Falling: TypeAlias = Callable[[Floats], Floats]


def sweep_differences(
    existence: Existence,
    pairs: Pairs,
    ratings: Floats,
    curve: Curve,
    scale: float,
    confidence: float,
) -> Floats:
    """Return the difference of levels for every sweep, in the order of `existence.above`.

    ratings : shape (N,), within classes: their levels have no effect. NaN in a class of one is 0
    Returns : shape (A,), rating points; NaN if a rating within one of the classes is missing
    Raises : ConvergenceError   the curve does not lead from 0 to 1
    """
    position = positions(existence, ratings)
    class_of = existence.class_of
    crossing = np.flatnonzero(class_of[pairs.first] != class_of[pairs.second])
    first, second = pairs.first[crossing], pairs.second[crossing]
    turned = class_of[first] > class_of[second]
    winner, loser = np.where(turned, second, first), np.where(turned, first, second)
    group = np.searchsorted(
        existence.above * np.int64(existence.classes) + existence.below,
        class_of[winner] * np.int64(existence.classes) + class_of[loser],
    )
    gaps, weight = position[winner] - position[loser], pairs.weight[crossing]
    return differences(gaps, weight, group, len(existence.above), curve, scale, confidence)


def one_sided_bounds(
    existence: Existence, class_rating: Floats, by: Floats, unplaced: Flags | None = None
) -> tuple[Floats, Floats]:
    """Return (lower, upper), the bounds of every player by sweeps; NaN without a bound.

    class_rating : shape (N,), ratings of classes solved by themselves; NaN if the level of a
        class is unknown, as that of every class of one without a held player
    by : shape (A,), differences of levels, see `sweep_differences`
    unplaced : shape (N,), players whose ratings are known only relative to their class, which
        therefore bounds nobody
    Returns : each shape (N,); lower is the largest over the classes swept whose level is known,
        upper the smallest over the classes of known level that swept
    """
    level = class_levels(existence, class_rating)
    if unplaced is not None:
        level[existence.class_of[unplaced]] = np.nan
    lower, upper = np.full((2, existence.classes), np.nan)
    # fmax and fmin ignore NaN, which means "no bound".
    np.fmax.at(lower, existence.above, level[existence.below] + by)
    np.fmin.at(upper, existence.below, level[existence.above] - by)
    position = positions(existence, class_rating)
    played = existence.class_of >= 0
    bounds = np.full((2, len(played)), np.nan)
    bounds[:, played] = np.stack((lower, upper))[:, existence.class_of[played]]
    return bounds[0] + position, bounds[1] + position


def class_levels(existence: Existence, ratings: Floats) -> Floats:
    """Return the mean rating of every class, shape (classes,); NaN where one is missing."""
    played = existence.class_of >= 0
    total = np.bincount(existence.class_of[played], ratings[played], existence.classes)
    return np.asarray(total / existence.sizes, dtype=np.float64)


def positions(existence: Existence, ratings: Floats) -> Floats:
    """Return every player's rating relative to the mean of the class, (N,); 0 in a class of one."""
    played = existence.class_of >= 0
    out = np.full(len(played), np.nan)
    number = existence.class_of[played]
    alone = existence.sizes[number] == 1
    from_mean = ratings[played] - class_levels(existence, ratings)[number]
    out[played] = np.where(alone, 0.0, from_mean)
    return out


def differences(
    gaps: Floats,
    weight: Floats,
    group: Ints,
    groups: int,
    curve: Curve,
    scale: float,
    confidence: float,
    max_steps: int = MAX_STEPS,
) -> Floats:
    """Return the d at which winning all games of a sweep has probability 1 - confidence.

    gaps : shape (K,), rating of the winner minus that of the loser, each within the class
    weight : shape (K,), number of games
    group : shape (K,), the sweep, from 0 to groups - 1; each has at least one game
    scale : beta, above 0
    confidence : in (0, 1)
    Returns : shape (groups,), rating points; NaN if a gap is NaN
    Raises : ConvergenceError   the curve does not lead from 0 to 1
    """
    wanted = math.log(-math.log1p(-confidence))
    total = np.bincount(group, weight, groups)
    centre = -np.bincount(group, weight * gaps, groups) / total

    def surprise(d: Floats) -> Floats:
        """Return ln(-ln probability) minus the wanted value; it falls almost linearly with d."""
        t = (gaps + d[group]) / scale
        # 1 - psi(t) = psi(-t), which keeps its digits where psi(t) is nearly 1.
        with np.errstate(divide="ignore", invalid="ignore"):
            rare = curve.expected(-np.abs(t))
            terms = np.where(t < 0.0, np.log(rare), np.log1p(-rare))
            return np.asarray(np.log(-np.bincount(group, weight * terms, groups)) - wanted)

    low, high = _bracketed(surprise, centre, scale)
    return _root(surprise, low, high, max_steps)


def _bracketed(falling: _Falling, centre: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return (low, high) around the zero of every group, by widening the bracket."""
    reach = scale
    low, high = centre - reach, centre + reach
    for _ in range(MAX_WIDENINGS):
        negative, positive = falling(low) < 0.0, falling(high) > 0.0
        if not (negative.any() or positive.any()):
            return low, high
        reach *= WIDER
        low = np.where(negative, centre - reach, low)
        high = np.where(positive, centre + reach, high)
    raise ConvergenceError("the bracket of the difference of two classes", MAX_WIDENINGS, np.inf)


def _root(falling: _Falling, low: Floats, high: Floats, max_steps: int) -> Floats:
    """Return the zero of every group between low and high.

    Chandrupatla (1997): a parabola through three points where it is certain to be monotone between
    them, halving elsewhere. `new` and `end` bracket the zero, `old` was dropped last.
    """
    # A bracket cannot become narrower than the spacing of the numbers.
    width = np.maximum(TOLERANCE, 8.0 * np.spacing(np.fmax(np.abs(low), np.abs(high))))
    new, end, old = low, high, high
    at_new, at_end, at_old = falling(low), falling(high), np.full(len(low), np.nan)
    share = np.full(len(low), 0.5)
    for _ in range(max_steps):
        tried = new + share * (end - new)
        value = falling(tried)
        same = (value > 0.0) == (at_new > 0.0)
        old, at_old = np.where(same, (new, at_new), (end, at_end))
        end, at_end = np.where(same, (end, at_end), (new, at_new))
        new, at_new = tried, value
        gap = np.abs(end - new)
        if not ((gap > width) & (at_new != 0.0)).any():
            return np.where(np.abs(at_new) < np.abs(at_end), new, end)
        with np.errstate(all="ignore"):  # a share that is NaN is not used
            share = _share((new, at_new), (end, at_end), (old, at_old))
            least = np.fmin(0.5 * width / gap, 0.5)
        share = np.clip(share, least, 1.0 - least)
    raise ConvergenceError("the difference of two classes", max_steps, float(np.nanmax(gap)))


_Point: TypeAlias = tuple[Floats, Floats]


def _share(new: _Point, end: _Point, old: _Point) -> Floats:
    """Return the next point to evaluate, from `new` (0) to `end` (1)."""
    (x1, f1), (x2, f2), (x3, f3) = new, end, old
    across, up = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    certain = (up * up < across) & ((1.0 - up) ** 2 < 1.0 - across)
    curved = f1 / (f2 - f1) * f3 / (f2 - f3)
    curved += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    return np.where(certain & np.isfinite(curved), curved, 0.5)


#: Name of a class by its number.
_Name: TypeAlias = Callable[[int], str]


def explain(
    existence: Existence, player_ids: Ids, *, most_ordered: int = MATRIX_LIMIT
) -> list[str]:
    """Return sentences on why finite ratings exist or not.

    player_ids : shape (N,)
    most_ordered : number of classes up to which the report lists which can be compared
    Returns : whether ratings exist; groups that never met; who won or lost every game, and which
        groups took every point of which; who cannot be compared; who played no games
    """

    def name(number: int) -> str:
        return named(player_ids, existence.members(number))

    sweeps = list(islice(_sweeps(existence, name), SHOWN_PROBLEMS + 1))
    if len(sweeps) > SHOWN_PROBLEMS:
        sweeps[-1] = "There are more such results."
    idle = np.flatnonzero(existence.component < 0)
    return [
        _headline(existence),
        *_components(existence, player_ids),
        *sweeps,
        *_order(existence, name, most_ordered),
        *([_sentence(f"{named(player_ids, idle)} played no games")] if len(idle) else []),
    ]


def _headline(existence: Existence) -> str:
    if not existence.components:
        return "There are no games to rate."
    if existence.exists:
        return (
            "Finite ratings predict every player's score exactly: "
            "no group of players took every point from another."
        )
    return (
        "No finite ratings predict every player's score exactly: "
        "some players took every point from others, which puts them infinitely far above."
    )


def _components(existence: Existence, player_ids: Ids) -> Iterator[str]:
    """Yield a sentence on groups that never met."""
    if existence.components < 2:
        return
    shown = range(min(existence.components, SHOWN_GROUPS))
    groups = [named(player_ids, np.flatnonzero(existence.component == number)) for number in shown]
    yield (
        f"The players form {existence.components} groups that never met, so they cannot be "
        f"compared: {'; '.join(groups)}{_and_more(existence.components - len(groups), '; and')}."
    )


def _sweeps(existence: Existence, name: _Name) -> Iterator[str]:
    """Yield the players who won or lost every game, then the other sweeps."""
    above, below, games = existence.above, existence.below, existence.games
    won = np.bincount(above, games, existence.classes)
    lost = np.bincount(below, games, existence.classes)
    extreme = _extreme(existence)
    for number in np.flatnonzero(extreme).tolist():
        verb, count = ("won", won[number]) if won[number] else ("lost", lost[number])
        if count == 1.0:
            yield f"{name(number)} played one game and {verb} it."
        else:
            yield f"{name(number)} {verb} {_all_games(count)}."
    for arc in np.flatnonzero(~(extreme[above] | extreme[below])):
        upper, lower = name(above[arc]), name(below[arc])
        yield _sentence(f"{upper} won {_all_games(games[arc])} against {lower}")


def _extreme(existence: Existence) -> Flags:
    """Return which classes are a single player who won, or lost, every game, shape (classes,).

    Two players who met no others are not included: their sweep is one sentence, not two.
    """
    above, below, classes = existence.above, existence.below, existence.classes
    over, under = np.bincount(above, None, classes), np.bincount(below, None, classes)
    alone = existence.sizes == 1
    extreme = alone & ((over == 0) != (under == 0))
    once = alone & (over + under == 1)
    duel = once[above] & once[below]
    extreme[above[duel]] = extreme[below[duel]] = False
    return np.asarray(extreme, dtype=np.bool_)


def _order(existence: Existence, name: _Name, most: int) -> Iterator[str]:
    """Yield the order of groups by sweeps, or which of them cannot be compared."""
    classes = existence.classes
    if existence.exists:
        return
    if classes > most:
        yield f"There are {classes} groups, too many to list which can be compared."
        return
    pairs = existence.incomparable_pairs()
    for a, b in pairs[:SHOWN_GROUPS].tolist():
        yield _sentence(f"{name(a)} cannot be placed above or below {name(b)}")
    if len(pairs) > SHOWN_GROUPS:
        more = _counted(len(pairs) - SHOWN_GROUPS, "more pair")
        yield f"The same is true of {more} of players or groups."
    if not len(pairs) and existence.components == 1 and classes > 2:
        shown = [name(number) for number in range(min(classes, SHOWN_GROUPS))]
        rest = _and_more(classes - len(shown), "; then")
        yield f"From the top down: {'; then '.join(shown)}{rest}."


def named(player_ids: Ids, rows: Ints) -> str:
    """Return players as text: their names, or, for many, their number and the first names.

    rows : at least one
    """
    some = [str(player) for player in player_ids[rows[: SHOWN_IDS + 1]].tolist()]
    if len(rows) == 1:
        return some[0]
    if len(rows) == len(some):  # "and 1 other" would be longer than the name
        return f"{', '.join(some[:-1])} and {some[-1]}"
    shown = ", ".join(some[:-1])
    return f"a group of {len(rows)} players ({shown} and {len(rows) - SHOWN_IDS} others)"


def _sentence(text: str) -> str:
    # Only our own words get a capital; names are not changed.
    return f"A{text[1:]}." if text.startswith("a group of ") else f"{text}."


def _all_games(count: float) -> str:
    if count == 1.0:
        return "the only game"
    if count == 2.0:
        return "both games"
    return f"all {count:.0f} games" if count == round(count) else f"all {count:g} games"


def _and_more(count: int, joint: str) -> str:
    return f"{joint} {_counted(count, 'more group')}" if count else ""


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
