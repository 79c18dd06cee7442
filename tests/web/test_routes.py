"""What endpoints do for whoever may use them: each calls one workflow and shows what it says."""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

from equipoise.pools.pool.pools import pools_to_clear
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.reading import players
from equipoise.web.http.streams import caller
from equipoise.web.settings import ServiceSettings
from plugged import Install
from web.conftest import Serve, Served, duel

ODD_IDS = ["a/b", "..", ".", "é", " a b ", "%2F", "<script>", "'; DROP TABLE log; --", "?x=1#y"]
ODD_IDS += ["%s%n%x", "\u202egnp.exe", "\ufeffname", "nai\u0308ve", "null", "-1", "9" * 200]


def problems(answer: Any) -> list[tuple[int | None, str]]:
    assert answer.status_code == 422, answer.text
    return [(one["line"], one["field"]) for one in answer.json()["error"]["problems"]]


def test_a_pool_is_made_once(served: Served) -> None:
    """The same again is the same, something else a conflict."""
    made = served.put("/v1/pools/once", {"system": "elo", "parameters": {"k": 20}})
    assert made.status_code == 200
    assert made.json()["parameters"]["k"] == 20
    assert served.put("/v1/pools/once", {"system": "elo", "parameters": {"k": 20}}).json() == (
        made.json()
    )
    other = served.put("/v1/pools/once", {"system": "elo"})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
    assert problems(served.put("/v1/pools/UPPER", {"system": "nothing"}))


def test_settings_are_changed_in_their_place(served: Served) -> None:
    """By an admin of the pool; the refusal of what cannot be changed names it."""
    pool = served.pool(late="reject")
    path = f"/v1/pools/{pool}"
    again = served.put(path, {"system": "elo", "late": "append"})
    assert again.status_code == 409
    assert f"Use PATCH /v1/pools/{pool} to change it." in again.json()["error"]["message"]
    key = served.key("admin", pool)
    changed = served.ask("PATCH", path, key, json={"late": "append", "public": True})
    assert (changed.status_code, changed.json()["late"]) == (200, "append")
    assert served.get(path, None).json() == changed.json()
    refused = served.ask("PATCH", path, json={"parameters": {"k": 10}})
    assert refused.status_code == 409
    assert "parameters.k is 32.0, you sent 10.0" in refused.json()["error"]["message"]
    assert problems(served.ask("PATCH", path, json={"unknown": 1})) == [(None, "unknown")]


def test_a_pool_is_deleted_with_a_key_for_all_pools(served: Served) -> None:
    pool = served.pool()
    path = f"/v1/pools/{pool}"
    key = served.key("admin", pool)
    served.post(f"{path}/matches", duel("1", time=100))
    assert served.ask("DELETE", f"{path}?confirm={pool}", key).status_code == 403
    assert problems(served.ask("DELETE", path)) == [(None, "confirm")]
    gone = served.ask("DELETE", f"{path}?confirm={pool}")
    assert (gone.status_code, gone.json()["matches"]) == (200, 1)
    assert served.get(path).status_code == 404
    assert served.get("/v1/pools", key).status_code == 401
    deadline = time.monotonic() + 30
    while pools_to_clear(served.store):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_match_is_answered_with_what_it_changed(served: Served) -> None:
    """And again alike when it is posted again; with other content it is a conflict."""
    pool = served.pool()
    path = f"/v1/pools/{pool}/matches"
    first = served.post(path, duel("1", time=10))
    assert first.status_code == 200
    told = first.json()
    assert (told["match"], told["seq"], told["status"]) == ("1", 1, "rated")
    winner = told["teams"][0]["players"][0]
    assert winner["change"] > 0
    assert served.post(path, duel(1, time=10)).json() == told
    assert served.get(f"{path}/1").json() == told
    assert served.post(path, duel("1", "b", "a", time=10)).status_code == 409
    why = served.get(f"/v1/pools/{pool}/players/a/explain?match=1").json()
    assert why["change"] == winner["change"]


