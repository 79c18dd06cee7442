"""Messages about matches, amendments and the players of a pool."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

#: Ids and times as they may be posted. In answers ids are text.
Id: TypeAlias = str | int
Moment: TypeAlias = int | str
#: The result of a match of two teams, for one of them.
Result: TypeAlias = Literal["win", "draw", "loss"]


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
    title : name for readers, at most 200 characters
    link : address of the match elsewhere, https, at most 500 characters
    attributes : at most 20, kept with the match. Like title and link, they change no rating
    context : of the match, such as its surface or map; a player's attribute `context` replaces it
    """

    match: Id
    teams: list[TeamRequest]
    time: Moment | None = None
    weight: float = 1.0
    performance_ceiling: float | None = None
    rated: bool = True
    beta: float | None = None
    gamma: float | None = None
    title: str | None = None
    link: str | None = None
    attributes: dict[str, str | int | float | bool | None] = {}
    context: str | None = None


def places_of(request: MatchRequest) -> list[int]:
    """Return the place of each team, from 1. Tied teams share the best of their places."""
    orders = [team.order for team in request.teams]
    places: dict[float, int] = {}
    for place, order in enumerate(sorted(orders), 1):
        places.setdefault(order, place)
    return [places[order] for order in orders]


class ChangeMessage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A player in a recorded match, and what the match did to the rating.

    counted : whether the match was rated with the player
    disqualified : whether the player is disqualified from this match, or from a time on
    expected : score expected against the other teams, from 0 to 1
    performance : as posted, or the performance rating that the system inferred
    extra : further numbers of the system, by name of its trace's columns
    statistics, share, role, side, at_home, attributes : as posted; absent where nothing was
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
    statistics: dict[str, float] = {}
    share: float | None = None
    role: str | None = None
    side: str | None = None
    at_home: bool | None = None
    attributes: dict[str, str | int | float | bool | None] = {}


class TeamMessage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A team of a recorded match; `rank` is the place from 1.

    score : as posted; absent if the match was posted with ranks
    chance : mean score expected against each other team before the match, from 0 to 1, as POST
        predict would have answered; of a learned home advantage it takes what the pool knows now.
        Absent if a player was not rated in the match, or if it has more than 100 teams
    """

    rank: int
    team: str | None
    players: list[ChangeMessage]
    score: float | None = None
    chance: float | None = None


class MatchMessage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A recorded match as it counts now.

    seq : number of its record in the pool's log, from 1
    time : when it counts, as the pool writes times; null in pools without times
    played : time that was posted with it; null if there was none, and `time` is then that of its
        receipt, or of the pool's last match if that is later
    received : ISO 8601
    status : "rated"; "unrated" (posted with `rated` false); "void"; "pending" (recorded, but not
        rated until a replay is complete)
    void_reason : why it was voided, absent if it was not
    corrected : seq of the correction that counts, null if there is none
    unused : posted fields that the pool's system does not use; absent if there are none
    upset : whether the winner of two teams had a chance below 25 %; absent if not
    teams : of a match of very many players only the part that was asked for, as posted; the first
        and the last team of it may lack players. The fields below are then given, otherwise absent
    players_in_match, teams_in_match : numbers of all of them
    previous, next : cursors of the adjacent parts, absent if there is none
    title, link, attributes : as posted; absent where nothing was
    context : as posted; absent if there was none
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
    upset: bool = False
    void_reason: str | None = None
    title: str | None = None
    link: str | None = None
    attributes: dict[str, str | int | float | bool | None] = {}
    context: str | None = None


class SideMessage(msgspec.Struct, frozen=True, gc=False):
    """A team of a match in a list.

    players : the first five, as posted; size : number of all of them
    score, chance : as in TeamMessage, null where they are absent there
    """

    rank: int
    team: str | None
    players: list[str]
    size: int
    score: float | None
    chance: float | None


class MatchLine(msgspec.Struct, frozen=True, gc=False):
    """A match in a list, without its players' changes; times as in MatchMessage.

    sides : both teams as posted; of more than two teams the first three by place
    upset : whether the winner of two teams had a chance below 25 %
    title : as posted, null if there is none
    """

    match: str
    seq: int
    time: int | str | None
    received: str
    status: str
    players: int
    teams: int
    played: Moment | None = None
    sides: list[SideMessage] = []
    upset: bool = False
    title: str | None = None


class MatchPage(msgspec.Struct, frozen=True):
    """Matches of a pool, newest first; `next` and `previous` are cursors, null at the ends."""

    matches: list[MatchLine]
    next: str | None
    previous: str | None = None


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

    since : time; absent: from now on. Pools without times accept only 0, for all matches
    match : for this match only, instead of a time
    """

    since: Moment | None = None
    reason: str = ""
    match: Id | None = None


