"""What a system made of matches, as rows of the database."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.posting.rating import (
    LoggedMatch,
    history_of,
    object_array,
    places_of,
    players_of,
)

#: Of every match, the rank and the number of players of every team.
_MATCHES = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=6), max_size=5
)


@given(_MATCHES)
def test_a_place_is_the_number_of_teams_that_came_before(
    drawn: list[list[tuple[int, int]]],
) -> None:
    """Against counting them, with ties, teams of several and matches of one team."""
    matches, expected = [], []
    for number, teams in enumerate(drawn, 1):
        named = [
            TeamRequest([f"{number}-{t}-{one}" for one in range(size)], rank)
            for t, (rank, size) in enumerate(teams)
        ]
        matches.append(LoggedMatch(number, number, MatchRequest(str(number), named)))
        for rank, size in teams:
            expected += [sum(other < rank for other, _ in teams)] * size
    players = [player for match in matches for player in players_of(match.request)]
    rows = {player: row for row, player in enumerate(players)}
    rules = PoolRules(PoolRequest(system="trueskill"))
    history = history_of(matches, rows, object_array(players), rules)
    assert np.array_equal(places_of(history), expected)
