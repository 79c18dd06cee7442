"""Posted matches -> matches that a pool can rate, or every problem with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from equipoise.data.history import (
    FARTHEST_CEILING,
    LARGEST_PERFORMANCE,
    LARGEST_SCORE,
    MOST_WEIGHT,
    OWN_DEVIATIONS,
    SCORE,
    SIDE,
    SIDES,
    TOO_FAR,
    TOO_HEAVY,
    TOO_LARGE,
    read_score,
)
from equipoise.errors import InvalidParameterError, Problem
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.pools.pool.rules import ID_LENGTH, PoolRules, id_fault, id_text, moment
from equipoise.rating.federations.facts import broken_rule, used_facts
from equipoise.rating.system import OF_ROUNDS

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(MatchRequest)


class PostedMatch(NamedTuple):
    """A posted match that a pool can rate.

    request : as posted, with ids as text and without its time
    id : of the match
    time : microseconds since 1970, None for none
    content : JSON of the request
    """

    request: MatchRequest
    id: str
    time: int | None
    content: str


def logged_match(content: str) -> MatchRequest:
    """Return a match from the content of its log record; its ids are text."""
    return _decoder.decode(content)


def logged_matches(contents: Iterable[str]) -> list[MatchRequest]:
    """Return matches from the contents of their log records."""
    return list(map(_decoder.decode, contents))


def read_matches(
    requests: Sequence[MatchRequest], rules: PoolRules, first_line: int = 1
) -> tuple[list[PostedMatch], list[Problem]]:
    """Return the matches that can be rated, and the problems of the others.

    first_line : number of the first match, for the problems
    """
    found: list[PostedMatch] = []
    problems: list[Problem] = []
    for line, request in enumerate(requests, start=first_line):
        plain = _is_plain(request, rules)
        wrong = [] if plain else [Problem("", line, *one) for one in _faults(request, rules)]
        time = None
        if request.time is not None:
            try:
                time = moment(request.time)
            except InvalidParameterError as error:
                rule, _, got = str(error).removeprefix("time ").partition("; got ")
                wrong.append(Problem("", line, "time", rule, got))
        if wrong:
            problems += wrong
            continue
        same = _without_time(request) if plain else _canonical(request)
        found.append(PostedMatch(same, str(same.match), time, _encoder.encode(same).decode()))
    return found, problems


def _is_plain(request: MatchRequest, rules: PoolRules) -> bool:
    """Return whether a quick check finds a match valid, apart from its time.

    Most matches give players by text alone, or with a performance. The values of other matches are
    checked one by one.
    """
    match, able = request.match, rules.able
    if (
        type(match) is not str
        or request.weight != 1.0
        or request.performance_ceiling is not None
        or request.beta is not None
        or request.gamma is not None
        or not request.teams
        or (able.max_teams is not None and len(request.teams) > able.max_teams)
        or not able.draws
        or not rules.timed
    ):
        return False
    ids, largest = [match], 0
    for team in request.teams:
        players = team.players
        rank = team.rank
        if rank is None or team.team is not None or team.score is not None:
            return False
        if not 0 <= rank < 2**31 or not players:
            return False
        largest = max(largest, len(players))
        for one in players:
            if type(one) is str:
                ids.append(one)
            elif type(one) is ParticipationRequest and _is_plain_player(one, rules):
                ids.append(one.player)  # type: ignore[arg-type]
            else:
                return False
    if able.max_team_size is not None and largest > able.max_team_size:
        return False
    return (
        len(set(ids)) >= len(ids) - (match in ids[1:])
        and "".join(ids).isprintable()
        and all(ids)
        and max(map(len, ids)) <= ID_LENGTH
    )


def _is_plain_player(one: ParticipationRequest, rules: PoolRules) -> bool:
    """Return whether a player is given by text and a valid performance alone."""
    performance = one.performance
    return (
        type(one.player) is str
        and performance is not None
        and -LARGEST_PERFORMANCE <= performance <= LARGEST_PERFORMANCE
        and not rules.settings.statistics
        and one.share is None
        and not one.statistics
        and not one.attributes
        and one.role is None
        and one.side is None
    )


def unused_fields(requests: Iterable[MatchRequest], rules: PoolRules) -> list[str]:
    """Return the fields that matches give and the pool's system does not use."""
    given: set[str] = set()
    for request in requests:
        if request.weight != 1.0:
            given.add("weight")
        if request.performance_ceiling is not None:
            given.add("performance_ceiling")
        for team in request.teams:
            for one in team.players:
                if type(one) is ParticipationRequest:  # mostly the bare id
                    _add_given(one, given)
    return [name for name in rules.unused if name in given]


