"""A day of a game: people come, wait, give up, are matched by the tick, play and are rated.

The tick is that of production (`ticking`), or the same rules on arrays (`compiled`) where they have
all fields of the ruleset. Only arrivals, patience, play and results are models (`arrivals`). The
loop is stepped by ticks; exact times of arrivals, give-ups and ends are kept between them.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.lobby import Id
from equipoise.data.matchmaking import Backfill, MatchRuleset, Objective, Session, Ticket
from equipoise.data.rebalancing import MatchedPlayer
from equipoise.errors import InvalidParameterError, require
from equipoise.matchmaking import compiled
from equipoise.matchmaking.arrivals import (
    SECONDS_PER_HOUR,
    DayModel,
    Draw,
    People,
    class_value,
    draw_people,
    match_seconds,
    normals,
    patience,
    players_of,
    uniforms,
)
from equipoise.matchmaking.compiled import (
    EXPIRED,
    GAVE_UP,
    MATCHED,
    WAITING,
    Outcome,
    Rules,
)
from equipoise.matchmaking.pool import max_spread
from equipoise.matchmaking.ticking import tick
from equipoise.rating.one_match import OneMatch, PlayerNumbers, numbers_of, rate_match

if TYPE_CHECKING:
    from equipoise.rating.base_system import System

#: The ticket attribute of `DayModel.classes`.
CLASS = "class"
MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A ruleset to try, and how the tick is called.

    label : name of the ruleset; objective, waiting_price : of the tick
    system : rating system that learns from the matches of the day; None leaves ratings alone
    """

    label: str
    ruleset: MatchRuleset
    objective: Objective = "accelbyte"
    waiting_price: float | None = None
    system: System | None = None


class Rated(NamedTuple):
    """The ratings of a system before each visit, each of shape (players of all visits,).

    player : row of the player among those of the day; games : matches before
    """

    player: Ints
    rating: Floats
    deviation: Floats
    games: Ints


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SimulatedDay:
    """What happened; a visit is a ticket of a party that may come again.

    plan, model : of the day
    people : one entry for each visit, in order of arrival; outcome : of each
    end : seconds; ticks : their number; largest : most who waited at a tick
    seconds : shape (ticks,), time of each tick; empty on the compiled path, which has no limit
    limited : ticks with a search that ended at the node limit
    backfilled : shape (visits,), whether it joined a running match
    open_places, open_seconds : places of running matches that were free, and for how long in all
    why : of each visit that was not matched, the reason at the end of its wait, "" if there is
        none; empty on the compiled path
    rated : None without a rating system
    """

    plan: Plan
    model: DayModel
    people: People
    outcome: Outcome
    end: float
    ticks: int
    largest: int
    backfilled: Ids
    seconds: Floats = field(default_factory=lambda: np.zeros(0))
    limited: int = 0
    open_places: int = 0
    open_seconds: float = 0.0
    why: tuple[str, ...] = ()
    rated: Rated | None = None


def simulate_day(
    plan: Plan, model: DayModel, seed: int, *, people: People | None = None, fast: bool = True
) -> SimulatedDay:
    """Simulate one day.

    people : tickets of the day; None draws them
    fast : take the compiled path where it has the fields of the ruleset; the matches are the same
    Raises : InvalidParameterError   the model has no such attributes, or players of the system
        cannot play in such teams
    """
    check_plan(plan, model)
    if people is None:
        people = draw_people(model, seed, largest=plan.ruleset.player_max_number)
    rules = None if not fast or not_compiled(plan, model) else rules_of(plan.ruleset, model)
    if rules is None or model.return_probability > 0 or plan.system is not None:
        return _LiveDay(plan, model, seed, people, rules).run()
    end = model.hours * SECONDS_PER_HOUR
    outcome, largest, ticks = compiled.run_day(people, rules, end)
    return SimulatedDay(
        plan=plan,
        model=model,
        people=people,
        outcome=outcome,
        end=end,
        ticks=ticks,
        largest=largest,
        backfilled=np.zeros(len(people.created), np.bool_),
    )


