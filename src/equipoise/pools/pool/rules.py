"""Settings of a pool, its tiers, and checks of settings and of matches by them.

Times are microseconds since 1970 in the database, days since 1970 in rating systems.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data import times
from equipoise.data.history import (
    FARTHEST_CEILING,
    LARGEST_PERFORMANCE,
    LARGEST_SCORE,
    MICROSECONDS_PER_DAY,
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
from equipoise.data.times import SECONDS_LIMIT
from equipoise.errors import (
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    PluginError,
    Problem,
)
from equipoise.formats.times import instant
from equipoise.messages.matches import MatchRequest, Moment, ParticipationRequest
from equipoise.messages.pools import PoolRequest, Tier, TierPreset
from equipoise.rating.contexts import CONTEXT
from equipoise.rating.federation_columns import FACTS, broken_rule
from equipoise.rating.registry import SYSTEMS, absent, make_system, requirement_of, without_removed
from equipoise.rating.system import OF_ROUNDS, USABLE, Capabilities, RatingSystem
from equipoise.wording import counted

#: Placement matches of a new pool, so that players of one match are not at the top.
NEW_PLACEMENT_MATCHES = 3

#: Maximum number of characters of an id.
ID_LENGTH = 200
_ID_RULE = f"must have 1 to {ID_LENGTH} characters and no control characters"

#: Text without control characters and halves of surrogate pairs.
_NO_CONTROL = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]*")

#: Settings that are texts for readers -> their maximum length.
_TEXTS = {"title": 100, "description": 1_000, "unit": 30}
#: Settings that earlier versions, which may be on the same database, do not know. They are stored
#: only where they differ from their defaults.
_LATER = ("title", "description", "unit", "tiers", "provisional_deviation", "calibrate")
#: Settings whose change waits for a replay of the whole log, which brings it.
REPLAYED = frozenset({"parameters", "calibrate"})

#: Characters of the title and the link of a match, and its number of attributes, at most.
_LONGEST_TITLE, _LONGEST_LINK, _MOST_ATTRIBUTES = 200, 500, 20
#: Characters of the name of an attribute of a match, and of a value that is text, at most.
_LONGEST_NAME, _LONGEST_VALUE = 100, 500
_LINK = re.compile(r"https://[^\s/?#@\\]+([/?#][^\s\\]*)?")

#: Seconds since 1970 at the year 1: no earlier time can be written as a date.
_EARLIEST = -62_135_596_800
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


#: Tiers of a pool, and characters of a name, at most.
_MOST_TIERS, _LONGEST_TIER = 30, 40

#: Ready-made tiers: the titles of Codeforces (https://codeforces.com/blog/entry/68288), and the
#: classes of US Chess (https://new.uschess.org/us-chess-ratings).
_CODEFORCES = (
    Tier(0.0, "Newbie", "Newbie", 1),
    Tier(1200.0, "Pupil", "Pupil", 1),
    Tier(1400.0, "Specialist", "Specialist", 2),
    Tier(1600.0, "Expert", "Expert", 2),
    Tier(1900.0, "Candidate master", "CM", 3),
    Tier(2100.0, "Master", "Master", 4),
    Tier(2300.0, "International master", "Intl. master", 4),
    Tier(2400.0, "Grandmaster", "Grandmaster", 5),
    Tier(2600.0, "International grandmaster", "Intl. GM", 5),
    Tier(3000.0, "Legendary grandmaster", "Legendary GM", 5),
)
_CHESS = (
    Tier(0.0, "Class E and below", "E", 1),
    Tier(1200.0, "Class D", "D", 1),
    Tier(1400.0, "Class C", "C", 2),
    Tier(1600.0, "Class B", "B", 2),
    Tier(1800.0, "Class A", "A", 3),
    Tier(2000.0, "Expert", "Expert", 4),
    Tier(2200.0, "Master", "Master", 5),
    Tier(2400.0, "Senior master", "SM", 5),
)
#: Names of five tiers, and their lower bounds as parts of the initial rating: 1300, 1500, 1700 and
#: 1900 for an initial rating of 1500.
_FIVE = ("Bronze", "Silver", "Gold", "Platinum", "Diamond")
_PARTS = (0.0, 13 / 15, 1.0, 17 / 15, 19 / 15)


def resolved(tiers: Sequence[Tier] | TierPreset, initial: float) -> list[Tier]:
    """Return tiers, also ready-made ones; initial : the rating of a newcomer."""
    if not isinstance(tiers, str):
        return list(tiers)
    if tiers != "five":
        return list(_CODEFORCES if tiers == "codeforces" else _CHESS)
    bounds = [initial * part for part in _PARTS]
    return [
        Tier(bound, name, name, level)
        for level, (name, bound) in enumerate(zip(_FIVE, bounds, strict=True), start=1)
    ]


def _tier_faults(
    tiers: Sequence[Tier] | TierPreset, initial: float
) -> Iterator[tuple[str, str, object]]:
    """Give (field, rule, value) of everything wrong with tiers."""
    if isinstance(tiers, str):
        if tiers == "five" and not initial > 0:
            yield "tiers", "must be a list: 'five' needs an initial rating above 0", tiers
        return
    if len(tiers) > _MOST_TIERS:
        yield "tiers", f"must be at most {_MOST_TIERS}", len(tiers)
    for at, tier in enumerate(tiers):
        for field, text in (("name", tier.name), ("short", tier.short)):
            if not 0 < len(text) <= _LONGEST_TIER or not text.isprintable():
                rule = f"must have 1 to {_LONGEST_TIER} characters and no control characters"
                yield f"tiers[{at}].{field}", rule, text
        if not abs(tier.lower) <= 1e9:
            yield f"tiers[{at}].lower", "must be from -1e9 to 1e9", tier.lower
        if at and not tiers[at - 1].lower < tier.lower:
            yield f"tiers[{at}].lower", "must be above that of the tier before", tier.lower


class _StoredSettings(PoolRequest, frozen=True, forbid_unknown_fields=True):
    """The settings of a pool as they are stored.

    placement_matches : 0 in settings without it
    package : the package that the system comes from, so that its name is known where it is absent
    """

    placement_matches: int = 0
    package: str = ""


_decoder = msgspec.json.Decoder(_StoredSettings)
_DEFAULTS = PoolRequest()


@dataclass(frozen=True, eq=False)
class PoolRules:
    """The settings of a pool, and the rating system that they make; equal only to itself.

    package : the package that the system comes from, as pip takes it; empty if it is built in
    """

    settings: PoolRequest
    package: str = ""

    @cached_property
    def system(self) -> RatingSystem:
        """The rating system of the pool.

        Raises : InvalidParameterError, NotFoundError; PluginError if its package is not installed
            or cannot be used
        """
        try:
            return make_system(self.settings.system, self.settings.parameters)
        except NotFoundError:
            if not self.package:
                raise
            raise absent("the pool", self.settings.system, self.package) from None

    @cached_property
    def fault(self) -> str:
        """Why the system of the pool cannot be used; empty if it can."""
        try:
            self.system  # noqa: B018   makes the system, which may fail
        except PluginError as error:
            return str(error)
        return ""

    @cached_property
    def able(self) -> Capabilities:
        """What the system can rate."""
        return self.system.capabilities

    @cached_property
    def unused(self) -> tuple[str, ...]:
        """Fields of posted matches that the system does not use, in the order of `USABLE`.

        Empty if its package is not installed, because only the system knows them.
        """
        if self.fault:
            return ()
        uses = self.able.uses
        others = ("time", "score", *OF_ROUNDS, *FACTS)
        unused = [name for name in USABLE if name not in (*uses, *others)]
        if "performance" not in uses or not self.settings.statistics:
            unused.append("statistics")
        return tuple(unused)

    @cached_property
    def extra_columns(self) -> list[str]:
        """The columns of the system's trace that the table of changes packs together."""
        return [name for name in self.system.trace_columns if name != "performance"]

    @property
    def placement_matches(self) -> int:
        """The number of matches below which a player is provisional."""
        matches = self.settings.placement_matches
        return NEW_PLACEMENT_MATCHES if matches is UNSET else matches

    def provisional(self, matches: Ints, deviation: Floats) -> Flags:
        """Return which players are provisional; deviation : NaN for none."""
        few: Flags = matches < self.placement_matches
        most = self.settings.provisional_deviation
        return few if most is None else few | (deviation > most)

    @cached_property
    def start(self) -> float:
        """The initial rating of the system; 0 if it has none, or if its package is missing."""
        rating = 0.0 if self.fault else getattr(self.system, "initial_rating", 0.0)
        return float(rating) if isinstance(rating, int | float) else 0.0

    @cached_property
    def tiers(self) -> list[Tier]:
        """The tiers, also if the settings name ready-made ones."""
        return resolved(self.settings.tiers, self.start)

    def tier(self, shown: float) -> str | None:
        """Return the name of the tier of a rating shown, None without tiers."""
        tiers = self.tiers
        if not tiers:
            return None
        at = bisect_right([tier.lower for tier in tiers], shown) - 1
        return tiers[max(at, 0)].name

    @cached_property
    def timed(self) -> bool:
        """Whether matches of the pool have times."""
        return self.settings.times != "none"


