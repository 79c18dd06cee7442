"""The matches of a pool, as they count now, as the long table that `equipoise rate` reads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from equipoise.data.history import HOME_SIDES
from equipoise.data.times import MICROSECONDS
from equipoise.formats.options import CANONICAL
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.pools.pool.rules import PoolRules
from equipoise.pools.posting.match_history import LoggedMatch, pool_stamps, score_of
from equipoise.rating.system import OF_ROUNDS

#: Whole numbers that fit a column of them.
_LARGEST_INT = 2**63
#: Whole numbers that fit a column of floats; larger ones are text.
_LARGEST_FLOAT = int(sys.float_info.max)

_PLAYERS_OWN: Mapping[str, Any] = {
    "share": pl.Float64,
    "performance": pl.Float64,
    "role": pl.String,
    "side": pl.String,
    "at_home": pl.Boolean,
}
_RESERVED = {*CANONICAL, *_PLAYERS_OWN}


@dataclass(slots=True)
class _Seen:
    """The further values that the matches of a pool have, beside players and results."""

    teams: bool = False
    weight: bool = False
    ceiling: bool = False
    rounds: set[str] = field(default_factory=set)
    fractions: bool = False
    earliest: int | None = None
    latest: int = 0
    own: set[str] = field(default_factory=set)
    statistics: set[str] = field(default_factory=set)
    attributes: dict[str, set[type]] = field(default_factory=dict)

    def look(self, match: LoggedMatch) -> None:
        """Take note of what a match says."""
        request = match.request
        self.fractions |= match.time % MICROSECONDS != 0
        if self.earliest is None or match.time < self.earliest:
            self.earliest = match.time
        self.latest = max(self.latest, match.time)
        self.weight |= request.weight != 1.0
        self.ceiling |= request.performance_ceiling is not None
        self.rounds.update(name for name in OF_ROUNDS if getattr(request, name) is not None)
        for team in request.teams:
            self.teams |= team.team is not None or len(team.players) > 1
            for one in team.players:
                if isinstance(one, ParticipationRequest):
                    self._look_at(one)

    def _look_at(self, one: ParticipationRequest) -> None:
        self.own.update(name for name in _PLAYERS_OWN if getattr(one, name) is not None)
        self.statistics.update(one.statistics)
        for name, value in one.attributes.items():
            if value is not None:
                self.attributes.setdefault(name, set()).add(_kind_of(value))


class LogTable:
    """The matches of a pool as rows of a table, with the columns that they need.

    pieces : the matches in the order of rating. They are read twice: first to find the columns,
        then to write the rows
    """

    def __init__(self, pieces: Callable[[], Iterator[list[LoggedMatch]]], rules: PoolRules) -> None:
        self._pieces, self._rules = pieces, rules
        seen = _Seen()
        for piece in pieces():
            for match in piece:
                seen.look(match)
        self._seen = seen
        self._statistics = {name: _free(name, "statistics") for name in sorted(seen.statistics)}
        self._scored = not rules.fault and "score" in rules.able.uses
        taken = {*_RESERVED, *self._statistics.values()}
        if self._scored:
            taken.add("score")
        self._attributes = {
            name: _free(name, "attributes", taken) for name in sorted(seen.attributes)
        }
        self.schema = self._schema()

    def frames(self) -> Iterator[tuple[pl.DataFrame, int]]:
        """Give the matches as tables, at least one, with their numbers of matches."""
        yield pl.DataFrame(schema=self.schema), 0
        for piece in self._pieces():
            rows: list[tuple[Any, ...]] = []
            for match in piece:
                rows += self._rows(match)
            yield pl.DataFrame(rows, schema=self.schema, orient="row"), len(piece)

    def _schema(self) -> dict[str, Any]:
        seen = self._seen
        columns: dict[str, Any] = {"match": pl.String}
        if self._rules.timed:
            columns["time"] = pl.Datetime("us") if self._stamps else pl.Int64
        columns["player"] = pl.String
        if seen.teams:
            columns["team"] = pl.String
        columns["rank"] = pl.Int64
        if self._scored:
            columns["score"] = pl.Float64
        if seen.weight:
            columns["weight"] = pl.Float64
        if seen.ceiling:
            columns["performance_ceiling"] = pl.Float64
        columns |= {name: pl.Float64 for name in OF_ROUNDS if name in seen.rounds}
        columns |= {name: kind for name, kind in _PLAYERS_OWN.items() if name in seen.own}
        columns |= dict.fromkeys(self._statistics.values(), pl.Float64)
        for name, column in self._attributes.items():
            columns[column] = _type_of(seen.attributes[name])
        return columns

    @property
    def _stamps(self) -> bool:
        """Whether times are written as in ISO 8601: readers would not read them as seconds."""
        span = None
        if self._seen.earliest is not None:
            span = (self._seen.earliest, self._seen.latest, self._seen.fractions)
        return pool_stamps(self._rules, span)

    def _rows(self, match: LoggedMatch) -> Iterator[tuple[Any, ...]]:
        """Give a row for every player of a match."""
        request, seen = match.request, self._seen
        head: list[Any] = [str(request.match)]
        if self._rules.timed:
            head.append(match.time if self._stamps else match.time // MICROSECONDS)
        tail: list[Any] = [request.weight] if seen.weight else []
        if seen.ceiling:
            tail.append(request.performance_ceiling)
        tail += [getattr(request, name) for name in OF_ROUNDS if name in seen.rounds]
        for team, label, rank in _teams(request):
            middle = [label, rank] if seen.teams else [rank]
            for one in team.players:
                detail = one if isinstance(one, ParticipationRequest) else None
                player = str(one if detail is None else detail.player)
                points = [score_of(team, detail)] if self._scored else []
                yield (*head, player, *middle, *points, *tail, *self._details(detail))

    def _details(self, one: ParticipationRequest | None) -> Iterator[Any]:
        """Give the further values of a player in a match, column by column."""
        own = (name for name in _PLAYERS_OWN if name in self._seen.own)
        if one is None:
            count = sum(1 for _ in own) + len(self._statistics) + len(self._attributes)
            yield from [None] * count
            return
        for name in own:
            value = getattr(one, name)
            if name == "at_home" and value is None and one.side in HOME_SIDES:
                value = True  # Readers ignore the side beside a column `at_home`.
            yield value
        yield from (one.statistics.get(name) for name in self._statistics)
        for name, column in self._attributes.items():
            yield _value(one.attributes.get(name), self.schema[column])


def _teams(request: MatchRequest) -> Iterator[tuple[TeamRequest, str, int]]:
    """Give the teams of a match with distinct labels, and their places from 0."""
    labels = [team.team for team in request.teams]
    if None in labels or len(set(labels)) < len(labels):
        labels = [str(number) for number in range(1, len(labels) + 1)]
    places = {order: place for place, order in enumerate(sorted({t.order for t in request.teams}))}
    for team, label in zip(request.teams, labels, strict=True):
        yield team, str(label), places[team.order]


def _free(name: str, kind: str, taken: set[str] = _RESERVED) -> str:
    """Return the name of a column: with its kind if the name alone is taken."""
    return f"{kind}.{name}" if name in taken else name


def _kind_of(value: Any) -> type:
    """Return the type as which a column holds a value."""
    if type(value) is not int or abs(value) < _LARGEST_INT:
        return type(value)
    return float if abs(value) <= _LARGEST_FLOAT else str


def _type_of(kinds: set[type]) -> Any:
    """Return the type of a column that holds values of these types."""
    if kinds == {bool}:
        return pl.Boolean
    if kinds == {int}:
        return pl.Int64
    return pl.Float64 if kinds <= {int, float} else pl.String


def _value(value: Any, kind: Any) -> Any:
    """Return a value as its column holds it."""
    if value is None or kind != pl.String or isinstance(value, str):
        return float(value) if kind == pl.Float64 and value is not None else value
    return str(value).lower() if isinstance(value, bool) else str(value)
