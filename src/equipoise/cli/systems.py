"""equipoise systems: the rating systems and their parameters."""

from __future__ import annotations

from equipoise.cli import completion, options
from equipoise.cli.declaring import argument
from equipoise.cli.report import print_json, print_lines, print_table, say
from equipoise.cli.tables import table

EXAMPLE = """\b
Example:
  equipoise systems elo-mmr"""


def systems(
    *,
    name: str | None = argument(
        "The system whose parameters to show.",
        "NAME",
        default=None,
        autocompletion=completion.systems,
    ),
    as_json: options.Json,
) -> None:
    """List the rating systems, or the parameters of one.

    Systems of other packages are listed with their package, which is imported when the system is
    named.
    """
    from equipoise.analysis.files.systems import described, list_systems, refused_systems

    found = list_systems() if name is None else [described(name)]
    for sentence in refused_systems() if name is None else ():
        say(f"Note: {sentence}.")
    if as_json:
        print_json(found)
    elif name is None:
        rows = ((system.name, system.rates, system.summary, system.source) for system in found)
        print_table(table(dict.fromkeys(("system", "rates", "for", "source"), ""), rows))
    else:
        if found[0].package:
            say(f"{found[0].name} comes from the package {found[0].package}: {found[0].summary}")
        parameters = ((one.name, one.type, one.default) for one in found[0].parameters)
        print_table(table({"parameter": "", "type": "", "default": ""}, parameters))
        needs = [f"{name} (with {parameter})" for name, parameter in found[0].needs.items()]
        say(f"Columns that change its ratings: {', '.join([*found[0].uses, *needs])}.")
        for parameter in found[0].parameters:
            if parameter.note:
                print_lines("", f"{parameter.name} is {parameter.note}.")
