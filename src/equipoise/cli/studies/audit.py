"""equipoise audit: the audits of a rating system."""

from __future__ import annotations

from equipoise.cli.declaring import add_command
from equipoise.cli.grouping import create_group
from equipoise.cli.studies import drift, incentives

application = create_group(
    "Audit rating systems: drift of the ratings, and incentives to throw matches."
)
add_command(application, "drift", drift.drift, drift.EXAMPLE)
add_command(application, "incentives", incentives.incentives, incentives.EXAMPLE)
