"""The tables of an audit of incentives, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.incentives import (
        IncentiveMessage,
        IncentivesMessage,
    )

#: Columns, rows, and which columns are numbers.
Table: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]], set[str]]


def players_table(answer: IncentivesMessage) -> Table:
    """Return a row for every player under every system."""
    several, replayed = len(answer.systems) > 1, answer.others == "replayed"
    columns = ["system"] * several + ["player", "played", "considered", "thrown"]
    columns += ["honest", "by_plan", "gain"] + ["gain_frozen"] * replayed + ["plans"]
    rows = [
        [system.label] * several
        + [str(one.player), f"{one.played:,d}", f"{len(one.matches):,d}", f"{one.thrown:,d}"]
        + [_points(one.honest), _points(one.planned), _points(one.gain, "+")]
        + [_points(one.gain_frozen, "+")] * replayed
        + [f"{one.plans:,d}{' (all)' if one.complete else ''}"]
        for system in answer.systems
        for one in system.players
    ]
    return columns, rows, set(columns) - {"system", "player"}


def thrown_table(answer: IncentivesMessage) -> Table:
    """Return a row for every match that a plan throws."""
    from equipoise.data.times import to_the_minute

    several = len(answer.systems) > 1
    timed = any(match.time is not None for match in answer.systems[0].players[0].matches)
    columns = ["system"] * several + ["player", "match"] + ["time"] * timed
    columns += ["teams", "place", "by_plan", "honest", "rating_by_plan"]
    rows = [
        [system.label] * several
        + [str(one.player), str(match.match)]
        + [to_the_minute(match.time)] * timed
        + [f"{match.teams:,d}", _place(match.place, match.tied)]
        + [_place(match.planned_place, match.planned_tied)]
        + [_points(match.honest), _points(match.planned)]
        for system in answer.systems
        for one in system.players
        for match in one.matches
        if match.thrown
    ]
    return columns, rows, set(columns) - {"system", "player", "match", "time"}


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
