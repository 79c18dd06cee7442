"""equipoise audit incentives: whether players would have ended higher by coming in worse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from equipoise.analysis.requests.studies import IncentivesRequest
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
from equipoise.cli.tables import Table, minutes, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.analysis.studies.incentives import IncentivesAnswer
    from equipoise.data.audits import Incentive

EXAMPLE = """\b
Example:
  equipoise audit incentives examples/contests.csv --system elo-mmr --player jade-kite
  equipoise audit incentives examples/contests.csv --system elo-mmr --others replayed --details"""


def incentives(
    *,
    systems: options.Systems,
    request: IncentivesRequest,
    cluster: options.Cluster,
    as_json: options.Json,
) -> None:
    """Search for players who would have ended higher by coming in worse.

    The last matches of a player are rated again with worse places, never with better ones. In a
    system with aligned incentives no plan gains anything while the others are frozen. Systems that
    measure how much results vary can be exploited. The gain found is a lower bound.
    """
    from equipoise.analysis.studies import incentives as work

    settings = systems.settings()
    request = options.weighed(request, settings)
    chosen = systems.chosen(settings)
    with cluster.executor(request.workers) as executor, working("trying plans") as job:
        asked = replace(request, executor=executor)
        answer = work.audit_incentives(chosen, asked, job.progress)
    if as_json:
        print_json(work.incentives_json(answer))
        return
    _print(answer, request.details)
    if request.output is not None:
        say(f"wrote {request.output}")
    if request.chart is not None:
        say(f"drew {request.chart}")
    say_compiled(job.compilation)


def _print(answer: IncentivesAnswer, details: bool) -> None:
    """Print the tables unless files are written, and a summary on standard error."""
    from equipoise.analysis.files.reading import history_message

    gained = any(one.thrown.any() for found in answer.found.values() for one in found)
    if answer.request.output is None:
        print_table(players_table(answer))
        if details and gained:
            print_lines("")
            print_table(thrown_table(answer))
    history = history_message(answer.history, answer.reading)
    say(*incentives_lines(answer), *reading_lines(history))


def players_table(answer: IncentivesAnswer) -> Table:
    """Return one row for each player and system."""
    several, replayed = len(answer.found) > 1, answer.request.others == "replayed"
    names = ["player", "played", "considered", "thrown", "honest", "by_plan", "gain"]
    names += ["gain_frozen"] * replayed + ["plans"]
    rows = (
        [label] * several
        + [str(one.player), f"{one.played:,d}", f"{len(one.honest):,d}", f"{one.thrown.sum():,d}"]
        + [_points(one.honest[-1]), _points(one.planned[-1]), _points(one.gain, "+")]
        + [_points(one.gain_frozen, "+")] * replayed
        + [f"{one.plans:,d}{' (all)' if one.complete else ''}"]
        for label, found in answer.found.items()
        for one in found
    )
    return _table(["system"] * several + names, rows)


def thrown_table(answer: IncentivesAnswer) -> Table:
    """Return one row for each match that a plan throws."""
    several = len(answer.found) > 1
    timed = next(iter(answer.found.values()))[0].times is not None
    names = ["player", "match"] + ["time"] * timed
    names += ["teams", "place", "by_plan", "honest", "rating_by_plan"]
    rows = (
        [label] * several
        + [str(one.player), str(match["match"])]
        + ([minutes(match["time"])] if timed else [])
        + [f"{match['teams']:,d}", _place(match["place"], match["tied"])]
        + [_place(match["planned_place"], match["planned_tied"])]
        + [_points(match["honest"]), _points(match["planned"])]
        for label, found in answer.found.items()
        for one in found
        for match in one.file_table().to_dicts()
        if match["thrown"]
    )
    return _table(["system"] * several + names, rows)


def _table(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> Table:
    """Return rows of text as a table; all but names and times are aligned to the right."""
    left = ("system", "player", "match", "time")
    return table({name: "" if name in left else ">" for name in names}, rows)


def incentives_lines(answer: IncentivesAnswer) -> list[str]:
    """Return lines on what was searched and found."""
    effort = answer.request
    last = f"the last {counted(effort.matches, 'rated match', 'rated matches')} of each player"
    tried = f"at most {counted(effort.budget, 'plan')} per player"
    if answer.request.others == "replayed":
        tried += f", {effort.replays:,} of them with everything replayed"
    lines = [f"Worse places in {last}; {tried}."]
    for label, found in answer.found.items():
        name = f"{label}: " if len(answer.found) > 1 else ""
        best = max(found, key=lambda one: one.gain)
        lines.append(f"{name}{_summary(best)}, found in {answer.seconds[label]:.1f} s")
        failed = sum(one.failed for one in found)
        if failed:
            plans = counted(failed, "plan leaves", "plans leave")
            lines.append(f"{name}{plans} the player without a rating by {best.system}")
    if not all(one.complete for found in answer.found.values() for one in found):
        lines.append(
            "Not all plans were tried: a larger gain may exist, and finding none proves nothing."
        )
    return lines


def _summary(best: Incentive) -> str:
    """Return the largest gain of a system in words."""
    if not best.thrown.any():
        return "no plan gains anything"
    thrown = counted(int(best.thrown.sum()), "match", "matches")
    return f"{best.player} gains {_points(best.gain)} points by throwing {thrown}"


def _points(value: float, sign: str = "") -> str:
    """Return rating points; a very large or very small number has more digits."""
    if abs(value) >= 1e6:
        return format(value, f"{sign}.2e")
    small = sign and 0 < abs(value) < 0.05
    return format(
        value if small else round(value, 1) + 0.0, f"{sign}.6f" if small else f"{sign}.1f"
    )


def _place(place: int, tied: int) -> str:
    return f"{place:,d}{'=' if tied else ''}"
