"""equipoise audit: the audits of a rating system."""

from __future__ import annotations

import typer

from equipoise.cli.declaring import add_command
from equipoise.cli.grouping import CommandGroup
from equipoise.cli.studies import drift, incentives

application = typer.Typer(
    cls=CommandGroup,
    help="Audit rating systems: drift of the ratings, and incentives to throw matches.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
add_command(application, "drift", drift.drift, drift.EXAMPLE)
add_command(application, "incentives", incentives.incentives, incentives.EXAMPLE)