def test_an_array_is_recorded_whole_or_not_at_all(served: Served) -> None:
    """Problems count the matches of the array from 1; those of a single match have no number."""
    pool = served.pool()
    path = f"/v1/pools/{pool}/matches"
    assert served.post(path, [duel("1"), duel("2")]).json() == {"new": 2, "known": 0, "seq": 2}
    bad = served.post(path, [duel("3"), duel("4", "x", "x")])
    assert {line for line, _ in problems(bad)} == {2}
    assert {line for line, _ in problems(served.post(path, duel("4", "x", "x")))} == {None}
    assert served.post(path, []).json() == {"new": 0, "known": 0, "seq": 2}
    assert served.get(f"/v1/pools/{pool}").json()["last_seq"] == 2


def test_an_array_is_bounded(serve: Serve) -> None:
    served = serve(list_length=2)
    pool = served.pool()
    answer = served.post(f"/v1/pools/{pool}/matches", [duel(str(i)) for i in range(3)])
    assert answer.status_code == 422
    assert "at most 2 matches" in answer.text


def test_ids_of_any_sign_are_kept_and_found(served: Served) -> None:
    path = f"/v1/pools/{served.pool(public=True)}"
    for name in ODD_IDS:
        sent = quote(name, safe="").replace(".", "%2E")
        assert served.post(f"{path}/matches", duel(name, name, "other")).status_code == 200
        assert served.get(f"{path}/matches/{sent}").json()["match"] == name
        assert served.get(f"{path}/players/{sent}").json()["player"] == name
        assert served.get(f"{path}/players/{sent}/history").json()["matches"][0]["match"] == name
        around = served.get(f"{path}/leaderboard", params={"around": name}).json()
        assert name in {row["player"] for row in around["players"]}


def test_lists_lead_on_by_cursors(served: Served) -> None:
    pool = served.pool()
    path = f"/v1/pools/{pool}"
    served.post(f"{path}/matches", [duel(str(i), "a", f"p{i}") for i in range(7)])
    for where, key in (
        ("leaderboard", "players"),
        ("matches", "matches"),
        ("players/a/history", "matches"),
    ):
        rows = served.get(f"{path}/{where}?limit=1000").json()[key]
        first = served.get(f"{path}/{where}?limit=3").json()
        query = {"limit": 1000, "cursor": first["next"]}
        rest = served.get(f"{path}/{where}", params=query).json()
        assert first[key] + rest[key] == rows
        assert served.get(f"{path}/{where}?cursor=nonsense").status_code == 422
    assert served.get(f"{path}/leaderboard?cursor=x&around=y").status_code == 422


@pytest.mark.parametrize("pair", [["alone"], ["two", "of them"], ["Doe, Jane"]])
def test_a_large_match_is_listed_as_it_is_shown(served: Served, pair: list[str]) -> None:
    """Its players are counted without decoding them; the first three teams are as posted."""
    path = f"/v1/pools/{served.pool(system='elo-mmr' if len(pair) == 1 else 'plackett-luce')}"
    teams = [{"players": [f"p{at}"], "rank": 200 - at} for at in range(120)]
    teams += [{"players": pair, "rank": 1, "team": "x"}]
    assert served.post(f"{path}/matches", {"match": "m", "teams": teams, "title": "T"}).json()
    (line,) = served.get(f"{path}/matches").json()["matches"]
    assert (line["players"], line["teams"], line["title"]) == (120 + len(pair), 121, "T")
    assert [side["players"] for side in line["sides"]] == [pair, ["p119"], ["p118"]]
    assert [(side["rank"], side["team"]) for side in line["sides"]] == [
        (1, "x"),
        (2, None),
        (3, None),
    ]


