"""equipoise audit incentives: whether players would have ended higher by doing worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from equipoise.cli import options

if TYPE_CHECKING:
    from equipoise.workflows.incentives import IncentivesAnswer

EXAMPLE = """\b
Example:
  equipoise audit incentives examples/contests.csv --system elo-mmr --player jade-kite
  equipoise audit incentives examples/contests.csv --system elo-mmr --others replayed --details"""


def incentives(
    history: options.History,
    system: options.Systems = None,
    set_: options.SetOfLabel = None,
    parameters: options.Parameters = None,
    player: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Whom to look at; repeatable. [default: the two most active, and two of medium "
            "activity]",
        ),
    ] = None,
    others: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            show_default=False,
            help="frozen: before every match the others have the ratings they had there. replayed: "
            "everything is rated anew with the worse places. [default: frozen]",
        ),
    ] = "frozen",
    matches: Annotated[
        int,
        typer.Option(
            metavar="N",
            show_default=False,
            help="Last rated matches of a player in which places may be worse. [default: 40]",
        ),
    ] = 40,
    budget: Annotated[
        int,
        typer.Option(
            metavar="N",
            show_default=False,
            help="Plans to try for a player while the others are frozen. [default: 500]",
        ),
    ] = 500,
    replays: Annotated[
        int,
        typer.Option(
            metavar="N",
            show_default=False,
            help="Plans to try for a player with everything replayed. [default: 20]",
        ),
    ] = 20,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            show_default=False,
            help="Random seed of the plans that are drawn. [default: 0]",
        ),
    ] = 0,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table of all matches considered (.csv, .parquet, .json, .jsonl, .tsv), instead "
            "of the one in the terminal.",
        ),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Chart of the player who gains most (.svg, .png, .pdf), instead of the one in the "
            "terminal.",
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Print the matches that are thrown as well.")
    ] = False,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Chart title.")] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="For large matches; never changes a number. [default: all]"),
    ] = None,
    column: options.Column = None,
    stat: options.Stat = None,
    lower_score_is_better: options.LowerScore = False,
    skip_bad: options.SkipBad = None,
    since: options.Since = None,
    until: options.Until = None,
    time_format: options.TimeFormat = None,
    where: options.Where = None,
    synonyms: options.Synonyms = None,
    format_: options.Format = None,
    strict: options.Strict = False,
    as_json: options.Json = False,
) -> None:
    """Search for players who would have ended higher by doing worse, and how.

    The last matches of a player are gone through with worse places, never better ones. In a system
    with aligned incentives no plan gains anything while the others are frozen; systems that count
    how much results vary can be exploited. What is found is a lower bound of what can be gained.
    """
    from equipoise._jit import watch_compilation
    from equipoise.cli.reading import history_request
    from equipoise.cli.report import print_json, progress, say, say_compiled
    from equipoise.evaluate.incentives import Effort
    from equipoise.numeric.workers import available_cores
    from equipoise.workflows import incentives as work
    from equipoise.workflows.settings import read_settings
    from equipoise.workflows.systems_choice import chosen_systems

    settings = read_settings(parameters)
    request = work.IncentivesRequest(
        history=history_request(
            history,
            settings,
            format_=format_,
            column=column,
            stat=stat,
            lower_score_is_better=lower_score_is_better,
            strict=strict,
            skip_bad=skip_bad,
            where=where,
            synonyms=synonyms,
            since=since,
            until=until,
            time_format=time_format,
        ),
        players=tuple(player or ()),
        others=cast(Literal["frozen", "replayed"], others),
        effort=Effort(matches=matches, budget=budget, replays=replays),
        seed=seed,
        output=output,
        chart=chart,
        title=title,
        threads=threads or available_cores(),
    )
    systems = chosen_systems(system or [], settings, set_ or [])
    with (
        watch_compilation(lambda: say("Compiling for this machine, once ...")) as compilation,
        progress("trying plans") as show,
    ):
        answer = work.audit_incentives(systems, request, show)
    if as_json:
        print_json(work.message_of(answer))
        return
    _print(answer, details)
    for verb, path in (("wrote", output), ("drew", chart)):
        if path is not None:
            say(f"{verb} {path}")
    say_compiled(compilation)


def _print(answer: IncentivesAnswer, details: bool) -> None:
    """Print chart and tables where no file was asked for, and on standard error the rest."""
    from equipoise.cli.incentives_tables import incentives_lines, players_table, thrown_table
    from equipoise.cli.reading import reading_lines
    from equipoise.cli.report import print_chart, print_lines, print_table, say
    from equipoise.cli.terminal import sheet
    from equipoise.workflows.incentives import message_of, text_of

    told, request = message_of(answer), answer.request
    gained = any(one.thrown for system in told.systems for one in system.players)
    if request.output is None:
        if gained and request.chart is None:
            print_chart(text_of(answer, title=request.title, **sheet()._asdict()))
            print_lines("")
        print_table(*players_table(told))
        if details and gained:
            print_lines("")
            print_table(*thrown_table(told))
    for line in (*incentives_lines(told), *reading_lines(told.history)):
        say(line)
