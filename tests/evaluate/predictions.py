"""Histories with predictions, drawn by hypothesis, for tests of metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from equipoise.data.history import History
from equipoise.data.outlook import Curve, Outlook
from reference.metrics import Team

#: Few values, so that equal predictions are common; no two chances lie on the edge of a bin.
CENTRES = (1203.0, 1500.0, 1500.0, 1611.0, 2040.0)
VARIANCES = (9000.0, 20500.0)


@st.composite
def predicted_matches(draw: st.DrawFn, *, max_teams: int = 9) -> list[list[Team]]:
    """Draw matches, with ties, equal predictions, newcomers and teams of unequal size."""
    players = draw(st.integers(2, 14))
    largest = draw(st.sampled_from([1, 1, 3]))
    matches = []
    for _ in range(draw(st.integers(1, 8))):
        order = draw(st.permutations(range(players)))
        sizes = draw(st.lists(st.integers(1, largest), min_size=1, max_size=max_teams))
        edges = [int(edge) for edge in np.cumsum([0, *sizes]) if edge <= players]
        ranks = dense(draw(st.lists(st.integers(0, 4), min_size=len(edges), max_size=len(edges))))
        teams = [
            Team(
                draw(st.sampled_from(CENTRES)),
                draw(st.sampled_from(VARIANCES)),
                rank,
                order[low:high],
            )
            for low, high, rank in zip(edges[:-1], edges[1:], ranks, strict=False)
        ]
        if teams:
            matches.append(rerank(teams))
    return matches or [[Team(1500.0, 9000.0, 0, [0]), Team(1500.0, 9000.0, 1, [1])]]


def rerank(teams: Sequence[Team]) -> list[Team]:
    """Return teams whose ranks have no gaps."""
    ranks = dense([team.rank for team in teams])
    return [
        Team(team.centre, team.variance, rank, team.players)
        for team, rank in zip(teams, ranks, strict=True)
    ]


def dense(ranks: Sequence[int]) -> list[int]:
    """Return ranks numbered from 0 without gaps."""
    present = sorted(set(ranks))
    return [present.index(rank) for rank in ranks]


def history_of(matches: Sequence[Sequence[Team]]) -> History:
    """Return the matches as a history; players are numbers."""
    members = [(m, t, p) for m, match in enumerate(matches) for t, p in enumerate(match)]
    rows = [(m, t, team.rank, player) for m, t, team in members for player in team.players]
    match, team, rank, player = np.array(rows, dtype=np.int64).T.copy()
    return History(
        match_ids=np.arange(len(matches)),
        player_ids=np.arange(int(player.max()) + 1),
        offsets=np.concatenate([[0], np.cumsum(np.bincount(match, minlength=len(matches)))]),
        player=player,
        team=team,
        rank=rank,
    )


def outlook_of(matches: Sequence[Sequence[Team]], curve: Curve) -> Outlook:
    """Return the outlook of every participation; a team plays at the mean of its members.

    The mean of n independent performances varies by 1/n of what each does.
    """
    teams = [team for match in matches for team in match for _ in team.players]
    return Outlook(
        centre=np.array([team.centre for team in teams]),
        scale=np.sqrt(np.array([team.variance * len(team.players) for team in teams])),
        curve=curve,
    )
