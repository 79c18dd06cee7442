"""equipoise rebalance: matched parties in, even teams out."""

from __future__ import annotations

from typing import Literal

from equipoise.cli import options
from equipoise.cli.declaring import argument, option

EXAMPLE = """\b
Example:
  equipoise rebalance examples/rebalance.json --all"""


def rebalance(
    *,
    request: str = argument(
        "Ruleset, parties and, to fill one, a session, as JSON; or - for standard input.", "REQUEST"
    ),
    method: Literal["permutation", "combination", "greedy", "optimal", "vertical"] | None = option(
        None, "Use this method. [default: as the ruleset says]"
    ),
    all_: bool = option(False, "List every sequence, in the document's order."),
    max_sequences: int = option(100_000, "How many --all lists at most.", min=1, max=1000000),
    compare: bool = option(
        False, "Try all methods, and `equipoise balance` for two teams: distance, gap, time."
    ),
    nodes: int | None = option(
        None,
        "Partial compositions that branch and bound looks at. [default: 1000000 for optimal, a "
        "tenth for other methods]",
        min=1,
    ),
    time_limit: float | None = option(
        None, "Ends branch and bound early; then the clock decides.", "SECONDS", min=0.0
    ),
    output: options.TeamsTable,
    as_json: options.Json,
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
        source=options.given_file(request),
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
