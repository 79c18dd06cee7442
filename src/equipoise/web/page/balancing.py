"""Pages that make teams fair: of the players of a pool, or of a list.

The form has rows of players with party and lock, pairs to separate, and a field to paste names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from markupsafe import Markup
from starlette.responses import Response

from equipoise.data.lobby import NO_COST, Objective, constraint_in_words
from equipoise.data.rebalancing import Method
from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.messages.pools import PoolMessage
from equipoise.messages.questions import (
    BalanceMessage,
    BalancePlayer,
    BalanceRequest,
    ComparedMessage,
    ConstraintMessage,
    PredictRequest,
    RebalanceMessage,
    rebalance_message,
)
from equipoise.pools.pool.pools import capabilities_of, pool_message
from equipoise.pools.reading.players import ratings_of_players
from equipoise.pools.reading.questions import balance_in_pool, predict_in_pool
from equipoise.store.connection import Store
from equipoise.web.api.calculations import example_ruleset
from equipoise.web.http.endpoints import whole_number
from equipoise.web.page.context import Form, PageContext, upload_limits
from equipoise.web.page.figures import box, picture, upright
from equipoise.web.page.matches import entries_of, teams_in_query, teams_path
from equipoise.web.page.rendering import path

#: Names of parties in the form.
PARTIES = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
#: Least number of rows and pairs in the form.
ROWS, PAIRS = 10, 3
MOST_PLAYERS, MOST_TEAMS, MOST_ALTERNATIVES = 300, 20, 10
#: Separators between the players of a party on a pasted line.
_SEPARATOR = re.compile(r"\t| \+ ")


@dataclass(frozen=True, slots=True)
class Row:
    """A player of the lobby, as typed; party and team may be ""."""

    player: str = ""
    party: str = ""
    team: str = ""


@dataclass(frozen=True, slots=True)
class LobbyForm:
    """The complete form, as typed; `typed` has the fields beside the players and pairs."""

    typed: Form
    rows: list[Row] = field(default_factory=list)
    avoid: list[tuple[str, str]] = field(default_factory=list)

    @property
    def offered(self) -> list[Row]:
        """Rows with a few empty ones at the end."""
        return [*self.rows, *[Row()] * max(ROWS - len(self.rows), 2)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs to separate, with empty ones at the end."""
        return [*self.avoid, *[("", "")] * max(PAIRS - len(self.avoid), 1)]


def lobby_of(form: Form) -> LobbyForm:
    """Return the form as it was sent, with pasted players in rows."""
    columns = [form.texts(name) for name in ("player", "party", "team")]
    longest = max(map(len, columns))
    padded = [[*column, *[""] * (longest - len(column))] for column in columns]
    rows = [Row(*row) for row in zip(*padded, strict=True) if row[0]][:MOST_PLAYERS]
    rows = [*rows, *_pasted(form.text("paste"), {row.party for row in rows})][:MOST_PLAYERS]
    pairs = zip(form.texts("avoid"), form.texts("avoided"), strict=False)
    return LobbyForm(form, rows, [pair for pair in pairs if pair[0] or pair[1]][:MOST_PLAYERS])


def _pasted(text: str, taken: set[str]) -> list[Row]:
    """Return rows of pasted players. Players on one line are a party."""
    free = iter([name for name in PARTIES if name not in taken])
    rows = []
    for line in text.splitlines()[:MOST_PLAYERS]:
        names = [name.strip() for name in _SEPARATOR.split(line) if name.strip()]
        party = next(free, "") if len(names) > 1 else ""
        rows += [Row(name, party) for name in names]
    return rows