@lru_cache(maxsize=256)
def rules_of(settings: str) -> PoolRules:
    """Return the rules of a pool from its stored settings."""
    request, package = stored_settings(settings)
    return PoolRules(request, package)


def stored_settings(content: str | bytes) -> tuple[PoolRequest, str]:
    """Return settings as they were requested, and the package of the system.

    Parameters that were removed since are left out.

    Raises : msgspec.ValidationError
    """
    settings = _decoder.decode(content)
    plain = {name: getattr(settings, name) for name in PoolRequest.__struct_fields__}
    if settings.system in SYSTEMS:
        plain["parameters"] = without_removed(settings.system, settings.parameters)
    return PoolRequest(**plain), settings.package


def settings_json(request: PoolRequest) -> str:
    """Return settings as they are stored: with the package, if the system comes from one.

    Statistics keep their order, in which they are summed, as on the command line.
    Raises : NotFoundError, PluginError
    """
    content = {name: getattr(request, name) for name in PoolRequest.__struct_fields__}
    for name in _LATER:
        if content[name] == getattr(_DEFAULTS, name):
            del content[name]
    package = requirement_of(request.system)
    if package:
        content["package"] = package
    return msgspec.json.encode(content).decode()


def decays(request: PoolRequest) -> bool:
    """Return whether the rating shown falls while a player is away."""
    return request.display_decay_per_day > 0 and request.times != "none"


