"""Matches of a log -> a history, rated on states in memory -> rows of the database.

A player's changes are a chain: each row refers to the position of the player's change before it.
`LastChanges` holds the ends of these chains while matches are rated.

The chances before a match are computed from the ratings before it in its changes, as `predict`
computes them from states, so they are stored nowhere.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np
from msgspec.structs import replace

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import (
    HOME_SIDES,
    MICROSECONDS_PER_DAY,
    History,
    TimeKind,
    dense_ranks,
    read_score,
)
from equipoise.data.times import MICROSECONDS, read_as_seconds
from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.pools.pool.rules import PoolRules
from equipoise.rating.base_system import System
from equipoise.rating.calibration_curve import learn, start_calibrating
from equipoise.rating.contexts import CONTEXT, OFFSET, OFFSET_VARIANCE
from equipoise.rating.federation_columns import FACTS
from equipoise.rating.head_start import HEAD_START
from equipoise.rating.newcomers import SEEDED
from equipoise.rating.predicting import expected_scores
from equipoise.rating.replay import TRACE_COLUMNS
from equipoise.rating.state import State, pack_players, start_counting
from equipoise.rating.system import OF_ROUNDS, RatingColumns, RatingSystem
from equipoise.store.changes import ChangeRow, pack_numbers
from equipoise.store.pools import PoolRecord, Position
from equipoise.store.ratings import StateRow


class LoggedMatch(NamedTuple):
    """A match of the log at its position.

    seq, time : its position; time is 0 in pools without times
    request : its content; in a match to be rated without players who are not rated in it, and
        without teams if nobody is
    listed : disqualified players who are not rated in it, but get a page and an entry on the
        leaderboard
    """

    seq: int
    time: int
    request: MatchRequest
    listed: tuple[str, ...] = ()

    @property
    def position(self) -> Position:
        """Position in the order of rating."""
        return self.time, self.seq


def players_of(request: MatchRequest) -> list[str]:
    """Return the ids of a match's players, team after team."""
    return player_ids([member for team in request.teams for member in team.players])


class Participants(NamedTuple):
    """The players and teams of some matches, match after match and team after team.

    requests : of the matches
    team_counts : of each match
    teams, team_sizes : every team, and how many players it has
    listed : players as the matches have them
    names : their ids
    plain : whether they are given by ids alone
    """

    requests: list[MatchRequest]
    team_counts: list[int]
    teams: list[TeamRequest]
    team_sizes: list[int]
    listed: Sequence[ParticipationRequest | str | int]
    names: list[str]
    plain: bool

    @classmethod
    def of(cls, matches: Sequence[LoggedMatch]) -> Participants:
        """Return the players and teams of matches. Each object is read as rarely as possible."""
        requests = [match.request for match in matches]
        teams_of = [request.teams for request in requests]
        teams = list(chain.from_iterable(teams_of))
        players_of_team = [team.players for team in teams]
        listed = list(chain.from_iterable(players_of_team))
        types = set(map(type, listed))
        only_text = types <= {str}
        return cls(
            requests,
            list(map(len, teams_of)),
            teams,
            list(map(len, players_of_team)),
            listed,
            cast("list[str]", listed) if only_text else player_ids(listed),
            types <= {str, int},
        )


def renamed(request: MatchRequest, renames: Mapping[str, str]) -> MatchRequest:
    """Return a match with the present ids of renamed players; renames : earlier id -> present."""
    if renames.keys().isdisjoint(players_of(request) if renames else ()):
        return request

    def present(member: ParticipationRequest | str | int) -> ParticipationRequest | str:
        player = renames.get(player_of(member), player_of(member))
        return (
            replace(member, player=player) if isinstance(member, ParticipationRequest) else player
        )

    teams = [replace(team, players=[*map(present, team.players)]) for team in request.teams]
    return replace(request, teams=teams)


def without(request: MatchRequest, players: set[str]) -> MatchRequest | None:
    """Return a match without some players and without empty teams; None if nobody is left."""
    if not players:
        return request
    teams = [
        TeamRequest(
            players=[member for member in team.players if player_of(member) not in players],
            rank=team.rank,
            team=team.team,
            score=team.score,
        )
        for team in request.teams
    ]
    teams = [team for team in teams if team.players]
    if not teams:
        return None
    return MatchRequest(
        match=request.match,
        teams=teams,
        weight=request.weight,
        performance_ceiling=request.performance_ceiling,
        rated=request.rated,
        beta=request.beta,
        gamma=request.gamma,
        context=request.context,
    )