def request_of(lobby: LobbyForm) -> BalanceRequest:
    """Return the request for a split. Raises : InvalidDataError with every problem."""
    problems = [*_player_problems(lobby.rows), *_pair_problems(lobby)]
    typed, objective = lobby.typed, lobby.typed.text("objective")
    teams = _whole(typed.text("teams", "2"), "teams", 2, MOST_TEAMS, problems)
    most = _whole(typed.text("alternatives", "3"), "alternatives", 0, MOST_ALTERNATIVES, problems)
    if objective not in ("", *get_args(Objective)):
        rule = f"must be one of {', '.join(get_args(Objective))}"
        problems.append(Problem("", None, "compare", rule, objective[:50]))
    if problems:
        raise InvalidDataError(problems, "the lobby cannot be split")
    avoided: dict[str, list[str | int]] = {}
    for one, other in lobby.avoid:
        avoided.setdefault(one, []).append(other)
    return BalanceRequest(
        players=[
            BalancePlayer(
                row.player,
                party=row.party or None,
                team=int(row.team) if row.team else None,
                avoid=avoided.get(row.player, []),
            )
            for row in lobby.rows
        ],
        teams=teams,
        objective=objective or None,
        top_two=typed.flag("top_two") or None,
        uneven=typed.flag("uneven") or None,
        alternatives=most,
    )


def _player_problems(rows: Sequence[Row]) -> list[Problem]:
    problems = []
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        if row.player in seen:
            problems.append(Problem("", None, f"player {number}", "must appear once", row.player))
        seen.add(row.player)
        if row.team and whole_number(row.team, 3) is None:
            rule = "must be the number of a team"
            problems.append(Problem("", None, f"team of player {number}", rule, row.team[:50]))
    if len(rows) < 2:
        problems.append(Problem("", None, "players", "must be at least 2", str(len(rows))))
    return problems


def _pair_problems(lobby: LobbyForm) -> list[Problem]:
    known = {row.player for row in lobby.rows}
    return [
        Problem("", None, "pair", "must name two players of the lobby", name or "nothing")
        for pair in lobby.avoid
        for name in pair
        if name not in known
    ]


def _whole(text: str, name: str, low: int, high: int, problems: list[Problem]) -> int:
    number = whole_number(text, 6)
    if number is not None and low <= number <= high:
        return number
    problems.append(
        Problem("", None, name, f"must be from {low} to {high}", text[:50] or "nothing")
    )
    return low


@dataclass(frozen=True, slots=True)
class Member:
    """A player of a team; rating None for a newcomer."""

    player: str
    rating: float | None
    deviation: float | None
    party: str
    locked: bool


@dataclass(frozen=True, slots=True)
class Team:
    """A team: its win probability or expected score, and the mean of its known ratings."""

    number: int
    members: list[Member]
    expected: float
    mean: float | None


async def balance_page(context: PageContext) -> Response:
    """Return the form, with the players named in the query."""
    wanted = context.request.query_params.getlist("player")[:MOST_PLAYERS]
    return _balance_form(context, LobbyForm(Form(), [Row(name) for name in wanted if name]))


async def balance(context: PageContext) -> Response:
    """Return the teams of a lobby, or only the form with pasted players in rows."""
    lobby = lobby_of(await context.form())
    if lobby.typed.text("do") == "rows":
        return _balance_form(context, lobby)
    try:
        request = request_of(lobby)
        names = [row.player for row in lobby.rows]
        pool, answer_message, ratings = await context.calculate(split_and_ratings, request, names)
        context.known_pool = pool
    except EquipoiseError as error:
        return _balance_form(context, lobby, error)
    played = await _result_path(
        context, [[str(player) for player in team] for team in answer_message.teams]
    )
    return _balance_form(
        context, lobby, answer=answer_of(answer_message, lobby, ratings), played=played
    )


async def _result_path(context: PageContext, teams: Sequence[Sequence[str]]) -> str | None:
    """Return the path of the form for the result of teams, None if the pool cannot rate it."""
    able = await context.read(capabilities_of)
    pool = context.pool_name
    fits = able.fits([len(team) for team in teams])
    return teams_path("pools", pool, "post", teams=teams) if fits else None


async def teams_page(context: PageContext) -> Response:
    """Return the teams in the query with their ratings and chances now, for all who can read."""
    pool = context.pool
    entries = [entry for entry in entries_of(teams_in_query(context)) if entry.players]
    teams = [list(entry.players) for entry in entries]
    if len(teams) < 2:
        return context.redirect(path("pools", pool.pool, "balance"))
    pool, chances, ratings = await context.calculate(teams_now, teams)
    context.known_pool = pool
    shown = [
        Team(
            number,
            [_member(player, Row(), ratings) for player in team],
            0.0 if chances is None else chances[number - 1],
            _mean(team, ratings),
        )
        for number, team in enumerate(teams, start=1)
    ]
    return context.render(
        "teams.html",
        teams=shown,
        bar=probability_bar(chances) if chances is not None and len(teams) == 2 else None,
        known=chances is not None,
        played=await _result_path(context, teams),
        players=[player for team in teams for player in team],
    )


