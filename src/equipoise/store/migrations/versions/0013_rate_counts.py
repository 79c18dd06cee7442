"""Rate limits that all processes share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None
#: Earlier programs count by themselves.
oldest = "0012"


def upgrade() -> None:
    """Add a table, which is empty: nobody has used anything of a limit."""
    op.create_table(
        "rate_counts",
        sa.Column("caller", sa.LargeBinary(), nullable=False),
        sa.Column("full", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("caller", name="pk_rate_counts"),
    )
