"""equipoise db: keys, checks, copies and repairs of the service's database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from equipoise.analysis.requests import typed
from equipoise.cli import options
from equipoise.cli.application import create_group
from equipoise.cli.options import add_command
from equipoise.cli.report import (
    compiling,
    print_json,
    print_lines,
    print_table,
    progress,
    say,
    say_compiled,
    table,
)
from equipoise.cli.service import (
    check_installed,
    check_there,
    exchange,
    in_words,
    is_absent,
    opened,
)
from equipoise.errors import InvalidParameterError, NotFoundError

if TYPE_CHECKING:
    from equipoise.messages.upkeep import KeyMessage


keys = create_group("Create, list, rotate and revoke keys of the service.")

#: Microseconds in the units of `--expires` and `--keep`.
_UNITS = {"h": 3_600_000_000, "d": 86_400_000_000, "w": 604_800_000_000}


def create(
    *,
    name: str = typed(..., "Name that shows who uses the key."),
    role: Literal["reader", "writer", "admin"] = typed(
        "reader",
        "Rights of the key. reader: read. writer: also post matches. admin: also amend, and create "
        "pools and keys.",
    ),
    pool: str | None = typed(
        None, "Restrict the key to this pool, which must exist. [default: all pools]"
    ),
    expires: str | None = typed(
        None,
        "When the key expires: after hours (h), days (d) or weeks (w), or at a time.",
        "30d|TIME",
    ),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Create a key and print its secret, which is shown only once and not stored.

    Send it with every request in the header `Authorization: Bearer SECRET`.

    Example:
      equipoise db keys create --name "game server" --role writer --expires 365d
    """
    from equipoise.messages.upkeep import KeyRequest
    from equipoise.pools.pool.access import make_key
    from equipoise.store.schema import now as clock

    now = clock()
    request = KeyRequest(name, role, pool, _expiry(expires, now))
    new = is_absent(database)
    with opened(database, create=True) as store:
        try:
            new_key = make_key(store, request, now)
        except NotFoundError as error:
            raise NotFoundError(f"{error}; create the pool before its keys") from error
    if as_json:
        print_json(new_key)
        return
    print_lines(new_key.secret)
    until = "" if new_key.key.expires is None else f", until {new_key.key.expires}"
    say(
        f"Key {new_key.key.key}, {new_key.key.role} of {new_key.key.pool or 'all pools'}{until}. "
        "The secret above is not shown again.",
        f"The key is in the {'new ' if new else ''}database {in_words(database)}.",
    )


def list_(
    *,
    database: options.Database,
    as_json: options.Json,
) -> None:
    """List all keys, newest first, without their secrets.

    Example:
      equipoise db keys list
    """
    from equipoise.pools.pool.access import all_keys
    from equipoise.store.schema import now as clock

    with opened(database) as store:
        listed = all_keys(store)
    if as_json:
        print_json(listed)
        return
    now = clock()
    rows = (
        (
            *(key.key, key.name, key.role, key.pool or "(all)", _state(key, now)),
            *(_minutes(key.created), _minutes(key.last_used)),
        )
        for key in listed.keys
    )
    names = ("name", "role", "pool", "state", "created", "last used")
    print_table(table({"key": "d", **dict.fromkeys(names, "")}, rows))