def history_of(
    matches: Sequence[LoggedMatch], row_of: Mapping[str, int], player_ids: Ids, rules: PoolRules
) -> History:
    """Return matches in the order of rating as a history.

    row_of : player -> row of `player_ids`
    """
    participants = Participants.of(matches)
    rows = np.array([row_of[player] for player in participants.names], np.int64)
    return history_of_rows(matches, participants, rows, player_ids, rules)


def history_of_rows(
    matches: Sequence[LoggedMatch],
    participants: Participants,
    rows: Ints,
    player_ids: Ids,
    rules: PoolRules,
) -> History:
    """Return matches in the order of rating as a history.

    participants : of the matches; rows : theirs in `player_ids`
    """
    teams = participants.teams
    in_match = np.array(participants.team_counts, np.int64)
    in_team = np.array(participants.team_sizes, np.int64)
    # Where the teams of each match begin, and the players of each team.
    first_team, first_player = _offsets(in_match), _offsets(in_team)
    number = np.arange(len(teams)) - first_team[:-1].repeat(in_match)
    rank = dense_ranks(first_team, _ranks(teams))
    return History(
        match_ids=object_array([request.match for request in participants.requests]),
        player_ids=player_ids,
        offsets=first_player[first_team],
        player=rows,
        team=number.repeat(in_team),
        rank=rank.repeat(in_team),
        **_of_matches(matches, participants.requests, rules),
        **_of_players(participants, rules),
    )


def _ranks(teams: Sequence[TeamRequest]) -> Ints:
    """Return whole numbers that put the teams of every match in order: lower is better."""
    ranks = [team.rank for team in teams]
    if None not in ranks:
        return np.array(ranks, np.int64)
    order = np.array([team.order for team in teams], np.float64)
    return np.unique(order, return_inverse=True)[1].reshape(-1).astype(np.int64)


def time_kind(rules: PoolRules) -> TimeKind:
    """Return how the pool writes times."""
    return "datetime" if rules.settings.times == "datetime" else "seconds"