def test_an_amendment_is_recorded_replayed_and_told(served: Served) -> None:
    """With `wait` the answer comes when the new ratings are in place; a preview records nothing."""
    pool = served.pool(late="replay")
    path = f"/v1/pools/{pool}"
    served.post(f"{path}/matches", [duel(str(i), time=i) for i in range(5)])
    before = served.get(f"{path}/players/a").json()
    shown = served.post(f"{path}/matches/2/void?preview=true", {"reason": "x"}).json()
    assert (shown["kind"], shown["seq"]) == ("preview", None)
    assert served.get(f"{path}/players/a").json() == before
    done = served.post(f"{path}/matches/2/void?wait=20", {"reason": "server crashed"}).json()
    assert (done["kind"], done["status"], done["reason"]) == ("void", "done", "server crashed")
    assert done["difference"]["players"] == shown["difference"]["players"]
    assert served.get(f"{path}/players/a").json()["rating"] < before["rating"]
    assert served.get(f"{path}/amendments/{done['seq']}").json() == done
    assert served.get(f"{path}/amendments/99999").status_code == 404
    back = served.post(f"{path}/matches/2/restore?wait=20").json()
    assert (back["kind"], back["status"]) == ("restore", "done")
    listed = served.get(f"{path}/amendments").json()["amendments"]
    assert [one["kind"] for one in listed] == ["restore", "void"]


def test_matches_are_corrected_and_players_disqualified(served: Served) -> None:
    pool = served.pool(late="replay")
    path = f"/v1/pools/{pool}"
    served.post(f"{path}/matches", [duel(str(i), time=i) for i in range(3)])
    corrected = served.put(f"{path}/matches/1?wait=20", duel("1", "b", "a", time=1)).json()
    assert (corrected["kind"], corrected["status"]) == ("correct", "done")
    bad = served.put(f"{path}/matches/1", duel("1", "x", "x", time=1))
    assert {line for line, _ in problems(bad)} == {None}
    out = served.post(f"{path}/players/a/disqualify?wait=20", {"since": 1, "reason": "x"}).json()
    assert (out["kind"], out["player"], out["status"]) == ("disqualify", "a", "done")
    assert out["effect"] == "without"
    rows = served.get(f"{path}/leaderboard?disqualified=ranked").json()["players"]
    assert [(row["player"], row["disqualified"]) for row in rows] == [("a", True), ("b", False)]
    assert served.post(f"{path}/players/a/reinstate", {"effect": "void"}).status_code == 422
    again = served.post(f"{path}/players/a/reinstate?wait=20", {"since": 1}).json()
    assert again["status"] == "done"


def test_players_are_renamed_and_merged(served: Served) -> None:
    pool = served.pool(late="replay")
    path = f"/v1/pools/{pool}"
    served.post(f"{path}/matches", [duel("1", time=1), duel("2", "c", "d", time=2)])
    shown = served.post(f"{path}/players/c/rename?preview=true", {"to": "a"}).json()
    assert (shown["kind"], shown["seq"], shown["to"]) == ("preview", None, "a")
    done = served.post(f"{path}/players/c/rename?wait=20", {"to": "a", "reason": "same"}).json()
    assert (done["kind"], done["player"], done["to"]) == ("rename", "c", "a")
    gone = served.get(f"{path}/players/c")
    assert gone.status_code == 404
    assert gone.json()["error"]["message"].endswith("player 'c' is now 'a'")
    assert "player 'c' is now 'a'" in served.get(f"{path}/players/a/against/c").text
    assert served.get(f"{path}/players/a").json()["matches"] == 2
    boards = [served.get(f"{path}/leaderboard?around={name}").json() for name in ("a", "c")]
    assert boards[0] == boards[1]
    chances = [
        served.post(f"{path}/predict", {"teams": [[name], ["b"]], "at": 9, "what_if": [name]})
        for name in ("a", "c")
    ]
    assert chances[1].text == chances[0].text.replace('"a"', '"c"')
    assert chances[1].json()["newcomers"] == []
    lobby = served.post(f"{path}/balance", {"players": ["b", "c"], "at": 9}).json()
    assert lobby["newcomers"] == []
    assert served.post(f"{path}/players/c/rename", {"to": "a"}).status_code == 409
    assert served.post(f"{path}/players/a/rename", {}).status_code == 422


