"""The application `equipoise` with all of its commands."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli import demo, doctor, systems
from equipoise.cli.declaring import add_command
from equipoise.cli.files import (
    balance,
    explain,
    performance,
    plot,
    predict,
    rate,
    rebalance,
    simulate,
)
from equipoise.cli.service import backups, erase, exchange, keys, serve, verify
from equipoise.cli.studies import backtest, drift, incentives, tune

application = typer.Typer(
    name="equipoise",
    help="Ratings, tournament performance and fair teams.",
    no_args_is_help=True,
    add_completion=False,
    # Plain help needs no Rich, which takes longer to load than everything else here.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from equipoise.cli.report import print_lines

        print_lines(f"equipoise {version('equipoise')}")
        raise typer.Exit


@application.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Ratings, tournament performance and fair teams."""


audit = typer.Typer(
    help="Audit rating systems: drift of the ratings, and incentives to throw matches.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
add_command(audit, "drift", drift.drift, drift.EXAMPLE)
add_command(audit, "incentives", incentives.incentives, incentives.EXAMPLE)

application.add_typer(audit, name="audit")
add_command(application, "backtest", backtest.backtest, backtest.EXAMPLE)
add_command(application, "backup", backups.backup, backups.BACKUP_EXAMPLE)
add_command(application, "balance", balance.balance, balance.EXAMPLE)
add_command(application, "check", backups.check, backups.CHECK_EXAMPLE)
add_command(application, "demo", demo.demo, demo.EXAMPLE)
add_command(application, "doctor", doctor.doctor, doctor.EXAMPLE)
add_command(application, "erase", erase.erase, erase.EXAMPLE)
add_command(application, "explain", explain.explain, explain.EXAMPLE)
add_command(application, "export", exchange.export, exchange.EXAMPLE)
add_command(application, "import", exchange.import_, exchange.IMPORT_EXAMPLE)
application.add_typer(keys.application, name="keys")
add_command(application, "performance", performance.performance, performance.EXAMPLE)
add_command(application, "plot", plot.plot, plot.EXAMPLE)
add_command(application, "predict", predict.predict, predict.EXAMPLE)
add_command(application, "rate", rate.rate, rate.EXAMPLE)
add_command(application, "rebalance", rebalance.rebalance, rebalance.EXAMPLE)
add_command(application, "restore", backups.restore, backups.RESTORE_EXAMPLE)
add_command(application, "serve", serve.serve, serve.EXAMPLE)
add_command(application, "simulate", simulate.simulate, simulate.EXAMPLE)
add_command(application, "systems", systems.systems, systems.EXAMPLE)
add_command(application, "tune", tune.tune, tune.EXAMPLE)
add_command(application, "verify", verify.verify, verify.EXAMPLE)
