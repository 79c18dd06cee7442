"""Checks of a database that change nothing: those of the store, and the hash chains of all logs."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from equipoise.errors import EquipoiseError
from equipoise.messages.upkeep import CheckList, CheckMessage
from equipoise.pools.replay.chain_checks import LogWalk, verify_audit
from equipoise.pools.replay.findings import Findings
from equipoise.store.connection import open_store
from equipoise.store.pools import all_pools
from equipoise.store.upkeep.checking import checks_of
from equipoise.wording import counted


def check_database(url: str, *, quick: bool = False) -> CheckList:
    """Return the checks of a database that exists. The chains are read if all else is in order.

    quick : without the checks that read everything: of the file, and of the hash chains
    Raises : InvalidParameterError, NotFoundError for a wrong address
    """
    checks = list(checks_of(url, quick=quick))
    if quick:
        return CheckList(all(one.status != "failed" for one in checks), checks)
    failed = [one.check for one in checks if one.status == "failed" and one.check != "free space"]
    if failed:
        detail = f"not read, because another check failed: {', '.join(failed)}"
        checks.append(CheckMessage("hash chain", "skipped", detail))
    else:
        checks.append(_hash_chain(url))
    return CheckList(all(one.status != "failed" for one in checks), checks)


def _hash_chain(url: str) -> CheckMessage:
    """Check that the log of every pool, and the audit log, lead to the heads of their chains."""
    wrong, records = [], 0
    try:
        store = open_store(url, migrate=False)
        try:
            with store.read() as connection:
                for pool in all_pools(connection):
                    found, walk = Findings(), LogWalk.start(pool)
                    walk.finish(connection, pool, found)
                    records += walk.after
                    wrong += [f"pool {pool.name}: {sentence}" for sentence in found.listed]
            wrong += verify_audit(store).differences
        finally:
            store.close()
    except DBAPIError as error:
        wrong.append(f"the log cannot be read: {str(error.orig).strip().splitlines()[0]}")
    except EquipoiseError as error:
        wrong.append(str(error))
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return CheckMessage("hash chain", "failed", f"{wrong[0]}{more}")
    return CheckMessage("hash chain", "ok", f"{counted(records, 'record', 'records')} of logs")
