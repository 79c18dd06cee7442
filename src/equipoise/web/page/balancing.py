"""The team balancer: who waits, the fairest teams, what they cost, the next best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from starlette.responses import Response

from equipoise.charts.markup import element
from equipoise.data.split import constraint_in_words
from equipoise.errors import EquipoiseError
from equipoise.messages.balance import BalanceMessage, ConstraintMessage
from equipoise.web.errors import ForbiddenError, http_status
from equipoise.web.page.drawing.axes import picture
from equipoise.web.page.forms import Form
from equipoise.web.page.lobby_form import (
    MOST_ALTERNATIVES,
    MOST_PLAYERS,
    MOST_TEAMS,
    PARTIES,
    LobbyForm,
    Row,
    lobby_of,
    request_of,
)
from equipoise.web.page.problems import problems_of
from equipoise.web.page.visit import PageContext
from equipoise.workflows.pool_people import ratings_of_players
from equipoise.workflows.pool_questions import balance_in_pool

#: A cost below this is none.
_NOTHING = 5e-3


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
    """A team, its expected score or chance to win, and the mean of its known ratings."""

    number: int
    members: list[Member]
    chance: float
    mean: float | None


@dataclass(frozen=True, slots=True)
class Kept:
    """A constraint in words; cost None where it is not known."""

    words: list[tuple[str, bool]]
    waived: bool
    cost: float | None


@dataclass(frozen=True, slots=True)
class Other:
    """A next best split: who goes where instead."""

    objective: float
    rating_difference: float
    deviation_difference: float
    moves: list[tuple[int, list[str]]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page shows of a split."""

    message: BalanceMessage
    teams: list[Team]
    bar: Markup | None
    kept: list[Kept]
    others: list[Other]


async def balance_page(context: PageContext) -> Response:
    """Return the form, with the players that the query names."""
    await context.pool()
    wanted = context.request.query_params.getlist("player")[:MOST_PLAYERS]
    return _shown(context, LobbyForm(rows=[Row(one) for one in wanted if one]))


async def balance(context: PageContext) -> Response:
    """Return the teams of a lobby, or the form with pasted players in rows."""
    await context.pool()
    form: Form = await context.form()
    lobby = lobby_of(form)
    if form.text("do") == "rows":
        return _shown(context, lobby)
    try:
        request = request_of(lobby)
        names = [row.player for row in lobby.rows]
        found, ratings = await context.snapshot(
            lambda store, pool: (
                balance_in_pool(store, pool.pool, request),
                ratings_of_players(store, pool.pool, names),
            ),
            takes_long=True,
        )
    except ForbiddenError:
        raise
    except EquipoiseError as error:
        return _shown(context, lobby, http_status(error), problems=problems_of(error))
    return _shown(context, lobby, answer=answer_of(found, lobby, ratings))


def _shown(
    context: PageContext,
    lobby: LobbyForm,
    status: int = 200,
    *,
    problems: Sequence[str] = (),
    answer: Answer | None = None,
) -> Response:
    return context.render(
        "balance.html",
        status,
        lobby=lobby,
        parties=PARTIES[:12],
        most_teams=MOST_TEAMS,
        most_alternatives=MOST_ALTERNATIVES,
        answer=answer,
        problems=list(problems),
    )


def answer_of(
    found: BalanceMessage,
    lobby: LobbyForm,
    ratings: Mapping[str, tuple[float, float | None]],
) -> Answer:
    """Return a split as the page shows it."""
    row_of = {row.player: row for row in lobby.rows}
    teams = []
    for number, (players, chance) in enumerate(
        zip(found.teams, found.expected if found.win is None else found.win, strict=True), start=1
    ):
        members = [_member(str(one), row_of.get(str(one), Row()), ratings) for one in players]
        known = [one.rating for one in members if one.rating is not None]
        mean = math.fsum(known) / len(known) if known else None
        teams.append(Team(number, members, chance, mean))
    return Answer(
        message=found,
        teams=teams,
        bar=chance_bar(found.expected) if len(teams) == 2 else None,
        kept=[_kept(one, found) for one in found.constraints],
        others=[
            Other(
                one.objective,
                one.rating_difference,
                one.deviation_difference,
                _moves(found.teams, one.teams),
            )
            for one in found.alternatives
        ],
    )


def _member(player: str, row: Row, ratings: Mapping[str, tuple[float, float | None]]) -> Member:
    rating, deviation = ratings.get(player, (None, None))
    return Member(player, rating, deviation, row.party, bool(row.team))


def chance_bar(chances: Sequence[float]) -> Markup:
    """Return the chances of two teams as one bar."""
    left = 100 * chances[0]
    return picture(
        "chance",
        14,
        element("rect", class_="chance-first", x=0, y=0, width=f"{left:.2f}%", height=14),
        element(
            "rect",
            class_="chance-second",
            x=f"{left:.2f}%",
            y=0,
            width=f"{100 - left:.2f}%",
            height=14,
        ),
        element("line", class_="chance-even", x1="50%", x2="50%", y1=0, y2=14),
    )


def _kept(one: ConstraintMessage, found: BalanceMessage) -> Kept:
    cost = None
    if one.objective_without is not None:
        cost = max(found.objective - one.objective_without, 0.0)
        cost = 0.0 if cost < _NOTHING else cost
    words = constraint_in_words(one.kind, one.players, one.label, len(found.teams))
    return Kept(words, one.status == "waived", cost)


def _moves(
    best: Sequence[Sequence[int | str]], other: Sequence[Sequence[int | str]]
) -> list[tuple[int, list[str]]]:
    """Return who comes into each team instead; teams are matched where most players stay."""
    left = {at: {str(one) for one in team} for at, team in enumerate(other)}
    moves = []
    for number, team in enumerate(best, start=1):
        own = {str(one) for one in team}
        nearest = max(left, key=lambda at: (len(own & left[at]), -at))
        came = left.pop(nearest) - own
        if came:
            moves.append((number, sorted(came)))
    return moves
