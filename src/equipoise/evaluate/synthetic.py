"""Simulated contests and matches of two teams between players of known skill.

Source: [EM]_ sections 2 and 6.1, with the figures of READINGS B10. The text prints variances of 300
(skills), 50 (performances) and 10 (drift). These do not reproduce its Table 2, either as variances
or as standard deviations; standard deviations of 300, 200 and 35 do.

The model is our own, made to test team ratings. In a match, the performance of every player is
normally distributed around the player's skill. The team with the better mean performance wins, and
every statistic of a player follows that player's performance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import History
from equipoise.errors import require

#: Statistics of every player.
STATISTICS = ("kills", "deaths", "damage")

#: Shape of the gamma distribution of damage: it varies by a third around its mean.
_DAMAGE_SHAPE = 9.0
#: Largest effect of a performance on a statistic, as a power of e.
_STEEPEST = 2.0

#: Names of the teams.
TEAMS = ("red", "blue")

#: Range of the fraction of a match that leavers play.
_LEFT_AFTER = (0.1, 0.9)
#: Candidates for a matchmade lobby, as a multiple of its size.
_CANDIDATES = 4
#: Draws for each player wanted, before all players are sorted instead.
_DRAWS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestModel:
    """The model of contests.

    players, contests : numbers of them
    attendance : probability that a player takes part in a contest
    mean_skill, skill_deviation : of the initial skills, rating points
    performance_deviation : of a performance around the skill, rating points
    drift_deviation : of the change of every skill after a contest, rating points
    score_step : performances in the same step of this width tie; 0 has no ties
    first_time, interval : seconds since 1970 of the first contest, and between contests
    """

    players: int = 2500
    contests: int = 50
    attendance: float = 1.0
    mean_skill: float = 1500.0
    skill_deviation: float = 300.0
    performance_deviation: float = 200.0
    drift_deviation: float = 35.0
    score_step: float = 0.0
    first_time: int = 1_577_836_800
    interval: int = 604_800

    def __post_init__(self) -> None:
        """Check every parameter."""
        for name in ("players", "contests", "interval"):
            require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        require(0 < self.attendance <= 1, "attendance", "in (0, 1]", self.attendance)
        for name in ("skill_deviation", "performance_deviation", "drift_deviation", "score_step"):
            require(getattr(self, name) >= 0, name, "at least 0", getattr(self, name))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Contest:
    """One contest of n players.

    number : from 1; time : seconds since 1970
    player : shape (n,), rows of the model's players, best first; ties in rising order
    rank : shape (n,), dense from 0
    skill : shape (n,), true skill of each at this contest, rating points
    skills : shape (players,), true skill of every player at this contest, present or not
    """

    number: int
    time: int
    player: Ints
    rank: Ints
    skill: Floats
    skills: Floats


def contests(model: ContestModel, *, rng: np.random.Generator) -> Iterator[Contest]:
    """Yield contests one by one, in memory that does not grow with their number.

    A contest without participants is left out, but skills drift.
    """
    skill = rng.normal(model.mean_skill, model.skill_deviation, model.players)
    number = 0
    for _ in range(model.contests):
        present = np.flatnonzero(rng.random(model.players) < model.attendance)
        performance = skill[present] + rng.normal(0, model.performance_deviation, len(present))
        if model.score_step > 0:
            performance = np.floor(performance / model.score_step)
        _, rank = np.unique(-performance, return_inverse=True)
        order = np.argsort(rank, kind="stable")
        if len(present):
            number += 1
            yield Contest(
                number=number,
                time=model.first_time + model.interval * (number - 1),
                player=present[order].astype(np.int64),
                rank=rank[order].astype(np.int64),
                skill=skill[present][order],
                skills=skill,
            )
        skill = skill + rng.normal(0, model.drift_deviation, model.players)


def simulate_contests(
    model: ContestModel, *, rng: np.random.Generator, names: Ids | None = None
) -> tuple[History, Floats]:
    """Return a history and the true skill of every participation, shape (N,).

    names : ids of the players, shape (players,); numbers from 0 if absent
    Raises : InvalidParameterError   no contest has participants
    """
    kept = [
        (contest.time, contest.player, contest.rank, contest.skill)
        for contest in contests(model, rng=rng)
    ]
    require(bool(kept), "attendance", "large enough that players take part", model.attendance)
    times, players, ranks, skills = zip(*kept, strict=True)
    teams = [np.arange(len(player)) for player in players]
    history = History(
        **_matches(times, players, model.players, names),
        team=np.concatenate(teams).astype(np.int64),
        rank=np.concatenate(ranks),
    )
    return history, np.concatenate(skills)


def _matches(
    times: Sequence[int], players: Sequence[Ints], known: int, names: Ids | None
) -> dict[str, Any]:
    """Return the columns that all simulated histories have.

    times, players : of every match; known : number of players; names : their ids, if any
    """
    return {
        "match_ids": np.arange(1, len(times) + 1),
        "player_ids": np.arange(known) if names is None else names,
        "offsets": np.cumsum([0, *map(len, players)]).astype(np.int64),
        "player": np.concatenate(players),
        "time": np.array(times, dtype=np.int64) * 1_000_000,
    }


class Role(NamedTuple):
    """A role: its share of the players, and the factors of its statistics."""

    name: str
    share: float
    kills: float
    deaths: float
    damage: float


ROLES = (
    Role("attack", 0.5, 1.25, 1.05, 1.2),
    Role("defence", 0.3, 0.9, 1.1, 0.95),
    Role("support", 0.2, 0.5, 0.8, 0.6),
)


class Usual(NamedTuple):
    """Statistics of a player without a role who performs like the mean of a complete match."""

    kills: float
    deaths: float
    damage: float


def draw_statistics(
    usual: Usual, above: Floats, share: Floats, role: Ints | None, *, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints]:
    """Return kills, deaths and damage of n players, shape (n,) each.

    above : shape (n,), performance above that of the match; 1 makes e times the kills and the
        damage, and 1/e of the deaths
    share : shape (n,), fraction of the match that each has played
    role : shape (n,), numbers of `ROLES`; None if there are none
    """
    better = np.exp(np.clip(above, -_STEEPEST, _STEEPEST))
    relative = np.ones((3, len(above)))
    if role is not None:
        relative = np.array([(role.kills, role.deaths, role.damage) for role in ROLES])[role].T
    kills = rng.poisson(usual.kills * relative[0] * share * better)
    deaths = rng.poisson(usual.deaths * relative[1] * share / better)
    varied = rng.gamma(_DAMAGE_SHAPE, 1.0 / _DAMAGE_SHAPE, len(above))
    damage = np.rint(usual.damage * relative[2] * share * better * varied)
    return kills.astype(np.int64), deaths.astype(np.int64), damage.astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamModel:
    """The model of matches of two teams.

    players, matches : numbers of them
    sizes : (players of one team, of the other), one pair of them drawn for each match
    newcomers : share of the players who arrive during the history, evenly, rather than before it
    newcomer_gap : mean skill of the other players minus that of newcomers, rating points
    activity_deviation : standard deviation of the logarithm of the frequency of play; 0 means that
      all play equally often
    matchmade : players of similar skill meet, in about equal teams; otherwise lobbies are random
    mean_skill, skill_deviation : of the players, rating points
    performance_deviation : of a performance around the skill, rating points
    drift_deviation : of a skill's change in a day, rating points
    draw_margin : teams draw if their mean performances differ by at most this; 0 for no draws
    leavers : probability that a player leaves a match early and counts for the time until then
    roles : whether players have roles, with different statistics
    mean_kills, mean_deaths, mean_damage : of a player who performs like the match, in a complete
        match
    statistics_scale : performance above that of the match that makes e times the kills and the
        damage and 1/e of the deaths, rating points
    first_time, interval : seconds since 1970 of the first match, and between matches
    """

    players: int = 500
    matches: int = 2000
    sizes: tuple[tuple[int, int], ...] = ((5, 5),)
    newcomers: float = 0.3
    newcomer_gap: float = 0.0
    activity_deviation: float = 1.0
    matchmade: bool = False
    mean_skill: float = 1400.0
    skill_deviation: float = 200.0
    performance_deviation: float = 200.0
    drift_deviation: float = 2.0
    draw_margin: float = 0.0
    leavers: float = 0.0
    roles: bool = False
    mean_kills: float = 15.0
    mean_deaths: float = 15.0
    mean_damage: float = 3300.0
    statistics_scale: float = 600.0
    first_time: int = 1_577_836_800
    interval: int = 14_400

    def __post_init__(self) -> None:
        """Check every parameter."""
        for name in ("players", "matches", "interval"):
            require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        smallest = min((min(pair) for pair in self.sizes), default=0)
        require(smallest >= 1, "sizes", "pairs of numbers from 1", self.sizes)
        for name in ("newcomers", "leavers"):
            require(0 <= getattr(self, name) <= 1, name, "in [0, 1]", getattr(self, name))
        for name in (
            *("activity_deviation", "skill_deviation", "performance_deviation", "drift_deviation"),
            *("draw_margin", "mean_kills", "mean_deaths", "mean_damage"),
        ):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, "at least 0", value)
        for name in ("mean_skill", "newcomer_gap"):
            require(math.isfinite(getattr(self, name)), name, "finite", getattr(self, name))
        require(self.statistics_scale > 0, "statistics_scale", "positive", self.statistics_scale)
        largest, present = max(map(sum, self.sizes)), self.present(0)
        rule = "enough for the largest match from the start: at least {} who are not newcomers"
        require(present >= largest, "players", rule.format(largest), present)

    def present(self, match: int) -> int:
        """Return how many players have arrived by a match, numbered from 0."""
        late = int(self.newcomers * self.players)
        return self.players - late + late * match // self.matches


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TeamMatch:
    """One match of n players.

    number : from 1; time : seconds since 1970
    player : shape (n,), rows of the model's players, team after team, in rising order in each
    team : shape (n,), 0 or 1; rank : shape (n,), 0 or 1, both 0 in a draw
    kills, deaths, damage : shape (n,)
    role : shape (n,), numbers of `ROLES`; meaningless without roles
    share : shape (n,), fraction of the match that each has played, in (0, 1]
    skill : shape (n,), true skill of each at this match, rating points
    skills : shape (players,), true skill of every player at the last match played, this one
        included; the next match changes it
    """

    number: int
    time: int
    player: Ints
    team: Ints
    rank: Ints
    kills: Ints
    deaths: Ints
    damage: Ints
    role: Ints
    share: Floats
    skill: Floats
    skills: Floats


def team_matches(model: TeamModel, *, rng: np.random.Generator) -> Iterator[TeamMatch]:
    """Yield matches one by one, in memory that does not grow with their number."""
    population = _Population(model, rng)
    for number in range(model.matches):
        size = model.sizes[int(rng.integers(len(model.sizes)))]
        time = model.first_time + model.interval * number
        lobby = population.lobby(sum(size), model.present(number))
        population.drift(lobby, time)
        team = _split(model, population.skill[lobby], size, rng)
        order = np.lexsort((lobby, team))
        yield _played(model, population, lobby[order], team[order], number, time)


class _Population:
    """Skills, roles and activity of all players, and the random generator."""

    def __init__(self, model: TeamModel, rng: np.random.Generator) -> None:
        self.rng = rng
        self.skill = rng.normal(model.mean_skill, model.skill_deviation, model.players)
        self.skill[model.present(0) :] -= model.newcomer_gap
        shares = [role.share for role in ROLES]
        self.role = rng.choice(len(ROLES), model.players, p=shares)
        self._activity = np.exp(rng.normal(0.0, model.activity_deviation, model.players))
        self._summed = np.cumsum(self._activity)
        self._last = np.full(model.players, -1, np.int64)
        self._model = model

    def lobby(self, count: int, present: int) -> Ints:
        """Return `count` different players of the first `present`, active players more likely."""
        if not self._model.matchmade:
            return self._draw(count, present)
        candidates = self._draw(min(_CANDIDATES * count, present), present)
        # The match is made for the first candidate.
        away = np.abs(self.skill[candidates] - self.skill[candidates[0]])
        return candidates[np.argsort(away, kind="stable")[:count]]

    def _draw(self, count: int, present: int) -> Ints:
        """Return different players in the order in which they were drawn one after the other."""
        thrown = self.rng.random(_DRAWS * count) * self._summed[present - 1]
        # Rounding may put a draw beyond the last player.
        drawn = np.minimum(np.searchsorted(self._summed, thrown, side="right"), present - 1)
        _, first = np.unique(drawn, return_index=True)
        chosen: Ints = drawn[np.sort(first)[:count]]
        if len(chosen) < count:
            # Exponential waiting times with the players' rates give the same distribution of orders
            # as draws one after the other.
            wait = self.rng.standard_exponential(present) / self._activity[:present]
            wait[chosen] = np.inf
            chosen = np.append(chosen, np.argsort(wait, kind="stable")[: count - len(chosen)])
        return chosen

    def drift(self, players: Ints, time: int) -> None:
        """Change the skills of players by the time since their last match."""
        last = self._last[players]
        days = np.where(last < 0, 0, time - last) / 86_400
        step = self._model.drift_deviation * np.sqrt(days)
        self.skill[players] += step * self.rng.normal(0.0, 1.0, len(players))
        self._last[players] = time


def _split(
    model: TeamModel, skill: Floats, size: tuple[int, int], rng: np.random.Generator
) -> Ints:
    """Return the team of every player of a lobby."""
    team = np.repeat([0, 1], size)
    if not model.matchmade:
        return rng.permutation(team)
    # The best joins one team, the next two the other, and so on, while there is room.
    room, team_of = list(size), np.empty(len(skill), np.int64)
    turn = int(rng.integers(2))
    for place, k in enumerate(np.argsort(-skill, kind="stable").tolist()):
        wanted = turn if place % 4 in (0, 3) else 1 - turn
        team_of[k] = wanted if room[wanted] else 1 - wanted
        room[team_of[k]] -= 1
    return team_of


def _played(
    model: TeamModel, population: _Population, player: Ints, team: Ints, number: int, time: int
) -> TeamMatch:
    """Return a simulated match."""
    rng, skill = population.rng, population.skill[player]
    performance = skill + rng.normal(0.0, model.performance_deviation, len(player))
    share = np.ones(len(player))
    if model.leavers > 0:
        left = rng.random(len(player)) < model.leavers
        share[left] = np.round(rng.uniform(*_LEFT_AFTER, int(left.sum())), 2)
    mean = [float(np.average(performance[team == t], weights=share[team == t])) for t in (0, 1)]
    role = population.role[player]
    usual = Usual(model.mean_kills, model.mean_deaths, model.mean_damage)
    above = (performance - performance.mean()) / model.statistics_scale
    kills, deaths, damage = draw_statistics(
        usual, above, share, role if model.roles else None, rng=rng
    )
    return TeamMatch(
        number=number + 1,
        time=time,
        player=player,
        team=team,
        rank=_ranks(mean, model.draw_margin)[team],
        kills=kills,
        deaths=deaths,
        damage=damage,
        role=role,
        share=share,
        skill=skill,
        skills=population.skill,
    )


def _ranks(mean: list[float], margin: float) -> Ints:
    """Return the rank of either team by its mean performance."""
    if margin > 0 and abs(mean[0] - mean[1]) <= margin:
        return np.zeros(2, np.int64)
    return np.array([0, 1] if mean[0] >= mean[1] else [1, 0], dtype=np.int64)


def simulate_teams(
    model: TeamModel, *, rng: np.random.Generator, names: Ids | None = None
) -> tuple[History, Floats]:
    """Return a history and the true skill of every participation, shape (N,).

    Its statistics are those of `STATISTICS`; `role` is an attribute if there are roles, and
    `share` there if players leave.

    names : ids of the players, shape (players,); numbers from 0 if absent
    """
    kept = list(team_matches(model, rng=rng))

    def column(name: str) -> Ints:
        return np.concatenate([getattr(match, name) for match in kept])

    team = column("team")
    roles = np.array([role.name for role in ROLES], dtype=object)
    times, players = [match.time for match in kept], [match.player for match in kept]
    history = History(
        **_matches(times, players, model.players, names),
        team=team,
        rank=column("rank"),
        share=column("share").astype(np.float64) if model.leavers > 0 else None,
        statistics={name: column(name).astype(np.float64) for name in STATISTICS},
        attributes={"role": roles[column("role")]} if model.roles else {},
        team_labels=np.array(TEAMS, dtype=object)[team],
    )
    return history, column("skill").astype(np.float64)
