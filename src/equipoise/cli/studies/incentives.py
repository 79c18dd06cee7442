"""equipoise audit incentives: whether players would have ended higher by doing worse.

The tables of an audit of incentives, as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, cast

from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.tables import Table, minutes, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.studies.incentives import IncentivesAnswer
    from equipoise.messages.studies import IncentiveMessage, IncentivesMessage

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
    from equipoise.analysis.studies import incentives as work
    from equipoise.cli.report import print_json, say, say_compiled, working
    from equipoise.evaluate.incentives.audit import Effort
    from equipoise.numeric.workers import available_cores

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
    from equipoise.analysis.studies.incentives import message_of, text_of
    from equipoise.cli.options import reading_lines
    from equipoise.cli.report import print_chart, print_lines, print_table, say, sheet

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


def players_table(answer: IncentivesMessage) -> Table:
    """Return a row for every player under every system."""
    several, replayed = len(answer.systems) > 1, answer.others == "replayed"
    names = ["player", "played", "considered", "thrown", "honest", "by_plan", "gain"]
    names += ["gain_frozen"] * replayed + ["plans"]
    rows = (
        [system.label] * several
        + [str(one.player), f"{one.played:,d}", f"{len(one.matches):,d}", f"{one.thrown:,d}"]
        + [_points(one.honest), _points(one.planned), _points(one.gain, "+")]
        + [_points(one.gain_frozen, "+")] * replayed
        + [f"{one.plans:,d}{' (all)' if one.complete else ''}"]
        for system in answer.systems
        for one in system.players
    )
    return _table(["system"] * several + names, rows)


def thrown_table(answer: IncentivesMessage) -> Table:
    """Return a row for every match that a plan throws."""
    several = len(answer.systems) > 1
    timed = any(match.time is not None for match in answer.systems[0].players[0].matches)
    names = ["player", "match"] + ["time"] * timed
    names += ["teams", "place", "by_plan", "honest", "rating_by_plan"]
    rows = (
        [system.label] * several
        + [str(one.player), str(match.match)]
        + [minutes(match.time)] * timed
        + [f"{match.teams:,d}", _place(match.place, match.tied)]
        + [_place(match.planned_place, match.planned_tied)]
        + [_points(match.honest), _points(match.planned)]
        for system in answer.systems
        for one in system.players
        for match in one.matches
        if match.thrown
    )
    return _table(["system"] * several + names, rows)


def _table(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> Table:
    """Return rows of text as a table, with what are no names and no times to the right."""
    left = ("system", "player", "match", "time")
    return table({name: "" if name in left else ">" for name in names}, rows)


def incentives_lines(answer: IncentivesMessage) -> list[str]:
    """Return in words how far was looked, and what that proves."""
    last = f"the last {counted(answer.last_matches, 'rated match', 'rated matches')} of each player"
    tried = f"at most {counted(answer.budget, 'plan')} a player"
    if answer.replays is not None:
        tried += f", {answer.replays:,} of them with everything replayed"
    lines = [f"Worse places in {last}; {tried}."]
    for system in answer.systems:
        name = f"{system.label}: " if len(answer.systems) > 1 else ""
        best = max(system.players, key=lambda one: one.gain)
        lines.append(f"{name}{_told(best)}, found in {system.seconds:.1f} s")
        failed = sum(one.failed for one in system.players)
        if failed:
            plans = counted(failed, "plan leaves", "plans leave")
            lines.append(f"{name}{plans} the player without a rating by {system.system}")
    if not all(one.complete for system in answer.systems for one in system.players):
        lines.append(
            "A gain is there to be had, and may be larger: not all plans were tried. "
            "Finding none proves nothing."
        )
    return lines


def _told(best: IncentiveMessage) -> str:
    """Return the largest gain of a system in words."""
    if not best.thrown:
        return "no plan gains anything"
    thrown = counted(best.thrown, "match", "matches")
    return f"{best.player} gains {_points(best.gain)} points by throwing {thrown}"


def _points(value: float, sign: str = "") -> str:
    """Return rating points; a rating may have run away, a gain may be small."""
    if abs(value) >= 1e6:
        return format(value, f"{sign}.2e")
    small = sign and 0 < abs(value) < 0.05
    return format(
        value if small else round(value, 1) + 0.0, f"{sign}.6f" if small else f"{sign}.1f"
    )


def _place(place: int, tied: int) -> str:
    return f"{place:,d}{'=' if tied else ''}"
