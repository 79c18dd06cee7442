"""Learned entry and held level in plain Python, from the text of docs/guides/learned-entry.md.

A system with a fixed entry rates one match at a time; newcomers' rows are overwritten before it,
and the level is added after it. Nothing of `rating.newcomers` is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.data.history import History
from equipoise.rating.state import State

GLICKO2_SCALE = 173.7178

#: Systems in which the ratings of a team's players add up.
ADDS_UP = frozenset(
    {"bradley-terry", "plackett-luce", "thurstone-mosteller", "trueskill", "trueskill-spb"}
)


@dataclass
class Numbers:
    """The four numbers of the pool."""

    mu: float
    n: float
    level: float
    target: float


@dataclass
class SlowPool:
    """A pool that is rated match by match."""

    system: Any  # with a fixed entry and no level
    learns: bool
    numbers: Numbers
    half_life: float = 1000.0
    weight: float = 10.0
    clip: float = 1.0
    hold: float = 0.0
    young: int = 25
    experienced: int = 5
    memory: float = 2000.0
    step: float = 0.057
    seeded: set[int] = field(default_factory=set)
    played: dict[int, int] = field(default_factory=dict)

    def rate(self, state: State, history: History, m: int) -> None:
        """Rate match m of a history."""
        now, system = self.numbers, self.system
        rows = range(int(history.offsets[m]), int(history.offsets[m + 1]))
        team = {int(history.player[i]): int(history.team[i]) for i in rows}
        new = [p for p in team if not self.played.get(p) and p not in self.seeded]
        if self.learns:
            for p in new:
                _set(state, p, now.mu)
        before = state.column("matches").copy()
        system.run(state, history, m, m + 1)
        if not np.any(state.column("matches") != before):
            return
        sigma_0 = 2 * system.scale / math.log(10) if system.name == "elo" else None
        sigma_0 = system.initial_deviation if sigma_0 is None else sigma_0
        delta = min(max(self.hold * (now.target - now.level), 0.0), self.step * sigma_0)
        if self.learns and new:
            self._learn(state, new, team, float(history.weights()[m]))
        old = []
        for p in team:
            earlier = self.played.get(p, 0)
            self.played[p] = earlier + 1
            if self.hold and p not in self.seeded and earlier < self.young:
                _move(state, p, delta)
            if p in self.seeded or earlier >= self.experienced:
                old.append(float(system.at(state, np.array([p]), None)["rating"][0]))
        if self.hold and old:
            mean = math.fsum(old) / len(old)
            now.level += (1 - 2 ** (-len(old) / self.memory)) * (mean - now.level)

    def _learn(self, state: State, new: list[int], team: dict[int, int], weight: float) -> None:
        now = self.numbers
        teams = sorted(set(team.values()))
        count = {t: sum(team[p] == t for p in new) for t in teams}
        size = {t: sum(other == t for other in team.values()) for t in teams}
        adds = self.system.name in ADDS_UP
        amount = {t: count[t] if adds else count[t] / size[t] for t in teams}
        information = pull = k = 0.0
        for p in new:
            t = team[p]
            others = [amount[other] for other in teams if other != t]
            lever = amount[t] - sum(others) / len(others)
            s = 1 / count[t]
            c, w, sigma = self._first(state, p, weight)
            w = min(max(w, 1e-6), 1.0)
            most = self.clip * sigma * math.sqrt(w)
            k += s
            information += s * lever**2 * w
            pull += s * lever * min(max(c, -most), most)
        d = 2 ** (-1 / self.half_life)
        e = (1 - d**k) / ((1 - d) * k)
        kappa = math.erf(self.clip / math.sqrt(2))
        now.n = max(d**k * now.n, self.weight) + e * kappa * information
        now.mu += e * pull / now.n

    def _first(self, state: State, p: int, weight: float) -> tuple[float, float, float]:
        """Return (c, w, sigma) of a newcomer's first match."""
        system = self.system
        read = {name: float(v[0]) for name, v in system.at(state, np.array([p]), None).items()}
        c = read["rating"] - self.numbers.mu
        if system.name == "elo":
            return (
                c / (system.k * math.log(10) / (4 * system.scale)),
                weight,
                (2 * system.scale / math.log(10)),
            )
        first2 = system.initial_deviation**2
        if system.name in ("codeforces", "topcoder"):
            w = system.weight if system.name == "codeforces" else system.weight_noob
            if system.name == "topcoder":
                w = w / (1 - w)
                high, top = self.numbers.mu >= 2000, self.numbers.mu >= 2500
                w *= 0.8 if top else 0.9 if high else 1.0
            return c, w * weight / (1 + w * weight), math.sqrt(first2)
        if system.name in ("elo-mmr", "elo-mmx"):
            limit, sigma_limit = system.limits()
            first2 += weight * limit * sigma_limit**2
        elif system.name in ("glicko2", "team-glicko2"):
            first2 += (GLICKO2_SCALE * read["volatility"]) ** 2
        elif system.name == "lichess":
            pass  # a match adds no variance
        elif system.name == "glicko":
            if system.period_days is None:
                first2 = min(first2 + system.drift**2, max(system.max_deviation**2, first2))
        elif system.name == "trueskill-spb":
            first2 += system.sigma_drift**2
        else:
            first2 += system.drift**2
        return c, 1 - read["deviation"] ** 2 / first2, math.sqrt(first2)


def _set(state: State, p: int, rating: float) -> None:
    for name in ("rating", "gaussian_mean"):
        if name in state.initial:
            state.column(name)[p] = rating


def _move(state: State, p: int, delta: float) -> None:
    for name in ("rating", "gaussian_mean"):
        if name in state.initial:
            state.column(name)[p] += delta
    if state.runs is not None:
        part = state.runs.take(np.array([p]))
        begin, _, first, count = part.spans[0]
        part.values[begin + first : begin + first + count] += delta
        state.runs.put(np.array([p]), part)
