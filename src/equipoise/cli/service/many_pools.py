"""Work on many pools: each task opens the database itself, wherever it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.cli.service.databases import opened
from equipoise.errors import EquipoiseError, InvalidParameterError
from equipoise.parallel.tasks import run_tasks

if TYPE_CHECKING:
    from equipoise.messages.exchange import FailedImport, ImportMessage
    from equipoise.messages.pools import PoolRequest, VerifyMessage
    from equipoise.pools.exchange.importing import ImportRequest
    from equipoise.store.connection import Store


@dataclass(frozen=True, repr=False)
class Database:
    """The address of a database. It may have a password, so it never prints.

    url : means the same in every folder of this machine
    """

    url: str

    @classmethod
    def of(cls, url: str, executor: Executor | None) -> Database:
        """Return a database that tasks can open. Raises : InvalidParameterError.

        executor : which carries out the tasks, maybe on other machines
        """
        from equipoise.store.connection import checked_url

        parsed = checked_url(url)
        if parsed.drivername.partition("+")[0] != "sqlite":
            return cls(url)
        if not _sees_files_of_this_machine(executor):
            raise InvalidParameterError(
                "a SQLite database is a file of this machine, which workers on other machines do "
                "not have: use PostgreSQL, or --workers instead of --cluster"
            )
        path = Path(str(parsed.database)).absolute()
        return cls(parsed.set(database=str(path)).render_as_string(hide_password=False))


def _sees_files_of_this_machine(executor: Executor | None) -> bool:
    """Return whether tasks run on this machine; executors of which nothing is known do."""
    is_here: Callable[[], bool] | None = getattr(executor, "is_here", None)
    return is_here is None or is_here()


def kinds_of(store: Store, names: Sequence[str]) -> list[PoolRequest]:
    """Return the systems of pools with their parameters, each once. Raises : NotFoundError."""
    import msgspec

    from equipoise.messages.pools import PoolRequest
    from equipoise.pools.pool.rules import rules_of
    from equipoise.store.pools import get_pool

    found: dict[bytes, PoolRequest] = {}
    with store.read() as connection:
        for name in names:
            rules = rules_of(get_pool(connection, name).settings).settings
            kind = PoolRequest(system=rules.system, parameters=rules.parameters)
            found.setdefault(msgspec.json.encode(kind, order="sorted"), kind)
    return list(found.values())


def verify_pools(
    database: Database,
    names: Sequence[str],
    kinds: Sequence[PoolRequest],
    *,
    executor: Executor | None,
    workers: int,
    finished: Callable[[int], object] | None,
) -> Iterator[VerifyMessage]:
    """Yield what `verify_pool` says of each pool, in the order of the names.

    kinds : settings of pools, for which kernels are compiled first
    """
    return run_tasks(
        _verify,
        database,
        names,
        executor=executor,
        workers=workers,
        names=lambda name: f"pool {name}",
        prepare=partial(_compile, kinds),
        finished=finished,
    )


def _verify(database: Database, name: str) -> VerifyMessage:
    """Verify a pool in a worker process."""
    from equipoise.pools.replay.verifying import verify_pool

    with opened(database.url) as store:
        return verify_pool(store, name)


def _compile(kinds: Sequence[PoolRequest], _: Database) -> None:
    from equipoise.pools.precompiling import precompile

    for one in kinds:
        precompile(one)


@dataclass(frozen=True, slots=True)
class FileImport:
    """A file, and the pool that receives its matches."""

    pool: str
    request: ImportRequest
    file: str


def imports_of(source: str, request: ImportRequest) -> list[FileImport]:
    """Return the imports of the files of a folder or pattern, by name.

    request : of all of them
    Raises : InvalidParameterError if there is no file, or two would go into one pool
    """
    from equipoise.formats.opening.contents import paths_of
    from equipoise.formats.opening.naming import natural

    names = sorted(paths_of(source, "FILE").values(), key=natural)
    found: dict[str, FileImport] = {}
    for path in map(Path, names):
        if path.name.startswith(".") or not path.exists():
            continue
        pool, file = _pool_of(path), str(path.absolute())
        if pool in found:
            raise InvalidParameterError(
                f"--each: {path.name} and {Path(found[pool].file).name} would go into one pool, "
                f"{pool!r}"
            )
        history = replace(request.history, source=file)
        found[pool] = FileImport(pool, replace(request, history=history), file)
    if not found:
        raise InvalidParameterError(f"--each needs a folder or pattern with files; got {source!r}")
    return list(found.values())


def _pool_of(path: Path) -> str:
    """Return the name of a file without its ending, as in contests.csv.gz."""
    from equipoise.formats.opening.kinds import PACKED_SUFFIXES

    inner = path.with_suffix("") if path.suffix.lower() in PACKED_SUFFIXES else path
    return inner.stem


def _kinds_of(files: Sequence[FileImport]) -> list[PoolRequest]:
    """Return the systems with which files are rated, each once; those of damaged files are not."""
    import msgspec

    from equipoise.messages.pools import PoolRequest
    from equipoise.pools.exchange.log_lines import first_settings_of, is_log, read_head

    found: dict[bytes, PoolRequest] = {}
    for one in files:
        with suppress(EquipoiseError, msgspec.MsgspecError, OSError):
            settings = dict(one.request.settings)
            if "system" not in settings and is_log(Path(one.file)):
                settings = msgspec.to_builtins(first_settings_of(read_head(Path(one.file))))
            own = {name: settings[name] for name in ("system", "parameters") if name in settings}
            kind = msgspec.convert(own, PoolRequest)
            found.setdefault(msgspec.json.encode(kind, order="sorted"), kind)
    return list(found.values())


def import_pools(
    database: Database,
    files: Sequence[FileImport],
    now: int,
    *,
    executor: Executor | None,
    workers: int,
    finished: Callable[[int], object] | None,
) -> Iterator[ImportMessage | FailedImport]:
    """Yield what the import of each file into a pool of its own added, or why it failed.

    now : microseconds since 1970
    """
    return run_tasks(
        partial(_import, now),
        database,
        files,
        executor=executor,
        workers=workers,
        names=lambda one: f"the import of {one.file}",
        prepare=partial(_compile, _kinds_of(files)),
        finished=finished,
    )


def _import(now: int, database: Database, one: FileImport) -> ImportMessage | FailedImport:
    """Import a file in a worker process. What goes wrong with it does not stop the others."""
    from equipoise.messages.exchange import FailedImport
    from equipoise.pools.exchange.importing import import_pool

    try:
        # The caller has created the database.
        with opened(database.url) as store:
            return import_pool(store, one.pool, one.request, now)
    except (EquipoiseError, OSError) as error:
        return FailedImport(one.pool, one.file, str(error))