def id_text(value: str | int) -> str:
    """Return an id as text, as the service stores it."""
    return value if type(value) is str else str(value)


def id_fault(value: str | int) -> str | None:
    """Return the rule that an id breaks, or None."""
    text = id_text(value)
    if 0 < len(text) <= ID_LENGTH and text.isprintable():
        return None
    # Names may have separators and format characters, which are not printable.
    fits = 0 < len(text) <= ID_LENGTH and _NO_CONTROL.fullmatch(text)
    return None if fits else _ID_RULE


def moment(value: Moment, name: str = "time") -> int:
    """Return a time in microseconds since 1970. Raises : InvalidParameterError."""
    if type(value) is int and _EARLIEST <= value <= SECONDS_LIMIT:
        return value * 1_000_000
    microseconds = _utc(value) if type(value) is str and value.endswith("Z") else None
    if microseconds is None:
        microseconds = instant(value, name)
    if microseconds < _EARLIEST * 1_000_000:
        raise InvalidParameterError(f"{name} must not be before the year 1; got {value}")
    if abs(microseconds) > SECONDS_LIMIT * 1_000_000:
        raise InvalidParameterError(f"{name} must be within {SECONDS_LIMIT} s of 1970; got {value}")
    return microseconds


def _utc(text: str) -> int | None:
    """Return a time that ends in Z, None if it is not ISO 8601: what logs have, read quickly."""
    try:
        since = datetime.fromisoformat(text) - _EPOCH
    except ValueError:
        return None
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def days(time: int) -> float:
    """Return a time as systems take it: days since 1970."""
    return time / MICROSECONDS_PER_DAY