def _add_given(one: ParticipationRequest, given: set[str]) -> None:
    """Add the fields that a player in a match gives beside the id."""
    if one.performance is not None:
        given.add("performance")
    if one.statistics:
        given.add("statistics")
    if one.share is not None:
        given.add("share")
    if one.role is not None:
        given.add("role")
    if one.side is not None:
        given.add("side")
    if one.at_home is not None:
        given.add("at_home")


def _faults(request: MatchRequest, rules: PoolRules) -> Iterator[tuple[str, str, str]]:
    """Give (field, rule, value as text) of everything wrong with a match but its time."""
    for field, rule, got in _found_faults(request, rules):
        text = str(got)
        yield field, rule, text if len(text) <= ID_LENGTH else text[:ID_LENGTH] + "..."


def _found_faults(request: MatchRequest, rules: PoolRules) -> Iterator[tuple[str, str, object]]:
    """Give (field, rule, value) of everything wrong with a match but its time."""
    if (rule := id_fault(request.match)) is not None:
        yield "match", rule, request.match
    if not rules.timed and request.time is not None:
        yield "time", "must be left out: this pool has no times", request.time
    if not (0 < request.weight < math.inf):
        yield "weight", "must be a positive number", request.weight
    elif request.weight > MOST_WEIGHT:
        yield "weight", TOO_HEAVY, request.weight
    ceiling = request.performance_ceiling
    if ceiling is not None and not math.isfinite(ceiling):
        yield "performance_ceiling", "must be a finite number", ceiling
    elif ceiling is not None and abs(ceiling) > FARTHEST_CEILING:
        yield "performance_ceiling", TOO_FAR, ceiling
    for own, (least, most, rule) in OWN_DEVIATIONS.items():
        value = getattr(request, own)
        if value is not None and not least <= value <= most:
            yield own, rule, value
    if not request.teams:
        yield "teams", "must not be empty", "no team"
    yield from _place_faults(request)
    yield from _misfits(request, rules)
    seen: set[str] = set()
    for team in request.teams:
        if team.team is not None and (rule := id_fault(team.team)) is not None:
            yield "team", rule, team.team
        if not team.players:
            yield "players", "must not be empty", "a team without players"
        for one in team.players:
            player = one.player if isinstance(one, ParticipationRequest) else one
            text = player if type(player) is str else str(player)
            if (rule := id_fault(text)) is not None:
                yield "player", rule, text
            if text in seen:
                yield "player", "must appear once in a match", text
            seen.add(text)
            if isinstance(one, ParticipationRequest):
                yield from _participation_faults(one, rules)


def _place_faults(request: MatchRequest) -> Iterator[tuple[str, str, object]]:
    """Give what is wrong with the ranks or scores of the teams."""
    scores = sum(team.score is not None for team in request.teams)
    for team in request.teams:
        if team.rank is not None and not 0 <= team.rank <= 2**31:
            yield "rank", "must be a whole number from 0", team.rank
        if team.rank is not None and team.score is not None:
            rule = "cannot be combined with rank"
            yield "score", rule, f"score {team.score:g} and rank {team.rank}"
        elif team.score is not None and not abs(team.score) <= LARGEST_SCORE:
            yield "score", "must be a number from -2^53 to 2^53", team.score
        elif team.score is None and team.rank is not None and scores:
            yield (
                "score",
                "must be given for all teams of a match or for none",
                "a team with a rank",
            )
        elif team.score is None and team.rank is None:
            rule = "must be given for all teams of a match"
            if scores:
                yield "score", rule, f"{scores} of {len(request.teams)} teams with a score"
            else:
                yield "rank", f"{rule}, or score for all of them", "a team without a rank"


