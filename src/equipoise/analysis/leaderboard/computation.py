"""Leaderboards of the same matches by several systems, with error bars, by group and by period.

A rating goes on from match to match, so that of a period is the rating at its end. A performance is
computed from the matches of the period alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.analysis.backtest.computation import first_scored, split_for_search
from equipoise.analysis.leaderboard import Errors, LeaderboardRequest, Period
from equipoise.analysis.leaderboard.chart import Group, leaderboard_figure
from equipoise.analysis.performance.computation import all_tied_notes
from equipoise.analysis.plot.chart import RatingSeries, rating_figure
from equipoise.analysis.reading import (
    check_outputs,
    history_message,
    missing_notes,
    read,
    values_of_matches,
    without_dates,
)
from equipoise.analysis.requests import all_cores
from equipoise.analysis.systems import Settings, chosen_systems, labelled, without_runaways
from equipoise.analysis.tune.gains import Gain, gains
from equipoise.arrays import Floats, Ids, Ints
from equipoise.charts import theme
from equipoise.data.backtest import LEAST_MATCHES, OUTCOME_METRICS
from equipoise.data.games import Games
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.errors import InvalidDataError, InvalidParameterError, NoStrengthsError, require
from equipoise.evaluate.backtest import backtest
from equipoise.evaluate.leaderboard_errors import (
    MOST_PLAYERS,
    bootstrap_deviations,
    duel_errors,
    ratings_after,
    some_matches,
)
from equipoise.formats.table import HistoryReading
from equipoise.formats.writing import write_table
from equipoise.messages.conversion import plain
from equipoise.numeric.workers import Workers
from equipoise.rating.replay import check_fit
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.weng_lin import BradleyTerry
from equipoise.tournament.rankings import ranking_strengths
from equipoise.tournament.tournament import MOST_SURE, performance
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


#: What is computed from the matches alone, without an order.
PERFORMANCE, STRENGTHS = "performance", "strengths"
_ALONE = (PERFORMANCE, STRENGTHS)
#: Players of the last period who are drawn over time.
_LINES = 5
#: Largest number of groups, so that a column of ids is not taken for one of groups.
MOST_GROUPS = 100


class Estimates(NamedTuple):
    """Ratings of the players of a history, and half the widths of their intervals: shape (K, P).

    ten_to_one : shape (K,), rating points at odds of ten to one; NaN if errors need none
    """

    rating: Floats
    error: Floats
    ten_to_one: Floats


class Board(NamedTuple):
    """One leaderboard: of a group, at the end of a period; both may be "" for all.

    matches : shape (P,), of every player in the group and period; players without one are left out
    estimates : by label of the system, each of shape (P,), and a number of points
    likelihood : labels of the maximum likelihood estimates
    """

    group: object
    period: str
    player_ids: Ids
    matches: Ints
    estimates: dict[str, Estimates]
    likelihood: frozenset[str]

    def ten_to_one(self) -> dict[str, float]:
        """Return the rating points at odds of ten to one, by label, where errors need them."""
        units = {label: float(estimate.ten_to_one) for label, estimate in self.estimates.items()}
        return {label: unit for label, unit in units.items() if np.isfinite(unit)}

    def order(self) -> Ints:
        """Return the rows of players with matches, the best first, then by id.

        The first maximum likelihood estimate decides, and the first system where that has none.
        """
        deciding = [label for label in self.estimates if label in self.likelihood]
        deciding.append(next(iter(self.estimates)))
        rows = np.argsort(self.player_ids, kind="stable")
        for label in reversed(deciding):
            known = np.nan_to_num(self.estimates[label].rating[rows], nan=-np.inf)
            rows = rows[np.argsort(-known, kind="stable")]
        return np.asarray(rows[self.matches[rows] > 0], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LeaderboardAnswer:
    """The leaderboards in order of group and period.

    systems : label -> name
    error_of : label -> what its error bars come from: results, deviation, bootstrap, likelihood,
        or none
    scores : (group, label, metrics of `SCORED`) of rating systems and the baseline, if requested
    gains : label of a rating system -> what calibration, a context and rating periods are worth to
        it; empty with groups, and in histories of few matches
    """

    boards: tuple[Board, ...]
    systems: dict[str, str]
    error_of: dict[str, str]
    history: History
    reading: HistoryReading
    notes: tuple[str, ...]
    request: LeaderboardRequest
    scores: tuple[tuple[object, str, dict[str, float]], ...] = ()
    gains: Mapping[str, list[Gain]] = field(default_factory=dict)

    def table(self) -> pl.DataFrame:
        """Return one row for each player of each leaderboard; errors have the suffix `_error`."""
        import polars as pl

        by, every = self.request.by, self.request.every
        columns: dict[str, list[Any]] = {}
        for board in self.boards:
            rows = board.order()
            part = {} if by is None else {by: [board.group] * len(rows)}
            part |= {} if every is None else {every: [board.period] * len(rows)}
            part |= {"player": board.player_ids[rows].tolist()}
            part |= {"matches": board.matches[rows].tolist()}
            for label, estimate in board.estimates.items():
                part |= {label: estimate.rating[rows].tolist()}
                part |= {f"{label}_error": estimate.error[rows].tolist()}
            for name, values in part.items():
                columns.setdefault(name, []).extend(values)
        frame = pl.DataFrame(columns, strict=False)
        return frame.with_columns(
            pl.col(name).cast(pl.Float64).fill_nan(None)
            for label in self.systems
            for name in (label, f"{label}_error")
        )


def make_leaderboards(
    request: LeaderboardRequest, progress: Callable[[int, int], None] | None = None
) -> LeaderboardAnswer:
    """Read a history, rate it by every system, and write table and chart.

    progress : called with steps done and steps
    Raises : EquipoiseError, and then nothing was written
    """
    _check(request)
    history, reading = read(request.history)
    labels, rating_systems, notes = _systems(request, history)
    if request.scores and not rating_systems:
        raise InvalidParameterError(
            "--scores needs a rating system: performance and strengths predict no match"
        )
    for system in rating_systems.values():
        check_fit(system, history)
        notes += missing_notes(system, history, resumed=False)
    groups = list(_groups(history, request.by))
    error_of = {
        label: _source_of_errors(rating_systems.get(label), request.errors, history)
        for label in labels
    }
    resampled = [label for label in labels if error_of[label] == "bootstrap"]
    total = request.rounds * len(resampled) * len(groups)
    likelihood = frozenset(labels.keys() - rating_systems.keys())
    boards: list[Board] = []
    scores: list[tuple[object, str, dict[str, float]]] = []
    done = 0

    def note_round(finished: int, _: int) -> None:
        if progress is not None:
            progress(done + finished, total)

    for group, part in groups:
        spans = _periods(part, request.every)
        stops = np.array([stop for _, _, stop in spans], dtype=np.int64)
        estimates: dict[str, Estimates] = {}
        for label in labels:
            rated = rating_systems.get(label)
            if rated is None:
                estimates[label] = _estimated(labels[label], part, spans, request, group, notes)
                continue
            estimates[label] = _rated(rated, part, stops, request, error_of[label], note_round)
            done += request.rounds * (error_of[label] == "bootstrap")
        if request.scores:
            tested = backtest(rating_systems, part, resamples=0, threads=all_cores()).systems
            scores += [
                (group, one.label, {name: one.metrics[name] for name in SCORED}) for one in tested
            ]
        for number, (period, start, stop) in enumerate(spans):
            rows = part.player[part.offsets[start] : part.offsets[stop]]
            of_board = {
                label: Estimates(*(column[number] for column in columns))
                for label, columns in estimates.items()
            }
            matches = np.bincount(rows, minlength=part.players)
            boards.append(Board(group, period, part.player_ids, matches, of_board, likelihood))
    answer = LeaderboardAnswer(
        boards=tuple(boards),
        systems=labels,
        error_of=error_of,
        history=history,
        reading=reading,
        notes=tuple(notes),
        request=request,
        scores=tuple(scores),
        gains=_gains(rating_systems, history, request),
    )
    if request.output is not None:
        write_table(answer.table(), request.output)
    if request.chart is not None:
        theme.write(figure_of(answer), request.chart)
    return answer


#: Metrics of the predictions of a leaderboard, and that by which gains are judged.
SCORED = ("log_loss", *OUTCOME_METRICS)
GAINED = "log_loss"


#: Share of the matches on which values are chosen, before the others compare them.
_FIRST = "50%"


def _gains(
    systems: Mapping[str, RatingSystem], history: History, request: LeaderboardRequest
) -> dict[str, list[Gain]]:
    """Return what additions are worth to every rating system, where enough matches say so."""
    if request.by is not None or history.matches < 2 * LEAST_MATCHES:
        return {}
    try:
        split = split_for_search(
            history, _FIRST, None, lambda share: first_scored(share, history, "")
        )
    except InvalidDataError:
        return {}
    options = {
        "first": split.first,
        "min_history": split.fewest,
        "seed": request.seed,
        "confidence": request.confidence,
        "threads": all_cores(),
    }
    return {label: gains(system, history, GAINED, options) for label, system in systems.items()}


def _check(request: LeaderboardRequest) -> None:
    """Refuse values and outputs that cannot be, before reading."""
    sure = request.confidence
    require(0 < sure <= MOST_SURE, "confidence", f"above 0 and at most {MOST_SURE}", sure)
    check_outputs(request.history, tables={"--output": request.output}, chart=request.chart)
    several = request.by is not None or len(request.systems) != 1
    if request.chart is not None and request.every is not None and several:
        raise InvalidParameterError(
            "--chart with --every draws one system over time: name it with --system, without --by; "
            "for several systems draw one period with --from and --until"
        )


def _systems(
    request: LeaderboardRequest, history: History
) -> tuple[dict[str, str], dict[str, RatingSystem], list[str]]:
    """Return the names by label, the rating systems among them by label, and notes."""
    single = bool(np.array_equal(history.teams(), history.sizes()))
    duels = _are_duels(history)
    of_all_matches = (PERFORMANCE,) if duels else (STRENGTHS,) if single else ()
    labels = labelled(request.systems or ("elo", "bradley-terry", *of_all_matches))
    rated = [f"{label}={name}" for label, name in labels.items() if name not in _ESTIMATED]
    systems: dict[str, RatingSystem] = {}
    if rated:
        systems = chosen_systems(rated, Settings(), request.assigned)
    elif request.assigned:
        raise InvalidParameterError(
            f"--set needs a rating system, and {' and '.join(labels)} have no such parameters; got "
            f"{request.assigned[0]!r}"
        )
    if PERFORMANCE in labels.values() and not duels:
        raise InvalidDataError(
            [],
            "performance needs matches of two single players, and some have more players or teams"
            + (f": use --system {STRENGTHS} instead" if single else ""),
        )
    systems, notes = without_runaways(systems, history, () if request.systems else labels)
    kept = {label: name for label, name in labels.items() if name in _ESTIMATED or label in systems}
    return kept, systems, notes


def _are_duels(history: History) -> bool:
    return bool(np.all(history.sizes() == 2) and np.all(history.teams() == 2))


def _source_of_errors(system: RatingSystem | None, errors: Errors, history: History) -> str:
    """Return what the error bars of a system come from; None is an estimate from all matches."""
    if errors == "none":
        return "none"
    if system is None:
        return "likelihood"
    if errors == "bootstrap":
        return "bootstrap"
    # The posterior has neither scores nor a home advantage.
    plain = isinstance(system, BradleyTerry) and system.capabilities.uses <= {"weight"}
    if errors == "auto" and plain and history.players <= MOST_PLAYERS and _are_duels(history):
        return "results"
    state = system.initial(0)
    state.grow(1)
    known = np.isfinite(system.at(state, np.arange(1), None)["deviation"]).all()
    return "deviation" if known else "bootstrap"


def _groups(history: History, by: str | None) -> Iterator[tuple[object, History]]:
    """Yield the values of a column of the history, and the matches of each.

    Raises : InvalidParameterError
    """
    if by is None:
        yield "", history
        return
    texts = values_of_matches(history, by)
    first = history.attributes[by][history.offsets[:-1]]
    original = dict(zip(texts.tolist(), first.tolist(), strict=True))
    if len(original) > MOST_GROUPS:
        raise InvalidParameterError(
            f"--by must name a column with at most {MOST_GROUPS} values; {by} has "
            f"{len(original):,}, such as {texts[0]!r}"
        )
    for text in sorted(original, key=lambda text: _sorted_by(original[text], text)):
        value = original[text] if text else None
        yield value, some_matches(history, np.flatnonzero(texts == text))


def _sorted_by(value: object, text: str) -> tuple[int, float, str]:
    """Return the key of a value: numbers come first, in their order, and then texts."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 0, float(value), ""
    return 1, 0.0, text