def test_keys_are_made_listed_and_revoked(served: Served) -> None:
    """The secret is in the first answer and in no other; keys may be for a pool and expire."""
    pool = served.pool()
    made = served.post(
        "/v1/keys", {"name": "server", "role": "writer", "pool": pool, "expires": "2099-01-01"}
    ).json()
    key = made["key"]
    assert (key["role"], key["pool"], key["revoked"]) == ("writer", pool, None)
    assert key["expires"].startswith("2099-01-01T00:00:00")
    answer = served.post(f"/v1/pools/{pool}/matches", duel("1"), made["secret"])
    assert answer.status_code == 200
    listed = served.get("/v1/keys")
    assert key["key"] in {one["key"] for one in listed.json()["keys"]}
    assert made["secret"] not in listed.text
    gone = served.post(f"/v1/keys/{key['key']}/revoke").json()
    assert gone["revoked"] is not None
    assert served.post(f"/v1/keys/{key['key']}/revoke").json()["revoked"] == gone["revoked"]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ({"name": "", "role": "reader"}, 422),
        ({"name": "x", "role": "reader", "expires": 1}, 422),
        ({"name": "x", "role": "reader", "expires": "soon"}, 422),
        ({"name": "x", "role": "reader", "pool": "nothing"}, 404),
    ],
)
def test_rejects_invalid_keys(served: Served, content: dict[str, Any], status: int) -> None:
    assert served.post("/v1/keys", content).status_code == status


def test_strengths_are_estimated_from_rankings(served: Served) -> None:
    """Without an estimate, the answer is 422 and names the groups."""
    rankings = b"match,player,rank\n1,ana,1\n1,bo,2\n2,bo,1\n2,ana,2\n"
    path = "/v1/strengths?format=csv&anchor=1500&top=1"
    answer = served.ask("POST", path, content=rankings)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert [one["rating"] for one in told["players"]] == [1500.0, 1500.0]
    refused = served.ask("POST", "/v1/strengths?format=csv", content=rankings[:33])
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "no-strengths")


def test_the_tie_breaks_of_a_report(served: Served) -> None:
    rows = [(1, "  0000 - H     2 w 1", 1.5), (2, "  0000 - Z     1 b 0", 0.0)]
    lines = [
        f"001 {at:4d} m    {'p' + str(at):33} {2000:4d} NOR {'':11} {'':10} {points:4.1f} {at:4d}"
        + rounds
        for at, rounds, points in rows
    ]
    query = "format=trf&pairing=swiss&tie_breaks=ps,bh:c1&by_points=true&details=p1&prior=1"
    answer = served.ask("POST", f"/v1/performance?{query}", content="\n".join(lines).encode())
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["players"][0]["extra"] == {
        **{"place": 1.0, "score": 1.5, "progressive": 2.0, "buchholz_cut1": 0.0}
    }
    assert [one["name"] for one in told["details"]] == ["progressive", "buchholz-cut1"]
    assert told["details"][1]["parts"][0]["status"] == "cut"


def test_a_tournament_is_rated_from_its_file(served: Served) -> None:
    """The body is the file, the options are parameters; what is wrong has the file's lines."""
    games = b"white,black,result\nana,bo,1-0\nbo,cy,1-0\ncy,ana,1/2-1/2\n"
    headers = {"Content-Type": "text/csv"}
    path = "/v1/performance?format=csv&anchor=2000&also=linear&tie_breaks=buchholz,wins"
    answer = served.ask("POST", path, content=games, headers=headers)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert {row["player"] for row in told["players"]} == {"ana", "bo", "cy"}
    assert told["exists"]
    assert set(told["players"][0]["extra"]) == {"linear", "place", "buchholz", "wins"}
    # "document" is an earlier name of "equal", which is the default.
    named = served.ask("POST", f"{path}&select=document", content=games, headers=headers)
    assert named.json() == told
    held = "/v1/performance?format=csv&prior=1&anchor=ana%3D1707"
    assert served.ask("POST", held, content=games).json()["relative"] is False
    bad = served.ask("POST", path, content=games + b"cy,bo,2-0\n", headers=headers)
    assert {line for line, _ in problems(bad)} == {5}


