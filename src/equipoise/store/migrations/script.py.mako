"""${message}."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None
#: The oldest schema whose programs may use the database after this step.
oldest = ${repr(up_revision)}


def upgrade() -> None:
    """Take the step."""
    ${upgrades if upgrades else "pass"}
