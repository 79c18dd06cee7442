"""equipoise doctor and systems: whether everything is installed, and what there is to rate with.

The doctor also compiles the kernels that commands need for a rating system ahead of their use.
"""

from __future__ import annotations

import os
import shlex
import tempfile
import textwrap
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from equipoise.analysis.doctor.computation import (
    Finding,
    Installation,
    Status,
    extra_findings,
    first_line,
    kernel_findings,
    program_findings,
    version_findings,
)
from equipoise.analysis.requests import typed
from equipoise.cli import options
from equipoise.cli.report import compiling, print_json, print_lines, print_table, say, table
from equipoise.errors import InvalidParameterError, UnavailableError
from equipoise.wording import counted

#: Columns of the text, and those before a detail.
_WIDE, _INDENT = 100, 26


def doctor(
    *,
    systems: tuple[str, ...] = typed(
        (),
        "Rating systems to compile with --compile. [default: all built-in systems]",
        "SYSTEM ...",
        argument=True,
        completes="systems",
    ),
    compile_: bool = typed(
        False,
        "Compile the kernels of rating systems in advance, and check nothing else.",
    ),
    need: tuple[str, ...] = typed((), "Extra that must be installed. Repeatable.", "EXTRA"),
    database: str | None = typed(
        None,
        "Also check this database: sqlite:///FILE or "
        "postgresql+psycopg://USER:PASSWORD@HOST/NAME. The environment variable "
        "EQUIPOISE_DATABASE also sets it.",
        "URL",
        variable="EQUIPOISE_DATABASE",
    ),
    as_json: options.Json,
) -> int:
    """Check the installation: versions, extras, compiled kernels, programs and database.

    Prints the command that corrects a problem, if there is one. Compiles and changes nothing. Exit
    status 1 means that something needed is missing or does not work. With --database, the extras of
    that database are needed too.

    With --compile, compiles the kernels that the commands and the service need for systems with
    default parameters, for images and servers. They are kept in the folder of compiled kernels
    (NUMBA_CACHE_DIR moves it). Existing kernels are not compiled again.

    Example:
      equipoise doctor --need service
      equipoise doctor --compile elo-mmr glicko2
    """
    if compile_:
        if need:
            raise InvalidParameterError("--need cannot be combined with --compile")
        _compile(systems or (), as_json)
        return 0
    if systems:
        raise InvalidParameterError(f"{systems[0]} needs --compile: it names a system to compile")

    needed = {*(need or ())}
    if database is not None:
        needed |= {"service", *(["postgresql"] if database.startswith("postgresql") else [])}
    here = Installation.look()
    findings = [*version_findings(here), *extra_findings(here, needed)]
    findings += [*kernel_findings(), *program_findings()]
    if database is not None:
        findings += _database_findings(database)
    ok = all(finding.status != "failed" for finding in findings)
    if as_json:
        print_json({"ok": ok, "findings": [finding._asdict() for finding in findings]})
    else:
        print_lines(*_lines(findings))
    return 0 if ok else 1


