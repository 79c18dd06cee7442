"""Known ratings over HTTP: before the first match, from a list, a table or another pool."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.pools.contents import MOST_PLAYERS
from web.conftest import Served, duel

KNOWN = [
    {"player": "a", "rating": 1800, "deviation": 90.5},
    {"player": "b", "rating": 1650.25},
    {"player": 7, "rating": 1400},
]


def place(pool: str) -> str:
    return f"/v1/pools/{pool}/initial-ratings"


def said(answer: Any, status: int) -> str:
    """Return the message and the problems of an error."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    listed = [f"{one['field']} {one['rule']}" for one in error["problems"]]
    return "\n".join([error["message"], *listed])


def table(served: Served, pool: str, content: bytes, query: str = "") -> Any:
    headers = {"Content-Type": "text/csv"}
    return served.ask("PUT", place(pool) + query, content=content, headers=headers)


def test_a_list_is_set_read_and_kept(served: Served) -> None:
    """The same again is answered alike, also after the first match; others are a conflict."""
    pool = served.pool(system="glicko")
    nothing = served.get(place(pool)).json()
    assert (nothing["summary"]["seq"], nothing["ratings"], nothing["next"]) == (None, [], None)
    body = {"ratings": KNOWN, "reason": "from the old site"}
    made = served.put(place(pool), body)
    assert made.status_code == 200, made.text
    told = made.json()
    assert (told["seq"], told["players"], told["reason"]) == (1, 3, "from the old site")
    page = served.get(place(pool) + "?limit=2")
    assert page.json()["ratings"] == [
        {"player": "7", "rating": 1400.0},
        {"player": "a", "rating": 1800.0, "deviation": 90.5},
    ]
    rest = served.get(f"{place(pool)}?cursor={page.json()['next']}").json()
    assert rest["ratings"] == [{"player": "b", "rating": 1650.25}]
    tag = {"If-None-Match": page.headers["ETag"]}
    assert served.get(place(pool) + "?limit=2", headers=tag).status_code == 304
    assert served.get(f"/v1/pools/{pool}").json()["known_ratings"] == 3
    shown = served.get(f"/v1/pools/{pool}/players/a").json()
    assert (shown["rating"], shown["known_rating"], shown["known_deviation"]) == (1800, 1800, 90.5)
    assert served.post(f"/v1/pools/{pool}/matches", duel("m")).status_code == 200
    assert served.put(place(pool), body).json() == told
    words = said(served.put(place(pool), {"ratings": []}), 409)
    assert "must be set before the first match" in words


def test_a_table_is_set(served: Served) -> None:
    pool = served.pool(system="glicko")
    content = b"player,rating,deviation\na,1800,90.5\nb,1650.25,\n7,1400,\n"
    made = table(served, pool, content, "?reason=moved")
    assert (made.status_code, made.json()["players"], made.json()["reason"]) == (200, 3, "moved")
    mapped = table(served, pool, content, "?mapping=1500=1500,1600=1550")
    assert mapped.json()["mapping"] == {"there": [1500, 1600], "here": [1500, 1550]}
    found = served.get(place(pool)).json()["ratings"]
    assert [one["rating"] for one in found] == [1450.0, 1650.0, 1575.125]
    assert found[1]["deviation"] == 45.25


def test_only_who_may_read_a_pool_can_copy_it(served: Served) -> None:
    """Otherwise it is not even said whether it exists."""
    source, target = served.pool(), served.pool()
    served.put(place(source), {"ratings": KNOWN})
    own = served.key("admin", target)
    for pool in (source, "nowhere"):
        words = said(served.put(place(target), {"pool": pool}, key=own), 403)
        assert words == f"the key is for another pool than {pool!r}"
    assert "no pool 'nowhere'" in said(served.put(place(target), {"pool": "nowhere"}), 404)
    public = served.pool(public=True)
    served.put(place(public), {"ratings": KNOWN})
    assert served.put(place(target), {"pool": public}, key=own).status_code == 200


@pytest.mark.parametrize(
    ("content", "query", "status", "sentence"),
    [
        (b"player,rating\na,x\n", "", 422, "rating must be a number"),
        (b"player,rating\na,1\n", "?mapping=1", 422, "mapping takes FROM=TO"),
        (b"name,rating\na,1\n", "", 422, "player must be a column"),
        (b"", "", 422, ""),
        (b"\x1f\x8b\x08", "", 400, "must be uncompressed text"),
        # Below a title, any of the first lines may be the header.
        (b"player,rating\n" + b"," * 1_100, "", 413, "columns"),
        (b"," * 1_100 + b"\n", "", 413, "columns"),
    ],
)
def test_bad_tables_are_named(
    served: Served, content: bytes, query: str, status: int, sentence: str
) -> None:
    pool = served.pool()
    assert sentence in said(table(served, pool, content, query), status)


def test_what_belongs_to_a_table_is_not_for_a_list(served: Served) -> None:
    pool = served.pool()
    words = said(served.put(place(pool) + "?reason=x", {"ratings": []}), 422)
    assert "fields of the body" in words
    headers = {"Content-Type": "text/plain"}
    assert served.ask("PUT", place(pool), content=b"x", headers=headers).status_code == 415


def test_a_table_with_more_lines_than_players_is_refused_unread(served: Served) -> None:
    """However short the lines: 10 MB of them took gigabytes and half a minute to read."""
    pool = served.pool()
    for line in (b"a\n", b"a,b\r"):
        words = said(table(served, pool, b"player,rating\n" + line * 300_000), 422)
        assert f"ratings must have at most {MOST_PLAYERS:,} players" in words


def test_only_the_first_problems_are_listed(served: Served) -> None:
    pool = served.pool()
    answer = served.put(place(pool), {"ratings": [KNOWN[0]] * 300})
    assert answer.status_code == 422
    assert 1 <= len(answer.json()["error"]["problems"]) <= 100
    assert "299 problems" in answer.json()["error"]["message"]
