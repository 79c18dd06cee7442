"""equipoise audit drift: whether ratings rise or fall as a whole, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.report import (
    print_json,
    print_lines,
    print_table,
    reading_lines,
    say,
    say_compiled,
    working,
)
from equipoise.cli.tables import Table, cell, minutes, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.studies.drift import DriftAnswer
    from equipoise.messages.studies import (
        DriftMessage,
        DriftPointMessage,
        DriftSystemMessage,
        LevelGroupMessage,
    )

EXAMPLE = """\b
Example:
  equipoise audit drift examples/contests.csv --system elo-mmr --active-days 30
  equipoise audit drift examples/contests.csv --system elo-mmr --system elo --output drift.svg"""


def drift(
    *,
    history: options.History,
    systems: options.Systems,
    active_days: float | None = option(
        None,
        "Number of days for which a player is active after a match. [default: 90, if there are "
        "times]",
        "DAYS",
    ),
    active_matches: int | None = option(
        None,
        "Number of matches of the history for which a player is active after a match. [default: a "
        "tenth of the matches, if there are no times]",
        "N",
    ),
    points: int = option(
        25,
        "Number of times to measure at, evenly spaced in time, or in matches if activity is "
        "counted in matches.",
    ),
    output: str | None = option(
        None,
        "Write the table (.csv, .parquet, .json, .jsonl, .tsv) or the chart (.svg, .png, .pdf). "
        "[default: print the table]",
        "FILE",
    ),
    details: bool = option(
        False,
        "Print all times of every system, instead of only the last, and the players who got most "
        "to hold the level.",
    ),
    no_band: bool = option(
        False, "Leave out the band of the standard deviation in the chart of FILE."
    ),
    title: options.Title,
    threads: options.Threads,
    reading: options.Reading,
    as_json: options.Json,
) -> None:
    """Measure how the ratings of active players rise or fall as a whole, and why.

    Shows their mean rating and deviation over time; how much matches, new players and players who
    become inactive moved the mean; how many points each match created; and, if the system scales
    changes by performance, how much of that comes from scaling. Also shows where newcomers enter
    and how they perform in their first match, the points that they bring in and that inactive
    players hold, and what is handed out to hold the level, and to whom.
    """
    from equipoise.analysis.studies import drift as work

    settings = systems.settings()
    request = work.DriftRequest(
        history=reading.request(history, settings),
        active_days=active_days,
        active_matches=active_matches,
        points=points,
        output=output,
        band=not no_band,
        title=title,
        threads=options.thread_count(threads),
    )
    chosen = systems.chosen(settings)
    with working("rating") as job:
        answer = work.audit_drift(chosen, request, job.progress)
    if as_json:
        print_json(work.message_of(answer))
        return
    _print(answer, details, to_file=output is not None)
    if output is not None:
        say(f"{'drew' if work.is_chart(output) else 'wrote'} {output}")
    say_compiled(job.compilation)


def _print(answer: DriftAnswer, details: bool, to_file: bool) -> None:
    """Print the tables unless a file is written, and a summary on standard error."""
    from equipoise.analysis.studies.drift import message_of

    message = message_of(answer)
    if not to_file:
        every = details or len(message.systems) == 1
        print_table(moments_table(message) if every else ends_table(message))
        print_lines("")
        print_table(newcomers_table(message) if every else newcomers_ends(message))
        if any(one.handed_by for one in message.systems):
            print_lines("")
            print_table(handed_table(message))
            if details:
                print_lines("")
                print_table(receivers_table(message))
    say(*drift_lines(message), *reading_lines(message.history))


#: Field -> its column and format. "z" drops the minus sign of a number that rounds to 0.
_LEVEL = {
    "active": ("active", ",d"),
    "rating": ("rating", "z.1f"),
    "deviation": ("deviation", "z.1f"),
    "spread": ("spread", "z.1f"),
}
_MOVES = {
    "by_matches": ("by_matches", "+z.1f"),
    "by_entering": ("by_entering", "+z.1f"),
    "by_leaving": ("by_leaving", "+z.1f"),
    "by_performance": ("by_perf", "+z.1f"),
    "by_level": ("by_level", "+z.1f"),
}
_INFLATION = {
    "inflation": ("inflation", "+z.3f"),
    "inflation_by_performance": ("infl_perf", "+z.3f"),
}
_NEWCOMERS = {
    "newcomers": ("newcomers", ",d"),
    "entered": ("entered", "z.1f"),
    "performed": ("performed", "z.1f"),
    "entry": ("entry", "z.1f"),
    "entry_weight": ("weight", ".1f"),
    "brought": ("brought", "+z,.0f"),
    "created": ("created", "+z,.0f"),
    "lost": ("lost", "+z,.0f"),
}
_HELD = {
    "level": ("level", "z.1f"),
    "target": ("target", "z.1f"),
    "handed": ("handed", "+z,.0f"),
}
_ALL = {"players": ("players", ",d"), "rating_all": ("rating_all", "z.1f")}


def moments_table(answer: DriftMessage) -> Table:
    """Return one row for each time measured, one system after the other."""
    return _moments(answer, {**_LEVEL, **_moves(answer), **_INFLATION})


def newcomers_table(answer: DriftMessage) -> Table:
    """Return the same rows with newcomers, and with the level where one is held."""
    return _moments(answer, _newcomers(answer))


def _moves(answer: DriftMessage) -> Mapping[str, tuple[str, str]]:
    """Return the parts of the movement of the mean; that of the level only if one is held."""
    holds = any(one.holds for one in answer.systems)
    return {field: form for field, form in _MOVES.items() if holds or field != "by_level"}


def _newcomers(answer: DriftMessage) -> Mapping[str, tuple[str, str]]:
    """Return the columns about newcomers and the level that this answer has."""
    learns, holds = (any(getattr(one, of) for one in answer.systems) for of in ("learns", "holds"))
    fields = {field: form for field, form in _NEWCOMERS.items() if learns or field[:5] != "entry"}
    return {**fields, **(_HELD if holds else {})}


def _moments(answer: DriftMessage, fields: Mapping[str, tuple[str, str]]) -> Table:
    several = len(answer.systems) > 1
    timed = answer.systems[0].points[0].time is not None
    columns = {"system": ""} if several else {}
    columns |= {"matches": ",d", **({"time": ""} if timed else {}), **dict(fields.values())}
    rows = (
        [one.label] * several
        + [point.matches]
        + [minutes(point.time)] * timed
        + [getattr(point, field) for field in fields]
        for one in answer.systems
        for point in one.points
    )
    return table(columns, rows)


def ends_table(answer: DriftMessage) -> Table:
    """Return one row for each system: its last time, and the total moves of the mean."""
    return _ends(answer, {**_LEVEL, **_moves(answer), **_ALL, **_INFLATION})


def newcomers_ends(answer: DriftMessage) -> Table:
    """Return one row for each system: its newcomers, and the level where one is held."""
    return _ends(answer, _newcomers(answer))


def _ends(answer: DriftMessage, fields: Mapping[str, tuple[str, str]]) -> Table:
    rows = ((one.label, *(_at_end(one, field) for field in fields)) for one in answer.systems)
    return table({"system": "", **dict(fields.values())}, rows)


def handed_table(answer: DriftMessage) -> Table:
    """Return to whom points were handed out, by the number of earlier matches."""
    several = len(answer.systems) > 1
    columns = {"system": ""} if several else {}
    columns |= {"earlier_matches": ">", "participations": ",d", "handed": "+z,.1f", "each": "+z.2f"}
    rows = (
        [one.label] * several
        + [_earlier(group), group.participations, group.points, group.points / group.participations]
        for one in answer.systems
        for group in one.handed_by
    )
    return table(columns, rows)


def receivers_table(answer: DriftMessage) -> Table:
    """Return the players who got most to hold the level."""
    several = len(answer.systems) > 1
    columns = {"system": ""} if several else {}
    columns |= {"player": "", "participations": ",d", "handed": "+z.1f", "rating": "z.1f"}
    rows = (
        [one.label] * several + [str(who.player), who.participations, who.points, who.rating]
        for one in answer.systems
        for who in one.receivers
    )
    return table(columns, rows)


def _earlier(group: LevelGroupMessage) -> str:
    if group.last is None:
        return f"{group.first}+"
    return f"{group.first}" if group.first == group.last else f"{group.first}-{group.last}"


def drift_lines(answer: DriftMessage) -> list[str]:
    """Return lines on what was measured and found."""
    from equipoise.data.audits import ActivityWindow

    first, last = answer.systems[0].points[0], answer.systems[0].points[-1]
    window = ActivityWindow(
        "days" if answer.window.unit == "days" else "matches", answer.window.length
    )
    lines = [
        f"{counted(len(answer.systems[0].points), 'moment')} from match {first.matches:,} to "
        f"{last.matches:,}; active players have played in the last {window}"
    ]
    for one in answer.systems:
        name = f"{one.label}: " if len(answer.systems) > 1 else ""
        if one.start is not None and last.rated:
            lines.append(f"{name}{_summary(one, one.points[-1])}")
            lines.append(f"{name}{_about_newcomers(one, last.players)}")
            lines += [f"{name}{line}" for line in _about_level(one)]
    return lines


def _about_newcomers(one: DriftSystemMessage, players: int) -> str:
    """Return where newcomers entered, and how they performed, in words."""
    how = "a learned" if one.learns else "a fixed"
    entered = cell(_at_end(one, "entered"), ".0f")
    performed = cell(one.performed_all, ".0f") or "unknown"
    return (
        f"{counted(players, 'newcomer')} entered at {entered} on average ({how} entry); mean "
        f"performance in their first match: {performed}"
    )


def _about_level(one: DriftSystemMessage) -> list[str]:
    """Return what was handed out to hold the level, and to whom, in words."""
    if not one.holds:
        return []
    last = one.points[-1]
    handed = f"holding the level handed out {cell(last.handed, 'z,.0f')} points"
    if not one.receivers:
        return [handed]
    most = one.receivers[0]
    return [
        f"{handed} to {counted(one.receiving, 'player')}; {most.player} got most, "
        f"{most.points:.1f} points in {counted(most.participations, 'match', 'matches')}"
    ]


def _summary(one: DriftSystemMessage, last: DriftPointMessage) -> str:
    """Return how a system changed the ratings of all players, in words."""
    added = f"matches added {cell(last.added, '+z.1f')} points per player"
    if not one.scales:
        return f"{added}; {one.system} does not scale changes by performance"
    return f"{added}, {cell(last.added_by_performance, '+z.1f')} of them by performance scaling"


def _at_end(one: DriftSystemMessage, field: str) -> Any:
    """Return the last value of a field, or the sum of a field that moved the mean rating."""
    values = [getattr(point, field) for point in one.points]
    if field == "entered":
        newcomers = sum(point.newcomers for point in one.points)
        return sum(
            point.newcomers * value
            for point, value in zip(one.points, values, strict=True)
            if value is not None
        ) / max(newcomers, 1)
    if field == "performed":
        return one.performed_all
    if field not in (*_MOVES, "newcomers"):
        return values[-1]
    return None if values[-1] is None else sum(values)