def _database_findings(url: str) -> Iterator[Finding]:
    """Give the quick checks of a database. Its libraries may be missing or broken."""
    topic = "Database"
    # An address with a name of a user may have a password.
    shown = "URL" if "@" in url else shlex.quote(url)
    named = "" if os.environ.get("EQUIPOISE_DATABASE") == url else f" --database {shown}"
    try:
        from equipoise.cli.service import check_installed, check_there
        from equipoise.errors import NotFoundError
        from equipoise.pools.backups import check_database

        check_installed("sqlalchemy")
        try:
            check_there(url)
        except NotFoundError as error:
            detail = f"{error}; `equipoise serve` creates it"
            yield Finding(topic, "file", "failed", detail, f"equipoise serve{named}")
            return
        checks = check_database(url, quick=True).checks
    except Exception as error:  # noqa: BLE001   libraries and servers may fail in any way
        yield Finding(topic, "address", "failed", first_line(error))
        return
    remedies = {
        "schema": f"equipoise serve{named}",
        "indexes": f"equipoise db restore BACKUP --overwrite{named}",
    }
    statuses: dict[str, Status] = {"ok": "ok", "failed": "failed", "skipped": "absent"}
    for check in checks:
        remedy = remedies.get(check.check, "") if check.status == "failed" else ""
        yield Finding(topic, check.check, statuses[check.status], check.detail, remedy)
    detail = "the content and its hash chains were not checked"
    yield Finding(topic, "content", "absent", detail, f"equipoise db check{named}")


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of the text: headings, things, and commands that help."""
    for topic, of_topic in groupby(findings, lambda finding: finding.topic):
        yield from (topic, "")
        for finding in of_topic:
            detail = textwrap.wrap(finding.detail, _WIDE - _INDENT, break_on_hyphens=False) or [""]
            yield f"  {finding.status:<8} {finding.name:<13}  {detail[0]}"
            yield from (" " * _INDENT + line for line in detail[1:])
            if finding.remedy:
                yield f"{' ' * _INDENT}$ {finding.remedy}"
        yield ""
    failed = sum(finding.status == "failed" for finding in findings)
    yield f"{counted(failed, 'problem')} found." if failed else "No problems found."


def _compile(systems: Sequence[str], as_json: bool) -> None:
    """Compile the kernels of systems, by default of all, and print what was compiled.

    Raises : NotFoundError, UnavailableError
    """
    from equipoise.rating.registry import SYSTEMS, check_name

    for name in systems:
        check_name(name)
    folder, service = kernel_folder(), find_spec("sqlalchemy") is not None
    start = time.perf_counter()
    done = [_compiled(name, service) for name in dict.fromkeys(systems or SYSTEMS)]
    seconds = time.perf_counter() - start
    if as_json:
        systems_json = [system._asdict() for system in done]
        answer = {"folder": str(folder), "service": service, "systems": systems_json}
        print_json({**answer, "seconds": seconds})
        return
    for name, kernels, spent in done:
        what = f"compiled {counted(kernels, 'kernel')}" if kernels else "nothing to compile"
        print_lines(f"{name}: {what}, {spent:.1f} s")
    kernels = sum(system.kernels for system in done)
    what = f"Compiled {counted(kernels, 'kernel')}" if kernels else "Nothing to compile"
    print_lines(f"{what}; {seconds:.1f} s. Folder: {folder}")
    if not service:
        say("The libraries of the service are not installed, so its kernels were left out.")


class _Compiled(NamedTuple):
    """How many kernels of a system were compiled now, and the seconds of compiling and trying."""

    system: str
    kernels: int
    seconds: float


def _compiled(system: str, service: bool) -> _Compiled:
    """Compile the kernels of a system in this process, also those of the service.

    Raises : EquipoiseError
    """
    start = time.perf_counter()
    with compiling() as compilation:
        compile_for_commands(system)
        if service:
            from equipoise.messages.pools import PoolRequest
            from equipoise.pools.precompiling import precompile

            precompile(PoolRequest(system=system))
    return _Compiled(system, compilation.kernels, time.perf_counter() - start)


_PLAYERS = "abcdef"
_ROUNDS = 12


def kernel_folder() -> Path:
    """Return the folder of compiled kernels. Raises : UnavailableError if there can be none."""
    from equipoise._jit import cache_folder, compiles_kernels, keeps_kernels

    if not compiles_kernels():
        raise UnavailableError("nothing is compiled while NUMBA_DISABLE_JIT is set")
    folder = cache_folder()
    if folder is None or not keeps_kernels():
        raise UnavailableError(
            "compiled kernels cannot be kept: no folder for them can be written; set "
            "NUMBA_CACHE_DIR to a folder that can be written"
        )
    return folder


def compile_for_commands(system: str) -> None:
    """Compile the kernels that commands need: rate, explain, predict and backtest a small history.

    Numba compiles a kernel for the types of its arguments, at its first call. So the use cases
    themselves are called, and nothing else has to know which kernels there are.

    Raises : NotFoundError for an unknown system, EquipoiseError
    """
    from equipoise.analysis.backtest import BacktestRequest
    from equipoise.analysis.backtest.computation import compare
    from equipoise.analysis.explain import ExplainRequest
    from equipoise.analysis.explain.computation import explain_matches
    from equipoise.analysis.performance import StrengthsRequest
    from equipoise.analysis.performance.computation import estimate_strengths
    from equipoise.analysis.predict import PredictRequest
    from equipoise.analysis.predict.computation import predict_match
    from equipoise.analysis.rate import RateRequest
    from equipoise.analysis.rate.computation import rate
    from equipoise.analysis.requests import HistoryRequest
    from equipoise.rating.registry import make_system

    made_system = make_system(system)
    with tempfile.TemporaryDirectory(prefix="equipoise-compile-") as folder:
        source, state = Path(folder, "history.csv"), Path(folder, "state.npz")
        source.write_text("\n".join(["match,time,player,rank,performance", *_rows()]))
        history = HistoryRequest(source=str(source))
        rate(made_system, RateRequest(history=history, save=str(state)))
        rate(made_system, RateRequest(history=history, trace=str(Path(folder, "trace.csv"))))
        rate(None, RateRequest(history=history, state=str(state)))
        explain_matches(made_system, ExplainRequest(history=history, player=_PLAYERS[0]))
        predict_match(
            PredictRequest(
                state=str(state),
                teams=tuple(_PLAYERS[:2]),
                places=True,
                samples=10,
                what_if=True,
                players=("a",),
            )
        )
        estimate_strengths(StrengthsRequest(history=history, top=1, ties="breslow", prior=1.0))
        compare({system: made_system}, BacktestRequest(history=history, min_history=1))


def _rows() -> Iterator[str]:
    """Yield the rows of a history that every system can rate: duels, of which some are drawn."""
    half = len(_PLAYERS) // 2
    for day in range(_ROUNDS):
        for k in range(half):
            second = 0 if (day + k) % 5 == 0 else 1
            pair = _PLAYERS[k], _PLAYERS[half + (k + day) % half]
            for player, rank in zip(pair, (0, second), strict=True):
                yield f"{half * day + k},2025-01-{day + 1:02},{player},{rank},{2 - rank}"


def systems(
    *,
    name: str | None = typed(
        None,
        "System whose parameters to list.",
        "NAME",
        argument=True,
        completes="systems",
    ),
    as_json: options.Json,
) -> None:
    """List the rating systems, or the parameters of one.

    Systems of other packages are listed with their package, which is imported only if you name the
    system.

    Example:
      equipoise systems elo-mmr
    """
    from equipoise.analysis.systems import described, list_systems, refused_systems

    listed = list_systems() if name is None else [described(name)]
    for sentence in refused_systems() if name is None else ():
        say(f"Note: {sentence}.")
    if as_json:
        print_json(listed)
        return
    if name is None:
        rows = ((system.name, system.rates, system.summary, system.source) for system in listed)
        print_table(table(dict.fromkeys(("system", "rates", "for", "source"), ""), rows))
        return
    (system,) = listed
    if system.package:
        say(f"{system.name} comes from the package {system.package}: {system.summary}")
    parameters = [(one.name, one.type, one.default) for one in system.parameters]
    print_table(table({"parameter": "", "type": "", "default": ""}, parameters))
    needs = [f"{column} (with {parameter})" for column, parameter in system.needs.items()]
    say(f"Columns that change its ratings: {', '.join([*system.uses, *needs])}.")
    for parameter in system.parameters:
        if parameter.note:
            print_lines("", f"{parameter.name}: {parameter.note}.")
