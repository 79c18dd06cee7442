"""equipoise performance and strengths: games or rankings in, ratings out."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import typer

from equipoise.analysis.inspect.command import inspected
from equipoise.analysis.performance import PerformanceRequest, StrengthsRequest
from equipoise.analysis.requests import HistoryRequest, shared
from equipoise.cli import options
from equipoise.cli.report import (
    cell,
    print_first,
    print_json,
    print_lines,
    print_table,
    problem_lines,
    reading_lines,
    say,
    table,
    working,
)
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.performance.computation import PerformanceAnswer, StrengthsAnswer
    from equipoise.arrays import Floats
    from equipoise.data.tournament import Superiority, TieBreakDetails, TournamentPerformance


def performance(
    *,
    context: typer.Context,
    request: PerformanceRequest,
    dry_run: options.DryRun,
    as_json: options.Json,
) -> int | None:
    """Compute performance ratings for a tournament.

    PPRs are the ratings that predict every player's score exactly. TPR, CPR and FIDE's performance
    rating use the opponents' ratings before the tournament. If some players won all games against
    others, PPRs do not exist: the output then names who swept whom, and gives the ratings and
    bounds that do exist.

    Ratings before the tournament come from the games: columns such as white_rating and
    black_rating, the tags WhiteElo and BlackElo, or a FIDE report.

    Example:
      equipoise performance examples/interzonal1970.csv --anchor 2557
      equipoise performance examples/interzonal1970.csv --tie-breaks sb,de,wins --order points
    """
    from equipoise.analysis.performance.computation import message_of, rate_performance

    if dry_run:
        own = {"skip_bad": "matches" if request.skip_bad else None, "strict": False}
        history = HistoryRequest(source=request.games, **{**shared(request, HistoryRequest), **own})
        return inspected(context, history, as_json, reads=("games",))
    answer = rate_performance(request)
    if as_json:
        print_json(message_of(answer))
    else:
        _print_performance(answer)
    return None


#: Players shown on a terminal; a file or a pipe gets all of them.
_SHOWN = 100
#: Players in the matrix of superiority.
_MATRIX = 20

#: Largest difference of expected and actual points at which PPRs are said to predict scores.
_PRECISION = 1e-6

#: Column of the table -> what is said of it below the table, if it has values.
_LEGEND = {
    "tpr": "TPR: the rating that predicts the score against the opponents' ratings before the "
    "tournament; none for 0 % and 100 %.",
    "cpr": "CPR: complete performance rating, from the opponents' average rating; it exists for "
    "all scores.",
    "fide": "FIDE: the performance rating that FIDE publishes, from the opponents' average rating.",
}

#: Column of the table -> its heading and its decimals, without those of tie-breaks.
_NUMBERS = {
    "games": ("games", 0),
    "points": ("points", 1),
    "expected": ("expected", 4),
    "rating": ("rating", 0),
    "average_opponent": ("opponents", 0),
    "tpr": ("TPR", 0),
    "cpr": ("CPR", 0),
    "fide": ("FIDE", 0),
    "ppr": ("PPR", 1),
    "error": ("+-", 1),
    "linear": ("linear", 0),
    "recursive": ("recursive", 0),
    "place": ("place", 0),
    "score": ("score", 1),
    "fide_change": ("change", 1),
    "class_ppr": ("in class", 1),
    "lower": ("at least", 0),
    "upper": ("at most", 0),
}


@functools.cache
def _numbers() -> dict[str, tuple[str, int]]:
    """Return heading and decimals of every column with numbers; of tie-breaks FIDE's codes."""
    from equipoise.tournament.tie_breaks import CODES, DECIMALS

    codes = {**CODES, "wins": "won", "fide-performance": "FIDE TPR"}
    formats = {name.replace("-", "_"): (codes[name], DECIMALS[name]) for name in CODES}
    return {**_NUMBERS, **formats}


def _print_performance(answer: PerformanceAnswer) -> None:
    """Print the table, how precise it is, and notes on the games."""
    performance = answer.performance
    _print_players(performance)
    for details in answer.details:
        print_lines("")
        _print_details(details)
    if performance.superiority is not None:
        print_lines("")
        _print_superiority(performance, performance.superiority)
    print_lines("")
    # The line on precision already says that an equilibrium exists.
    reasons = performance.reasons[1:] if performance.exists else performance.reasons
    lines = [*_precision(performance), *_labels(performance), *reasons]
    print_lines(*lines)
    reading = answer.reading
    if reading.problems:
        results = counted(reading.skipped, "bad result was", "bad results were")
        say(f"{results} skipped", *problem_lines(reading.problems))
    counts = [f"{count:,} {reason}" for reason, count in reading.left_out.items() if count]
    if counts:
        say(f"Not counted as games: {', '.join(counts)}.")
    say(*_unrated(performance), *reading.notes, *answer.notes)


