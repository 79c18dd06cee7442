"""Turns contests of Codeforces, AtCoder and DMOJ, and contest JSON, into one long table.

Codeforces: https://codeforces.com/apiHelp/methods, saved responses of `contest.ratingChanges` and
`contest.standings`. In standings only official participants (CONTESTANT) count, and a party of
several members is a team. The time is the end of the contest. Rating changes list only the rated
participants.

AtCoder: `https://atcoder.jp/contests/<contest>/standings/json` (an object with `StandingsData`) and
`.../results/json` (a list with `Place`), as its pages load them. Participants with `IsRated` false
and participants who submitted nothing are left out. Standings have neither an id nor a time, so the
name of the file is the id.

DMOJ and judges built on it: https://docs.dmoj.ca/#/site/api, `/api/v2/contest/<key>` (and version
1, which calls score `points` and time `cumtime`). Ranks are those of the judge: higher score, then
less time, then smaller tiebreaker. Participants who are equal in all three tie. Disqualified
participants are left out, and so are those without a new rating in a rated contest. The time is the
end of the contest.

Contest JSON, the form of the Elo-MMR data sets: https://github.com/EbTech/Elo-MMR. A contest is an
object with `name`, `time_seconds`, `standings` (lists of player, lowest and highest rank, from 0
and inclusive) and, optionally, `weight` and `perf_ceiling`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Ints
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.frames import series_of
from equipoise.formats.table import BrokenRow, Table, shown
from equipoise.formats.values import NUMBER
from equipoise.wording import counted


class Origin(NamedTuple):
    """Where a document comes from; `stem` is the name of a contest that has none of its own.

    line : of a file with one document on each line, else None
    """

    file: str
    stem: str
    line: int | None = None

    def refuse(self, rule: str, got: str, field: str = "") -> NoReturn:
        """Raise InvalidDataError with one problem of the document."""
        raise InvalidDataError([Problem(self.file, self.line, field, rule, got)])


@dataclass(slots=True, kw_only=True)
class Contest:
    """One contest: the columns of its participations, and the values they share.

    match : id; time : whole seconds or ISO 8601 text; None if the platform gives none
    columns : lists of player, rank, team, share and others
    rows : number of every participation in the standings, from 1
    broken : (index into the columns, field, rule, value found) of entries that break a rule
    """

    origin: Origin
    match: str | int
    time: int | str | None
    columns: dict[str, list[Any]]
    rows: Sequence[int]
    weight: float | None = None
    performance_ceiling: float | None = None
    rated: bool = True
    broken: list[tuple[int, str, str, str]] = field(default_factory=list)


#: Values of a complete contest, with their defaults.
_OF_CONTEST = {"time": None, "weight": None, "performance_ceiling": None, "rated": True}
#: Turns one document of a platform into contests.
ReadContests: TypeAlias = Callable[[Any, Origin], list[Contest]]


def contest_table(contests: list[Contest], name: str) -> Table:
    """Return the long table of contests; problems name the file and the row of the standings."""
    sizes = np.array([len(contest.rows) for contest in contests], dtype=np.int64)
    of_row = np.repeat(np.arange(len(sizes)), sizes)
    columns = [series_of("match", _distinct_ids(contests)).gather(of_row)]
    for key, usual in _OF_CONTEST.items():
        values = [getattr(contest, key) for contest in contests]
        if any(value is not usual for value in values):
            columns.append(series_of(key, values).gather(of_row))
    for key in dict.fromkeys(key for contest in contests for key in contest.columns):
        lists = [
            contest.columns.get(key, [None] * size)
            for contest, size in zip(contests, sizes.tolist(), strict=True)
        ]
        columns.append(series_of(key, [value for values in lists for value in values]))
    starts = np.cumsum(sizes) - sizes

    def locate(rows: Ints) -> list[tuple[str, int | None]]:
        places: list[tuple[str, int | None]] = []
        for row, at in zip(rows.tolist(), of_row[rows].tolist(), strict=True):
            file, _, line = contests[at].origin
            # A document on a line of its own has no lines, so its standings are counted.
            places.append(
                (file, contests[at].rows[row - int(starts[at])] if line is None else line)
            )
        return places

    return Table(
        frame=pl.DataFrame(columns),
        name=name,
        locate=locate,
        broken_rows=tuple(
            BrokenRow(int(start) + row, *rest)
            for contest, start in zip(contests, starts, strict=True)
            for row, *rest in contest.broken
        ),
        notes=_empty_note(contests),
    )


def _distinct_ids(contests: list[Contest]) -> list[str | int]:
    """Return the ids of contests; ids that occur twice get the place of the contest."""
    often = Counter(contest.match for contest in contests)
    ids: list[str | int] = []
    for contest in contests:
        origin = contest.origin
        place = origin.stem if origin.line is None else f"line {origin.line}"
        ids.append(contest.match if often[contest.match] == 1 else f"{contest.match} ({place})")
    return ids


def _empty_note(contests: list[Contest]) -> tuple[str, ...]:
    empty = [str(contest.match) for contest in contests if not contest.rows]
    if not empty:
        return ()
    left_out = counted(
        len(empty),
        "contest without participants is left out",
        "contests without participants are left out",
    )
    return (f"{left_out}: {', '.join(empty)}",)


def listed(document: Any, key: str, origin: Origin) -> list[Any]:
    """Return the list under a key of an object, or refuse the document."""
    value = document.get(key) if isinstance(document, dict) else None
    if not isinstance(value, list):
        origin.refuse("must be a list", shown(value), key)
    return value


def participants(entries: list[Any], key: str, origin: Origin) -> list[tuple[int, dict[str, Any]]]:
    """Return the objects of a list with their numbers from 1, or refuse the document.

    key : of the list
    """
    for entry in entries:
        if not isinstance(entry, dict):
            origin.refuse("must be a list of participants", shown(entry), key)
    return list(enumerate(entries, start=1))


def columns_of(entries: Sequence[dict[str, Any]], keys: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the values of objects; keys : name of a column -> key of the objects."""
    return {name: [entry.get(key) for entry in entries] for name, key in keys.items()}


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
        origin.refuse("must be a response with status OK", shown(got), "status")
    if isinstance(result, list):
        return _rating_changes(result, origin)
    if isinstance(result, dict) and "rows" in result:
        return [_standings(result, origin)]
    origin.refuse("must be rating changes or standings", shown(result), "result")


