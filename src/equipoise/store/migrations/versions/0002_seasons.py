"""Seasons and their seeds, webhooks and their outbox, the audit log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add what pools know of seasons and webhooks, and the new tables."""
    for column in (
        sa.Column("closed", sa.BigInteger(), nullable=True),
        sa.Column("archive_of", NAME, nullable=True),
        sa.Column("season", sa.Text(), nullable=True),
        sa.Column("follows", sa.Integer(), nullable=True),
        sa.Column("board_day", sa.BigInteger(), nullable=True),
        sa.Column("webhooks", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("outbox_last", sa.BigInteger(), nullable=False, server_default="0"),
    ):
        op.add_column("pools", column)
    op.create_table(
        "seeds",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("archive", sa.Integer(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("centre", sa.Double(), nullable=True),
        sa.Column("players", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("pool", name=op.f("pk_seeds")),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("disabled", sa.BigInteger(), nullable=True),
        sa.Column("delivered", sa.BigInteger(), nullable=False),
        sa.Column("last_delivery", sa.BigInteger(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("next_attempt", sa.BigInteger(), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index("ix_webhooks_pool", "webhooks", ["pool"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("source", sa.Integer(), nullable=False),
        sa.Column("reference", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pool", "id", name=op.f("pk_outbox")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Integer(), nullable=True),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("pool", NAME, nullable=True),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_pool", "audit", ["pool", "id"], unique=False)
