"""A pool in memory, rated anew by the library whenever its log changes: the truth, slowly."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import equipoise as eq
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.errors import ConflictError, NotFoundError
from equipoise.messages.amendments import DifferenceMessage, PlayerDifference
from equipoise.messages.explain import ExplainMessage
from equipoise.messages.matches import ChangeMessage, MatchMessage, MatchRequest, TeamMessage
from equipoise.messages.pools import PoolMessage, PoolRequest
from equipoise.rating.registry import parameters_of
from equipoise.workflows.explain import explain_message


def known(value: float) -> float | None:
    """Return a number, None for NaN."""
    return None if math.isnan(value) else float(value)


def iso(seconds: float) -> str:
    """Return seconds since 1970 as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def players_of(match: MatchRequest) -> list[list[str]]:
    """Return ids, team by team."""
    return [[str(getattr(one, "player", one)) for one in team.players] for team in match.teams]


class MemoryPool:
    """Log, voids and disqualifications of a pool, and what the library makes of them."""

    def __init__(self, name: str, request: PoolRequest) -> None:
        self.name, self.request = name, request
        self.system = eq.make_system(request.system, request.parameters)
        self.log: dict[str, MatchRequest] = {}
        self.seq: dict[str, int] = {}
        self.corrected: dict[str, int] = {}
        self.void: set[str] = set()
        self.banned: dict[str, float] = {}
        self.last_seq = 0
        self.generation = 1
        self.rows: list[dict[str, Any]] = []
        self.ratings: dict[str, dict[str, Any]] = {}

    def copy(self) -> MemoryPool:
        """Return a pool that can be changed without changing this one."""
        found = MemoryPool(self.name, self.request)
        found.log, found.seq = dict(self.log), dict(self.seq)
        found.corrected, found.void = dict(self.corrected), set(self.void)
        found.banned, found.last_seq = dict(self.banned), self.last_seq
        return found

    def add(self, match: MatchRequest) -> None:
        """Put a match into the log without rating it."""
        name = str(match.match)
        if name in self.log and self.log[name] != match:
            raise ConflictError(f"match {name} is recorded with other content")
        self.last_seq += 1
        self.log[name], self.seq[name] = match, self.last_seq

    def history(self) -> eq.History | None:
        """Return what counts, as the library takes it."""
        columns: dict[str, list[Any]] = {
            name: [] for name in ("match", "time", "player", "team", "rank", "performance")
        }
        for name, match in self.log.items():
            if name in self.void or not match.rated:
                continue
            for number, team in enumerate(match.teams):
                for one in team.players:
                    player = str(getattr(one, "player", one))
                    if match.time >= self.banned.get(player, math.inf):
                        continue
                    columns["match"].append(name)
                    columns["time"].append(match.time)
                    columns["player"].append(player)
                    columns["team"].append(str(number))
                    columns["rank"].append(team.rank)
                    columns["performance"].append(getattr(one, "performance", None))
        if not columns["match"]:
            return None
        if all(one is None for one in columns["performance"]):
            del columns["performance"]
        return eq.read_history(columns)

    def rate(self) -> None:
        """Rate the whole log."""
        history = self.history()
        self.rows, self.ratings = [], {}
        if history is None:
            return
        found = eq.replay(self.system, history, trace=True)
        assert found.trace is not None
        self.rows = found.trace.to_polars().to_dicts()
        last = found.ratings
        for row, player in enumerate(last.player_ids.tolist()):
            self.ratings[str(player)] = {
                "rating": float(last.rating[row]),
                "deviation": known(float(last.deviation[row])),
                "matches": int(last.matches[row]),
                "last_time": round(float(last.last_time[row]) * 86_400),
                "extra": {
                    name: known(float(column[row]))
                    for name, column in last.extra.items()
                    if column.dtype.kind == "f"
                },
            }

    def message(self) -> PoolMessage:
        """Return the pool as the service tells of it."""
        one = self.request
        times = [match.time for match in self.log.values()]
        return PoolMessage(
            pool=self.name,
            system=one.system,
            parameters=parameters_of(self.system),
            statistics=one.statistics,
            times=one.times,
            late=one.late,
            public=one.public,
            display_deviations=one.display_deviations,
            placement_matches=one.placement_matches,
            inactive_days=one.inactive_days,
            created=iso(1_790_000_000),
            players=len(self.ratings),
            matches=len(self.log),
            last_seq=self.last_seq,
            last_time=max(times, default=None),
            generation=self.generation,
            pending=False,
            code="0.1.0",
        )

    def match_message(self, name: str) -> MatchMessage:
        """Return a match as the service tells of it."""
        if name not in self.log:
            raise NotFoundError(f"no match {name} in pool {self.name}")
        match = self.log[name]
        changes = {row["player"]: row for row in self.rows if str(row["match"]) == name}
        teams = sorted(
            zip(match.teams, players_of(match), strict=True), key=lambda one: one[0].rank
        )
        lowest = min(team.rank for team in match.teams)
        return MatchMessage(
            match=name,
            seq=self.seq[name],
            time=match.time,
            received=iso(match.time + 5),
            status="void" if name in self.void else "rated" if match.rated else "unrated",
            corrected=self.corrected.get(name),
            weight=match.weight,
            teams=[
                TeamMessage(
                    rank=team.rank - lowest + 1,
                    team=None if team.team is None else str(team.team),
                    players=[self._change(player, changes.get(player)) for player in players],
                )
                for team, players in teams
            ],
        )

    def _change(self, player: str, row: dict[str, Any] | None) -> ChangeMessage:
        if row is None or row["rating"] is None:
            return ChangeMessage(player, False, *[None] * 7)
        return ChangeMessage(
            player=player,
            counted=True,
            rating_before=row["rating_before"],
            deviation_before=row["deviation_before"],
            rating=row["rating"],
            deviation=row["deviation"],
            change=row["rating"] - row["rating_before"],
            expected=row["expected"],
            performance=row.get("performance"),
        )

    def explain(self, player: str, match: str | None) -> ExplainMessage:
        """Return why a match changed a rating."""
        history = self.history()
        if history is None:
            raise NotFoundError(f"no player {player}")
        found = eq.explain(self.system, history, player, match)
        return explain_message(found, "seconds")

    def banned_from(self, player: str) -> int | None:
        """Return since when a player is not rated."""
        since = self.banned.get(player)
        return None if since is None else round(since)


def difference(before: MemoryPool, after: MemoryPool) -> DifferenceMessage:
    """Return whose rating differs, largest change first."""
    found = []
    for player in before.ratings.keys() | after.ratings.keys():
        old, new = before.ratings.get(player), after.ratings.get(player)
        if old is not None and new is not None and old["rating"] == new["rating"]:
            continue
        change = new["rating"] - old["rating"] if old and new else None
        found.append(
            PlayerDifference(
                player,
                old and old["rating"],
                old and old["deviation"],
                new and new["rating"],
                new and new["deviation"],
                change,
            )
        )
    found.sort(key=lambda one: (-abs(one.change or math.inf), one.player))
    return DifferenceMessage(len(after.log), len(found), found[:1000])


DAY = MICROSECONDS_PER_DAY / 1e6
