"""Where newcomers enter a pool, and how the level of its ratings is held.

A system lets every newcomer enter at `initial_rating`, or it learns the entry from the first
matches of earlier newcomers. We found nothing published on this; docs/guides/learned-entry.md has
the equations and docs/decisions/0013 says why. Four numbers of the pool are kept in `State.shared`:
the entry mu, its weight N, the level L and the target of the level.

Entry. A newcomer enters at mu. The first match changes the rating by c and leaves the part 1 - w of
its variance sigma^2, so c/w is the newcomer's performance less mu. Where `lever` is l and the team
has 1/s newcomers,

    N <- max(d^k N, n_0) + e kappa sum s l^2 w
    mu <- mu + e/N sum s l clip(c, z sigma sqrt(w))

with k = sum s, d = 2^(-1/half-life), e = (1 - d^k)/((1 - d) k) and kappa = erf(z/sqrt 2): one
step of maximum likelihood for the mean of newcomers, which forgets older ones. The lever is the
number of newcomers in the team (or their share, in systems that average a team) less the mean of
that over the other teams: where all teams have as many, a match says nothing about newcomers.

Level. Where newcomers are better than their ratings, the others lose what they gain. So after a
match every young player gets delta = clip(eta (target - L), 0, most), and the level L follows the
ratings of experienced players:

    L <- L + (1 - 2^(-n/memory)) (mean rating of the n experienced participants - L)

Players with known ratings ("seeded") are neither newcomers nor young, and experienced from the
start.

A system has to say three things about its players, as kernels: what a first match said of a
newcomer (`evidence`), how a belief moves (`move`), and how a rating is read (`read`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np

from equipoise._jit import inlined_kernel, inlined_update, inner_kernel, kernel, prefetch
from equipoise.arrays import Floats
from equipoise.numeric.sums import exact_sum
from equipoise.rating.system import check_bounds, param

#: Name in `State.shared` of the four numbers of a pool, and their order.
ENTRY = "entry"
MU, WEIGHT, LEVEL, TARGET = range(4)

#: Name of the column that says whether a player began with a known rating: 1, or 0 for no.
SEEDED = "seeded"

#: Name in a trace of what matches hand out to hold the level, rating points.
LEVEL_ADJUSTMENT = "level_adjustment"

#: Bounds of w: a first match says something, and not more than everything.
LEAST_SHARE, LARGEST_SHARE = 1e-6, 1.0

#: What `equipoise systems` says of the two parameters that turn all others on.
_ENTRY_NOTE = (
    "starting point of newcomers: fixed at initial_rating, or learned from recent newcomers, "
    "with entry_half_life, entry_weight and entry_clip"
)
_LEVEL_NOTE = (
    "share of the difference between target and level that a match adds to the rating of each "
    "young player, with hold_level_matches, level_experienced, level_memory and level_step; 0 "
    "does not hold the level"
)

#: Number of players whose memory is fetched ahead.
_AHEAD = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryParameters:
    """Where newcomers enter, and how the level of the pool is held.

    entry : "fixed", at the initial rating; or "learned", where earlier newcomers turned out to be
    entry_half_life : number of newcomers after which what one of them said counts half
    entry_weight : the least weight of what is known of newcomers, in first matches that say all
    entry_clip : a first change counts for at most as many of its standard deviations
    hold_level : share of the difference between the target and the level that a match hands to each
        young player; 0 does not hold it
    hold_level_matches : players with fewer earlier matches are young
    level_experienced : players with as many earlier matches are experienced: they make the level
    level_memory : number of participations of the experienced after which the level has moved
        half of the way to their mean
    level_step : the most that a match hands to a player, in initial deviations
    """

    entry: Literal["fixed", "learned"] = param("fixed", note=_ENTRY_NOTE)
    entry_half_life: float = param(1000.0, 1e-6, 1e9)
    entry_weight: float = param(10.0, 1e-6, 1e9)
    entry_clip: float = param(1.0, 1e-6, 1e9)
    hold_level: float = param(0.0, 0.0, 1.0, note=_LEVEL_NOTE)
    hold_level_matches: int = param(25, 1, 1e9)
    level_experienced: int = param(5, 1, 1e9)
    level_memory: float = param(2000.0, 1e-6, 1e9)
    level_step: float = param(0.057, 1e-6, 1e9)

    def check_entry(self) -> None:
        """Check the numbers of all parameters. Raises : InvalidParameterError."""
        check_bounds(self)

    @property
    def learns_entry(self) -> bool:
        """Whether the entry is learned."""
        return self.entry == "learned"

    @property
    def holds_level(self) -> bool:
        """Whether the level of the pool is held."""
        return self.hold_level > 0

    @property
    def changes_entry(self) -> bool:
        """Whether any of this is turned on."""
        return self.learns_entry or self.holds_level

    @property
    def idle_entry(self) -> frozenset[str]:
        """The parameters of these that change nothing."""
        idle: set[str] = set()
        if not self.learns_entry:
            idle |= {"entry_half_life", "entry_weight", "entry_clip"}
        if not self.holds_level:
            idle |= {"hold_level_matches", "level_experienced", "level_memory", "level_step"}
        return frozenset(idle)


#: These parameters with their defaults, and their names.
ENTRY_DEFAULTS: dict[str, object] = {field.name: field.default for field in fields(EntryParameters)}
ENTRY_PARAMETERS: tuple[str, ...] = tuple(ENTRY_DEFAULTS)


class Entry(NamedTuple):
    """The pool's numbers, and the parameters in the form that kernels use.

    pool : shape (4,), mu, N, L and target; kernels change it
    kept : kappa, the share of the information that clipping leaves
    most : the largest delta, rating points
    adds : whether the players of a team add up
    deviation : of a newcomer, rating points
    matches, mean, seeded : columns of the state; mean is a second one that a rating is in
    handed : shape (N,), filled with what each participation gets to hold the level; shape (0,) if
        that is not wanted
    """

    pool: Floats
    learns: bool
    half_life: float
    weight: float
    clip: float
    kept: float
    holds: float
    young: float
    experienced: float
    memory: float
    most: float
    adds: bool
    deviation: float
    matches: int
    mean: int
    seeded: int
    handed: Floats


class FirstMatch(NamedTuple):
    """What a first match said of a newcomer.

    change : of the rating, c
    share : of the variance that the match removed, w
    deviation : before the match, after diffusion, sigma
    """

    change: float
    share: float
    deviation: float


@inner_kernel
def first_match(
    entry: Entry, player: Floats, rating: float, after: float, diffused: float
) -> FirstMatch:
    """Return the `FirstMatch` of a player of a system with deviations.

    rating, after : rating and deviation after the match
    diffused : variance that the match added before it was rated
    """
    before2 = entry.deviation * entry.deviation + diffused
    return FirstMatch(rating - entry.pool[MU], 1.0 - after * after / before2, math.sqrt(before2))


@inner_kernel
def first_match_after_drift(job: Any, m: int, i: int) -> FirstMatch:
    """Return the `FirstMatch` of participation i, where the setting `drift` widens a deviation."""
    player = job.table[job.matches.player[i]]
    diffused = job.settings.drift * job.settings.drift
    return first_match(job.entry, player, player[0], player[1], diffused)


@inner_kernel
def first_contest(job: Any, i: int, weight: float) -> FirstMatch:
    """Return the `FirstMatch` of participation i of a system whose deviation is constant.

    weight : of the performance; that of the rating before is 1
    """
    change = job.table[job.matches.player[i], 0] - job.entry.pool[MU]
    return FirstMatch(change, 1.0 / (1.0 + 1.0 / weight), job.entry.deviation)


@inner_kernel
def _has_entered(entry: Entry, player: Floats) -> bool:
    """Return whether the match that was just rated was the first of a newcomer."""
    return bool(player[entry.matches] == 1.0 and player[entry.seeded] == 0.0)


@kernel
def _levers(job: Any, start: int, stop: int) -> tuple[Floats, Floats]:
    """Return (lever, number of newcomers) of every team of the match in rows start:stop."""
    entry, matches, teams = job.entry, job.matches, 0
    for i in range(start, stop):
        teams = max(teams, matches.team[i] + 1)
    new, members = np.zeros(teams), np.zeros(teams)
    for i in range(start, stop):
        members[matches.team[i]] += 1.0
        new[matches.team[i]] += _has_entered(entry, job.table[matches.player[i]])
    levers = new.copy() if entry.adds else new / members
    # All sums are exact, so that the order of the rows changes no bit.
    total = exact_sum(levers, teams)
    for t in range(teams):
        levers[t] -= (total - levers[t]) / (teams - 1.0)
    return levers, new


@kernel
def _learn_entry(
    job: Any,
    start: int,
    stop: int,
    m: int,
    newcomers: int,
    evidence: Callable[[Any, int, int], FirstMatch],
) -> None:
    """Move mu and N by what match m, in rows start:stop, said of its newcomers."""
    entry, pool = job.entry, job.entry.pool
    levers, new = _levers(job, start, stop)
    teams = 0.0
    for count in new:
        teams += count > 0.0
    information, pull, at = np.empty(newcomers), np.empty(newcomers), 0
    for i in range(start, stop):
        if not _has_entered(entry, job.table[job.matches.player[i]]):
            continue
        t = job.matches.team[i]
        learned = evidence(job, m, i)
        share = min(max(learned.share, LEAST_SHARE), LARGEST_SHARE)
        most = entry.clip * learned.deviation * math.sqrt(share)
        change = min(max(learned.change, -most), most)
        information[at] = levers[t] * levers[t] * share / new[t]
        pull[at] = levers[t] * change / new[t]
        at += 1
    # d^k, and e: of k newcomers at once the later ones would have counted for less.
    decay = math.expm1(-math.log(2.0) / entry.half_life)
    every = math.expm1(-math.log(2.0) * teams / entry.half_life)
    each = every / (decay * teams)
    kept = max((1.0 + every) * pool[WEIGHT], entry.weight)
    pool[WEIGHT] = kept + each * entry.kept * exact_sum(information, newcomers)
    pool[MU] += each * exact_sum(pull, newcomers) / pool[WEIGHT]


@inner_kernel
def level_adjustment(pool: Floats, holds: float, most: float) -> float:
    """Return delta, what the next match hands to every young player."""
    delta: float = min(max(holds * (pool[TARGET] - pool[LEVEL]), 0.0), most)
    return delta


@inlined_kernel
def enter(job: Any, start: int, stop: int) -> None:
    """Let the newcomers of the match in rows start:stop enter."""
    entry, matches, columns = job.entry, job.matches, job.table.shape[1]
    if entry.learns:
        for i in range(start, stop):
            if i + _AHEAD < stop:
                prefetch(job.table, matches.player[i + _AHEAD] * columns)
            player = job.table[matches.player[i]]
            if player[entry.matches] == 0.0 and player[entry.seeded] == 0.0:
                player[0] = entry.pool[MU]
                player[entry.mean] = entry.pool[MU]


@inlined_kernel
def learn_and_hold(
    job: Any, m: int, start: int, stop: int, evidence: Any, move: Any, read: Any
) -> None:
    """Learn from match m, which was rated, and hold the level; the kernels are of `rating.loop`."""
    entry = job.entry
    if entry.learns:
        newcomers = 0
        for i in range(start, stop):
            newcomers += _has_entered(entry, job.table[job.matches.player[i]])
        if newcomers > 0:
            _learn_entry(job, start, stop, m, newcomers, evidence)
    if entry.holds > 0.0:
        _hand_out(job, start, stop, move, read)


@inlined_update
def _hand_out(job: Any, start: int, stop: int, move: Any, read: Any) -> None:
    """Hand delta to the young of the match in rows start:stop, and move the level."""
    entry, matches, pool = job.entry, job.matches, job.entry.pool
    delta = level_adjustment(pool, entry.holds, entry.most)
    ratings, experienced = np.empty(stop - start), 0
    for i in range(start, stop):
        row = matches.player[i]
        player = job.table[row]
        earlier, seeded = player[entry.matches] - 1.0, player[entry.seeded] != 0.0
        if delta > 0.0 and earlier < entry.young and not seeded:
            move(job, row, delta)
            if len(entry.handed):
                entry.handed[i] = delta
        if earlier >= entry.experienced or seeded:
            ratings[experienced] = read(player, math.nan, job.settings)[0]
            experienced += 1
    if experienced > 0:
        mean = exact_sum(ratings, experienced) / experienced
        moved = -math.expm1(-math.log(2.0) * experienced / entry.memory)
        pool[LEVEL] += moved * (mean - pool[LEVEL])
