"""Sessions of browsers, two secrets of a key, and requests for secrets that may be repeated."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add two columns and two tables."""
    op.add_column("keys", sa.Column("previous_hash", sa.LargeBinary(), nullable=True))
    op.add_column("keys", sa.Column("previous_until", sa.BigInteger(), nullable=True))
    op.create_table(
        "key_requests",
        sa.Column("token", sa.LargeBinary(), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("token", name="pk_key_requests"),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_sessions"),
    )
    op.create_index("ix_sessions_key", "sessions", ["key"], unique=False)
