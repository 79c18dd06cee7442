"""Messages of the upkeep of a database: backups, restores, checks, erasure of names."""

from __future__ import annotations

import msgspec


class BackupMessage(msgspec.Struct, frozen=True):
    """A backup that was made.

    file : its path; bytes : its size
    removed : older backups that were deleted
    """

    file: str
    bytes: int
    removed: list[str]
    seconds: float


class RestoreMessage(msgspec.Struct, frozen=True):
    """A backup that was restored.

    database : its address, without a password
    schema : the version of its schema before the upgrade to the current one
    verified : whether the stored ratings of all pools were compared with their logs
    """

    database: str
    schema: str
    pools: int
    matches: int
    verified: bool
    seconds: float


class CheckMessage(msgspec.Struct, frozen=True):
    """One check of a database.

    status : "ok"; "failed"; "skipped" if it is not possible
    detail : what was found
    """

    check: str
    status: str
    detail: str


class CheckList(msgspec.Struct, frozen=True):
    """All checks of a database; ok : whether none of them failed."""

    ok: bool
    checks: list[CheckMessage]


class FindingMessage(msgspec.Struct, frozen=True):
    """One thing that `equipoise doctor` looked at.

    topic : the heading under which it stands
    status : "ok"; "absent": not there, and not needed; "warning": it works, but not as well as it
        could; "failed": needed and not in order
    detail : what was found
    remedy : a command that puts it in order; "" where there is none or nothing to do
    """

    topic: str
    name: str
    status: str
    detail: str
    remedy: str


class DoctorMessage(msgspec.Struct, frozen=True):
    """Everything that `equipoise doctor` looked at; ok : whether nothing that is needed failed."""

    ok: bool
    findings: list[FindingMessage]


class ErasedPool(msgspec.Struct, frozen=True):
    """What the erasure of a player's name rewrote in one pool.

    seq : number of its log record; null in a preview
    matches, amendments : log records with the name: matches and corrections, and other amendments
    ratings, changes : rows of the tables, including those of replays that are not deleted yet
    checkpoints, differences : of replays
    seed : whether the initial ratings of the season contain the name
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
    remaining : number of texts with the name that stay: ids of matches, roles, sides
    """

    player: str | None
    pools: list[ErasedPool]
    audit: int
    remaining: int
