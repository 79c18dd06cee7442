"""equipoise rebalance: matched parties in, even teams out."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from equipoise.cli import options

EXAMPLE = """\b
Example:
  equipoise rebalance examples/rebalance.json --all"""


def rebalance(
    request: Annotated[
        str,
        typer.Argument(
            metavar="REQUEST",
            help="Ruleset, parties and, to fill one, a session, as JSON; or - for standard input.",
            show_default=False,
        ),
    ],
    method: Annotated[
        Literal["permutation", "combination", "greedy", "optimal", "vertical"] | None,
        typer.Option(help="Use this method. [default: as the ruleset says]"),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="List every sequence, in the document's order.")
    ] = False,
    max_sequences: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="How many --all lists at most.")
    ] = 100_000,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Try all methods, and `equipoise balance` for two teams: distance, gap, time.",
        ),
    ] = False,
    nodes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Partial compositions that branch and bound looks at. [default: 1000000 for "
            "optimal, a tenth for other methods]",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.0, metavar="SECONDS", help="Ends branch and bound early; then the clock decides."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A row a player with the number of the team: .csv, .parquet, .json, .jsonl or "
            ".tsv.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Arrange matched parties into even teams, by the method of the ruleset.

    Parties stay whole, members of a session stay where they are. First the numbers of members are
    made alike, then the teams' mean attributes. A session or a loose ruleset is rebalanced by
    permutation, a strict one by combination up to 12 players, else by greedy.
    """
    from equipoise.cli.rebalance_text import print_comparison, print_rebalance
    from equipoise.cli.report import print_json
    from equipoise.messages.rebalance import rebalance_message
    from equipoise.workflows.rebalance import RebalanceOrder, rebalance_request
    from equipoise.workflows.rebalance_comparison import compare_methods, comparison_message

    order = RebalanceOrder(
        source=sys.stdin.buffer if request == "-" else request,
        method=method,
        candidates=all_,
        max_sequences=max_sequences,
        nodes=nodes,
        time_limit=time_limit,
        output=output,
    )
    if compare:
        rows = compare_methods(order)
        if as_json:
            print_json(comparison_message(rows))
        else:
            print_comparison(rows)
        return
    answer = rebalance_request(order)
    if as_json:
        print_json(rebalance_message(answer.result))
    else:
        print_rebalance(answer)