def _periods(history: History, every: Period | None) -> list[tuple[str, int, int]]:
    """Return the name of every period with matches, and its first match and the one after its last.

    Raises : InvalidParameterError   the history has no dates
    """
    if every is None:
        return [("", 0, history.matches)]
    if history.time is None:
        raise InvalidParameterError(
            f"--every needs a history with dates; this one {without_dates(history)} (--column "
            "time=NAME names the time column)"
        )
    days = history.time // MICROSECONDS_PER_DAY
    if every == "week":
        days = days - (days + 3) % 7  # 1970-01-01 was a Thursday; a week begins on Monday
    unit = {"month": "M", "year": "Y"}.get(every, "D")
    names = days.astype("datetime64[D]").astype(f"datetime64[{unit}]")
    starts = np.flatnonzero(np.append(True, names[1:] != names[:-1])).tolist()
    stops = [*starts[1:], history.matches]
    return [(str(names[start]), start, stop) for start, stop in zip(starts, stops, strict=True)]


def _rated(
    system: RatingSystem,
    history: History,
    stops: Ints,
    request: LeaderboardRequest,
    errors: str,
    progress: Callable[[int, int], None],
) -> Estimates:
    """Return the ratings by a system at the end of every period."""
    with Workers(all_cores()) as workers:
        after = ratings_after(system, history, stops, workers)
    error, units = np.full(after.rating.shape, np.nan), np.full(len(stops), np.nan)
    width = _width(request.confidence)
    if errors == "results":
        for number, stop in enumerate(stops.tolist()):
            rating = after.rating[number]
            scale = system.outlook(rating, after.deviation[number]).scale
            games = _games(history.slice(0, stop))
            error[number], units[number] = duel_errors(games, rating, scale, request.confidence)
    elif errors == "deviation":
        error = width * after.deviation
    elif errors == "bootstrap":
        options = {"rounds": request.rounds, "seed": request.seed, "threads": all_cores()}
        error = width * bootstrap_deviations(system, history, stops, progress=progress, **options)
    return Estimates(after.rating, error, np.log(10.0) * units)