def check_plan(plan: Plan, model: DayModel) -> None:
    """Refuse a ruleset that asks for more than the model has. Raises : InvalidParameterError."""
    rules = plan.ruleset.rules
    require(
        len(rules) <= 1,
        f"{plan.label}: matching_rule",
        "at most one rule, because simulated players have one rating",
        len(rules),
    )
    sizes = [plan.ruleset.player_max_number] * plan.ruleset.max_number
    if plan.system is not None and not plan.system.capabilities.fits(sizes):
        raise InvalidParameterError(
            f"{plan.system.name} rates {plan.system.capabilities}; {plan.label} has "
            f"{'v'.join(map(str, sizes))}"
        )


def not_compiled(plan: Plan, model: DayModel) -> str:
    """Return why the tick itself is needed: a field of the ruleset; "" if it is not."""
    ruleset = plan.ruleset
    option = next((option.type for option in ruleset.match_options if option.name == CLASS), "all")
    reasons = {
        "objective": plan.objective != "accelbyte",
        "waiting_price": plan.waiting_price is not None,
        "alliance": (ruleset.min_number, ruleset.max_number) != (2, 2)
        or ruleset.player_max_number > compiled.LARGEST_TEAM,
        "alliance_flexing_rule": bool(ruleset.alliance_flexing_rule),
        "auto_backfill": ruleset.auto_backfill,
        "distance_scope": ruleset.distance_scope != "pivot",
        "max_spread": any(math.isfinite(max_spread(rule)) for rule in ruleset.rules),
        "match_options": bool(model.classes)
        and (
            (option == "unique" and ruleset.player_max_number > 1)
            or (option in ("any", "unique") and model.class_values > 1)
        ),
        "region_expansion_rate_ms": ruleset.region_expansion_rate_ms <= 0,
    }
    return next((name for name, needed in reasons.items() if needed), "")


def rules_of(ruleset: MatchRuleset, model: DayModel) -> Rules:
    """Return a ruleset as numbers; see `not_compiled`."""
    durations, tolerances, weight, even = [-1.0], [math.inf], 0.0, False
    for rule in ruleset.rules:
        flexed = [step for step in ruleset.flexing_rule if step.attribute == rule.attribute]
        flexed.sort(key=lambda step: step.duration)
        durations += [float(step.duration) for step in flexed]
        tolerances = [float(rule.reference or 0.0), *(float(step.reference) for step in flexed)]
        divisor = ruleset.divisor(rule)
        weight = float(getattr(rule, "weight", 1.0)) / divisor if divisor > 0 else 0.0
        even = bool(ruleset.balancing_rules())
    option = {option.name: option.type for option in ruleset.match_options}.get(CLASS, "all")
    kinds = {"unique": compiled.OTHER_CLASS, "disable": compiled.ANY_CLASS}
    most = float(ruleset.region_latency_max_ms) or math.inf
    sided = ruleset.disable_bidirectional_latency_after_ms / 1000
    return Rules(
        least=ruleset.player_min_number,
        most=ruleset.player_max_number,
        durations=np.array(durations),
        tolerances=np.array(tolerances),
        weight=weight,
        even=1.0 if even else 0.0,
        class_rule=kinds.get(option, compiled.SAME_CLASS) if model.classes else compiled.ANY_CLASS,
        region_step=ruleset.region_expansion_rate_ms / 1000,
        region_range=float(ruleset.region_expansion_range_ms or 50),
        region_initial=float(ruleset.region_latency_initial_range_ms),
        region_most=most,
        region_weight=ruleset.region_latency_rule_weight / most,
        one_sided_after=sided or math.inf,
        expires_after=math.inf if model.expires_after is None else model.expires_after,
        interval=model.interval,
    )


#: Kinds of events, in their order at equal times.
_ARRIVAL, _END, _LEAVE = 0, 1, 2


@dataclass(slots=True, kw_only=True)
class _Visit:
    """A party in the queue; number : of its visits before; why : the reason for which it waits."""

    party: int
    number: int
    created: float
    gives_up: float
    rating: float
    ticket: Ticket | None = None
    status: int = WAITING
    left: float = math.nan
    match: int = -1
    team: int = -1
    joined: bool = False
    why: str = ""


@dataclass(slots=True)
class _Played:
    """A match with its teams of visits.

    session, end : of a running match that can be filled; free, since : places, and from when
    """

    time: float
    region: int
    pivot: int
    teams: list[list[int]]
    session: Session | None = None
    end: float = math.nan
    free: int = 0
    since: float = 0.0


