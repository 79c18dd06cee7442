"""What a system expects of a match that has not been played."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.arrays import Floats
from equipoise.data.outlook import Outlook


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prediction:
    """Expected scores of the teams of one match.

    expected : shape (teams,); a team's mean score against each other team, a win 1, a tie 1/2
    outlook : of the teams: the chances of every pair
    win, draw : probabilities between two teams where the system models draws, else None
    """

    expected: Floats
    outlook: Outlook
    win: Floats | None = None
    draw: float | None = None
