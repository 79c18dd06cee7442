"""equipoise systems: which rating systems there are."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli import options

EXAMPLE = """\b
Example:
  equipoise systems elo-mmr"""


def systems(
    name: Annotated[
        str | None, typer.Argument(help="Show the parameters of one system.", show_default=False)
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the rating systems, or the parameters of one."""
    from equipoise.cli.report import print_json, print_lines, print_table, say
    from equipoise.errors import NotFoundError
    from equipoise.workflows.systems import list_systems

    found = list_systems()
    if name is not None:
        found = [system for system in found if system.name == name]
        if not found:
            names = ", ".join(system.name for system in list_systems())
            raise NotFoundError(f"no system {name!r}: there are {names}")
    if as_json:
        print_json(found)
    elif name is None:
        rows = [[system.name, system.rates, system.summary, system.source] for system in found]
        print_table(["system", "rates", "for", "source"], rows, set())
    else:
        rows = [
            [
                parameter.name,
                parameter.type,
                "" if parameter.default is None else str(parameter.default),
            ]
            for parameter in found[0].parameters
        ]
        print_table(["parameter", "type", "default"], rows, set())
        needs = [f"{name} (with {parameter})" for name, parameter in found[0].needs.items()]
        say(f"Columns that change its ratings: {', '.join([*found[0].uses, *needs])}.")
        for parameter in found[0].parameters:
            if parameter.note:
                print_lines("", f"{parameter.name} is {parameter.note}.")