def _misfits(request: MatchRequest, rules: PoolRules) -> Iterator[tuple[str, str, object]]:
    """Give what the pool's system cannot rate in a match."""
    able, name = rules.able, rules.settings.system
    for field in OF_ROUNDS:
        value = getattr(request, field)
        if value is not None and field not in able.uses:
            yield field, f"must be left out: {name} has no {field} for each match", value
    if able.max_teams is not None and len(request.teams) > able.max_teams:
        yield "teams", f"must be at most {able.max_teams} for {name}", len(request.teams)
    if able.max_team_size is not None:
        largest = max((len(team.players) for team in request.teams), default=0)
        if largest > able.max_team_size:
            yield "players", f"must be at most {able.max_team_size} a team for {name}", largest
    if not able.draws and len({team.order for team in request.teams}) < len(request.teams):
        need = f": ties need {able.ties_need}" if able.ties_need else ""
        yield "rank", f"must differ from team to team for {name}{need}", "a tie"


def _participation_faults(
    one: ParticipationRequest, rules: PoolRules
) -> Iterator[tuple[str, str, object]]:
    if one.share is not None and not 0 <= one.share <= 1:
        yield "share", "must be a number from 0 to 1", one.share
    if one.performance is not None:
        if not math.isfinite(one.performance):
            yield "performance", "must be a finite number", one.performance
        elif abs(one.performance) > LARGEST_PERFORMANCE:
            yield "performance", TOO_LARGE, one.performance
        if rules.settings.statistics:
            rule = "must be left out: this pool computes it from statistics"
            yield "performance", rule, one.performance
    for name, value in one.statistics.items():
        if not math.isfinite(value):
            yield f"statistics.{name}", "must be a finite number", value
        elif abs(value) * abs(rules.settings.statistics.get(name, 0.0)) > LARGEST_PERFORMANCE:
            yield f"statistics.{name}", f"{TOO_LARGE}, times its weight", value
    uses = rules.able.uses
    if one.side and one.at_home is None and "side" in uses and one.side not in SIDES:
        yield "side", SIDE, one.side
    if "score" in uses and read_score(one.attributes.get("score")) is None:
        yield "attributes.score", SCORE, one.attributes["score"]
    for name in used_facts(uses) if one.attributes else ():
        fact = one.attributes.get(name)
        if (broken := broken_rule(name, fact)) is not None:
            yield f"attributes.{name}", broken, fact
    for text in (one.role, one.side, *one.statistics, *one.attributes, *one.attributes.values()):
        if isinstance(text, str) and "\0" in text:
            yield "attributes", "must have no NUL characters", text


def _canonical(request: MatchRequest) -> MatchRequest:
    """Return a request with ids as text, without its time, players as bare ids where possible."""
    teams = [
        TeamRequest(
            players=[_canonical_player(one) for one in team.players],
            rank=team.rank,
            team=None if team.team is None else id_text(team.team),
            # -0.0 becomes 0.0, because contents are compared.
            score=None if team.score is None else team.score + 0.0,
        )
        for team in request.teams
    ]
    return MatchRequest(
        match=id_text(request.match),
        teams=teams,
        weight=request.weight,
        performance_ceiling=request.performance_ceiling,
        rated=request.rated,
        beta=request.beta,
        gamma=request.gamma,
    )


def _without_time(request: MatchRequest) -> MatchRequest:
    """Return a plain request without its time."""
    return MatchRequest(match=request.match, teams=request.teams, rated=request.rated)


def _canonical_player(one: ParticipationRequest | str | int) -> ParticipationRequest | str:
    if not isinstance(one, ParticipationRequest):
        return id_text(one)
    text = id_text(one.player)
    same = one if one.player == text else msgspec.structs.replace(one, player=text)
    return text if same == ParticipationRequest(player=text) else same
