"""Having a system's kernels compiled before the first match waits for them."""

from __future__ import annotations

import numpy as np

from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.workflows.checkpointing import RunningPool
from equipoise.workflows.match_history import LoggedMatch
from equipoise.workflows.posted_matches import PoolRules, days


def warm(rules: PoolRules) -> None:
    """Rate and read two made-up matches as a pool with these rules does, and forget them.

    The first time after an installation this takes up to a minute, later a fraction of a second.
    """
    running = RunningPool.start(rules)
    size = 2 if rules.able.max_team_size is None else 1
    running.rate([_match(number, size) for number in range(2)])
    rows = np.arange(len(running.players))
    running.ratings(rows)
    rules.system.at(running.state, rows, days(running.position[0]) if rules.timed else None)


def _match(number: int, size: int) -> LoggedMatch:
    """Return a match of two teams; performances are given so that systems that read them do."""
    teams = [
        TeamRequest(
            players=[
                ParticipationRequest(player=f"{team}-{one}", performance=float(one))
                for one in range(size)
            ],
            rank=team,
        )
        for team in range(2)
    ]
    return LoggedMatch(number + 1, number, MatchRequest(match=str(number), teams=teams))
