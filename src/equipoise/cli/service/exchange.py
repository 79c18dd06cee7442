"""equipoise db export and import, and work on many pools: each task opens the database itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from equipoise.analysis.inspect.command import inspected
from equipoise.analysis.requests import ImportedRequest, Initial, InitialMapping, RawText, typed
from equipoise.cli import options
from equipoise.cli.report import print_json, progress, reading_lines, say, working
from equipoise.cli.service import opened
from equipoise.errors import EquipoiseError, InvalidParameterError
from equipoise.parallel.tasks import run_tasks
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.systems import Settings
    from equipoise.messages.pools import VerifyMessage
    from equipoise.messages.upkeep import FailedImport, ImportMessage
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
        # An executor without `is_here` runs its tasks on this machine.
        is_here: Callable[[], bool] = getattr(executor, "is_here", lambda: True)
        if not is_here():
            raise InvalidParameterError(
                "workers on other machines cannot open a SQLite database of this machine: use "
                "PostgreSQL, or --workers instead of --cluster"
            )
        path = Path(str(parsed.database)).absolute()
        return cls(parsed.set(database=str(path)).render_as_string(hide_password=False))


def verify_pools(
    store: Store, url: str, names: Sequence[str], executor: Executor | None, workers: int
) -> list[VerifyMessage]:
    """Verify pools in several processes, or on other machines, in the order of their names.

    store : the database at the URL. Raises : NotFoundError, InvalidParameterError
    """
    from equipoise.pools.pool.rules import rules_of
    from equipoise.store.pools import get_pool

    with store.read() as connection:
        rules = [rules_of(get_pool(connection, name).settings).settings for name in names]
    with progress("verifying pools") as show:
        return list(
            run_tasks(
                _verify,
                Database.of(url, executor),
                names,
                executor=executor,
                workers=workers,
                names=lambda name: f"pool {name}",
                prepare=partial(_compile, [(rule.system, rule.parameters) for rule in rules]),
                finished=None if show is None else lambda done: show(done, len(names)),
            )
        )


def _verify(database: Database, name: str) -> VerifyMessage:
    """Verify a pool in a worker process."""
    from equipoise.pools.replay.verifying import verify_pool

    with opened(database.url) as store:
        return verify_pool(store, name)


def _compile(kinds: Sequence[tuple[str, Mapping[str, object]]], _: Database) -> None:
    """Compile the kernels of systems with their parameters, each once."""
    import msgspec

    from equipoise.messages.pools import PoolRequest
    from equipoise.pools.precompiling import precompile

    requests = [PoolRequest(system=name, parameters=dict(parameters)) for name, parameters in kinds]
    for request in {
        msgspec.json.encode(request, order="sorted"): request for request in requests
    }.values():
        precompile(request)


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
    from equipoise.formats.joining import natural
    from equipoise.formats.sources import paths_of
    from equipoise.formats.table import PACKED_SUFFIXES

    names = sorted(paths_of(source, "FILE").values(), key=natural)
    imports: dict[str, FileImport] = {}
    for path in map(Path, names):
        if path.name.startswith(".") or not path.exists():
            continue
        # The name of the file without its ending, as in contests.csv.gz.
        is_packed = path.suffix.lower() in PACKED_SUFFIXES
        pool, file = (path.with_suffix("") if is_packed else path).stem, str(path.absolute())
        if pool in imports:
            raise InvalidParameterError(
                f"--each: {path.name} and {Path(imports[pool].file).name} would both go into the "
                f"pool {pool!r}"
            )
        history = replace(request.history, source=file)
        imports[pool] = FileImport(pool, replace(request, history=history), file)
    if not imports:
        raise InvalidParameterError(f"--each needs a folder or pattern with files; got {source!r}")
    return list(imports.values())


def _kinds_of(files: Sequence[FileImport]) -> list[tuple[str, dict[str, Any]]]:
    """Return the systems with which files are rated; those of damaged files are not."""
    import msgspec

    from equipoise.messages.pools import PoolRequest
    from equipoise.pools.exchange.log_lines import first_settings_of, is_log, read_head

    kinds = []
    for file in files:
        with suppress(EquipoiseError, msgspec.MsgspecError, OSError):
            settings = dict(file.request.settings)
            if "system" not in settings and is_log(Path(file.file)):
                settings = msgspec.to_builtins(first_settings_of(read_head(Path(file.file))))
            own = {name: settings[name] for name in ("system", "parameters") if name in settings}
            kind = msgspec.convert(own, PoolRequest)
            kinds.append((kind.system, kind.parameters))
    return kinds


def _import(now: int, database: Database, file: FileImport) -> ImportMessage | FailedImport:
    """Import a file in a worker process. What goes wrong with it does not stop the others.

    now : microseconds since 1970
    """
    from equipoise.messages.upkeep import FailedImport
    from equipoise.pools.exchange.importing import import_pool

    try:
        # The caller has created the database.
        with opened(database.url) as store:
            return import_pool(store, file.pool, file.request, now)
    except (EquipoiseError, OSError) as error:
        return FailedImport(file.pool, file.file, str(error))


def export(
    *,
    pool: str = typed(..., "Name of the pool.", "POOL", argument=True),
    output: str = typed(..., "File to write: .csv, .parquet, or .ndjson (also .jsonl).", "FILE"),
    what: Literal["log", "ratings", "changes"] = typed(
        "log",
        "Content of the file. log: all records (.ndjson, for `equipoise db import`), or the "
        "matches that count (.csv, .parquet, for `equipoise rate`). ratings: the rating table. "
        "changes: the changes of every player in every match.",
    ),
    raw: RawText = False,
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Write the log, ratings or changes of a pool to a file.

    The file is a snapshot of the pool, and is written completely or not at all. A service may use
    the database at the same time.

    Example:
      equipoise db export contests --what log --output contests.ndjson
      equipoise db export contests --what ratings --output ratings.csv
    """
    from equipoise.pools.exchange.exporting import export_file, format_of

    format_of(output)
    with opened(database) as store, progress("writing") as show:
        done = export_file(store, pool, what, output, show, raw=raw)
    if as_json:
        print_json(done)
        return
    say(f"wrote {done.file}: {done.count:,} {done.counted}, {done.bytes / 1e6:,.1f} MB")