def _width(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + 0.5 * confidence)


def _estimated(
    name: str,
    history: History,
    spans: list[tuple[str, int, int]],
    request: LeaderboardRequest,
    group: object,
    notes: list[str],
) -> Estimates:
    """Return performances or strengths from the matches of every period alone."""
    rating, error = np.full((2, len(spans), history.players), np.nan)
    estimates = Estimates(rating, error, np.full(len(spans), np.nan))
    estimate = _ESTIMATED[name]
    for number, (period, start, stop) in enumerate(spans):
        where = " ".join(str(part) for part in (group, period) if part not in ("", None))
        estimates.rating[number], error, reason = estimate(history.slice(start, stop), request)
        estimates.error[number] = error if request.errors != "none" else np.nan
        if reason:
            notes.append(f"{name}{f', {where}' if where else ''}: {reason}")
    return estimates


def _games(history: History) -> Games:
    """Return duels as games, a tie as half a win."""
    one, other = history.rank[0::2], history.rank[1::2]
    share = np.where(one < other, 1.0, np.where(one > other, 0.0, 0.5))
    return Games(
        player_ids=history.player_ids,
        white=history.player[0::2],
        black=history.player[1::2],
        points=share if history.weight is None else share * history.weight,
        weight=history.weight,
    )


def _performances(history: History, request: LeaderboardRequest) -> tuple[Floats, Floats, str]:
    """Return PPR and errors of all players, and why some have none."""
    anchor, confidence = request.anchor, request.confidence
    tournament = performance(
        _games(history), anchor=anchor, confidence=confidence, threads=all_cores()
    )
    standing = tournament.standing
    played = standing.games > 0
    none = int(np.sum(played & np.isnan(standing.ppr)))
    reason = ""
    if none:
        reason = (
            f"{counted(none, 'player has', 'players have')} no PPR, because some took every point "
            "from others; `equipoise performance` names them and gives bounds"
        )
    elif tournament.components - int(np.sum(~played)) > 1:
        reason = "groups of players never met, so their PPRs cannot be compared"
    return standing.ppr, standing.error, reason


