"""Whatever is changed in a database behind the service, `verify` notices, or nobody relies on it.

The values of every column of every table are falsified one at a time.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, LargeBinary, Text

from equipoise.errors import ConflictError, NotFoundError
from equipoise.messages.matches import DisqualifyRequest
from equipoise.messages.pools import PoolChange, ProfileRequest, ProfilesRequest, SeasonRequest
from equipoise.messages.upkeep import WebhookRequest
from equipoise.pools.amending import disqualify
from equipoise.pools.pool.settings import change_settings
from equipoise.pools.profiles import set_profiles
from equipoise.pools.replay.chain_checks import verify_audit
from equipoise.pools.replay.replaying import maintain_pool
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.pools.webhooks import create_webhook
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.keys import create_key
from equipoise.store.schema import metadata
from pools.pool_trials import NOW, Trial, duel

#: Every column: a sweep.
pytestmark = pytest.mark.nightly

SMALL = Sizes(
    matches=7,
    rows=5,
    players_left=4,
    checkpoint_interval=20,
    checkpoint_per_player=0,
    partial_interval=10,
    partial_bytes=10**6,
)

_WORK = "it says when background work is done, and is shown nowhere"
_TEMPORARY = f"{_WORK}; a wrong value costs work at most"
_DELIVERY = "events are deleted once delivered; which ones are left does not follow from the log"
_RIGHTS = "verify is about pools; the audit log says which keys were created and revoked"
_LIMITS = "only earlier versions read it: who used up a limit does not follow from the log"
_EARLIER = "only earlier versions use it"
_SLOWER = "an explanation without a partial checkpoint takes longer, and is the same"
_REPORT = "what a replay changed then cannot be computed now: the ratings before it are gone"

#: Columns that are not compared, and why.
EXEMPT: dict[str, str] = {
    "pools.code": "nothing else says which version of the code rated",
    "pools.replay_generation": _TEMPORARY,
    "pools.replay_owner": _TEMPORARY,
    "pools.replay_until": _TEMPORARY,
    "pools.garbage": _TEMPORARY,
    "pools.checkpoint_interval": _TEMPORARY,
    "pools.checkpoint_due": _TEMPORARY,
    "pools.board_from": _TEMPORARY,
    "pools.webhooks": _DELIVERY,
    "pools.outbox_last": _DELIVERY,
    "pools.rated_to": "compared unless a replay waits; a later time then makes more matches wait",
    **dict.fromkeys(("pools.partial_due", "pools.partial_time", "pools.partial_seq"), _TEMPORARY),
    **dict.fromkeys(("pools.unfilled_time", "pools.unfilled_seq"), _EARLIER),
    **dict.fromkeys(("pools.chained_through", "pools.draws_from"), _EARLIER),
    "audit_chain.chained_through": _EARLIER,
    **dict.fromkeys(("partial_checkpoints.pool", "partial_checkpoints.generation"), _SLOWER),
    **dict.fromkeys(("partial_checkpoints.from_time", "partial_checkpoints.from_seq"), _SLOWER),
    "checkpoints.pool": "a checkpoint that is missing is made again",
    "checkpoints.participations": _TEMPORARY,
    "checkpoints.code": "nobody reads it",
    "replays.through_seq": "only the last one is relied on, and the order",
    "replays.started": _REPORT,
    "replays.finished": _REPORT,
    "replays.difference": _REPORT,
    "seeds.request": "only the name of the season is stored twice",
    "seeds.centre": "it is shown, but the ratings follow from the content of the seed",
    **{f"outbox.{column.name}": _DELIVERY for column in metadata.tables["outbox"].columns},
    **{f"webhooks.{column.name}": _DELIVERY for column in metadata.tables["webhooks"].columns},
    **{f"keys.{column.name}": _RIGHTS for column in metadata.tables["keys"].columns},
    **{
        f"{table}.{column.name}": _RIGHTS
        for table in ("key_requests", "sessions")
        for column in metadata.tables[table].columns
    },
    "rate_counts.caller": _LIMITS,
    "rate_counts.full": _LIMITS,
    "audit_chain.id": "there is one row",
    "audit_chain.chained_from": "the number of rows chained by an upgrade; nothing else says it",
}

COLUMNS = [
    f"{table.name}.{column.name}" for table in metadata.sorted_tables for column in table.columns
]


def _fill(store: Store) -> None:
    """Fill a database with an ended season, the next one, and everything that tables can hold."""
    create_key(store, "server", "admin", None, None, NOW)
    pool = Trial(
        store,
        "league",
        system="glicko2",
        late="replay",
        display_deviations=1.0,
        display_decay_per_day=1.0,
        display_decay_after_days=1.0,
        placement_matches=2,
    )
    hook = WebhookRequest(url="https://example.com/")
    create_webhook(store, "league", hook, key=1, now=NOW, private=True)
    names = ["ana", "ben", "cyd", "dee", "eve", "fay", "gus"]

    def play(first: int, count: int) -> None:
        for number in range(first, first + count):
            two = names[number % 7], names[(number + 1 + number % 3) % 7]
            pool.post(duel(f"m{number}", *two, 40_000 * number))
            maintain_pool(store, "league", owner="tester", stop=lambda: False)

    play(1, 30)
    pool.void("m25")
    maintain_pool(store, "league", owner="tester", stop=lambda: False)
    named = [
        ProfileRequest(f"p{at}", f"Name {at}", "https://example.org", {"a": at}) for at in (0, 1)
    ]
    set_profiles(store, "league", ProfilesRequest(named), key=1, now=NOW + 4)
    end_season(store, "league", SeasonRequest(season="one", reset="soft"), key=1, now=NOW + 5)
    play(31, 30)
    change_settings(store, "league", PoolChange(placement_matches=9, reason="why"), NOW, key=1)
    pool.void("m50")
    disqualify(store, "league", "gus", DisqualifyRequest(reason="bot"), key=1, now=NOW)
    pool.post(duel("late", "ana", "ben", 40_000 * 45))
    maintain_pool(store, "league", owner="tester", stop=lambda: False)
    play(61, 12)
    pool.post(duel("waits", "ana", "ben", 40_000 * 71))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the file of a database."""
    path = tmp_path_factory.mktemp("falsified") / "original.db"
    store = open_store(f"sqlite:///{path}", sizes=SMALL)
    _fill(store)
    assert _differences(store) == []
    store.close()
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    """Give a copy of it."""
    return Path(shutil.copy(original, tmp_path / "copy.db"))


