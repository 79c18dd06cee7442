"""Every sequence of a method, in the document's order.

Source: [MR]_; READINGS D2, D3, D9.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from equipoise.balance import combination, permutation
from equipoise.balance.board import Placed
from equipoise.balance.methods import Outcome
from equipoise.balance.permutation import Stranded
from equipoise.balance.placing import Placing

#: Parties in all listed sequences together, at most.
MOST_LISTED = 2_000_000


@dataclass(frozen=True, slots=True)
class Listing:
    """Sequences in the document's order.

    placed : those that place everyone as allowed; stranded : how many do not
    complete : there are no more
    """

    placed: list[Placed]
    stranded: int
    complete: bool


def listing(placing: Placing, method: str, most: int, outcome: Outcome) -> Listing:
    """Return the sequences of a method, at most so many.

    most : sequences, and five times as many placements
    outcome : the arrangement of a method that has but one
    """
    most = min(most, max(1, MOST_LISTED // placing.parties))
    if method == "permutation":
        found: Iterator[Placed | Stranded] = permutation.sequences(placing, 5 * most)
    elif method == "combination":
        found = _filled(placing, 5 * most)
    else:
        assert outcome.team_of is not None
        evenness = placing.evenness_of(outcome.team_of)
        return Listing([Placed(outcome.order, outcome.team_of, evenness)], 0, True)
    placed: list[Placed] = []
    stranded = 0
    for one in itertools.chain(found, [None]):
        if one is None:
            return Listing(placed, stranded, True)
        if len(placed) + stranded >= most:
            break
        if isinstance(one, Placed):
            placed.append(one)
        elif one.sequences == 0:
            break
        else:
            stranded += one.sequences
    return Listing(placed, min(stranded, most - len(placed)), False)


def _filled(placing: Placing, most: int) -> Iterator[Placed | Stranded]:
    """Yield fillings as sequences; Stranded(0) where it ended early."""
    fillings = combination.Fillings(placing, most)
    for team_of in fillings:
        order = combination.sequence_of(placing, team_of)
        yield Placed(order, team_of, placing.evenness_of(team_of))
    if not fillings.complete:
        yield Stranded(0)
