"""Contests of DMOJ and judges built on it, as their API answers.

Source: https://docs.dmoj.ca/#/site/api, `/api/v2/contest/<key>` (and version 1, which calls score
`points` and time `cumtime`). Rank follows the judge: higher score, then less time, then the smaller
tiebreaker; equal in all three is a tie. Disqualified participants are left out, and so are those
who got no new rating in a contest that was rated. The time is the end of the contest.
"""

from __future__ import annotations

from typing import Any

from equipoise.formats.contests import Contest, Origin, listed
from equipoise.formats.table import shown

NUMBER = "must be a number"


def holds_dmoj(document: Any) -> bool:
    """Return whether a document is an answer of this platform."""
    return isinstance(document, dict) and "rankings" in _contest_of(document)


def read_dmoj(document: Any, origin: Origin) -> list[Contest]:
    """Return the contest of an answer."""
    contest = _contest_of(document)
    standings = listed(contest, "rankings", origin)
    has_rating = bool(contest.get("has_rating"))
    taken, rows = [], []
    for row, standing in enumerate(standings, start=1):
        if not isinstance(standing, dict):
            origin.refuse("must be a list of participants", shown(standing), "rankings")
        unrated = has_rating and standing.get("new_rating") is None
        if not standing.get("is_disqualified") and not unrated:
            taken.append(standing)
            rows.append(row)
    ranks, broken = _ranks(taken)
    return [
        Contest(
            origin=origin,
            match=contest.get("key") or origin.stem,
            time=contest.get("end_time") or contest.get("start_time"),
            columns={
                "player": [standing.get("user") for standing in taken],
                "rank": ranks,
                "old_rating": [standing.get("old_rating") for standing in taken],
                "new_rating": [standing.get("new_rating") for standing in taken],
            },
            rows=rows,
            rated=contest.get("is_rated") is not False,
            broken=broken,
        )
    ]


def _contest_of(document: Any) -> dict[str, Any]:
    """Return the contest within an answer of version 2, or the answer itself (version 1)."""
    data = document.get("data") if isinstance(document, dict) else None
    inner = data.get("object") if isinstance(data, dict) else document
    return inner if isinstance(inner, dict) else {}


def _ranks(standings: list[dict[str, Any]]) -> tuple[list[Any], list[tuple[int, str, str, str]]]:
    """Return ranks from 0 by score, time and tiebreaker, and the entries without numbers."""
    keys: list[tuple[float, float, float] | None] = []
    broken = []
    for at, standing in enumerate(standings):
        numbers: list[Any] = [
            standing.get("score", standing.get("points")),
            standing.get("cumulative_time", standing.get("cumtime")) or 0,
            standing.get("tiebreaker") or 0,
        ]
        wrong = [number for number in numbers if not isinstance(number, int | float)]
        if wrong:
            broken.append((at, "score", NUMBER, shown(wrong[0])))
            keys.append(None)
        else:
            score, time, tiebreaker = (float(number) for number in numbers)
            keys.append((-score, time, tiebreaker))
    order = {key: rank for rank, key in enumerate(sorted({key for key in keys if key}))}
    return [None if key is None else order[key] for key in keys], broken