def iso(time: int) -> str:
    """Return microseconds since 1970 as ISO 8601 with its zone."""
    return f"{times.iso(time)}Z"


def written(time: int | None, rules: PoolRules) -> int | str | None:
    """Return a time as the pool writes times; None for no time, and in pools without times."""
    if time is None or not rules.timed:
        return None
    return time // 1_000_000 if rules.settings.times == "seconds" else iso(time)


#: The names that a pool may have. They are parts of addresses.
POOL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")

#: Maximum number of characters of a reason.
LONGEST_REASON = 2000


def check_settings(
    name: str, request: PoolRequest, failed: str = "The pool could not be created"
) -> None:
    """Check the name and the settings of a pool. Raises : InvalidDataError.

    failed : what could not be done, for the first line of the error
    """
    problems = []
    if not POOL_NAME.fullmatch(name):
        rule = (
            "must have at most 63 lower-case letters, digits, '.', '_' and '-', starting with a "
            "letter or digit"
        )
        problems.append(Problem("", None, "pool", rule, name[:100]))
    bounds = {
        "display_deviations": (request.display_deviations, 0.0, 100.0),
        "display_floor": (request.display_floor, -1e9, 1e9),
        "display_decay_per_day": (request.display_decay_per_day, 0.0, 1e9),
        "display_decay_after_days": (request.display_decay_after_days, 0.0, 1e6),
        "placement_matches": (request.placement_matches, 0, 10**6),
        "inactive_days": (request.inactive_days, 0.0, 1e6),
        "provisional_deviation": (request.provisional_deviation, 0.0, 1e9),
    }
    for field, (value, low, high) in bounds.items():
        if value is not None and value is not UNSET and not low <= value <= high:
            rule = f"must be a number from {low:g} to {high:g}"
            problems.append(Problem("", None, field, rule, str(value)))
    for field, most in _TEXTS.items():
        text = getattr(request, field)
        if len(text) > most or not _NO_CONTROL.fullmatch(text):
            rule = f"must have at most {most:,} characters and no control characters"
            problems.append(Problem("", None, field, rule, text[:100]))
    if not request.unit.strip():
        problems.append(Problem("", None, "unit", "must not be empty", request.unit))
    for statistic, weight in request.statistics.items():
        if not math.isfinite(weight) or not 0 < len(statistic) <= 100 or "\0" in statistic:
            rule = "must be a name of 1 to 100 characters with a finite weight"
            problems.append(Problem("", None, "statistics", rule, f"{statistic[:100]}: {weight}"))
    try:
        rules = PoolRules(request)
        system = rules.system
        for field, rule, got in _tier_faults(request.tiers, rules.start):
            problems.append(Problem("", None, field, rule, str(got)[:100]))
        if request.times == "none" and system.capabilities.needs_time:
            rule = f"must not be 'none': {request.system} with these parameters needs times"
            problems.append(Problem("", None, "times", rule, "none"))
    except (NotFoundError, PluginError) as error:
        problems.append(Problem("", None, "system", str(error), request.system))
    except InvalidParameterError as error:
        problems.append(_parameter_problem(request, str(error)))
    if problems:
        raise InvalidDataError(problems, f"{failed}: {counted(len(problems), 'problem')}")


def _parameter_problem(request: PoolRequest, message: str) -> Problem:
    """Return a message of the registry, which begins with a parameter, as a problem."""
    named = message.split(" ", 1)[0].removeprefix(f"{request.system}.")
    rule, _, got = message.partition("; got ")
    if named not in request.parameters:
        unknown = (name for name in request.parameters if f"has no parameter {name!r}" in message)
        named = next(unknown, "")
    else:
        rule = rule.split(" ", 1)[1]
    return Problem("", None, f"parameters.{named}" if named else "parameters", rule, got)


