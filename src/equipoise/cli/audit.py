"""equipoise audit: what a rating system does to its players, all in all."""

from __future__ import annotations

import typer

from equipoise.cli import audit_drift, audit_incentives

application = typer.Typer(
    help="Ask what a rating system does to its players, all in all.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
application.command("drift", epilog=audit_drift.EXAMPLE)(audit_drift.drift)
application.command("incentives", epilog=audit_incentives.EXAMPLE)(audit_incentives.incentives)
