"""Messages of predictions, teams and queues, and the requests for them."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.data.matchmaking import Tick
from equipoise.data.rebalancing import Optimum, Rebalance, Step
from equipoise.messages.conversion import plain, to_message
from equipoise.messages.matches import Id, Moment


class PredictRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A match to predict; the answer is that of `equipoise predict --json`.

    teams : ids, team by team; players who are not in the pool are newcomers
    at : time of the match; absent: now
    home : number of the team that plays at home, from 0
    draw_rate : how likely equal teams draw, from 0 to 1, in a match of two teams by a system that
        does not model draws; absent: as often as in the pool
    samples, seed : of the distribution of places; absent: none
    what_if : players to rate for every possible place; a selection if there are more than 100 teams
    context : of the match, such as its surface or map, in pools with `context_deviation`
    """

    teams: list[list[Id]]
    at: Moment | None = None
    home: int | None = None
    draw_rate: float | None = None
    samples: int | None = None
    seed: int = 0
    what_if: list[Id] = []
    context: str | None = None


class BalancePlayer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A player of a lobby.

    rating, deviation : of a player who is not in the pool; by default a newcomer's
    party : players of one party stay together; team : locked to that team, from 1
    avoid : players who must not be in the same team
    """

    player: Id
    rating: float | None = None
    deviation: float | None = None
    party: Id | None = None
    team: int | None = None
    avoid: list[Id] = []


class BalanceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lobby to split; the answer is that of `equipoise balance --json`.

    players : ids, or objects with more fields; players who are not in the pool are newcomers
    at : time for which ratings are read; absent: now
    objective : "chance" to win, by the system of the pool, or "mean" or "sum" of ratings; absent:
        "chance" if the system predicts such teams, else "mean"
    top_two, uneven : rules for the best players; absent: they hold, but not with "chance"
    The others are parameters of `equipoise.balance`.
    """

    players: list[BalancePlayer | Id]
    at: Moment | None = None
    teams: int | None = None
    size: int | None = None
    objective: str | None = None
    uncertainty_weight: float = 0.8
    top_two: bool | None = None
    uneven: bool | None = None
    alternatives: int = 5
    seed: int = 0


class PredictedPlayer(msgspec.Struct, frozen=True):
    """A player of a predicted match; without a deviation if the system has none.

    A `newcomer` is not in the pool and has the initial rating.
    """

    player: int | str
    rating: float
    deviation: float | None
    newcomer: bool = False


class Places(msgspec.Struct, frozen=True):
    """The distribution of a team's place, from samples: probabilities, and the 90 % range.

    `top3` and `top10` are null in matches with no more teams than that.
    """

    mean: float
    lower: int
    upper: int
    first: float
    top3: float | None
    top10: float | None


class PredictedTeam(msgspec.Struct, frozen=True):
    """A team of a predicted match.

    `rating` is the mean of its players' ratings, `deviation` the root mean square of theirs;
    `expected` is the mean score against each other team; `expected_place` follows from it.
    """

    players: list[PredictedPlayer]
    rating: float
    deviation: float | None
    expected: float
    expected_place: float
    places: Places | None


class Outcome(msgspec.Struct, frozen=True):
    """A player's rating after a match in which the team takes this place.

    `tied` counts other teams in that place: 1 in a draw of two teams.
    """

    place: int
    tied: int
    rating: float
    deviation: float | None
    change: float


class WhatIfMessage(msgspec.Struct, frozen=True):
    """What each place of the team, numbered from 0, would do to a player's rating."""

    player: int | str
    team: int
    rating_before: float
    deviation_before: float | None
    outcomes: list[Outcome]


class PredictMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise predict --json`; teams are in the order in which they were named.

    `at` is the time of the match; null: that of the last match. `pairs[i][j]` is the chance that
    team i beats team j, a tie one half; null in large fields. `win` and `draw` are given for two
    teams, and a team's `expected` is win + draw/2. `draw_by` names the system where it models
    draws, else it is "estimate": from how often two teams drew before, or "draw_rate" if the
    request gave that; it is null (with `win` and `draw`) below 50 such matches. `quality` is match
    quality, from 0 to 1; `quality_by` names the system where it models draws, else it is
    "estimate", for two teams only. `by` names the system that expects all this, or is "team mean"
    for teams that it cannot rate. `newcomers` are players whom the pool does not know; `notes`
    say what else to know. `samples` and `seed` are those of the places, null where none were
    wanted. `uncalibrated` has `expected` of each team without calibration, where all chances are
    calibrated by a curve learned from earlier matches; null: they are not calibrated.
    `calibrated_range` is the 95 % range of `expected` of the first of two teams, by how well the
    curve is known.
    """

    system: str
    parameters: dict[str, Any]
    at: int | str | None
    teams: list[PredictedTeam]
    pairs: list[list[float]] | None
    win: list[float] | None
    draw: float | None
    samples: int | None
    seed: int | None
    what_if: list[WhatIfMessage]
    by: str = ""
    draw_by: str | None = None
    quality: float | None = None
    quality_by: str | None = None
    newcomers: list[int | str] = []
    notes: list[str] = []
    uncalibrated: list[float] | None = None
    calibrated_range: list[float] | None = None


class ConstraintMessage(msgspec.Struct, frozen=True):
    """A constraint, "held" or "waived", and the least objective without it; null: not known.

    name : text for people; ids may contain its separators, so read the other fields instead
    kind : "top-two", "uneven", "party", "lock" or "avoid"
    players : whom it is about, best first: the top players, the top player, the members of the
        party, the locked player, or the two who avoid each other
    label : of the party, or of the team that the player is locked to; else null
    """

    name: str
    status: str
    objective_without: float | None
    kind: str
    players: list[int | str]
    label: str | None


class AlternativeMessage(msgspec.Struct, frozen=True):
    """One of the next best splits."""

    teams: list[list[int | str]]
    objective: float
    rating_difference: float
    deviation_difference: float


class BalanceMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise balance --json`.

    `teams` has the team with the top player first. `expected`, `win`, `draw`, `draw_by` and `by`
    are what `predict` answers for these teams: `expected` is a team's mean score against each
    other team, of two teams win + draw/2; `by` names the pool's system, or is "team mean" for teams
    that it cannot rate and for lobbies without a pool. `win_probability` is an earlier name of
    `expected`. `objective_kind` says what `objective` is: "chance", the highest minus the lowest
    `expected`; "mean" or "sum", a difference of ratings in points. No split has an objective below
    `bound`; `gap` is 0 where the split is proved to be the fairest. `newcomers` are players whom
    the pool does not know. `at` is the time for which ratings were read, null where the lobby
    brought them; `notes` are sentences about the answer, for example that the lobby has no
    deviations. `uncalibrated` has `expected` without calibration, where the chances that choose the
    teams are calibrated; else it is null. `calibrated_range` is that of `predict`.
    """

    teams: list[list[int | str]]
    objective: float
    rating_difference: float
    deviation_difference: float
    win_probability: list[float]
    constraints: list[ConstraintMessage]
    alternatives: list[AlternativeMessage]
    bound: float
    gap: float
    expected: list[float]
    win: list[float] | None
    draw: float | None
    draw_by: str | None
    by: str
    newcomers: list[int | str]
    at: int | str | None
    notes: list[str]
    objective_kind: str = "mean"
    uncalibrated: list[float] | None = None
    calibrated_range: list[float] | None = None


#: The players of a party.
Party = list[int | str]


class CandidateMessage(msgspec.Struct, frozen=True):
    """A sequence, and the teams that it leads to."""

    sequence: list[Party]
    teams: list[list[Party]]
    member_count_difference: int
    distance: float


class OptimumMessage(msgspec.Struct, frozen=True):
    """The most even teams known, and what is proved that none are more even than."""

    member_count_difference: int
    distance: float
    bound_member_count_difference: int
    bound_distance: float
    proved: bool


class TotalMessage(msgspec.Struct, frozen=True):
    """A team's number, from 1, and the total of its attributes."""

    team: int
    total: float


