"""One evaluation of a queue: sessions are filled, matches are made, and the others learn why not.

Source: the public documentation of AccelByte's rulesets. Departures: the best set around a pivot is
searched, instead of the first that fits; a pivot without a match stays a candidate of younger ones;
all tickets may meet; tickets beyond every latency limit wait.

Sessions come first, the oldest first, then pivots by priority, age and id. A pivot is matched if a
legal match of the remaining tickets exists in one of its regions, the nearest of which is taken.
The match has the most players, then the least cost, then the least sum of ranks by priority, age
and id. The cost for "accelbyte" is the sum, over the players besides those of the pivot, of the
score of their ticket: weight x |difference|/normalizationMax over the rules, plus region weight x
(latency - best latency)/maximum. A sum over tickets would prefer few large parties, which make less
even teams. The teams are those of `rebalance`. For "fair" the cost is half of the highest minus the
lowest expected score of the best division, abs(p - 1/2) for two teams.

A search ends after `node_limit` nodes for a pivot, and 50 times as many for a tick. Then the match
is not proved, and a note says how much better another might be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ints
from equipoise.data.lobby import Id
from equipoise.data.matchmaking import (
    Backfill,
    Match,
    MatchRuleset,
    Objective,
    Session,
    Tick,
    Ticket,
)
from equipoise.data.rebalancing import MatchedParty, RebalanceRequest, Rule, Ruleset, is_number
from equipoise.errors import EquipoiseError, InvalidParameterError, require
from equipoise.matchmaking.fairness import Fairness
from equipoise.matchmaking.pool import (
    Pool,
    all_values,
    check,
    is_time,
    rank,
    shared_values,
    values_of,
)
from equipoise.matchmaking.reasons import why_waiting
from equipoise.matchmaking.search import (
    COMPARED,
    RANK_BITS,
    UNIT,
    Around,
    Budget,
    Found,
    Search,
)
from equipoise.rating.calibration_curve import LearnedCurve
from equipoise.rating.system import RatingSystem
from equipoise.teams.rebalance import team_numbers
from equipoise.wording import counted

#: Nodes of the search around a pivot.
NODE_LIMIT = 20_000
#: The score of a ticket for a pivot.
Score: TypeAlias = Callable[[Ticket, Ticket], float]
#: Further comparisons as which one counts whose option has more values than a machine word.
WIDE = 8


@checks_arguments("ratings", "default_attributes", "now")
def tick(
    tickets: Sequence[Ticket],
    sessions: Sequence[Session],
    ruleset: MatchRuleset,
    now: float,
    *,
    objective: Objective = "accelbyte",
    system: RatingSystem | None = None,
    ratings: Mapping[Id, tuple[float, float]] | None = None,
    curve: LearnedCurve | None = None,
    waiting_price: float | None = None,
    expires_after: float | None = None,
    node_limit: int = NODE_LIMIT,
    default_attributes: Mapping[str, float] | None = None,
    score: Score | None = None,
) -> Tick:
    """Return who plays with whom at a time.

    now : seconds, on the clock of the tickets
    objective : "accelbyte" for the least score, "fair" for a win probability close to 1/2
    system, ratings : for "fair": a rating system, and (rating, deviation) of each player; without
        them, team means of `ratings` or of the attribute of the first rule
    curve : corrects the chances of `system`, as a pool that calibrates has learned; None for none
    waiting_price : for "fair": a match is made once abs(p - 1/2) is at most this times the mean
        wait of its tickets, seconds; None makes every legal match
    expires_after : seconds after which a ticket is returned as expired; None: never
    node_limit : nodes of the search around one pivot
    default_attributes : value of an attribute for players without it
    score : for "accelbyte": returns the score of a ticket for a pivot, from 0 to 100000, instead of
        that of the ruleset; the cost is its sum over players. A session is a pivot with all its
        players. Called with a pivot and each ticket that may meet it
    Raises : InvalidDataError, InvalidParameterError

    Examples
    --------
    >>> from equipoise.matchmaking import MatchRuleset, tick
    >>> rules = MatchRuleset(min_number=2, max_number=2, player_min_number=5, player_max_number=5)
    >>> tick([], [], rules, 0.0).matches
    ()
    """
    require(is_time(now), "now", "a number of seconds from -1e15 to 1e15", now)
    require(node_limit >= 1, "node_limit", "at least 1", node_limit)
    require(node_limit <= 10**9, "node_limit", "at most 1000000000", node_limit)
    if expires_after is not None:
        require(expires_after >= 0, "expires_after", "at least 0 seconds", expires_after)
    if waiting_price is not None:
        require(
            objective == "fair", "waiting_price", "left out unless objective is fair", objective
        )
        require(0 < waiting_price < math.inf, "waiting_price", "above 0", waiting_price)
    if score is not None:
        require(objective == "accelbyte", "score", "left out if objective is fair", score)
    fair_only = system is not None or ratings is not None
    if fair_only and objective != "fair":
        raise InvalidParameterError("system and ratings need objective fair; got accelbyte")
    if system is not None and ratings is None:
        raise InvalidParameterError("ratings must be given with a system; got none")
    if objective == "fair" and ratings is None and not ruleset.rules:
        raise InvalidParameterError("objective fair needs ratings or a matching rule; got neither")
    defaults = default_attributes or {}
    check(tickets, sessions, ruleset, defaults)
    longest = math.inf if expires_after is None else expires_after
    late = [ticket for ticket in tickets if now - ticket.created_at > longest]
    rest = [ticket for ticket in tickets if not now - ticket.created_at > longest]
    pool = Pool(rest, sessions, ruleset, now, defaults)
    evaluation = _Evaluation(pool, defaults, Budget(node_limit), waiting_price, score)
    if objective == "fair" and pool.tickets:
        evaluation.fairness = Fairness(pool, system, ratings, evaluation.team_numbers, curve)
    for name in (rule.attribute for rule in ruleset.rules if rule.attribute in defaults):
        everyone = (player for ticket in tickets for player in ticket.players)
        if count := sum(player.attributes.get(name) is None for player in everyone):
            evaluation.notes.append(
                f"{counted(count, 'player')} without {name}: the default of "
                f"{defaults[name]:g} from default_attributes is used"
            )
    evaluation.run()
    waiting, counted_only = why_waiting(pool, np.flatnonzero(evaluation.alive), evaluation.known)
    return Tick(
        matches=tuple(evaluation.matches),
        backfills=tuple(evaluation.backfills),
        waiting=tuple(waiting),
        expired=tuple(ticket.ticket for ticket in sorted(late, key=rank)),
        notes=(*evaluation.notes, *counted_only),
    )


class _Evaluation:
    """The state of a tick."""

    def __init__(
        self,
        pool: Pool,
        defaults: Mapping[str, float],
        budget: Budget,
        price: float | None,
        own_score: Score | None,
    ) -> None:
        self.pool, self.rules, self.defaults = pool, pool.ruleset, defaults
        self.budget, self.price, self.own_score = budget, price, own_score
        self.fairness: Fairness | None = None
        self.matches: list[Match] = []
        self.backfills: list[Backfill] = []
        self.notes: list[str] = []
        self.alive = np.zeros(len(pool.tickets), dtype=bool)
        self.alive[: pool.waiting] = True
        self.queued = self.alive & ~pool.unreachable
        #: By row, why its search made no match: it ended at the limit, or the price withholds it.
        self.known: dict[int, Mapping[str, Any]] = {}
        self.weights = [
            (float(getattr(rule, "weight", 1.0)), pool.ruleset.divisor(rule))
            for rule in self.rules.rules
        ]
        self._group()

    def _group(self) -> None:
        """Collect the rows of each class that are in the queue, sorted by the first attribute."""
        pool, rows = self.pool, np.flatnonzero(self.queued)
        first = pool.value[:, 0] if self.rules.rules else np.zeros(len(pool.tickets))
        rows = rows[np.lexsort((rows, first[rows], pool.others[rows], pool.options[rows]))]
        classes = np.stack([pool.options[rows], pool.others[rows]], axis=1)
        starts = np.flatnonzero(np.diff(classes, axis=0, prepend=-1).any(axis=1))
        #: Class -> rows and their values of the first attribute.
        self.groups = {
            (int(pool.options[group[0]]), int(pool.others[group[0]])): (group, first[group])
            for group in np.split(rows, starts)[1:]
        }
        self.grouped, self.gone = len(rows), 0

    def run(self) -> None:
        """Fill sessions and make matches."""
        pool = self.pool
        for at, session in enumerate(pool.sessions):
            self._fill(pool.waiting + at, session)
        skipped = 0
        for row in range(pool.waiting):
            if not self.queued[row]:
                continue
            if self.budget.over:
                skipped += 1
                self.known[row] = {"reason": "node_limit"}
                continue
            self._match(row)
        if skipped:
            self.notes.append(
                f"the search ended at the node limit: {counted(skipped, 'ticket')} had no turn"
            )

    def _match(self, row: int) -> None:
        """Make the match around a pivot, if there is one."""
        pool = self.pool
        around = Around(pool, row, self.rules.alliance_at(float(pool.wait[row])))
        if around.room < 0:
            return
        self.budget.begin()
        search_result = self._search(around, None)
        if self.budget.left < 0:
            self.known[row] = {"reason": "node_limit"}
        if search_result is None:
            return
        region, best = search_result
        chosen = [row, *best.rows]
        cost = best.cost / UNIT
        if self.price is not None:
            wait = float(pool.wait[chosen].mean())
            if cost > self.price * wait:
                self.known[row] = {
                    "reason": "price",
                    "count": len(chosen) - 1,
                    "cost": cost,
                    "accepted": self.price * wait,
                    "accepted_at": pool.now + cost / self.price - wait,
                }
                return
        teams = self._take(f"match of {pool.tickets[row].ticket}", around, best, [])
        full = self.rules.alliance_at(float(pool.wait[chosen].max())).places
        self.matches.append(
            Match(
                tickets=tuple(pool.tickets[row].ticket for row in chosen),
                teams=teams,
                region=region,
                attributes=self._agreed(chosen),
                backfill=self.rules.auto_backfill and around.base + best.players < full,
                cost=cost,
                proved=best.proved,
            )
        )

    def _take(
        self, what: str, around: Around, best: Found, teams: list[list[Id]]
    ) -> tuple[tuple[Id, ...], ...]:
        """Take tickets out of the queue, and return the teams with them.

        what : is made, for a note; teams : those of a session
        """
        members = around.members(best.rows)
        numbers = (
            self.team_numbers(around, best.rows)
            if self.fairness is None
            else self.fairness.best(around, best.rows)[1]
        )
        for row, team in zip(members, numbers, strict=True):
            teams += [[] for _ in range(team + 1 - len(teams))]
            teams[team].append(self.pool.tickets[row].ticket)
        self.alive[members] = self.queued[members] = False
        self.gone += len(members)
        if 2 * self.gone > self.grouped:
            self._group()
        if not best.proved:
            gap = f"up to {counted(best.most - best.players, 'more player')}"
            if best.most == best.players:
                lower = (best.cost - (best.bound >> RANK_BITS)) / UNIT
                gap = f"a cost lower by at most {lower:.6g}"
            self.notes.append(f"{what}: not proved at the node limit; {gap}")
        return tuple(map(tuple, teams))

    def _fill(self, row: int, session: Session) -> None:
        """Fill a session, if tickets may join it."""
        pool = self.pool
        loads = tuple(sum(len(ticket.players) for ticket in team) for team in session.teams)
        alliance = self.rules.alliance_at(float(pool.wait[row]))
        loads += (0,) * (min(alliance.max_number, len(loads) + 1) - len(loads))
        around = Around(pool, row, alliance, loads, session.teams)
        if around.room <= 0 or len(session.teams) > alliance.max_number or self.budget.over:
            return
        self.budget.begin()
        search_result = self._search(around, session)
        if search_result is None:
            return
        best = search_result[1]
        teams = [[ticket.ticket for ticket in team] for team in session.teams]
        self.backfills.append(
            Backfill(
                session=session.session,
                tickets=tuple(pool.tickets[row].ticket for row in best.rows),
                teams=self._take(f"session {session.session}", around, best, teams),
                full=around.base + best.players >= alliance.places,
            )
        )

    def _search(self, around: Around, session: Session | None) -> tuple[str | None, Found] | None:
        """Return the region and the best set around a pivot or session, None without one."""
        pool, row = self.pool, around.row
        near = self._near(around, session)
        regions: list[int | None] = [None]
        if session is None or session.region is None:
            ranked = np.argsort(pool.latency[row], kind="stable").tolist()
            regions = [at for at in ranked if pool.accepts[row, at]] or regions
        elif session.region in pool.regions:
            regions = [pool.regions.index(session.region)]
        for region in regions:
            rows = near if region is None else near[self._reaches(around, near, region)]
            if region is None and pool.regions:
                rows = rows[~np.isfinite(pool.best[rows])]
            search, score = Search(around, self.budget), self._score(around, rows, region)
            result = search.run(rows, score)
            if result is None or (session is not None and not result.rows):
                continue
            if self.fairness is not None:
                nearest = rows[np.argsort(score, kind="stable")]
                result = self.fairness.improve(around, search, result, nearest, self.budget)
            wishes = np.isfinite(pool.best[[row, *result.rows]]).any()
            where = pool.regions[region] if region is not None and wishes else None
            return where, result
        return None

    def _near(self, around: Around, session: Session | None) -> Ints:
        """Return the rows that may meet the pivot in some region, without those of the pivot."""
        pool, row = self.pool, around.row
        key = (int(pool.options[row]), int(pool.others[row]))
        groups = [self.groups[key]] if key in self.groups else []
        if session is not None and self.rules.match_options_referred_for_backfill:
            groups = [group for (options, _), group in self.groups.items() if options == key[0]]
        value, limit = pool.value[row], pool.limit[row]
        distant = len(value) > 0 and not np.isnan(value).any()
        parts = [_within(*group, value[0], limit[0]) if distant else group[0] for group in groups]
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        columns = (*pool.any_bits.values(), *pool.unique_bits.values())
        wide = sum(column.dtype == object for column in columns)
        self.budget.spend(len(rows) * (1 + WIDE * wide) // COMPARED)
        good = self.queued[rows] & (rows != row) & (pool.size[rows] <= around.room)
        if distant:
            both = np.minimum(limit, pool.limit[rows])
            good &= (np.abs(pool.value[rows] - value) <= both).all(axis=1)
        for name in pool.option_classes:
            good &= ~pool.excluded_by(name, row, rows)
        if session is not None:
            good &= ~pool.new_only[rows]
            good &= ~np.isin(rows, pool.excluders_of.get(str(session.session), ()))
        rows = rows[good]
        if pool.has_twice or pool.has_blocks:
            conflicts = pool.conflicts_of(row)
            self.budget.spend(len(conflicts) // COMPARED)
            if conflicts:
                rows = rows[[row not in conflicts for row in rows.tolist()]]
        return np.asarray(rows, dtype=np.int64)

    def _reaches(self, around: Around, rows: Ints, region: int) -> Any:
        """Return which rows accept a region."""
        pool, rules = self.pool, self.rules
        after = rules.disable_bidirectional_latency_after_ms
        if not after or pool.wait[around.row] * 1000.0 <= after:
            return pool.accepts[rows, region]
        latency = pool.latency[rows, region]
        most = rules.region_latency_max_ms or np.inf
        return (np.isfinite(latency) & (latency <= most)) | ~np.isfinite(pool.best[rows])

    def _score(self, around: Around, rows: Ints, region: int | None) -> Ints:
        """Return the cost of each row in billionths: the score of its ticket for each player."""
        pool = self.pool
        score = np.zeros(len(rows))
        value = pool.value[around.row]
        most = self.rules.region_latency_max_ms
        if self.own_score is not None:
            pivot = pool.tickets[around.row]
            for at, row in enumerate(rows.tolist()):
                own = self.own_score(pivot, pool.tickets[row])
                sound = is_number(own, lambda x: 0 <= x <= 100_000)
                require(sound, "score", "a function that returns a number from 0 to 100000", own)
                score[at] = own
        else:
            if not np.isnan(value).any():
                for at, (weight, divisor) in enumerate(self.weights):
                    if divisor > 0:
                        score += weight * np.abs(pool.value[rows, at] - value[at]) / divisor
            if region is not None and most:
                latency, best = pool.latency[rows, region], pool.best[rows]
                wishes = np.isfinite(best)
                more = np.subtract(latency, best, out=np.zeros(len(rows)), where=wishes)
                score += self.rules.region_latency_rule_weight * more / most
        return np.asarray(np.rint(score * UNIT), dtype=np.int64) * pool.size[rows]

    def team_numbers(self, around: Around, rows: Sequence[int]) -> tuple[int, ...]:
        """Return the team of each member as `rebalance` makes them, with players kept apart."""
        pool, rules = self.pool, self.rules
        members = around.members(rows)
        if pool.separates:
            return self._most_even(around, around.divisions(rows), members)
        alliance = around.alliance
        places = around.base + sum(int(pool.size[row]) for row in members)
        parties = tuple(
            MatchedParty(players=pool.tickets[row].players, party=at)
            for at, row in enumerate(members)
        )
        session: tuple[tuple[MatchedParty, ...], ...] = ()
        if around.loads is not None:
            teams = pool.sessions[around.row - pool.waiting].teams
            session = tuple(
                tuple(MatchedParty(players=ticket.players) for ticket in team) for team in teams
            )
        try:
            request = RebalanceRequest(
                ruleset=Ruleset(
                    min_number=min(alliance.min_number, 1000),
                    max_number=min(alliance.max_number, max(places, len(session)), 1000),
                    player_min_number=min(alliance.player_min_number, 10_000),
                    player_max_number=min(alliance.player_max_number, 10_000),
                    rules=tuple(
                        Rule(attribute=rule.attribute, max=rule.max)
                        for rule in rules.balancing_rules()
                    ),
                    rebalance_enable=rules.rebalance_enable,
                ),
                parties=parties,
                session=session,
                default_attributes=self.defaults,
            )
            return team_numbers(request)
        except EquipoiseError:
            # A search of the rebalance that ends without teams; the packing has some.
            return around.divisions(rows, 1)[0]

    def _most_even(
        self, around: Around, divisions: list[tuple[int, ...]], members: Sequence[int]
    ) -> tuple[int, ...]:
        """Return the most even of divisions: member counts first, then mean attributes."""
        pool = self.pool
        names = [rule.attribute for rule in self.rules.rules]
        columns = [names.index(rule.attribute) for rule in self.rules.balancing_rules()]
        sizes = pool.size[list(members)]
        value = pool.value[list(members)][:, columns].sum(axis=1) * sizes
        own = pool.value[around.row, columns].sum() if around.loads is not None else 0.0

        def unevenness(numbers: tuple[int, ...]) -> tuple[int, float, tuple[int, ...]]:
            teams = max(max(numbers) + 1, len(around.loads or ()))
            count = np.bincount(numbers, sizes, minlength=teams)
            total = np.bincount(numbers, value, minlength=teams)
            for team, load in enumerate(around.loads or ()):
                count[team] += load
                total[team] += load * (0.0 if math.isnan(own) else own)
            means = total[count > 0] / count[count > 0]
            far = float(np.abs(means - means.mean()).sum())
            return int(count.max() - count.min()), round(far, 9), numbers

        return min(divisions, key=unevenness)

    def _agreed(self, rows: Sequence[int]) -> dict[str, tuple[Any, ...]]:
        """Return the values that a match agrees on."""
        pool = self.pool
        tickets = [pool.tickets[row] for row in rows]
        agreed: dict[str, tuple[Any, ...]] = {}
        for name, kind in pool.kinds.items():
            own = [values_of(ticket.attributes, name) for ticket in tickets]
            values = shared_values(own) if kind == "any" else all_values(own)
            if values and kind != "disable":
                agreed[name] = tuple(values)
        for name in pool.compared(tickets[0]):
            agreed[name] = (tickets[0].attributes[name],)
        return dict(sorted(agreed.items(), key=lambda item: str(item[0])))


def _within(rows: Ints, first: Floats, value: float, limit: float) -> Ints:
    """Return the rows whose first attribute is within a tolerance of a value; first : sorted."""
    # A little wider, because the difference itself is rounded.
    limit += 1e-9 * (abs(value) + limit)
    return rows[first.searchsorted(value - limit) : first.searchsorted(value + limit, "right")]
