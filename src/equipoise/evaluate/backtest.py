"""Backtesting: predict, reveal, score, learn, for systems and baselines on the same matches.

`SystemPredictor` replays a history with a system. `ConstantRate` predicts without ratings, from a
constant rate that is learned as the history goes on. No player is stronger than another, so every
pair is even and every order is one tie. Only where two teams meet and one of them plays at home
(`at_home` is true or `side` is "home" or "white", as systems read them) is the expected score of
that team the mean score of teams at home so far: (1 + their points)/(2 + their matches), which
starts at one half. The order in which a match lists its teams has no effect, because many files
list the winner first.

Source: [EM]_ sections 6.2 and 6.3. Every system replays the history once. Its trace has the ratings
before each match, so a prediction never sees a result of its own match or of a later one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, cycle
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol

import numpy as np

from equipoise._jit import watch_compilation
from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.backtest import (
    BASELINE,
    CALIBRATED,
    GROUP_METRICS,
    LARGEST,
    LEAST_DIFFERENCE,
    LEAST_MATCHES,
    METRICS,
    Backtest,
    Difference,
    Group,
    GroupScores,
    Interval,
    SystemScores,
)
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.errors import InvalidDataError, InvalidParameterError, require
from equipoise.evaluate.scoring.metrics import PredictedTeams, Rule, score_teams
from equipoise.evaluate.scoring.order import GROUP_RATIOS, GROUPS, STARTS
from equipoise.evaluate.scoring.outcomes import OutcomePredictor, Outcomes
from equipoise.evaluate.scoring.tally import (
    RATIOS,
    Sampled,
    Scored,
    Tally,
    TallyParts,
    draw,
    sampled,
)
from equipoise.numeric.workers import Workers
from equipoise.parallel.tasks import run_tasks
from equipoise.rating.base_system import System
from equipoise.rating.calibration_curve import (
    CurveConstants,
    CurveTeams,
    features_of,
    follow,
    new_curve,
    outlook_before,
)
from equipoise.rating.contexts import TRACED
from equipoise.rating.head_start import HEAD_START
from equipoise.rating.registry import parameters_of
from equipoise.rating.replay import check_fit, pieces, starting_pool, with_known_rows
from equipoise.rating.system import RatingSystem

if TYPE_CHECKING:
    import polars as pl

#: Columns of a trace with the ratings before a match.
_KNOWN_BEFORE = ("rating_before", "deviation_before")

#: Participations that are rated, scored and reported at once.
_PIECE = 200_000

#: Matches that a system rates in order to compile its kernels.
_FIRST = 20

#: Default number of teams up to which every pair of a match is scored.
ALL_PAIRS = 32


class Predictor(Protocol):
    """Predicts how the participants of matches will perform, one piece after the other.

    system : the system that predicts, None for one without ratings
    """

    name: str
    system: RatingSystem | None

    def predict(self, start: int, stop: int) -> Outlook:
        """Return the outlook of the participations of matches start:stop."""
        ...


class SystemPredictor:
    """A system that replays a history, and its ratings before each match.

    initial : known ratings with which players begin
    """

    def __init__(
        self,
        system: RatingSystem,
        history: History,
        workers: Workers,
        initial: InitialRatings | Ratings | None = None,
    ) -> None:
        self.name = system.name
        self.system: RatingSystem | None = system
        self._system, self._history, self._workers = system, history, workers
        known = starting_pool(system, initial, history)
        if known is None:
            self._state = system.initial(history.players)
        else:
            # Players with known ratings come first, whether they play or not.
            self._history, ids = with_known_rows(history, known.player_ids)
            self._state = known.state
            self._state.grow(len(ids))
        # What playing at home is worth changes from match to match where it is learned.
        learns = isinstance(system, System) and system.learns_advantage
        self._columns: tuple[str, ...] = _KNOWN_BEFORE + ((HEAD_START,) if learns else ())
        if isinstance(system, System) and system.counts_contexts:
            self._columns += TRACED

    def predict(self, start: int, stop: int) -> Outlook:
        """Rate matches start:stop, and return the outlook that was expected before each."""
        piece = self._history.slice(start, stop)
        trace = {name: np.full(piece.participations, np.nan) for name in self._columns}
        self._system.run(self._state, piece, 0, piece.matches, trace, self._workers)
        return outlook_before(self._system, trace, piece)


class ConstantRate:
    """The baseline: the rates of a history, and the outlook that follows for each match."""

    name = "constant-rate"
    system: RatingSystem | None = None

    def __init__(self, history: History) -> None:
        self._history = history
        self._home = history.at_home()
        self._lead = None if self._home is None else _leads(history, self._home)

    def predict(self, start: int, stop: int) -> Outlook:
        """Return the outlook of the participations of matches start:stop."""
        offsets = self._history.offsets[start : stop + 1]
        centre = np.zeros(int(offsets[-1] - offsets[0]))
        if self._home is not None and self._lead is not None:
            lead = np.repeat(self._lead[start:stop], np.diff(offsets))
            centre = np.where(self._home[offsets[0] : offsets[-1]], lead, 0.0)
        # Two of these give a difference of scale 1.
        scale = np.full(len(centre), math.sqrt(0.5))
        return Outlook(centre=centre, scale=scale, curve="logistic")


def _leads(history: History, home: Flags) -> Floats:
    """Return ln(p/(1 - p)) of the rate p before every match; 0 unless one of two teams is at home.

    If only some members of a team are at home, the match counts as on neutral ground.
    """
    starts = history.offsets[:-1]
    at_home = np.add.reduceat(home, starts, dtype=np.int64)
    in_first = np.add.reduceat(home & (history.team == 0), starts, dtype=np.int64)
    first = np.add.reduceat(history.team == 0, starts, dtype=np.int64)
    others = history.sizes() - first
    two = history.teams() == 2
    first_home = two & (at_home == first) & (in_first == first)
    second_home = two & (at_home == others) & (in_first == 0)
    # Team 0 of a match is the team of its first row.
    best = history.rank[starts]
    score = np.where(history.distinct_ranks() == 1, 0.5, np.where(best == 0, 1.0, 0.0))
    points = np.where(first_home, score, np.where(second_home, 1.0 - score, 0.0))
    counts = first_home | second_home
    before = np.cumsum(counts) - counts
    earned = np.cumsum(points) - points
    rate = (1.0 + earned) / (2.0 + before)
    return np.where(counts, np.log(rate / (1.0 - rate)), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """Scores one predictor after the other.

    With several threads, a piece is scored while the next one is rated, and the baseline is scored
    at the same time as the systems, since rating leaves cores idle. The sums of one predictor are
    still added up piece after piece.

    scored : what is scored, the same for all predictors
    others : other selections of participations to score from the same predictions; the selection
        of all players (`fewest` 0) is also scored by experience
    ties_as_authors, all_pairs, threads, initial : see `backtest`
    piece : participations that are rated and scored together, about; memory grows with it. Only
        the sums of the calibration depend on it, in their last digits
    calibrate : also score the chances of systems as a curve corrects them
    predictions : keep the predictions of `scored` matches of two teams
    """

    scored: Scored
    ties_as_authors: bool
    all_pairs: int
    threads: int
    others: tuple[Scored, ...] = ()
    initial: InitialRatings | Ratings | None = None
    piece: int = _PIECE
    calibrate: bool = False
    predictions: bool = False

    def of_all(
        self,
        systems: Mapping[str, RatingSystem],
        progress: Callable[[int, int], None],
        finished: Callable[[str, float], None],
    ) -> dict[str, tuple[Tally, ...]]:
        """Return the sums of every system and the baseline, by label; see `of_one`.

        finished : called with the label of a system that is done, and the seconds that it took
        """
        history = self.scored.history
        tallies: dict[str, tuple[Tally, ...]] = {}
        total = len(systems) * history.participations
        with ThreadPoolExecutor(1) as beside, Workers(self.threads) as workers:
            baseline = beside.submit(self.of_one, ConstantRate(history), False)
            if self.threads == 1:
                baseline.result()
            for number, (label, system) in enumerate(systems.items()):
                before = number * history.participations

                def note(done: int, before: int = before) -> None:
                    progress(before + done, total)

                predictor = SystemPredictor(system, history, workers, self.initial)
                with _stopwatch() as seconds:
                    tallies[label] = self.of_one(predictor, self.ties_as_authors, note)
                finished(label, seconds())
            return {**tallies, BASELINE: baseline.result()}

    def of_all_elsewhere(
        self,
        systems: Mapping[str, RatingSystem],
        progress: Callable[[int, int], None],
        finished: Callable[[str, float], None],
        *,
        workers: int,
        executor: Executor | None,
    ) -> dict[str, tuple[Tally, ...]]:
        """Return the same as `of_all`; every system is a task for a process or an executor."""
        participations = self.scored.history.participations
        total = len(systems) * participations
        # The baseline comes last, as in `of_all`.
        tasks: list[tuple[str, RatingSystem | None]] = [*systems.items(), (BASELINE, None)]
        results = run_tasks(
            _parts_of,
            replace(self, threads=1),
            tasks,
            executor=executor,
            workers=min(workers, len(tasks)),
            names=itemgetter(0),
            prepare=partial(_compile, tuple(systems.values())),
            finished=lambda done: progress(min(done * participations, total), total),
        )
        tallies: dict[str, tuple[Tally, ...]] = {}
        for (label, system), (seconds, parts) in zip(tasks, results, strict=True):
            every = cycle((self.scored, *self.others))
            tallies[label] = tuple(Tally.of_parts(next(every), part) for part in parts)
            if system is not None:
                finished(label, seconds)
        return tallies

    def of_one(
        self,
        predictor: Predictor,
        ties_as_authors: bool,
        progress: Callable[[int], object] = lambda done: None,
    ) -> tuple[Tally, ...]:
        """Predict, score and learn piece by piece; return the sums of `scored`, then of `others`.

        With `calibrate`, the sums of the calibrated chances follow in the same order.

        ties_as_authors : see `backtest`
        progress : called with the number of participations done
        """
        history, every = self.scored.history, (self.scored, *self.others)
        kinds = [_Chances(self, predictor, None)]
        if self.calibrate and predictor.system is not None:
            kinds.append(_Chances(self, predictor, CurveLearner(self.scored)))
        learns = any(kind.learns for kind in kinds)

        def score(start: int, stop: int, outlook: Outlook) -> None:
            for kind in kinds:
                kind.score(start, stop, outlook, ties_as_authors)

        with ThreadPoolExecutor(1) as beside:
            last: Future[None] | None = None
            for start, stop in pieces(history, 0, history.matches, self.piece):
                outlook = predictor.predict(start, stop)
                if last is not None:
                    last.result()
                if learns or any(selection.scored[start:stop].any() for selection in every):
                    last = beside.submit(score, start, stop, outlook)
                    if self.threads == 1:
                        last.result()
                progress(int(history.offsets[stop]))
            if last is not None:
                last.result()
        return tuple(tally for kind in kinds for tally in kind.tallies)


class CurveLearner:
    """The curve of one predictor, which learns along a history.

    scored : of the history; it has the experience of players, and all its matches are learned from
    """

    def __init__(self, scored: Scored, constants: CurveConstants | None = None) -> None:
        self._scored = scored
        self._constants = constants or CurveConstants()
        self._curve = new_curve(self._constants)

    @property
    def numbers(self) -> Floats:
        """The curve so far, shape (8,)."""
        return self._curve.numbers.copy()

    def follow(self, start: int, stop: int, teams: Outlook) -> Outlook:
        """Return the corrected outlook of the teams of matches start:stop, the next ones.

        Every match is corrected by what the matches before it tell.
        """
        first_team, rank = self._scored.ranks(start, stop)
        features = features_of(*self._scored.features(start, stop))
        columns = CurveTeams(first_team, teams.centre, teams.scale, rank, features)
        centre, scale = follow(
            columns, start, teams.curve == "normal", self._constants, self._curve
        )
        return Outlook(centre=centre, scale=scale, curve=teams.curve, team=teams.team)


class _Chances:
    """One kind of chances of a predictor, uncorrected or calibrated, and their sums.

    curve : corrects the chances; None leaves them as they are
    """

    def __init__(self, scoring: Scoring, predictor: Predictor, curve: CurveLearner | None) -> None:
        self._scoring, self._name, self._curve = scoring, predictor.name, curve
        every = (scoring.scored, *scoring.others)
        # With several selections, the selection of all players is scored by experience.
        self.tallies = tuple(
            Tally(selection, selection.everybody and len(every) > 1) for selection in every
        )
        outcomes = OutcomePredictor(scoring.scored.history, predictor.system)
        self._outcomes = outcomes if outcomes.has_draws or scoring.predictions else None
        #: whether matches that are not scored must be passed too
        self.learns = curve is not None or self._outcomes is not None

    def score(self, start: int, stop: int, outlook: Outlook, ties_as_authors: bool) -> None:
        """Add the metrics of matches start:stop, the next ones."""
        scored = self._scoring.scored
        rule = Rule(ties_as_authors, outlook.curve == "normal", self._scoring.all_pairs)
        teams = scored.team_outlook(start, stop, outlook)
        if self._curve is not None:
            teams = self._curve.follow(start, stop, teams)
        outcomes, drawn = None, False
        if self._outcomes is not None:
            outcomes = self._outcomes.predict(start, stop, outlook, teams)
            drawn = self._outcomes.has_draws
            if self._scoring.predictions:
                self.tallies[0].outcomes += (outcomes.some(scored.scored[outcomes.match]),)
        for tally in self.tallies:
            selection = tally.scored
            if not selection.scored[start:stop].any():
                continue
            predicted = selection.predicted_teams(start, stop, teams)
            _check_predicted(self._name, scored.history, start, predicted)
            by_experience = tally.by_experience is not None
            members = selection.members(start, stop) if by_experience else None
            scores = score_teams(predicted, start, rule, members)
            if outcomes is not None and drawn:
                rows = outcomes.match - start
                scores.outcome_log_loss[rows], scores.rps[rows] = outcomes.scores()
            tally.add(start, stop, predicted, scores)


def _parts_of(
    scoring: Scoring, task: tuple[str, RatingSystem | None]
) -> tuple[float, tuple[TallyParts, ...]]:
    """Return the seconds that a system took, and its sums; None is the baseline."""
    system, history = task[1], scoring.scored.history
    with _stopwatch() as seconds, Workers() as workers:
        if system is None:
            tallies = scoring.of_one(ConstantRate(history), False)
        else:
            predictor = SystemPredictor(system, history, workers, scoring.initial)
            tallies = scoring.of_one(predictor, scoring.ties_as_authors)
    return seconds(), tuple(tally.parts() for tally in tallies)


@contextmanager
def _stopwatch() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the seconds so far, without those of compiling kernels."""
    with watch_compilation() as compilation:
        start = time.perf_counter()
        yield lambda: time.perf_counter() - start - compilation.seconds - compilation.loading


