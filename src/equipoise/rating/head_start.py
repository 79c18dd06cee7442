"""Head starts of players at home, and a pool's belief about what they are worth.

A team at home plays as if it were `a` rating points stronger. Every rating system here depends on
differences of ratings alone, so a match is rated in three steps: add the head starts to the ratings
of its players, rate the match as on neutral ground, and add each player's change to the rating
without the head start. The kernel of the system does not know of it.

Head starts. A team with the share h of its players at home has the head start a h. Where a team
plays at the mean of its players, each at home gets a; where the players of a team of n add up, each
gets a/n.

Learning. The belief about a is normal, with a mean and a variance v that are kept in
`State.shared`. In a match of two teams with l = h_1 - h_2 not 0, let d be the difference of the
teams with their head starts, s the scale of that difference in the system's own `Outlook`, F and f
its curve and density, p = F(d/s), and r the score of the first team. With the match weight w

    v <- v + drift^2
    information = w l^2 f(d/s)^2/(p (1 - p) s^2)
    v <- v/(1 + v information)
    a <- a + v w l (r - p) f(d/s)/(p (1 - p) s)

which is a step of Fisher's scoring, as those of the Glicko and Weng-Lin updates. For the logistic
curve f = p (1 - p). The scale counts how uncertain both teams are, so that matches of newcomers say
little.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from equipoise._jit import inlined_kernel, inner_kernel
from equipoise.arrays import Floats
from equipoise.errors import InvalidDataError, Problem
from equipoise.numeric.functions import exp, normal_cdf, normal_density

#: Name in `State.shared` of the belief about the advantage, and its numbers.
ADVANTAGE = "home_advantage"
MEAN, VARIANCE = range(2)

#: The parameters of `HomeSystem`, in the order in which they are shown.
ADVANTAGE_PARAMETERS = (
    "home_advantage",
    "learn_home_advantage",
    "home_advantage_deviation",
    "home_advantage_drift",
)

#: Name in a trace of the head start that each participation had, rating points.
HEAD_START = "head_start"

#: Differences count for at most this many scales, where densities are still numbers.
_FARTHEST = 30.0


def no_home_side() -> InvalidDataError:
    """Return the error for matches that do not say who plays at home."""
    rule = "must be a column (true for the home side), or give side, if home_advantage is set"
    return InvalidDataError([Problem("", None, "at_home", rule, "neither")])


class Working(NamedTuple):
    """Arrays that every match of a run uses again, with room for the largest of them.

    members, present : of a team, how many players it has and how many of them are at home
    before, moved : of a participation, its rating before the match without and with the head start
    """

    members: Floats
    present: Floats
    before: Floats
    moved: Floats


class Home(NamedTuple):
    """The advantage and who has it, in the form that kernels use.

    pool : shape (2,), mean and variance of the belief; kernels change it if the pool learns
    drift : standard deviation that a match with a side at home adds to the belief, rating points
    fixed, own, slope : squared scale of the performance of a team: `fixed` once, and for each
        player own + slope deviation^2; of a mean of n players the latter over n^2
    normal : whether the curve is the normal one, else the logistic one
    adds : whether the players of a team add up
    moves : whether ratings are moved for the match; else the kernel reads `head_start`
    matches : column of the state
    at_home : shape (N,), 1 for players at home and 0 for all others
    head_start : shape (N,), filled with the points that each participation had
    working : memory for one match
    """

    pool: Floats
    learns: bool
    drift: float
    fixed: float
    own: float
    slope: float
    normal: bool
    adds: bool
    moves: bool
    matches: int
    at_home: Floats
    head_start: Floats
    working: Working


@inner_kernel
def _pull(z: float, score: float, normal: bool) -> tuple[float, float]:
    """Return (slope of the log-likelihood, its information) of a score at difference z."""
    z = min(max(z, -_FARTHEST), _FARTHEST)
    # The smaller probability is computed from its own tail, so that it keeps its digits.
    if normal:
        tail = normal_cdf(-abs(z))
    else:
        tail = exp(-abs(z))
        tail /= 1.0 + tail
    larger = 1.0 - tail
    spread = tail * larger
    density = normal_density(z) if normal else spread
    p, rest = (larger, tail) if z >= 0.0 else (tail, larger)
    ratio = density / spread
    return (score * rest - (1.0 - score) * p) * ratio, density * ratio


@inner_kernel
def learned(
    mean: float,
    variance: float,
    lever: float,
    weight: float,
    outlook: tuple[float, float, float],
    normal: bool,
) -> tuple[float, float]:
    """Return (mean, variance) of the belief after a match; see the module.

    variance : with the drift of the match
    outlook : (difference without head starts, squared scale, score of the first team)
    """
    difference, squared, score = outlook
    scale = math.sqrt(squared)
    slope, information = _pull((difference + lever * mean) / scale, score, normal)
    variance /= 1.0 + variance * weight * lever * lever * information / squared
    return mean + variance * weight * lever * slope / scale, variance


@inlined_kernel
def lever_of(job: Any, start: int, stop: int, teams: int) -> float:
    """Count the players of every team and those at home; return the lever of two teams, else 0."""
    members, present = job.home.working.members, job.home.working.present
    for t in range(teams):
        members[t] = present[t] = 0.0
    for i in range(start, stop):
        members[job.matches.team[i]] += 1.0
        present[job.matches.team[i]] += job.home.at_home[i]
    if teams != 2:
        return 0.0
    lever: float = present[0] / members[0] - present[1] / members[1]
    return lever


@inner_kernel
def outlook_of(job: Any, m: int, members: Floats, read: Any) -> tuple[float, float]:
    """Return (difference of two teams without head starts, its squared scale).

    read : as of `rating.loop`
    """
    home, matches, day = job.home, job.matches, job.matches.time[m]
    difference, squared = 0.0, 2.0 * home.fixed
    for i in range(matches.offsets[m], matches.offsets[m + 1]):
        t = matches.team[i]
        shown = read(job.table[matches.player[i]], day, job.settings)
        share = 1.0 if home.adds else 1.0 / members[t]
        difference += share * shown[0] if t == 0 else -share * shown[0]
        squared += share * share * (home.own + home.slope * shown[1] * shown[1])
    return difference, squared


@inlined_kernel
def add_head_starts(job: Any, start: int, stop: int) -> None:
    """Write the head starts of a match, and move the ratings by them unless its kernel does."""
    home, matches, working = job.home, job.matches, job.home.working
    for i in range(start, stop):
        player = job.table[matches.player[i]]
        points = home.pool[MEAN] * home.at_home[i]
        if home.adds:
            points /= working.members[matches.team[i]]
        home.head_start[i] = points
        if home.moves:
            working.before[i - start] = player[0]
            player[0] += points
            working.moved[i - start] = player[0]


@inlined_kernel
def take_head_starts(job: Any, start: int, stop: int) -> None:
    """Take the head starts out of the ratings; one that did not change keeps its bits."""
    working = job.home.working
    if job.home.moves:
        for i in range(start, stop):
            player = job.table[job.matches.player[i]]
            player[0] = working.before[i - start] + (player[0] - working.moved[i - start])


@inner_kernel
def learn_advantage(
    job: Any, m: int, lever: float, outlook: tuple[float, float], score: float
) -> None:
    """Learn from match m of two teams, of which the first had this score."""
    home, seen = job.home, (outlook[0], outlook[1], score)
    variance = home.pool[VARIANCE] + home.drift * home.drift
    weight = job.matches.weight[m]
    home.pool[MEAN], home.pool[VARIANCE] = learned(
        home.pool[MEAN], variance, lever, weight, seen, home.normal
    )
