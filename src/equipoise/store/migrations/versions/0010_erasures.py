"""The number of the last erasure in the log of a pool."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column: no pool has an erasure yet."""
    column = sa.Column("erased", sa.BigInteger(), nullable=False, server_default="0")
    op.add_column("pools", column)
