"""The rules of a pool: its settings and rating system, and its forms of ids and times.

Times are microseconds since 1970 in the database, days since 1970 in rating systems.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache

import msgspec
from msgspec import UNSET

from equipoise.data import times
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.data.times import SECONDS_LIMIT
from equipoise.errors import InvalidParameterError, NotFoundError, PluginError
from equipoise.formats.times import instant
from equipoise.messages.matches import Moment
from equipoise.messages.pools import PoolRequest
from equipoise.rating.federations.facts import FACTS
from equipoise.rating.registry import (
    SYSTEMS,
    absent,
    make_system,
    requirement_of,
    without_removed,
)
from equipoise.rating.system import OF_ROUNDS, USABLE, Capabilities, RatingSystem

#: Placement matches of a new pool, so that players of one match are not at the top.
NEW_PLACEMENT_MATCHES = 3

#: Maximum number of characters of an id.
ID_LENGTH = 200
_ID_RULE = f"must have 1 to {ID_LENGTH} characters and no control characters"

#: Text without control characters and halves of surrogate pairs.
_NO_CONTROL = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]*")

#: Seconds since 1970 at the year 1: no earlier time can be written as a date.
_EARLIEST = -62_135_596_800
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _StoredSettings(PoolRequest, frozen=True, forbid_unknown_fields=True):
    """The settings of a pool as they are stored.

    placement_matches : 0 in settings without it
    package : the package that the system comes from, so that its name is known where it is absent
    """

    placement_matches: int = 0
    package: str = ""


_decoder = msgspec.json.Decoder(_StoredSettings)


@dataclass(frozen=True)
class PoolRules:
    """The settings of a pool, and the rating system that they make.

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
        found = [name for name in USABLE if name not in (*uses, *others)]
        if "performance" not in uses or not self.settings.statistics:
            found.append("statistics")
        return tuple(found)

    @property
    def placement_matches(self) -> int:
        """The number of matches below which a player is provisional."""
        given = self.settings.placement_matches
        return NEW_PLACEMENT_MATCHES if given is UNSET else given

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
    found = _decoder.decode(content)
    plain = {name: getattr(found, name) for name in PoolRequest.__struct_fields__}
    if found.system in SYSTEMS:
        plain["parameters"] = without_removed(found.system, found.parameters)
    return PoolRequest(**plain), found.package


def settings_json(request: PoolRequest) -> str:
    """Return settings as they are stored: with the package, if the system comes from one.

    Statistics keep their order, in which they are summed, as on the command line.
    Raises : NotFoundError, PluginError
    """
    content = {name: getattr(request, name) for name in PoolRequest.__struct_fields__}
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
    found = _utc(value) if type(value) is str and value.endswith("Z") else None
    if found is None:
        found = instant(value, name)
    if found < _EARLIEST * 1_000_000:
        raise InvalidParameterError(f"{name} must not be before the year 1; got {value}")
    if abs(found) > SECONDS_LIMIT * 1_000_000:
        raise InvalidParameterError(f"{name} must be within {SECONDS_LIMIT} s of 1970; got {value}")
    return found


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
