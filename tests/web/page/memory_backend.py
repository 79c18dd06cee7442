"""The service in memory: what the page asks for, answered without a store."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime
from statistics import median, quantiles

from equipoise.data.lobby import Lobby
from equipoise.errors import ConflictError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.amendments import (
    AmendmentMessage,
    AmendmentPage,
    DisqualifyRequest,
    ReasonRequest,
)
from equipoise.messages.balance import BalanceMessage
from equipoise.messages.explain import ExplainMessage
from equipoise.messages.keys import KeyMessage, NewKeyMessage, Role
from equipoise.messages.matches import MatchLine, MatchMessage, MatchPage, MatchRequest
from equipoise.messages.overview import (
    ActivityBin,
    MeanPoint,
    OverviewMessage,
    RatingBin,
    RatingCourse,
)
from equipoise.messages.players import (
    LeaderboardMessage,
    LeaderboardRow,
    PlayerHistory,
    PlayerMatch,
    PlayerMessage,
)
from equipoise.messages.pools import PoolMessage
from equipoise.messages.service_requests import BalancePlayer, BalanceRequest
from equipoise.web.page.backend import KeyHolder
from equipoise.workflows import balance as balancing
from web.page.memory_pool import DAY, MemoryPool, difference, iso, players_of

SECRETS = {
    "admin-secret": KeyHolder(key=1, name="organiser", role="admin", pool=None),
    "writer-secret": KeyHolder(key=2, name="game server", role="writer", pool="arena"),
    "reader-secret": KeyHolder(key=3, name="screen in the hall", role="reader", pool="club"),
}


class MemoryBackend:
    """Pools in memory; amendments count at once."""

    def __init__(self, pools: list[MemoryPool]) -> None:
        self.of = {pool.name: pool for pool in pools}
        self.entries: dict[str, list[AmendmentMessage]] = {pool.name: [] for pool in pools}
        self.holders = dict(SECRETS)
        self.revoked: dict[int, str] = {}

    def key_holder(self, secret: str) -> KeyHolder | None:
        found = self.holders.get(secret)
        return None if found is None or found.key in self.revoked else found

    def _pool(self, pool: str) -> MemoryPool:
        if pool not in self.of:
            raise NotFoundError(f"no pool {pool}")
        return self.of[pool]

    def pools(self) -> list[PoolMessage]:
        return [pool.message() for pool in self.of.values()]

    def pool(self, pool: str) -> PoolMessage:
        return self._pool(pool).message()

    def overview(self, pool: str) -> OverviewMessage:
        found = self._pool(pool)
        values = sorted(one["rating"] for one in found.ratings.values())
        count: Counter[int] = Counter()
        for match in found.log.values():
            start = int(match.time // (7 * DAY))
            count[start] += 1
        drift = []
        weeks: dict[int, list[float]] = {}
        for row in found.rows:
            if row["rating"] is not None:
                at = int(
                    row["time"].timestamp() if hasattr(row["time"], "timestamp") else row["time"]
                )
                weeks.setdefault(int(at // (7 * DAY)), []).append(row["rating"])
        for number, (week, some) in enumerate(sorted(weeks.items())):
            low, _, high = quantiles(some, n=4) if len(some) > 1 else (some[0],) * 3
            drift.append(
                MeanPoint(int(week * 7 * DAY), number, len(some), sum(some) / len(some), low, high)
            )
        return OverviewMessage(
            pool=pool,
            unit="week",
            activity=[
                ActivityBin(int(week * 7 * DAY), count[week])
                for week in range(min(count, default=0), max(count, default=-1) + 1)
            ],
            ratings=_bins(values),
            median=median(values) if values else None,
            mean=sum(values) / len(values) if values else None,
            provisional=sum(
                one["matches"] < found.request.placement_matches for one in found.ratings.values()
            ),
            drift=drift,
            covered=len(found.log),
        )

    def _board(self, pool: str) -> list[LeaderboardRow]:
        found = self._pool(pool)
        k = found.request.display_deviations
        rows = [
            (one["rating"] - k * (one["deviation"] or 0.0), player, one)
            for player, one in found.ratings.items()
        ]
        rows.sort(key=lambda row: (-row[0], row[1]))
        least = found.request.placement_matches
        return [
            LeaderboardRow(
                place,
                player,
                display,
                one["rating"],
                one["deviation"],
                one["matches"],
                one["last_time"],
                one["matches"] < least,
            )
            for place, (display, player, one) in enumerate(rows, start=1)
        ]

    def leaderboard(
        self,
        pool: str,
        *,
        cursor: str | None,
        limit: int,
        provisional: bool,
        inactive: bool,
        around: str | None,
    ) -> LeaderboardMessage:
        found = self._pool(pool)
        rows = [row for row in self._board(pool) if provisional or not row.provisional]
        days = found.request.inactive_days
        if days is not None and not inactive:
            last = max((row.last_time for row in rows), default=0)
            rows = [row for row in rows if row.last_time >= last - days * DAY]
        start = int(cursor or 0)
        if around is not None:
            at = next((at for at, row in enumerate(rows) if row.player == around), None)
            if at is None:
                raise NotFoundError(f"{around} is not on the leaderboard")
            start = max(0, at - limit // 2)
        stop = start + limit
        return LeaderboardMessage(
            pool,
            found.generation,
            len(found.ratings),
            rows[start:stop],
            str(max(0, start - limit)) if start else None,
            str(stop) if stop < len(rows) else None,
        )

    def search_players(self, pool: str, text: str, limit: int) -> list[LeaderboardRow]:
        low = text.casefold()
        return [row for row in self._board(pool) if low in row.player.casefold()][:limit]

    def player(self, pool: str, player: str) -> PlayerMessage:
        found = self._pool(pool)
        row = next((row for row in self._board(pool) if row.player == player), None)
        if row is None:
            raise NotFoundError(f"no player {player} in pool {pool}")
        return PlayerMessage(
            pool=pool,
            player=player,
            place=None if row.provisional else row.place,
            display=row.display,
            rating=row.rating,
            deviation=row.deviation,
            matches=row.matches,
            last_time=row.last_time,
            at=None,
            provisional=row.provisional,
            disqualified=found.banned_from(player),
            extra=found.ratings[player]["extra"],
        )

    def _rows(self, pool: str, player: str) -> list[PlayerMatch]:
        found = self._pool(pool)
        rows = []
        for row in found.rows:
            if row["player"] != player or row["rating"] is None:
                continue
            match = found.log[str(row["match"])]
            rows.append(
                PlayerMatch(
                    match=str(row["match"]),
                    seq=found.seq[str(row["match"])],
                    time=match.time,
                    rank=row["rank"] + 1,
                    teams=len(match.teams),
                    rating_before=row["rating_before"],
                    deviation_before=row["deviation_before"],
                    rating=row["rating"],
                    deviation=row["deviation"],
                    change=row["rating"] - row["rating_before"],
                    expected=row["expected"],
                    performance=row.get("performance"),
                    extra={},
                )
            )
        return rows

    def history(self, pool: str, player: str, *, cursor: str | None, limit: int) -> PlayerHistory:
        rows = self._rows(pool, player)[::-1]
        start = int(cursor or 0)
        more = str(start + limit) if start + limit < len(rows) else None
        return PlayerHistory(pool, player, rows[start : start + limit], more)

    def course(self, pool: str, player: str, most: int) -> RatingCourse:
        every = self._rows(pool, player)
        rows = every[-most:]
        return RatingCourse(
            player=player,
            matches=[row.match for row in rows],
            times=[float(row.time) for row in rows],
            ratings=[row.rating for row in rows],
            deviations=[row.deviation for row in rows],
            changes=[row.change for row in rows],
            ranks=[row.rank for row in rows],
            teams=[row.teams for row in rows],
            performances=[row.performance for row in rows],
            left_out=len(every) - len(rows),
        )

    def explain(self, pool: str, player: str, match: str | None) -> ExplainMessage:
        return self._pool(pool).explain(player, match)

    def match(self, pool: str, match: str) -> MatchMessage:
        return self._pool(pool).match_message(match)

    def posted_match(self, pool: str, match: str) -> MatchRequest:
        self.match(pool, match)
        return self._pool(pool).log[match]

    def matches(self, pool: str, *, cursor: str | None, limit: int) -> MatchPage:
        found = self._pool(pool)
        names = sorted(found.log, key=lambda name: -found.seq[name])
        start = int(cursor or 0)
        lines = [
            MatchLine(
                name,
                found.seq[name],
                found.log[name].time,
                iso(found.log[name].time),
                "void" if name in found.void else "rated",
                sum(map(len, players_of(found.log[name]))),
                len(found.log[name].teams),
            )
            for name in names[start : start + limit]
        ]
        return MatchPage(lines, str(start + limit) if start + limit < len(names) else None)

    def ratings(self, pool: str, players: list[str]) -> dict[str, tuple[float, float | None]]:
        known = self._pool(pool).ratings
        return {
            one: (known[one]["rating"], known[one]["deviation"]) for one in players if one in known
        }

    def balance(self, pool: str, request: BalanceRequest) -> BalanceMessage:
        import numpy as np

        known = self.ratings(pool, [str(getattr(one, "player", one)) for one in request.players])
        some = [
            one if isinstance(one, BalancePlayer) else BalancePlayer(one) for one in request.players
        ]
        unknown = [str(one.player) for one in some if str(one.player) not in known]
        if unknown:
            raise InvalidDataError(
                [
                    Problem("", None, "players", "must be players of the pool", one)
                    for one in unknown
                ]
            )
        ids = [str(one.player) for one in some]
        row = {one: at for at, one in enumerate(ids)}
        lobby = Lobby(
            player_ids=np.array(ids, dtype=object),
            rating=np.array([known[one][0] for one in ids]),
            deviation=np.array([known[one][1] or 0.0 for one in ids]),
            party=np.array([None if one.party is None else str(one.party) for one in some], object),
            team=np.array([None if one.team is None else str(one.team) for one in some], object),
            avoid=tuple((str(one.player), str(other)) for one in some for other in one.avoid),
        )
        teams = request.teams or 2
        if request.size:
            teams = math.ceil(len(ids) / request.size)
        found = balancing.balance(
            lobby, teams, objective=request.objective, alternatives=request.alternatives
        )
        rows = [[row[str(one)] for one in team] for team in found.teams]
        chances = balancing.win_probability(lobby.rating, lobby.deviation, rows)
        answer = balancing.BalanceAnswer(lobby=lobby, balance=found, win_probability=chances)
        return balancing.message_of(answer)

    def preview_match(self, pool: str, match: MatchRequest) -> MatchMessage:
        after = self._pool(pool).copy()
        after.add(match)
        after.rate()
        return after.match_message(str(match.match))

    def post_match(self, pool: str, match: MatchRequest, *, key: int | None) -> MatchMessage:
        found = self._pool(pool)
        found.add(match)
        found.rate()
        return found.match_message(str(match.match))

    def void_match(
        self, pool: str, match: str, request: ReasonRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        if match in self._pool(pool).void:
            raise ConflictError(f"match {match} is void already")
        self.match(pool, match)
        return self._amend(pool, "void", preview, request.reason, match=match)

    def restore_match(
        self, pool: str, match: str, request: ReasonRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        if match not in self._pool(pool).void:
            raise ConflictError(f"match {match} is not void")
        return self._amend(pool, "restore", preview, request.reason, match=match)

    def correct_match(
        self, pool: str, match: str, request: MatchRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        self.match(pool, match)
        return self._amend(pool, "correct", preview, "", match=match, request=request)

    def disqualify(
        self, pool: str, player: str, request: DisqualifyRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        since = float(request.since if isinstance(request.since, int) else 0)
        return self._amend(pool, "disqualify", preview, request.reason, player=player, since=since)

    def reinstate(
        self, pool: str, player: str, request: DisqualifyRequest, *, key: int | None, preview: bool
    ) -> AmendmentMessage:
        return self._amend(pool, "reinstate", preview, request.reason, player=player)

    def _amend(
        self,
        pool: str,
        kind: str,
        preview: bool,
        reason: str,
        *,
        match: str | None = None,
        player: str | None = None,
        since: float | None = None,
        request: MatchRequest | None = None,
    ) -> AmendmentMessage:
        before = self._pool(pool)
        after = before.copy()
        if kind == "void":
            after.void.add(match)
        elif kind == "restore":
            after.void.remove(match)
        elif kind == "correct":
            after.log[match] = request
            after.corrected[match] = after.last_seq + 1
        elif kind == "disqualify":
            after.banned[player] = since
        else:
            after.banned.pop(player, None)
        after.rate()
        after.last_seq += 1
        after.generation = before.generation + 1
        found = AmendmentMessage(
            seq=None if preview else after.last_seq,
            kind="preview" if preview else kind,
            match=match,
            player=player,
            since=None if since is None else round(since),
            reason=reason,
            received=datetime.now(UTC).isoformat(),
            status="done",
            difference=difference(before, after),
        )
        if not preview:
            self.of[pool] = after
            self.entries[pool].insert(0, found)
        return found

    def amendment(self, pool: str, seq: int) -> AmendmentMessage:
        self._pool(pool)
        for one in self.entries[pool]:
            if one.seq == seq:
                return one
        raise NotFoundError(f"no amendment {seq} in pool {pool}")

    def amendments(self, pool: str, *, cursor: str | None, limit: int) -> AmendmentPage:
        self._pool(pool)
        return AmendmentPage(self.entries[pool][:limit], None)

    def keys(self) -> list[KeyMessage]:
        return [
            KeyMessage(
                one.key,
                one.name,
                one.role,
                one.pool,
                iso(1_790_000_000 + one.key),
                None,
                self.revoked.get(one.key),
                None,
            )
            for one in reversed(self.holders.values())
        ]

    def create_key(
        self, name: str, role: Role, pool: str | None, expires: str | None
    ) -> NewKeyMessage:
        number = len(self.holders) + 1
        secret = f"secret-{number}"
        self.holders[secret] = KeyHolder(key=number, name=name, role=role, pool=pool)
        return NewKeyMessage(self.keys()[0], secret)

    def revoke_key(self, key: int) -> KeyMessage:
        for one in self.keys():
            if one.key == key:
                self.revoked[key] = iso(1_795_000_000)
                return one
        raise NotFoundError(f"no key {key}")


def _bins(values: list[float]) -> list[RatingBin]:
    if not values:
        return []
    low, width = values[0] // 50 * 50, 50.0
    count = int((values[-1] - low) // width) + 1
    found = Counter(int((value - low) // width) for value in values)
    return [RatingBin(low + width * at, low + width * (at + 1), found[at]) for at in range(count)]
