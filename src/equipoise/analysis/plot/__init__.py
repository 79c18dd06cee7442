"""What to draw, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from equipoise.analysis.requests import HistoryRequest, typed

#: Unit of the horizontal axis: the time of a match, its number in the history, or the number of the
#: player's rated matches.
Along: TypeAlias = Literal["time", "match", "played"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotRequest:
    """What to draw, and where.

    players : ids of players whose ratings are drawn, or marked in the distribution
    look_back : whether ratings are those of all results of the history; then no players mean the
        three who were best at some time
    along : "time", "match" or "played"; None means time, or match without times
    output : path of the chart; None writes no file
    """

    players: tuple[str, ...] = typed(
        (),
        "Player to draw, or to mark in --distribution. Repeatable.",
        "ID",
        name="--player",
    )
    spread: bool = typed(False, "Draw the distribution of all ratings.", name="--distribution")
    min_matches: int | None = typed(
        None,
        "With --distribution: leave out players with fewer rated matches. [default: 1]",
        least=1,
    )
    output: str | None = typed(
        None, "Write the chart: .svg, .png or .pdf. [default: draw it in the terminal]", "FILE"
    )
    look_back: bool = typed(
        False,
        "Draw ratings in hindsight, which also count later results. For elo, glicko and elo-mmx. "
        "Without --player: the three players who were best at some time.",
    )
    conservative: bool = typed(
        False, "With --distribution: use conservative ratings (the rating minus three deviations)."
    )
    along: Along | None = typed(
        None,
        "Horizontal axis. time: the time of the match. match: its number in the history. played: "
        "the number of matches that the player has played. [default: time, or match without times]",
        "time|match|played",
        name="--by",
    )
    band: bool = typed(True, "Leave out the band of the 95 % range.", name="--no-band", off=True)
    performances: bool = typed(
        True, "Leave out the dots of performances.", name="--no-performances", off=True
    )
    size: str | None = typed(
        None, "Size of the chart in the file, in inches. [default: 7.5x4.8]", "WIDTHxHEIGHT"
    )
    history: HistoryRequest
