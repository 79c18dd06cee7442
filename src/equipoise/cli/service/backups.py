"""equipoise db backup, restore and check: copies and checks of a database."""

from __future__ import annotations

from pathlib import Path

from equipoise.cli import options
from equipoise.cli.declaring import argument, option
from equipoise.cli.report import print_json, print_lines, print_table, progress, say
from equipoise.cli.service.databases import check_installed, check_there
from equipoise.cli.tables import table

BACKUP_EXAMPLE = """\b
Example:
  equipoise db backup /var/backups/equipoise --keep 14"""


def backup(
    *,
    folder: str = argument("Folder for the backup.", "FOLDER"),
    keep: int | None = option(
        None, "Number of backups of this database to keep; older ones are deleted.", "N"
    ),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Write a backup of the whole database into a folder.

    The file is a snapshot, named after the database and the time. A service may write to the
    database at the same time. A backup that is interrupted leaves no file of this name. The file
    contains the secrets of webhooks: protect it like the database. PostgreSQL needs pg_dump.
    """
    from equipoise.errors import require
    from equipoise.pools.backups import back_up

    require(keep is None or keep > 0, "--keep", "at least 1", keep)
    check_installed("sqlalchemy", "alembic")
    check_there(database)
    with progress("writing the backup") as show:
        done = back_up(database, Path(folder), keep=keep, progress=show)
    if as_json:
        print_json(done)
        return
    print_lines(done.file)
    say(f"{done.bytes / 1e6:,.1f} MB ({done.seconds:.2f} s)")
    say(*(f"deleted {one}" for one in done.removed))


RESTORE_EXAMPLE = """\b
Example:
  equipoise db restore backups/equipoise-20260301T040000Z.db --database sqlite:///league.db"""


def restore(
    *,
    source: str = argument("A backup of `equipoise db backup`.", "BACKUP"),
    overwrite: bool = option(False, "Replace a database that exists. Stop the service first."),
    no_verify: bool = option(False, "Do not compare stored ratings with a replay of the logs."),
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Restore a backup: check it, upgrade its schema, compare its ratings with its logs.

    A SQLite database replaces the old one at the end, in one step, if all checks have passed. A
    dump of PostgreSQL is restored into an empty database, in one transaction, and compared
    afterwards. PostgreSQL needs pg_restore.
    """
    from equipoise.pools.backups import restore_backup
    from equipoise.wording import counted

    check_installed("sqlalchemy", "alembic")
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


CHECK_EXAMPLE = """\b
Example:
  equipoise db check --database sqlite:///league.db"""


def check(*, database: options.Database, as_json: options.Json) -> int:
    """Check a database: its file, schema, indexes and hash chains, and the free space on its disk.

    Nothing is changed, and a service may run on the database at the same time. Exit status 1 means
    that a check failed. `equipoise db verify` compares the ratings with the log.
    """
    from equipoise.pools.checking import check_database

    check_installed("sqlalchemy", "alembic")
    check_there(database)
    done = check_database(database)
    if as_json:
        print_json(done)
        return 0 if done.ok else 1
    rows = [(one.check, one.status, one.detail) for one in done.checks]
    print_table(table({"check": "", "status": "", "found": ""}, rows))
    return 0 if done.ok else 1