def _strengths(history: History, request: LeaderboardRequest) -> tuple[Floats, Floats, str]:
    """Return maximum likelihood strengths and errors, and why there are none."""
    rating, error = np.full((2, history.players), np.nan)
    try:
        strengths = ranking_strengths(history, anchor=request.anchor, ties="breslow")
    except NoStrengthsError:
        reason = (
            "no finite strengths exist; `equipoise strengths --ties breslow` shows why, and "
            "--prior 1 makes them finite"
        )
        return rating, error, reason
    row_of = {player: row for row, player in enumerate(history.player_ids.tolist())}
    rows = [row_of[player] for player in strengths.player_ids.tolist()]
    rating[rows] = strengths.rating
    error[rows] = _width(request.confidence) * strengths.errors(np.arange(len(rows)))
    return rating, error, "; ".join(all_tied_notes(history))


_ESTIMATED = {PERFORMANCE: _performances, STRENGTHS: _strengths}


def figure_of(answer: LeaderboardAnswer) -> Figure:
    """Return the chart: a panel for each system, a row for each player."""
    request = answer.request
    if request.every is not None:
        return _over_time(answer)
    rows = [(board, board.order().tolist()) for board in answer.boards]
    players = dict.fromkeys(board.player_ids[row] for board, order in rows for row in order)
    series: dict[str, list[Group]] = {label: [] for label in answer.systems}
    for board, order in rows:
        name = "" if request.by is None else str(board.group)
        for label, (rating, error, _) in board.estimates.items():
            of_player = {board.player_ids[row]: (rating[row], error[row]) for row in order}
            series[label].append((name, of_player))
    bars = "" if request.errors == "none" else f"; {100 * request.confidence:g} % error bars"
    grouped = "" if request.by is None else f", by {request.by}"
    return leaderboard_figure(
        list(players),
        series,
        title="Leaderboards",
        subtitle=f"{counted(answer.history.matches, 'match', 'matches')}{grouped}{bars}",
    )


