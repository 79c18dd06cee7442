"""Players have profiles."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None
oldest = "0012"

_NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the table, and the number of the last record that it follows from."""
    op.create_table(
        "profiles",
        sa.Column("pool", sa.Integer(), nullable=False),
        sa.Column("player", _NAME, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("link", sa.Text()),
        sa.Column("attributes", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("pool", "player", name=op.f("pk_profiles")),
    )
    profiled = sa.Column("profiled", sa.BigInteger(), nullable=False, server_default="0")
    op.add_column("pools", profiled)
