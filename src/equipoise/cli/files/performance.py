"""equipoise performance: games in, performance ratings out."""

from __future__ import annotations

from typing import Literal

from equipoise.cli import options
from equipoise.cli.declaring import argument, option

EXAMPLE = """\b
Example:
  equipoise performance examples/interzonal1970.csv --anchor 2557"""


def performance(
    *,
    games: str = argument(
        "Games: .pgn (also .zip, .gz, .bz2, .zst, or a folder), a FIDE report (.trf), a table "
        "with white, black, result or player, opponent, points, games, a cross table, a long "
        "history of duels, or - for standard input (with --format).",
        "GAMES",
    ),
    anchor: list[str] | None = option(
        None,
        "Average rating to start from, instead of the players' own; or a player who is held at a "
        "rating, repeatable.",
        "R|PLAYER=R",
    ),
    select: Literal["document", "mean", "initial"] = option(
        "document",
        "Which of the equilibria, all alike but for a constant: the one reached from the average "
        "rating, the one with that mean, or the one reached from the players' ratings.",
    ),
    confidence: float = option(0.95, "Of error bars and bounds, above 0 and below 1."),
    scale: float = option(1.0, "Spread of the curve: 1 is Elo's, 400 points for odds of ten."),
    curve: Literal["elo", "normal"] = option("elo", "Expected score by difference of ratings."),
    draws: Literal["ignore", "davidson"] = option(
        "ignore", "Count a draw as half a win, or model how often equals draw."
    ),
    colour_advantage: str | None = option(
        None, "Rating points that white (or the home side) is worth more.", "R|estimate"
    ),
    prior: float = option(
        0.0,
        "Give everybody so many drawn games against an average player. Always has an answer, "
        "which is no equilibrium and is labelled so.",
        "GAMES",
        min=0.0,
    ),
    superiority: bool = option(False, "How probable it is that each is better than another."),
    player: list[str] | None = option(
        None,
        "Players to compare with --superiority, and whose error to compute in a large tournament; "
        "repeatable. [default: the first 20]",
        "P",
    ),
    also: list[str] | None = option(None, "Further columns; repeatable.", "linear|recursive"),
    synonyms: options.Synonyms,
    strict: bool = option(False, "Exit 1 where no equilibrium exists."),
    output: str | None = option(
        None, "The whole table: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    ),
    chart: str | None = option(
        None,
        "A chart, .svg, .png or .pdf: ratings with error bars; who swept whom, where no "
        "equilibrium exists.",
        "FILE",
    ),
    title: str | None = option(
        None, "Name of the tournament in the chart. [default: that of the file]"
    ),
    skip_bad: str | None = option(
        None, "Leave out games in which anything is wrong; they are counted and listed.", ""
    ),
    column: options.Column,
    since: str | None = option(None, "Only games from this time on.", "TIME", name="--from"),
    until: str | None = option(None, "Only games before this time.", "TIME"),
    time_format: options.TimeFormat,
    where: list[str] | None = option(
        None, "Only games with this tag or column; repeatable.", "NAME=VALUE"
    ),
    format_: str | None = option(
        None, "How the games are written, where their name does not tell."
    ),
    as_json: options.Json,
) -> None:
    """Rate the performances in a tournament.

    PPR are the ratings that predict every player's score exactly, beside TPR, CPR and FIDE's
    number, which go by the opponents' ratings before the tournament. Where some players took every
    point of others no such ratings exist: then it is said who swept whom, and what can still be
    told.
    """
    from equipoise.analysis.files.performance import (
        PerformanceRequest,
        advantage_of,
        anchors_of,
        extra_columns,
        message_of,
        rate_performance,
    )
    from equipoise.analysis.files.systems import assignments
    from equipoise.cli.files.performance_text import print_performance
    from equipoise.cli.report import print_json

    average, held = anchors_of(anchor or [], "--anchor")
    answer = rate_performance(
        PerformanceRequest(
            games=options.given_file(games),
            format=format_,
            columns=assignments(column or [], "--column"),
            where=assignments(where or [], "--where"),
            since=since,
            until=until,
            time_format=time_format,
            synonyms=synonyms,
            skip_bad=_skips_bad(skip_bad),
            anchor=average,
            anchors=held,
            select=select,
            confidence=confidence,
            scale=scale,
            curve=curve,
            draws=draws,
            colour_advantage=advantage_of(colour_advantage, "--colour-advantage"),
            prior=prior,
            superiority=superiority,
            players=tuple(player or ()),
            also=extra_columns(also or [], "--also"),
            strict=strict,
            output=output,
            chart=chart,
            title=title,
        )
    )
    if as_json:
        print_json(message_of(answer))
    else:
        print_performance(answer)


def _skips_bad(given: str | None) -> bool:
    """Return whether `--skip-bad` is given for games. Raises : InvalidParameterError."""
    from equipoise.errors import InvalidParameterError

    if given not in (None, "matches"):
        raise InvalidParameterError(f"--skip-bad takes no value for games; got {given!r}")
    return given is not None
