"""Disqualified players on the leaderboard, changed settings, deleted pools."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

NAME = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns, put them into the index of the leaderboard, and mark who is disqualified."""
    op.add_column("pools", sa.Column("deleted", sa.BigInteger(), nullable=True))
    op.add_column("pools", sa.Column("board_from", NAME, nullable=True))
    op.add_column(
        "ratings",
        sa.Column("disqualified", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.execute(_MARK)
    op.drop_index("ix_ratings_leaderboard", "ratings")
    board = ["pool", "generation", "disqualified", "provisional", "ordering", "player"]
    op.create_index("ix_ratings_leaderboard", "ratings", board, unique=False)


#: Of what was said of a player the last entry counts, in every generation.
_MARK = sa.text(
    "UPDATE ratings SET disqualified = true WHERE (pool, player) IN ("
    "SELECT barring.pool, barring.player FROM log AS barring "
    "WHERE barring.kind = 'disqualify' AND NOT EXISTS ("
    "SELECT 1 FROM log AS later WHERE later.pool = barring.pool "
    "AND later.player = barring.player AND later.seq > barring.seq AND later.kind <> 'match'))"
)
