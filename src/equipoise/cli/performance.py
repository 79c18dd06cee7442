"""equipoise performance: games in, performance ratings out."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from equipoise.cli import options

EXAMPLE = """\b
Example:
  equipoise performance examples/interzonal1970.csv --anchor 2557"""


def performance(
    games: Annotated[
        str,
        typer.Argument(
            metavar="GAMES",
            help="Games: .pgn (also .zip, .gz, .bz2, .zst, or a folder), a FIDE report (.trf), a "
            "table with white, black, result or player, opponent, points, games, a cross table, a "
            "long history of duels, or - for standard input (with --format).",
            show_default=False,
        ),
    ],
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="R|PLAYER=R",
            help="Average rating to start from, instead of the players' own; or a player who is "
            "held at a rating, repeatable.",
        ),
    ] = None,
    select: Annotated[
        Literal["document", "mean", "initial"],
        typer.Option(
            help="Which of the equilibria, all alike but for a constant: the one reached from the "
            "average rating, the one with that mean, or the one reached from the players' ratings."
        ),
    ] = "document",
    confidence: Annotated[
        float, typer.Option(help="Of error bars and bounds, above 0 and below 1.")
    ] = 0.95,
    scale: Annotated[
        float, typer.Option(help="Spread of the curve: 1 is Elo's, 400 points for odds of ten.")
    ] = 1.0,
    curve: Annotated[
        Literal["elo", "normal"], typer.Option(help="Expected score by difference of ratings.")
    ] = "elo",
    draws: Annotated[
        Literal["ignore", "davidson"],
        typer.Option(help="Count a draw as half a win, or model how often equals draw."),
    ] = "ignore",
    colour_advantage: Annotated[
        str | None,
        typer.Option(
            metavar="R|estimate", help="Rating points that white (or the home side) is worth more."
        ),
    ] = None,
    prior: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="GAMES",
            help="Give everybody so many drawn games against an average player. Always has an "
            "answer, which is no equilibrium and is labelled so.",
        ),
    ] = 0.0,
    superiority: Annotated[
        bool,
        typer.Option("--superiority", help="How probable it is that each is better than another."),
    ] = False,
    player: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P",
            help="Players to compare with --superiority, and whose error to compute in a large "
            "tournament; repeatable. [default: the first 20]",
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="linear|recursive", help="Further columns; repeatable."),
    ] = None,
    synonyms: options.Synonyms = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 where no equilibrium exists.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The whole table: .csv, .parquet, .json, .jsonl or .tsv."
        ),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A chart, .svg, .png or .pdf: ratings with error bars; who swept whom, where no "
            "equilibrium exists.",
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(help="Name of the tournament in the chart. [default: that of the file]"),
    ] = None,
    skip_bad: Annotated[
        str | None,
        typer.Option(
            "--skip-bad",
            metavar="",
            help="Leave out games in which anything is wrong; they are counted and listed.",
        ),
    ] = None,
    column: options.Column = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Only games from this time on.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Only games before this time.")
    ] = None,
    time_format: options.TimeFormat = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Only games with this tag or column; repeatable."),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="How the games are written, where their name does not tell."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Rate the performances in a tournament.

    PPR are the ratings that predict every player's score exactly, beside TPR, CPR and FIDE's
    number, which go by the opponents' ratings before the tournament. Where some players took every
    point of others no such ratings exist: then it is said who swept whom, and what can still be
    told.
    """
    from equipoise.cli.performance_text import print_performance
    from equipoise.cli.report import print_json
    from equipoise.workflows.performance import (
        PerformanceRequest,
        message_of,
        rate_performance,
    )
    from equipoise.workflows.performance_options import (
        advantage_of,
        anchors_of,
        extra_columns,
    )
    from equipoise.workflows.settings import assignments

    average, held = anchors_of(anchor or [], "--anchor")
    answer = rate_performance(
        PerformanceRequest(
            games=sys.stdin.buffer if games == "-" else games,
            format=format_,
            columns=assignments(column or [], "--column"),
            where=assignments(where or [], "--where"),
            since=since,
            until=until,
            time_format=time_format,
            synonyms=synonyms,
            skip_bad=options.skip_bad_games(skip_bad),
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
