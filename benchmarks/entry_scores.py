"""What the study of the entry measures of a system: sums by contest, intervals, a choice on a half.

Sums of every system are kept by block of matches, so that any two systems can be compared with the
same resamples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.evaluate.backtest import ALL_PAIRS, Scoring, Selections, SystemPredictor
from equipoise.evaluate.scoring.order import GROUP_RATIOS
from equipoise.evaluate.scoring.tally import RATIOS, Scored, draw, interval, resampled
from equipoise.numeric.workers import Workers
from equipoise.rating.registry import make_system
from equipoise.rating.system import RatingSystem

#: Groups of players: a pair belongs to its less experienced player, except in the last two, which
#: are the participants by themselves: all of them, and those with five or more earlier matches.
GROUPS = ("first-timers", "1-4", "all", "mh5")
METRICS = ("pair_inversion", "rank_deviation", "log_loss")
RESAMPLES = 1000


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


class Part(NamedTuple):
    """What is rated and scored of a history: matches up to `stop`, scored from `first` on."""

    first: int
    stop: int


def first_half(history: History) -> Part:
    """Return the half on which constants are chosen; its first matches are only learned from."""
    return Part(history.matches // 10, history.matches // 2)


def second_half(history: History) -> Part:
    """Return the half that is reported; the first one is learned from."""
    return Part(history.matches // 2, history.matches)


def nine_tenths(history: History) -> Part:
    """Return what ENTRY.md reports."""
    return Part(history.matches // 10, history.matches)


def made(name: str, settings: Mapping[str, Any], entry: Entry | None) -> RatingSystem:
    """Return a system; without an entry its entry is fixed.

    name : of the system; what follows a comma says which settings these are
    """
    learned = {} if entry is None else asdict(entry)
    return make_system(name.partition(",")[0], {**settings, **learned})


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The sums of one system.

    blocks : of every group, shape (blocks, columns)
    """

    blocks: Mapping[str, Floats]

    def of(self, group: str, metric: str) -> float:
        """Return a metric of a group; NaN if nothing of it is scored."""
        column, of = _ratios(group)[metric]
        total = self.blocks[group].sum(axis=0)
        return float(total[column] / total[of]) if total[of] > 0 else math.nan

    def weight(self, group: str) -> float:
        """Return the weight of a group's pairs, in participations."""
        _, of = _ratios(group)["pair_inversion"]
        return float(self.blocks[group][:, of].sum())


def _ratios(group: str) -> Mapping[str, tuple[int, int]]:
    return GROUP_RATIOS if group in GROUPS[:2] else RATIOS


class Change(NamedTuple):
    """A difference of two systems, with its 95 % interval."""

    value: float
    low: float
    high: float

    def show(self, digits: int) -> str:
        """Return the difference and its bounds."""
        if math.isnan(self.value):
            return "-"
        bounds = f"{self.low:+.{digits}f} to {self.high:+.{digits}f}"
        return f"{self.value:+.{digits}f} ({bounds})"


def change(one: Measured, other: Measured, group: str, metric: str) -> Change:
    """Return the first less the second; both are resampled with the same blocks of matches."""
    ratios = {metric: _ratios(group)[metric]}
    drawn = draw(len(one.blocks[group]), RESAMPLES, rng=np.random.default_rng(0))
    values = [resampled(found.blocks[group], drawn, ratios)[metric] for found in (one, other)]
    low, high = interval(values[0] - values[1], 0.95)
    return Change(one.of(group, metric) - other.of(group, metric), low, high)


def measure(whole: History, part: Part, system: RatingSystem) -> Measured:
    """Rate and score a part of a history."""
    history = whole.slice(0, part.stop)
    everybody = Scored.of(history, min_history=0, first=part.first)
    others = Selections.beside(everybody).others
    scoring = Scoring(everybody, False, ALL_PAIRS, 1, others)
    with Workers(1) as workers:
        tallies = scoring.of_one(SystemPredictor(system, history, workers), False)
    sums = (
        tallies[0].sums_of(0).blocks,
        tallies[0].sums_of(1).blocks,
        tallies[0].sums.blocks,
        tallies[1].sums.blocks,
    )
    return Measured(dict(zip(GROUPS, sums, strict=True)))


#: What is tried, one constant after the other, from the first value of each on.
TRIED: Mapping[str, Sequence[float]] = {
    "hold_level": (0.0, 0.02, 0.05, 0.1, 0.2),
    "entry_half_life": (1000.0, 300.0, 3000.0, 10_000.0),
    "entry_clip": (1.0, 0.5, 2.0),
    "entry_weight": (10.0, 3.0, 30.0),
    "hold_level_matches": (25, 10, 50),
    "level_step": (0.057, 0.03, 0.12),
    "level_memory": (2000.0, 500.0, 8000.0),
}

#: Without a held level these change nothing.
OF_LEVEL = ("hold_level_matches", "level_step", "level_memory")

#: Points of pair inversion that experienced players may lose where constants are chosen.
ALLOWED_LOSS = 0.05


class Choice(NamedTuple):
    """The constants chosen on a half.

    entry : None if the fixed entry is better
    tried : number of constants tried
    gain, veterans : on that half, points of pair inversion of all participants and of mh5
    log_loss : change of the log loss of all
    """

    entry: Entry | None
    tried: int
    gain: float
    veterans: float
    log_loss: float


class Trial:
    """Measures constants of a system on the part of a history where they are chosen."""

    def __init__(
        self, history: History, part: Part, name: str, settings: Mapping[str, Any]
    ) -> None:
        self._history, self._part = history, part
        self._name, self._settings = name, settings
        self.fixed = measure(history, part, made(name, settings, None))
        self.found: dict[Entry, Measured] = {}

    def worth(self, entry: Entry) -> tuple[bool, float]:
        """Return a key that is less for better constants."""
        if entry not in self.found:
            system = made(self._name, self._settings, entry)
            self.found[entry] = measure(self._history, self._part, system)
        lost = -self.gained(entry, "mh5", "pair_inversion")
        too_much = lost > ALLOWED_LOSS
        return too_much, lost if too_much else self.found[entry].of("all", "log_loss")

    def gained(self, entry: Entry, group: str, metric: str) -> float:
        """Return a metric less that of the fixed entry."""
        return self.found[entry].of(group, metric) - self.fixed.of(group, metric)

    def choice(self, best: Entry) -> Choice:
        """Return the choice of these constants, or of the fixed entry if that is better."""
        too_much, loss = self.worth(best)
        better = not too_much and loss < self.fixed.of("all", "log_loss")
        return Choice(
            best if better else None,
            len(self.found),
            self.gained(best, "all", "pair_inversion"),
            self.gained(best, "mh5", "pair_inversion"),
            self.gained(best, "all", "log_loss"),
        )


def choose(trial: Trial) -> Choice:
    """Choose the constants of a system one after the other.

    Chosen is the least log loss of all participants, among those with which experienced players
    lose no more than `ALLOWED_LOSS`.
    """
    best = Entry(entry="learned")
    for constant, values in TRIED.items():
        if constant in OF_LEVEL and best.hold_level == 0.0:
            continue
        changes: list[dict[str, Any]] = [{constant: value} for value in values]
        best = min((replace(best, **one) for one in changes), key=trial.worth)
    return trial.choice(best)