def import_(
    *,
    context: typer.Context,
    pool: str | None = typed(
        None, "Name of the pool that receives the matches. Needed without --each.", "POOL"
    ),
    each: bool = typed(
        False,
        "FILE is a folder or a pattern: import each of its files into a separate pool, named "
        "after the file without its ending. A file that fails does not stop the others; the exit "
        "status is then 1.",
    ),
    create: bool = typed(
        False,
        "Create the pool if it does not exist. A log brings its settings, which options override.",
    ),
    system: options.System,
    late: Literal["reject", "append", "replay"] | None = typed(
        None,
        "How a new pool treats matches older than its last match. [default: reject]",
    ),
    public: bool = typed(False, "Let anyone read a new pool without a key."),
    calibrate: bool = typed(
        False, "Let a new pool calibrate its predictions by a curve learned from its matches."
    ),
    initial: Initial = None,
    initial_mapping: InitialMapping = None,
    allow_future: bool = typed(
        False,
        "Import matches dated more than a day ahead of the clock, which are otherwise rejected.",
    ),
    history: ImportedRequest,
    dry_run: options.DryRun,
    database: options.Database,
    workers: int | None = typed(
        None,
        "With --each: number of worker processes, each of which imports one file at a time. "
        "[default: 1]",
        least=1,
    ),
    cluster: options.Cluster,
    as_json: options.Json,
) -> int | None:
    """Import matches into a pool, as if they were posted.

    Matches that are already in the pool are skipped, so an interrupted import can be run again. If
    the file cannot be read, nothing is recorded. If the pool rejects a record of a log, the earlier
    records stay.

    Example:
      equipoise db import examples/contests.csv --pool contests --create --system elo-mmr
      equipoise db import 'exports/*.ndjson' --each --create --workers 4
    """
    from equipoise.pools.exchange.importing import ImportRequest, import_pool
    from equipoise.pools.posting.posting import FUTURE_SECONDS
    from equipoise.store.schema import now as clock

    from_file = system.settings()
    history = options.with_weights(history, from_file)
    if dry_run:
        if each:
            raise InvalidParameterError(
                "--dry-run cannot be combined with --each: check one of the files with "
                "`equipoise inspect FILE`"
            )
        chosen = system.chosen(from_file)
        systems = [] if chosen is None else [chosen]
        return inspected(context, history, as_json, systems=systems, reads=("history", "log"))
    # Weights that the file of the project sets are for pools that are created.
    weights = history.statistics if create or "--stat" not in history.set_by_project else {}
    settings = _settings(system, from_file, weights, late, public, calibrate)
    if settings and not create:
        raise InvalidParameterError(
            "--system, --set, --parameters, --stat, --late, --public and --calibrate are "
            "settings of a new pool: they need --create"
        )
    request = ImportRequest(
        history=history,
        create=create,
        settings=settings,
        future_seconds=None if allow_future else FUTURE_SECONDS,
        initial=initial,
        initial_mapping=initial_mapping,
    )
    if each:
        if pool is not None:
            raise InvalidParameterError("--pool cannot be combined with --each")
        with cluster.executor(workers) as executor:
            return _import_each(
                str(history.source), request, database, executor, workers or 1, as_json
            )
    if workers is not None or cluster.cluster is not None:
        raise InvalidParameterError("--workers and --cluster need --each")
    if pool is None:
        raise InvalidParameterError("add --pool POOL, or --each for a pool of each file")
    with opened(database, create=create) as store, working("importing") as job:
        done = import_pool(store, pool, request, clock(), job.progress)
    if as_json:
        print_json(done)
        return None
    say(*_lines(done))
    return None


