"""A newcomer's entry learned match by match: the slow, plain version that the study and tests use.

`EntryPrototype` wraps a system of the package and rates one match at a time. Before a match it
overwrites the rows of newcomers, afterwards it learns from their changes and shifts young beliefs.
Nothing here is compiled, and no kernel knows of it. So an implementation inside the systems can be
compared with it, and with a fixed entry it gives the bits of the wrapped system.

A newcomer enters at mu. It would be the mean of the first performances, were these not clipped:
c = w (performance - mu) is the change of the first match and w = 1 - (sigma_after/sigma_before)^2
the weight of that match, so c has the variance w sigma_before^2 if mu is right. A clipped change
has the slope kappa = erf(z/sqrt 2) of an unclipped one, and N counts the information
kappa sum(s l^2 w), which is forgotten with a half-life of H newcomers.

The level L is the mean rating of experienced participants, and target is where it should be.
Below it, delta points go to every participant with few earlier matches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import GLICKO2_SCALE, Outlook
from equipoise.numeric.workers import Workers
from equipoise.rating.registry import parameters_of
from equipoise.rating.state import State
from equipoise.rating.system import Capabilities, RatingColumns, RatingSystem, TraceColumns

#: Names in `State.shared`: (mu, N, L, target), and 1 for every row with a known starting rating.
POOL, SEEDED = "entry", "entry_seeded"

#: The four floats of the pool.
MU, N, LEVEL, TARGET = range(4)

#: Systems in which the ratings of a team add up; in the others a team plays at its mean.
ADDS_UP = frozenset({"trueskill", "trueskill-spb", "plackett-luce", "bradley-terry"})

_LEAST_WEIGHT = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Parameters of the entry and of the level.

    entry : "fixed" at the system's initial rating, or "learned"
    entry_half_life : newcomers after which what was learned counts half
    entry_weight : least weight of what was learned, in first performances
    entry_clip : largest change that counts, in standard deviations
    hold_level : part of the gap between target and level that is handed out; 0 for none
    hold_level_matches : players with fewer earlier matches get it
    level_experienced : players with so many earlier matches make the level
    level_memory : experienced participations after which the level forgets half
    level_step : largest shift, in initial deviations
    """

    entry: Literal["fixed", "learned"] = "fixed"
    entry_half_life: float = 1000.0
    entry_weight: float = 10.0
    entry_clip: float = 1.0
    hold_level: float = 0.0
    hold_level_matches: int = 25
    level_experienced: int = 5
    level_memory: float = 2000.0
    level_step: float = 0.057


class FirstChanges(NamedTuple):
    """What their first match says of newcomers, each of shape (n,).

    change : c, rating points; weight : w; deviation : sigma before the match, after diffusion
    """

    change: Floats
    weight: Floats
    deviation: Floats


def first_changes(
    system: RatingSystem, entry: float, after: RatingColumns, match_weight: float
) -> FirstChanges:
    """Return the first changes of newcomers.

    entry : their rating before; after : the columns of `at` after the match
    """
    known = parameters_of(system)
    change = after["rating"] - entry
    same = np.ones(len(change))
    if system.name == "elo":
        # K (score - expected) on the scale of the rating: the score has variance 1/4 at even odds.
        per_point = known["k"] * math.log(10.0) / (4.0 * known["scale"])
        sigma = 2.0 * known["scale"] / math.log(10.0)
        return FirstChanges(change / per_point, match_weight * same, sigma * same)
    if system.name in ("codeforces", "topcoder"):
        weight = match_weight * _own_weight(system.name, known, entry)
        return FirstChanges(
            change, weight / (1.0 + weight) * same, known["initial_deviation"] * same
        )
    deviation = diffused(system, known, after, match_weight) * same
    ratio = after["deviation"] / deviation
    return FirstChanges(change, 1.0 - ratio * ratio, deviation)


def _own_weight(name: str, known: Mapping[str, float], entry: float) -> float:
    """Return the weight of a first performance, where the rating before has weight 1."""
    if name == "codeforces":
        return known["weight"]
    weight = known["weight_noob"] / (1.0 - known["weight_noob"])
    if entry >= known["top_rating"]:
        return weight * known["top_factor"]
    return weight * known["high_factor"] if entry >= known["high_rating"] else weight