def _compile(systems: Sequence[RatingSystem], scoring: Scoring) -> None:
    """Compile the kernels, by scoring the baseline and by rating the first matches."""
    history = scoring.scored.history
    scoring.of_one(ConstantRate(history), False)
    with Workers() as workers:
        for system in systems:
            first = SystemPredictor(system, history, workers, scoring.initial)
            first.predict(0, min(_FIRST, history.matches))


@checks_arguments("confidence")
def backtest(
    systems: Mapping[str, RatingSystem],
    history: History,
    *,
    seed: int = 0,
    rng: np.random.Generator | None = None,
    min_history: int = 5,
    min_total: int | None = None,
    first: int = 0,
    initial: InitialRatings | Ratings | None = None,
    ties_as_authors: bool = False,
    least_differences: Mapping[str, float] | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    all_pairs: int = ALL_PAIRS,
    threads: int = 1,
    workers: int = 1,
    executor: Executor | None = None,
    calibrate: bool = False,
    predictions: bool = False,
    progress: Callable[[int, int], None] | None = None,
    timed: Callable[[str, float], None] | None = None,
) -> Backtest:
    """Return how well systems, and a baseline, predict the matches of a history.

    systems : by label, which the caller chooses
    seed : random seed of the resamples; those of groups by experience begin at the same seed
    rng : a generator that draws the resamples instead of one made of the seed
    min_history : participations of players with fewer earlier matches are not scored; `groups` of
        the result includes them
    min_total : instead, participations of players with fewer matches in the complete history,
        later ones included, are not scored: another reading of [EM]_ sec. 6.3
    first : number of the first match that is scored; systems learn from all matches before it
    initial : known ratings with which players begin, the same for every system; all others are
        newcomers. Earlier matches are counted in this history only
    ties_as_authors : count pairs predicted equal as correct (READINGS B9); not for the
        baseline, which predicts all pairs equal
    least_differences : metric -> smallest difference that matters; others are as in
        `LEAST_DIFFERENCE`
    resamples : number of resamples of the matches, for intervals; 0 for no intervals
    confidence : of the intervals, in (0, 1)
    all_pairs : log loss, Brier score and calibration use every pair in matches of up to this many
        teams, and eight opponents of every team in larger matches
    threads : to use with one worker; never changes a number
    workers : number of processes, each for one system at a time; never changes a number. With more
        than one, a script must be importable (`if __name__ == "__main__"`)
    executor : rates and scores the systems instead; never changes a number
    calibrate : also score every system with chances that a curve corrects, as "LABEL calibrated".
        The curve is learned from the matches before each match
        (`rating.calibration_curve`)
    predictions : keep the predictions of scored matches of two teams in `Backtest.predictions`
    progress : called with (participations done, total), all systems together
    timed : called with the label of each system that is done, and with the seconds that it took
    Raises : InvalidParameterError, InvalidDataError if a system cannot rate this history or
        nothing is left to score, ConvergenceError

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> found = eq.backtest({"glicko2": eq.Glicko2(), "elo": eq.Elo()}, league, first=216)
    >>> found
    <Backtest: glicko2, elo, baseline; 864 scored matches>
    >>> round(found.of("glicko2").metrics["brier"], 3)
    0.196
    """
    require(len(systems) > 0, "systems", "at least one", list(systems))
    require(resamples >= 0, "resamples", "at least 0", resamples)
    require(0 < confidence < 1, "confidence", "in (0, 1)", confidence)
    require(all_pairs >= 2, "all_pairs", "at least 2", all_pairs)
    require(seed >= 0, "seed", "at least 0", seed)
    require(workers >= 1, "workers", "at least 1", workers)
    _check_labels(systems, calibrate)
    least = least_differences_of(least_differences or {})
    for system in systems.values():
        check_fit(system, history)
    scored = Scored.of(history, min_history=min_history, first=first, min_total=min_total)
    selections = Selections.beside(scored)
    others, kept = selections.others, {"calibrate": calibrate, "predictions": predictions}
    scoring = Scoring(scored, ties_as_authors, all_pairs, threads, others, initial, **kept)
    note = progress or (lambda done, total: None)
    done = timed or (lambda label, seconds: None)
    if executor is None and workers == 1:
        tallies = scoring.of_all(systems, note, done)
    else:
        tallies = scoring.of_all_elsewhere(systems, note, done, workers=workers, executor=executor)
    tallies, of = _with_calibrated(tallies, 1 + len(selections.others))
    if predictions and not any(len(part.match) for part in tallies[BASELINE][0].outcomes):
        raise InvalidDataError([], "no predictions to keep: no scored match is of two teams")
    # Every selection has the resamples that it has when requested alone, with the same seed.
    drawing = np.random.default_rng(seed) if rng is None else rng
    copies = [deepcopy(drawing) for _ in selections.others]
    drawn = [
        draw(len(sample.sums.blocks), resamples, rng=from_) if resamples else None
        for sample, from_ in zip(tallies[BASELINE], (drawing, *copies), strict=True)
    ]
    headline = Measured.of(tallies, 0, drawn, confidence)
    return Backtest(
        systems=tuple(
            _scores(label, systems.get(of[label]), of_all[0], headline.intervals(label))
            for label, of_all in tallies.items()
        ),
        differences=headline.differences(),
        over_baseline=headline.over_baseline(),
        groups=tuple(selections.groups(tallies, drawn, confidence)),
        matches=int(scored.scored.sum()),
        participations=scored.participations(),
        undecided=int((scored.scored & ~scored.decided).sum()),
        learned=first,
        min_history=min_history,
        min_total=min_total,
        ties_as_authors=ties_as_authors,
        least_differences=least,
        confidence=confidence,
        resamples=resamples,
        predictions=predictions_table(history, tallies) if predictions else None,
    )


