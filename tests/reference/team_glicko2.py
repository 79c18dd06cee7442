"""Team Glicko-2 equation by equation, with the readings A1-A15: slow and obvious.

Source: [TG2] sections 4-12; numbers in brackets are its equations. Plain floats, lists and
bisection; times are whole microseconds, so that a week is exactly a week.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

SCALE = 173.7178
MICROSECONDS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, kw_only=True)
class Options:
    """The parameters of `TeamGlicko2`, by the same names (A13)."""

    initial_rating: float = 1400.0
    initial_deviation: float = 350.0
    initial_volatility: float = 0.06
    tau: float = 0.5
    beta: float = 0.2
    factor_min: float = 0.5
    factor_max: float = 1.5
    max_change: float | None = None
    conserve: bool = False
    roles: bool = False
    form_window: int = 10
    form_clip: float = 3.0
    form_points: float = 80.0
    form_cap: float = 200.0
    form_cap_deviations: float = 2.0
    deviation_scale: float = 80.0
    blend: float = 0.5
    activity_matches: int = 3
    activity_window: float = 28.0
    period_days: float = 7.0
    max_deviation: float = 350.0


@dataclass(frozen=True)
class Entry:
    """One player in a match: in team 0 or 1, perhaps with a performance [5], a share, a role."""

    player: int
    team: int
    performance: float | None = None
    share: float = 1.0
    role: str = ""


@dataclass(frozen=True)
class Match:
    """Two teams; score is that of team 0, time in microseconds, None without times."""

    entries: Sequence[Entry]
    score: float
    time: int | None = None
    weight: float = 1.0


@dataclass
class Player:
    """What is known of a player; times are those of all matches."""

    rating: float
    deviation: float
    volatility: float
    form: float = 0.0
    form_matches: int = 0
    matches: int = 0
    times: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """What a match did to a player, as in a trace; change is that of mu [24].

    rating_unscaled : the rating that a factor of 1 would have led to
    """

    expected: float
    rating_before: float
    deviation_before: float
    rating: float
    deviation: float
    z: float
    factor: float
    rating_unscaled: float
    volatility_before: float
    volatility: float
    form: float
    form_matches: float
    change: float


class SlowTeamGlicko2:
    """A pool of players under team Glicko-2."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.players: dict[int, Player] = {}
        self.roles: dict[str, list[float]] = {}

    def player(self, number: int) -> Player:
        """Return a player; a new one begins as section 2 says."""
        options = self.options
        return self.players.setdefault(
            number,
            Player(options.initial_rating, options.initial_deviation, options.initial_volatility),
        )

    def rate(self, match: Match) -> list[Row]:
        """Rate a match: section 9, all from the ratings before it (A7)."""
        entries, options = match.entries, self.options
        players = [self.player(entry.player) for entry in entries]
        mu = [(player.rating - options.initial_rating) / SCALE for player in players]  # [1]
        phi = [self.deviation(entry.player, match.time) / SCALE for entry in entries]  # [2], A8
        z = self._z(entries)
        found, changes = [], []
        for i, entry in enumerate(entries):
            others = [j for j, other in enumerate(entries) if other.team != entry.team]
            mu_team = sum(mu[j] for j in others) / len(others)  # [11]
            phi_team = math.sqrt(sum(phi[j] ** 2 for j in others) / len(others) ** 2)  # [12]
            score = match.score if entry.team == 0 else 1 - match.score
            g = _g(phi_team)
            expected = 1 / (1 + math.exp(-g * (mu[i] - mu_team)))  # [14]
            v = 1 / (match.weight * g**2 * expected * (1 - expected))  # [15], weight times
            delta = v * match.weight * g * (score - expected)  # [16]
            sigma = new_volatility(phi[i], players[i].volatility, v, delta, options.tau)
            phi_starred = math.sqrt(phi[i] ** 2 + sigma**2)  # [21]
            phi_new = (1 / phi_starred**2 + 1 / v) ** -0.5  # [22]
            change = phi_new**2 * match.weight * g * (score - expected)  # [23], [24]
            found.append((expected, sigma, SCALE * phi_new))
            changes.append(change)
        factors = self._factors(entries, z, changes)
        rows = []
        for i, entry in enumerate(entries):
            expected, sigma, deviation = found[i]
            rows.append(
                Row(
                    expected=expected,
                    rating_before=players[i].rating,
                    deviation_before=SCALE * phi[i],
                    rating=players[i].rating + self._final(factors[i] * changes[i]) * entry.share,
                    rating_unscaled=players[i].rating + self._final(changes[i]) * entry.share,
                    deviation=deviation,
                    z=z[i],
                    factor=factors[i],
                    volatility_before=players[i].volatility,
                    volatility=sigma,
                    form=self._form(players[i], entry, z[i]),
                    form_matches=players[i].form_matches + (entry.performance is not None),
                    change=changes[i],
                )
            )
        self._write(match, rows)
        return rows

    def deviation(self, number: int, time: int | None) -> float:
        """Return a player's deviation as of a time: section 12 with reading A8."""
        player, options = self.player(number), self.options
        if time is None or not player.times:
            return player.deviation
        window = Fraction(options.activity_window) * MICROSECONDS_PER_DAY
        recent = [past for past in player.times if time - past <= window]
        if len(recent) >= options.activity_matches:
            return player.deviation
        period = Fraction(options.period_days) * MICROSECONDS_PER_DAY
        periods = (time - player.times[-1]) // period  # [42]
        phi = player.deviation / SCALE
        for _ in range(periods):
            phi = math.sqrt(phi**2 + player.volatility**2)  # [43]
            phi = min(phi, options.max_deviation / SCALE)  # [44]
        return phi * SCALE

    def effective_rating(self, number: int, time: int | None) -> float:
        """Return R_eff of section 11."""
        player, options = self.player(number), self.options
        deviation = self.deviation(number, time)
        boost = min(options.form_cap_deviations * deviation, options.form_cap)  # [37]
        recent = player.rating + min(boost, max(-boost, options.form_points * player.form))  # [38]
        trust = deviation**2 / (deviation**2 + options.deviation_scale**2)  # [39]
        return player.rating + options.blend * trust * (recent - player.rating)  # [40], [41]

    def predict(self, first: Sequence[int], second: Sequence[int], time: int | None) -> float:
        """Return the probability that one team beats another (A15)."""

        def mu(team: Sequence[int]) -> float:
            return sum(self.player(one).rating for one in team) / len(team) / SCALE

        def phi(team: Sequence[int]) -> float:
            squares = sum((self.deviation(one, time) / SCALE) ** 2 for one in team)
            return math.sqrt(squares / len(team) ** 2)

        g = _g(math.hypot(phi(first), phi(second)))
        return 1 / (1 + math.exp(-g * (mu(first) - mu(second))))

    def _z(self, entries: Sequence[Entry]) -> list[float]:
        """Return z of everyone [6]-[8]; 0 among equals and without a performance (A2, A4)."""
        relative = [self._relative(entry) for entry in entries]
        found = []
        for entry, own in zip(entries, relative, strict=True):
            team = [
                value
                for other, value in zip(entries, relative, strict=True)
                if other.team == entry.team and value is not None
            ]
            if own is None or len(set(team)) == 1:
                found.append(0.0)
            else:
                mean = sum(team) / len(team)  # [6]
                spread = math.sqrt(sum((value - mean) ** 2 for value in team) / len(team))  # [7]
                found.append((own - mean) / spread)  # [8]
        return found

    def _relative(self, entry: Entry) -> float | None:
        """Return a performance relative to its role's earlier ones, to 2^-40 (A14)."""
        if entry.performance is None or not self.options.roles:
            return entry.performance
        earlier = self.roles.get(entry.role, [])
        if len(set(earlier)) < 2:
            return 0.0
        away = entry.performance - statistics.fmean(earlier)
        return round(away / statistics.pstdev(earlier) * 2**40) / 2**40

    def _factors(
        self, entries: Sequence[Entry], z: Sequence[float], changes: Sequence[float]
    ) -> list[float]:
        """Return the factors [25], rescaled with `conserve` (A11)."""
        options = self.options
        factors = []
        for z_i, change in zip(z, changes, strict=True):
            sign = 1 if change >= 0 else -1  # A3
            factor = 1 + options.beta * sign * z_i  # [9]
            factors.append(min(options.factor_max, max(options.factor_min, factor)))  # [10]
        if not options.conserve:
            return factors
        conserved = list(factors)
        for team in (0, 1):
            for gains in (True, False):
                group = [
                    i
                    for i, entry in enumerate(entries)
                    if entry.team == team and (changes[i] >= 0) == gains
                ]
                plain = sum(changes[i] for i in group)
                scaled = sum(factors[i] * changes[i] for i in group)
                for i in group:
                    conserved[i] = factors[i] * plain / scaled if scaled != 0 else 1.0
        return conserved

    def _final(self, change: float) -> float:
        """Return a change [26] in rating points, held within `max_change` [29]-[31] (A5)."""
        points, most = SCALE * change, self.options.max_change
        return points if most is None else min(most, max(-most, points))

    def _form(self, player: Player, entry: Entry, z: float) -> float:
        """Return the form after a match [33]-[35]; as it was without a performance (A4)."""
        options = self.options
        if entry.performance is None:
            return player.form
        clipped = min(options.form_clip, max(-options.form_clip, z))  # [33]
        if player.form_matches == 0:
            return clipped  # [34]
        if player.form_matches < options.form_window:
            alpha = 1 / (player.form_matches + 1)  # [35]
        else:
            alpha = 2 / (options.form_window + 1)
        return (1 - alpha) * player.form + alpha * clipped

    def _write(self, match: Match, rows: Sequence[Row]) -> None:
        """Keep what the match did, once all of it is known."""
        for entry, row in zip(match.entries, rows, strict=True):
            player = self.player(entry.player)
            player.rating, player.deviation = row.rating, row.deviation
            player.volatility, player.form = row.volatility, row.form
            player.form_matches += entry.performance is not None
            player.matches += 1
            if match.time is not None:
                player.times.append(match.time)
        for entry in match.entries:
            if entry.performance is not None:
                self.roles.setdefault(entry.role, []).append(entry.performance)


def _g(phi: float) -> float:
    return (1 + 3 * phi**2 / math.pi**2) ** -0.5  # [13]


def new_volatility(phi: float, sigma: float, v: float, delta: float, tau: float) -> float:
    """Return sigma' of [17]-[20] by bisection: the zero nearest to a, where there are several."""
    a = math.log(sigma**2)  # [17]

    def f(x: float) -> float:
        e = math.exp(x)
        top = e * (delta**2 - phi**2 - v - e)
        return top / (2 * (phi**2 + v + e) ** 2) - (x - a) / tau**2  # [19]

    rising = f(a) > 0
    step = tau / 16 if rising else -tau / 16
    inner, outer = a, a + step
    while (f(outer) > 0) == rising:
        inner, outer = outer, outer + step
    for _ in range(200):
        middle = (inner + outer) / 2
        if (f(middle) > 0) == rising:
            inner = middle
        else:
            outer = middle
    return math.exp(inner / 2)  # [20]