def _import_each(
    source: str,
    request: ImportRequest,
    database: str,
    executor: Executor | None,
    workers: int,
    as_json: bool,
) -> int:
    """Import each file of a folder or pattern into a pool of its own."""
    from equipoise.messages.upkeep import FailedImport
    from equipoise.store.schema import now as clock

    files = imports_of(source, request)
    where = Database.of(database, executor)
    # The first step creates the database, and upgrades its schema, once.
    with opened(database, create=request.create), progress("importing") as show:
        done = list(
            run_tasks(
                partial(_import, clock()),
                where,
                files,
                executor=executor,
                workers=workers,
                names=lambda file: f"the import of {file.file}",
                prepare=partial(_compile, _kinds_of(files)),
                finished=None if show is None else lambda count: show(count, len(files)),
            )
        )
    failed = [outcome for outcome in done if isinstance(outcome, FailedImport)]
    imported = [outcome for outcome in done if not isinstance(outcome, FailedImport)]
    if as_json:
        print_json({"imported": imported, "failed": failed})
        return 1 if failed else 0
    for message in imported:
        first, *others = _lines(message)
        say(first, *(f"  {line}" for line in others))
    for fault in failed:
        say(f"pool {fault.pool} failed: {fault.file}")
        say(*(f"  {line}" for line in fault.error.splitlines()))
    say(f"{counted(len(imported), 'file')} imported, {len(failed):,} failed")
    return 1 if failed else 0


def _settings(
    system: options.System,
    from_file: Settings,
    statistics: Mapping[str, float],
    late: str | None,
    public: bool,
    calibrate: bool,
) -> dict[str, object]:
    """Return the settings of a new pool that options and parameter file set."""
    from equipoise.analysis.systems import chosen_parameters

    chosen = chosen_parameters(system.system, from_file, system.set_)
    settings: dict[str, object] = dict(zip(("system", "parameters"), chosen or (), strict=False))
    own = {"statistics": dict(statistics), "late": late, "public": public, "calibrate": calibrate}
    return settings | {name: value for name, value in own.items() if value}


def _lines(done: ImportMessage) -> list[str]:
    """Return lines on what was recorded and what was not."""
    created = f", which was created and is rated by {done.system}" if done.created else ""
    matches = counted(done.matches, "match", "matches")
    lines = [f"{matches} recorded in pool {done.pool}{created} ({done.seconds:.2f} s)"]
    counts = (
        (done.amendments, "amendment recorded", "amendments recorded"),
        (done.known_matches, "match was already there", "matches were already there"),
        (done.known_amendments, "amendment was already there", "amendments were already there"),
    )
    lines += [counted(count, *what) for count, *what in counts if count]
    if done.known_ratings:
        begun = counted(done.known_ratings, "player", "players")
        lines.append(f"{begun} of the pool started from known ratings")
    if done.same_head:
        lines.append(f"the pool has the same head as the log: {done.head}")
    elif done.same_head is not None:
        lines.append("the pool and the log have different heads: their records or settings differ")
    if done.pending:
        lines.append("the service is replaying the pool; ratings change when it is done")
    return lines if done.history is None else [*lines, *reading_lines(done.history)]
