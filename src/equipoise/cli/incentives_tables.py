"""The tables of an audit of incentives, as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from equipoise.cli.tables import Table, minutes, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.incentives import IncentiveMessage, IncentivesMessage


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
