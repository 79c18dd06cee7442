"""The oldest schema that is upgraded. New databases begin with the tables of the code instead."""

from __future__ import annotations

revision = "0013"
down_revision = None
branch_labels = None
depends_on = None
oldest = "0012"


def upgrade() -> None:
    """Change nothing: no database is upgraded to this schema."""
