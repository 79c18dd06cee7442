"""equipoise balance: a lobby in, fair teams out."""

from __future__ import annotations

from typing import Literal

from equipoise.cli import options
from equipoise.cli.declaring import argument, option

EXAMPLE = """\b
Example:
  equipoise balance examples/lobby.csv"""


def balance(
    *,
    lobby: str | None = argument(
        "Who waits: .csv, .tsv, .parquet, .json or .jsonl with columns player and rating; "
        "optional deviation, effective_rating or form, party, team (locked) and avoid (ids "
        "separated by ;). Or - for standard input (with --format).",
        "LOBBY",
        default=None,
    ),
    ratings: str | None = option(None, "Ratings by `equipoise rate`, instead of LOBBY.", "FILE"),
    state: str | None = option(
        None, "A state saved by `equipoise rate --save`, instead of LOBBY.", "FILE.npz"
    ),
    at: str | None = option(
        None, "Time of the match, with --state. [default: time of the last match]", "TIME"
    ),
    time_format: str | None = option(
        None, "How --at is written, as `equipoise rate` takes it: iso, s, ms, ...", "FORMAT"
    ),
    players: str | None = option(
        None,
        "Who waits, with --state or --ratings. An id with a comma in it goes in double quotes, as "
        "in CSV.",
        "A,B,...",
    ),
    teams: int | None = option(None, "Number of teams. [default: 2]", min=2),
    size: int | None = option(None, "Players of the largest team, instead of --teams.", min=1),
    no_top_two: bool = option(False, "The top players may play together."),
    no_uneven: bool = option(False, "The top player may be in a larger team."),
    uncertainty_weight: float = option(
        0.8, "How much a difference of uncertainty counts: lambda.", min=0.0
    ),
    objective: Literal["mean", "sum"] = option(
        "mean", "Compare mean ratings and uncertainty, or sums of ratings alone."
    ),
    alternatives: int = option(5, "How many of the next best splits to show.", min=0, max=1000),
    time_limit: float | None = option(
        None, "Ends a search; more teams than two.", "SECONDS", min=0.0
    ),
    seed: int = option(0, "Of a search.", min=0),
    output: options.TeamsTable,
    format_: str | None = option(None, "How the input is written, where its name does not tell."),
    as_json: options.Json,
) -> None:
    """Split a lobby into fair teams.

    The difference of mean effective ratings, plus 0.8 times the difference of uncertainty, is made
    as small as it can be. Parties stay together, locked players and players who avoid each other
    apart. The two best are on different sides, and where sizes differ the best is in the smaller
    team, unless a party makes that impossible. With --state the chances are those of `equipoise
    predict`, and players who are not in the state are newcomers.
    """
    from equipoise.analysis.files.balance import BalanceRequest, balance_lobby, message_of
    from equipoise.cli.files.balance_text import print_balance
    from equipoise.cli.report import print_json
    from equipoise.formats.lobby import ids_of

    answer = balance_lobby(
        BalanceRequest(
            lobby=options.given_file(lobby),
            state=state,
            at=at,
            time_format=time_format,
            ratings=options.given_file(ratings),
            players=None if players is None else ids_of(players, "--players"),
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
