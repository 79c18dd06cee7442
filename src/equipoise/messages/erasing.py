"""Messages of the erasure of a player's name."""

from __future__ import annotations

import msgspec


class ErasedPool(msgspec.Struct, frozen=True):
    """What the erasure of a player's name rewrote in one pool.

    seq : number of its log record; null in a preview
    matches, amendments : log records with the name: matches and corrections, and other amendments
    ratings, changes : rows of the tables, with those of replays that are not cleared away yet
    checkpoints, differences : of replays
    seed : whether the ratings with which the season began have the name
    """

    pool: str
    seq: int | None
    matches: int
    amendments: int
    ratings: int
    changes: int
    checkpoints: int
    differences: int
    seed: bool


class ErasureMessage(msgspec.Struct, frozen=True):
    """What the erasure of a player's name rewrote.

    player : the pseudonym in place of the name; null in a preview
    audit : rows of the audit log
    remaining : texts that have the name and stay: ids of matches, roles, sides
    """

    player: str | None
    pools: list[ErasedPool]
    audit: int
    remaining: int
