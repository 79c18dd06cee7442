"""The first matches of a history in plain form: who against whom, and the result."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ids
from equipoise.data.history import HOME_SIDES, History
from equipoise.errors import InvalidDataError
from equipoise.messages.conversion import json_value
from equipoise.messages.sources.inspection import MatchLineMessage

#: Players of a team, and letters of a name, that are shown.
_MEMBERS, _LETTERS = 3, 24
#: Letters from which no more places are shown.
_LONG = 40


@dataclass(slots=True)
class _Side:
    """A player or team of a match: place from 0, label, members, and score as text."""

    rank: int
    label: str
    members: list[str]
    ground: str = ""
    score: str = ""

    @property
    def name(self) -> str:
        """Return the team's name, or the names of its players."""
        return self.label or self.who

    @property
    def who(self) -> str:
        """Return the players."""
        more = len(self.members) - _MEMBERS
        shown = " + ".join(self.members[:_MEMBERS]) + (f" + {more:,} more" if more > 0 else "")
        return f"{self.label} ({shown})" if self.label else shown

    @property
    def placed(self) -> str:
        """Return the players, and whether they are at home."""
        return f"{self.who} ({self.ground})" if self.ground else self.who


class _Columns(NamedTuple):
    """What is known of the participations beside their places; None if it is not."""

    scores: Floats | None
    at_home: Flags | None
    side: Ids | None


def first_matches(history: History, matches: int) -> list[MatchLineMessage]:
    """Return the first matches of a history, at most so many."""
    some = history.slice(0, min(matches, history.matches))
    times = some.times()
    try:
        scores = some.scores()
    except InvalidDataError:
        scores = None
    columns = _Columns(scores, some.at_home(), some.attributes.get("side"))
    lines = []
    for match in range(some.matches):
        low, high = int(some.offsets[match]), int(some.offsets[match + 1])
        sides = _sides(some, low, high, columns)
        time = None if times is None else json_value(times[match])
        lines.append(
            MatchLineMessage(json_value(some.match_ids[match]), time, _who(sides), _result(sides))
        )
    return lines


def _sides(history: History, low: int, high: int, columns: _Columns) -> list[_Side]:
    """Return the players or teams of a match, in the order of the file."""
    sides: dict[int, _Side] = {}
    labels = history.team_labels
    for row in range(low, high):
        team = int(history.team[row])
        if team not in sides:
            label = "" if labels is None or labels[row] is None else _cut(str(labels[row]))
            sides[team] = _Side(int(history.rank[row]), label, [], _ground(columns, row))
            if columns.scores is not None and not np.isnan(columns.scores[row]):
                sides[team].score = f"{columns.scores[row]:g}"
        sides[team].members.append(_cut(str(history.player_ids[history.player[row]])))
    return list(sides.values())


def _ground(columns: _Columns, row: int) -> str:
    """Return "white" or "at home" if a player or team is, else nothing."""
    if columns.at_home is None or not columns.at_home[row]:
        return ""
    side = "" if columns.side is None else str(columns.side[row])
    return side if side in HOME_SIDES and side != "home" else "at home"


def _who(sides: list[_Side]) -> str:
    if len(sides) == 1:
        return f"{sides[0].who} alone"
    if len(sides) == 2:
        return " against ".join(side.placed for side in sides)
    players = sum(len(side.members) for side in sides)
    teams = f" in {len(sides):,} teams" if players > len(sides) else ""
    return f"{players:,} players{teams}"


def _result(sides: list[_Side]) -> str:
    if len(sides) == 1:
        return ""
    if len(sides) == 2:
        one, other = sides
        between = " to " if "-" in one.score + other.score else "-"
        score = f" {one.score}{between}{other.score}" if one.score and other.score else ""
        if one.rank == other.rank:
            return f"draw{score}"
        return f"{one.name if one.rank < other.rank else other.name} won{score}"
    ordered = sorted(sides, key=lambda side: side.rank)
    text = ordered[0].name
    shown = 1
    for before, side in pairwise(ordered):
        added = text + (" = " if side.rank == before.rank else ", ") + side.name
        if len(added) > _LONG:
            break
        text, shown = added, shown + 1
    more = len(sides) - shown
    return text + (f", and {more:,} more" if more > 0 else "")


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 3]}..."
