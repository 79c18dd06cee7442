"""Messages about matches and amendments: what is posted, and what the service answers.

A stream makes millions of them. They cannot form reference cycles, so garbage collection skips them
(gc=False).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

#: Ids and times as they may be posted. In answers ids are text.
Id: TypeAlias = str | int
Moment: TypeAlias = int | str


class ParticipationRequest(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """A player in a match. The id alone is enough if there are no other fields.

    performance : score within the team or match, unless it is computed from statistics
    statistics : values from which the pool's weights compute the performance
    share : from 0 to 1; scales the player's change, for example of a player who left early
    role, side, at_home : as the columns of a history
    attributes : kept with the match, in the log and its export. Systems of federations read event,
        birth_year, games_before, events_before and handicap; no system reads others
    """

    player: Id
    performance: float | None = None
    statistics: dict[str, float] = {}
    share: float | None = None
    role: str | None = None
    side: str | None = None
    at_home: bool | None = None
    attributes: dict[str, str | int | float | bool | None] = {}


class TeamRequest(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """Players who share one place, given by a rank or by a score.

    rank : lower is better, equal is a tie; only the order matters
    score : instead of rank, for all teams of the match; higher is better, equal is a tie
    """

    players: list[ParticipationRequest | Id]
    rank: int | None = None
    team: Id | None = None
    score: float | None = None

    @property
    def order(self) -> float:
        """Return the sort key of the team in its match: lower is better, equal is a tie."""
        if self.rank is not None:
            return self.rank
        return 0.0 if self.score is None else -self.score


class MatchRequest(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False
):
    """A match to be rated.

    match : its id; posting the same id and content again changes nothing
    time : seconds since 1970, or ISO 8601 (without a zone: UTC); absent: the time it was received
    weight, performance_ceiling, beta, gamma : as the columns of a history; a weight is at most 1e9
    rated : false keeps the match in the log without rating it
    """

    match: Id
    teams: list[TeamRequest]
    time: Moment | None = None
    weight: float = 1.0
    performance_ceiling: float | None = None
    rated: bool = True
    beta: float | None = None
    gamma: float | None = None


def places_of(request: MatchRequest) -> list[int]:
    """Return the place of each team, from 1. Tied teams share the best of their places."""
    ordered = sorted(team.order for team in request.teams)
    places = {order: place for place, order in reversed(list(enumerate(ordered, 1)))}
    return [places[team.order] for team in request.teams]


class ChangeMessage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A player in a recorded match, and what the match did to the rating.

    counted : whether the match was rated with the player
    disqualified : whether the player is disqualified from this match, or from a time on
    expected : score expected against the other teams, from 0 to 1
    performance : as posted, or the performance rating that the system inferred
    extra : further numbers of the system, by name of its trace's columns
    """

    player: str
    counted: bool
    rating_before: float | None
    deviation_before: float | None
    rating: float | None
    deviation: float | None
    change: float | None
    expected: float | None
    performance: float | None
    extra: dict[str, float | None] = {}
    disqualified: bool = False


class TeamMessage(msgspec.Struct, frozen=True, gc=False):
    """A team of a recorded match; `rank` is the place from 1."""

    rank: int
    team: str | None
    players: list[ChangeMessage]


class MatchMessage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A recorded match as it counts now.

    seq : number of its record in the pool's log, from 1
    time : when it counts, as the pool writes times; null in pools without times
    played : time that was posted with it; null if there was none, and `time` is then that of its
        receipt, or of the pool's last match if that is later
    received : ISO 8601
    status : "rated"; "unrated" (posted with `rated` false); "void"; "pending" (recorded, but not
        rated until a replay is complete)
    corrected : seq of the correction that counts, null if there is none
    unused : posted fields that the pool's system does not use; absent if there are none
    teams : of a match of very many players only the part that was asked for, as posted; the first
        and the last team of it may lack players. The fields below are then given, otherwise absent
    players_in_match, teams_in_match : numbers of all of them
    previous, next : cursors of the adjacent parts, absent if there is none
    """

    match: str
    seq: int
    time: int | str | None
    received: str
    status: str
    corrected: int | None
    weight: float
    teams: list[TeamMessage]
    unused: list[str] = []
    played: Moment | None = None
    players_in_match: int | None = None
    teams_in_match: int | None = None
    previous: str | None = None
    next: str | None = None


class MatchLine(msgspec.Struct, frozen=True, gc=False):
    """A match in a list, without its players' changes; times as in MatchMessage."""

    match: str
    seq: int
    time: int | str | None
    received: str
    status: str
    players: int
    teams: int
    played: Moment | None = None


