"""equipoise audit incentives: whether players would have ended higher by doing worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from equipoise.cli import options
from equipoise.cli.declaring import option

if TYPE_CHECKING:
    from equipoise.workflows.incentives import IncentivesAnswer

EXAMPLE = """\b
Example:
  equipoise audit incentives examples/contests.csv --system elo-mmr --player jade-kite
  equipoise audit incentives examples/contests.csv --system elo-mmr --others replayed --details"""


def incentives(
    *,
    history: options.History,
    systems: options.Systems,
    player: list[str] | None = option(
        None,
        "Whom to look at; repeatable. [default: the two most active, and two of medium activity]",
        "ID",
    ),
    others: str = option(
        "frozen",
        "frozen: before every match the others have the ratings they had there. replayed: "
        "everything is rated anew with the worse places.",
        "HOW",
    ),
    matches: int = option(40, "Last rated matches of a player in which places may be worse.", "N"),
    budget: int = option(500, "Plans to try for a player while the others are frozen.", "N"),
    replays: int = option(20, "Plans to try for a player with everything replayed.", "N"),
    seed: int = option(0, "Random seed of the plans that are drawn.", "N"),
    output: str | None = option(
        None,
        "Table of all matches considered (.csv, .parquet, .json, .jsonl, .tsv), instead of the "
        "one in the terminal.",
        "FILE",
    ),
    chart: str | None = option(
        None,
        "Chart of the player who gains most (.svg, .png, .pdf), instead of the one in the "
        "terminal.",
        "FILE",
    ),
    details: bool = option(False, "Print the matches that are thrown as well."),
    title: options.Title,
    threads: options.Threads,
    reading: options.Reading,
    as_json: options.Json,
) -> None:
    """Search for players who would have ended higher by doing worse, and how.

    The last matches of a player are gone through with worse places, never better ones. In a system
    with aligned incentives no plan gains anything while the others are frozen; systems that count
    how much results vary can be exploited. What is found is a lower bound of what can be gained.
    """
    from equipoise.cli.report import print_json, say, say_compiled, working
    from equipoise.evaluate.incentives import Effort
    from equipoise.numeric.workers import available_cores
    from equipoise.workflows import incentives as work

    settings = systems.settings()
    request = work.IncentivesRequest(
        history=reading.request(history, settings),
        players=tuple(player or ()),
        others=cast(Literal["frozen", "replayed"], others),
        effort=Effort(matches=matches, budget=budget, replays=replays),
        seed=seed,
        output=output,
        chart=chart,
        title=title,
        threads=threads or available_cores(),
    )
    chosen = systems.chosen(settings)
    with working("trying plans") as job:
        answer = work.audit_incentives(chosen, request, job.progress)
    if as_json:
        print_json(work.message_of(answer))
        return
    _print(answer, details)
    if output is not None:
        say(f"wrote {output}")
    if chart is not None:
        say(f"drew {chart}")
    say_compiled(job.compilation)


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
            print_chart(text_of(answer, sheet()))
            print_lines("")
        print_table(players_table(told))
        if details and gained:
            print_lines("")
            print_table(thrown_table(told))
    say(*incentives_lines(told), *reading_lines(told.history))
