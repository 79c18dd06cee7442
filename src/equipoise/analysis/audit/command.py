"""equipoise audit: whether ratings drift as a whole, and whether losing on purpose pays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from equipoise.analysis.audit import DriftRequest, IncentivesRequest
from equipoise.cli import options
from equipoise.cli.application import create_group
from equipoise.cli.options import add_command
from equipoise.cli.report import (
    Table,
    cell,
    minutes,
    print_json,
    print_lines,
    print_table,
    reading_lines,
    say,
    table,
    working,
)
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.audit.computation import DriftAnswer, IncentivesAnswer
    from equipoise.data.audits import Drift, Incentive


def drift(*, systems: options.Systems, request: DriftRequest, as_json: options.Json) -> None:
    """Measure how the mean rating of active players drifts, and why.

    Shows their mean rating and deviation over time; how much matches, new players and players who
    become inactive moved the mean; how many points each match created; and, if the system scales
    changes by performance, how much of that comes from scaling. Also shows where newcomers enter
    and how they perform in their first match, the points that they bring in and that inactive
    players hold, and the points handed out to hold the level.

    Example:
      equipoise audit drift examples/contests.csv --system elo-mmr --active-days 30
      equipoise audit drift examples/contests.csv --system elo-mmr --system elo --output drift.csv
    """
    from equipoise.analysis.audit import computation as work

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
        say(f"wrote {output}")


def _print(answer: DriftAnswer, details: bool, to_file: bool) -> None:
    """Print the tables unless a file is written, and a summary on standard error."""
    if not to_file:
        every = details or len(answer.found) == 1
        shown, more = (_moments, {}) if every else (_ends, _ALL)
        print_table(shown(answer, {**_LEVEL, **_moves(answer), **more, **_INFLATION}))
        print_lines("")
        print_table(shown(answer, _newcomers(answer)))
    say(*drift_lines(answer), *reading_lines(answer.reading))


#: Field -> its format; "z" drops the minus sign of a number that rounds to 0.
_LEVEL = {"active": ",d", **dict.fromkeys(("rating", "deviation", "spread"), "z.1f")}
_MOVES = dict.fromkeys(
    ("by_matches", "by_entering", "by_leaving", "by_performance", "by_level"), "+z.1f"
)
_INFLATION = dict.fromkeys(("inflation", "inflation_by_performance"), "+z.3f")
_NEWCOMERS = {
    "newcomers": ",d",
    **dict.fromkeys(("entered", "performed", "entry"), "z.1f"),
    "entry_weight": ".1f",
    **dict.fromkeys(("brought", "created", "lost"), "+z,.0f"),
}
_HELD = {"level": "z.1f", "target": "z.1f", "handed": "+z,.0f"}
_ALL = {"players": ",d", "rating_all": "z.1f"}
#: Columns that are not called like their field.
_COLUMNS = {
    "by_performance": "by_perf",
    "inflation_by_performance": "infl_perf",
    "entry_weight": "weight",
}


def _columns(fields: Mapping[str, str]) -> dict[str, str]:
    return {_COLUMNS.get(field, field): form for field, form in fields.items()}


def _moves(answer: DriftAnswer) -> Mapping[str, str]:
    """Return the parts of the movement of the mean; that of the level only if one is held."""
    holds = any(drift.holds for drift in answer.found.values())
    return {field: form for field, form in _MOVES.items() if holds or field != "by_level"}


def _newcomers(answer: DriftAnswer) -> Mapping[str, str]:
    """Return the columns about newcomers and the level that this answer has."""
    learns, holds = (
        any(getattr(drift, of) for drift in answer.found.values()) for of in ("learns", "holds")
    )
    fields = {field: form for field, form in _NEWCOMERS.items() if learns or field[:5] != "entry"}
    return {**fields, **(_HELD if holds else {})}


def _moments(answer: DriftAnswer, fields: Mapping[str, str]) -> Table:
    """Return one row for each time measured, with the label of its system if there are several."""
    several = len(answer.found) > 1
    timed = next(iter(answer.found.values())).times is not None
    columns = {"system": ""} if several else {}
    columns |= {"matches": ",d", **({"time": ""} if timed else {}), **_columns(fields)}
    rows = [
        [label] * several
        + [point["matches"]]
        + ([minutes(point["time"])] if timed else [])
        + [point[field] for field in fields]
        for label, drift in answer.found.items()
        for point in drift.file_table().to_dicts()
    ]
    return table(columns, rows)


def _ends(answer: DriftAnswer, fields: Mapping[str, str]) -> Table:
    """Return one row for each system: its last values, and the sums of moves of the mean."""
    rows = (
        (label, *(_at_end(drift, field) for field in fields))
        for label, drift in answer.found.items()
    )
    return table({"system": "", **_columns(fields)}, rows)


def drift_lines(answer: DriftAnswer) -> Iterator[str]:
    """Yield lines on what was measured and found."""
    first = next(iter(answer.found.values()))
    yield (
        f"{counted(len(first.matches), 'measurement')} from match {first.matches[0]:,} to "
        f"{first.matches[-1]:,}; active players have played in the last {first.window}"
    )
    for label, drift in answer.found.items():
        name = f"{label}: " if len(answer.found) > 1 else ""
        if not math.isnan(drift.start) and first.rated[-1]:
            yield name + _summary(drift)
            yield name + _about_newcomers(drift, int(first.players[-1]))
            if drift.holds:
                handed = cell(_at_end(drift, "handed"), "z,.0f")
                yield f"{name}holding the level handed out {handed} points"


def _about_newcomers(drift: Drift, players: int) -> str:
    """Return where newcomers entered, and how they performed, in words."""
    how = "a learned" if drift.learns else "a fixed"
    entered = cell(_at_end(drift, "entered"), ".0f")
    performed = cell(_at_end(drift, "performed"), ".0f") or "unknown"
    return (
        f"{counted(players, 'newcomer')} entered at {entered} on average ({how} entry); mean "
        f"performance in their first match: {performed}"
    )


def _summary(drift: Drift) -> str:
    """Return how a system changed the ratings of all players, in words."""
    added = f"matches added {cell(_at_end(drift, 'added'), '+z.1f')} points per player"
    if not drift.scales:
        return f"{added}; {drift.system} does not scale changes by performance"
    scaled = cell(_at_end(drift, "added_by_performance"), "+z.1f")
    return f"{added}, {scaled} of them by performance scaling"


def _at_end(drift: Drift, field: str) -> float | None:
    """Return the last value of a field, or the sum of a field that moved the mean rating."""
    values = getattr(drift, field)
    if field == "entered":
        came = drift.newcomers > 0
        total = sum((drift.newcomers * values)[came].tolist())
        value = total / max(int(drift.newcomers.sum()), 1)
    elif field == "performed":
        value = drift.performed_all
    elif field in (*_MOVES, "newcomers"):
        value = sum(values.tolist())
    else:
        value = values.tolist()[-1]
    return None if math.isnan(value) else value


def incentives(
    *,
    systems: options.Systems,
    request: IncentivesRequest,
    cluster: options.Cluster,
    as_json: options.Json,
) -> None:
    """Search for players who would have a higher rating if they had placed worse.

    The last matches of a player are rated again with worse places, never with better ones. In a
    system with aligned incentives, no plan gains anything while the other players' ratings are
    fixed. Systems that measure how much results vary can be exploited. The gain found is a lower
    bound.

    Example:
      equipoise audit incentives examples/contests.csv --system elo-mmr --player jade-kite
      equipoise audit incentives examples/contests.csv --system elo --system glicko --budget 100
    """
    from equipoise.analysis.audit import computation as work

    settings = systems.settings()
    request = options.weighed(request, settings)
    chosen = systems.chosen(settings)
    with cluster.executor(request.workers) as executor, working("trying plans") as job:
        asked = replace(request, executor=executor)
        answer = work.audit_incentives(chosen, asked, job.progress)
    if as_json:
        print_json(work.incentives_json(answer, request))
        return
    if request.output is None:
        print_table(players_table(answer))
    say(*incentives_lines(answer, request), *reading_lines(answer.reading))
    if request.output is not None:
        say(f"wrote {request.output}")


def players_table(answer: IncentivesAnswer) -> Table:
    """Return one row for each player and system."""
    several = len(answer.found) > 1
    names = ["player", "played", "considered", "thrown", "honest", "by_plan", "gain", "plans"]
    columns = dict.fromkeys(["system"] * several + names, ">")
    columns |= {name: "" for name in ("system", "player") if name in columns}
    rows = (
        [
            *[label] * several,
            str(incentive.player),
            f"{incentive.played:,d}",
            f"{len(incentive.honest):,d}",
            f"{incentive.thrown.sum():,d}",
            _points(incentive.honest[-1]),
            _points(incentive.planned[-1]),
            _points(incentive.gain, "+"),
            f"{incentive.plans:,d}{' (all)' if incentive.complete else ''}",
        ]
        for label, incentives in answer.found.items()
        for incentive in incentives
    )
    return table(columns, rows)


def incentives_lines(answer: IncentivesAnswer, request: IncentivesRequest) -> Iterator[str]:
    """Yield lines on what was searched and found."""
    last = f"the last {counted(request.matches, 'rated match', 'rated matches')} of each player"
    yield f"Worse places in {last}; at most {counted(request.budget, 'plan')} per player."
    for label, incentives in answer.found.items():
        name = f"{label}: " if len(answer.found) > 1 else ""
        best = max(incentives, key=lambda incentive: incentive.gain)
        yield f"{name}{_incentives_summary(best)}, found in {answer.seconds[label]:.1f} s"
        failed = sum(incentive.failed for incentive in incentives)
        if failed:
            plans = counted(failed, "plan leaves", "plans leave")
            yield f"{name}{plans} the player without a rating by {best.system}"
    if not all(incentive.complete for every in answer.found.values() for incentive in every):
        yield "Not all plans were tried: a larger gain may exist, and finding none proves nothing."


def _incentives_summary(best: Incentive) -> str:
    """Return the largest gain of a system in words."""
    if not best.thrown.any():
        return "no plan gains anything"
    thrown = counted(int(best.thrown.sum()), "match", "matches")
    return f"{best.player} gains {_points(best.gain)} points by throwing {thrown}"


def _points(value: float, sign: str = "") -> str:
    """Return rating points; a very large or very small number has more digits."""
    if abs(value) >= 1e6:
        return format(value, f"{sign}.2e")
    if sign and 0 < abs(value) < 0.05:
        return format(value, f"{sign}.6f")
    return format(round(value, 1) + 0.0, f"{sign}.1f")


application = create_group("Audit rating systems for drift and for incentives to throw matches.")
add_command(application, "drift", drift)
add_command(application, "incentives", incentives)
