"""Who may be rated when: disqualifications and reinstatements of a pool's log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection

from equipoise.store import log
from equipoise.store.log import Entry
from equipoise.store.pools import PoolRecord, Position


class Turn(NamedTuple):
    """An entry of the log that bars a player or lifts that.

    since : time from which on it holds; None for all matches that are posted after it
    """

    seq: int
    bars: bool
    since: int | None
    received: int


@dataclass(frozen=True, slots=True)
class Eligibility:
    """When each player may be rated.

    turns : player -> entries in the order of the log
    through : entries up to here hold for all matches, later ones only for matches posted after
        them: a match keeps the eligibility with which it was posted until a replay takes later
        entries into account
    """

    turns: dict[str, list[Turn]] = field(default_factory=dict)
    through: int = 0

    @classmethod
    def of(cls, entries: Iterable[Entry], through: int) -> Eligibility:
        """Return what the amendments of a log say."""
        turns: dict[str, list[Turn]] = {}
        for entry in entries:
            if entry.kind in ("disqualify", "reinstate") and entry.player is not None:
                bars = entry.kind == "disqualify"
                turn = Turn(entry.seq, bars, entry.posted_time, entry.received)
                turns.setdefault(entry.player, []).append(turn)
        return cls(turns, through)

    @classmethod
    def of_players(
        cls, connection: Connection, pool: PoolRecord, players: Iterable[str]
    ) -> Eligibility:
        """Return who of some players may be rated in matches posted now."""
        if not pool.amendments:
            return cls()
        return cls.of(log.amendments_about(connection, pool.id, "player", players), pool.last_seq)

    def barred(self, players: Iterable[str], position: Position) -> set[str]:
        """Return those who may not be rated in a match at this position.

        Of the entries that hold for the match the last one of the log counts.
        """
        if not self.turns:
            return set()
        return {
            player
            for player in players
            if player in self.turns and self._state(self.turns[player], position)
        }

    def barred_now(self, player: str) -> Turn | None:
        """Return the entry by which a player is barred from matches to come, or None."""
        turns = self.turns.get(player)
        return turns[-1] if turns and turns[-1].bars else None

    def _state(self, turns: list[Turn], position: Position) -> bool:
        time, seq = position
        state = False
        for turn in turns:
            posted_after = turn.seq < seq
            if turn.since is None:
                holds = posted_after
            else:
                holds = turn.since <= time and (posted_after or turn.seq <= self.through)
            if holds:
                state = turn.bars
        return state