def rotate(
    *,
    key: int = typed(..., "Number of the key.", "KEY", argument=True, least=1),
    keep: str = typed(
        "1d",
        "How long the previous secret stays valid: hours (h), days (d) or weeks (w). 0h ends it "
        "at once. Any older secret ends at once.",
        "1d",
    ),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Give a key a new secret and print it. It is shown only once and not stored.

    Programs can use the previous secret until the end of `--keep`.

    Example:
      equipoise db keys rotate 1 --keep 7d
    """
    from equipoise.errors import require
    from equipoise.messages.upkeep import RotationRequest
    from equipoise.pools.pool.access import rotate_key
    from equipoise.store.schema import now as clock

    span = _span(keep)
    require(span is not None, "--keep", "a time such as 12h, 7d or 2w", keep)
    with opened(database) as store:
        new_key = rotate_key(store, key, RotationRequest((span or 0) // 1_000_000), clock())
    if as_json:
        print_json(new_key)
        return
    print_lines(new_key.secret)
    until = new_key.key.previous_until
    before = "is no longer valid" if until is None else f"is valid until {_minutes(until)}"
    say(
        f"Key {new_key.key.key} ({new_key.key.name}) has a new secret, which is not shown again. "
        f"The previous secret {before}."
    )


def revoke(
    *,
    key: int = typed(..., "Number of the key.", "KEY", argument=True, least=1),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Revoke a key permanently. A running service rejects it within a second.

    Example:
      equipoise db keys revoke 1
    """
    from equipoise.pools.pool.access import end_key
    from equipoise.store.schema import now as clock

    with opened(database) as store:
        ended = end_key(store, key, clock())
    if as_json:
        print_json(ended)
    else:
        say(f"Revoked key {ended.key} ({ended.name}).")


def _expiry(text: str | None, now: int) -> int | str | None:
    """Return the value of `--expires` as keys take it; a span counts from now."""
    if text is None:
        return None
    span = _span(text)
    return text if span is None else (now + span) // 1_000_000


def _span(text: str) -> int | None:
    """Return a span such as 12h, 7d or 2w in microseconds, None for other text."""
    count, unit = text[:-1], text[-1:]
    if unit in _UNITS and count.isascii() and count.isdecimal() and len(count) < 6:
        return int(count) * _UNITS[unit]
    return None


def _state(key: KeyMessage, now: int) -> str:
    from equipoise.pools.pool.rules import moment

    if key.revoked is not None:
        return "revoked"
    if key.expires is None:
        return "valid"
    return "expired" if moment(key.expires) <= now else f"until {_minutes(key.expires)}"


def _minutes(time: str | None) -> str:
    """Return a time to the minute."""
    return "" if time is None else time[:16].replace("T", " ")


add_command(keys, "create", create)
add_command(keys, "list", list_)
add_command(keys, "rotate", rotate)
add_command(keys, "revoke", revoke)


def verify(
    *,
    pools: tuple[str, ...] = typed(
        (), "Names of the pools. [default: all pools]", "POOL ...", argument=True
    ),
    database: options.Database,
    head: str | None = typed(
        None,
        "A head, or local head, of one pool's hash chain that you kept elsewhere. Look for it in "
        "the log, and verify nothing else. Exit status 1 means that records before it were lost.",
        "HEAD",
    ),
    workers: int | None = typed(
        None,
        "Number of worker processes, each of which verifies one pool at a time. [default: 1]",
        least=1,
    ),
    cluster: options.Cluster,
    as_json: options.Json,
) -> int:
    """Replay pools from the beginning of their logs and compare the result with the database.

    Values are compared bit for bit, and the log and the audit log must lead to the heads of their
    hash chains. Changes nothing, and can run while a service uses the database. Exit status 1 means
    that something differs.

    Example:
      equipoise db verify
      equipoise db verify --workers 4
    """
    from equipoise.pools.pool.pools import pool_messages
    from equipoise.pools.replay.chain_checks import verify_audit
    from equipoise.pools.replay.verifying import verify_pool
    from equipoise.wording import counted

    if head is not None:
        return _find_head(pools, head, database, as_json=as_json)
    with (
        cluster.executor(workers) as executor,
        opened(database) as store,
        compiling() as compilation,
    ):
        names = [*pools] or [pool.pool for pool in pool_messages(store)]
        if executor is not None or (workers or 1) > 1:
            audits = exchange.verify_pools(store, database, names, executor, workers or 1)
        else:
            audits = []
            for name in names:
                with progress(f"verifying {name}") as show:
                    audits.append(verify_pool(store, name, show))
        audit = verify_audit(store)
    identical = audit.identical and all(pool.identical for pool in audits)
    if as_json:
        print_json({"identical": identical, "pools": audits, "audit": audit})
        return 0 if identical else 1
    say_compiled(compilation)
    columns = {"pool": "", "matches": ",", "players": ",", "changes": ","}
    rows = (
        (
            *(pool.pool, pool.matches, pool.players, pool.changes),
            "identical" if pool.identical else counted(pool.different, "difference"),
            pool.seconds,
        )
        for pool in audits
    )
    print_table(table({**columns, "stored and replayed": "", "seconds": ".2f"}, rows))
    print_lines("", "Heads of the hash chains; keep them elsewhere:")
    for pool in audits:
        since = _upgraded("records", pool.chained_from - 1)
        print_lines(f"{pool.pool}: {pool.head}, local {pool.local_head}{since}")
    print_lines(f"audit log: {audit.head}{_upgraded('rows', audit.chained_from - 1)}")
    for pool in audits:
        for sentence in pool.differences:
            print_lines(f"{pool.pool}: {sentence}")
        if pool.different > len(pool.differences):
            print_lines(f"{pool.pool}: and {pool.different - len(pool.differences):,} more")
    for sentence in audit.differences:
        print_lines(sentence)
    return 0 if identical else 1


def _upgraded(what: str, last: int) -> str:
    return f"; {what} up to {last:,} were chained by an upgrade" if last else ""


def _find_head(pools: Sequence[str], head: str, database: str, *, as_json: bool) -> int:
    """Print at which record the log of a pool had a head that was kept elsewhere."""
    from equipoise.pools.replay.chain_checks import find_head

    if len(pools) != 1:
        raise InvalidParameterError(
            "--head needs the name of its pool: `equipoise db verify POOL --head HEAD`; got "
            f"{' '.join(pools) or 'none'}"
        )
    with opened(database) as store:
        record, last = find_head(store, pools[0], head)
    if as_json:
        position = {"found": record is not None, "record": record, "records": last}
        print_json({"pool": pools[0], "head": head, **position})
    elif record is None:
        print_lines(
            f"{pools[0]}: the log has {last:,} records and does not lead to this head: records "
            "before it were lost, changed or removed"
        )
    else:
        print_lines(f"{pools[0]}: the log had this head after record {record:,} of {last:,}")
    return 1 if record is None else 0


def backup(
    *,
    folder: str = typed(..., "Folder for the backup.", "FOLDER", argument=True),
    keep: int | None = typed(
        None, "Number of backups of this database to keep; older ones are deleted.", "N", least=1
    ),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Back up the whole database to a folder.

    The file is a snapshot, named after the database and the time. A service may write to the
    database at the same time. An interrupted backup leaves no file of this name. The file contains
    the secrets of webhooks: protect it like the database. PostgreSQL needs pg_dump.

    Example:
      equipoise db backup /var/backups/equipoise --keep 14
    """
    from equipoise.pools.backups import back_up

    check_installed("sqlalchemy")
    check_there(database)
    with progress("writing the backup") as show:
        done = back_up(database, Path(folder), keep=keep, progress=show)
    if as_json:
        print_json(done)
        return
    print_lines(done.file)
    say(f"{done.bytes / 1e6:,.1f} MB ({done.seconds:.2f} s)")
    say(*(f"deleted {name}" for name in done.removed))


def restore(
    *,
    source: str = typed(..., "A backup made by `equipoise db backup`.", "BACKUP", argument=True),
    overwrite: bool = typed(False, "Replace an existing database. Stop the service first."),
    no_verify: bool = typed(False, "Do not compare stored ratings with a replay of the logs."),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Restore a backup: check it, upgrade its schema, compare its ratings with its logs.

    A SQLite database replaces the old one at the end, in one step, if all checks pass. A dump of
    PostgreSQL is restored into an empty database, in one transaction, and compared afterwards.
    PostgreSQL needs pg_restore.

    Example:
      equipoise db restore backups/equipoise-20260301T040000Z.db --database sqlite:///league.db
    """
    from equipoise.pools.backups import restore_backup
    from equipoise.wording import counted

    check_installed("sqlalchemy")
    say("restoring")

    def shown(pool: str) -> None:
        say(f"verifying {pool}")

    done = restore_backup(
        Path(source), database, overwrite=overwrite, verify=not no_verify, shown=shown
    )
    if as_json:
        print_json(done)
        return
    pools, matches = counted(done.pools, "pool", "pools"), counted(done.matches, "match", "matches")
    verified = "identical to their logs" if done.verified else "not compared with their logs"
    print_lines(f"{done.database}: {pools} with {matches}, {verified} ({done.seconds:.2f} s)")


def check(*, database: options.Database, as_json: options.Json) -> int:
    """Check a database: its file, schema, indexes and hash chains, and the free space on its disk.

    Changes nothing, and can run while a service uses the database. Exit status 1 means that a check
    failed. `equipoise db verify` compares the ratings with the log.

    Example:
      equipoise db check --database sqlite:///league.db
    """
    from equipoise.pools.backups import check_database

    check_installed("sqlalchemy")
    check_there(database)
    done = check_database(database)
    if as_json:
        print_json(done)
        return 0 if done.ok else 1
    rows = [(check.check, check.status, check.detail) for check in done.checks]
    print_table(table({"check": "", "status": "", "found": ""}, rows))
    return 0 if done.ok else 1


def erase(
    *,
    player: str = typed(..., "Name of the player.", "PLAYER", argument=True),
    pool: str = typed(..., "Name of the pool. The archives of its seasons are included."),
    reason: str = typed("", "Reason, kept in the log. It should not name the player."),
    dry_run: bool = typed(False, "Only count the changes; make none."),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Replace a player's name with a pseudonym in the log, ratings, replays and audit log.

    Ratings do not change, and a service may use the database at the same time. An erasure cannot be
    undone, because nothing that leads to the name is kept. Backups, exports and messages that
    webhooks have delivered still contain the name.

    Example:
      equipoise db erase ana --pool ladder --dry-run
    """
    from equipoise.messages.matches import ReasonRequest
    from equipoise.pools.erasing import erase_player
    from equipoise.store.schema import now as clock
    from equipoise.wording import counted

    with opened(database) as store:
        request = ReasonRequest(reason)
        done = erase_player(store, pool, player, request, key=None, now=clock(), preview=dry_run)
    if as_json:
        print_json(done)
        return
    columns = {"pool": "", "matches": ",", "amendments": ",", "changes": ",", "checkpoints": ","}
    rows = [
        (pool.pool, pool.matches, pool.amendments, pool.changes, pool.checkpoints)
        for pool in done.pools
    ]
    print_table(table(columns, rows))
    texts = sum(pool.texts for pool in done.pools)
    if texts:
        print_lines(counted(texts, "title, link or attribute", "titles, links and attributes"))
    if done.audit:
        print_lines(f"{counted(done.audit, 'row', 'rows')} of the audit log")
    if done.remaining:
        rest = counted(
            done.remaining, "id of a match, role or side", "ids of matches, roles or sides"
        )
        print_lines(f"{rest} with the name do not change")
    if done.player is None:
        print_lines("nothing was changed: this was a dry run")
    else:
        print_lines(f"the player is now {done.player}")


def profiles(
    *,
    file: str = typed(
        ...,
        "Table with the column player, and a name, link or attributes in other columns.",
        "FILE",
        argument=True,
    ),
    pool: str = typed(..., "Name of the pool."),
    reason: str = typed("", "Reason, kept in the log."),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Set the names, links and attributes of players that the pages show.

    A row replaces the player's earlier profile, and an empty row removes it. If any row has an
    error, nothing is set. Ratings do not change.

    Example:
      equipoise db profiles players.csv --pool ladder
    """
    from equipoise.pools.profiles import set_file
    from equipoise.store.schema import now as clock
    from equipoise.wording import counted

    with opened(database) as store:
        done = set_file(store, pool, file, reason, now=clock())
    if as_json:
        print_json(done)
    else:
        print_lines(f"{counted(done.changed, 'profile', 'profiles')} of pool {pool} changed")


application = create_group("Manage the service's database: keys, pools and backups.")
application.add_typer(keys, name="keys")
add_command(application, "import", exchange.import_)
add_command(application, "export", exchange.export)
add_command(application, "profiles", profiles)
add_command(application, "verify", verify)
add_command(application, "check", check)
add_command(application, "backup", backup)
add_command(application, "restore", restore)
add_command(application, "erase", erase)