def _differences(store: Store) -> list[str]:
    """Return everything that `verify` finds."""
    found = [verify_pool(store, name) for name in ("league", "league.one")]
    return [*(line for one in found for line in one.differences), *verify_audit(store).differences]


def _false(value: Any, column: str) -> Any:
    """Return another value that the column can have."""
    table, _, name = column.partition(".")
    kind = metadata.tables[table].columns[name]
    if name in ("settings", "first_settings"):
        return value.replace('"public":false', '"public":true')
    if name == "shared":
        return value.replace("0.0,", "1.0,")
    if table.endswith("checkpoints") and name in ("time", "seq"):
        # Between two matches a later position would be right too.
        return value - 10**12
    if isinstance(kind.type, Boolean):
        return 1 - value
    if isinstance(kind.type, LargeBinary):
        return b"x" if value is None else value[:-1] + bytes([value[-1] ^ 1])
    if isinstance(kind.type, Text):
        return "x" if value is None else value + (" " if value.startswith("{") else "x")
    if value is None:
        return 7
    # A key that no other row has.
    return value + (1000 if kind.primary_key else 1)


def _rows(path: Path, column: str) -> list[dict[str, Any]]:
    """Return the rows in which somebody relies on a column."""
    table = column.partition(".")[0]
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
        pools = {row["id"]: row for row in map(dict, connection.execute("SELECT * FROM pools"))}
    if table == "ratings":
        return [row for row in rows if row["generation"] == pools[row["pool"]]["generation"]]
    if column == "pools.dirty_seq":
        return [row for row in rows if row["dirty_time"] is not None]
    return rows


@pytest.mark.parametrize("column", COLUMNS)
def test_a_falsified_value_is_noticed(path: Path, column: str) -> None:
    """In the first row, one in the middle and the last; unless the column is exempt."""
    table, _, name = column.partition(".")
    if column in EXEMPT:
        pytest.skip(EXEMPT[column])
    key = [one.name for one in metadata.tables[table].primary_key.columns]
    rows = _rows(path, column)
    assert rows
    for row in (rows[0], rows[len(rows) // 2], rows[-1]):
        false = _false(row[name], column)
        where = " AND ".join(f"{one} = ?" for one in key)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(
                f"UPDATE {table} SET {name} = ? WHERE {where}",
                [false, *(row[one] for one in key)],
            )
        assert _noticed(path), (column, row[name], false)
        now = {**row, name: false}
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(
                f"UPDATE {table} SET {name} = ? WHERE {where}",
                [row[name], *(now[one] for one in key)],
            )
    assert not _noticed(path)


def _noticed(path: Path) -> bool:
    """Return whether `verify` finds something, or cannot find the pool."""
    try:
        store = open_store(f"sqlite:///{path}", migrate=False, sizes=SMALL)
    except ConflictError:
        return True
    try:
        return bool(_differences(store))
    except NotFoundError:
        return True
    finally:
        store.close()
