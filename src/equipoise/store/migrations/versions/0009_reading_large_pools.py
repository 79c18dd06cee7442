"""Partial checkpoints: from where they are, and how far older matches are from having them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

#: The position before all matches.
START = -(2**62)


def upgrade() -> None:
    """Add table and columns. The service makes partial checkpoints of older matches afterwards."""
    op.create_table(
        "partial_checkpoints",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("first", NAME, nullable=False),
        sa.Column("from_time", sa.BigInteger(), nullable=False),
        sa.Column("from_seq", sa.BigInteger(), nullable=False),
        sa.Column("shared", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "pool", "time", "seq", "generation", "first", name="pk_partial_checkpoints"
        ),
    )
    whole = sa.BigInteger()
    for name, default in (("due", 0), ("time", START), ("seq", 0)):
        column = sa.Column(f"partial_{name}", whole, nullable=False, server_default=str(default))
        op.add_column("pools", column)
    for name in ("time", "seq"):
        op.add_column("pools", sa.Column(f"unfilled_{name}", whole, nullable=True))
    op.execute(
        "UPDATE pools SET partial_time = coalesce(last_time, 0), partial_seq = last_seq, "
        "unfilled_time = coalesce(last_time, 0), unfilled_seq = last_seq WHERE matches > 0"
    )