def _print_players(performance: TournamentPerformance) -> None:
    """Print one row for each player, without empty columns."""
    frame = performance.table
    hidden = (
        {"status", "class"} if performance.exists and "no-games" not in frame["status"] else set()
    )
    names = [
        name
        for name in frame.columns
        if name not in hidden
        and frame[name].null_count() < len(frame)
        and not (name in ("class_ppr", "lower", "upper") and performance.exists)
    ]
    columns = {"": "d"}
    for name in names:
        head, _ = _numbers().get(name, (name, 0))
        columns[head] = ">" if name in _numbers() or name == "class" else ""
    rows = (
        (place, *(_cell(name, value) for name, value in zip(names, row, strict=True)))
        for place, row in enumerate(frame.select(names).iter_rows(), start=1)
    )
    print_first(columns, rows, len(frame), _SHOWN)


def _print_details(details: TieBreakDetails) -> None:
    """Print the parts of a tie-break of a player."""
    total = "unknown" if math.isnan(details.total) else f"{details.total:.10g}"
    print_lines(f"{details.name} of {details.player}: {total}")
    heads = {"round": ">", "opponent": "", "kind": "", "points": ">", "score": ">"}
    rows = details.to_polars().select(*heads, "value", "status").iter_rows()
    shown = (
        [cell(value, ".10g" if isinstance(value, float) else "") for value in row] for row in rows
    )
    print_table(table({**heads, "value": ">", "": ""}, shown))


def _cell(name: str, value: object) -> str:
    """Return a value as the table shows it."""
    if value is None:
        return ""
    if name not in _numbers() or not isinstance(value, float):
        return str(value)
    if name in ("games", "points", "expected") and value != round(value, 1) and value < 0.01:
        return f"{value:.4g}"  # weighted games
    if name in ("games", "points") and value != round(value, 1):
        return f"{value:.4g}"
    text = f"{value:.{_numbers()[name][1]}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text


def _precision(performance: TournamentPerformance) -> list[str]:
    """Return how exactly the ratings predict the scores."""
    standing = performance.standing
    if performance.prior:
        return [
            f"{_regularised(performance.prior)}, so the ratings are closer together and do not "
            "reproduce the scores exactly."
        ]
    rated = sorted(_known(standing.ppr))
    if not rated:
        return []
    free = [
        row
        for row in rated
        if performance.player_ids[row] not in performance.held or len(performance.held) < 2
    ]
    worst = max((abs(standing.expected[row] - standing.points[row]) for row in free), default=0.0)
    if worst > _PRECISION:
        return [f"Expected and actual points differ by up to {worst:.0e}, more than the tolerance."]
    every = "every score" if performance.exists else "the scores of all players who have one"
    exception = " except those of the held players" if len(free) < len(rated) else ""
    how = "agree exactly" if worst == 0 else f"differ by at most {worst:.0e}"
    return [f"The PPRs predict {every}{exception}: expected and actual points {how}."]


def _regularised(prior: float) -> str:
    games = "game" if prior == 1 else "games"
    return f"Regularised: every player was given {prior:g} drawn {games} against an average player"


def _labels(performance: TournamentPerformance) -> list[str]:
    """Return what the ratings depend on."""
    standing = performance.standing
    lines = [line for name, line in _LEGEND.items() if _known(getattr(standing, name))]
    by_class = not performance.exists and not performance.prior
    if by_class:
        lines.append(
            "Without an equilibrium, players are compared only within their class. For ratings of "
            "all players, add --prior 1: one drawn game of each against an average player."
        )
        if (
            not performance.relative
            and len({standing.class_of[row] for row in _known(standing.class_ppr)}) > 1
        ):
            lines.append(
                "Each class has the average rating by itself, so ratings `in class` do not show "
                "which class is better."
            )
        if _known(standing.lower) or _known(standing.upper):
            lines.append(
                "All games against another class were won, or all were lost; they give the "
                "bounds in the columns `at least` and `at most`, on the scale of that class."
            )
    if performance.relative:
        lines.append(
            f"Relative: {_level(performance, by_class)}. Only their differences are meaningful."
        )
    if performance.colour_advantage:
        lines.append(f"White is worth {performance.colour_advantage:.1f} points more.")
    if not math.isnan(performance.draw_parameter):
        nu = performance.draw_parameter
        lines.append(
            f"Draws are modelled by Davidson's method (nu = {nu:.4g}): equal players draw "
            f"{100 * nu / (2 + nu):.1f} % of their games."
        )
    if _known(standing.error):
        spread = (
            ", assuming that results vary as these did"
            if math.isnan(performance.draw_parameter)
            else ""
        )
        lines.append(f"Error bars have {100 * performance.confidence:g} % confidence{spread}.")
    rated = _known(standing.class_ppr if by_class else standing.ppr)
    missing = len(rated - _known(standing.error))
    if missing:
        lines.append(
            f"{counted(missing, 'player has', 'players have')} no error bar. In a large component "
            "each needs a separate computation, so name the players with --player. If weights of "
            "games differ very much, an error may be impossible to compute."
        )
    return lines


