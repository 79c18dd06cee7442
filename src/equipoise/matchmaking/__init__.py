"""The queue: who plays with whom.

Examples
--------
>>> from equipoise.matchmaking import MatchRuleset, Ticket, tick
>>> rules = MatchRuleset(min_number=2, max_number=2, player_min_number=1, player_max_number=1)
>>> from equipoise.data.rebalancing import MatchedPlayer
>>> queue = [Ticket(ticket=name, created_at=0.0, players=(MatchedPlayer(player=name),))
...          for name in ("ann", "ben", "cem")]
>>> tick(queue, [], rules, 10.0).matches[0].teams
(('ann',), ('ben',))
"""

from equipoise.data.matchmaking import (
    Alliance,
    AllianceFlexing,
    Backfill,
    Flexing,
    Match,
    MatchingRule,
    MatchOption,
    MatchRuleset,
    Session,
    Tick,
    Ticket,
    Waiting,
)
from equipoise.matchmaking.ticking import tick

__all__ = [
    "Alliance",
    "AllianceFlexing",
    "Backfill",
    "Flexing",
    "Match",
    "MatchOption",
    "MatchRuleset",
    "MatchingRule",
    "Session",
    "Tick",
    "Ticket",
    "Waiting",
    "tick",
]
