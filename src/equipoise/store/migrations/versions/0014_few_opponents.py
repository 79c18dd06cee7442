"""The parameter `opponents` of Elo-MMR is gone: pools that set it are rated again without it."""

from __future__ import annotations

import json
import logging

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None
#: Earlier programs rate by the settings that are left. Where a pool sets the parameter, they must
#: be stopped before, because they may replay it with its first settings.
oldest = "0012"

log = logging.getLogger("equipoise.store.migrations")

_POOLS = sa.table(
    "pools",
    sa.column("id", sa.Integer()),
    sa.column("name", sa.Text()),
    sa.column("settings", sa.Text()),
    sa.column("dirty_time", sa.BigInteger()),
    sa.column("dirty_seq", sa.BigInteger()),
    sa.column("deleted", sa.BigInteger()),
    sa.column("replay_owner", sa.Text()),
    sa.column("replay_until", sa.BigInteger()),
)


def upgrade() -> None:
    """Take the parameter from the settings, and request a replay of the whole log.

    The first settings of a pool stay as they are, because its hash chain begins with them.
    """
    connection = op.get_bind()
    there = sa.select(_POOLS).where(_POOLS.c.deleted.is_(None)).with_for_update()
    for number, name, content, *_ in connection.execute(there).all():
        settings = json.loads(content)
        opponents = settings["parameters"].pop("opponents", None)
        if opponents is None or settings["system"] not in ("elo-mmr", "elo-mmx"):
            continue
        log.warning(
            "pool %s: opponents=%s was removed from %s; its log is rated again without it",
            *(name, opponents, settings["system"]),
        )
        values = {
            "settings": json.dumps(settings, ensure_ascii=False, separators=(",", ":")),
            "dirty_time": -(2**62),
            "dirty_seq": 0,
            # Ends a replay that is under way by the former settings.
            "replay_owner": None,
            "replay_until": None,
        }
        connection.execute(sa.update(_POOLS).where(_POOLS.c.id == number).values(**values))