class DisqualifyRequest(ReinstateRequest, frozen=True):
    """The time or match from which a player is disqualified, and how the matches then count.

    since : time; absent: from now on. Pools without times accept only 0, for all matches
    match : for this match only, instead of a time
    effect : "without" rates the matches without the player, "keep" as they were played, "void" not
        at all. Absent: "keep" if there is a match of teams among them, or among all matches of the
        player if no match is given; otherwise "without"
    """

    effect: Effect | None = None


class RenameRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new id of a player; the id of another player makes both one player."""

    to: Id
    reason: str = ""


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

    kind : "void", "restore", "correct", "describe" for a correction of title, link and attributes
        alone, "disqualify", "reinstate", "rename" for the new id of a player, "settings" for
        changed settings of the pool, "erase" for the erased name of a player, "profiles" for
        profiles of players, "initial" for the known ratings with which players begin, or
        "preview" for nothing recorded
    match, player : both for a disqualification from a single match
    since : of a disqualification from a time on, as the pool writes times
    status : "pending" until the pool is replayed, then "done"
    difference : what the replay changed, other amendments included; null while pending
    settings, settings_before : values of changed settings after and before the amendment
    effect : of a disqualification: "without", "keep" or "void"
    others : in the preview of an amendment of a player, how other players would move
    to : the new id of a renamed player
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
    to: str | None = None


class AmendmentPage(msgspec.Struct, frozen=True):
    """Amendments of a pool, newest first."""

    amendments: list[AmendmentMessage]
    next: str | None


class LeaderboardRow(msgspec.Struct, frozen=True, gc=False):
    """A player on the leaderboard.

    place : from 1 among those listed; null if a filter makes it unknown, and for disqualified
        players unless they are ranked
    display : rating shown: rating - k x deviation, decayed and not below the floor of the pool
    last_time : as the pool writes times
    disqualified : whether the player is disqualified from future matches
    name : of the player's profile, null for none
    tier : name of the tier of the rating shown, null without tiers
    """

    place: int | None
    player: str
    display: float
    rating: float
    deviation: float | None
    matches: int
    last_time: int | str | None
    provisional: bool
    disqualified: bool = False
    name: str | None = None
    tier: str | None = None


class LeaderboardMessage(msgspec.Struct, frozen=True):
    """A page of the leaderboard.

    players_in_pool : number of all players, listed or not
    previous, next : cursors of the adjacent pages, null if there is none
    """

    pool: str
    generation: int
    players_in_pool: int
    players: list[LeaderboardRow]
    previous: str | None
    next: str | None


class ContextMessage(msgspec.Struct, frozen=True, gc=False):
    """How much stronger a player is in a context, rating points, and the deviation of that."""

    context: str
    offset: float
    deviation: float


class PlayerMessage(msgspec.Struct, frozen=True):
    """A player of a pool.

    place : on the leaderboard, null for provisional and disqualified players
    at : time of the numbers, null: that of the last match
    extra : further numbers of the system: volatility, form, effective_rating, ...
    disqualified : since when, null if the player is rated; disqualifications from single matches
        do not count
    name, link, attributes : of the player's profile; null or empty if there is none
    tier : name of the tier of the rating shown, null without tiers
    known_rating, known_deviation : with which the player began, on the scale of the pool; null if
        the player began as a newcomer, or without a known deviation
    contexts : those of the player's last 200 matches, largest offset first, where the pool counts
        contexts
    """

    pool: str
    player: str
    place: int | None
    display: float
    rating: float
    deviation: float | None
    matches: int
    last_time: int | str | None
    at: int | str | None
    provisional: bool
    disqualified: int | str | None
    extra: dict[str, float | None]
    known_rating: float | None = None
    known_deviation: float | None = None
    name: str | None = None
    link: str | None = None
    attributes: dict[str, str | int | float | bool | None] = {}
    tier: str | None = None
    contexts: list[ContextMessage] = []


class OpponentLine(msgspec.Struct, frozen=True, gc=False):
    """An opponent in a player's match, and the rating before it; null if it did not count."""

    player: str
    rating_before: float | None


