"""How well one set of parameters predicts a history: what a search calls again and again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.data.history import History
from equipoise.data.tuning import Trial, Value
from equipoise.errors import ConvergenceError, InvalidDataError, InvalidParameterError
from equipoise.evaluate.backtest import ALL_PAIRS, Replaying, Scoring
from equipoise.evaluate.scored import Scored
from equipoise.numeric.workers import Workers
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.system import RatingSystem

#: Number of the trial of the parameters as given.
GIVEN = -1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Objective:
    """A history to predict, and the system whose parameters are changed.

    name, fixed : of the system; `fixed` is all of its parameters as given
    metric : that must have a value
    """

    name: str
    fixed: Mapping[str, Any]
    scored: Scored
    metric: str
    ties_as_authors: bool = False
    all_pairs: int = ALL_PAIRS

    @classmethod
    def of(
        cls,
        system: RatingSystem,
        history: History,
        *,
        metric: str,
        min_history: int,
        ties_as_authors: bool,
    ) -> Objective:
        """Return the objective of changing a system.

        Raises : InvalidParameterError, InvalidDataError where nothing is left to score
        """
        return cls(
            name=system.name,
            fixed=parameters_of(system),
            scored=Scored.of(history, min_history=min_history, first=0),
            metric=metric,
            ties_as_authors=ties_as_authors,
        )

    def trial(self, number: int, parameters: Mapping[str, Value], threads: int = 1) -> Trial:
        """Return how well the system predicts with these parameters instead of those given.

        Parameters that the system refuses, and histories that it cannot rate with them, are told
        in the trial rather than raised.
        threads : to use; never changes a number
        """
        try:
            system = make_system(self.name, {**self.fixed, **parameters})
            self._check(system)
            metrics = self._metrics(system, threads)
        except InvalidParameterError as error:
            return _untold(number, parameters, "refused", error)
        except (ConvergenceError, InvalidDataError) as error:
            return _untold(number, parameters, "failed", error)
        if math.isnan(metrics[self.metric]):
            reason = InvalidDataError([], f"no match that is scored says anything of {self.metric}")
            return _untold(number, parameters, "failed", reason)
        return Trial(number=number, parameters=dict(parameters), metrics=metrics)

    def _metrics(self, system: RatingSystem, threads: int) -> dict[str, float]:
        scoring = Scoring(self.scored, self.ties_as_authors, self.all_pairs, threads)
        with Workers(threads) as workers:
            replaying = Replaying(system, self.scored.history, workers)
            (found,) = scoring.of_one(replaying, self.ties_as_authors)
            return found.metrics()

    def _check(self, system: RatingSystem) -> None:
        """Refuse parameters with which the system cannot rate the history."""
        history = self.scored.history
        misfits = system.capabilities.misfits(history)
        if history.time is None and system.capabilities.needs_time:
            misfits = [*misfits, "a history without times"]
        if misfits:
            raise InvalidParameterError(f"{system.name} so cannot rate {'; '.join(misfits)}")


def _untold(number: int, parameters: Mapping[str, Value], status: Any, why: Exception) -> Trial:
    return Trial(
        number=number,
        parameters=dict(parameters),
        status=status,
        reason=str(why),
        metrics={},
    )