def check_reason(text: str) -> None:
    """Check the reason of an amendment. Raises : InvalidDataError."""
    if len(text) > LONGEST_REASON or "\0" in text:
        rule = f"must have at most {LONGEST_REASON} characters and no NUL"
        raise InvalidDataError([Problem("", None, "reason", rule, text[:100] + "...")])


_encoder = msgspec.json.Encoder(order="deterministic")


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


#: Returns a match from the content of its log record; its ids are text.
logged_match: Callable[[str], MatchRequest] = msgspec.json.Decoder(MatchRequest).decode


def read_matches(
    requests: Sequence[MatchRequest], rules: PoolRules, first_line: int = 1
) -> tuple[list[PostedMatch], list[Problem]]:
    """Return the matches that can be rated, and the problems of the others.

    first_line : number of the first match, for the problems
    """
    read: list[PostedMatch] = []
    problems: list[Problem] = []
    for line, request in enumerate(requests, start=first_line):
        plain = _is_plain(request, rules)
        faults = () if plain else _faults(request, rules)
        wrong = [Problem("", line, field, rule, _shortened(got)) for field, rule, got in faults]
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
        same = msgspec.structs.replace(request, time=None) if plain else _canonical(request)
        read.append(PostedMatch(same, str(same.match), time, _encoder.encode(same).decode()))
    return read, problems


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
        or request.title is not None
        or request.link is not None
        or request.attributes
        or request.context is not None
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
        for player in players:
            if type(player) is str:
                ids.append(player)
            elif type(player) is ParticipationRequest and _is_plain_player(player, rules):
                ids.append(player.player)  # type: ignore[arg-type]
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


def _is_plain_player(detail: ParticipationRequest, rules: PoolRules) -> bool:
    """Return whether a player is given by text and a valid performance alone."""
    performance = detail.performance
    return (
        type(detail.player) is str
        and performance is not None
        and -LARGEST_PERFORMANCE <= performance <= LARGEST_PERFORMANCE
        and not rules.settings.statistics
        and detail.share is None
        and not detail.statistics
        and not detail.attributes
        and detail.role is None
        and detail.side is None
    )


#: Fields that a player in a match may give beside the id and statistics.
_GIVEN = ("performance", "share", "role", "side", "at_home")


def unused_fields(requests: Iterable[MatchRequest], rules: PoolRules) -> list[str]:
    """Return the fields that matches give and the pool's system does not use."""
    given_fields: set[str] = set()
    for request in requests:
        if request.weight != 1.0:
            given_fields.add("weight")
        if request.performance_ceiling is not None:
            given_fields.add("performance_ceiling")
        if request.context is not None:
            given_fields.add(CONTEXT)
        for team in request.teams:
            for member in team.players:
                if type(member) is ParticipationRequest:  # mostly the bare id
                    given_fields.update(
                        name for name in _GIVEN if getattr(member, name) is not None
                    )
                    if member.statistics:
                        given_fields.add("statistics")
    return [name for name in rules.unused if name in given_fields]


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= ID_LENGTH else text[:ID_LENGTH] + "..."


def _faults(request: MatchRequest, rules: PoolRules) -> Iterator[tuple[str, str, object]]:
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
    context = request.context
    if context is not None and (not context.strip() or id_fault(context) is not None):
        yield CONTEXT, _ID_RULE, context
    if not request.teams:
        yield "teams", "must not be empty", "no team"
    yield from text_faults(request.title, request.link, request.attributes, _MOST_ATTRIBUTES)
    yield from _place_faults(request)
    yield from _misfits(request, rules)
    seen: set[str] = set()
    for team in request.teams:
        if team.team is not None and (rule := id_fault(team.team)) is not None:
            yield "team", rule, team.team
        if not team.players:
            yield "players", "must not be empty", "a team without players"
        for member in team.players:
            player = member.player if isinstance(member, ParticipationRequest) else member
            text = player if type(player) is str else str(player)
            if (rule := id_fault(text)) is not None:
                yield "player", rule, text
            if text in seen:
                yield "player", "must appear once in a match", text
            seen.add(text)
            if isinstance(member, ParticipationRequest):
                yield from _participation_faults(member, rules)


