"""Strengths from rankings as choices: maximum likelihood in the Plackett-Luce model.

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

Source: Hunter (2004), "MM algorithms for generalized Bradley-Terry models", Annals of Statistics
32, sec. 5, for the model, the existence and the first steps. Departure: MM steps, which converge
linearly, are followed by Newton's method with conjugate gradients, whose products take time
proportional to the rows. With two players in every match this is the Bradley-Terry model.

Finite strengths exist exactly if nobody can be split off: within every component of players who
met, each group was beaten by one of the others (Hunter, Assumption 2). The prior adds, for every
player, that many drawn games against a player held at the average; then strengths always exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import History
from equipoise.display import Tabular
from equipoise.errors import ConvergenceError, InvalidDataError, NoStrengthsError, Problem, require
from equipoise.numeric.graph import PLAIN_LIMIT, components_and_classes
from equipoise.tournament.choice_kernels import evaluate, fill_information, multiply
from equipoise.tournament.curves import ELO_RATE
from equipoise.tournament.equilibrium import LEAST_PRIOR, MOST_PRIOR
from equipoise.tournament.solving import check_scale
from equipoise.tournament.uncertainty import DENSE_PLAYERS, player_rows
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl


#: What happens to ties above the last place.
Ties: TypeAlias = Literal["refuse", "breslow"]

#: Steps of MM before Newton's method.
MM_STEPS = 3

#: Largest difference of actual and expected choices of a player, for each choice the player was in
#: and at least 1.
TOLERANCE = 1e-9
#: Longest last step, natural logarithm of odds.
SETTLED = 1e-9
#: Longest move of a player in one step, natural logarithm of odds.
REACH = 5.0
#: Largest number of halvings of one step.
MAX_SHORTER = 40
#: Largest rating, so that sums keep their digits.
LARGEST_ANCHOR = 1e6


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
        rejected = f"match {history.match_ids[teams[0]]} with teams of several players"
        raise InvalidDataError([Problem("", None, "team", rule, rejected)])


def _check_ties(history: History, match: Ints, rank: Ints, last: Ints, top: int | None) -> None:
    """Refuse ties above the last place that count, and matches in which all tie."""
    used = rank < last if top is None else rank < np.minimum(last, top)
    same = np.zeros(len(rank), np.bool_)
    same[1:] = (match[1:] == match[:-1]) & (rank[1:] == rank[:-1])
    bad = np.flatnonzero(same & (used | (last == 0)))
    if len(bad):
        matches = np.unique(match[bad])
        rule = "must not be shared above the last place, unless the parameter ties is breslow"
        names = ", ".join(str(match) for match in history.match_ids[matches[:4]].tolist())
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


#: Largest number of Newton's steps, and of conjugate gradients in one of them.
MAX_STEPS, MAX_INNER = 100, 5_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class RankingStrengths(Tabular):
    """Maximum likelihood strengths: players were chosen as often as they predict.

    player_ids : shape (N,); every column is in this order
    rating : shape (N,), rating points; NaN for players without choices. 400 points over the scale
        mean odds of ten to one
    chosen, expected : shape (N,), how often (weight) a player was placed before others, that is,
        chosen among those still to be placed, and how often these ratings expect it
    matches : shape (N,), number of matches in which the player was compared with others
    component : shape (N,), from 0: players connected by matches; -1 without choices. Ratings of
        different components cannot be compared
    log_likelihood : of all choices, without the prior
    iterations, inner_iterations : of Newton's method, and of conjugate gradients within it
    residual : largest difference of `chosen` and `expected`, drawn games of a prior included
    prior, scale : as given

    Examples
    --------
    >>> races = eq.read_history({
    ...     "match": [1, 1, 1, 2, 2, 2], "player": ["ann", "ben", "cid", "cid", "ann", "ben"],
    ...     "rank": [1, 2, 3, 1, 2, 3],
    ... })
    >>> found = eq.ranking_strengths(races)
    >>> found
    <RankingStrengths: 3 players, log likelihood -3.08>
    >>> found.errors().round().tolist()
    [145.0, 139.0, 151.0]
    """

    player_ids: Ids
    rating: Floats
    chosen: Floats
    expected: Floats
    matches: Ints
    component: Ints
    log_likelihood: float
    iterations: int
    inner_iterations: int
    residual: float
    prior: float
    scale: float
    _problem: _Likelihood
    _x: Floats

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each player, best first; NaN is null."""
        import polars as pl

        return (
            pl.DataFrame(
                {
                    "player": self.player_ids.tolist(),
                    "rating": self.rating,
                    "matches": self.matches,
                    "chosen": self.chosen,
                    "expected": self.expected,
                    "component": self.component,
                }
            )
            .fill_nan(None)
            .sort("rating", descending=True, nulls_last=True, maintain_order=True)
        )

    def errors(self, rows: Ints | None = None) -> Floats:
        """Return standard errors from the observed information, rating points.

        They are relative to the mean of the player's component or, with a prior, to the average
        player.

        rows : shape (R,), rows of players; None: all. Up to 3,000 players are computed at once, by
            a full matrix; more take a separate solution each
        Raises : ConvergenceError
        """
        players = len(self.rating)
        at = np.arange(players) if rows is None else player_rows(rows, players)
        return self.scale / ELO_RATE * self._problem.errors(self._x, at)

    def _in_words(self) -> str:
        players = counted(len(self.player_ids), "player")
        return f"{players}, log likelihood {self.log_likelihood:.2f}"


