"""equipoise audit drift: whether ratings rise or fall as a whole, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from equipoise.analysis.requests.studies import DriftRequest
from equipoise.cli import options
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
    from equipoise.data.audits import Drift, LevelGroup

EXAMPLE = """\b
Example:
  equipoise audit drift examples/contests.csv --system elo-mmr --active-days 30
  equipoise audit drift examples/contests.csv --system elo-mmr --system elo --output drift.svg"""


def drift(*, systems: options.Systems, request: DriftRequest, as_json: options.Json) -> None:
    """Measure how the ratings of active players rise or fall as a whole, and why.

    Shows their mean rating and deviation over time; how much matches, new players and players who
    become inactive moved the mean; how many points each match created; and, if the system scales
    changes by performance, how much of that comes from scaling. Also shows where newcomers enter
    and how they perform in their first match, the points that they bring in and that inactive
    players hold, and what is handed out to hold the level, and to whom.
    """
    from equipoise.analysis.studies import drift as work

    settings = systems.settings()
    request = options.weighed(request, settings)
    chosen = systems.chosen(settings)
    with working("rating") as job:
        answer = work.audit_drift(chosen, request, job.progress)
    if as_json:
        print_json(work.drift_json(answer))
        return
    output = request.output
    _print(answer, request.details, to_file=output is not None)
    if output is not None:
        say(f"{'drew' if work.is_chart(output) else 'wrote'} {output}")
    say_compiled(job.compilation)


def _print(answer: DriftAnswer, details: bool, to_file: bool) -> None:
    """Print the tables unless a file is written, and a summary on standard error."""
    from equipoise.analysis.files.reading import history_message

    if not to_file:
        every = details or len(answer.found) == 1
        print_table(moments_table(answer) if every else ends_table(answer))
        print_lines("")
        print_table(newcomers_table(answer) if every else newcomers_ends(answer))
        if any(one.handed_by for one in answer.found.values()):
            print_lines("")
            print_table(handed_table(answer))
            if details:
                print_lines("")
                print_table(receivers_table(answer))
    say(*drift_lines(answer), *reading_lines(history_message(answer.history, answer.reading)))


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


def moments_table(answer: DriftAnswer) -> Table:
    """Return one row for each time measured, one system after the other."""
    return _moments(answer, {**_LEVEL, **_moves(answer), **_INFLATION})


def newcomers_table(answer: DriftAnswer) -> Table:
    """Return the same rows with newcomers, and with the level where one is held."""
    return _moments(answer, _newcomers(answer))


def _moves(answer: DriftAnswer) -> Mapping[str, tuple[str, str]]:
    """Return the parts of the movement of the mean; that of the level only if one is held."""
    holds = any(one.holds for one in answer.found.values())
    return {field: form for field, form in _MOVES.items() if holds or field != "by_level"}


def _newcomers(answer: DriftAnswer) -> Mapping[str, tuple[str, str]]:
    """Return the columns about newcomers and the level that this answer has."""
    learns, holds = (
        any(getattr(one, of) for one in answer.found.values()) for of in ("learns", "holds")
    )
    fields = {field: form for field, form in _NEWCOMERS.items() if learns or field[:5] != "entry"}
    return {**fields, **(_HELD if holds else {})}


def _moments(answer: DriftAnswer, fields: Mapping[str, tuple[str, str]]) -> Table:
    several = len(answer.found) > 1
    timed = next(iter(answer.found.values())).times is not None
    columns = {"system": ""} if several else {}
    columns |= {"matches": ",d", **({"time": ""} if timed else {}), **dict(fields.values())}
    rows = (
        [label] * several
        + [point["matches"]]
        + ([minutes(point["time"])] if timed else [])
        + [point[field] for field in fields]
        for label, one in answer.found.items()
        for point in one.file_table().to_dicts()
    )
    return table(columns, rows)


def ends_table(answer: DriftAnswer) -> Table:
    """Return one row for each system: its last time, and the total moves of the mean."""
    return _ends(answer, {**_LEVEL, **_moves(answer), **_ALL, **_INFLATION})


def newcomers_ends(answer: DriftAnswer) -> Table:
    """Return one row for each system: its newcomers, and the level where one is held."""
    return _ends(answer, _newcomers(answer))


def _ends(answer: DriftAnswer, fields: Mapping[str, tuple[str, str]]) -> Table:
    rows = (
        (label, *(_at_end(one, field) for field in fields)) for label, one in answer.found.items()
    )
    return table({"system": "", **dict(fields.values())}, rows)


def handed_table(answer: DriftAnswer) -> Table:
    """Return to whom points were handed out, by the number of earlier matches."""
    several = len(answer.found) > 1
    columns = {"system": ""} if several else {}
    columns |= {"earlier_matches": ">", "participations": ",d", "handed": "+z,.1f", "each": "+z.2f"}
    rows = (
        [label] * several
        + [_earlier(group), group.participations, group.points, group.points / group.participations]
        for label, one in answer.found.items()
        for group in one.handed_by
    )
    return table(columns, rows)


def receivers_table(answer: DriftAnswer) -> Table:
    """Return the players who got most to hold the level."""
    several = len(answer.found) > 1
    columns = {"system": ""} if several else {}
    columns |= {"player": "", "participations": ",d", "handed": "+z.1f", "rating": "z.1f"}
    rows = (
        [label] * several + [str(who.player), who.participations, who.points, who.rating]
        for label, one in answer.found.items()
        for who in one.receivers
    )
    return table(columns, rows)


def _earlier(group: LevelGroup) -> str:
    if group.last is None:
        return f"{group.first}+"
    return f"{group.first}" if group.first == group.last else f"{group.first}-{group.last}"


def drift_lines(answer: DriftAnswer) -> list[str]:
    """Return lines on what was measured and found."""
    first = next(iter(answer.found.values()))
    lines = [
        f"{counted(len(first.matches), 'moment')} from match {first.matches[0]:,} to "
        f"{first.matches[-1]:,}; active players have played in the last {answer.window}"
    ]
    for label, one in answer.found.items():
        name = f"{label}: " if len(answer.found) > 1 else ""
        if not math.isnan(one.start) and first.rated[-1]:
            about = (_summary(one), _about_newcomers(one, int(first.players[-1])))
            lines += [f"{name}{line}" for line in (*about, *_about_level(one))]
    return lines


def _about_newcomers(one: Drift, players: int) -> str:
    """Return where newcomers entered, and how they performed, in words."""
    how = "a learned" if one.learns else "a fixed"
    entered = cell(_at_end(one, "entered"), ".0f")
    performed = cell(_at_end(one, "performed"), ".0f") or "unknown"
    return (
        f"{counted(players, 'newcomer')} entered at {entered} on average ({how} entry); mean "
        f"performance in their first match: {performed}"
    )


def _about_level(one: Drift) -> list[str]:
    """Return what was handed out to hold the level, and to whom, in words."""
    if not one.holds:
        return []
    handed = f"holding the level handed out {cell(_at_end(one, 'handed'), 'z,.0f')} points"
    if not one.receivers:
        return [handed]
    most = one.receivers[0]
    return [
        f"{handed} to {counted(one.receiving, 'player')}; {most.player} got most, "
        f"{most.points:.1f} points in {counted(most.participations, 'match', 'matches')}"
    ]


def _summary(one: Drift) -> str:
    """Return how a system changed the ratings of all players, in words."""
    added = f"matches added {cell(_at_end(one, 'added'), '+z.1f')} points per player"
    if not one.scales:
        return f"{added}; {one.system} does not scale changes by performance"
    scaled = cell(_at_end(one, "added_by_performance"), "+z.1f")
    return f"{added}, {scaled} of them by performance scaling"


def _at_end(one: Drift, field: str) -> float | None:
    """Return the last value of a field, or the sum of a field that moved the mean rating."""
    values = getattr(one, field)
    if field == "entered":
        came = one.newcomers > 0
        total = sum((one.newcomers * values)[came].tolist())
        value = total / max(int(one.newcomers.sum()), 1)
    elif field == "performed":
        value = one.performed_all
    elif field in (*_MOVES, "newcomers"):
        value = sum(values.tolist())
    else:
        value = values.tolist()[-1]
    return None if math.isnan(value) else value