def text_faults(
    title: str | None, link: str | None, attributes: Mapping[str, object], most: int
) -> Iterator[tuple[str, str, object]]:
    """Give what is wrong with a title, a link and at most so many attributes."""
    if title is not None and not _fits(title, _LONGEST_TITLE):
        rule = f"must have 1 to {_LONGEST_TITLE} characters and no control characters"
        yield "title", rule, title
    if link is not None and not (_fits(link, _LONGEST_LINK) and _LINK.fullmatch(link)):
        yield "link", f"must be an https address of at most {_LONGEST_LINK} characters", link
    if len(attributes) > most:
        yield "attributes", f"must be at most {most}", len(attributes)
    for name, value in attributes.items():
        if not _fits(name, _LONGEST_NAME):
            rule = f"must have names of 1 to {_LONGEST_NAME} characters, no control characters"
            yield "attributes", rule, name
        if isinstance(value, str) and value and not _fits(value, _LONGEST_VALUE):
            rule = f"must have at most {_LONGEST_VALUE} characters and no control characters"
            yield f"attributes.{name[:_LONGEST_NAME]}", rule, value
        if isinstance(value, float) and not math.isfinite(value):
            yield f"attributes.{name[:_LONGEST_NAME]}", "must be a finite number", value


def _fits(text: str, most: int) -> bool:
    """Return whether a text has 1 to `most` characters and no control characters."""
    return 0 < len(text) <= most and _NO_CONTROL.fullmatch(text) is not None


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
    detail: ParticipationRequest, rules: PoolRules
) -> Iterator[tuple[str, str, object]]:
    if detail.share is not None and not 0 <= detail.share <= 1:
        yield "share", "must be a number from 0 to 1", detail.share
    if detail.performance is not None:
        if not math.isfinite(detail.performance):
            yield "performance", "must be a finite number", detail.performance
        elif abs(detail.performance) > LARGEST_PERFORMANCE:
            yield "performance", TOO_LARGE, detail.performance
        if rules.settings.statistics:
            rule = "must be left out: this pool computes it from statistics"
            yield "performance", rule, detail.performance
    for name, value in detail.statistics.items():
        if not math.isfinite(value):
            yield f"statistics.{name}", "must be a finite number", value
        elif abs(value) * abs(rules.settings.statistics.get(name, 0.0)) > LARGEST_PERFORMANCE:
            yield f"statistics.{name}", f"{TOO_LARGE}, times its weight", value
    uses = rules.able.uses
    if detail.side and detail.at_home is None and "side" in uses and detail.side not in SIDES:
        yield "side", SIDE, detail.side
    if "score" in uses and read_score(detail.attributes.get("score")) is None:
        yield "attributes.score", SCORE, detail.attributes["score"]
    for name in FACTS:
        fact = detail.attributes.get(name)
        if name in uses and (broken := broken_rule(name, fact)) is not None:
            yield f"attributes.{name}", broken, fact
    for text in (
        detail.role,
        detail.side,
        *detail.statistics,
        *detail.attributes,
        *detail.attributes.values(),
    ):
        if isinstance(text, str) and "\0" in text:
            yield "attributes", "must have no NUL characters", text


def _canonical(request: MatchRequest) -> MatchRequest:
    """Return a request with ids as text, without its time, players as bare ids where possible."""
    teams = [
        msgspec.structs.replace(
            team,
            players=[_canonical_player(member) for member in team.players],
            team=None if team.team is None else id_text(team.team),
            # -0.0 becomes 0.0, because contents are compared.
            score=None if team.score is None else team.score + 0.0,
        )
        for team in request.teams
    ]
    return msgspec.structs.replace(request, match=id_text(request.match), teams=teams, time=None)


def _canonical_player(member: ParticipationRequest | str | int) -> ParticipationRequest | str:
    if not isinstance(member, ParticipationRequest):
        return id_text(member)
    text = id_text(member.player)
    same = member if member.player == text else msgspec.structs.replace(member, player=text)
    return text if same == ParticipationRequest(player=text) else same
