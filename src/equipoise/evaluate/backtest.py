"""Backtesting: predict, reveal, score, learn, for several systems on the same matches.

Source: [EM]_ section 6.2. Every system goes through the history once. What it knew of the players
before a match is what its trace says of them, so that a prediction never sees a result of its own
match or a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.backtest import (
    BASELINE,
    METRICS,
    Backtest,
    Difference,
    Interval,
    SystemScores,
)
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import InvalidDataError, InvalidParameterError, require
from equipoise.evaluate.baseline import ConstantRate
from equipoise.evaluate.bootstrap import draw, interval, resampled
from equipoise.evaluate.metrics import Field, Rule, score_field
from equipoise.evaluate.scored import Scored
from equipoise.evaluate.tally import Tally
from equipoise.numeric.workers import Workers
from equipoise.rating.registry import parameters_of
from equipoise.rating.replay import check_fit, pieces
from equipoise.rating.system import RatingSystem

#: Columns of a trace that say what was known before a match.
_KNOWN_BEFORE = ("rating_before", "deviation_before")

#: Participations rated, then scored, then reported as done.
_PIECE = 200_000

#: Of matches of up to this many teams every pair is scored, by default.
ALL_PAIRS = 32


class Predictor(Protocol):
    """What says how the participants of matches will perform, one piece after the other."""

    name: str

    def predict(self, start: int, stop: int) -> Outlook:
        """Return the outlook of the participations of matches start:stop."""
        ...


class Replaying:
    """A system on its way through a history, and what it knew before each match."""

    def __init__(self, system: RatingSystem, history: History, workers: Workers) -> None:
        self.name = system.name
        self._system, self._history, self._workers = system, history, workers
        self._state = system.initial(history.players)
        self._trace = {name: np.full(history.participations, np.nan) for name in _KNOWN_BEFORE}

    def predict(self, start: int, stop: int) -> Outlook:
        """Rate matches start:stop, and return what was expected of each beforehand."""
        history = self._history
        self._system.run(self._state, history, start, stop, self._trace, self._workers)
        rows = slice(int(history.offsets[start]), int(history.offsets[stop]))
        return self._system.outlook(
            self._trace["rating_before"][rows],
            self._trace["deviation_before"][rows],
            history.slice(start, stop),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """How one predictor after the other is scored.

    With several threads a piece is scored beside the rating of the next one, and the baseline
    beside the systems: rating a match leaves cores idle now and then. What belongs to one
    predictor is added up piece after piece all the same.

    ties_as_authors, all_pairs, threads : see `backtest`
    """

    scored: Scored
    ties_as_authors: bool
    all_pairs: int
    threads: int

    def of_all(
        self,
        systems: Mapping[str, RatingSystem],
        progress: Callable[[int, int], None] | None,
        finished: Callable[[str], None] | None,
    ) -> dict[str, Tally]:
        """Return the sums of every system and the baseline, by label."""
        history, tallies = self.scored.history, {}
        total = len(systems) * history.participations
        with ThreadPoolExecutor(1) as beside, Workers(self.threads) as workers:
            baseline = beside.submit(self.of_one, ConstantRate(history), False)
            if self.threads == 1:
                baseline.result()
            for number, (label, system) in enumerate(systems.items()):
                before = number * history.participations

                def note(done: int, before: int = before) -> None:
                    if progress is not None:
                        progress(before + done, total)

                replaying = Replaying(system, history, workers)
                tallies[label] = self.of_one(replaying, self.ties_as_authors, note)
                if finished is not None:
                    finished(label)
            return {**tallies, BASELINE: baseline.result()}

    def of_one(
        self,
        predictor: Predictor,
        ties_as_authors: bool,
        progress: Callable[[int], None] = lambda done: None,
    ) -> Tally:
        """Predict, score and learn piece by piece; return the sums.

        ties_as_authors : see `backtest`
        progress : called with the number of participations done
        """
        history, tally = self.scored.history, Tally(self.scored)

        def score(start: int, stop: int, outlook: Outlook) -> None:
            field = self.scored.field(start, stop, outlook)
            _check_predicted(predictor.name, history, start, field)
            rule = Rule(ties_as_authors, outlook.curve == "normal", self.all_pairs)
            tally.add(start, stop, field, score_field(field, start, rule))

        with ThreadPoolExecutor(1) as beside:
            last: Future[None] | None = None
            for start, stop in pieces(history, 0, history.matches, _PIECE):
                outlook = predictor.predict(start, stop)
                if last is not None:
                    last.result()
                if self.scored.scored[start:stop].any():
                    last = beside.submit(score, start, stop, outlook)
                    if self.threads == 1:
                        last.result()
                progress(int(history.offsets[stop]))
            if last is not None:
                last.result()
        return tally


def backtest(
    systems: Mapping[str, RatingSystem],
    history: History,
    *,
    rng: np.random.Generator,
    min_history: int = 5,
    first: int = 0,
    ties_as_authors: bool = False,
    resamples: int = 1000,
    confidence: float = 0.95,
    all_pairs: int = ALL_PAIRS,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    finished: Callable[[str], None] | None = None,
) -> Backtest:
    """Return how well systems, and a baseline, predict the matches of a history.

    systems : by a label of the caller's choice
    rng : draws the resamples
    min_history : participations of players with fewer earlier matches are not scored
    first : number of the first match that is scored; all before are learned from
    ties_as_authors : count pairs predicted equal as correct (READINGS B9); not for the baseline,
        all of whose pairs are equal
    resamples : of the matches, for intervals; 0 for none
    confidence : of the intervals, in (0, 1)
    all_pairs : log loss, Brier score and calibration take every pair of matches of up to so many
        teams, and eight opponents of every team in larger ones
    threads : to use; never changes a number
    progress : called with (participations done, participations in all), all systems together
    finished : called with the label of each system that is done
    Raises : InvalidParameterError, InvalidDataError where a system cannot rate this history or
        nothing is left to score, ConvergenceError
    """
    _check(systems, resamples, confidence, all_pairs)
    for system in systems.values():
        check_fit(system, history)
    scored = Scored.of(history, min_history=min_history, first=first)
    scoring = Scoring(scored, ties_as_authors, all_pairs, threads)
    tallies = scoring.of_all(systems, progress, finished)
    values = _resample(tallies, resamples, rng)
    return Backtest(
        systems=tuple(
            _scores(label, systems.get(label), tally, _intervals(values.get(label, {}), confidence))
            for label, tally in tallies.items()
        ),
        differences=tuple(
            _difference(one, other, tallies, values, confidence)
            for one, other in combinations(systems, 2)
        ),
        matches=int(scored.scored.sum()),
        participations=scored.participations(),
        undecided=int((scored.scored & ~scored.decided).sum()),
        learned=first,
        min_history=min_history,
        ties_as_authors=ties_as_authors,
        confidence=confidence,
        resamples=resamples,
    )


def _scores(
    label: str, system: RatingSystem | None, tally: Tally, intervals: dict[str, Interval]
) -> SystemScores:
    """Return what was found of a system; None is the baseline."""
    return SystemScores(
        label=label,
        system=ConstantRate.name if system is None else system.name,
        parameters={} if system is None else parameters_of(system),
        metrics=tally.metrics(),
        intervals=intervals,
        calibration=tally.calibrated(),
        slices=tally.slices(),
    )


def _check(
    systems: Mapping[str, RatingSystem], resamples: int, confidence: float, all_pairs: int
) -> None:
    require(len(systems) > 0, "systems", "at least one", list(systems))
    require(resamples >= 0, "resamples", "at least 0", resamples)
    require(0 < confidence < 1, "confidence", "in (0, 1)", confidence)
    require(all_pairs >= 2, "all_pairs", "at least 2", all_pairs)
    if BASELINE in systems:
        raise InvalidParameterError(f"the label {BASELINE!r} is taken by what is always compared")


def _check_predicted(name: str, history: History, start: int, field: Field) -> None:
    """Refuse a system that says nothing of a team that is to be scored."""
    silent = np.flatnonzero(np.isnan(field.centre) & (field.weight > 0))
    if len(silent):
        match = start + int(np.searchsorted(field.offsets, silent[0], side="right")) - 1
        raise InvalidDataError(
            [], f"{name} predicts nothing for match {history.match_ids[match]}, which has a result"
        )


def _resample(
    tallies: Mapping[str, Tally], resamples: int, rng: np.random.Generator
) -> dict[str, dict[str, Floats]]:
    """Return every metric of every system in every resample."""
    if not resamples:
        return {}
    blocks = {label: tally.sums.blocks for label, tally in tallies.items()}
    drawn = draw(len(blocks[BASELINE]), resamples, rng=rng)
    return {label: resampled(sums, drawn) for label, sums in blocks.items()}


def _intervals(values: Mapping[str, Floats], confidence: float) -> dict[str, Interval]:
    return {name: interval(of_metric, confidence) for name, of_metric in values.items()}


def _difference(
    one: str,
    other: str,
    tallies: Mapping[str, Tally],
    values: Mapping[str, Mapping[str, Floats]],
    confidence: float,
) -> Difference:
    """Return how two systems differ; their resamples are those of the same matches."""
    first, second = tallies[one].metrics(), tallies[other].metrics()
    apart = {name: values[one][name] - values[other][name] for name in METRICS} if values else {}
    return Difference(
        first=one,
        second=other,
        metrics={name: first[name] - second[name] for name in METRICS},
        intervals=_intervals(apart, confidence),
    )