class _LiveDay:
    """A day with returns, ratings or running sessions; visits are numbered by arrival."""

    def __init__(
        self, plan: Plan, model: DayModel, seed: int, people: People, rules: Rules | None
    ) -> None:
        self._plan, self._model, self._seed, self._people = plan, model, seed, people
        self._rules = rules
        self._end = model.hours * SECONDS_PER_HOUR
        self._parties = np.arange(len(people.created))
        self._visits: list[_Visit] = []
        self._matches: list[_Played] = []
        #: Running matches with free places.
        self._open: set[int] = set()
        #: Party -> visits so far.
        self._number = [0] * len(people.created)
        self._events: list[tuple[float, int, int, int]] = [
            (when, _ARRIVAL, party, 0) for party, when in enumerate(people.created.tolist())
        ]
        self._rounds: dict[tuple[Draw, int], Floats] = {
            (Draw.PATIENCE, 0): people.gives_up - people.created,
            (Draw.LENGTH, 0): people.length,
        }
        #: Player -> numbers and games; and the rows of `Rated`.
        self._numbers: list[PlayerNumbers] = []
        self._games = [0] * len(people.skill)
        self._before: list[tuple[int, float, float, int]] = []
        self._limited, self._open_places, self._open_seconds = 0, 0, 0.0
        if plan.system is not None:
            self._numbers = numbers_of(plan.system.initial(len(people.skill)))
            names = list(plan.system.newcomer())
            self._deviation = names.index("deviation") if "deviation" in names else -1

    def run(self) -> SimulatedDay:
        """Run the day."""
        queue: list[int] = []
        seconds: list[float] = []
        now, largest, interval = 0.0, 0, self._model.interval
        same_until = 0.0
        while True:
            if interval > 0:
                steps = 1.0
                if not queue and self._events:
                    steps = max(math.ceil((self._events[0][0] - now) / interval), 1.0)
                now = round(now / interval + steps) * interval
            else:
                now = self._events[0][0] if self._events else math.inf
            if now > self._end or (not queue and not self._events):
                break
            known = len(self._visits)
            while self._events and self._events[0][0] <= now:
                when, kind, one, player = heapq.heappop(self._events)
                if kind == _ARRIVAL:
                    queue.append(self._arrive(one, when))
                elif kind == _END:
                    self._finish(one, when)
                elif self._matches[one].session is not None:
                    self._leave(one, player, when)
            largest = max(largest, len(queue))
            queue = self._let_go(queue, now)
            began = time.perf_counter()
            if queue and (len(self._visits) > known or now > same_until or self._open):
                same_until = self._tick(queue, now)
                queue = [visit for visit in queue if self._visits[visit].status == WAITING]
            seconds.append(time.perf_counter() - began)
        self._let_go(queue, self._end)
        for played in self._matches:
            if played.session is not None:
                self._set_free(played, 0, self._end)
        return self._day(len(seconds), largest, np.array(seconds))

    def _round(self, kind: Draw, number: int) -> Floats:
        """Return the numbers of the n-th visit of every party; of PERFORMANCE, every player.

        Those of PATIENCE and LENGTH are seconds, the others as drawn.
        """
        if (kind, number) not in self._rounds:
            seed, party = self._seed, self._parties
            if kind is Draw.PERFORMANCE:
                size = self._people.size
                player = np.repeat(party, size)
                member = np.arange(len(player)) - self._people.first[player]
                numbers = normals(seed, kind, player, (number << 8) + member)
            elif kind is Draw.LENGTH:
                numbers = match_seconds(self._model, normals(seed, kind, party, number))
            else:
                numbers = uniforms(seed, kind, party, number)
                if kind is Draw.PATIENCE:
                    numbers = patience(self._model, numbers)
            self._rounds[kind, number] = numbers
        return self._rounds[kind, number]

    def _players(self, party: int) -> range:
        """Return the rows of the players of a party."""
        return range(int(self._people.first[party]), int(self._people.first[party + 1]))

    def _rating(self, player: int, unknown: float) -> tuple[float, float]:
        """Return the rating and deviation that the matchmaker knows; unknown : without one."""
        if self._plan.system is None:
            return float(self._people.shown[player]), self._model.rating_deviation
        row = self._numbers[player][0]
        return row[0], row[self._deviation] if self._deviation >= 0 else unknown

    def _arrive(self, party: int, when: float) -> int:
        number, people = self._number[party], self._people
        self._number[party] += 1
        known = {player: self._rating(player, math.nan) for player in self._players(party)}
        if self._plan.system is not None:
            self._before += [
                (player, *numbers, self._games[player]) for player, numbers in known.items()
            ]
        visit = _Visit(
            party=party,
            number=number,
            created=when,
            gives_up=when + float(self._round(Draw.PATIENCE, number)[party]),
            rating=sum(rating for rating, _ in known.values()) / len(known),
        )
        self._visits.append(visit)
        if self._rules is None:
            names = [rule.attribute for rule in self._plan.ruleset.rules]
            group = int(people.group[party])
            latencies = people.latency[party].tolist()
            visit.ticket = Ticket(
                ticket=len(self._visits) - 1,
                created_at=when,
                players=tuple(
                    MatchedPlayer(player=player, attributes=dict.fromkeys(names, rating))
                    for player, (rating, _) in known.items()
                ),
                attributes={} if group < 0 else {CLASS: class_value(self._model, group)},
                latencies=dict(zip(self._model.region_names, latencies, strict=True)),
            )
        return len(self._visits) - 1

    def _let_go(self, queue: list[int], now: float) -> list[int]:
        """Remove tickets that gave up or expired by their exact times; return the others."""
        kept = []
        longest = math.inf if self._model.expires_after is None else self._model.expires_after
        for at in queue:
            visit = self._visits[at]
            expires = visit.created + longest
            if visit.gives_up <= now and visit.gives_up <= expires:
                visit.status, visit.left = GAVE_UP, visit.gives_up
            elif expires < now:
                visit.status, visit.left = EXPIRED, expires
            else:
                kept.append(at)
        return kept

    def _tick(self, queue: list[int], now: float) -> float:
        """Match those who wait, and start their matches; return when the next rule changes."""
        if self._rules is not None:
            return self._compiled_tick(queue, now, self._rules)
        plan = self._plan
        ratings: dict[Id, tuple[float, float]] | None = None
        if plan.objective == "fair":
            usual = math.nan if plan.system is None else plan.system.usual_deviation
            ratings = {
                player: self._rating(player, usual)
                for visit in queue
                for player in self._players(self._visits[visit].party)
            }
        answer = tick(
            [ticket for visit in queue if (ticket := self._visits[visit].ticket)],
            [session for match in self._open if (session := self._matches[match].session)],
            plan.ruleset,
            now,
            objective=plan.objective,
            system=None if ratings is None else plan.system,
            ratings=ratings,
            waiting_price=plan.waiting_price,
        )
        reasons = {
            str(reason["reason"]) for waiting in answer.waiting for reason in waiting.reasons
        }
        ended = "node_limit" in reasons or any("node limit" in note for note in answer.notes)
        self._limited += ended
        for joined in answer.backfills:
            self._join(joined, now)
        names = {name: at for at, name in enumerate(self._model.region_names)}
        for match in answer.matches:
            teams = [[int(visit) for visit in team] for team in match.teams]
            region = -1 if match.region is None else names[match.region]
            self._start(teams, region, match.attributes, now)
        # A price of waiting falls all the time.
        change = math.inf if plan.waiting_price is None else now
        for waiting in answer.waiting:
            if waiting.next_change_at is not None:
                change = min(change, waiting.next_change_at)
            if waiting.reasons:
                most = max(waiting.reasons, key=lambda reason: int(reason.get("count", 0)))
                self._visits[int(waiting.ticket)].why = str(most["reason"])
        return change

    def _compiled_tick(self, queue: list[int], now: float, rules: Rules) -> float:
        """Match those who wait by compiled rules; return when the next rule changes."""
        visits = [self._visits[visit] for visit in queue]
        party = np.array([visit.party for visit in visits])
        people = self._people._replace(
            created=np.array([visit.created for visit in visits]),
            gives_up=np.array([visit.gives_up for visit in visits]),
            size=self._people.size[party],
            rating=np.array([visit.rating for visit in visits]),
            group=self._people.group[party],
            latency=self._people.latency[party],
        )
        outcome = compiled.run_day(people, rules._replace(interval=now), now)[0]
        for match, pivot in enumerate(outcome.pivot.tolist()):
            members = np.flatnonzero(outcome.match == match).tolist()
            # The pivot comes first, as in a match of the tick.
            members = [pivot, *(row for row in members if row != pivot)]
            teams = [[queue[row] for row in members if outcome.team[row] == at] for at in (0, 1)]
            self._start(teams, int(outcome.region[match]), {}, now)
        changes = [math.inf]
        durations = [*rules.durations[1:].tolist(), rules.one_sided_after]
        for visit in (visit for visit in visits if visit.status == WAITING):
            wait = now - visit.created
            steps = [duration for duration in durations if duration >= wait]
            if self._model.region_names:
                steps.append((math.floor(wait / rules.region_step) + 1) * rules.region_step)
            changes.append(visit.created + min(steps))
        return min(changes)

    def _start(
        self, teams: list[list[int]], region: int, attributes: Mapping[str, Any], now: float
    ) -> None:
        """Start a match."""
        match, rules = len(self._matches), self._plan.ruleset
        pivot = min(visit for team in teams for visit in team)
        first = self._visits[pivot]
        end = now + float(self._round(Draw.LENGTH, first.number)[first.party])
        self._matches.append(_Played(now, region, pivot, teams, end=end))
        for number, team in enumerate(teams):
            for visit in team:
                self._enter(visit, match, number, now)
        returns = self._plan.system is not None or self._model.return_probability > 0
        if returns or rules.auto_backfill:
            heapq.heappush(self._events, (end, _END, match, 0))
        if rules.auto_backfill:
            session = Session(
                session=match,
                created_at=now,
                teams=(),
                attributes=attributes,
                region=None if region < 0 else self._model.region_names[region],
            )
            tickets = [[self._visits[visit].ticket for visit in team] for team in teams]
            self._go_on(match, session, tickets, now)

    def _enter(self, visit: int, match: int, team: int, now: float) -> None:
        """Let a ticket play, and draw which of its players leave before the end."""
        ticket = self._visits[visit]
        ticket.status, ticket.left, ticket.match, ticket.team = MATCHED, now, match, team
        ticket.why = ""
        if self._model.leavers > 0 and self._plan.ruleset.auto_backfill:
            players = np.array(self._players(ticket.party), np.int64)
            drawn = uniforms(self._seed, Draw.LEAVING, players, ticket.number)
            stay = -np.log(drawn) * 60.0 / self._model.leavers
            for player, leaves in zip(players.tolist(), (now + stay).tolist(), strict=True):
                if leaves < self._matches[match].end:
                    heapq.heappush(self._events, (leaves, _LEAVE, match, player))

    def _go_on(
        self, match: int, session: Session, teams: Sequence[Sequence[Any]], now: float
    ) -> None:
        """Let a match go on with these tickets, and offer it to the tick if it has free places."""
        self._matches[match].session = replace(session, teams=tuple(map(tuple, teams)))
        players = sum(len(ticket.players) for team in teams for ticket in team)
        free = self._plan.ruleset.places - players
        self._set_free(self._matches[match], free, now)
        if free > 0:
            self._open.add(match)
        else:
            self._open.discard(match)

    def _set_free(self, played: _Played, free: int, now: float) -> None:
        """Change the number of free places of a match, and count how long they were free."""
        self._open_seconds += played.free * (now - played.since)
        self._open_places += max(free - played.free, 0)
        played.free, played.since = free, now

    def _leave(self, match: int, player: int, now: float) -> None:
        """Let a player leave a running match, whose place is then free."""
        session = self._matches[match].session
        assert session is not None
        teams = []
        for team in session.teams:
            parts = [
                replace(part, players=tuple(p for p in part.players if p.player != player))
                for part in team
            ]
            teams.append([part for part in parts if part.players])
        self._go_on(match, session, teams, now)

    def _join(self, backfill: Backfill, now: float) -> None:
        """Let tickets join a running match."""
        match = int(backfill.session)
        played = self._matches[match]
        assert played.session is not None
        teams: list[list[Any]] = [list(team) for team in played.session.teams]
        for visit in map(int, backfill.tickets):
            number = next(at for at, team in enumerate(backfill.teams) if visit in team)
            while number >= len(teams):
                teams.append([])
                played.teams.append([])
            teams[number].append(self._visits[visit].ticket)
            played.teams[number].append(visit)
            self._enter(visit, match, number, now)
            self._visits[visit].joined = True
        self._go_on(match, played.session, teams, now)

    def _finish(self, match: int, when: float) -> None:
        """End a match: rate it, and let its parties come again after some time."""
        self._set_free(self._matches[match], 0, when)
        self._matches[match].session = None
        self._open.discard(match)
        teams = [team for team in self._matches[match].teams if team]
        if self._plan.system is not None and len(teams) > 1:
            self._rate(self._plan.system, teams, when)
        if self._model.return_probability <= 0:
            return
        for visit in (self._visits[visit] for team in teams for visit in team):
            if self._round(Draw.RETURN, visit.number)[visit.party] < self._model.return_probability:
                idle = -math.log(float(self._round(Draw.IDLE, visit.number)[visit.party]))
                back = when + 60.0 * self._model.idle_minutes * idle
                heapq.heappush(self._events, (back, _ARRIVAL, visit.party, 0))

    def _rate(self, system: System, teams: list[list[int]], when: float) -> None:
        """Rate a match by the performances of the players in it."""
        deviation = self._model.performance_deviation
        members, means = [], []
        for team in teams:
            played = {
                player: self._people.skill[player]
                + deviation * self._round(Draw.PERFORMANCE, visit.number)[player]
                for visit in (self._visits[visit] for visit in team)
                for player in self._players(visit.party)
            }
            members.append(list(played))
            means.append(sum(played.values()) / len(played))
        order = sorted(means, reverse=True)
        everyone = [player for team in members for player in team]
        rated = rate_match(
            system,
            [self._numbers[player] for player in everyone],
            OneMatch(
                sizes=tuple(map(len, members)),
                ranks=tuple(order.index(mean) for mean in means),
                time=round(when * MICROSECONDS),
            ),
        )
        for player, numbers in zip(everyone, rated, strict=True):
            self._numbers[player] = numbers
            self._games[player] += 1

    def _day(self, ticks: int, largest: int, seconds: Floats) -> SimulatedDay:
        """Return the visits as columns."""

        def column(name: str, kind: Any = np.float64) -> Any:
            return np.array([getattr(visit, name) for visit in self._visits], kind)

        people, party, number = self._people, column("party", np.int64), column("number", np.int64)
        size = people.size[party]
        player = players_of(people.first[party], size)
        shown, rated = people.shown[player], None
        if self._plan.system is not None:
            who, shown, deviation, games = np.array(self._before).reshape(-1, 4).T
            rated = Rated(who.astype(np.int64), shown, deviation, games.astype(np.int64))
        luck = np.empty(len(player))
        for round_number in np.unique(number).tolist():
            of_round = np.repeat(number == round_number, size)
            luck[of_round] = self._round(Draw.PERFORMANCE, round_number)[player[of_round]]
        played = [(match.time, match.region, match.pivot) for match in self._matches]
        start, region, pivot = np.array(played, np.float64).reshape(-1, 3).T
        return SimulatedDay(
            plan=self._plan,
            model=self._model,
            people=People(
                created=column("created"),
                gives_up=column("gives_up"),
                size=size,
                first=np.concatenate(([0], np.cumsum(size))),
                rating=column("rating"),
                group=people.group[party],
                latency=people.latency[party],
                length=people.length[party],
                skill=people.skill[player],
                shown=shown,
                luck=luck,
            ),
            outcome=Outcome(
                status=column("status", np.int8),
                left=column("left"),
                match=column("match", np.int32),
                team=column("team", np.int8),
                time=start,
                region=region.astype(np.int8),
                pivot=pivot.astype(np.int32),
            ),
            end=self._end,
            ticks=ticks,
            largest=largest,
            seconds=seconds if self._rules is None else np.zeros(0),
            limited=self._limited,
            backfilled=column("joined", np.bool_),
            open_places=self._open_places,
            open_seconds=self._open_seconds,
            why=() if self._rules else tuple(visit.why for visit in self._visits),
            rated=rated,
        )