@checks_arguments()
def ranking_strengths(
    history: History,
    *,
    top: int | None = None,
    ties: Ties = "refuse",
    prior: float = 0.0,
    scale: float = 1.0,
    anchor: float = 0.0,
) -> RankingStrengths:
    """Return the strengths that make the rankings of a history most probable.

    All matches count the same, whenever they were: nothing changes over time. With two players in
    every match and no ties these are the ratings of `performance_equilibrium`.

    history : matches of any number of players, each alone. Players who share the last place are not
        ranked among themselves, so a choice of one among five has the ranks 1, 2, 2, 2, 2. Weights
        of matches count; performances, shares and times do not
    top : number of first places that count; 1 uses only who won. None uses all
    ties : above the last place: "refuse" or "breslow", which counts g tied players as g choices
        from the set of them and all below
    prior : drawn games of every player against a player held at the average, from 0
    scale : beta, from 0.001 to 20; with 1, 400 points mean odds of ten to one
    anchor : mean rating of every component; with a prior, rating of the average player
    Raises : NoStrengthsError   a group of players was never beaten by the others, and no prior
    Raises : InvalidDataError   teams of several players, or ties that are refused
    Raises : InvalidParameterError, ConvergenceError

    Examples
    --------
    >>> races = eq.read_history({
    ...     "match": [1, 1, 1, 2, 2, 2], "player": ["ann", "ben", "cid", "cid", "ann", "ben"],
    ...     "rank": [1, 2, 3, 1, 2, 3],
    ... })
    >>> found = eq.ranking_strengths(races, anchor=1500)
    >>> found.to_polars().select("player", "chosen").rows()
    [('ann', 2.0), ('cid', 1.0), ('ben', 1.0)]
    >>> found.residual < 1e-9
    True
    """
    check_scale(scale)
    require(top is None or top >= 1, "top", "at least 1", top)
    small = prior == 0.0 or LEAST_PRIOR <= prior <= MOST_PRIOR
    require(small, "prior", f"0, or from {LEAST_PRIOR:g} to {MOST_PRIOR:g}", prior)
    rule = f"from {-LARGEST_ANCHOR:g} to {LARGEST_ANCHOR:g}"
    require(-LARGEST_ANCHOR <= anchor <= LARGEST_ANCHOR, "anchor", rule, anchor)
    players = history.players
    choices = choices_of(history, top=top, ties=ties)
    component, class_of = groups_of(choices, players)
    if prior == 0.0 and class_of.max(initial=-1) > component.max(initial=-1):
        raise NoStrengthsError(_groups(history.player_ids, component, class_of))
    problem = _Likelihood(choices, component, prior)
    x, iterations = problem.maximise()
    state = problem.at(x)
    plays = component >= 0
    return RankingStrengths(
        player_ids=history.player_ids,
        rating=np.where(plays, anchor + scale / ELO_RATE * x, np.nan),
        chosen=problem.chosen,
        expected=state.expected,
        matches=_matches(choices, players),
        component=component,
        log_likelihood=float(problem.chosen @ x - state.logs),
        iterations=iterations,
        inner_iterations=problem.inner_iterations,
        residual=float(np.max(np.abs(state.gradient), initial=0.0)),
        prior=prior,
        scale=scale,
        _problem=problem,
        _x=x,
    )


