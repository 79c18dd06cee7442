"""equipoise export: a pool of the service as a file.

equipoise import: matches from a file into a pool of the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from equipoise.cli import options
from equipoise.cli.declaring import argument, option

if TYPE_CHECKING:
    from equipoise.analysis.files.systems import Settings
    from equipoise.messages.exchange import ImportMessage

EXAMPLE = """\b
Example:
  equipoise export contests --what log --output contests.ndjson
  equipoise export contests --what ratings --output ratings.csv"""


def export(
    *,
    pool: str = argument("The pool.", "POOL"),
    output: str = option(..., "Where to: .csv, .parquet, or .ndjson (also .jsonl).", "FILE"),
    what: Literal["log", "ratings", "changes"] = option(
        "log",
        "log: all that was posted and amended (.ndjson, for `equipoise import`), or the matches "
        "as they count now (.csv, .parquet, for `equipoise rate`). ratings: the rating table. "
        "changes: what every match did to every player in it.",
    ),
    database: options.Database,
) -> None:
    """Write a pool's log, ratings or changes to a file, whole or not at all.

    All of it is of one moment; a service may run on the database meanwhile.
    """
    from equipoise.cli.report import progress
    from equipoise.cli.service.databases import opened
    from equipoise.pools.exchange.exporting import export_file, format_of

    format_of(output)
    with opened(database) as store, progress("writing") as show:
        export_file(store, pool, what, output, show)


IMPORT_EXAMPLE = """\b
Example:
  equipoise import examples/contests.csv --pool contests --create --system elo-mmr"""


def import_(
    *,
    source: str = argument(
        "A log by `equipoise export`, or a history in any format that `equipoise rate` reads, or "
        "- for one on standard input (with --format).",
        "FILE",
    ),
    pool: str = option(..., "The pool they come into.", "POOL"),
    create: bool = option(
        False, "Make the pool if it is not there; a log says how, if nothing else does."
    ),
    system: options.System,
    late: Literal["reject", "append", "replay"] | None = option(
        None,
        "What a pool that is made does with matches older than its last one. [default: reject]",
    ),
    public: bool = option(False, "Anybody may read a pool that is made, without a key."),
    reading: options.Reading,
    database: options.Database,
    as_json: options.Json,
) -> None:
    """Bring matches into a pool, rated and recorded as if they were posted.

    What is there already is left alone, so an import that was cut off is simply run again. Of a
    file that cannot be read nothing is recorded. Where the pool refuses a record of a log, all
    records before it are kept.
    """
    from equipoise.analysis.clock import now as clock
    from equipoise.cli.report import print_json, say, say_compiled, working
    from equipoise.cli.service.databases import opened
    from equipoise.pools.exchange.importing import ImportRequest, import_pool

    told = system.settings()
    history = reading.request(source, told)
    settings = _settings(system, told, history.statistics, late, public)
    _check_usage(settings, create)
    request = ImportRequest(history=history, create=create, settings=settings)
    with opened(database, create=create) as store, working("importing") as job:
        done = import_pool(store, pool, request, clock(), job.progress)
    if as_json:
        print_json(done)
        return
    say(*_lines(done))
    say_compiled(job.compilation)


def _settings(
    system: options.System,
    told: Settings,
    statistics: Mapping[str, float],
    late: str | None,
    public: bool,
) -> dict[str, object]:
    """Return what is said of the pool to be made; what is not said is left open."""
    from equipoise.analysis.files.systems import DEFAULT_SYSTEM, assignments

    found: dict[str, object] = {}
    name = system.system or told.system
    set_here: dict[str, object] = dict(assignments(system.set_ or [], "--set"))
    if name is not None or told.parameters or set_here:
        chosen = name or DEFAULT_SYSTEM
        same = chosen == (told.system or chosen)
        found["system"] = chosen
        found["parameters"] = {**(told.parameters if same else {}), **set_here}
    if statistics:
        found["statistics"] = dict(statistics)
    if late is not None:
        found["late"] = late
    if public:
        found["public"] = True
    return found


def _check_usage(settings: dict[str, object], create: bool) -> None:
    """Refuse to say how a pool is set that is not made. Raises : InvalidParameterError."""
    from equipoise.errors import InvalidParameterError

    if settings and not create:
        raise InvalidParameterError(
            "--system, --set, --parameters, --stat, --late and --public say how a pool is made: "
            "they need --create"
        )


def _lines(done: ImportMessage) -> list[str]:
    """Return what was recorded, and what was not."""
    from equipoise.cli.options import reading_lines
    from equipoise.wording import counted

    made = ", which was made" if done.created else ""
    matches = counted(done.matches, "match", "matches")
    lines = [f"{matches} recorded in pool {done.pool}{made} ({done.seconds:.2f} s)"]
    counts = (
        (done.amendments, "amendment recorded", "amendments recorded"),
        (done.known_matches, "match was already there", "matches were already there"),
        (done.known_amendments, "amendment was already there", "amendments were already there"),
    )
    lines += [counted(count, *what) for count, *what in counts if count]
    if done.pending:
        lines.append("ratings await a replay that the service is at")
    return lines if done.history is None else [*lines, *reading_lines(done.history)]
