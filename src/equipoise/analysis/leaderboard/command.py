"""equipoise leaderboard: several systems side by side, with error bars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from equipoise.analysis.leaderboard import LeaderboardRequest
from equipoise.cli import options
from equipoise.cli.report import (
    Table,
    print_first,
    print_json,
    print_lines,
    print_table,
    reading_lines,
    say,
    working,
)
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.leaderboard.computation import LeaderboardAnswer


#: Rows on a terminal; a file or a pipe gets all of them.
_SHOWN = 60


def leaderboard(*, request: LeaderboardRequest, as_json: options.Json) -> None:
    """Rate the same matches by several systems and compare the ratings, with error bars.

    A rating system rates the matches in order. performance (PPR) and strengths (maximum likelihood)
    use all matches at once. Players are sorted by the first of these two, or else by the first
    system. Without --by, the last lines show how much calibration, a context and a rating period
    improve the predictions of the rating systems, if the history has columns for them.

    Example:
      equipoise leaderboard examples/arena.csv
      equipoise leaderboard examples/arena.csv --by category --chart leaderboard.svg
      equipoise leaderboard examples/arena.csv --every week --system elo --system performance
    """
    from equipoise.analysis.leaderboard import computation as work

    with working("rating") as job:
        answer = work.make_leaderboards(request, job.progress)
    if as_json:
        print_json(work.leaderboard_json(answer))
        return
    if request.output is None:
        _print(answer)
    else:
        say(f"wrote {request.output}")
    if request.chart is not None:
        say(f"drew {request.chart}")
    say(*answer.notes, *_gains(answer), *reading_lines(answer.reading))


def _gains(answer: LeaderboardAnswer) -> Iterator[str]:
    """Yield what could be added to the rating systems, and what that is worth."""
    from equipoise.analysis.tune.gains import gain_lines
    from equipoise.data.backtest import LEAST_DIFFERENCE

    if answer.gains:
        yield "Chosen on the first half of the matches, and compared on the second:"
    for label, listed in answer.gains.items():
        yield from gain_lines(listed, LEAST_DIFFERENCE, answer.request.confidence, label=label)


def _print(answer: LeaderboardAnswer) -> None:
    """Print the leaderboards one below the other, in one table, and what the error bars are."""
    rows = list(_rows(answer))
    request = answer.request
    columns = [(name, "") for name in (request.by, request.every) if name is not None]
    columns += [("", ">"), ("player", ""), *((name, ">") for name in ("matches", *answer.systems))]
    print_first(columns, rows, len(rows), _SHOWN, "row")
    print_lines("", *_meanings(answer))
    if answer.scores:
        _print_scores(answer)


def _print_scores(answer: LeaderboardAnswer) -> None:
    """Print how well the rating systems predicted, one row for each group and system."""
    from equipoise.analysis.backtest.presentation import METRIC
    from equipoise.analysis.leaderboard.computation import SCORED

    by = [] if answer.request.by is None else [answer.request.by]
    known = [
        name
        for name in SCORED
        if any(scores[name] == scores[name] for _, _, scores in answer.scores)
    ]
    rows = [
        [*([str(group)] if by else []), label, *(f"{values[name]:.5f}" for name in known)]
        for group, label, values in answer.scores
    ]
    columns = [METRIC[name].column for name in known]
    print_lines("", "Predictions of each match from those before it; lower is better")
    print_table(Table([*by, "system", *columns], rows, {*columns}))


def _rows(answer: LeaderboardAnswer) -> Iterator[list[str]]:
    """Yield the cells of every row."""
    request = answer.request
    for board in answer.boards:
        group = "(empty)" if board.group is None else str(board.group)
        head = [group] * (request.by is not None) + [board.period] * (request.every is not None)
        for place, row in enumerate(board.order().tolist(), start=1):
            cells = [*head, str(place), str(board.player_ids[row]), str(board.matches[row])]
            for estimate in board.estimates.values():
                cells.append(_cell(float(estimate.rating[row]), float(estimate.error[row])))
            yield cells


def _cell(rating: float, error: float) -> str:
    if rating != rating:  # NaN
        return ""
    return f"{rating:.1f}" + ("" if error != error else f" +- {error:5.1f}")


def _meanings(answer: LeaderboardAnswer) -> Iterator[str]:
    """Yield a sentence on the error bars, and one on what a period has."""
    request = answer.request
    resampled = counted(request.rounds, "resampled history", "resampled histories")
    sources = {
        "results": "from all results for {}",
        "deviation": "from the deviations of {}",
        "bootstrap": f"from {resampled} for {{}}",
        "likelihood": "from the spread of results for {}",
    }
    parts = [
        words.format(" and ".join(labels))
        for source, words in sources.items()
        if (labels := [label for label, of in answer.error_of.items() if of == source])
    ]
    if parts:
        yield f"Error bars (+-) have {100 * request.confidence:g} % confidence: {', '.join(parts)}."
    boards = [board.ten_to_one() for board in answer.boards]
    for label in boards[0]:
        points = sorted({f"{board[label]:.0f}" for board in boards}, key=float)
        span = " to ".join(dict.fromkeys((points[0], points[-1])))
        yield f"{label}: a difference of {span} points means odds of ten to one."
    if request.every is not None:
        alone = [label for label in answer.systems if answer.systems[label] in _ALONE]
        others = [label for label in answer.systems if label not in alone]
        if others:
            yield f"{' and '.join(others)}: ratings at the end of the {request.every}."
        if alone:
            yield f"{' and '.join(alone)}: from the matches of the {request.every} alone."


#: What is computed from the matches of a period alone.
_ALONE = ("performance", "strengths")
