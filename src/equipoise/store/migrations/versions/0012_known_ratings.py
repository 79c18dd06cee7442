"""The log record of the known ratings with which players of a pool began, and their number."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns: no pool began with known ratings before."""
    for name in ("initial", "known_ratings"):
        column = sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
        op.add_column("pools", column)
