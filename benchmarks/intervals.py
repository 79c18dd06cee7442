"""Do intervals of differences hold what they promise: with equal systems, and with other players?

Equal systems: two elo of which only luck differs, so neither predicts better in the long run.
"Starts": every player begins 150 points off, at random. "Matches": every match counts 1/4 or 7/4,
at random. The share of histories in which the interval of 95 % excludes 0 should be 5 %, for the
Brier score and for pair inversion. Then two systems that differ, elo-mmr less elo: how often the
interval covers the mean difference of all these histories, which have other players of the same
kind. With 400 histories, a share of 5 % has an error of 1.1 points; with 100, a coverage of 95 %
has one of 2.2 points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.evaluate.backtest import backtest
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import RATING
from equipoise.rating.elo_mmr.elo_mmr import EloMMR
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem, TraceColumns
from equipoise.rating.systems.elo import Elo
from report import Part, report_parts

METRICS = ("brier", "pair_inversion")
#: Histories of equal systems, and of systems that differ.
HISTORIES, COVERED = 400, 100


class Design(NamedTuple):
    """Matches of some of the players, drawn at random, whose skills have a deviation of 200."""

    players: int
    size: int
    matches: int

    @property
    def name(self) -> str:
        """The design in words."""
        kind = "duels" if self.size == 2 else f"contests of {self.size}"
        return f"{self.players} players, {self.matches:,} {kind}"


DESIGNS = (
    Design(10, 2, 200),
    Design(20, 2, 200),
    Design(60, 2, 600),
    Design(40, 10, 60),
    Design(100, 30, 40),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LuckyElo(Elo):
    """Elo with luck of its own: where players start, or how much every match counts."""

    luck: int = 0
    starts: float = 0.0
    matches: float = 0.0

    def initial(self, players: int) -> State:
        """Return a state in which ratings are off."""
        state = Elo.initial(self, players)
        state.table[:players, RATING] += np.random.default_rng(self.luck).normal(
            0.0, self.starts, players
        )
        return state

    def run(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Rate matches that count more or less."""
        sign = np.random.default_rng(self.luck).choice([-1.0, 1.0], history.matches)
        weighted = replace(history, weight=1.0 + self.matches * sign)
        Elo.run(self, state, weighted, start, stop, trace, workers)


def drawn(design: Design, rng: np.random.Generator) -> History:
    """Return a history; two players win by the curve of Elo, more by Plackett-Luce."""
    skill = rng.normal(0.0, 200.0, design.players) * np.log(10.0) / 400.0
    shape = (design.matches, design.size)
    chosen = np.argsort(rng.random((design.matches, design.players)), axis=1)[:, : design.size]
    shown = skill[chosen] + rng.gumbel(size=shape)
    rank = np.argsort(np.argsort(-shown, axis=1), axis=1)
    return History(
        match_ids=np.arange(1, design.matches + 1),
        player_ids=np.arange(design.players),
        offsets=np.arange(design.matches + 1) * design.size,
        player=chosen.ravel().astype(np.int64),
        team=np.tile(np.arange(design.size), design.matches),
        rank=rank.ravel().astype(np.int64),
    )


def measured(design: Design, systems: Mapping[str, RatingSystem], seed: int) -> Floats:
    """Return (difference, lower, upper) of every metric, shape (metrics, 3)."""
    history = drawn(design, np.random.default_rng(seed))
    one = backtest(systems, history, seed=seed, resamples=400).differences[0]
    return np.array([(one.metrics[name], *one.intervals[name]) for name in METRICS])


def nulls(design: Design, starts: float, matches: float) -> tuple[str, ...]:
    """Return a line of the table of equal systems."""
    found = []
    for seed in range(HISTORIES):
        lucks = (2 * seed, 2 * seed + 1)
        one, other = (LuckyElo(k=24, luck=luck, starts=starts, matches=matches) for luck in lucks)
        found.append(measured(design, {"one": one, "other": other}, seed))
    _, lower, upper = np.moveaxis(np.array(found), 2, 0)
    luck = "starts" if starts else "matches"
    shares = 100 * np.mean((lower > 0) | (upper < 0), axis=0)
    return (design.name, luck, *(f"{share:.1f} %" for share in shares))


def covered(design: Design) -> tuple[str, ...]:
    """Return a line of the table of systems that differ."""
    systems: dict[str, RatingSystem] = {"elo-mmr": EloMMR(), "elo": Elo()}
    found = [measured(design, systems, seed) for seed in range(COVERED)]
    change, lower, upper = np.moveaxis(np.array(found), 2, 0)
    truth = change.mean(axis=0)
    shares = 100 * np.mean((lower <= truth) & (truth <= upper), axis=0)
    return (design.name, *(f"{share:.1f} %" for share in shares))


def main() -> None:
    """Measure and report."""
    lucks = ((150.0, 0.0), (0.0, 0.75))
    equal = [
        nulls(design, *luck) for luck in lucks for design in DESIGNS if luck[0] or design.size == 2
    ]
    parts = [
        Part(
            f"Equal systems declared different, of {HISTORIES:,} histories",
            ("design", "luck", *METRICS),
            equal,
        ),
        Part(
            f"Coverage of elo-mmr less elo, {COVERED} histories",
            ("design", *METRICS),
            [covered(design) for design in (DESIGNS[1], DESIGNS[3])],
        ),
    ]
    report_parts("intervals", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()
