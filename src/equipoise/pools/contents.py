"""What the records of a log contain, by their kind.

Known ratings have columns, so a hundred thousand players are read in a fraction of a second. Ids
and numbers of imported contents are checked here, because nothing else checks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from equipoise.data.ratings import InitialRatings
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.messages.matches import Effect, MatchRequest, ReasonRequest
from equipoise.messages.pools import InitialMapping, ProfilesRequest
from equipoise.pools.pool.rules import id_fault
from equipoise.store.log import Kind

#: Players with a known rating in one pool, at most: a record is read and written at once.
MOST_PLAYERS = 250_000


class KnownContent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Known ratings, on the scale of the pool.

    players : sorted when they were recorded, each once; rating, deviation : of each, null for the
        deviation of newcomers
    pool : the pool that they were copied from; mapping : how they were converted
    """

    players: list[str]
    rating: list[float]
    deviation: list[float | None]
    reason: str = ""
    pool: str | None = None
    mapping: InitialMapping | None = None

    def ratings(self) -> InitialRatings:
        """Return the ratings of all players. Raises : InvalidParameterError."""
        ids = np.empty(len(self.players), dtype=object)
        ids[:] = self.players
        return InitialRatings(
            player_ids=ids,
            rating=np.array(self.rating, np.float64),
            # None becomes NaN.
            deviation=np.array(self.deviation, np.float64),
        )

    def check(self) -> None:
        """Check ids and numbers. Raises : InvalidDataError."""
        players = len(self.players)
        if not players == len(self.rating) == len(self.deviation):
            rule = "must have one value for each of the players"
            got = f"{len(self.rating)} ratings and {len(self.deviation)} deviations"
            raise InvalidDataError([Problem("", None, "rating", rule, got)])
        check_number(players)
        faults = ((player, id_fault(player)) for player in self.players)
        problems = [
            Problem("", None, "player", fault, player[:200])
            for player, fault in faults
            if fault is not None
        ]
        if problems:
            raise InvalidDataError(problems)
        try:
            self.ratings()
        except InvalidParameterError as error:
            raise InvalidDataError([], f"the known ratings cannot be used: {error}") from error


def check_number(players: int) -> None:
    """Check how many players are to have a known rating. Raises : InvalidDataError."""
    if players > MOST_PLAYERS:
        rule = f"must have at most {MOST_PLAYERS:,} players"
        raise InvalidDataError([Problem("", None, "ratings", rule, f"{players:,}")])


class DisqualifyContent(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A disqualification.

    effect : None in the records of earlier versions, which mean "without". Their player has no
        entry on the leaderboard if no match counts
    """

    reason: str
    effect: Effect | None = None


class DescribeContent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A correction of title, link and attributes alone; fields as MatchRequest."""

    title: str | None = None
    link: str | None = None
    attributes: dict[str, str | int | float | bool | None] = {}

    @classmethod
    def of(cls, request: MatchRequest) -> DescribeContent:
        """Return the title, link and attributes of a match."""
        return cls(request.title, request.link, request.attributes)

    def applied(self, request: MatchRequest) -> MatchRequest:
        """Return a match with this title, this link and these attributes."""
        texts = {name: getattr(self, name) for name in self.__struct_fields__}
        return msgspec.structs.replace(request, **texts)


class RenameContent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A renamed player."""

    to: str
    reason: str = ""


class SettingsContent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of settings: the settings after it, those before it, its reason."""

    settings: dict[str, Any]
    before: dict[str, Any]
    reason: str = ""


class _Texts(msgspec.Struct):
    """The texts of a content that are read without the rest, which may be very long.

    It is also all that is read of an erasure; `store.log` reads what was rewritten.
    """

    reason: str = ""
    title: str | None = None


_SHAPES: Mapping[Kind, type[msgspec.Struct]] = {
    "match": MatchRequest,
    "correct": MatchRequest,
    "void": ReasonRequest,
    "restore": ReasonRequest,
    "reinstate": ReasonRequest,
    "disqualify": DisqualifyContent,
    "rename": RenameContent,
    "describe": DescribeContent,
    "settings": SettingsContent,
    "initial": KnownContent,
    "profiles": ProfilesRequest,
    "erase": _Texts,
}
_decoders = {kind: msgspec.json.Decoder(shape) for kind, shape in _SHAPES.items()}
_texts = msgspec.json.Decoder(_Texts)


def content_of(kind: Kind, content: str | bytes | msgspec.Raw) -> Any:
    """Return the content of a record of a kind; known ratings are checked.

    Raises : msgspec.MsgspecError; InvalidDataError for known ratings
    """
    decoded = _decoders[kind].decode(content)
    if isinstance(decoded, KnownContent):
        decoded.check()
    return decoded


def reason_of(content: str | bytes | msgspec.Raw) -> str:
    """Return the reason in a content, without reading the rest; empty if it has none."""
    return _texts.decode(content).reason


def title_of(content: str) -> str | None:
    """Return the title of a match, a correction or a description, without reading its players."""
    return _texts.decode(content).title


def effect_of(kind: Kind, content: str) -> Effect | None:
    """Return the effect that the record of a disqualification names; None for other records."""
    effect: Effect | None = content_of(kind, content).effect if kind == "disqualify" else None
    return effect
