"""Which match to explain, and for which player."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.analysis.requests import (
    HistoryRequest,
    Initial,
    InitialMapping,
    Restart,
    typed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainRequest:
    """Which match to explain, and for which player.

    player, match : ids as text; None means the player's last rated match
    all_since : explain every match from this time on instead, written as a bound of the history is
    state : path of a saved state that the history continues
    """

    player: str = typed(..., "The player whose rating change is explained.", "PLAYER")
    match: str | None = typed(
        None, "Match to explain. [default: the player's last rated match]", "MATCH"
    )
    all_since: str | None = typed(
        None,
        "Explain every match of the player from this time on, one per line. Earlier matches "
        "still count.",
        "TIME",
        name="--since",
    )
    state: str | None = typed(
        None, "Continue from a saved state, with its system. HISTORY continues it.", "FILE.npz"
    )
    restart: Restart = False
    initial: Initial = None
    initial_mapping: InitialMapping = None
    posterior: bool = typed(
        False,
        "Add the posterior density of the skill after the match, with mean, median, standard "
        "deviation and 95 % range. For elo-mmr and elo-mmx.",
    )
    chart: str | None = typed(
        None, "With --posterior: draw the density (.svg, .png or .pdf).", "FILE"
    )
    history: HistoryRequest