def teams_now(
    store: Store, pool: str, teams: Sequence[Sequence[str]]
) -> tuple[PoolMessage, list[float] | None, Mapping[str, tuple[float, float | None]]]:
    """Return a pool, the expected scores of teams, and ratings of players, of one transaction.

    The expected scores are None where the system of the pool cannot predict such a match.
    """
    names = [player for team in teams for player in team]
    with store.moment() as moment:
        current, ratings = pool_message(moment, pool), ratings_of_players(moment, pool, names)
        try:
            request = PredictRequest([list(team) for team in teams])
            predicted = predict_in_pool(moment, pool, request)
        except EquipoiseError:
            return current, None, ratings
        return current, [team.expected for team in predicted.teams], ratings


def _mean(
    players: Sequence[str], ratings: Mapping[str, tuple[float, float | None]]
) -> float | None:
    """Return the mean of the known ratings, None if none is known."""
    known = [ratings[player][0] for player in players if player in ratings]
    return math.fsum(known) / len(known) if known else None


def split_and_ratings(
    store: Store, pool: str, request: BalanceRequest, names: Sequence[str]
) -> tuple[PoolMessage, BalanceMessage, Mapping[str, tuple[float, float | None]]]:
    """Return a pool, the teams of a lobby, and ratings of players, as of one transaction."""
    with store.moment() as moment:
        return (
            pool_message(moment, pool),
            balance_in_pool(moment, pool, request),
            ratings_of_players(moment, pool, names),
        )


def _balance_form(
    context: PageContext,
    lobby: LobbyForm,
    error: EquipoiseError | None = None,
    *,
    answer: dict[str, Any] | None = None,
    played: str | None = None,
) -> Response:
    teams = answer["message"].teams if answer else []
    return context.render(
        "balance.html",
        error,
        played=played,
        link=teams_path("pools", context.pool_name, "teams", teams=teams),
        lobby=lobby,
        parties=PARTIES[:12],
        most_teams=MOST_TEAMS,
        most_alternatives=MOST_ALTERNATIVES,
        answer=answer,
    )


def answer_of(
    message: BalanceMessage,
    lobby: LobbyForm,
    ratings: Mapping[str, tuple[float, float | None]],
) -> dict[str, Any]:
    """Return a split as the page shows it.

    `kept` has each constraint in words, whether it is waived, and its cost, None if unknown;
    `others` has the next best splits with the players who join each team instead
    """
    row_of = {row.player: row for row in lobby.rows}
    teams = []
    for number, (players, expected) in enumerate(
        zip(message.teams, message.expected if message.win is None else message.win, strict=True),
        start=1,
    ):
        members = [
            _member(str(player), row_of.get(str(player), Row()), ratings) for player in players
        ]
        mean = _mean([member.player for member in members], ratings)
        teams.append(Team(number, members, expected, mean))
    return {
        "message": message,
        "teams": teams,
        "bar": probability_bar(message.expected) if len(teams) == 2 else None,
        "kept": [_constraint_line(constraint, message) for constraint in message.constraints],
        "others": [
            (alternative, _moves(message.teams, alternative.teams))
            for alternative in message.alternatives
        ],
    }


def _member(player: str, row: Row, ratings: Mapping[str, tuple[float, float | None]]) -> Member:
    rating, deviation = ratings.get(player, (None, None))
    return Member(player, rating, deviation, row.party, bool(row.team))


def probability_bar(expected: Sequence[float]) -> Markup:
    """Return the expected scores of two teams as one bar."""
    middle = 100 * expected[0]
    return picture(
        "chance",
        14,
        box("chance-first", 0, middle, 0, 14),
        box("chance-second", middle, 100, 0, 14),
        upright("chance-even", 50, 0, 14),
    )


