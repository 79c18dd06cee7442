"""Which match to predict."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TextIO

from equipoise.analysis.requests import Calibrate, InitialMapping, typed


def _field(path: str, _: str) -> str | TextIO:
    return sys.stdin if path == "-" else path


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictRequest:
    """A match to predict, as users name it, and what to compute.

    state : path of a saved state; None before the first match, with known ratings
    teams : text for each team, ids separated by commas; an id with a comma is quoted as in CSV
    field : path or open file with one player on each line, who are further teams of one player
    at : time of the match, as text, in `time_format`; None: that of the last match
    calibrate : path of a history from which a curve that corrects chances is learned
    home : id of a player whose team is at home
    samples, seed : of the distribution of `places`
    players : ids for the what-if; empty means the first player
    """

    state: str | None = typed(
        None, "State saved by `equipoise rate --save`, with its system.", "FILE.npz"
    )
    initial: str | None = typed(
        None,
        "Known ratings before the first match, instead of a state: a table with the columns "
        "player, rating and optionally deviation. Players not in it are newcomers.",
        "FILE",
    )
    initial_mapping: InitialMapping = None
    calibrate: Calibrate = None
    teams: tuple[str, ...] = typed(
        (),
        "Players of one team. Repeat the option for every team. Put an id that contains a comma "
        "in double quotes, as in CSV.",
        "A,B,...",
        name="--team",
    )
    field: str | TextIO | None = typed(
        None,
        "Add teams of one player from a file with a player on each line, from a CSV file with "
        "the column player, or from standard input (-).",
        "FILE",
        read=_field,
    )
    at: str | None = typed(
        None, "Time of the match. [default: time of the last match of the state]", "TIME"
    )
    time_format: str | None = typed(
        None, "Format of --at: iso, s, ms, ..., as for `equipoise rate`.", "FORMAT"
    )
    home: str | None = typed(
        None, "Player whose team is at home (systems with home_advantage).", "PLAYER"
    )
    context: str | None = typed(
        None,
        "Context of the match, such as its surface or map (systems with context_deviation).",
        "NAME",
    )
    draw_rate: float | None = typed(
        None,
        "Probability of a draw between equal teams, from 0 to 1, for systems that do not model "
        "draws. [default: the draw rate of the state, if it has 50 matches of two teams]",
        "RATE",
    )
    beta: float | None = typed(
        None,
        "Deviation of a performance in this match, instead of the system's (elo-mmr, elo-mmx).",
        "POINTS",
    )
    gamma: float | None = typed(
        None,
        "Deviation of the skill change before this match, instead of the system's (elo-mmr, "
        "elo-mmx).",
        "POINTS",
    )
    places: bool = typed(
        False, "Estimate the probability of each place for every team by sampling."
    )
    samples: int = typed(10_000, "Number of matches to sample for --places.", least=1)
    seed: int = typed(0, "Random seed of the samples.", least=0)
    what_if: bool = typed(False, "Compute a player's rating after each possible place.")
    players: tuple[str, ...] = typed(
        (),
        "Player for --what-if. Repeatable. [default: the first player of the first team]",
        "PLAYER",
        name="--player",
    )