def _level(performance: TournamentPerformance, by_class: bool) -> str:
    """Return which ratings have no known level, and where they are instead."""
    names = ", ".join(str(name) for name in performance.held)
    if performance.prior:
        why = f"{names} played no games" if names else "no rating is known and no --anchor is given"
        return f"{why}, so the average player is at 0"
    if names:
        return f"groups that never met {names} have ratings with mean 0"
    whose = "ratings within every class" if by_class else "PPRs"
    return f"no rating is known and no --anchor is given, so the {whose} have mean 0"


def _known(column: Floats) -> set[int]:
    """Return the rows in which a column is not NaN."""
    return {row for row, value in enumerate(column.tolist()) if not math.isnan(value)}


def _unrated(performance: TournamentPerformance) -> list[str]:
    """Return a line on unrated opponents, if there are any."""
    standing = performance.standing
    played = {row for row, games in enumerate(standing.games.tolist()) if games > 0}
    unrated = len(played - _known(standing.rating))
    if not unrated or not _known(standing.average_opponent):
        return []
    return [
        f"{counted(unrated, 'player has', 'players have')} no rating before the tournament. Games "
        "against them count for the PPR, but not for TPR, CPR and FIDE's performance rating."
    ]


def _print_superiority(performance: TournamentPerformance, matrix: Superiority) -> None:
    """Print the probabilities that the player of a row is better than that of a column."""
    names = [str(performance.player_ids[row]) for row in matrix.rows.tolist()]
    shown = names[:_MATRIX]
    print_lines("Probability that the player of a row is better than that of a column, in percent")
    heads = [str(place) for place in range(1, len(shown) + 1)]
    chances = matrix.probability[: len(shown), : len(shown)].tolist()
    rows = (
        (
            heads[i],
            name,
            *("" if math.isnan(chance) else f"{100 * chance:.0f}" for chance in row),
        )
        for i, (name, row) in enumerate(zip(shown, chances, strict=True))
    )
    print_table(table({" ": ">", "player": "", **dict.fromkeys(heads, ">")}, rows))
    if len(shown) < len(names):
        say(f"... and {len(names) - len(shown)} more; --json has them all.")


def strengths(*, request: StrengthsRequest, as_json: options.Json) -> None:
    """Estimate strengths from rankings of any number of players, or from choices of one player.

    Strengths are the maximum-likelihood ratings of the Plackett-Luce model. All matches count the
    same, and strengths do not change over time. Players who share the last place of a match are not
    ranked among themselves, so a choice of one among five has the ranks 1, 2, 2, 2, 2. If a group
    of players was never beaten by the others, no finite strengths exist, and the output names the
    groups.

    Example:
      equipoise strengths examples/contests.csv --ties breslow --prior 1 --anchor 1500
      equipoise strengths examples/contests.csv --top 1 --ties breslow --prior 1
    """
    from equipoise.analysis.performance.computation import estimate_strengths, strengths_message

    with working("estimating"):
        answer = estimate_strengths(request)
    message = strengths_message(answer, request)
    if as_json:
        print_json(message)
        return
    if request.output is None:
        _print_strengths(answer)
    lines = [
        f"Chosen and expected choices differ by at most {message.residual:.0e}. "
        f"Log likelihood {message.log_likelihood:.2f}. "
        f"Errors have {100 * request.confidence:g} % confidence."
    ]
    if request.prior:
        lines.append(f"{_regularised(request.prior)}.")
    if message.components > 1:
        lines.append(
            f"{counted(message.components, 'group')} of players never met one another. Ratings of "
            "different groups cannot be compared."
        )
    print_lines(*lines)
    say(*reading_lines(message.history))


def _print_strengths(answer: StrengthsAnswer) -> None:
    """Print one row for each player, best first."""
    frame = answer.table()
    several = answer.strengths.component.max(initial=0) > 0
    formats = {"": "d", "player": "", "rating": ".1f", "+-": ".1f", "matches": "d"}
    formats |= {"chosen": ".4g", "expected": ".4g"} | ({"group": ">"} if several else {})
    rows = (
        (place, *row) if several else (place, *row[:-1])
        for place, row in enumerate(
            frame.select(
                "player", "rating", "error", "matches", "chosen", "expected", "component"
            ).iter_rows(),
            start=1,
        )
    )
    print_first(formats, rows, len(frame), _SHOWN)
