"""Who may be rated when: disqualifications and reinstatements of a pool's log.

Each holds from a time on, or for a single match. The two kinds do not affect each other: a player
is not rated in a match if the last entry from a time on that covers it says so, or the last entry
about that match alone does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection

from equipoise.store import log
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, Position


class Turn(NamedTuple):
    """A log record that bars a player or lifts that.

    since : time from which on it holds; None for all matches that are posted after it
    """

    seq: int
    bars: bool
    since: int | None
    received: int


@dataclass(frozen=True, slots=True)
class Eligibility:
    """When each player may be rated.

    turns : player -> entries about a time on, in the order of the log
    matches : match -> player -> whether the last entry about that match alone bars the player
    through : entries up to here hold for all matches, later ones only for matches posted after
        them: a match keeps the eligibility with which it was posted until a replay takes later
        entries into account
    """

    turns: dict[str, list[Turn]] = field(default_factory=dict)
    through: int = 0
    matches: dict[str, dict[str, bool]] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[LogRecord], through: int) -> Eligibility:
        """Return what the amendments of a log say."""
        turns: dict[str, list[Turn]] = {}
        matches: dict[str, dict[str, bool]] = {}
        for entry in entries:
            if entry.kind not in ("disqualify", "reinstate") or entry.player is None:
                continue
            bars = entry.kind == "disqualify"
            if entry.match is None:
                turn = Turn(entry.seq, bars, entry.posted_time, entry.received)
                turns.setdefault(entry.player, []).append(turn)
            elif entry.seq <= through:
                matches.setdefault(entry.match, {})[entry.player] = bars
        return cls(turns, through, matches)

    @classmethod
    def of_players(
        cls, connection: Connection, pool: PoolRecord, players: Iterable[str]
    ) -> Eligibility:
        """Return who of some players may be rated in matches posted now."""
        if not pool.amendments:
            return cls()
        return cls.of(log.amendments_about(connection, pool.id, "player", players), pool.last_seq)

    def __bool__(self) -> bool:
        """Return whether it says anything of anybody."""
        return bool(self.turns or self.matches)

    def barred(self, players: Iterable[str], match: str, position: Position) -> set[str]:
        """Return those who may not be rated in a match at this position.

        Of the entries that hold for the match the last one of the log counts.
        """
        alone = self.matches.get(match, {})
        return {
            player
            for player in players
            if alone.get(player)
            or (player in self.turns and self._state(self.turns[player], position))
        }

    def barred_from(self, player: str, match: str) -> bool:
        """Return whether a player is barred from one match alone."""
        return self.matches.get(match, {}).get(player, False)

    def barred_now(self, player: str) -> Turn | None:
        """Return the entry by which a player is barred from matches to come, or None."""
        turns = self.turns.get(player)
        return turns[-1] if turns and turns[-1].bars else None

    def flags(self, players: Iterable[str]) -> list[bool]:
        """Return whether each of some players is barred from matches to come."""
        return [self.barred_now(player) is not None for player in players]

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