def diffused(
    system: RatingSystem, known: Mapping[str, float], after: RatingColumns, match_weight: float
) -> Floats | float:
    """Return the deviation of newcomers after diffusion, as the update of the system has it."""
    sigma0 = float(known["initial_deviation"])
    if system.name in ("elo-mmr", "elo-mmx"):
        weight_limit, sigma_limit = system.limits()  # type: ignore[attr-defined]
        return math.sqrt(sigma0 * sigma0 + match_weight * weight_limit * sigma_limit * sigma_limit)
    if system.name == "trueskill-spb":
        return math.hypot(sigma0, known["sigma_drift"])
    if system.name in ("trueskill", "plackett-luce", "bradley-terry"):
        return math.hypot(sigma0, known["drift"])
    if system.name == "glicko":
        return min(math.hypot(sigma0, known["drift"]), max(known["max_deviation"], sigma0))
    if system.name in ("glicko2", "team-glicko2"):
        return np.hypot(sigma0, GLICKO2_SCALE * after["volatility"])
    raise ValueError(f"no first change is known of {system.name}")


def _match_weight(history: History, match: int) -> float:
    return 1.0 if history.weight is None else float(history.weight[match])


@dataclass(frozen=True, kw_only=True)
class EntryPrototype:
    """A system with a learned entry and a held level; rates one match at a time.

    system : whose update is used; `Glicko2` only with every match a period of its own
    course : rows (match, mu, N, level, delta, shifted players) are appended
    """

    system: RatingSystem
    parameters: Entry = field(default_factory=Entry)
    course: list[tuple[float, ...]] | None = None

    @property
    def name(self) -> str:
        """Name of the system."""
        return self.system.name

    @property
    def capabilities(self) -> Capabilities:
        """Those of the system."""
        return self.system.capabilities

    @property
    def trace_columns(self) -> Sequence[str]:
        """Those of the system."""
        return self.system.trace_columns

    def initial(self, players: int) -> State:
        """Return the state of players who have not played, and the four floats of the pool."""
        state = self.system.initial(players)
        start = float(parameters_of(self.system)["initial_rating"])
        state.shared[POOL] = np.array([start, self.parameters.entry_weight, start, start])
        state.shared[SEEDED] = np.zeros(players)
        return state

    def seed(self, state: State, rows: Ints, rating: Floats, deviation: Floats | None) -> None:
        """Give players who have not played known ratings; call it before the first match."""
        state.column("rating")[rows] = rating
        if deviation is not None and "deviation" in state.initial:
            state.column("deviation")[rows] = deviation
        if "gaussian_mean" in state.initial:
            state.column("gaussian_mean")[rows] = rating
            weight = 1.0 / state.column("deviation")[rows] ** 2
            state.column("gaussian_weight")[rows] = weight
            state.column("curvature")[rows] = weight
        state.shared[SEEDED][rows] = 1.0
        seeded = state.column("rating")[state.shared[SEEDED] > 0]
        state.shared[POOL][LEVEL:] = math.fsum(seeded) / len(seeded)

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return players' ratings; who has not played is at the entry."""
        found = self.system.at(state, rows, time)
        new = (found["matches"] == 0) & (state.shared[SEEDED][rows] == 0)
        return {**found, "rating": np.where(new, state.shared[POOL][MU], found["rating"])}

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return the outlook of the system."""
        return self.system.outlook(rating, deviation, history)

    def run(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Rate matches start:stop, one at a time."""
        matches = state.column("matches")
        for m in range(start, stop):
            rows = slice(int(history.offsets[m]), int(history.offsets[m + 1]))
            players = history.player[rows]
            earlier = matches[players]
            if not self._is_rated(history.team[rows], history.rank[rows]):
                # A skipped match leaves the pool as it is; its trace stays that of the system.
                self.system.run(state, history, m, m + 1, trace, workers)
                continue
            seeded = state.shared[SEEDED][players] > 0
            new = (earlier == 0) & ~seeded
            old = seeded | (earlier >= self.parameters.level_experienced)
            entry = self._entry(state, players[old])
            delta = self._delta(*state.shared[POOL][LEVEL:])
            self._set_entry(state, players[new], entry)
            self.system.run(state, history, m, m + 1, trace, workers)
            if self.parameters.entry == "learned" and new.any():
                after = self.at(state, players[new], None)
                found = first_changes(self.system, entry, after, _match_weight(history, m))
                self._learn(state, history, m, new, found)
            young = ~seeded & (earlier < self.parameters.hold_level_matches)
            if delta != 0.0:
                self._shift(state, players[young], delta)
                if trace is not None and "rating" in trace:
                    trace["rating"][rows][young] += delta
            if self.parameters.hold_level > 0.0:
                self._follow(state, players[old])
            if self.course is not None:
                of_pool = state.shared[POOL]
                self.course.append((m, *of_pool[:TARGET], delta, float(young.sum())))

    def _is_rated(self, team: Ints, rank: Ints) -> bool:
        teams = int(team.max()) + 1
        all_tied = teams > 2 and int(rank.max()) == 0
        return teams > 1 and not (all_tied and self.capabilities.skips_all_tied)

    def _entry(self, state: State, experienced: Ints) -> float:
        """Return the rating of the newcomers of a match; `experienced` are the rows of others."""
        return float(state.shared[POOL][MU])

    def _delta(self, level: float, target: float) -> float:
        """Return the shift of this match, fixed before it."""
        step = self.parameters.level_step * self._spread()
        return float(min(max(self.parameters.hold_level * (target - level), 0.0), step))

    def _spread(self) -> float:
        """Return the initial deviation, or what stands for it in a system without deviations."""
        known = parameters_of(self.system)
        if self.name == "elo":
            return 2.0 * float(known["scale"]) / math.log(10.0)
        return float(known["initial_deviation"])

    def _set_entry(self, state: State, rows: Ints, mu: float) -> None:
        state.column("rating")[rows] = mu
        if "gaussian_mean" in state.initial:
            state.column("gaussian_mean")[rows] = mu

    def _learn(
        self, state: State, history: History, match: int, new: Flags, found: FirstChanges
    ) -> None:
        """Move mu by the first changes of the newcomers of a match."""
        own, z = self.parameters, self.parameters.entry_clip
        rows = slice(int(history.offsets[match]), int(history.offsets[match + 1]))
        team = history.team[rows]
        teams = int(team.max()) + 1
        newcomers = np.bincount(team, weights=new, minlength=teams)
        size = np.bincount(team, minlength=teams)
        share = newcomers if self.name in ADDS_UP else newcomers / size
        total = math.fsum(share)
        mu, weight = state.shared[POOL][:2]
        w = np.minimum(np.maximum(found.weight, _LEAST_WEIGHT), 1.0)
        bound = z * found.deviation * np.sqrt(w)
        clipped = np.minimum(np.maximum(found.change, -bound), bound)
        of_team = team[new]
        lever = share[of_team] - (total - share[of_team]) / (teams - 1.0)
        s = self._shares(np.asarray(newcomers[of_team], dtype=np.float64))
        k = math.fsum(s)
        d = 2.0 ** (-1.0 / own.entry_half_life)
        e = (1.0 - d**k) / ((1.0 - d) * k)
        kappa = math.erf(z / math.sqrt(2.0))
        weight = max(d**k * weight, own.entry_weight) + e * kappa * math.fsum(s * lever * lever * w)
        state.shared[POOL][MU] = mu + e * math.fsum(s * lever * clipped) / weight
        state.shared[POOL][N] = weight

    def _shares(self, newcomers: Floats) -> Floats:
        """Return s of every newcomer; `newcomers` is their number in the newcomer's team."""
        return 1.0 / newcomers

    def _shift(self, state: State, rows: Ints, delta: float) -> None:
        """Move whole beliefs: ratings, Gaussian means and remembered performances."""
        state.column("rating")[rows] += delta
        if "gaussian_mean" not in state.initial:
            return
        state.column("gaussian_mean")[rows] += delta
        if state.runs is None:
            return
        begin, _, first, count = state.runs.spans[rows].T
        starts = np.repeat(begin + first - (np.cumsum(count) - count), count)
        state.runs.values[starts + np.arange(int(count.sum()))] += delta

    def _follow(self, state: State, rows: Ints) -> None:
        """Move the level towards the mean of the experienced participants."""
        if not len(rows):
            return
        mean = math.fsum(self.system.at(state, rows, None)["rating"]) / len(rows)
        gain = 1.0 - 2.0 ** (-len(rows) / self.parameters.level_memory)
        state.shared[POOL][LEVEL] += gain * (mean - state.shared[POOL][LEVEL])
