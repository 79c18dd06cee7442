"""equipoise doctor: whether everything that is needed is there, and what to do if not."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from equipoise.analysis.doctor.finding import Finding, Status, first_line
from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.report import print_json, print_lines
from equipoise.wording import counted

EXAMPLE = """\b
Example:
  equipoise doctor --need service"""

#: Columns of the text, and those before a detail.
_WIDE, _INDENT = 100, 26


def doctor(
    *,
    need: list[str] | None = option(
        None, "An extra that must be installed; can be repeated.", "EXTRA"
    ),
    database: str | None = option(
        None,
        "Also look at this database: sqlite:///FILE or "
        "postgresql+psycopg://USER:PASSWORD@HOST/NAME. The environment variable "
        "EQUIPOISE_DATABASE also sets it.",
        "URL",
        envvar="EQUIPOISE_DATABASE",
        show_envvar=False,
    ),
    as_json: options.Json,
) -> int:
    """Look at the installation: versions, extras, compiled kernels, machine, database.

    If a command can correct a problem, it is printed. Nothing is compiled or changed. Exit status 1
    means that something needed is missing or does not work. With --database, the extras of that
    database are needed too.
    """
    from equipoise.analysis.doctor.libraries import Installation, extra_findings, version_findings
    from equipoise.analysis.doctor.machine import (
        kernel_findings,
        machine_findings,
        program_findings,
    )

    needed = {*(need or ()), *_extras_of(database)}
    here = Installation.look()
    findings = [*version_findings(here), *extra_findings(here, needed)]
    findings += [*kernel_findings(), *machine_findings(), *program_findings()]
    if database is not None:
        findings += _database_findings(database)
    ok = all(one.status != "failed" for one in findings)
    if as_json:
        from equipoise.messages.conversion import to_messages
        from equipoise.messages.upkeep import DoctorMessage, FindingMessage

        columns = {name: [getattr(one, name) for one in findings] for name in Finding.__slots__}
        print_json(DoctorMessage(ok, to_messages(FindingMessage, None, **columns)))
    else:
        print_lines(*_lines(findings))
    return 0 if ok else 1


def _extras_of(database: str | None) -> Iterator[str]:
    """Give the extras that a database needs."""
    if database is not None:
        yield "service"
        if database.startswith("postgresql"):
            yield "postgresql"


def _database_findings(url: str) -> Iterator[Finding]:
    """Give the quick checks of a database. Its libraries may be missing or broken."""
    topic = "Database"
    # An address with a name of a user may have a password.
    shown = "URL" if "@" in url else shlex.quote(url)
    named = "" if os.environ.get("EQUIPOISE_DATABASE") == url else f" --database {shown}"
    try:
        from equipoise.cli.service.databases import check_installed, check_there
        from equipoise.errors import NotFoundError
        from equipoise.pools.checking import check_database

        check_installed("sqlalchemy", "alembic")
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
    for one in checks:
        remedy = remedies.get(one.check, "") if one.status == "failed" else ""
        yield Finding(topic, one.check, statuses[one.status], one.detail, remedy)
    detail = "the content and its hash chains were not checked"
    yield Finding(topic, "content", "absent", detail, f"equipoise db check{named}")


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of the text: headings, things, and commands that help."""
    for topic, of_topic in groupby(findings, lambda one: one.topic):
        yield from (topic, "")
        for one in of_topic:
            detail = textwrap.wrap(one.detail, _WIDE - _INDENT, break_on_hyphens=False) or [""]
            yield f"  {one.status:<8} {one.name:<13}  {detail[0]}"
            yield from (" " * _INDENT + line for line in detail[1:])
            if one.remedy:
                yield f"{' ' * _INDENT}$ {one.remedy}"
        yield ""
    failed = sum(one.status == "failed" for one in findings)
    yield f"{counted(failed, 'problem')} found." if failed else "No problems found."
