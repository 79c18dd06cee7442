"""What a system expects of a match that has not been played."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.arrays import Floats
from equipoise.data.outlook import Outlook

#: `Prediction.by` where no system is asked: the mean ratings of the teams are compared.
TEAM_MEAN = "team mean"

#: `Prediction.draw_by` where draws are estimated from how often two teams drew before.
ESTIMATE = "estimate"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prediction:
    """Expected scores of the teams of one match.

    expected : shape (teams,); a team's mean score against each other team, a win 1, a tie 1/2
    outlook : of the teams: the chances of every pair, draws left out
    by : name of the system that expects it, or "team mean" (READINGS A15)
    win, draw : of two teams, shape (2,) and a number: win + draw/2 = expected; None for more teams,
        and where the chance of a draw is not known
    draw_by : name of the system where it models draws, or "estimate"; None without win and draw
    newcomers : ids of unknown players, who count as newcomers
    """

    expected: Floats
    outlook: Outlook
    by: str
    win: Floats | None = None
    draw: float | None = None
    draw_by: str | None = None
    newcomers: tuple[Any, ...] = ()
