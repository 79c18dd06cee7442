"""A day of a game: people come, wait, give up, are matched by the tick, play and are rated.

The tick is that of production (`ticking`), or the same rules on arrays (`compiled`) where they have
all fields of the ruleset. Only arrivals, patience, play and results are models (`arrivals`). The
loop is stepped by ticks; exact times of arrivals, give-ups and ends are kept between them.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise._jit import compiled_for
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.matchmaking import Backfill, MatchRuleset, Objective, Session, Ticket
from equipoise.data.rebalancing import MatchedPlayer
from equipoise.errors import InvalidParameterError, require
from equipoise.matchmaking import compiled
from equipoise.matchmaking.arrivals import (
    SECONDS_PER_HOUR,
    DayModel,
    Draw,
    People,
    draw_people,
    normals,
    patience,
    uniforms,
)
from equipoise.matchmaking.compiled import EXPIRED, GAVE_UP, MATCHED, WAITING, Outcome, Rules
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

    people : one entry for each visit, in order of arrival; outcome : of each
    end : seconds; ticks : their number; largest : most who waited at a tick
    seconds : shape (ticks,), time of each tick; empty on the compiled path
    backfilled : shape (visits,), whether it joined a running match
    reasons : why tickets that did not meet waited at the end of their wait: reason -> tickets
    rated : None without a rating system
    """

    people: People
    outcome: Outcome
    end: float
    ticks: int
    largest: int
    seconds: Floats
    backfilled: Ids
    reasons: Mapping[str, int]
    rated: Rated | None


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
    fast = fast and not not_compiled(plan, model)
    live = model.return_probability > 0 or plan.system is not None
    if fast and not live:
        return _compiled_day(people, rules_of(plan.ruleset, model), model)
    return _LiveDay(plan, model, seed, people, fast).run()


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
    option = next((one.type for one in ruleset.match_options if one.name == CLASS), "all")
    reasons = {
        "objective": plan.objective != "accelbyte",
        "waiting_price": plan.waiting_price is not None,
        "alliance": (ruleset.min_number, ruleset.max_number) != (2, 2)
        or ruleset.player_max_number > compiled.LARGEST_TEAM,
        "alliance_flexing_rule": bool(ruleset.alliance_flexing_rule),
        "auto_backfill": ruleset.auto_backfill,
        "distance_scope": ruleset.distance_scope != "pivot",
        "match_options": bool(model.classes)
        and option == "unique"
        and ruleset.player_max_number > 1,
        "region_expansion_rate_ms": ruleset.region_expansion_rate_ms <= 0,
    }
    return next((name for name, needed in reasons.items() if needed), "")


def rules_of(ruleset: MatchRuleset, model: DayModel) -> Rules:
    """Return a ruleset as numbers; see `not_compiled`."""
    durations, tolerances, weight, even = [-1.0], [math.inf], 0.0, False
    for rule in ruleset.rules:
        flexed = [one for one in ruleset.flexing_rule if one.attribute == rule.attribute]
        flexed.sort(key=lambda one: one.duration)
        durations += [float(one.duration) for one in flexed]
        tolerances = [float(rule.reference or 0.0), *(float(one.reference) for one in flexed)]
        divisor = ruleset.divisor(rule)
        weight = float(getattr(rule, "weight", 1.0)) / divisor if divisor > 0 else 0.0
        even = bool(ruleset.balancing_rules())
    option = {one.name: one.type for one in ruleset.match_options}.get(CLASS, "all")
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


def _tickets(people: People) -> compiled.Tickets:
    return compiled.Tickets(
        people.created,
        people.gives_up,
        people.size,
        people.rating,
        people.group,
        people.latency,
    )


def _compiled_day(people: People, rules: Rules, model: DayModel) -> SimulatedDay:
    count = len(people.created)
    outcome = compiled.empty_outcome(count)
    end = model.hours * SECONDS_PER_HOUR
    matches, largest, ticks = compiled.run_day(
        compiled.queue_memory(count),
        _tickets(people),
        rules,
        compiled.search_memory(rules),
        np.zeros(count, np.int64),
        outcome,
        end,
    )
    trimmed = outcome._replace(
        time=outcome.time[:matches], region=outcome.region[:matches], pivot=outcome.pivot[:matches]
    )
    return SimulatedDay(
        people=people,
        outcome=trimmed,
        end=end,
        ticks=ticks,
        largest=largest,
        seconds=np.zeros(0),
        backfilled=np.zeros(count, np.bool_),
        reasons={},
        rated=None,
    )


