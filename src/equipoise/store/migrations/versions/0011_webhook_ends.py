"""An end of retries: since when a webhook fails, and why the service disabled it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns. A webhook that fails already counts from its next failure."""
    op.add_column("webhooks", sa.Column("reason", sa.Text(), nullable=True))
    op.add_column("webhooks", sa.Column("failing_since", sa.BigInteger(), nullable=True))
