"""Hash chains over the logs and the audit log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from equipoise.store.chain import FIRST_OF_AUDIT

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns. `store.chaining` chains the rows afterwards, in transactions of its own."""
    for name in ("salt", "leaf"):
        op.add_column("log", sa.Column(name, sa.LargeBinary(), nullable=True))
        op.add_column("audit", sa.Column(name, sa.LargeBinary(), nullable=True))
    op.add_column("pools", sa.Column("first_settings", sa.Text(), nullable=True))
    op.add_column("pools", sa.Column("head", sa.LargeBinary(), nullable=True))
    op.add_column("pools", sa.Column("own_runs", sa.LargeBinary(), nullable=True))
    begins = sa.Column("chained_from", sa.BigInteger(), nullable=False, server_default="1")
    op.add_column("pools", begins)
    op.add_column("pools", sa.Column("chained_through", sa.BigInteger(), nullable=True))
    op.execute(
        "UPDATE pools SET chained_from = last_seq + 1, chained_through = 0 WHERE deleted IS NULL"
    )
    chain = op.create_table(
        "audit_chain",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.Column("cut", sa.BigInteger(), nullable=False),
        sa.Column("cut_head", sa.LargeBinary(), nullable=False),
        sa.Column("chained_from", sa.BigInteger(), nullable=False),
        sa.Column("chained_through", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_chain")),
    )
    last = op.get_bind().execute(sa.text("SELECT coalesce(max(id), 0) FROM audit")).scalar_one()
    row = {
        "id": 1,
        "last": last,
        "head": FIRST_OF_AUDIT,
        "cut": 0,
        "cut_head": FIRST_OF_AUDIT,
        "chained_from": last + 1,
        "chained_through": 0 if last else None,
    }
    op.bulk_insert(chain, [row])
