"""The first schema: pools, their logs, ratings, changes, checkpoints, replays, and keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables of an empty database."""
    op.create_table(
        "changes",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("player", NAME, nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("teams", sa.Integer(), nullable=False),
        sa.Column("rating_before", sa.Double(), nullable=False),
        sa.Column("deviation_before", sa.Double(), nullable=True),
        sa.Column("rating", sa.Double(), nullable=False),
        sa.Column("deviation", sa.Double(), nullable=True),
        sa.Column("expected", sa.Double(), nullable=True),
        sa.Column("performance", sa.Double(), nullable=True),
        sa.Column("extra", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "pool", "player", "time", "seq", "generation", name=op.f("pk_changes")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "checkpoints",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("participations", sa.BigInteger(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("pool", "time", "seq", name=op.f("pk_checkpoints")),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("pool", NAME, nullable=True),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        sa.Column("revoked", sa.BigInteger(), nullable=True),
        sa.Column("last_used", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
    )
    op.create_table(
        "log",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("match", NAME, nullable=True),
        sa.Column("player", NAME, nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("posted_time", sa.BigInteger(), nullable=True),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("needs_replay", sa.Boolean(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("pool", "seq", name=op.f("pk_log")),
    )
    op.create_index(
        "ix_log_amendments",
        "log",
        ["pool", "seq"],
        unique=False,
        sqlite_where=sa.text("kind <> 'match'"),
        postgresql_where=sa.text("kind <> 'match'"),
    )
    for about in ("match", "player"):
        op.create_index(
            f"ix_log_of_{about}",
            "log",
            ["pool", about, "seq"],
            unique=False,
            sqlite_where=sa.text("kind <> 'match'"),
            postgresql_where=sa.text("kind <> 'match'"),
        )
    op.create_index(
        "ix_log_match",
        "log",
        ["pool", "match"],
        unique=True,
        sqlite_where=sa.text("kind = 'match'"),
        postgresql_where=sa.text("kind = 'match'"),
    )
    op.create_index(
        "ix_log_position",
        "log",
        ["pool", "time", "seq"],
        unique=False,
        sqlite_where=sa.text("kind = 'match'"),
        postgresql_where=sa.text("kind = 'match'"),
    )
    op.create_index(
        "ix_log_waiting",
        "log",
        ["pool", "seq"],
        unique=False,
        sqlite_where=sa.text("needs_replay"),
        postgresql_where=sa.text("needs_replay"),
    )
    op.create_table(
        "pools",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("matches", sa.BigInteger(), nullable=False),
        sa.Column("amendments", sa.BigInteger(), nullable=False),
        sa.Column("players", sa.BigInteger(), nullable=False),
        sa.Column("last_time", sa.BigInteger(), nullable=True),
        sa.Column("shared", sa.Text(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("from_time", sa.BigInteger(), nullable=False),
        sa.Column("from_seq", sa.BigInteger(), nullable=False),
        sa.Column("dirty_time", sa.BigInteger(), nullable=True),
        sa.Column("dirty_seq", sa.BigInteger(), nullable=True),
        sa.Column("replay_generation", sa.BigInteger(), nullable=True),
        sa.Column("replay_owner", sa.Text(), nullable=True),
        sa.Column("replay_until", sa.BigInteger(), nullable=True),
        sa.Column("garbage", sa.Boolean(), nullable=False),
        sa.Column("checkpoint_interval", sa.BigInteger(), nullable=False),
        sa.Column("checkpoint_due", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pools")),
        sa.UniqueConstraint("name", name=op.f("uq_pools_name")),
    )
    op.create_table(
        "ratings",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("player", NAME, nullable=False),
        sa.Column("ordering", sa.Double(), nullable=False),
        sa.Column("rating", sa.Double(), nullable=False),
        sa.Column("deviation", sa.Double(), nullable=True),
        sa.Column("matches", sa.BigInteger(), nullable=False),
        sa.Column("last_time", sa.BigInteger(), nullable=True),
        sa.Column("provisional", sa.Boolean(), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("pool", "generation", "player", name=op.f("pk_ratings")),
    )
    op.create_index(
        "ix_ratings_leaderboard",
        "ratings",
        [
            "pool",
            "generation",
            "provisional",
            "ordering",
            "player",
            "rating",
            "deviation",
            "matches",
            "last_time",
        ],
        unique=False,
    )
    op.create_table(
        "replays",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("through_seq", sa.BigInteger(), nullable=False),
        sa.Column("from_time", sa.BigInteger(), nullable=False),
        sa.Column("from_seq", sa.BigInteger(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("finished", sa.BigInteger(), nullable=False),
        sa.Column("difference", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("pool", "generation", name=op.f("pk_replays")),
    )