def _with_calibrated(
    tallies: Mapping[str, tuple[Tally, ...]], selections: int
) -> tuple[dict[str, tuple[Tally, ...]], dict[str, str]]:
    """Return tallies with a label of its own for calibrated chances, and the label of each system.

    selections : number of tallies of one kind of chances
    """
    grouped, of = {}, {}
    for label, every in tallies.items():
        grouped[label], of[label] = every[:selections], label
        if len(every) > selections:
            grouped[label + CALIBRATED], of[label + CALIBRATED] = every[selections:], label
    return grouped, of


def predictions_table(history: History, tallies: Mapping[str, tuple[Tally, ...]]) -> pl.DataFrame:
    """Return one row for each system and scored match of two teams; see `Backtest.predictions`."""
    import polars as pl

    frames = []
    for label, every in tallies.items():
        if label == BASELINE or label.endswith(CALIBRATED):
            continue
        kept = every[0].kept_outcomes()
        columns: dict[str, object] = {"match": history.match_ids[kept.match]}
        if history.time is not None:
            columns["time"] = history.time[kept.match].astype("datetime64[us]")
        first, second = _sides(history, kept.match)
        columns |= {"system": [label] * len(kept.match), "first": first, "second": second}
        columns |= _chances(kept, "")
        if label + CALIBRATED in tallies:
            columns |= _chances(tallies[label + CALIBRATED][0].kept_outcomes(), "_calibrated")
        columns["outcome"] = np.select(
            [kept.score == 1.0, kept.score == 0.0], ["win", "loss"], "draw"
        )
        frames.append(pl.DataFrame(columns))
    return pl.concat(frames).fill_nan(None)


