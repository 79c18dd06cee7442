"""Small pools of the service for tests: posted, amended and replayed in a line each, or filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

import equipoise as eq
from equipoise.analysis.reading import HistoryRequest
from equipoise.errors import EquipoiseError
from equipoise.messages.matches import (
    AmendmentMessage,
    DisqualifyRequest,
    Effect,
    MatchMessage,
    MatchRequest,
    ReasonRequest,
    ReinstateRequest,
    RenameRequest,
    TeamRequest,
)
from equipoise.messages.pools import PoolRequest
from equipoise.messages.upkeep import ImportMessage
from equipoise.pools import amending
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.histories import pieces_of, requests_of
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Answer, Post, post_matches
from equipoise.pools.posting.running import StateCache
from equipoise.pools.reading.players import leaderboard
from equipoise.pools.replay.replaying import collect_garbage, replay_pool
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store import log
from equipoise.store.bulk import Sizes
from equipoise.store.changes import SHOWN, ChangeRow, change_row, counts
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord, Seal
from equipoise.store.pools import PoolRecord, get_pool

#: When everything was received, microseconds since 1970.
NOW = 1_900_000_000_000_000

REASON = ReasonRequest()


def every_change(connection: Connection, pool: PoolRecord) -> list[ChangeRow]:
    """Return all changes of a pool that readers see, by position and player."""
    rows = connection.execute(select(*SHOWN).where(counts(pool))).all()
    return sorted(map(change_row, rows), key=lambda row: (row.time, row.seq, row.player))


def sealed_log(connection: Connection, pool: int) -> Iterator[tuple[list[LogRecord], list[Seal]]]:
    """Give all records with their seals in the order of receipt, piece by piece."""
    after, last = 0, False
    while not last:
        rows, last = log.rows_after(connection, pool, after)
        if rows:
            sealed = list(map(log.record_and_seal, rows))
            yield [one.record for one in sealed], [one.seal for one in sealed]
            after = rows[-1][0]


def import_file(store: Store, pool: str, path: Path | str, **more: Any) -> ImportMessage:
    """Import a log or a history into a pool, which is created if there is none."""
    request = ImportRequest(history=HistoryRequest(source=str(path)), create=True, **more)
    return import_pool(store, pool, request, NOW)


def duel(match: str, winner: str, loser: str, time: int | str | None, **more: Any) -> MatchRequest:
    """Return a duel as it is posted."""
    teams = [TeamRequest([winner], 0), TeamRequest([loser], 1)]
    return MatchRequest(match=match, teams=teams, time=time, **more)


class Trial:
    """A pool, and what is done to it."""

    def __init__(self, store: Store, name: str = "trial", **settings: Any) -> None:
        self.store, self.name = store, name
        create_pool(
            store, name, PoolRequest(**{"system": "elo", "placement_matches": 0, **settings}), NOW
        )

    @classmethod
    def existing(cls, store: Store, name: str = "trial") -> Trial:
        """Return a pool that exists already."""
        trial = cls.__new__(cls)
        trial.store, trial.name = store, name
        return trial

    def answer(self, *matches: MatchRequest, **more: Any) -> Answer:
        """Post matches together and return the answer."""
        (answer,) = post_matches(self.store, self.name, [Post(matches, **more)], NOW)
        return answer

    def post(self, *matches: MatchRequest) -> list[MatchMessage]:
        """Post matches that must be recorded."""
        answer = self.answer(*matches)
        if isinstance(answer, EquipoiseError):
            raise answer
        assert isinstance(answer, list)
        return answer

    def refused(self, *matches: MatchRequest) -> EquipoiseError:
        """Post matches that must be refused, and return why."""
        answer = self.answer(*matches)
        assert isinstance(answer, EquipoiseError), answer
        return answer

    def void(self, match: str, **more: Any) -> AmendmentMessage:
        """Void a match."""
        return self._amend(amending.void_match, match, REASON, more)

    def restore(self, match: str, **more: Any) -> AmendmentMessage:
        """Restore a match."""
        return self._amend(amending.restore_match, match, REASON, more)

    def correct(self, request: MatchRequest, **more: Any) -> AmendmentMessage:
        """Correct a match."""
        return self._amend(amending.correct_match, str(request.match), request, more)

    def disqualify(
        self,
        player: str,
        since: int | str | None = None,
        match: str | None = None,
        effect: Effect | None = None,
        **more: Any,
    ) -> AmendmentMessage:
        """Disqualify a player."""
        request = DisqualifyRequest(since, match=match, effect=effect)
        return self._amend(amending.disqualify, player, request, more)

    def reinstate(
        self, player: str, since: int | str | None = None, match: str | None = None, **more: Any
    ) -> AmendmentMessage:
        """Reinstate a player."""
        request = ReinstateRequest(since, match=match)
        return self._amend(amending.reinstate, player, request, more)

    def rename(self, player: str, to: str, **more: Any) -> AmendmentMessage:
        """Give a player another id."""
        return self._amend(amending.rename, player, RenameRequest(to), more)

    def _amend(
        self, how: Callable[..., AmendmentMessage], name: str, said: Any, more: Mapping[str, Any]
    ) -> AmendmentMessage:
        return how(self.store, self.name, name, said, **{"key": None, "now": NOW, **more})

    def replay(self, owner: str = "tester", **more: Any) -> bool:
        """Replay the pool, if it wants that."""
        return replay_pool(self.store, self.name, owner=owner, **more) is not None

    def settle(self) -> None:
        """Replay the pool until nothing waits, and clear out."""
        while self.replay():
            pass
        assert collect_garbage(self.store, self.name)

    def check(self) -> None:
        """Replay the pool until nothing waits, and verify it."""
        self.settle()
        assert self.is_sound()

    @property
    def record(self) -> PoolRecord:
        """Return the pool as its row has it."""
        with self.store.read() as connection:
            return get_pool(connection, self.name)

    def ratings(self) -> dict[str, float]:
        """Return what the leaderboard shows of everybody."""
        page = leaderboard(self.store, self.name, provisional=True, limit=1000)
        return {row.player: row.rating for row in page.players}

    def is_sound(self) -> bool:
        """Return whether what is stored is what the log gives, to the bit."""
        found = verify_pool(self.store, self.name)
        assert found.identical, found.differences
        return True


#: Partial checkpoints and checkpoints after a few matches.
SMALL = Sizes(
    matches=5,
    checkpoint_interval=20,
    rows=7,
    players_left=3,
    partial_interval=8,
    partial_bytes=4000,
)


def everything(trial: Trial) -> tuple[Any, ...]:
    """Return all ratings, what the pool has learned, and all changes, but where they are stored."""
    with trial.store.read() as connection:
        record = get_pool(connection, trial.name)
        rows = [
            (one.seq, one.player, one.rating_before, one.rating, one.deviation, one.extra)
            for one in every_change(connection, record)
        ]
    return trial.ratings(), {name: one.tobytes() for name, one in record.shared.items()}, rows


def same_bits(
    store: Store, folder: Path, posted: Sequence[MatchRequest], wrong: MatchRequest, **given: Any
) -> Trial:
    """Hold matches posted at once, one by one, late and corrected, and imported, against a replay.

    wrong : the sixth of them, as it is posted before it is corrected; given : system, parameters
    """
    store = Store(store.engine, SMALL)
    whole, single, amended = (
        Trial(store, name, late="replay", **given) for name in ("whole", "single", "amended")
    )
    whole.post(*posted)
    cache = StateCache()
    for one in posted:
        post_matches(store, "single", [Post([one])], NOW, cache)
    assert everything(single) == everything(whole)
    for at, one in enumerate(posted):
        if at != 3:
            amended.post(wrong if at == 5 else one)
        if at == len(posted) // 2:
            amended.post(MatchRequest(match="void", teams=one.teams, time=one.time))
            amended.void("void")
            amended.correct(posted[5])
        if at == len(posted) - 5:
            amended.settle()
            amended.post(posted[3])
    amended.check()
    assert everything(amended)[:2] == everything(whole)[:2]
    for suffix, settings in (("csv", given), ("ndjson", {})):
        path = folder / f"log.{suffix}"
        export_file(store, "whole", "log", str(path))
        import_file(store, suffix, path, settings=settings)
        other = Trial.existing(store, suffix)
        assert everything(other)[:2] == everything(whole)[:2]
        assert other.is_sound()
    system = eq.make_system(given["system"], given.get("parameters", {}))
    calibrate = given.get("calibrate", False)
    done = eq.replay(system, eq.read_history(str(folder / "log.csv")), calibrate=calibrate)
    played = done.ratings.matches > 0
    ids, ratings = done.ratings.player_ids[played], done.ratings.rating[played]
    rated = dict(zip(ids.tolist(), ratings.tolist(), strict=True))
    assert whole.ratings().items() >= rated.items()
    learned = {name: one.tobytes() for name, one in done.state.state.shared.items()}
    assert learned == everything(whole)[1]
    return whole


def rated_alone(
    store: Store, matches: Sequence[MatchRequest], name: str = "alone", **settings: Any
) -> dict[str, float]:
    """Return the ratings of a new pool to which these matches alone are posted."""
    alone = Trial(store, name, **settings)
    alone.post(*matches)
    return alone.ratings()


def fill(
    store: Store, name: str, history: eq.History, request: PoolRequest, size: int = 50
) -> None:
    """Make a pool and post a history to it, so many matches at a time."""
    create_pool(store, name, request, NOW)
    for start, stop in pieces_of(history, size):
        (answer,) = post_matches(
            store, name, [Post(requests_of(history, start, stop), detailed=False)], NOW
        )
        if isinstance(answer, EquipoiseError):
            raise answer


#: Weights of the statistics of `team_season`.
STATISTICS = {"kills": 1.0, "deaths": -0.5}


def team_season(matches: int = 30) -> dict[str, list[object]]:
    """Return a season of three against three with statistics, a match a day, as columns."""
    rng = np.random.default_rng(8)
    rows: dict[str, list[object]] = {
        name: [] for name in ("match", "time", "player", "team", "rank", "kills", "deaths")
    }
    for match in range(matches):
        places = rng.choice(3, 2, replace=False) if rng.random() < 0.9 else [0, 0]
        for seat, player in enumerate(rng.choice(14, 6, replace=False).tolist()):
            team = seat // 3
            kills, deaths = rng.integers(0, 12, 2).tolist()
            row = (f"m{match}", 1_700_000_000 + 86_400 * match, f"p{player:02}", "ab"[team])
            values = (*row, int(places[team]), kills, deaths)
            for column, value in zip(rows.values(), values, strict=True):
                column.append(value)
    return rows
