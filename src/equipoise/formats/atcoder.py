"""Standings and results of AtCoder, as its pages load them.

Source: `https://atcoder.jp/contests/<contest>/standings/json` (an object with `StandingsData`) and
`.../results/json` (a list with `Place`). Participants with `IsRated` false are left out, and so are
those who submitted nothing. Standings name neither contest nor time: the file's name is the id.
"""

from __future__ import annotations

from typing import Any

from equipoise.formats.contests import Contest, Origin, listed
from equipoise.formats.table import shown


def holds_atcoder(document: Any) -> bool:
    """Return whether a document is standings or results of this platform."""
    if isinstance(document, dict):
        return "StandingsData" in document
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, dict) and {"Place", "UserScreenName"} <= set(first)


def read_atcoder(document: Any, origin: Origin) -> list[Contest]:
    """Return the contest of a document."""
    results = isinstance(document, list)
    entries = document if results else listed(document, "StandingsData", origin)
    place = "Place" if results else "Rank"
    taken, rows = [], []
    for row, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            origin.refuse("must be a list of participants", shown(entry), "StandingsData")
        if entry.get("IsRated", True) and not _submitted_nothing(entry):
            taken.append(entry)
            rows.append(row)
    first = taken[0] if taken else {}
    screen_name = first.get("ContestScreenName")
    columns: dict[str, list[Any]] = {
        "player": [entry.get("UserScreenName") or entry.get("UserName") for entry in taken],
        "rank": [entry.get(place) for entry in taken],
    }
    for name, key in (("old_rating", "OldRating"), ("new_rating", "NewRating")):
        if key in first:
            columns[name] = [entry.get(key) for entry in taken]
    return [
        Contest(
            origin=origin,
            # Old contests are called agc001.contest.atcoder.jp.
            match=screen_name.partition(".")[0] if isinstance(screen_name, str) else origin.stem,
            time=first.get("EndTime"),
            columns=columns,
            rows=rows,
        )
    ]


def _submitted_nothing(entry: dict[str, Any]) -> bool:
    total = entry.get("TotalResult")
    return isinstance(total, dict) and total.get("Count") == 0