class StepMessage(msgspec.Struct, frozen=True):
    """A step of the greedy method: teams by their totals, who is placed, and in which team."""

    step: int
    order: list[TotalMessage]
    party: Party
    total: float
    team: int


class RebalanceMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise rebalance --json`.

    `teams` has, for every team, the players of every party. `sequences` is the number of sequences
    the teams were chosen from (2^53 means that or more); `truncated` says that not all of them were
    tried or listed. `optimum` is null if it was not searched for. `steps` is empty for all methods
    except greedy, and `candidates` unless requested.
    """

    method: str
    reason: str
    teams: list[list[Party]]
    member_count_difference: int
    distance: float
    sequences: int
    truncated: bool
    optimum: OptimumMessage | None
    steps: list[StepMessage]
    notes: list[str]
    candidates: list[CandidateMessage]


class ComparedMessage(msgspec.Struct, frozen=True):
    """The result of one method. If it has none, `note` says why and the other fields are null.

    The gaps are to the bound; 0 means that no teams are more even.
    """

    method: str
    chosen: bool
    teams: list[list[Party]] | None
    member_count_difference: int | None
    distance: float | None
    gap_member_count_difference: int | None
    gap_distance: float | None
    seconds: float
    truncated: bool
    note: str


def rebalance_message(result: Rebalance) -> RebalanceMessage:
    """Return the JSON message."""
    return to_message(
        RebalanceMessage,
        result,
        optimum=result.optimum and _optimum(result.optimum),
        steps=[_step(number, step) for number, step in enumerate(result.steps, start=1)],
    )


def _optimum(optimum: Optimum) -> OptimumMessage:
    return to_message(
        OptimumMessage, optimum, bound_member_count_difference=optimum.bound_difference
    )


def _step(number: int, step: Step) -> StepMessage:
    order = [TotalMessage(team, total) for team, total in step.order]
    return to_message(StepMessage, step, step=number, order=order)


class QueueMatchMessage(msgspec.Struct, frozen=True):
    """Tickets that play together, the pivot first, and the same ids by team.

    `attributes` has the values that all agree on. `backfill` says that the match asks for more
    players. `cost` is the summed score of the players besides those of the pivot, or abs(p - 1/2)
    for the objective fair. `proved` says that no match around the pivot has more players, or as
    many and a smaller cost.
    """

    tickets: list[Id]
    teams: list[list[Id]]
    region: str | None
    attributes: dict[str, list[Any]]
    backfill: bool
    cost: float
    proved: bool


class BackfillMessage(msgspec.Struct, frozen=True):
    """Tickets that join a session, the ids of all its tickets by team, and whether it is full."""

    session: Id
    tickets: list[Id]
    teams: list[list[Id]]
    full: bool


class WaitingMessage(msgspec.Struct, frozen=True):
    """A ticket that waits; `next_change_at` is the time, in seconds, of the next change of rules.

    Each of `reasons` has "reason", "count" (of the tickets that it excludes) and its own numbers.
    """

    ticket: Id
    reasons: list[dict[str, Any]]
    next_change_at: float | None


class TickMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise matchmaking tick --json`."""

    matches: list[QueueMatchMessage]
    backfills: list[BackfillMessage]
    waiting: list[WaitingMessage]
    expired: list[Id]
    notes: list[str]


def tick_message(answer: Tick) -> TickMessage:
    """Return the JSON message."""
    return msgspec.convert(plain(answer), TickMessage)


class ImportedRulesetMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise matchmaking import --json`.

    `default_attributes` belongs into requests. `changes` lists what could not be taken over as it
    is, each with its path in the source.
    """

    ruleset: dict[str, Any]
    default_attributes: dict[str, float]
    changes: list[dict[str, str]]
