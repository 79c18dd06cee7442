"""equipoise audit: what a rating system does to its players, all in all."""

from __future__ import annotations

import typer

from equipoise.cli import audit_drift, audit_incentives
from equipoise.cli.declaring import add_command

application = typer.Typer(
    help="Ask what a rating system does to its players, all in all.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
add_command(application, "drift", audit_drift.drift, audit_drift.EXAMPLE)
add_command(application, "incentives", audit_incentives.incentives, audit_incentives.EXAMPLE)