def _over_time(answer: LeaderboardAnswer) -> Figure:
    """Return the chart of the first players of the last period, at every period that has them."""
    request, boards = answer.request, answer.boards
    (label,) = answer.systems
    last = boards[-1]
    known = np.isfinite(last.estimates[label].rating)
    rows = [row for row in last.order().tolist() if known[row]][:_LINES]
    if not rows:
        raise InvalidParameterError(
            f"--chart needs ratings in the last period; in {last.period} no player has one"
        )
    series = []
    for row in rows:
        shown = [
            board
            for board in boards
            if board.matches[row] > 0 and np.isfinite(board.estimates[label].rating[row])
        ]
        times = np.array([board.period for board in shown], dtype="datetime64[us]")
        error = np.array([board.estimates[label].error[row] for board in shown])
        series.append(
            RatingSeries(
                player=last.player_ids[row : row + 1].tolist()[0],
                matches=np.array([board.period for board in shown], dtype=object),
                times=times,
                place=times,
                rating=np.array([board.estimates[label].rating[row] for board in shown]),
                deviation=error / _width(request.confidence),
                performance=np.full(len(shown), np.nan),
            )
        )
    band = "" if request.errors == "none" else ", 95 % range (band)"
    what = f"{label} of every {request.every}" if label in _ALONE else f"{label} rating (line)"
    return rating_figure(series, title=f"Every {request.every}", subtitle=what + band)


#: Options of a request that its answer repeats.
_OF_REQUEST = ("by", "every", "confidence", "rounds", "seed", "anchor")


def leaderboard_json(answer: LeaderboardAnswer) -> dict[str, Any]:
    """Return what `equipoise leaderboard --json` prints; rows are in the order of the table."""
    return {
        "systems": [
            {"label": label, "system": name, "errors": answer.error_of[label]}
            for label, name in answer.systems.items()
        ],
        **{name: getattr(answer.request, name) for name in _OF_REQUEST},
        "rows": [
            {
                "group": _group_json(board.group),
                "period": board.period or None,
                "player": plain(board.player_ids[row]),
                "matches": int(board.matches[row]),
                "ratings": {
                    label: {"rating": plain(rating[row]), "error": plain(error[row])}
                    for label, (rating, error, _) in board.estimates.items()
                },
                "ten_to_one": board.ten_to_one(),
            }
            for board in answer.boards
            for row in board.order().tolist()
        ],
        "scores": [
            {"group": _group_json(group), "system": label, **plain(values)}
            for group, label, values in answer.scores
        ],
        "gains": [
            {"system": label, **plain(gain)}
            for label, listed in answer.gains.items()
            for gain in listed
        ],
        "notes": list(answer.notes),
        "history": history_message(answer.history, answer.reading),
    }


def _group_json(group: object) -> str | None:
    return None if group in ("", None) else str(group)
