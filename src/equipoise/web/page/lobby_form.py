"""A lobby as a form: rows of players with party and lock, pairs to keep apart, pasted names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from equipoise.errors import InvalidDataError, Problem
from equipoise.messages.service_requests import BalancePlayer, BalanceRequest
from equipoise.web.page.forms import Form

#: Names of parties in the form.
PARTIES = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
#: Rows and pairs that the form offers at least.
ROWS, PAIRS = 10, 3
MOST_PLAYERS, MOST_TEAMS, MOST_ALTERNATIVES = 300, 20, 10
#: Between players of one party on a pasted line.
_BETWEEN = re.compile(r"\t| \+ ")


@dataclass(frozen=True, slots=True)
class Row:
    """A player of the lobby, as typed; party and team may be ""."""

    player: str = ""
    party: str = ""
    team: str = ""


@dataclass(frozen=True, slots=True)
class LobbyForm:
    """The whole form, as typed."""

    rows: list[Row] = field(default_factory=list)
    apart: list[tuple[str, str]] = field(default_factory=list)
    teams: str = "2"
    objective: str = "mean"
    alternatives: str = "3"

    @property
    def offered(self) -> list[Row]:
        """Rows with a few empty ones at the end."""
        return [*self.rows, *[Row()] * max(ROWS - len(self.rows), 2)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Pairs to keep apart, with empty ones at the end."""
        return [*self.apart, *[("", "")] * max(PAIRS - len(self.apart), 1)]


def lobby_of(form: Form) -> LobbyForm:
    """Return the form as it was sent, with pasted players put into rows."""
    columns = [form.texts(name) for name in ("player", "party", "team")]
    longest = max(map(len, columns))
    padded = [[*column, *[""] * (longest - len(column))] for column in columns]
    rows = [Row(*row) for row in zip(*padded, strict=True) if row[0]][:MOST_PLAYERS]
    rows = [*rows, *_pasted(form.text("paste"), {row.party for row in rows})][:MOST_PLAYERS]
    pairs = zip(form.texts("apart"), form.texts("from"), strict=False)
    return LobbyForm(
        rows=rows,
        apart=[pair for pair in pairs if pair[0] or pair[1]][:MOST_PLAYERS],
        teams=form.text("teams", "2"),
        objective=form.text("objective", "mean"),
        alternatives=form.text("alternatives", "3"),
    )


def _pasted(text: str, taken: set[str]) -> list[Row]:
    """Return pasted players; those on one line are a party."""
    free = iter([name for name in PARTIES if name not in taken])
    rows = []
    for line in text.splitlines()[:MOST_PLAYERS]:
        names = [one.strip() for one in _BETWEEN.split(line) if one.strip()]
        party = next(free, "") if len(names) > 1 else ""
        rows += [Row(name, party) for name in names]
    return rows


def request_of(lobby: LobbyForm) -> BalanceRequest:
    """Return what the service is asked. Raises : InvalidDataError with every problem."""
    faults = [*_player_faults(lobby.rows), *_pair_faults(lobby)]
    teams = _whole(lobby.teams, "teams", 2, MOST_TEAMS, faults)
    most = _whole(lobby.alternatives, "alternatives", 0, MOST_ALTERNATIVES, faults)
    if lobby.objective not in ("mean", "sum"):
        faults.append(Problem("", None, "compare", "must be mean or sum", lobby.objective[:50]))
    if faults:
        raise InvalidDataError(faults, "the lobby cannot be split")
    avoided: dict[str, list[str | int]] = {}
    for one, other in lobby.apart:
        avoided.setdefault(one, []).append(other)
    return BalanceRequest(
        players=[
            BalancePlayer(
                row.player,
                party=row.party or None,
                team=int(row.team) if row.team else None,
                avoid=avoided.get(row.player, []),
            )
            for row in lobby.rows
        ],
        teams=teams,
        objective=lobby.objective,
        alternatives=most,
    )


def _player_faults(rows: Sequence[Row]) -> list[Problem]:
    faults = []
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        if row.player in seen:
            faults.append(Problem("", None, f"player {number}", "must appear once", row.player))
        seen.add(row.player)
        if row.team and not (row.team.isascii() and row.team.isdecimal() and len(row.team) < 4):
            rule = "must be the number of a team"
            faults.append(Problem("", None, f"team of player {number}", rule, row.team[:50]))
    if len(rows) < 2:
        faults.append(Problem("", None, "players", "must be at least 2", str(len(rows))))
    return faults


def _pair_faults(lobby: LobbyForm) -> list[Problem]:
    known = {row.player for row in lobby.rows}
    return [
        Problem("", None, "apart", "must name two players of the lobby", name or "nothing")
        for pair in lobby.apart
        for name in pair
        if name not in known
    ]


def _whole(text: str, name: str, low: int, high: int, faults: list[Problem]) -> int:
    if text.isascii() and text.isdecimal() and low <= int(text[:6]) <= high:
        return int(text)
    faults.append(Problem("", None, name, f"must be from {low} to {high}", text[:50] or "nothing"))
    return low