def _rating_changes(changes: list[Any], origin: Origin) -> list[Contest]:
    """Return a contest for every contest id, in the order of the answer."""
    contests: dict[Any, list[tuple[int, dict[str, Any]]]] = {}
    for row, change in enumerate(changes, start=1):
        if not isinstance(change, dict) or "contestId" not in change:
            origin.refuse("must be a rating change with a contestId", shown(change), "result")
        contests.setdefault(change["contestId"], []).append((row, change))
    keys = {
        "player": "handle",
        "rank": "rank",
        "old_rating": "oldRating",
        "new_rating": "newRating",
    }
    return [
        Contest(
            origin=origin,
            match=match,
            time=of_one[0][1].get("ratingUpdateTimeSeconds"),
            columns=columns_of([change for _, change in of_one], keys),
            rows=[row for row, _ in of_one],
        )
        for match, of_one in contests.items()
    ]


def _standings(result: dict[str, Any], origin: Origin) -> Contest:
    about = result.get("contest")
    about = about if isinstance(about, dict) else {}
    columns: dict[str, list[Any]] = {"player": [], "team": [], "rank": [], "points": []}
    rows: list[int] = []
    names: dict[int, str] = {}
    for row, standing in enumerate(listed(result, "rows", origin), start=1):
        party = standing.get("party") if isinstance(standing, dict) else None
        if not isinstance(party, dict):
            origin.refuse("must be a list of rows, each with a party", shown(standing), "rows")
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
        del columns["team"]  # every participant is alone
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
    """Return the name of every member's party, made unique if two parties share one."""
    often = Counter(names.values())
    return [
        names[row] if often[names[row]] == 1 else f"{names[row]} (row {row})" for row in parties
    ]


def _end(about: dict[str, Any]) -> int | None:
    start, duration = about.get("startTimeSeconds"), about.get("durationSeconds")
    if not isinstance(start, int):
        return None
    return start + duration if isinstance(duration, int) else start


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
    taken = [
        (row, entry)
        for row, entry in participants(entries, "StandingsData", origin)
        if entry.get("IsRated", True) and not _submitted_nothing(entry)
    ]
    first = taken[0][1] if taken else {}
    keys = {"rank": "Place" if results else "Rank"}
    ratings = {"old_rating": "OldRating", "new_rating": "NewRating"}
    keys |= {name: key for name, key in ratings.items() if key in first}
    names = [entry.get("UserScreenName") or entry.get("UserName") for _, entry in taken]
    screen_name = first.get("ContestScreenName")
    return [
        Contest(
            origin=origin,
            # Old contests are called agc001.contest.atcoder.jp.
            match=screen_name.partition(".")[0] if isinstance(screen_name, str) else origin.stem,
            time=first.get("EndTime"),
            columns={"player": names, **columns_of([entry for _, entry in taken], keys)},
            rows=[row for row, _ in taken],
        )
    ]


def _submitted_nothing(entry: dict[str, Any]) -> bool:
    total = entry.get("TotalResult")
    return isinstance(total, dict) and total.get("Count") == 0


def holds_dmoj(document: Any) -> bool:
    """Return whether a document is an answer of this platform."""
    return isinstance(document, dict) and "rankings" in _contest_of(document)


def read_dmoj(document: Any, origin: Origin) -> list[Contest]:
    """Return the contest of an answer."""
    contest = _contest_of(document)
    standings = participants(listed(contest, "rankings", origin), "rankings", origin)
    has_rating = bool(contest.get("has_rating"))
    taken = [
        (row, standing)
        for row, standing in standings
        if not standing.get("is_disqualified")
        and not (has_rating and standing.get("new_rating") is None)
    ]
    entries = [standing for _, standing in taken]
    ranks, broken = _ranks(entries)
    columns = columns_of(entries, {name: name for name in ("user", "old_rating", "new_rating")})
    return [
        Contest(
            origin=origin,
            match=contest.get("key") or origin.stem,
            time=contest.get("end_time") or contest.get("start_time"),
            columns={"player": columns.pop("user"), "rank": ranks, **columns},
            rows=[row for row, _ in taken],
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
    """Return ranks from 0 by score, time and tiebreaker, and the entries that lack a number."""
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
            score, time, tiebreaker = numbers  # of any size: not converted
            keys.append((-score, time, tiebreaker))
    order = {key: rank for rank, key in enumerate(sorted({key for key in keys if key}))}
    return [None if key is None else order[key] for key in keys], broken


STANDING = "must be a list of player, lowest and highest rank"
ORDERED = "must have a lowest rank that is not above the highest"


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