def _chances(kept: Outcomes, suffix: str) -> dict[str, Floats]:
    """Return columns of chances of the first team."""
    return {
        f"expected{suffix}": kept.expected,
        f"win{suffix}": kept.win(),
        f"draw{suffix}": kept.draw,
        f"loss{suffix}": kept.loss(),
    }


def _sides(history: History, matches: Ints) -> tuple[list[str], list[str]]:
    """Return the players of the first team and of the second of each match, joined by commas."""
    sides: tuple[list[str], list[str]] = ([], [])
    for m in matches.tolist():
        rows = slice(int(history.offsets[m]), int(history.offsets[m + 1]))
        players, team = history.player_ids[history.player[rows]], history.team[rows]
        for side, names in enumerate(sides):
            names.append(",".join(str(name) for name in players[team == side]))
    return sides


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Metrics of all systems on the same participations.

    participations : their number
    metrics, values : by label: every metric, and every metric in the resamples; `values` is empty
        without resamples
    """

    participations: int
    metrics: Mapping[str, Mapping[str, float]]
    values: Mapping[str, Mapping[str, Sampled]]
    confidence: float

    @classmethod
    def of(
        cls,
        tallies: Mapping[str, tuple[Tally, ...]],
        which: int,
        drawn: Sequence[Ints | None],
        confidence: float,
        group: int | None = None,
        names: Iterable[str] = METRICS,
    ) -> Measured:
        """Return metrics of a selection, or of one of its groups by experience.

        names : of the metrics
        """
        chosen = {label: of_all[which] for label, of_all in tallies.items()}
        blocks, metrics, values = drawn[which], {}, {}
        for label, tally in chosen.items():
            known = tally.metrics(group)
            metrics[label] = {name: known[name] for name in names}
            if blocks is not None:
                ratios = RATIOS if group is None else GROUP_RATIOS
                of_all = sampled(tally.sums_of(group), blocks, ratios)
                values[label] = {name: of_all[name] for name in names}
        return cls(chosen[BASELINE].participations(group), metrics, values, confidence)

    def intervals(self, label: str) -> dict[str, Interval]:
        """Return the interval of every metric of a system; empty without resamples."""
        return _intervals(self.values.get(label, {}), self.confidence)

    def differences(self) -> tuple[Difference, ...]:
        """Return the differences of all pairs of systems, without the baseline."""
        return tuple(self._difference(*pair) for pair in combinations(self._systems(), 2))

    def over_baseline(self) -> tuple[Difference, ...]:
        """Return the differences of every system from the baseline."""
        return tuple(self._difference(label, BASELINE) for label in self._systems())

    def group(self, first: int, last: int | None) -> Group:
        """Return these metrics as those of players with so many earlier matches."""
        systems = tuple(
            GroupScores(label=label, metrics=metrics, intervals=self.intervals(label))
            for label, metrics in self.metrics.items()
        )
        return Group(
            first=first,
            last=last,
            participations=self.participations,
            systems=systems,
            differences=self.differences(),
            over_baseline=self.over_baseline(),
        )

    def _systems(self) -> list[str]:
        return [label for label in self.metrics if label != BASELINE]

    def _difference(self, one: str, other: str) -> Difference:
        """Return the difference of two systems, whose resamples have the same matches."""
        first, second = self.metrics[one], self.metrics[other]
        less = {}
        if self.values:
            less = {name: self.values[one][name].less(self.values[other][name]) for name in first}
        return Difference(
            first=one,
            second=other,
            metrics={name: first[name] - second[name] for name in first},
            intervals=_intervals(less, self.confidence, LEAST_MATCHES, differences=True),
        )


def _intervals(
    values: Mapping[str, Sampled], confidence: float, least: int = 0, *, differences: bool = False
) -> dict[str, Interval]:
    """Return the interval of every metric, cut at the values that are possible.

    NaN where fewer than `least` matches are scored.
    """
    ends_of = {}
    for name, metric in values.items():
        largest = LARGEST.get(name, math.inf)
        enough = metric.scored() >= least
        lower, upper = metric.interval(confidence) if enough else (math.nan, math.nan)
        ends_of[name] = max(lower, -largest if differences else 0.0), min(upper, largest)
    return ends_of


@dataclass(frozen=True, slots=True, eq=False)
class Selections:
    """The selections of participations that are needed to score every group.

    others : scored in addition to the requested one
    everybody, experienced : numbers of these selections; 0 is the requested one
    """

    others: tuple[Scored, ...]
    everybody: int
    experienced: int

    @classmethod
    def beside(cls, scored: Scored) -> Selections:
        """Return the selections needed in addition: all players, and those with enough matches."""
        every = [scored]
        numbers = []
        for fewest in (0, STARTS[-1]):
            if scored.counted is scored.earlier and scored.fewest == fewest:
                numbers.append(0)
            else:
                numbers.append(len(every))
                every.append(scored.with_fewest(scored.earlier, fewest))
        return cls(tuple(every[1:]), *numbers)

    def groups(
        self,
        tallies: Mapping[str, tuple[Tally, ...]],
        drawn: Sequence[Ints | None],
        confidence: float,
    ) -> Iterator[Group]:
        """Yield the groups with scored participations: newcomers first, all players last."""
        parts: list[tuple[int, int | None, int, int | None]] = [
            (STARTS[number], STARTS[number + 1] - 1, self.everybody, number)
            for number in range(GROUPS)
        ]
        parts += [(STARTS[-1], None, self.experienced, None), (0, None, self.everybody, None)]
        for first, last, which, number in parts:
            measured = Measured.of(tallies, which, drawn, confidence, number, GROUP_METRICS)
            if measured.participations:
                yield measured.group(first, last)


def least_differences_of(thresholds: Mapping[str, float]) -> dict[str, float]:
    """Return the smallest difference that matters, for every metric.

    Raises : InvalidParameterError
    """
    for name, value in thresholds.items():
        require(name in METRICS, "least_differences", f"by {', '.join(METRICS)}", name)
        require(0 <= value < math.inf, f"the least difference of {name}", "at least 0", value)
    return {**LEAST_DIFFERENCE, **thresholds}


def _scores(
    label: str, system: RatingSystem | None, tally: Tally, intervals: dict[str, Interval]
) -> SystemScores:
    """Return the scores of a system; None is the baseline."""
    return SystemScores(
        label=label,
        system=ConstantRate.name if system is None else system.name,
        parameters={} if system is None else parameters_of(system),
        metrics=tally.metrics(),
        intervals=intervals,
        calibration=tally.calibrated(),
    )


def _check_labels(systems: Iterable[str], calibrate: bool) -> None:
    """Refuse the labels of the baseline and of calibrated chances."""
    if BASELINE in systems:
        raise InvalidParameterError(
            f"the label {BASELINE!r} is reserved for the prediction without ratings"
        )
    for label in systems:
        if label.endswith(CALIBRATED) and calibrate:
            raise InvalidParameterError(
                f"the label {label!r} is reserved for calibrated chances: choose another label"
            )


def _check_predicted(name: str, history: History, start: int, predicted: PredictedTeams) -> None:
    """Refuse a system without a prediction for a team that is scored."""
    missing = np.flatnonzero(np.isnan(predicted.centre) & (predicted.weight > 0))
    if len(missing):
        match = start + int(np.searchsorted(predicted.offsets, missing[0], side="right")) - 1
        raise InvalidDataError(
            [], f"{name} predicts nothing for match {history.match_ids[match]}, which has a result"
        )
