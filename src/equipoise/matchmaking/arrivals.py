"""The people of a simulated day: when they come, with whom, how good and how patient they are.

Every random number belongs to a ticket or a player, not to the order of events, so all rulesets see
the same people. Numbers come from the counter-based generator Philox 4x32-10 [Salmon, Moraes, Dror,
Shaw 2011]: the seed is the key, and (kind, ticket, number) is the counter. Most defaults are
assumptions, not measurements; `DayModel` states them, and every answer repeats them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equipoise._jit import inlined_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.files import read_toml
from equipoise.data.rebalancing import is_number, is_whole
from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.numeric.functions import normal_cdf_of

SECONDS_PER_HOUR = 3600.0
#: Seconds in which a burst of `burst_variance` lasts.
_BURST_SECONDS = 600.0
#: Least latency in ms, on top of the distance.
_LEAST_LATENCY = 5.0

#: Preset -> names of regions, share of the players at home there, and ms between home and region.
REGIONS: dict[str, tuple[tuple[str, ...], tuple[float, ...], tuple[tuple[float, ...], ...]]] = {
    "none": ((), (), ()),
    "two": (("east", "west"), (0.5, 0.5), ((20.0, 80.0), (80.0, 20.0))),
    "three": (
        ("america", "asia", "europe"),
        (0.35, 0.25, 0.4),
        ((30.0, 170.0, 100.0), (170.0, 30.0, 190.0), (100.0, 190.0, 25.0)),
    ),
    "five": (
        ("asia", "europe", "oceania", "us-east", "us-west"),
        (0.2, 0.35, 0.05, 0.25, 0.15),
        (
            (30.0, 190.0, 110.0, 200.0, 120.0),
            (190.0, 25.0, 270.0, 90.0, 150.0),
            (110.0, 270.0, 20.0, 210.0, 150.0),
            (200.0, 90.0, 210.0, 25.0, 65.0),
            (120.0, 150.0, 150.0, 65.0, 25.0),
        ),
    ),
}


class Draw(IntEnum):
    """What a random number decides; part of its counter."""

    ARRIVAL = 0
    THINNING = 1
    SIZE = 2
    COMMON_SKILL = 3
    OWN_SKILL = 4
    RATING = 5
    HOME = 6
    LATENCY = 7
    CLASS = 8
    PATIENCE = 9
    LENGTH = 10
    PERFORMANCE = 11
    LEAVING = 12
    RETURN = 13
    IDLE = 14
    BURST = 15
    BEFORE = 16


@inlined_kernel
def philox(first: Any, second: Any, third: Any, fourth: Any, key: Any, other_key: Any) -> Any:
    """Return four words of 32 bits, as uint64, of a counter and a key in such words."""
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    for _ in range(10):
        product = np.uint64(0xD2511F53) * first
        other = np.uint64(0xCD9E8D57) * third
        first = (other >> shift) ^ second ^ key
        third = (product >> shift) ^ fourth ^ other_key
        second = other & low
        fourth = product & low
        key = (key + np.uint64(0x9E3779B9)) & low
        other_key = (other_key + np.uint64(0xBB67AE85)) & low
    return first, second, third, fourth


@kernel
def _draw(seed: int, kind: int, tickets: Ints, numbers: Ints, normal: bool) -> Floats:
    """Return a number for every ticket: uniform in (0, 1), or standard normal (Box and Muller)."""
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    draws = np.empty(len(tickets))
    key = np.uint64(seed)
    for at in range(len(tickets)):
        ticket = np.uint64(tickets[at])
        a, b, c, d = philox(
            ticket & low,
            ticket >> shift,
            np.uint64(numbers[at]) & low,
            np.uint64(kind),
            key & low,
            key >> shift,
        )
        # 53 bits; the half keeps 0 out.
        uniform = (float((a << np.uint64(21)) ^ (b >> np.uint64(11))) + 0.5) * 2.0**-53
        if normal:
            other = (float((c << np.uint64(21)) ^ (d >> np.uint64(11))) + 0.5) * 2.0**-53
            draws[at] = math.sqrt(-2.0 * math.log(uniform)) * math.cos(2.0 * math.pi * other)
        else:
            draws[at] = uniform
    return draws


def uniforms(seed: int, kind: Draw, tickets: Ints, number: int | Ints = 0) -> Floats:
    """Return a number in (0, 1) for each ticket, shape (n,); `number` counts draws of a kind."""
    numbers = np.broadcast_to(np.asarray(number, np.int64), tickets.shape)
    values: Floats = _draw(seed, int(kind), tickets, np.ascontiguousarray(numbers), False)
    return values


def normals(seed: int, kind: Draw, tickets: Ints, number: int | Ints = 0) -> Floats:
    """Return a standard normal number for each ticket, shape (n,)."""
    numbers = np.broadcast_to(np.asarray(number, np.int64), tickets.shape)
    values: Floats = _draw(seed, int(kind), tickets, np.ascontiguousarray(numbers), True)
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class DayModel:
    """The assumptions about a day; every field can stand in a TOML file.

    tickets : expected number of tickets
    hours, start_hour : length of the day, and hour at which it begins with an empty queue; by
        default the quietest of the default curve
    curve : relative rate at even distances over 24 hours from 0 h, linear between; one number is a
        constant rate; empty is 1 + 0.6 cos(2 pi (h - 20)/24) + 0.15 cos(4 pi (h - 20)/24)
    burst : from hour, to hour, factor: the rate is multiplied between these hours; empty for none
    burst_variance : variance of a gamma factor with mean 1 for every ten minutes
    party_sizes : shares of parties of 1, 2, ... players; cut at the size of a team
    skill_mean, skill_deviation : of true skills, rating points
    skills : numbers from which true skills are drawn instead; in a file also the path of a table of
        players with their ratings
    party_correlation : correlation coefficient rho of a member with the common part of the party
    rating_deviation : of a rating around the true skill
    performance_deviation : of a performance around the true skill
    regions : a preset: none, two, three, five; latency_spread : of the logarithm of a latency
    region_hours : by how many hours the clock of each region is ahead, so that the shares of home
        regions follow the curve there; empty for the same shares at all hours
    classes : shares of values of the ticket attribute `class`; empty for no such attribute
    class_values : different values of it that each ticket has
    patience : exponential, weibull, fixed or none; patience_mean : seconds until a ticket gives up;
        patience_shape : of the Weibull distribution; below 1 people leave early or never
    match_minutes, match_variation : mean and coefficient of variation of a lognormal match length
    leavers : rate at which each player leaves a match, per minute
    interval : seconds between ticks; 0 ticks at every arrival
    expires_after : seconds after which a ticket expires; None for never
    return_probability : of a party to come again after a match; 0 means that everybody comes once,
        so that arrivals do not depend on waits (an open loop)
    idle_minutes : mean of the exponential time until then
    """

    tickets: float = 20_000.0
    hours: float = 24.0
    start_hour: float = 8.0
    curve: tuple[float, ...] = ()
    burst: tuple[float, ...] = ()
    burst_variance: float = 0.0
    party_sizes: tuple[float, ...] = (0.65, 0.2, 0.08, 0.04, 0.03)
    skill_mean: float = 1500.0
    skill_deviation: float = 350.0
    skills: tuple[float, ...] = ()
    party_correlation: float = 0.6
    rating_deviation: float = 100.0
    performance_deviation: float = 200.0
    regions: str = "none"
    region_hours: tuple[float, ...] = ()
    latency_spread: float = 0.25
    classes: tuple[float, ...] = ()
    class_values: int = 1
    patience: str = "exponential"
    patience_mean: float = 300.0
    patience_shape: float = 0.7
    match_minutes: float = 25.0
    match_variation: float = 0.3
    leavers: float = 0.002
    interval: float = 1.0
    expires_after: float | None = None
    return_probability: float = 0.0
    idle_minutes: float = 30.0

    def __post_init__(self) -> None:
        """Check every field."""
        texts = {"regions": tuple(REGIONS), "patience": ("exponential", "weibull", "fixed", "none")}
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if name in texts:
                require(value in texts[name], name, f"one of {', '.join(texts[name])}", value)
            elif isinstance(field.default, tuple):
                least = -math.inf if name == "skills" else 0.0
                rule = "a list of numbers" if name == "skills" else "a list of numbers from 0"
                require(isinstance(value, list | tuple), name, rule, value)
                for number in value:
                    require(
                        is_number(number, lambda x: True) and number >= least, name, rule, number
                    )
                object.__setattr__(self, name, tuple(float(number) for number in value))
            elif value is not None or name != "expires_after":
                require(is_number(value, lambda x: True), name, "a finite number", value)
                require(value >= 0 or name == "skill_mean", name, "at least 0", value)
        for name in (
            *("hours", "patience_mean", "patience_shape", "match_minutes"),
            "performance_deviation",
        ):
            require(getattr(self, name) > 0, name, "above 0", getattr(self, name))
        require(self.tickets <= 1e8, "tickets", "at most 100 million", self.tickets)
        correlation, returns = self.party_correlation, self.return_probability
        require(correlation <= 1, "party_correlation", "in [0, 1]", correlation)
        require(returns < 1, "return_probability", "in [0, 1)", returns)
        require(sum(self.party_sizes) > 0, "party_sizes", "with a share above 0", self.party_sizes)
        rule = f"empty, or a number for each region of {self.regions}"
        known = len(self.region_hours) in (0, len(self.region_names))
        require(known, "region_hours", rule, self.region_hours)
        most = max(sum(share > 0 for share in self.classes), 1)
        sound = is_whole(self.class_values) and 1 <= self.class_values <= most <= 60
        rule = "a whole number from 1 to the number of classes, which are 60 at most"
        require(sound, "class_values", rule, self.class_values)
        require(len(self.burst) in (0, 3), "burst", "from hour, to hour, factor", self.burst)
        require(not self.curve or max(self.curve) > 0, "curve", "above 0 somewhere", self.curve)

    @property
    def region_names(self) -> tuple[str, ...]:
        """The names of the regions."""
        return REGIONS[self.regions][0]


def read_day(path: str, _: str = "") -> dict[str, Any]:
    """Return the fields of a day in a TOML file. Raises : NotFoundError, InvalidParameterError."""
    try:
        content = read_toml(path)
    except OSError as error:
        raise NotFoundError(f"no file {path} with a day: {error.strerror}") from None
    except ValueError as error:
        raise InvalidParameterError(f"{path} must be TOML: {error}") from None
    known = [field.name for field in fields(DayModel)]
    for key, value in content.items():
        require(key in known, f"{path}: {key}", f"one of {', '.join(known)}", value)
    if isinstance(content.get("skills"), str):
        from equipoise.formats.players import read_rating_list

        table = Path(path).parent / content["skills"]
        listed = read_rating_list(table, columns={}, synonyms={}, what="the rating list")
        content["skills"] = np.sort(listed.rating).tolist()
    try:
        DayModel(**content)
    except InvalidParameterError as error:
        raise InvalidParameterError(f"{path}: {error}") from None
    return content


class People(NamedTuple):
    """The n tickets of a day, in order of arrival, and their players.

    created : shape (n,), seconds since the day began; gives_up : the same, inf for never
    size : shape (n,), players; first : shape (n + 1,), where they begin among all players
    rating : shape (n,), mean of the ratings that the matchmaker sees
    group : shape (n,), value of the attribute `class`, -1 for none; of several the sum of 2^value
    latency : shape (n, regions), ms; length : shape (n,), seconds of a match built around it
    skill, shown, luck : shape (players,), true skill, rating, and standard normal performance
    """

    created: Floats
    gives_up: Floats
    size: Ints
    first: Ints
    rating: Floats
    group: Ints
    latency: Floats
    length: Floats
    skill: Floats
    shown: Floats
    luck: Floats


class Trace(NamedTuple):
    """The n tickets of a trace.

    created : shape (n,), seconds; size : shape (n,), players; skill : shape (players,)
    home : shape (n,), number of the nearest region; None draws it
    """

    created: Floats
    size: Ints
    skill: Floats
    home: Ints | None = None


def rate_at(model: DayModel, hour: Floats) -> Floats:
    """Return the relative rate at hours of the day, without bursts."""
    if model.curve:
        at = (hour % 24.0) * len(model.curve) / 24.0
        low = at.astype(np.int64) % len(model.curve)
        values = np.array(model.curve)
        high = (low + 1) % len(model.curve)
        share = at - np.floor(at)
        rates: Floats = values[low] * (1 - share) + values[high] * share
        return rates
    angle = 2 * np.pi * (hour - 20.0) / 24.0
    wave: Floats = 1 + 0.6 * np.cos(angle) + 0.15 * np.cos(2 * angle)
    return wave


def arrival_times(model: DayModel, seed: int) -> Floats:
    """Return the times of an inhomogeneous Poisson process, by thinning, seconds, shape (n,)."""
    length = model.hours * SECONDS_PER_HOUR
    blocks = max(math.ceil(length / _BURST_SECONDS), 1)
    gamma = np.ones(blocks)
    if model.burst_variance > 0:
        rng = np.random.Generator(np.random.Philox(key=np.array([seed, Draw.BURST], np.uint64)))
        gamma = rng.gamma(1 / model.burst_variance, model.burst_variance, blocks)

    def rate(seconds: Floats) -> Floats:
        hour = model.start_hour + seconds / SECONDS_PER_HOUR
        rates = rate_at(model, hour)
        if model.burst:
            start, stop, factor = model.burst
            rates = np.where((hour % 24 >= start) & (hour % 24 < stop), rates * factor, rates)
        block = np.minimum((seconds / _BURST_SECONDS).astype(np.int64), blocks - 1)
        return rates * gamma[block]

    # A grid finer than a burst: the mean decides the scale, the maximum the thinning.
    grid = np.linspace(0.0, length, 60 * blocks, endpoint=False) + length / (120 * blocks)
    plain = rate_at(model, model.start_hour + grid / SECONDS_PER_HOUR)
    scale = model.tickets / length / float(plain.mean())
    # Between points of the grid a curve rises little, but not by nothing.
    most = 1.01 * scale * float(rate(grid).max())
    if most <= 0:
        return np.zeros(0)
    expected = most * length
    count = int(expected + 8 * math.sqrt(expected) + 20)
    numbers = np.arange(count)
    times = np.cumsum(-np.log(uniforms(seed, Draw.ARRIVAL, numbers)) / most)
    kept = uniforms(seed, Draw.THINNING, numbers) * most < scale * rate(np.minimum(times, length))
    return times[kept & (times < length)]


def draw_people(
    model: DayModel,
    seed: int,
    *,
    largest: int,
    trace: Trace | None = None,
) -> People:
    """Return the tickets of a day, the same for every ruleset.

    largest : most players of a party
    trace : tickets sorted by time; None draws them
    """
    times = arrival_times(model, seed) if trace is None else trace.created
    n = len(times)
    ticket = np.arange(n)
    if trace is None:
        size = 1 + _choice(seed, Draw.SIZE, ticket, model.party_sizes[:largest])
    else:
        size = trace.size
    first = np.concatenate(([0], np.cumsum(size)))
    party = np.repeat(ticket, size)
    member = np.arange(first[-1]) - first[party]
    skill = _skills(model, seed, size, party, member) if trace is None else trace.skill
    shown = skill + model.rating_deviation * normals(seed, Draw.RATING, party, member)
    return People(
        created=times,
        gives_up=times + patience(model, uniforms(seed, Draw.PATIENCE, ticket)),
        size=size,
        first=first,
        rating=np.add.reduceat(shown, first[:-1]) / size if n else np.zeros(0),
        group=_classes(model, seed, ticket) if model.classes else np.full(n, -1),
        latency=_latencies(model, seed, times, None if trace is None else trace.home),
        length=match_seconds(model, normals(seed, Draw.LENGTH, ticket)),
        skill=skill,
        shown=shown,
        luck=normals(seed, Draw.PERFORMANCE, party, member),
    )


def _skills(model: DayModel, seed: int, size: Ints, party: Ints, member: Ints) -> Floats:
    """Return the true skills of players, by the number of their party and their place in it."""
    rho = model.party_correlation
    common = normals(seed, Draw.COMMON_SKILL, np.arange(len(size)))[party]
    own = normals(seed, Draw.OWN_SKILL, party, member)
    mixed = rho * common + math.sqrt(1 - rho * rho) * own
    normal = np.where(size[party] > 1, mixed, own)
    if model.skills:
        listed = np.sort(model.skills)
        place = (normal_cdf_of(normal) * len(listed)).astype(np.int64)
        drawn: Floats = listed[np.minimum(place, len(listed) - 1)]
        return drawn
    return model.skill_mean + model.skill_deviation * normal


def patience(model: DayModel, uniform: Floats) -> Floats:
    """Return seconds until tickets give up, by the inverse distribution function."""
    if model.patience in ("none", "fixed"):
        return np.full(uniform.shape, math.inf if model.patience == "none" else model.patience_mean)
    unit: Floats = -np.log(uniform)
    if model.patience == "weibull":
        shape = 1 / model.patience_shape
        unit = unit**shape / math.gamma(1 + shape)
    return model.patience_mean * unit


def match_seconds(model: DayModel, normal: Floats) -> Floats:
    """Return lengths of matches for standard normal numbers."""
    variation = math.log1p(model.match_variation**2)
    spread: Floats = np.exp(math.sqrt(variation) * normal - variation / 2)
    return 60.0 * model.match_minutes * spread


def players_of(first: Ints, size: Ints) -> Ints:
    """Return the rows of the players of tickets, one ticket after the other.

    first : where the players of each ticket begin; size : their number
    """
    return np.repeat(first - (np.cumsum(size) - size), size) + np.arange(size.sum())


def _classes(model: DayModel, seed: int, ticket: Ints) -> Ints:
    """Return the classes of tickets, as `People.group` has them.

    Several are drawn one after the other without replacement: the first of exponential races with
    the shares as rates (Efraimidis and Spirakis 2006).
    """
    if model.class_values == 1:
        return _choice(seed, Draw.CLASS, ticket, model.classes)
    with np.errstate(divide="ignore"):
        races = [
            -np.log(uniforms(seed, Draw.CLASS, ticket, at)) / share
            for at, share in enumerate(model.classes)
        ]
    first = np.argsort(np.stack(races, axis=1), axis=1)[:, : model.class_values]
    chosen: Ints = (1 << first).sum(axis=1)
    return chosen


def class_value(model: DayModel, group: int) -> str | list[str]:
    """Return the ticket attribute `class` for a value of `People.group`."""
    if model.class_values == 1:
        return str(group)
    return [str(at) for at in range(len(model.classes)) if group >> at & 1]


def _latencies(model: DayModel, seed: int, created: Floats, home: Ints | None) -> Floats:
    names, shares, base = REGIONS[model.regions]
    ticket = np.arange(len(created))
    latency = np.zeros((len(ticket), len(names)))
    if names:
        weights = np.array(shares)
        if model.region_hours:
            hour = model.start_hour + created[:, None] / SECONDS_PER_HOUR
            # Where nobody would come, the shares count.
            weights = weights * np.maximum(rate_at(model, hour + model.region_hours), 1e-9)
        home = _choice(seed, Draw.HOME, ticket, weights) if home is None else home
        for region in range(len(names)):
            noise = np.exp(model.latency_spread * normals(seed, Draw.LATENCY, ticket, region))
            latency[:, region] = np.array(base)[home, region] * noise + _LEAST_LATENCY
    return latency


def _choice(seed: int, kind: Draw, ticket: Ints, shares: Any) -> Ints:
    """Return independent choices, numbered from 0; shares : the same for all, or rows of them."""
    ends = np.cumsum(shares, axis=-1)
    ends = ends / ends[..., -1:]
    passed = (uniforms(seed, kind, ticket)[:, None] >= ends).sum(axis=1)
    chosen: Ints = np.minimum(passed, ends.shape[-1] - 1)
    return chosen