#: Kinds of events, in their order at equal times.
_ARRIVAL, _END, _LEAVE = 0, 1, 2


class _LiveDay:
    """A day with returns, ratings or running sessions; visits are numbered by arrival."""

    def __init__(self, plan: Plan, model: DayModel, seed: int, people: People, fast: bool) -> None:
        self._plan, self._model, self._seed, self._people = plan, model, seed, people
        self._fast = fast
        self._rules = rules_of(plan.ruleset, model) if fast else None
        self._search = compiled.search_memory(self._rules) if self._rules is not None else None
        self._next_change = 0.0
        self._run_tick: Callable[..., int] | None = None
        self._end = model.hours * SECONDS_PER_HOUR
        rule = next(iter(plan.ruleset.rules), None)
        self._attribute = None if rule is None else rule.attribute
        self._parties = np.arange(len(people.created))
        #: Visit -> party, times, status, match, team.
        self._party: list[int] = []
        self._created: list[float] = []
        self._gives_up: list[float] = []
        self._status: list[int] = []
        self._left: list[float] = []
        self._match: list[int] = []
        self._team: list[int] = []
        self._number: list[int] = []
        self._rating: list[float] = []
        self._joined: set[int] = set()
        self._ticket: dict[int, Ticket] = {}
        self._why: dict[int, str] = {}
        #: Match -> time, region, pivot, teams of visits.
        self._starts: list[tuple[float, int, int]] = []
        self._teams: list[list[list[int]]] = []
        #: Running matches, their ends, and those with free places.
        self._running: dict[int, Session] = {}
        self._ends: dict[int, float] = {}
        self._open: dict[int, Session] = {}
        self._visits = np.zeros(len(people.created), np.int64)
        self._events: list[tuple[float, int, int, int]] = [
            (when, _ARRIVAL, party, 0) for party, when in enumerate(people.created.tolist())
        ]
        self._rounds: dict[tuple[Draw, int], Floats] = {}
        self._numbers: list[PlayerNumbers] = []
        self._before: list[tuple[int, float, float, int]] = []
        if plan.system is not None:
            self._numbers = numbers_of(plan.system.initial(len(people.skill)))
            names = list(plan.system.newcomer())
            self._deviation = names.index("deviation") if "deviation" in names else -1
        self._games = np.zeros(len(people.skill), np.int64)

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
            known = len(self._party)
            while self._events and self._events[0][0] <= now:
                self._happen(*heapq.heappop(self._events), queue=queue)
            largest = max(largest, len(queue))
            queue = self._let_go(queue, now)
            began = time.perf_counter()
            if len(self._party) > known or now > same_until or self._open:
                self._tick(queue, now)
                queue = [visit for visit in queue if self._status[visit] == WAITING]
                same_until = self._same_until(queue, now)
            seconds.append(time.perf_counter() - began)
        self._let_go(queue, self._end)
        return self._day(len(seconds), largest, np.array(seconds))

    def _happen(self, when: float, kind: int, one: int, other: int, *, queue: list[int]) -> None:
        """Let a party come, a match end, or a player leave."""
        if kind == _ARRIVAL:
            queue.append(self._arrive(one, when))
        elif kind == _END:
            self._finish(one, when)
        elif one in self._running:
            self._leave(one, other)

    def _round(self, kind: Draw, number: int) -> Floats:
        """Return the numbers of the n-th visit of every party; of PERFORMANCE, every player."""
        if (kind, number) not in self._rounds:
            if kind is Draw.PERFORMANCE:
                size = self._people.size
                party = np.repeat(self._parties, size)
                member = np.arange(len(party)) - self._people.first[party]
                found = normals(self._seed, kind, party, (number << 8) + member)
            elif kind is Draw.LENGTH:
                found = normals(self._seed, kind, self._parties, number)
            else:
                found = uniforms(self._seed, kind, self._parties, number)
            self._rounds[kind, number] = found
        return self._rounds[kind, number]

    def _arrive(self, party: int, when: float) -> int:
        visit, people = len(self._party), self._people
        number = int(self._visits[party])
        self._visits[party] += 1
        first, last = int(people.first[party]), int(people.first[party + 1])
        players = range(first, last)
        wait = float(people.gives_up[party] - people.created[party])
        if number > 0:
            wait = float(patience(self._model, self._round(Draw.PATIENCE, number)[[party]])[0])
        shown = people.shown[first:last].tolist()
        if self._plan.system is not None:
            shown = [self._numbers[player][0][0] for player in players]
            for player, rating in zip(players, shown, strict=True):
                row = self._numbers[player][0]
                deviation = row[self._deviation] if self._deviation >= 0 else math.nan
                self._before.append((player, rating, deviation, int(self._games[player])))
        self._party.append(party)
        self._created.append(when)
        self._gives_up.append(when + wait)
        self._status.append(WAITING)
        self._left.append(math.nan)
        self._match.append(-1)
        self._team.append(-1)
        self._number.append(number)
        self._rating.append(sum(shown) / len(shown))
        if not self._fast:
            self._ticket[visit] = self._as_ticket(visit, party, when, players, shown)
        return visit

    def _as_ticket(
        self, visit: int, party: int, when: float, players: range, shown: Sequence[float]
    ) -> Ticket:
        people, name = self._people, self._attribute
        members = tuple(
            MatchedPlayer(player=player, attributes={} if name is None else {name: rating})
            for player, rating in zip(players, shown, strict=True)
        )
        group = int(people.group[party])
        latencies = people.latency[party].tolist()
        return Ticket(
            ticket=visit,
            created_at=when,
            players=members,
            attributes={} if group < 0 else {CLASS: str(group)},
            latencies=dict(zip(self._model.region_names, latencies, strict=True)),
        )

    def _let_go(self, queue: list[int], now: float) -> list[int]:
        """Remove tickets that gave up or expired by their exact times; return the others."""
        kept = []
        patience = self._model.expires_after
        for visit in queue:
            gives_up = self._gives_up[visit]
            expires = self._created[visit] + (math.inf if patience is None else patience)
            if gives_up <= now and gives_up <= expires:
                self._status[visit], self._left[visit] = GAVE_UP, gives_up
            elif expires < now:
                self._status[visit], self._left[visit] = EXPIRED, expires
            else:
                kept.append(visit)
        return kept

    def _same_until(self, queue: list[int], now: float) -> float:
        """Return until when no rule of those who wait is flexed, so that no tick makes a match."""
        rules, found = self._rules, math.inf
        if rules is None:
            return self._next_change
        durations = [*rules.durations[1:].tolist(), rules.one_sided_after]
        for visit in queue:
            wait = now - self._created[visit]
            steps = [one for one in durations if one >= wait]
            if self._model.region_names:
                steps.append((math.floor(wait / rules.region_step) + 1) * rules.region_step)
            found = min(found, self._created[visit] + min(steps, default=math.inf))
        return found

    def _tick(self, queue: list[int], now: float) -> None:
        """Match those who wait, and start their matches."""
        if self._fast:
            for teams, region in self._compiled_tick(queue, now):
                self._start(teams, region, {}, now)
            return
        if not queue:
            return
        ratings = None
        if self._plan.objective == "fair":
            ratings = self._ratings(queue)
        found = tick(
            [self._ticket[visit] for visit in queue],
            list(self._open.values()),
            self._plan.ruleset,
            now,
            objective=self._plan.objective,
            system=None if ratings is None else self._plan.system,
            ratings=ratings,
            waiting_price=self._plan.waiting_price,
        )
        for joined in found.backfills:
            self._join(joined, now)
        names = {name: at for at, name in enumerate(self._model.region_names)}
        for one in found.matches:
            teams = [[int(visit) for visit in team] for team in one.teams]
            region = -1 if one.region is None else names[one.region]
            self._start(teams, region, one.attributes, now)
        # A price of waiting falls all the time.
        self._next_change = now if self._plan.waiting_price is not None else math.inf
        for waiting in found.waiting:
            if waiting.next_change_at is not None:
                self._next_change = min(self._next_change, waiting.next_change_at)
            if waiting.reasons:
                most = max(waiting.reasons, key=lambda reason: int(reason.get("count", 0)))
                self._why[int(waiting.ticket)] = str(most["reason"])

    def _ratings(self, queue: list[int]) -> dict[Any, tuple[float, float]]:
        """Return (rating, deviation) of all who wait, for the objective fair."""
        known: dict[Any, tuple[float, float]] = {}
        for visit in queue:
            party = self._party[visit]
            for player in range(int(self._people.first[party]), int(self._people.first[party + 1])):
                if self._plan.system is None:
                    shown = float(self._people.shown[player])
                    known[player] = shown, self._model.rating_deviation
                else:
                    row = self._numbers[player][0]
                    usual = self._plan.system.usual_deviation
                    deviation = row[self._deviation] if self._deviation >= 0 else usual
                    known[player] = row[0], deviation
        return known

    def _compiled_tick(self, queue: list[int], now: float) -> Iterator[tuple[list[list[int]], int]]:
        """Yield the matches of the tick on arrays."""
        count = len(queue)
        if count < 2 or self._rules is None or self._search is None:
            return
        rows = np.array(queue)
        party = np.array([self._party[visit] for visit in queue])
        tickets = compiled.Tickets(
            created=np.array([self._created[visit] for visit in queue]),
            gives_up=np.array([self._gives_up[visit] for visit in queue]),
            size=self._people.size[party],
            rating=np.array([self._rating[visit] for visit in queue]),
            group=self._people.group[party],
            latency=self._people.latency[party],
        )
        memory = compiled.queue_memory(count)
        memory.ticket[:] = np.arange(count)
        outcome = compiled.empty_outcome(count)
        fresh = np.zeros(count, np.int64)
        job = (memory, count, tickets, self._rules, now, self._search, fresh, outcome)
        if self._run_tick is None:
            self._run_tick = compiled_for(compiled.run_tick, *job)
        matches = self._run_tick(*job)
        for match in range(matches):
            within = outcome.match == match
            pivot = int(rows[outcome.pivot[match]])
            first = [int(one) for one in rows[within & (outcome.team == 0)] if one != pivot]
            second = rows[within & (outcome.team == 1)].tolist()
            yield [[pivot, *first], second], int(outcome.region[match])

    def _start(
        self, teams: list[list[int]], region: int, attributes: Mapping[str, Any], now: float
    ) -> None:
        """Start a match."""
        match = len(self._starts)
        pivot = min(visit for team in teams for visit in team)
        self._starts.append((now, region, pivot))
        self._teams.append(teams)
        for number, team in enumerate(teams):
            for visit in team:
                self._enter(visit, match, number, now)
        party = self._party[pivot]
        length = float(self._people.length[party])
        if self._number[pivot] > 0:
            variation = math.log1p(self._model.match_variation**2)
            drawn = float(self._round(Draw.LENGTH, self._number[pivot])[party])
            spread = math.exp(math.sqrt(variation) * drawn - variation / 2)
            length = 60.0 * self._model.match_minutes * spread
        live = self._plan.system is not None or self._model.return_probability > 0
        if live or self._plan.ruleset.auto_backfill:
            heapq.heappush(self._events, (now + length, _END, match, 0))
        if self._plan.ruleset.auto_backfill:
            session = Session(
                session=match,
                created_at=now,
                teams=tuple(tuple(self._ticket[visit] for visit in team) for team in teams),
                attributes=attributes,
                region=None if region < 0 else self._model.region_names[region],
            )
            self._run(match, session, length)

    def _enter(self, visit: int, match: int, team: int, now: float) -> None:
        self._status[visit], self._left[visit] = MATCHED, now
        self._match[visit], self._team[visit] = match, team
        self._why.pop(visit, None)

    def _run(self, match: int, session: Session, length: float) -> None:
        """Keep a running match, and draw who leaves it."""
        self._running[match] = session
        self._ends[match] = session.created_at + length
        self._offer(match)
        for team in session.teams:
            for ticket in team:
                self._draw_leaving(match, ticket, session.created_at)

    def _offer(self, match: int) -> None:
        """Offer a running match to the tick while it has free places."""
        session = self._running[match]
        players = sum(len(ticket.players) for team in session.teams for ticket in team)
        if players < self._plan.ruleset.alliance.places:
            self._open[match] = session
        else:
            self._open.pop(match, None)

    def _draw_leaving(self, match: int, ticket: Ticket, now: float) -> None:
        if self._model.leavers <= 0:
            return
        players = np.array([one.player for one in ticket.players], np.int64)
        drawn = uniforms(self._seed, Draw.LEAVING, players, self._number[int(ticket.ticket)])
        stay = -np.log(drawn) * 60.0 / self._model.leavers
        for player, seconds in zip(players.tolist(), stay.tolist(), strict=True):
            if now + seconds < self._ends[match]:
                heapq.heappush(self._events, (now + seconds, _LEAVE, match, player))

    def _leave(self, match: int, player: int) -> None:
        """Let a player leave a running match, whose place is then free."""
        session = self._running[match]
        teams = []
        for team in session.teams:
            parts = [
                replace(one, players=tuple(p for p in one.players if p.player != player))
                for one in team
            ]
            teams.append(tuple(one for one in parts if one.players))
        self._running[match] = replace(session, teams=tuple(teams))
        self._offer(match)

    def _join(self, found: Backfill, now: float) -> None:
        """Let tickets join a running match."""
        match = int(found.session)
        session = self._running[match]
        teams = [list(team) for team in session.teams]
        for visit in map(int, found.tickets):
            number = next(at for at, team in enumerate(found.teams) if visit in team)
            while number >= len(teams):
                teams.append([])
                self._teams[match].append([])
            teams[number].append(self._ticket[visit])
            self._teams[match][number].append(visit)
            self._enter(visit, match, number, now)
            self._joined.add(visit)
            self._draw_leaving(match, self._ticket[visit], now)
        self._running[match] = replace(session, teams=tuple(map(tuple, teams)))
        self._offer(match)

    def _finish(self, match: int, when: float) -> None:
        """End a match: rate it, and let its parties come again after some time."""
        self._running.pop(match, None)
        self._open.pop(match, None)
        teams = [team for team in self._teams[match] if team]
        if self._plan.system is not None and len(teams) > 1:
            self._rate(self._plan.system, teams, when)
        if self._model.return_probability <= 0:
            return
        for visit in (visit for team in teams for visit in team):
            party, number = self._party[visit], self._number[visit]
            if self._round(Draw.RETURN, number)[party] < self._model.return_probability:
                idle = -math.log(float(self._round(Draw.IDLE, number)[party]))
                back = when + 60.0 * self._model.idle_minutes * idle
                heapq.heappush(self._events, (back, _ARRIVAL, party, 0))

    def _rate(self, system: System, teams: list[list[int]], when: float) -> None:
        """Rate a match by the performances of the players in it."""
        first = self._people.first
        members, means = [], []
        for team in teams:
            parties = [(self._party[visit], self._number[visit]) for visit in team]
            rows = [
                (player, number)
                for party, number in parties
                for player in range(int(first[party]), int(first[party + 1]))
            ]
            played = [
                self._people.skill[player]
                + self._model.performance_deviation * self._round(Draw.PERFORMANCE, number)[player]
                for player, number in rows
            ]
            members.append([player for player, _ in rows])
            means.append(sum(played) / len(played))
        order = sorted(means, reverse=True)
        rated = rate_match(
            system,
            [self._numbers[player] for team in members for player in team],
            OneMatch(
                sizes=tuple(map(len, members)),
                ranks=tuple(order.index(mean) for mean in means),
                time=round(when * MICROSECONDS),
            ),
        )
        for player, numbers in zip((one for team in members for one in team), rated, strict=True):
            self._numbers[player] = numbers
            self._games[player] += 1

    def _day(self, ticks: int, largest: int, seconds: Floats) -> SimulatedDay:
        """Return the visits as columns."""
        party, people = np.array(self._party, np.int64), self._people
        size = people.size[party]
        first = np.concatenate(([0], np.cumsum(size)))
        owner = np.repeat(np.arange(len(party)), size)
        player = people.first[party][owner] + np.arange(first[-1]) - first[owner]
        number = np.array(self._number, np.int64)
        shown, rated = people.shown[player], None
        if self._plan.system is not None:
            columns = list(zip(*self._before, strict=True)) or [(), (), (), ()]
            rated = Rated(
                np.array(columns[0], np.int64),
                np.array(columns[1], np.float64),
                np.array(columns[2], np.float64),
                np.array(columns[3], np.int64),
            )
            shown = rated.rating
        luck = np.empty(len(player))
        for one in np.unique(number).tolist():
            of_round = number[owner] == one
            luck[of_round] = self._round(Draw.PERFORMANCE, one)[player[of_round]]
        starts = np.array(self._starts, np.float64).reshape(-1, 3)
        joined = np.zeros(len(party), np.bool_)
        joined[sorted(self._joined)] = True
        return SimulatedDay(
            people=People(
                created=np.array(self._created),
                gives_up=np.array(self._gives_up),
                size=size,
                first=first,
                rating=np.array(self._rating),
                group=people.group[party],
                latency=people.latency[party],
                length=people.length[party],
                skill=people.skill[player],
                shown=shown,
                luck=luck,
            ),
            outcome=Outcome(
                status=np.array(self._status, np.int8),
                left=np.array(self._left),
                match=np.array(self._match, np.int32),
                team=np.array(self._team, np.int8),
                time=starts[:, 0],
                region=starts[:, 1].astype(np.int8),
                pivot=starts[:, 2].astype(np.int32),
            ),
            end=self._end,
            ticks=ticks,
            largest=largest,
            seconds=np.zeros(0) if self._fast else seconds,
            backfilled=joined,
            reasons=dict(sorted(Counter(self._why.values()).items())),
            rated=rated,
        )
