"""A match as a form: teams as lines of names, or the JSON that programs post."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from equipoise.errors import InvalidDataError, Problem
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest, places_of
from equipoise.web.page.forms import Form

#: Teams that the form has room for; more are posted as JSON.
ROOM = 2
_MOST = 64
_PLACE = "must be a whole number, 1 for the winners"


@dataclass(frozen=True, slots=True)
class TeamEntry:
    """A team of the form: its place, and its players one a line."""

    rank: str
    players: str


class TeamLine(NamedTuple):
    """A team of a recorded match, its place to be changed."""

    rank: str
    players: list[str]


def team_lines(match: MatchRequest, ranks: Sequence[str]) -> list[TeamLine]:
    """Return the teams with the places typed so far, or those that were posted."""
    given = ranks if len(ranks) == len(match.teams) else _typed_places(match)
    return [
        TeamLine(rank, [str(getattr(one, "player", one)) for one in team.players])
        for rank, team in zip(given, match.teams, strict=True)
    ]


def _typed_places(match: MatchRequest) -> list[str]:
    """Return the ranks as they were posted, or the places that scores make."""
    if all(team.rank is not None for team in match.teams):
        return [str(team.rank) for team in match.teams]
    return [str(place) for place in places_of(match)]


def with_places(match: MatchRequest, ranks: Sequence[str]) -> MatchRequest:
    """Return a match with other places of its teams. Raises : InvalidDataError."""
    if len(ranks) != len(match.teams):
        rule = f"must be {len(match.teams)}"
        raise InvalidDataError([Problem("", None, "places", rule, str(len(ranks)))])
    wrong = [one for one in ranks if not _whole(one)]
    if wrong:
        raise InvalidDataError([Problem("", None, "place", _PLACE, one) for one in wrong])
    teams = [
        msgspec.structs.replace(team, rank=int(rank), score=None)
        for team, rank in zip(match.teams, ranks, strict=True)
    ]
    # A time that is not given stays as it was, to the microsecond.
    return msgspec.structs.replace(match, teams=teams, time=None)


def json_of(match: MatchRequest) -> str:
    """Return a match as programs post it, to be read by people."""
    return msgspec.json.format(msgspec.json.encode(match), indent=2).decode()


def _whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 6


def match_of_form(form: Form) -> MatchRequest:
    """Return the match that was typed. Raises : InvalidDataError."""
    problems: list[Problem] = []
    name = form.text("match")
    if not name:
        problems.append(Problem("", None, "match", "must be given", "nothing"))
    teams = []
    pairs = list(zip(form.texts("rank"), form.texts("players"), strict=False))[:_MOST]
    for number, (rank, players) in enumerate(pairs, start=1):
        names: list[ParticipationRequest | str | int] = [
            one.strip() for one in players.splitlines() if one.strip()
        ]
        if not names:
            continue
        if not _whole(rank):
            where = f"place of team {number}"
            problems.append(Problem("", None, where, _PLACE, rank or "nothing"))
            continue
        teams.append(TeamRequest(names, rank=int(rank)))
    if not problems and len(teams) < 2:
        rule = "must have at least two teams with players"
        problems.append(Problem("", None, "teams", rule, str(len(teams))))
    if problems:
        raise InvalidDataError(problems, "the match cannot be read")
    time = form.text("time")
    number_ = time.isascii() and time.isdecimal() and len(time) < 16
    return MatchRequest(name, teams, time=int(time) if number_ else time or None)


def match_of_json(text: str) -> MatchRequest:
    """Return the match in a JSON text. Raises : InvalidDataError."""
    try:
        return msgspec.json.decode(text, type=MatchRequest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        problem = Problem(
            "", None, "JSON", "must be a match as in POST /v1/pools/POOL/matches", str(error)
        )
        raise InvalidDataError([problem], "the match cannot be read") from None


def blanks(entries: Sequence[TeamEntry]) -> list[TeamEntry]:
    """Return teams for the form, at least two."""
    empty = [TeamEntry(str(number + 1), "") for number in range(len(entries), ROOM)]
    return [*entries, *empty]
