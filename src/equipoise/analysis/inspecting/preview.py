"""The first matches of a history in plain form: who against whom, and the result."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.data.tournaments.games import Games
from equipoise.errors import InvalidDataError
from equipoise.messages.conversion import json_value
from equipoise.messages.sources.inspection import MatchLineMessage

#: Players of a team, and letters of a name, that are shown.
_MEMBERS, _LETTERS = 3, 24
#: Letters from which no more places are shown.
_LONG = 40


class _Side(NamedTuple):
    """A player or team of a match.

    rank : from 0; label : of the team, or ""; players : names; score : as text, "" if unknown
    ground : "white" or "at home", or ""
    """

    rank: int
    label: str
    players: list[str]
    score: str
    ground: str

    @property
    def who(self) -> str:
        more = len(self.players) - _MEMBERS
        shown = " + ".join(self.players[:_MEMBERS]) + (f" + {more:,} more" if more > 0 else "")
        return f"{self.label} ({shown})" if self.label else shown


def first_matches(history: History, matches: int) -> list[MatchLineMessage]:
    """Return the first matches of a history, at most so many."""
    some = history.slice(0, min(matches, history.matches))
    times = some.times()
    try:
        scores = some.scores()
    except InvalidDataError:
        scores = None
    lines = []
    for match in range(some.matches):
        sides = _sides(some, range(int(some.offsets[match]), int(some.offsets[match + 1])), scores)
        time = None if times is None else json_value(times[match])
        lines.append(
            MatchLineMessage(json_value(some.match_ids[match]), time, _who(sides), _result(sides))
        )
    return lines


def _sides(history: History, rows: range, scores: Floats | None) -> list[_Side]:
    """Return the players or teams of a match, in the order of the file."""
    sides: dict[int, _Side] = {}
    at_home, side = history.at_home(), history.attributes.get("side")
    for row in rows:
        team = int(history.team[row])
        if team not in sides:
            label = None if history.team_labels is None else history.team_labels[row]
            score = "" if scores is None or scores[row] != scores[row] else f"{scores[row]:g}"
            rank = int(history.rank[row])
            ground = "at home" if at_home is not None and at_home[row] else ""
            if ground and side is not None and str(side[row]) == "white":
                ground = "white"
            name = "" if label is None else _cut(str(label))
            sides[team] = _Side(rank, name, [], score, ground)
        sides[team].players.append(_cut(str(history.player_ids[history.player[row]])))
    return list(sides.values())


def _who(sides: list[_Side]) -> str:
    if len(sides) == 1:
        return f"{sides[0].who} alone"
    if len(sides) == 2:
        return " against ".join(
            f"{side.who} ({side.ground})" if side.ground else side.who for side in sides
        )
    players = sum(len(side.players) for side in sides)
    teams = f" in {len(sides):,} teams" if players > len(sides) else ""
    return f"{players:,} players{teams}"


def _result(sides: list[_Side]) -> str:
    """Return the winner of two sides and the score, or the first places of more."""
    if len(sides) == 1:
        return ""
    names = [side.label or side.who for side in sides]
    if len(sides) == 2:
        one, other = sides
        between = " to " if "-" in one.score + other.score else "-"
        score = f" {one.score}{between}{other.score}" if one.score and other.score else ""
        won = f"{names[one.rank > other.rank]} won"
        return ("draw" if one.rank == other.rank else won) + score
    ordered = sorted(zip(sides, names, strict=True), key=lambda pair: pair[0].rank)
    text, shown = ordered[0][1], 1
    for (before, _), (side, name) in pairwise(ordered):
        added = text + (" = " if side.rank == before.rank else ", ") + name
        if len(added) > _LONG:
            break
        text, shown = added, shown + 1
    more = len(sides) - shown
    return text + (f", and {more:,} more" if more > 0 else "")


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 3]}..."


def first_games(games: Games, count: int) -> list[MatchLineMessage]:
    """Return the first results of games, at most so many."""
    lines = []
    for row in range(min(count, games.rows)):
        white, black = (str(games.player_ids[side[row]]) for side in (games.white, games.black))
        points, weight = float(games.points[row]), float(games.weights[row])
        if weight == 1 and points in (0.0, 0.5, 1.0):
            result = "draw" if points == 0.5 else f"{white if points else black} won"
        else:
            result = f"{points:g} of {weight:g} points for {white}"
        lines.append(MatchLineMessage(row + 1, None, f"{white} against {black}", result))
    return lines
