"""The last time of a pool is that of the latest match that counts.

Before, a match that was voided or corrected since still gave it. See decision 21.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

#: Matches read at once.
_READ = 500


def upgrade() -> None:
    """Compute the last time of every pool, and delete checkpoints that lie after it.

    Only the end of each log is read, up to the latest match that counts, and all amendments.
    """
    op.add_column("pools", sa.Column("rated_to", sa.BigInteger(), nullable=True))
    connection = op.get_bind()
    pools = connection.execute(
        sa.text(
            "SELECT id, last_time, dirty_time, board_day FROM pools WHERE last_time IS NOT NULL"
        )
    ).all()
    for pool, before, dirty, day in pools:
        last = _last_counting(connection, pool)
        # A replay that is still to come may start from ratings that contain later matches.
        known = [time for time in (last, before if dirty is not None else None) if time is not None]
        values: dict[str, Any] = {"last": last, "rated": max(known, default=None), "pool": pool}
        connection.execute(_SET, values)
        if last is None or last < before:
            connection.execute(_FORGET, {"last": _EARLIEST if last is None else last, "pool": pool})
            decayed = _EARLIEST if last is None else last - last % _DAY
            if day is not None and decayed < day:
                connection.execute(_REORDER, {"day": decayed, "pool": pool})


#: The position before all matches, and a day in microseconds.
_EARLIEST, _DAY = -(2**62), 86_400_000_000

_SET = sa.text("UPDATE pools SET last_time = :last, rated_to = :rated WHERE id = :pool")
# A checkpoint after the last match that counts has the place of one that does not.
_FORGET = sa.text("DELETE FROM checkpoints WHERE pool = :pool AND time > :last")
_REORDER = sa.text("UPDATE pools SET board_day = :day, board_from = '' WHERE id = :pool")
_AMENDMENTS = sa.text(
    "SELECT seq, kind, match, player, content, posted_time, time FROM log "
    "WHERE pool = :pool AND kind <> 'match' ORDER BY seq"
)
_MATCHES = sa.text(
    "SELECT time, seq, match, content FROM log WHERE pool = :pool AND kind = 'match' "
    "AND (time, seq) < (:time, :seq) ORDER BY time DESC, seq DESC LIMIT :limit"
)
_ONE = sa.text("SELECT seq FROM log WHERE pool = :pool AND kind = 'match' AND match = :match")


def _last_counting(connection: sa.Connection, pool: int) -> int | None:
    """Return the time of the latest match that counts after all amendments; None for none."""
    void: set[str] = set()
    corrected: dict[str, tuple[int, str]] = {}
    # player -> (number, whether it disqualifies, since), and (match, player) -> the same at last.
    players: dict[str, list[tuple[int, bool, int | None]]] = {}
    alone: dict[tuple[str, str], bool] = {}
    for seq, kind, match, player, content, since, time in connection.execute(
        _AMENDMENTS, {"pool": pool}
    ):
        if kind == "void":
            void.add(match)
        elif kind == "restore":
            void.discard(match)
        elif kind == "correct":
            corrected[match] = (time, content)
        elif kind in ("disqualify", "reinstate"):
            bars = kind == "disqualify"
            if match is None:
                players.setdefault(player, []).append((seq, bars, since))
            else:
                alone[match, player] = bars

    def counts(match: str, time: int, seq: int, content: str) -> bool:
        posted = json.loads(content)
        if match in void or not posted.get("rated", True):
            return False
        for player in _players(posted):
            barred = False
            for number, bars, since in players.get(player, ()):
                if number < seq if since is None else since <= time:
                    barred = bars
            if not barred and not alone.get((match, player), False):
                return True
        return False

    found: int | None = None
    for time, seq, match, content in _from_the_end(connection, pool):
        now, present = corrected.get(match, (time, content))
        if now == time and counts(match, now, seq, present):
            found = time
            break
    for match, (time, content) in corrected.items():
        if found is None or time > found:
            seq = connection.execute(_ONE, {"pool": pool, "match": match}).scalar_one()
            if counts(match, time, seq, content):
                found = time
    return found


def _from_the_end(connection: sa.Connection, pool: int) -> Iterator[tuple[int, int, str, str]]:
    """Give (time, seq, match, content) of the matches of a pool, the latest first."""
    time, seq = 2**62, 2**62
    while True:
        values = {"pool": pool, "time": time, "seq": seq, "limit": _READ}
        rows = connection.execute(_MATCHES, values).all()
        for row in rows:
            yield row[0], row[1], row[2], row[3]
        if len(rows) < _READ:
            return
        time, seq = rows[-1][0], rows[-1][1]


def _players(posted: dict[str, Any]) -> Iterator[str]:
    """Give the ids of the players of a match."""
    for team in posted["teams"]:
        for one in team["players"]:
            yield str(one["player"] if isinstance(one, dict) else one)