def pool_stamps(rules: PoolRules, span: tuple[int, int, bool] | None) -> bool:
    """Return whether a table of a pool writes times as in ISO 8601, not as seconds.

    span : the earliest and latest time in it, in microseconds, and whether some have part seconds
    """
    if rules.settings.times == "datetime" or span is None:
        return rules.settings.times == "datetime"
    low, high, fractions = span
    return fractions or not read_as_seconds(low // MICROSECONDS, high // MICROSECONDS)


def _of_matches(
    matches: Sequence[LoggedMatch], requests: Sequence[MatchRequest], rules: PoolRules
) -> dict[str, Any]:
    """Return the columns of matches; requests : theirs."""
    ceilings = [request.performance_ceiling for request in requests]
    columns: dict[str, Any] = {
        "time_kind": time_kind(rules),
        "weight": np.array([request.weight for request in requests], np.float64),
        "performance_ceiling": _numbers(ceilings),
    }
    for name in OF_ROUNDS:
        # Other systems refuse such matches, but a pool may have changed its system.
        if name in rules.able.uses:
            columns[name] = _numbers([getattr(request, name) for request in requests])
    if rules.timed:
        columns["time"] = np.array([match.time for match in matches], np.int64)
    return columns


def _of_players(participants: Participants, rules: PoolRules) -> dict[str, Any]:
    """Return the columns of participations."""
    listed = participants.listed
    if participants.plain:
        details: list[ParticipationRequest | None] = [None] * len(listed)
    else:
        details = [member if type(member) is ParticipationRequest else None for member in listed]
    parameters = rules.system
    needs_home = "at_home" in rules.able.uses
    needs_role = getattr(parameters, "roles", False)
    attributes: dict[str, Ids] = {}
    if needs_home:
        attributes["at_home"] = np.array([_at_home(detail) for detail in details], np.float64)
    if CONTEXT in rules.able.uses:
        requests = (match for match, _ in _played(participants))
        attributes[CONTEXT] = object_array(list(map(context_of, requests, details)))
    if needs_role:
        attributes["role"] = object_array(
            [None if detail is None else detail.role for detail in details]
        )
    for name in FACTS:
        if name not in rules.able.uses:
            continue
        values = [None if detail is None else detail.attributes.get(name) for detail in details]
        attributes[name] = object_array(values)
    if "score" in rules.able.uses:
        teams = (team for _, team in _played(participants))
        attributes["score"] = np.array(list(map(score_of, teams, details)), np.float64)
    if participants.plain or not any(details):
        return {"attributes": attributes}
    shares = [1.0 if detail is None or detail.share is None else detail.share for detail in details]
    return {
        "performance": _performances(details, rules.settings.statistics),
        "share": np.array(shares, np.float64),
        "attributes": attributes,
    }


def _played(participants: Participants) -> Iterator[tuple[MatchRequest, TeamRequest]]:
    """Give the match and the team of every player."""
    return (
        (request, team)
        for request in participants.requests
        for team in request.teams
        for _ in team.players
    )


def context_of(request: MatchRequest, detail: ParticipationRequest | None) -> str | None:
    """Return the context of a player: the attribute, else that of the match; None without."""
    own = None if detail is None else detail.attributes.get(CONTEXT)
    return request.context if own is None else str(own)


def score_of(team: TeamRequest, detail: ParticipationRequest | None) -> float | None:
    """Return the score of a player's team, else the player's attribute `score`; None without."""
    if team.score is not None:
        return team.score
    score = None if detail is None else read_score(detail.attributes.get("score"))
    return None if score is None or math.isnan(score) else score


def _performances(
    details: Sequence[ParticipationRequest | None], weights: Mapping[str, float]
) -> Floats | None:
    """Return performances as posted, or sum of weight x statistic [TG2] (5); NaN where absent."""
    if not weights:
        return _numbers([None if detail is None else detail.performance for detail in details])
    total = np.zeros(len(details))
    for name, weight in weights.items():
        values = [
            math.nan if detail is None else detail.statistics.get(name, math.nan)
            for detail in details
        ]
        total += weight * np.array(values, np.float64)
    return total


def _numbers(values: Sequence[float | None]) -> Floats | None:
    """Return numbers with NaN for None; None if all are None."""
    return None if values.count(None) == len(values) else np.array(values, np.float64)


def _at_home(detail: ParticipationRequest | None) -> bool:
    if detail is None:
        return False
    return detail.side in HOME_SIDES if detail.at_home is None else detail.at_home


def player_ids(participants: Sequence[ParticipationRequest | str | int]) -> list[str]:
    """Return the ids of players as text. Most are text already, for which no function is called."""
    return [
        participant if type(participant) is str else player_of(participant)
        for participant in participants
    ]


def player_of(participant: ParticipationRequest | str | int) -> str:
    """Return the id of a player of a match as text."""
    return (
        str(participant.player)
        if isinstance(participant, ParticipationRequest)
        else str(participant)
    )


def _offsets(counts: Ints) -> Ints:
    """Return the offsets of groups of some sizes, and the end of the last one."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    counts.cumsum(out=offsets[1:])
    return offsets


def object_array(values: Sequence[object]) -> Ids:
    """Return values as an array of Python objects, as histories have ids."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


#: A number as arrays have it in their bytes.
_DOUBLE = struct.Struct("=d")

#: zlib's level: positions of one batch share most of their bytes.
_LEVEL = 1


@dataclass(slots=True, eq=False)
class LastChanges:
    """Positions of players' last changes by row: time and number of the record, 0 for none."""

    time: Ints
    seq: Ints

    @classmethod
    def empty(cls, players: int) -> LastChanges:
        """Return the positions of players without a change."""
        return cls(np.zeros(players, np.int64), np.zeros(players, np.int64))

    @classmethod
    def of(cls, stored: Sequence[StateRow]) -> LastChanges:
        """Return the positions of stored players, in their order."""
        return cls(
            np.array([row.change_time for row in stored], np.int64),
            np.array([row.change_seq for row in stored], np.int64),
        )

    @classmethod
    def from_bytes(cls, content: bytes, players: int) -> LastChanges:
        """Return the positions in a checkpoint. Raises : InvalidDataError."""
        if not content:
            return cls.empty(players)
        try:
            both = np.frombuffer(zlib.decompress(content), "<i8").astype(np.int64)
        except (zlib.error, ValueError) as error:
            raise InvalidDataError([], f"a damaged checkpoint: {error}") from error
        if len(both) != 2 * players:
            raise InvalidDataError(
                [], f"a damaged checkpoint: positions of other than {players} players"
            )
        return cls(both[:players], both[players:])

    def to_bytes(self) -> bytes:
        """Return the positions as a checkpoint stores them."""
        both = np.concatenate([self.time, self.seq]).astype("<i8")
        return zlib.compress(both.tobytes(), _LEVEL)

    def grow(self, players: int) -> None:
        """Add rows for players without a change."""
        missing = players - len(self.time)
        if missing > 0:
            self.time = np.concatenate([self.time, np.zeros(missing, np.int64)])
            self.seq = np.concatenate([self.seq, np.zeros(missing, np.int64)])

    def take(self, rows: Ints) -> LastChanges:
        """Return a copy of some rows."""
        return LastChanges(self.time[rows], self.seq[rows])

    def put(self, rows: Ints, part: LastChanges) -> None:
        """Replace some rows by `part`."""
        self.time[rows], self.seq[rows] = part.time, part.seq

    def follow(self, players: Ints, times: Ints, seqs: Ints) -> tuple[Ints, Ints]:
        """Store changes; return the positions of the changes before them: times and numbers.

        players : row of each change; times, seqs : its position; all of shape (changes,), in the
            order of rating
        """
        order = np.argsort(players, kind="stable")
        row, time, seq = players[order], times[order], seqs[order]
        again = np.zeros(len(row), bool)
        again[1:] = row[1:] == row[:-1]
        before_time, before_seq = self.time[row], self.seq[row]
        repeated = np.flatnonzero(again)
        before_time[repeated], before_seq[repeated] = time[repeated - 1], seq[repeated - 1]
        last = np.ones(len(row), bool)
        last[:-1] = ~again[1:]
        self.time[row[last]], self.seq[row[last]] = time[last], seq[last]
        previous_time, previous_seq = np.empty_like(time), np.empty_like(seq)
        previous_time[order], previous_seq[order] = before_time, before_seq
        return previous_time, previous_seq


def _empty_trace(system: RatingSystem, history: History) -> dict[str, Floats]:
    """Return a trace of NaN, for a system to fill."""
    names = (*TRACE_COLUMNS, *system.trace_columns)
    return dict(zip(names, np.full((len(names), history.participations), np.nan), strict=True))


def numbers_of(system: RatingSystem, state: State, rows: Ints) -> RatingColumns:
    """Return players' ratings as of their last match, as the table of ratings has them.

    With a learned entry, every match moves the rating of all players who have not played, and some
    of these have a row: those whose matches were all skipped. They have the entry of the last one.
    """
    columns = system.at(state, rows, None)
    if not isinstance(system, System) or not system.learns_entry:
        return columns
    new = (columns["matches"] == 0) & (state.column(SEEDED)[rows] == 0)
    rating = np.where(new, state.column("rating")[rows], columns["rating"])
    return {**columns, "rating": rating}


def rating_rows(
    rules: PoolRules,
    state: State,
    rows: Ints,
    players: Sequence[str],
    last_changes: LastChanges,
    day: int | None = None,
) -> dict[str, Sequence[Any]]:
    """Return the ratings of players at `rows` of a state as columns of the table.

    last_changes : of all players of the state
    day : day to which the ratings shown have decayed; None for players who have just played
    Raises : InvalidDataError where the system has no rating for a player
    """
    columns = numbers_of(rules.system, state, rows)
    rating, deviation = columns["rating"], columns["deviation"]
    lost = ~np.isfinite(rating)
    if lost.any():
        player = players[int(np.flatnonzero(lost)[0])]
        rule = f"must leave every player a rating under {rules.settings.system}"
        raise InvalidDataError([Problem("", None, "teams", rule, f"none for {player}")])
    last = columns["last_time"]
    shown = display(rules, rating, deviation, days_idle(last, day))
    matches = columns["matches"].astype(np.int64)
    known = np.isfinite(last) if rules.timed else np.zeros(len(rows), bool)
    micros = np.rint(np.where(known, last, 0.0) * MICROSECONDS_PER_DAY).astype(np.int64)
    return {
        "player": players,
        "ordering": (-shown).tolist(),
        "rating": rating.tolist(),
        "deviation": [None if math.isnan(value) else value for value in (deviation + 0.0).tolist()],
        "matches": matches.tolist(),
        "last_time": [
            time if has else None for time, has in zip(micros.tolist(), known.tolist(), strict=True)
        ],
        "provisional": rules.provisional(matches, deviation).tolist(),
        "state": pack_players(state.take(rows)),
        "change_time": last_changes.time[rows].tolist(),
        "change_seq": last_changes.seq[rows].tolist(),
    }


def display(
    rules: PoolRules, rating: Floats, deviation: Floats, idle: Floats | None = None
) -> Floats:
    """Return the ratings shown: rating - k x deviation, decayed, not below the floor.

    deviation : NaN for none
    idle : days since each player's last match, NaN for no match; None for no decay
    """
    settings, shown = rules.settings, rating
    if settings.display_deviations != 0.0:
        shown = shown - settings.display_deviations * np.nan_to_num(deviation, nan=0.0)
    if settings.display_decay_per_day > 0.0 and idle is not None:
        away = np.maximum(idle - settings.display_decay_after_days, 0.0)
        shown = shown - settings.display_decay_per_day * np.nan_to_num(away, nan=0.0)
    return shown if settings.display_floor is None else np.maximum(shown, settings.display_floor)


def day_of(time: int) -> int:
    """Return the beginning of the day of a time, microseconds since 1970."""
    return time - time % MICROSECONDS_PER_DAY


def days_idle(last: Floats, day: int | None) -> Floats | None:
    """Return the days from last matches, in days since 1970, to the beginning of a day."""
    return None if day is None else day / MICROSECONDS_PER_DAY - last


def rated_changes(
    rules: PoolRules,
    state: State,
    last_changes: LastChanges,
    matches: Sequence[LoggedMatch],
    participants: Participants,
    rows: Ints,
    player_ids: Ids,
) -> dict[str, Sequence[Any]]:
    """Rate matches in the order of rating; return their changes as columns.

    state, last_changes : of the players at the rows of `player_ids`; both are updated
    participants : of the matches; rows : theirs in `player_ids`
    Raises : ConvergenceError, InvalidDataError; state and last_changes are then of no further use
    """
    history = history_of_rows(matches, participants, rows, player_ids, rules)
    trace = _empty_trace(rules.system, history)
    calibrates = rules.settings.calibrate and history.matches > 0
    if calibrates and getattr(rules.system, "learns_advantage", False):
        trace[HEAD_START] = np.full(history.participations, np.nan)
    if history.matches:
        start_counting(state)
        rules.system.run(state, history, 0, history.matches, trace)
    if calibrates:
        start_calibrating(state)
        learn(rules.system, state, history, 0, history.matches, trace)
    return _change_rows(rules, history, trace, [match.seq for match in matches], last_changes)


def _change_rows(
    rules: PoolRules,
    history: History,
    trace: dict[str, Floats],
    seqs: Sequence[int],
    last_changes: LastChanges,
) -> dict[str, Sequence[Any]]:
    """Return the changes of rated participations as columns of the table, in the order of rating.

    seqs : of every match of the history
    last_changes : of the history's players; updated
    """
    rated = np.flatnonzero(np.isfinite(trace["rating"]))
    every = history.match_rows()
    match = every[rated]
    times = np.zeros(history.matches, np.int64) if history.time is None else history.time
    time, seq = times[match], np.asarray(seqs, np.int64)[match]
    player = history.player[rated]
    previous_time, previous_seq = last_changes.follow(player, time, seq)
    performance = trace.get("performance", history.performance)
    if performance is None:
        performance = np.full(history.participations, np.nan)
    values = [
        trace["rating_before"],
        trace["deviation_before"],
        trace["deviation"],
        trace["expected"],
        performance,
        *(trace[name] for name in rules.extra_columns),
    ]
    return {
        "player": history.player_ids[player].tolist(),
        "time": time.tolist(),
        "seq": seq.tolist(),
        "previous_time": previous_time.tolist(),
        "previous_seq": previous_seq.tolist(),
        "rating": (trace["rating"][rated] + 0.0).tolist(),
        "numbers": pack_numbers(
            places_of(history, every)[rated],
            history.teams()[match],
            np.array(values)[:, rated],
        ),
    }


def places_of(history: History, match: Ints) -> Ints:
    """Return how many teams of the match came before each participation's team, shape (N,).

    match : of every participation
    """
    team = history.team
    first = np.ones(len(match), bool)
    first[1:] = (match[1:] != match[:-1]) | (team[1:] != team[:-1])
    teams = np.flatnonzero(first)
    # Teams in the order of matches, and of ranks in each: those before a rank of a match, without
    # those of the matches before.
    span = int(history.rank.max(initial=0)) + 1
    begins = match[teams] * span
    keys = begins + history.rank[teams]
    ordered = np.sort(keys)
    before = np.searchsorted(ordered, keys) - np.searchsorted(ordered, begins)
    places: Ints = before[np.cumsum(first) - 1]
    return places


def unpack_extra(rules: PoolRules, extra: bytes) -> dict[str, float | None]:
    """Return the further numbers of a change by name, None for NaN.

    Only the system knows the names: without its package there are none.
    """
    if rules.fault:
        return {}
    # Every match that is posted comes here: arrays of so few numbers take longer. NaN is not equal
    # to itself.
    values = [None if number != number else number for (number,) in _DOUBLE.iter_unpack(extra)]
    return dict(zip(rules.extra_columns, values, strict=True))


#: Teams of a match up to which chances are computed and opponents are listed.
MOST_TEAMS = 100
#: Columns of a match that no chance beforehand depends on.
_AFTERWARDS = frozenset({"weight", "share", "score", "performance", "performance_ceiling"})


def chances_of(
    rules: PoolRules,
    pool: PoolRecord,
    matches: Sequence[LoggedMatch],
    rows: Sequence[Mapping[str, ChangeRow]],
) -> list[list[float | None]]:
    """Return the chance of each team before each match, None for all where it is not known.

    rows : what each match did to its players
    """
    chances: list[list[float | None]] = [[None] * len(match.request.teams) for match in matches]
    names = [players_of(match.request) for match in matches]
    known = [
        at
        for at, of_match in enumerate(rows)
        if 2 <= len(chances[at]) <= MOST_TEAMS and of_match.keys() >= set(names[at])
    ]
    if rules.fault or not known:
        return chances
    together = rules.able.uses <= _AFTERWARDS
    for some in [known] if together else [[at] for at in known]:
        history = None
        if not together:
            numbers = {name: number for number, name in enumerate(names[some[0]])}
            ids = object_array(names[some[0]])
            history = history_of([matches[some[0]]], numbers, ids, rules)
        try:
            found = _expected(rules, pool, matches, rows, names, some, history)
        except EquipoiseError:
            continue  # The pool has changed its system, which cannot predict these matches.
        for at, expected in zip(some, found, strict=True):
            chances[at] = list(expected)
    return chances


def _expected(
    rules: PoolRules,
    pool: PoolRecord,
    matches: Sequence[LoggedMatch],
    rows: Sequence[Mapping[str, ChangeRow]],
    names: Sequence[Sequence[str]],
    some: Sequence[int],
    history: History | None,
) -> list[tuple[float, ...]]:
    """Return the expected scores of some of the matches; names : of the players of each."""
    before = [rows[at][name] for at in some for name in names[at]]
    rating = np.array([row.rating_before for row in before], np.float64)
    deviation = np.array([row.deviation_before for row in before], np.float64)
    if CONTEXT in rules.able.uses:
        traced = [unpack_extra(rules, row.extra) for row in before]
        rating = rating + np.array([trace[OFFSET] for trace in traced], np.float64)
        deviation = np.sqrt(
            deviation**2 + np.array([trace[OFFSET_VARIANCE] for trace in traced], np.float64)
        )
    sizes = [[len(team.players) for team in matches[at].request.teams] for at in some]
    state = State(initial={}, table=np.zeros((0, 0)), shared=dict(pool.shared))
    return expected_scores(rules.system, state, rating, deviation, sizes, rules.able, history)
