"""All commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli import (
    audit,
    backtest,
    balance,
    demo,
    explain,
    export,
    import_,
    keys,
    performance,
    plot,
    predict,
    rate,
    rebalance,
    serve,
    simulate,
    systems,
    tune,
    verify,
)

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


application.add_typer(audit.application, name="audit")
application.command("backtest", epilog=backtest.EXAMPLE)(backtest.backtest)
application.command("balance", epilog=balance.EXAMPLE)(balance.balance)
application.command("demo", epilog=demo.EXAMPLE)(demo.demo)
application.command("explain", epilog=explain.EXAMPLE)(explain.explain)
application.command("export", epilog=export.EXAMPLE)(export.export)
application.command("import", epilog=import_.EXAMPLE)(import_.import_)
application.add_typer(keys.application, name="keys")
application.command("performance", epilog=performance.EXAMPLE)(performance.performance)
application.command("plot", epilog=plot.EXAMPLE)(plot.plot)
application.command("predict", epilog=predict.EXAMPLE)(predict.predict)
application.command("rate", epilog=rate.EXAMPLE)(rate.rate)
application.command("rebalance", epilog=rebalance.EXAMPLE)(rebalance.rebalance)
application.command("serve", epilog=serve.EXAMPLE)(serve.serve)
application.command("simulate", epilog=simulate.EXAMPLE)(simulate.simulate)
application.command("systems", epilog=systems.EXAMPLE)(systems.systems)
application.command("tune", epilog=tune.EXAMPLE)(tune.tune)
application.command("verify", epilog=verify.EXAMPLE)(verify.verify)
