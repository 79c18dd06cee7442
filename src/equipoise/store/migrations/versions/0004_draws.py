"""The record of the log from which a pool counts draws."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Count draws from the next record in existing pools, and from the first in new ones."""
    column = sa.Column("draws_from", sa.BigInteger(), nullable=False, server_default="1")
    op.add_column("pools", column)
    op.execute("UPDATE pools SET draws_from = last_seq + 1")