@pytest.mark.parametrize(
    ("query", "body", "status"),
    [
        ("format=csv", b"\x1f\x8b\x08\x00", 400),
        ("", b"white,black,result\n", 422),
        ("format=parquet", b"PAR1", 422),
        ("format=csv&anchor=x", b"white,black,result\na,b,1-0\n", 422),
        ("format=csv&also=nothing", b"white,black,result\na,b,1-0\n", 422),
        ("format=csv&strict=true", b"white,black,result\na,b,1-0\n", 422),
        ("format=csv&confidence=1", b"white,black,result\na,b,1-0\nb,a,1-0\n", 422),
        ("format=csv&prior=5e-324", b"white,black,result\na,b,1-0\nb,a,1-0\n", 422),
    ],
)
def test_rejects_invalid_tournaments(served: Served, query: str, body: bytes, status: int) -> None:
    answer = served.ask("POST", f"/v1/performance?{query}", content=body)
    assert answer.status_code == status, answer.text


def test_a_session_is_rebalanced(served: Served) -> None:
    """The example of the documentation, by the method asked for; problems have their paths."""
    from equipoise.web.api.calculations import _REBALANCE

    answer = served.post("/v1/rebalance?method=optimal", _REBALANCE)
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["teams"]) == 2
    bad = json.loads(json.dumps(_REBALANCE))
    bad["parties"][0]["players"][0]["attributes"]["mmr"] = "x"
    fields = [field for _, field in problems(served.post("/v1/rebalance", bad))]
    assert fields == ["parties[0].players[0].attributes.mmr"]


def test_a_pool_is_exported(served: Served) -> None:
    """The log as lines, the ratings as a table; under a name to save it by."""
    pool = served.pool()
    served.post(f"/v1/pools/{pool}/matches", [duel("1"), duel("2")])
    path = f"/v1/pools/{pool}/export"
    log = served.get(path)
    assert log.status_code == 200
    assert log.headers["content-type"] == "application/x-ndjson"
    assert log.headers["content-disposition"] == f'attachment; filename="{pool}-log.ndjson"'
    assert len(log.text.splitlines()) == 3
    table = served.get(f"{path}?what=ratings&format=csv").text.splitlines()
    assert table[0].startswith("player,")
    assert len(table) == 3
    assert served.get(f"{path}?what=changes&format=parquet").content.startswith(b"PAR1")
    assert served.get(f"{path}?what=secrets").status_code == 422