class PlayerMatch(msgspec.Struct, frozen=True, gc=False):
    """What one match did to a player; `rank` from 1 among `teams` teams.

    time : at which the match counts; played : time that was posted, null if there was none
    result : "win", "draw" or "loss" in a match of two teams; null if there were more
    score, opponent_score : of the player's team and of the other one; null without scores, the
        latter also if there were more than two teams
    chance : of the player's team, as in TeamMessage; null where it is absent there
    at_home : whether the player was at home; null if nothing was posted
    opponents : at most 10, by their places; none in matches of more than 100 teams
    title : of the match, null if there is none
    """

    match: str
    seq: int
    time: int | str | None
    rank: int
    teams: int
    rating_before: float
    deviation_before: float | None
    rating: float
    deviation: float | None
    change: float
    expected: float | None
    performance: float | None
    extra: dict[str, float | None]
    played: int | str | None = None
    result: Result | None = None
    score: float | None = None
    opponent_score: float | None = None
    chance: float | None = None
    at_home: bool | None = None
    opponents: list[OpponentLine] = []
    title: str | None = None


class PlayerHistory(msgspec.Struct, frozen=True):
    """A player's rated matches, newest first; `next` is the cursor of the next page."""

    pool: str
    player: str
    matches: list[PlayerMatch]
    next: str | None


class PeakMessage(msgspec.Struct, frozen=True):
    """The highest rating of a player, the match after which it was reached, and its time."""

    rating: float
    match: str
    time: int | str | None


class StreakMessage(msgspec.Struct, frozen=True):
    """A player's last matches of two teams with the same result.

    unbeaten, most_unbeaten : matches without a loss, the latest ones and the longest such series
    """

    result: Result
    matches: int
    unbeaten: int
    most_unbeaten: int


class RivalMessage(msgspec.Struct, frozen=True):
    """An opponent whom a player has met in matches of two teams, and their results."""

    player: str
    matches: int
    won: int
    drawn: int
    lost: int


class PlacesMessage(msgspec.Struct, frozen=True):
    """A player's places in matches of more than two teams.

    first, top3, top10 : numbers of matches with such a place, ties included
    largest_won : the match with the most teams in which the player came first
    """

    matches: int
    median: float
    first: int
    top3: int
    top10: int
    largest_won: PlayerMatch | None


class PlayerSummary(msgspec.Struct, frozen=True):
    """What a player's rated matches say together.

    covered : number of matches that it covers, the newest ones, at most 20,000
    first_time : of the first of them
    peak : the highest rating after a match from the placement matches of the pool on
    change : of the rating in the 365 days before the pool's last match; null in pools without
        times, and for players who were not rated before these
    won, drawn, lost : matches of two teams; streak : null if there are none
    places : null if there are no matches of more than two teams
    last : the last ten matches, newest first
    best_win : in a match of two teams, over the best opponents by mean rating
    most_played : at most five
    surprises : at most two wins with the lowest chance, and two losses with the highest
    best_performances : at most four, in matches of more than two teams
    """

    pool: str
    player: str
    covered: int
    first_time: int | str | None
    peak: PeakMessage | None
    change: float | None
    won: int
    drawn: int
    lost: int
    streak: StreakMessage | None
    places: PlacesMessage | None
    last: list[PlayerMatch]
    best_win: PlayerMatch | None
    most_played: list[RivalMessage]
    surprises: list[PlayerMatch]
    best_performances: list[PlayerMatch]


class MeetingMessage(msgspec.Struct, frozen=True, gc=False):
    """A match in which two players met.

    result : of the first one: "win" means placed above the other
    line : what the match did to the first one
    rank, rating_before, rating : of the other
    """

    result: Result
    line: PlayerMatch
    rank: int
    rating_before: float
    rating: float


class AgainstMessage(msgspec.Struct, frozen=True):
    """The matches of two players against each other.

    covered : number of newest matches of each in which meetings are looked for, at most 20,000
    matches : meetings: rated matches in which both played in different teams
    won, drawn, lost : of them, from the view of `player`: placed above the other, level, below
    duels : of them, those of two teams; together : matches in which both were in one team
    chance, other_chance : expected scores if they met now, as `predict` answers; null if it cannot
    meetings : newest first; next : cursor of the next page
    """

    pool: str
    player: str
    other: str
    covered: int
    matches: int
    won: int
    drawn: int
    lost: int
    duels: int
    together: int
    chance: float | None
    other_chance: float | None
    meetings: list[MeetingMessage]
    next: str | None