class MatchPage(msgspec.Struct, frozen=True):
    """Matches of a pool, newest first; `next` is the cursor of the next page, null at the end."""

    matches: list[MatchLine]
    next: str | None


class PostedMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to an array of matches: all are recorded, or none.

    new, known : numbers of matches recorded now, and recorded before
    seq : of the pool's last record
    unused : posted fields that the pool's system does not use; absent if there are none
    """

    new: int
    known: int
    seq: int
    unused: list[str] = []


class StreamLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the answer to a stream: everything up to line `through` of it is recorded.

    unused : posted fields since the previous line that the pool's system does not use; absent if
        there are none
    """

    through: int
    new: int
    known: int
    seq: int
    unused: list[str] = []


#: What becomes of the matches of a disqualified player.
Effect: TypeAlias = Literal["without", "keep", "void"]


class ReasonRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a match is voided or restored; kept in the log."""

    reason: str = ""


class ReinstateRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The time from which, or the match in which, a player is reinstated.

    since : time; absent: from now on. Pools without times accept none: from this log record on
    match : for this match only, instead of a time
    """

    since: Moment | None = None
    reason: str = ""
    match: Id | None = None


class DisqualifyRequest(ReinstateRequest, frozen=True):
    """The time or match from which a player is disqualified, and how the matches then count.

    since : time; absent: from now on. Pools without times accept none: from this log record on
    match : for this match only, instead of a time
    effect : "without" rates the matches without the player, "keep" as they were played, "void" not
        at all. Absent: "keep" if there is a match of teams among them, or among all matches of the
        player if no match is given; otherwise "without"
    """

    effect: Effect | None = None


class PlayerDifference(msgspec.Struct, frozen=True):
    """A player with another rating after a replay; null if there is none before or after it."""

    player: str
    rating_before: float | None
    deviation_before: float | None
    rating: float | None
    deviation: float | None
    change: float | None


class DifferenceMessage(msgspec.Struct, frozen=True):
    """What a replay changed.

    matches : number of replayed matches; changed : number of players with another rating
    players : those with the largest changes first, at most 1000
    """

    matches: int
    changed: int
    players: list[PlayerDifference]


class OthersMessage(msgspec.Struct, frozen=True):
    """How the ratings of all other players would change.

    changed : number of other players with another rating, those who would be new or gone included
    mean, largest : of the sizes of their changes, rating points; null if no rating changes
    """

    changed: int
    mean: float | None
    largest: float | None


class AmendmentMessage(msgspec.Struct, frozen=True):
    """A log record that amends what was posted.

    kind : "void", "restore", "correct", "disqualify", "reinstate", "settings" for changed settings
        of the pool, "erase" for the erased name of a player, "initial" for the known ratings with
        which players begin, or "preview" for nothing recorded
    match, player : both for a disqualification from a single match
    since : of a disqualification from a time on, as the pool writes times
    status : "pending" until the pool is replayed, then "done"
    difference : what the replay changed, other amendments included; null while pending
    settings, settings_before : values of changed settings after and before the amendment
    effect : of a disqualification: "without", "keep" or "void"
    others : in the preview of a disqualification or reinstatement, how other players would move
    """

    seq: int | None
    kind: str
    match: str | None
    player: str | None
    since: int | str | None
    reason: str
    received: str
    status: str
    difference: DifferenceMessage | None
    settings: dict[str, Any] | None = None
    settings_before: dict[str, Any] | None = None
    effect: Effect | None = None
    others: OthersMessage | None = None


class AmendmentPage(msgspec.Struct, frozen=True):
    """Amendments of a pool, newest first."""

    amendments: list[AmendmentMessage]
    next: str | None