def test_reads_only_short_boards_inline(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting places, leaving out who is inactive and long pages would hold up other requests."""
    all_listed, dropping = served.pool(), served.pool(times="seconds", inactive_days=30)
    for pool in (all_listed, dropping):
        more = {"time": 1_700_000_000} if pool == dropping else {}
        assert served.post(f"/v1/pools/{pool}/matches", duel("m", **more)).status_code == 200
    threads: set[bool] = set()
    read = players.leaderboard

    def noted(*args: Any, **kwargs: Any) -> Any:
        threads.add(threading.current_thread().name.startswith("equipoise-reading"))
        return read(*args, **kwargs)

    monkeypatch.setattr(players, "leaderboard", noted)
    for pool, query, in_thread in (
        (all_listed, "", False),
        (all_listed, "?limit=100&provisional=true", False),
        (all_listed, "?limit=101", True),
        (all_listed, "?around=a", True),
        (dropping, "", True),
        (dropping, "?inactive=true", False),
    ):
        threads.clear()
        answer = served.get(f"/v1/pools/{pool}/leaderboard{query}")
        assert answer.status_code == 200, answer.text
        assert threads == {in_thread}, query


def test_few_pools_are_exported_at_a_time(served: Served) -> None:
    """By one key two, by all keys as many as the settings say; more are told to come back."""
    pool = served.pool()
    exports = served.app.state.service.exports
    own = 1  # The number of the first key, the administrator's.
    with exports.admitted(own), exports.admitted(own):
        answer = served.get(f"/v1/pools/{pool}/export")
        assert answer.status_code == 429
        assert "retry-after" in answer.headers
        assert served.get(f"/v1/pools/{pool}/export", served.key("reader")).status_code == 200
    with ExitStack() as stack:
        for number in range(ServiceSettings().exports):
            stack.enter_context(exports.admitted(1000 + number))
        answer = served.get(f"/v1/pools/{pool}/export")
        assert answer.status_code == 503
        assert "retry-after" in answer.headers
    assert served.get(f"/v1/pools/{pool}/export").status_code == 200


def test_many_addresses_leave_exports_for_keys(served: Served) -> None:
    """Without a key, all have half of the places; of an IPv6 network, each caller has two."""
    pool, public = served.pool(), served.pool(public=True)
    exports = served.app.state.service.exports
    with ExitStack() as stack:
        for number in range(ServiceSettings().exports // 2):
            stack.enter_context(exports.admitted(f"10.0.0.{number}"))
        answer = served.get(f"/v1/pools/{public}/export", None)
        assert (answer.status_code, "without a key" in answer.text) == (503, True)
        assert served.get(f"/v1/pools/{pool}/export").status_code == 200
    assert served.get(f"/v1/pools/{public}/export", None).status_code == 200
    addresses = [f"2001:db8:1:2::{number}" for number in range(3)]
    request = SimpleNamespace(key=None, scope={"client": (addresses[0], 1)})
    callers = []
    for address in addresses:
        request.scope["client"] = (address, 1)
        callers.append(caller(request))  # type: ignore[arg-type]
    assert callers == ["2001:db8:1:2::"] * 3


def test_tables_are_bounded(served: Served) -> None:
    """At once, in a sentence; 20,000 columns took 16 s."""
    names = ",".join(f"c{one}" for one in range(20_000))
    wide = f"white,black,result,{names}\na,b,1-0,{'1,' * 20_000}\n".encode()
    cells = b"white,black,result\n" + b"," * 2_100_000
    long = b"white,black,result\n" + b"ana,bo,1-0\n" * 20_001
    for content, what in ((wide, "1,000 columns"), (cells, "2,000,000 cells"), (long, "20000 l")):
        for format in ("csv", "crosstable"):
            answer = served.ask("POST", f"/v1/performance?format={format}", content=content)
            assert answer.status_code == 413
            assert f"at most {what}" in answer.json()["error"]["message"]


@pytest.mark.parametrize("what", ["log", "ratings", "changes"])
def test_csv_has_no_text_that_spreadsheets_run(served: Served, what: str) -> None:
    """Unless it is wanted raw. Numbers stay numbers."""
    pool = served.pool()
    teams = [{"players": ["=1+1"], "rank": 1}, {"players": ["-1+1"], "rank": 2}]
    served.post(f"/v1/pools/{pool}/matches", {"match": "@m", "teams": teams})
    path = f"/v1/pools/{pool}/export?what={what}&format=csv"
    found, raw = served.get(path).text, served.get(f"{path}&raw=true").text
    assert raw != found
    assert raw == found.replace("'", "")
    cells = [cell for line in found.splitlines() for cell in line.split(",")]
    assert "'=1+1" in cells
    assert "'-1+1" in cells
    assert all(float(cell) < 0 for cell in cells if cell[:1] in "=+-@" and cell)
    lines = served.get(f"/v1/pools/{pool}/export?what={what}&format=ndjson&raw=false").text
    assert '"=1+1"' in lines


ODD_TABLES = [
    b"{}",
    b"{}\n{}",
    b"[]",
    b"[{}]",
    b'{"a":{}}',
    b'{"player":"\\ud800","a":1}',
    b'[{"\\ud800":1}]',
    b'{"white":"\\ud800","black":"b","result":"1-0"}',
    b"\xed\xa0\x80",
    b"\xff\xfe",
    b"\x00",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"white":' + b"9" * 5_000 + b',"black":2,"result":"1-0"}',
    b'{"white":NaN,"black":1e999,"result":"1-0"}',
    b'{"white":["a"],"black":"b","result":{"x":1}}',
    b"",
    b",,\n,,",
    b'"',
]


@pytest.mark.parametrize(
    "format", ["crosstable", "pairs", "games", "history", "json", "jsonl", "csv", "pgn", "trf"]
)
def test_tables_that_are_none_are_refused_in_a_sentence(served: Served, format: str) -> None:
    """As are texts that are none; a few are a table of no games to somebody."""
    for content in ODD_TABLES:
        answer = served.ask("POST", f"/v1/performance?format={format}", content=content)
        assert 400 <= answer.status_code < 500, (content[:40], answer.text[:300])
        assert answer.json()["error"]["message"]


def test_half_of_a_surrogate_pair_is_no_text(served: Served) -> None:
    from equipoise.web.api.calculations import _REBALANCE

    text = json.dumps(_REBALANCE)
    for whole, odd in (('"ana"', '"\\ud800"'), ('"mmr"', '"\\uDC00"'), ('"p1"', '"\\ud83d"')):
        answer = served.ask("POST", "/v1/rebalance", content=text.replace(whole, odd).encode())
        assert answer.status_code == 422, answer.text
    good = text.replace('"ana"', '"\\ud83d\\ude00"').encode()
    assert "\U0001f600" in served.ask("POST", "/v1/rebalance", content=good).text


def test_matches_queues_as_the_command(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    """The example of the command, byte by byte; a pool gives its system and ratings."""
    from equipoise.cli import run

    example = Path(__file__).parents[2] / "examples" / "queue.json"
    assert run(["matchmaking", "tick", str(example), "--json"]) == 0
    document = json.loads(example.read_text())
    answer = served.post("/v1/matchmaking/tick", document)
    assert answer.status_code == 200, answer.text
    assert answer.json() == json.loads(capsys.readouterr().out)
    document["ruleset"]["alliance"]["min_number"] = 0
    fields = [field for _, field in problems(served.post("/v1/matchmaking/tick", document))]
    assert fields == ["ruleset.alliance.min_number"]


def test_a_tick_reads_the_ratings_of_a_pool(served: Served) -> None:
    pool = served.pool()
    served.post(f"/v1/pools/{pool}/matches", [duel("1"), duel("2")])
    sizes = ("min_number", 2), ("max_number", 2), ("player_min_number", 1), ("player_max_number", 1)
    document: dict[str, Any] = {
        "now": 10,
        "objective": "fair",
        "pool": pool,
        "ruleset": {"alliance": dict(sizes)},
        "tickets": [
            {"ticket": name, "created_at": 0, "players": [{"player": name}]}
            for name in ("ann", "ben", "new")
        ],
    }
    answer = served.post("/v1/matchmaking/tick", document)
    assert answer.status_code == 200, answer.text
    (match,) = answer.json()["matches"]
    assert 0 <= match["cost"] < 0.5
    assert served.post("/v1/matchmaking/tick", {**document, "pool": "none"}).status_code == 404


def game(number: int, winner: str, loser: str, goals: tuple[int, int]) -> dict[str, Any]:
    """Return a match with goals, the winner at home."""
    sides = zip((winner, loser), goals, ("home", "away"), strict=True)
    teams = [
        {"players": [{"player": name, "performance": scored, "side": side}], "rank": rank}
        for rank, (name, scored, side) in enumerate(sides)
    ]
    return {"match": str(number), "teams": teams, "time": 1_700_000_000 + 86_400 * number}


def test_serves_a_pool_of_a_plugin(serve: Serve, football: Path, install: Install) -> None:
    served = serve(page=True)
    assert served.put(
        "/v1/pools/cup", {"system": "football-elo", "public": True, "placement_matches": 0}
    ).is_success
    for number in range(3):
        assert served.post("/v1/pools/cup/matches", game(number, "Ayr", "Bute", (3, 1))).is_success
    before = served.get("/v1/pools/cup/leaderboard").json()
    assert [row["player"] for row in before["players"]] == ["Ayr", "Bute"]

    install.remove(football)
    rules_of.cache_clear()
    assert served.get("/v1/pools/cup/leaderboard").json() == before
    for path in ("", "/players/Ayr", "/matches/0"):
        assert served.get(f"/v1/pools/cup{path}").status_code == 200, path
    refused = served.post("/v1/pools/cup/matches", game(9, "Ayr", "Bute", (1, 0)))
    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "plugin"
    assert "install equipoise-football==0.1.0" in refused.json()["error"]["message"]
    for path in ("", "/leaderboard", "/players/Ayr", "/matches/0"):
        assert served.get(f"/pools/cup{path}", None).status_code == 200, path
    found = served.post("/v1/pools/cup/predict", {"teams": [["Ayr"], ["Bute"]]})
    assert found.status_code == 503
