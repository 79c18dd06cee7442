"""Changes in the order of rating, each with the place of the player's change before it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
#: Rows read and written at a time.
PIECE = 5_000
#: Rank, teams, and the five numbers that are packed in front of the system's own.
HEAD = struct.Struct("<ii5d")


def upgrade() -> None:
    """Write the changes anew; checkpoints, which know no chain, are made again in time."""
    op.rename_table("changes", "changes_by_player")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER INDEX pk_changes RENAME TO pk_changes_by_player")
    new = op.create_table(
        "changes",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("player", NAME, nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("previous_time", sa.BigInteger(), nullable=False),
        sa.Column("previous_seq", sa.BigInteger(), nullable=False),
        sa.Column("rating", sa.Double(), nullable=False),
        sa.Column("numbers", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "pool", "time", "seq", "player", "generation", name=op.f("pk_changes")
        ),
        sqlite_with_rowid=False,
    )
    for name in ("change_time", "change_seq"):
        column = sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
        op.add_column("ratings", column)
    # Narrower: every match moves its players on the board.
    op.drop_index("ix_ratings_leaderboard", "ratings")
    board = ["pool", "generation", "provisional", "ordering", "player"]
    op.create_index("ix_ratings_leaderboard", "ratings", board, unique=False)
    op.drop_table("checkpoints")
    op.create_table(
        "checkpoints",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("participations", sa.BigInteger(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("trail", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("pool", "time", "seq", name=op.f("pk_checkpoints")),
    )
    pools = sa.text("SELECT id, generation, from_time, from_seq FROM pools ORDER BY id")
    for pool in op.get_bind().execute(pools).all():
        _chain(new, *pool)
    op.drop_table("changes_by_player")


def _chain(new: Any, pool: int, generation: int, from_time: int, from_seq: int) -> None:
    """Write a pool's changes that readers see, and where each player's last one stands."""
    connection = op.get_bind()
    last: dict[str, tuple[int, int]] = {}
    written = 0
    rows: list[dict[str, Any]] = []
    for one in _visible(pool, generation, from_time, from_seq):
        previous = last.get(one.player, (0, 0))
        last[one.player] = (one.time, one.seq)
        rows.append(
            {
                "pool": pool,
                "time": one.time,
                "seq": one.seq,
                "player": one.player,
                "generation": one.generation,
                "previous_time": previous[0],
                "previous_seq": previous[1],
                "rating": one.rating,
                "numbers": _packed(one),
            }
        )
        written += 1
        if len(rows) == PIECE:
            connection.execute(sa.insert(new), rows)
            rows = []
    if rows:
        connection.execute(sa.insert(new), rows)
    # As many as no checkpoint has seen.
    due = sa.text("UPDATE pools SET checkpoint_due = :due WHERE id = :pool")
    connection.execute(due, {"due": written, "pool": pool})
    if last:
        connection.execute(
            sa.text(
                "UPDATE ratings SET change_time = :time, change_seq = :seq "
                "WHERE pool = :pool AND generation = :generation AND player = :player"
            ),
            [
                {"pool": pool, "generation": generation, "player": player, "time": at, "seq": seq}
                for player, (at, seq) in last.items()
            ],
        )


def _visible(pool: int, generation: int, from_time: int, from_seq: int) -> Iterator[Any]:
    """Give a pool's changes that readers see, in the order of rating, some thousands at a time."""
    query = sa.text(
        "SELECT * FROM changes_by_player WHERE pool = :pool AND (generation = :generation "
        "OR (generation < :generation AND (time, seq) < (:from_time, :from_seq))) "
        "ORDER BY time, seq, player"
    )
    values = {
        "pool": pool,
        "generation": generation,
        "from_time": from_time,
        "from_seq": from_seq,
    }
    found = op.get_bind().execute(query, values, execution_options={"yield_per": PIECE})
    for rows in found.partitions():
        yield from rows


def _packed(row: Any) -> bytes:
    """Return the numbers of a change as one value; NaN for none."""
    numbers = (row.rating_before, row.deviation_before, row.deviation, row.expected)
    told = [float("nan") if one is None else one for one in (*numbers, row.performance)]
    return HEAD.pack(row.rank, row.teams, *told) + bytes(row.extra)