class MoverMessage(msgspec.Struct, frozen=True):
    """A player whose rating changed much, the rating now, and the change."""

    player: str
    rating: float
    change: float


class HighlightsMessage(msgspec.Struct, frozen=True):
    """What happened in the 365 days before a pool's last match.

    matches : number of matches that it covers; fewer than all of that time if there are very many
    upsets : at most four, the winner with the lowest chance first
    rising, falling : at most three each, provisional and new players left out
    """

    pool: str
    matches: int
    upsets: list[MatchLine]
    rising: list[MoverMessage]
    falling: list[MoverMessage]


class ActivityBin(msgspec.Struct, frozen=True):
    """Matches in one interval of time; `start` in seconds since 1970."""

    start: int
    matches: int


class RatingBin(msgspec.Struct, frozen=True):
    """Number of players with a rating in [low, high); the last bin includes its upper end."""

    low: float
    high: float
    players: int


class MeanPoint(msgspec.Struct, frozen=True):
    """Ratings of the players who played in one interval of time.

    start : seconds since 1970; null in pools without times, where `match` orders the points
    match : number of the point; in pools without times, that of the last log record in it
    mean : of the ratings after each match; lower, upper : one standard deviation below and above
    """

    start: int | None
    match: int
    participations: int
    mean: float
    lower: float
    upper: float


class OverviewMessage(msgspec.Struct, frozen=True):
    """The overview of a pool.

    unit : interval of `activity` and `drift`: "day", "week", ...; "matches" without times
    activity, drift : oldest first; of the latest matches only if the pool has very many. Drift is
        that of an evenly drawn sample if the pool has more than a thousand players
    ratings : ratings shown of all players, lowest first; median, mean : of the same
    provisional : players with fewer matches than the placement matches
    covered : number of matches that `activity` and `drift` cover
    """

    pool: str
    unit: str
    activity: list[ActivityBin]
    ratings: list[RatingBin]
    median: float | None
    mean: float | None
    provisional: int
    drift: list[MeanPoint]
    covered: int


class PeakRecord(msgspec.Struct, frozen=True):
    """The highest rating of a settled player, the match after which it was reached, its time."""

    player: str
    rating: float
    match: str
    time: int | str | None


class MostMatches(msgspec.Struct, frozen=True):
    """The player with the most rated matches."""

    player: str
    matches: int


class SeriesRecord(msgspec.Struct, frozen=True):
    """The longest series of matches of two teams without a loss, and the time of the last one."""

    player: str
    matches: int
    time: int | str | None


class MeetingsRecord(msgspec.Struct, frozen=True):
    """The two players who met most often one against one, and how often."""

    players: list[str]
    matches: int


class RecordsMessage(msgspec.Struct, frozen=True):
    """Records of a pool, null where no match could set one. The first of equal ones counts.

    highest, upset : once all players of the match had their placement matches; `upset` is the win
        of a team with the lowest chance
    largest : the match with the most players
    most_matches : of all players and matches, the first by id of equal ones
    results : number of results of players that the other records cover: the newest, up to 100,000
    """

    highest: PeakRecord | None
    largest: MatchLine | None
    most_matches: MostMatches | None
    unbeaten: SeriesRecord | None = None
    upset: MatchLine | None = None
    most_met: MeetingsRecord | None = None
    results: int = 0


class PoolOverview(msgspec.Struct, frozen=True):
    """A pool in numbers.

    overview : activity, distribution of ratings, and drift
    highlights : upsets and movers of the last year
    """

    pool: str
    overview: OverviewMessage
    highlights: HighlightsMessage
    records: RecordsMessage


class RatingTimeline(msgspec.Struct, frozen=True):
    """A player's timeline as columns, oldest match first.

    times : times at which the matches count, seconds since 1970; null in pools without times
    played : whether a time was posted with each match; if not, its time is that of its receipt
    left_out : number of older matches that are left out, if a player has very many
    """

    player: str
    matches: list[str]
    times: list[float] | None
    ratings: list[float]
    deviations: list[float | None]
    changes: list[float]
    ranks: list[int]
    teams: list[int]
    performances: list[float | None]
    left_out: int
    played: list[bool] = []