def _constraint_line(
    constraint: ConstraintMessage, message: BalanceMessage
) -> tuple[list[tuple[str, bool]], bool, float | None]:
    cost = None
    if constraint.objective_without is not None:
        cost = max(message.objective - constraint.objective_without, 0.0)
        cost = 0.0 if cost < NO_COST[cast(Objective, message.objective_kind)] else cost
    words = constraint_in_words(
        constraint.kind, constraint.players, constraint.label, len(message.teams)
    )
    return words, constraint.status == "waived", cost


def _moves(
    best: Sequence[Sequence[int | str]], other: Sequence[Sequence[int | str]]
) -> list[tuple[int, list[str]]]:
    """Return the players who join each team in another split.

    Each team is compared with the team of the other split that shares most players with it.
    """
    left = {at: {str(player) for player in team} for at, team in enumerate(other)}
    moves = []
    for number, team in enumerate(best, start=1):
        own = {str(player) for player in team}
        nearest = max(left, key=lambda at: (len(own & left[at]), -at))
        came = left.pop(nearest) - own
        if came:
            moves.append((number, sorted(came)))
    return moves


#: Time limit of a search in seconds, and rows of the table of steps.
_SECONDS, _ROWS = 5.0, 100

_VALUES = {"ana": 70, "bo": 60, "cy": 40, "di": 55, "ed": 30, "flo": 65, "gil": 45, "hu": 50}
_PARTIES = (("ana", "bo"), ("cy",), ("di",), ("ed", "flo"), ("gil",), ("hu",))

#: The request with which the form begins.
EXAMPLE: dict[str, Any] = {
    "ruleset": example_ruleset(4, max=50),
    "parties": [
        {
            "party": f"Party {number}",
            "players": [{"player": name, "attributes": {"mmr": _VALUES[name]}} for name in players],
        }
        for number, players in enumerate(_PARTIES, start=1)
    ],
}


async def rebalance_page(context: PageContext) -> Response:
    """Return the form."""
    return _rebalance_form(context, json.dumps(EXAMPLE, indent=1))


async def rebalance(context: PageContext) -> Response:
    """Return the teams of a request, and a comparison of all methods if requested."""
    form = await context.form(upload_limits(context.service.settings))
    text, method = form.text("request"), form.text("method")
    try:
        chosen = form.choice("method", get_args(Method)) if method else None
        content = text.encode("utf-8", "replace")
        work = context.service.calculate(rebalanced, content, chosen, form.flag("compare"))
        result, rows, values = await context.while_connected(work)
    except EquipoiseError as error:
        return _rebalance_form(context, text, error, method=method, compare=form.flag("compare"))
    return _rebalance_form(
        context,
        text,
        method=method,
        compare=form.flag("compare"),
        found=result,
        values=values,
        steps=result.steps[:_ROWS],
        more_steps=max(len(result.steps) - _ROWS, 0),
        rows=rows,
    )


def rebalanced(
    content: bytes, method: Method | None, compare: bool
) -> tuple[RebalanceMessage, list[ComparedMessage], dict[str, str]]:
    """Return the teams, the results of all methods if `compare`, and the players' attributes."""
    from equipoise.analysis.balance import RebalanceOrder
    from equipoise.analysis.balance.rebalance import compare_methods, rebalance_request

    order = RebalanceOrder(source=content, method=method, time_limit=_SECONDS)
    message = rebalance_message(rebalance_request(order).result)
    values = _values_of(content)
    if not compare:
        return message, [], values
    plain = RebalanceOrder(source=content, time_limit=_SECONDS)
    return message, compare_methods(plain), values


def _values_of(content: bytes) -> dict[str, str]:
    """Return the attributes of the players in a request by their ids."""
    document = json.loads(content)  # bytes may begin with a byte order mark
    session = document.get("session") or {}
    parties = list(document.get("parties") or [])
    for team in session.get("teams") or []:
        parties += team
    return {
        str(player["player"]): ", ".join(
            f"{name} {value:g}" if isinstance(value, int | float) else f"{name} {value}"
            for name, value in (player.get("attributes") or {}).items()
        )
        for party in parties
        for player in party["players"]
    }


def _rebalance_form(
    context: PageContext, text: str, error: EquipoiseError | None = None, **more: Any
) -> Response:
    values = {"method": "", "compare": False, "found": None, "rows": [], **more}
    return context.render("rebalance.html", error, request=text, methods=get_args(Method), **values)
