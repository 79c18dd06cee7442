"""equipoise balance: a lobby in, fair teams out."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from equipoise.cli import options

EXAMPLE = """\b
Example:
  equipoise balance examples/lobby.csv"""


def balance(
    lobby: Annotated[
        str | None,
        typer.Argument(
            metavar="LOBBY",
            help="Who waits: .csv, .tsv, .parquet, .json or .jsonl with columns player and rating; "
            "optional deviation, effective_rating or form, party, team (locked) and avoid (ids "
            "separated by ;). Or - for standard input (with --format).",
            show_default=False,
        ),
    ] = None,
    ratings: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Ratings by `equipoise rate`, instead of LOBBY."),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.npz", help="A state saved by `equipoise rate --save`, instead of LOBBY."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time of the match, with --state. [default: time of the last match]",
        ),
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="How --at is written, as `equipoise rate` takes it: iso, s, ms, ...",
        ),
    ] = None,
    players: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Who waits, with --state or --ratings. An id with a comma in it goes in double "
            "quotes, as in CSV.",
        ),
    ] = None,
    teams: Annotated[int | None, typer.Option(min=2, help="Number of teams. [default: 2]")] = None,
    size: Annotated[
        int | None, typer.Option(min=1, help="Players of the largest team, instead of --teams.")
    ] = None,
    no_top_two: Annotated[
        bool, typer.Option("--no-top-two", help="The top players may play together.")
    ] = False,
    no_uneven: Annotated[
        bool,
        typer.Option("--no-uneven", help="The top player may be in a larger team."),
    ] = False,
    uncertainty_weight: Annotated[
        float, typer.Option(min=0.0, help="How much a difference of uncertainty counts: lambda.")
    ] = 0.8,
    objective: Annotated[
        Literal["mean", "sum"],
        typer.Option(help="Compare mean ratings and uncertainty, or sums of ratings alone."),
    ] = "mean",
    alternatives: Annotated[
        int, typer.Option(min=0, max=1000, help="How many of the next best splits to show.")
    ] = 5,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="SECONDS", help="Ends a search; more teams than two."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of a search.")] = 0,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A row a player with the number of the team: .csv, .parquet, .json, .jsonl or "
            ".tsv.",
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="How the input is written, where its name does not tell."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Split a lobby into fair teams.

    The difference of mean effective ratings, plus 0.8 times the difference of uncertainty, is made
    as small as it can be. Parties stay together, locked players and players who avoid each other
    apart. The two best are on different sides, and where sizes differ the best is in the smaller
    team, unless a party makes that impossible. With --state the chances are those of `equipoise
    predict`, and players who are not in the state are newcomers.
    """
    from equipoise.cli.balance_text import print_balance
    from equipoise.cli.report import print_json
    from equipoise.workflows.balance import BalanceRequest, balance_lobby, message_of

    answer = balance_lobby(
        BalanceRequest(
            lobby=sys.stdin.buffer if lobby == "-" else lobby,
            state=state,
            at=at,
            time_format=time_format,
            ratings=sys.stdin.buffer if ratings == "-" else ratings,
            players=None if players is None else _ids(players),
            format=format_,
            teams=teams,
            size=size,
            objective=objective,
            uncertainty_weight=uncertainty_weight,
            top_two=not no_top_two,
            uneven=not no_uneven,
            alternatives=alternatives,
            seed=seed,
            time_limit=time_limit,
            output=output,
        )
    )
    if as_json:
        print_json(message_of(answer))
    else:
        print_balance(answer, uncertainty_weight=uncertainty_weight, by_sum=objective == "sum")


def _ids(text: str) -> list[str]:
    """Return ids separated by commas. Raises : InvalidParameterError."""
    import csv

    from equipoise.errors import InvalidParameterError

    try:
        (ids,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        ids = []
    ids = [one.strip() for one in ids]
    if not ids or not all(ids):
        raise InvalidParameterError(
            "--players takes ids separated by commas, in double quotes where one has a comma; "
            f"got {text!r}"
        )
    return ids
