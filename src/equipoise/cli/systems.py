"""equipoise systems: the rating systems and their parameters."""

from __future__ import annotations

from equipoise.cli import options
from equipoise.cli.declaring import argument
from equipoise.cli.report import print_json, print_lines, print_table, say
from equipoise.cli.tables import table
from equipoise.errors import NotFoundError

EXAMPLE = """\b
Example:
  equipoise systems elo-mmr"""


def systems(
    *,
    name: str | None = argument("The system whose parameters to show.", "NAME", default=None),
    as_json: options.Json,
) -> None:
    """List the rating systems, or the parameters of one."""
    from equipoise.analysis.files.systems import list_systems

    found = list_systems()
    if name is not None:
        found = [system for system in found if system.name == name]
        if not found:
            names = ", ".join(system.name for system in list_systems())
            raise NotFoundError(f"no system {name!r}; the systems are {names}")
    if as_json:
        print_json(found)
    elif name is None:
        rows = ((system.name, system.rates, system.summary, system.source) for system in found)
        print_table(table(dict.fromkeys(("system", "rates", "for", "source"), ""), rows))
    else:
        parameters = ((one.name, one.type, one.default) for one in found[0].parameters)
        print_table(table({"parameter": "", "type": "", "default": ""}, parameters))
        needs = [f"{name} (with {parameter})" for name, parameter in found[0].needs.items()]
        say(f"Columns that change its ratings: {', '.join([*found[0].uses, *needs])}.")
        for parameter in found[0].parameters:
            if parameter.note:
                print_lines("", f"{parameter.name} is {parameter.note}.")
