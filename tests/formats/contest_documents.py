"""Contests as Codeforces, DMOJ and AtCoder answer, and as contest JSON has them."""

from __future__ import annotations

FIRST = {"name": "First", "time_seconds": 100, "standings": [["a", 0, 0], ["b", 1, 2], ["c", 1, 2]]}
SECOND = {
    "name": "Second",
    "time_seconds": 50,
    "standings": [["c", 0, 0], ["a", 1, 1]],
    "weight": 0.5,
    "perf_ceiling": 1900,
}
CHANGES = {
    "status": "OK",
    "result": [
        {
            "contestId": 4,
            "contestName": "Round 4",
            "handle": handle,
            "rank": rank,
            "ratingUpdateTimeSeconds": 900,
            "oldRating": 1500,
            "newRating": new,
        }
        for handle, rank, new in (("tourist", 1, 1602), ("petr", 2, 1540), ("x", 2, 1400))
    ],
}


def party(handles, rank, kind="CONTESTANT", **more):
    """Return a row of Codeforces standings."""
    members = [{"handle": handle} for handle in handles]
    about = {"contestId": 7, "members": members, "participantType": kind, "ghost": False} | more
    return {"party": about, "rank": rank, "points": 5.0, "penalty": 0}


STANDINGS = {
    "status": "OK",
    "result": {
        "contest": {"id": 7, "startTimeSeconds": 1000, "durationSeconds": 500},
        "problems": [],
        "rows": [
            party(["a", "b"], 1, teamName="Twins", teamId=1),
            party(["z"], 1, kind="VIRTUAL"),
            party(["c"], 2),
            party(["d"], 3, kind="OUT_OF_COMPETITION"),
            party(["e", "f"], 3, teamName="Twins", teamId=2),
        ],
    },
}


def entrant(user, score, time, **more):
    """Return an entry of a DMOJ ranking."""
    return {
        "user": user,
        "score": score,
        "cumulative_time": time,
        "tiebreaker": 0.0,
        "old_rating": None,
        "new_rating": 1500,
        "is_disqualified": False,
    } | more


DMOJ = {
    "api_version": "2.0",
    "data": {
        "object": {
            "key": "dmopc20",
            "name": "DMOPC",
            "start_time": "2020-01-01T00:00:00+00:00",
            "end_time": "2020-01-01T03:00:00+00:00",
            "is_rated": True,
            "has_rating": True,
            "rankings": [
                entrant("late", 100, 60),
                entrant("first", 100, 50),
                entrant("tie", 100, 60),
                entrant("broken tie", 100, 60, tiebreaker=1),
                entrant("cheat", 200, 1, is_disqualified=True),
                entrant("guest", 150, 1, new_rating=None),
                entrant("zero", 0, 0),
            ],
        }
    },
}


def dmoj(**more):
    """Return the DMOJ answer with some of the contest's keys changed."""
    return DMOJ | {"data": {"object": DMOJ["data"]["object"] | more}}


def contestant(name, rank, rated=True, count=3):
    """Return an entry of AtCoder standings."""
    return {
        "Rank": rank,
        "UserScreenName": name,
        "UserName": name.upper(),
        "IsRated": rated,
        "OldRating": 1000,
        "TotalResult": {"Count": count, "Score": 100},
    }
