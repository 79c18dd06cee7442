"""equipoise leaderboard: several systems side by side, with error bars."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.report import (
    print_json,
    print_lines,
    print_table,
    reading_lines,
    say,
    say_compiled,
    working,
)
from equipoise.cli.tables import Table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.studies.leaderboard import LeaderboardAnswer

EXAMPLE = """\b
Example:
  equipoise leaderboard examples/arena.csv
  equipoise leaderboard examples/arena.csv --by category --chart leaderboard.svg
  equipoise leaderboard examples/arena.csv --every week --system elo --system performance"""

#: Rows on a terminal; a file or a pipe gets all of them.
_SHOWN = 60


def leaderboard(
    *,
    history: options.History,
    system: list[str] | None = option(
        None,
        "A rating system, or performance or strengths, optionally with a label. Repeatable. "
        "[default: elo, bradley-terry unless matches have too many teams for it, and, if no team "
        "has several players, performance, or strengths if matches have more than two players]",
        "[LABEL=]NAME",
    ),
    set_: list[str] | None = option(
        None,
        "Set a parameter of the system with this label. Repeatable. The default label of a system "
        "is its name.",
        "[LABEL.]NAME=VALUE",
    ),
    by: str | None = option(
        None,
        "Make a leaderboard for each value of this column, from its matches alone.",
        "COLUMN",
    ),
    every: Literal["day", "week", "month", "year"] | None = option(
        None,
        "Make a leaderboard for each day, week (from Monday), month or year: ratings at its end, "
        "performances and strengths from its matches alone.",
        "day|week|month|year",
    ),
    errors: Literal["auto", "deviation", "bootstrap", "none"] = option(
        "auto",
        "Error bars of rating systems. auto: from all results for bradley-terry in duels, from the "
        "deviations of other systems, or else by the bootstrap. deviation: the same, also for "
        "bradley-terry. bootstrap: from the ratings of resampled matches.",
        "auto|deviation|bootstrap|none",
    ),
    rounds: int = option(100, "Number of resampled histories of the bootstrap.", "N"),
    seed: int = option(0, "Random seed of the bootstrap.", "N"),
    anchor: float = option(1500.0, "Mean of performances and strengths.", "R"),
    confidence: options.Confidence,
    output: str | None = option(
        None, "Write the table: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    ),
    chart: str | None = option(
        None,
        "Draw a chart (.svg, .png or .pdf): a panel for each system, dots with error bars. With "
        "--every, one system over time: the first five players of the last period.",
        "FILE",
    ),
    title: options.Title,
    threads: options.Threads,
    raw: options.RawText,
    reading: options.Reading,
    as_json: options.Json,
) -> None:
    """Rate the same matches by several systems, side by side, with error bars.

    A rating system goes through the matches in order. performance (PPR) and strengths
    (maximum likelihood) use all matches at once, in no order. Players are ordered by
    the first of these two, or else by the first system.
    """
    from equipoise.analysis.files.reading import history_message
    from equipoise.analysis.files.systems import read_settings
    from equipoise.analysis.studies import leaderboard as work

    settings = read_settings(None)
    request = work.LeaderboardRequest(
        history=reading.request(history, settings),
        systems=tuple(system or ()),
        settings=settings,
        assigned=tuple(set_ or ()),
        by=by,
        every=every,
        errors=errors,
        rounds=rounds,
        seed=seed,
        anchor=anchor,
        confidence=confidence,
        output=output,
        raw=raw,
        chart=chart,
        title=title,
        threads=options.thread_count(threads),
    )
    with working("rating") as job:
        answer = work.make_leaderboards(request, job.progress)
    if as_json:
        print_json(work.leaderboard_json(answer))
        return
    if output is None:
        _print(answer)
    else:
        say(f"wrote {output}")
    if chart is not None:
        say(f"drew {chart}")
    say_compiled(job.compilation)
    say(*answer.notes, *reading_lines(history_message(answer.history, answer.reading)))


def _print(answer: LeaderboardAnswer) -> None:
    """Print the leaderboards one below the other, in one table, and what the error bars are."""
    rows = list(_rows(answer))
    shown = rows[:_SHOWN] if sys.stdout.isatty() else rows
    request = answer.request
    named = [name for name in (request.by, request.every) if name is not None]
    numbers = ["", "matches", *answer.systems]
    print_table(Table([*named, "", "player", "matches", *answer.systems], shown, {*numbers}))
    print_lines("", *_meanings(answer))
    if len(shown) < len(rows):
        say(f"... and {counted(len(rows) - len(shown), 'more row')}; --output FILE keeps them all.")


def _rows(answer: LeaderboardAnswer) -> Iterator[list[str]]:
    """Yield the cells of every row."""
    request = answer.request
    for board in answer.boards:
        head = (
            [] if request.by is None else ["(empty)" if board.group is None else str(board.group)]
        )
        head += [] if request.every is None else [board.period]
        for place, row in enumerate(board.order().tolist(), start=1):
            cells = [*head, str(place), str(board.player_ids[row]), str(board.matches[row])]
            for one in board.estimates.values():
                cells.append(_cell(float(one.rating[row]), float(one.error[row])))
            yield cells


def _cell(rating: float, error: float) -> str:
    if rating != rating:  # NaN
        return ""
    return f"{rating:.1f}" + ("" if error != error else f" +- {error:5.1f}")


def _meanings(answer: LeaderboardAnswer) -> Iterator[str]:
    """Yield a sentence on the error bars, and one on what a period has."""
    request = answer.request
    sources = {
        "results": "from all results for {}",
        "deviation": "from the deviations of {}",
        "bootstrap": f"from {counted(request.rounds, 'resampled history', 'resampled histories')} "
        "for {}",
        "likelihood": "from the spread of results for {}",
    }
    parts = []
    for source, words in sources.items():
        labels = [label for label, of in answer.error_of.items() if of == source]
        if labels:
            parts.append(words.format(" and ".join(labels)))
    if parts:
        yield f"Error bars (+-) have {100 * request.confidence:g} % confidence: {', '.join(parts)}."
    boards = [board.ten_to_one() for board in answer.boards]
    for label in boards[0]:
        points = sorted({f"{one[label]:.0f}" for one in boards}, key=float)
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
