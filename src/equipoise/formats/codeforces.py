"""Answers of the Codeforces API that were saved to files.

Source: https://codeforces.com/apiHelp/methods, `contest.ratingChanges` and `contest.standings`.
Of standings only official participants (CONTESTANT) count, and a party of several is a team; the
time is the end of the contest. Rating changes list the rated participants only.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from equipoise.formats.contests import Contest, Origin, listed
from equipoise.formats.table import shown

OFFICIAL = "CONTESTANT"


def holds_codeforces(document: Any) -> bool:
    """Return whether a document is an answer of this platform."""
    return (
        isinstance(document, dict)
        and "status" in document
        and bool({"result", "comment"} & set(document))
    )


def read_codeforces(document: Any, origin: Origin) -> list[Contest]:
    """Return the contests of an answer."""
    result = document.get("result") if isinstance(document, dict) else None
    if not isinstance(document, dict) or document.get("status") != "OK":
        got = document.get("comment") if isinstance(document, dict) else document
        origin.refuse("must be an answer with status OK", shown(got), "status")
    if isinstance(result, list):
        return _rating_changes(result, origin)
    if isinstance(result, dict) and "rows" in result:
        return [_standings(result, origin)]
    origin.refuse("must be rating changes or standings", shown(result), "result")


def _rating_changes(changes: list[Any], origin: Origin) -> list[Contest]:
    """Return a contest for every contest id, in the order of the answer."""
    contests: dict[Any, tuple[Contest, list[int]]] = {}
    for row, change in enumerate(changes, start=1):
        if not isinstance(change, dict) or "contestId" not in change:
            origin.refuse("must be a rating change with a contestId", shown(change), "result")
        match = change["contestId"]
        if match not in contests:
            rows: list[int] = []
            columns: dict[str, list[Any]] = {
                name: [] for name in ("player", "rank", "old_rating", "new_rating")
            }
            contest = Contest(
                origin=origin,
                match=match,
                time=change.get("ratingUpdateTimeSeconds"),
                columns=columns,
                rows=rows,
            )
            contests[match] = contest, rows
        contest, rows = contests[match]
        rows.append(row)
        for name, key in (
            ("player", "handle"),
            ("rank", "rank"),
            ("old_rating", "oldRating"),
            ("new_rating", "newRating"),
        ):
            contest.columns[name].append(change.get(key))
    return [contest for contest, _ in contests.values()]


def _standings(result: dict[str, Any], origin: Origin) -> Contest:
    about = result.get("contest")
    about = about if isinstance(about, dict) else {}
    columns: dict[str, list[Any]] = {"player": [], "team": [], "rank": [], "points": []}
    rows: list[int] = []
    names: dict[int, str] = {}
    for row, standing in enumerate(listed(result, "rows", origin), start=1):
        party = standing.get("party") if isinstance(standing, dict) else None
        if not isinstance(party, dict):
            origin.refuse("must be rows with a party", shown(standing), "rows")
        if party.get("participantType") != OFFICIAL:
            continue
        for member in listed(party, "members", origin):
            columns["player"].append(member.get("handle") if isinstance(member, dict) else None)
            columns["team"].append(row)
            columns["rank"].append(standing.get("rank"))
            columns["points"].append(standing.get("points"))
            rows.append(row)
            names[row] = party.get("teamName") or f"row {row}"
    if len(names) == len(rows):
        del columns["team"]  # everybody for themselves
    else:
        columns["team"] = _labels(columns["team"], names)
    return Contest(
        origin=origin,
        match=about.get("id") or origin.stem,
        time=_end(about),
        columns=columns,
        rows=rows,
    )


def _labels(parties: list[int], names: dict[int, str]) -> list[str]:
    """Return the name of every member's party; two parties of one name are kept apart."""
    often = Counter(names.values())
    return [
        names[row] if often[names[row]] == 1 else f"{names[row]} (row {row})" for row in parties
    ]


def _end(about: dict[str, Any]) -> int | None:
    start, duration = about.get("startTimeSeconds"), about.get("durationSeconds")
    if not isinstance(start, int):
        return None
    return start + duration if isinstance(duration, int) else start
