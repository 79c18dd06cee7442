"""Contest JSON, the form of the Elo-MMR data sets.

Source: https://github.com/EbTech/Elo-MMR. A contest is an object with `name`, `time_seconds`,
`standings` (lists of player, lowest and highest rank, from 0 and inclusive) and, optionally,
`weight` and `perf_ceiling`.
"""

from __future__ import annotations

from typing import Any

from equipoise.formats.contests import Contest, Origin, listed
from equipoise.formats.table import shown

STANDING = "must be a list of player, lowest and highest rank"
ORDERED = "must be a lowest rank that is not above the highest"


def holds_contest_json(document: Any) -> bool:
    """Return whether a document is a contest of this form."""
    return isinstance(document, dict) and "standings" in document


def read_contest_json(document: Any, origin: Origin) -> list[Contest]:
    """Return the contest of a document."""
    if not isinstance(document, dict):
        origin.refuse("must be an object", shown(document))
    standings = listed(document, "standings", origin)
    columns: dict[str, list[Any]] = {"player": [], "rank": []}
    broken = []
    for at, standing in enumerate(standings):
        if not isinstance(standing, list) or len(standing) != 3:
            broken.append((at, "standings", STANDING, shown(standing)))
            columns["player"].append(None)
            columns["rank"].append(None)
            continue
        player, low, high = standing
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            broken.append((at, "rank", ORDERED, f"{low} and {high}"))
        columns["player"].append(player)
        columns["rank"].append(low)
    return [
        Contest(
            origin=origin,
            match=document.get("name") or origin.stem,
            time=document.get("time_seconds"),
            columns=columns,
            rows=range(1, len(standings) + 1),
            weight=document.get("weight"),
            performance_ceiling=document.get("perf_ceiling"),
            broken=broken,
        )
    ]
