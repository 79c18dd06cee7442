"""The games of Sharjah 2017 that no report names follow from the printed TPRs.

A TPR depends on the points and on the opponents. Every choice of unnamed opponents that was free
in a round is tried against the printed TPR of each player; what one player's choices have in
common binds the others. The printed PPRs are not used, so that they are a test of the result.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
from papers.performance.tournaments import table

#: Points around a printed TPR; 0.5 would do for the nearest whole number.
TOLERANCE = 0.9
Choices = dict[str, list[frozenset[str]]]
GAMES = table("sharjah2017")
PRINTED = {
    row["name"]: row
    for row in table("table2").filter(pl.col("tournament") == "sharjah").iter_rows(named=True)
}


def pairs(games: pl.DataFrame) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in games.select("white", "black").iter_rows()}


def expects(player: str, opponents: frozenset[str], off: float) -> float:
    """Return what the printed TPR, changed by `off`, expects against these opponents."""
    ratings = np.array([PRINTED[one]["rating"] for one in opponents])
    rating = PRINTED[player]["tpr"] + off
    return float(np.sum(1.0 / (1.0 + 10.0 ** ((ratings - rating) / 400.0))))


def possible(named: pl.DataFrame) -> Choices:
    """Return the sets of unnamed opponents of each player with which the TPR is as printed."""
    met = pairs(named)
    free = {
        number: set(PRINTED) - set(games["white"]) - set(games["black"])
        for (number,), games in named.group_by("round")
    }
    choices: Choices = {}
    for player in PRINTED:
        known = frozenset(one for pair in met if player in pair for one in pair if one != player)
        others = set().union(*(names for names in free.values() if player in names))
        others -= {player, *known}
        choices[player] = [
            chosen
            for chosen in map(frozenset, combinations(sorted(others), 9 - len(known)))
            if expects(player, known | chosen, -TOLERANCE)
            <= PRINTED[player]["points"]
            <= expects(player, known | chosen, TOLERANCE)
        ]
    return choices


def bound(choices: Choices) -> Choices:
    """Return the choices that agree with what all choices of the others have in common."""
    before = -1
    while before != (size := sum(map(len, choices.values()))):
        before = size
        for one in choices:
            for other in choices:
                met = {one in chosen for chosen in choices[other]}
                if one != other and len(met) == 1:
                    choices[one] = [own for own in choices[one] if (other in own) in met]
    return choices


def test_no_other_pairings_have_the_printed_tprs():
    named = GAMES.filter(pl.col("reconstructed").is_null())
    assert len(GAMES) - len(named) == 25
    left = bound(possible(named))
    assert all(len(sets) == 1 for sets in left.values())
    found = {frozenset((one, other)) for one, (sets,) in left.items() for other in sets}
    assert found == pairs(GAMES) - pairs(named)


def test_every_player_has_nine_opponents_and_the_printed_points():
    assert len(pairs(GAMES)) == len(GAMES) == 81
    points = dict.fromkeys(PRINTED, 0.0)
    for game in GAMES.iter_rows(named=True):
        white = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}[game["result"]]
        points[game["white"]] += white
        points[game["black"]] += 1.0 - white
        assert game["white_elo"] == PRINTED[game["white"]]["rating"]
        assert game["black_elo"] == PRINTED[game["black"]]["rating"]
    assert points == {name: row["points"] for name, row in PRINTED.items()}
    for _, games in GAMES.group_by("round"):
        assert {*games["white"], *games["black"]} == set(PRINTED)