def _groups(ids: Ids, component: Ints, class_of: Ints) -> list[list[tuple[int | str, ...]]]:
    """Return, for every component, the ids of its classes, from the top down."""
    rows = np.flatnonzero(class_of >= 0)
    rows = rows[np.argsort(class_of[rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(class_of[rows])) + 1
    groups: list[list[tuple[int | str, ...]]] = [[] for _ in range(int(component.max()) + 1)]
    for members in np.split(rows, cuts):
        groups[int(component[members[0]])].append(tuple(ids[members].tolist()))
    return groups


def _matches(choices: Choices, players: int) -> Ints:
    """Return the number of matches of every player that contain a choice."""
    rows = choices.offered() > 0.0
    return np.bincount(choices.player[rows], minlength=players).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """The likelihood at some strengths.

    logs : sum of c ln S; expected, gradient, diagonal : shape (N,)
    power, inverse : shape (K,), as the kernels make them
    bend : shape (N,), information of the prior
    """

    logs: float
    expected: Floats
    gradient: Floats
    diagonal: Floats
    power: Floats
    inverse: Floats
    bend: Floats


class _Likelihood:
    """The likelihood of choices, with a prior, and where it is greatest."""

    def __init__(self, choices: Choices, component: Ints, prior: float) -> None:
        players = len(component)
        self._choices, self._prior = choices, prior
        self._plays = component >= 0
        self._label = np.where(self._plays, component, component.max(initial=-1) + 1)
        self._size = np.maximum(np.bincount(self._label, minlength=1), 1)
        self.chosen = np.bincount(choices.player, choices.won, players).astype(np.float64)
        offered = np.bincount(choices.player, choices.offered(), players)
        self._goal = TOLERANCE * np.maximum(offered, 1.0)
        self.inner_iterations = 0

    def at(self, x: Floats) -> _State:
        """Return the likelihood at strengths x."""
        choices, players, rows = self._choices, len(x), len(self._choices.player)
        power, inverse = np.empty(rows), np.empty(rows)
        expected, diagonal = np.zeros(players), np.zeros(players)
        logs = evaluate(
            choices.offsets, choices.player, choices.count, x, power, inverse, expected, diagonal
        )
        half = np.where(self._plays, 0.5 * np.tanh(0.5 * x), 0.0)
        bend = np.where(self._plays, self._prior * (0.25 - half * half), 0.0)
        gradient = self.chosen - expected - self._prior * half
        return _State(logs, expected, gradient, diagonal + bend, power, inverse, bend)

    def maximise(self) -> tuple[Floats, int]:
        """Return the strengths, with mean 0 in every component without a prior, and the steps.

        Raises : ConvergenceError
        """
        x = np.zeros(len(self._plays))
        if not self._plays.any():
            return x, 0
        state = self.at(x)
        for _ in range(MM_STEPS):
            x = self._centred(x + self._mm_step(x, state))
            state = self.at(x)
        forcing = 0.1
        for number in range(1, MAX_STEPS + 1):
            size = self._excess(state)
            step = self._solve(state, state.gradient, forcing)
            furthest = float(np.max(np.abs(step)))
            x, state = self._along(x, state, step * min(1.0, REACH / max(furthest, REACH)))
            after = self._excess(state)
            if after <= 1.0 and furthest <= SETTLED:
                return x, number
            forcing = min(0.1, 0.5 * (after / size) ** 2) if size > 0.0 else 1e-3
            forcing = max(forcing, 1e-6)
        left = float(np.max(np.abs(state.gradient)))
        raise ConvergenceError("the strengths", MAX_STEPS, left)

    def errors(self, x: Floats, rows: Ints) -> Floats:
        """Return standard errors of x at rows; NaN without choices."""
        state = self.at(x)
        errors = np.full(len(rows), np.nan)
        rated = np.flatnonzero(self._plays[rows])
        if len(x) <= DENSE_PLAYERS:
            variance = self._variances(state)
            errors[rated] = np.sqrt(variance[rows[rated]])
            return errors
        for index in rated.tolist():
            unit = np.zeros(len(x))
            unit[rows[index]] = 1.0
            solved = self._solve(state, self._centred(unit), 1e-10)
            errors[index] = np.sqrt(solved[rows[index]])
        return errors

    def _variances(self, state: _State) -> Floats:
        """Return the diagonal of the inverse information, of means by component without a prior."""
        choices, players = self._choices, len(state.gradient)
        matrix = np.diag(np.where(self._plays, state.bend, 1.0))
        rest = (choices.count, state.power, state.inverse, matrix)
        fill_information(choices.offsets, choices.player, *rest)
        if self._prior > 0.0:
            return np.asarray(np.diag(np.linalg.inv(matrix)))
        # The sum of (1/n) 1 1' makes the matrix regular, and is taken from its inverse again.
        same = (self._label[:, None] == self._label) & self._plays
        mean = same / self._size[self._label][:, None]
        typical = float(np.mean(np.diag(matrix)[self._plays])) if players else 1.0
        inverse = np.linalg.inv(matrix + typical * mean)
        return np.asarray(np.diag(inverse) - np.diag(mean) / typical)

    def _centred(self, x: Floats) -> Floats:
        """Return x minus the mean of the component, unless a prior fixes the level."""
        x = np.where(self._plays, x, 0.0)
        if self._prior > 0.0:
            return x
        mean = np.bincount(self._label, x, len(self._size)) / self._size
        return np.asarray(np.where(self._plays, x - mean[self._label], 0.0))

    def _excess(self, state: _State) -> float:
        """Return the largest gradient, in multiples of the goal."""
        return float(np.max(np.abs(state.gradient) / self._goal, initial=0.0))

    def _mm_step(self, x: Floats, state: _State) -> Floats:
        """Return the change of x by one step of MM, Hunter (2004) eq. (30)."""
        # A drawn game against the average player is half a choice of each.
        won = self.chosen + 0.5 * self._prior
        expected = state.expected + self._prior * 0.5 * (1.0 + np.tanh(0.5 * x))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.log(won / expected)
        return np.where(self._plays & np.isfinite(step), np.clip(step, -REACH, REACH), 0.0)

    def _along(self, x: Floats, state: _State, step: Floats) -> tuple[Floats, _State]:
        """Return the place after a step, halved until the slope at its end is not negative.

        The likelihood is concave, so this needs no value of it.
        """
        rise = float(state.gradient @ step)
        noise = 1e-14 * float((self.chosen + state.expected) @ np.abs(step))
        length = 1.0
        for _ in range(MAX_SHORTER):
            ahead = self._centred(x + length * step)
            value = self.at(ahead)
            slope = float(value.gradient @ step)
            if slope >= -0.1 * rise - noise:  # NaN is refused, too
                return ahead, value
            length *= 0.5
        raise ConvergenceError("a step of the strengths", MAX_SHORTER, self._excess(state))

    def _solve(self, state: _State, right: Floats, forcing: float) -> Floats:
        """Return about H^-1 right, by conjugate gradients with the diagonal.

        Raises : ConvergenceError
        """
        choices = self._choices
        diagonal = np.where(state.diagonal > 0.0, state.diagonal, 1.0)
        work = np.empty(len(choices.player))
        solved = np.zeros(len(right))
        left = self._centred(right)  # the rest is rounding, which no step removes
        scaled = left / diagonal
        along = scaled.copy()
        size = first = float(left @ scaled)
        if first == 0.0:
            return solved
        for _ in range(MAX_INNER):
            self.inner_iterations += 1
            image = state.bend * along
            rest = (choices.count, state.power, state.inverse, along, work, image)
            multiply(choices.offsets, choices.player, *rest)
            bent = float(along @ image)
            if bent <= 0.0:  # only rounding is left
                return self._centred(solved)
            length = size / bent
            solved += length * along
            left -= length * image
            scaled = left / diagonal
            before, size = size, float(left @ scaled)
            if size <= forcing * forcing * first:
                return self._centred(solved)
            along = scaled + (size / before) * along
        if size <= 1e-6 * first:
            return self._centred(solved)
        raise ConvergenceError("a step of the strengths", MAX_INNER, float(np.sqrt(size / first)))
