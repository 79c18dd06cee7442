"""A league run from forms alone: a new pool, an upload, results and their corrections."""

from __future__ import annotations

import io
import re
from datetime import datetime
from typing import Any

import httpx
import openpyxl
import pytest

from equipoise.errors import InvalidDataError
from equipoise.web.page.context import Form
from equipoise.web.page.league import pool_name, pool_of
from web.page.markup import Page, confirmation
from web.page.test_forms_at_work import confirm, token

ROWS = """date,player 1,player 2,score 1,score 2
2026-10-01,Ada Fox,Bo,3,1
2026-10-08,Bo,Cy,1,1
"""


def hidden(text: str) -> dict[str, str]:
    """Return the hidden fields of a page."""
    inputs = Page(text).all("input")
    return {one["name"]: one["value"] for one in inputs if one.get("type") == "hidden"}  # type: ignore[misc]


def new_pool(client: httpx.Client, site: Any, title: str) -> str:
    """Create a pool in the browser and return its name, once it takes matches."""
    fields = {"token": token(client, "/new-pool"), "title": title, "play": "duels", "times": "1"}
    done = client.post("/new-pool", data={**fields, "public": "1"})
    assert done.status_code == 303, Page(done.text).text
    pool = done.headers["location"].removeprefix("/pools/")
    site.wait_until(pool, lambda told: told["kernels"] == "ready")
    return pool


def test_three_questions_make_a_pool(admin: httpx.Client, site: Any) -> None:
    pool = new_pool(admin, site, "Étoile: Thursday's league")
    assert pool == "etoile-thursday-s-league"
    told = site.perform("GET", f"/pools/{pool}")
    assert (told["system"], told["late"], told["public"]) == ("glicko2", "replay", True)
    assert told["title"] == "Étoile: Thursday's league"
    assert "Upload matches" in admin.get(f"/pools/{pool}").text
    fields = {"token": token(admin, "/new-pool"), "title": "Other", "play": "teams"}
    conflict = admin.post("/new-pool", data={**fields, "name": pool})
    assert conflict.status_code == 409
    assert 'value="Other"' in conflict.text


def test_wrong_answers_about_a_pool_are_named() -> None:
    assert pool_name("  Ünder 18 / Nord ") == "under-18-nord"
    for fields in ({"title": "!!!", "play": "duels"}, {"title": "a", "play": "chess"}):
        with pytest.raises(InvalidDataError):
            pool_of(Form({name: [value] for name, value in fields.items()}))
    name, request = pool_of(Form({"title": ["Cup"], "play": ["contests"], "entry": ["learned"]}))
    assert (name, request.system, request.parameters) == ("cup", "elo-mmr", {"entry": "learned"})


def test_uploads_a_file_once_without_scripts(admin: httpx.Client, site: Any) -> None:
    pool = new_pool(admin, site, "Uploads")
    path = f"/pools/{pool}/upload"
    fields = {"token": token(admin, path)}
    file = {"file": ("week 1.csv", ROWS.encode(), "text/csv")}
    preview = admin.post(path, data=fields, files=file)
    assert preview.status_code == 200
    text = Page(preview.text).text
    for words in ("week 1.csv", "2 new matches", "3 newcomers", "Post 2 matches"):
        assert words in text
    assert site.perform("GET", f"/pools/{pool}")["matches"] == 0
    kept = hidden(preview.text)
    assert kept["name"] == "week 1.csv"
    fields = {**fields, "held": kept["held"], "name": kept["name"]}
    fields["do"] = confirmation(preview.text)
    done = admin.post(path, data=fields)
    assert done.status_code == 303
    assert "2 matches were posted" in admin.get(done.headers["location"]).text
    again = admin.post(path, data=fields)
    assert again.status_code == 200
    assert "Nothing to post" in again.text
    assert site.perform("GET", f"/pools/{pool}")["matches"] == 2


def test_a_sheet_of_a_workbook_is_uploaded(admin: httpx.Client, site: Any) -> None:
    pool = new_pool(admin, site, "Workbook")
    stream = io.BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["Date", "Player 1", "Player 2", "Score 1", "Score 2"])
    book.active.append([datetime(2026, 10, 3), "Ada", "Bo", 2, 1])
    book.active.title = "Games"
    members = book.create_sheet("Members")
    members.append(["Player", "Since"])
    members.append(["Ada", 2020])
    book.save(stream)
    path = f"/pools/{pool}/upload"
    file = {"file": ("results.xlsx", stream.getvalue(), "application/octet-stream")}
    refused = admin.post(path, data={"token": token(admin, path)}, files=file)
    assert "must say which sheet to read" in Page(refused.text).text
    data = {"token": token(admin, path), "sheet": "Games"}
    preview = admin.post(path, data=data, files=file)
    assert "1 new match" in Page(preview.text).text, Page(preview.text).text
    held = hidden(preview.text)
    fields = {**data, "held": held["held"], "name": held["name"]}
    confirm(admin, path, fields)
    assert (
        site.perform("GET", f"/pools/{pool}/matches/2026-10-03 Ada - Bo")["teams"][1]["score"] == 1
    )


def test_an_upload_that_is_not_understood_names_its_lines(admin: httpx.Client) -> None:
    path = "/pools/arena/upload"
    fields = {"token": token(admin, path)}
    for more in ({}, {"held": "?"}, {"held": "AAAA"}):
        assert admin.post(path, data={**fields, **more}).status_code == 422
    zipped = {"file": ("a.zip", b"PK\x03\x04....", "x/y")}
    assert admin.post(path, data=fields, files=zipped).status_code == 422
    wrong = admin.post(path, data={**fields, "matches": ROWS.replace("3,1", "3,x")})
    assert "line 2" in Page(wrong.text).text
    assert "Post " not in [one.strip() for one in Page(wrong.text).texts]


def test_a_result_is_posted_and_corrected_in_fields(admin: httpx.Client, site: Any) -> None:
    """Id and time are filled in; a newcomer and a name like that of a player are marked."""
    pool = new_pool(admin, site, "Results")
    path = f"/pools/{pool}/post"
    form = Page(admin.get(path).text)
    typed = {one["name"]: one.get("value") or "" for one in form.all("input") if "name" in one}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-[0-9a-f]{6}", typed["match"] or "")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d", typed["time"] or "")
    fields = {
        **{name: typed[name] for name in ("token", "match")},
        "time": "2026-10-03T20:30",
        "zone": "-120",
        "result": "score",
        "rank": ["2", "1.5"],
        "players-1": "Ada Fox",
        "players-2": "Bo",
        "title": "Winter <Cup>",
        "link": "http://example.org",
    }
    refused = admin.post(path, data=fields)
    assert (refused.status_code, "must be an https address" in refused.text) == (422, True)
    fields["link"] = "https://example.org/cup"
    confirm(admin, path, fields, "newcomer")
    posted = site.perform("GET", f"/pools/{pool}/matches/{typed['match']}")
    assert [team["score"] for team in posted["teams"]] == [2.0, 1.5]
    assert posted["time"] == "2026-10-03T18:30:00Z"
    assert (posted["title"], posted["link"]) == ("Winter <Cup>", "https://example.org/cup")

    wrong = {**fields, "match": "m2", "players-1": "ada fox"}
    preview = admin.post(path, data=wrong)
    assert "ada fox is new, but Ada Fox plays here" in Page(preview.text).text
    assert admin.post(path, data={**wrong, "rank": ["2", "x"]}).status_code == 422
    named = Page(admin.post(path, data={**wrong, "rename": "ada fox\tAda Fox"}).text)
    assert named.field("players-1") == "Ada Fox"
    more = Page(admin.post(path, data={**wrong, "do": "team"}).text)
    assert more.field("players-1") == "ada fox"

    path = f"/pools/{pool}/correct/{typed['match']}"
    form = Page(admin.get(path).text)
    typed = {one["name"]: one.get("value") or "" for one in form.all("input") if "name" in one}
    assert (typed["players-1"], typed["was"]) == ("Ada Fox", "2026-10-03T18:30")
    fields = {name: value or "" for name, value in typed.items()}
    fields |= {"how": "places", "rank": ["0", "3"], "players-2": "Cy"}
    confirm(admin, path, fields)
    match = site.perform("GET", f"/pools/{pool}/matches/{posted['match']}")
    assert [(t["players"][0]["player"], t["score"]) for t in match["teams"]] == [
        ("Ada Fox", 0.0),
        ("Cy", 3.0),
    ]
    assert match["time"] == "2026-10-03T18:30:00Z"


def test_all_matches_of_a_player_are_voided(admin: httpx.Client, site: Any) -> None:
    """Also those from before today; the preview says what others lose or gain."""
    pool = new_pool(admin, site, "Cheated")
    path = f"/pools/{pool}/upload"
    confirm(admin, path, {"token": token(admin, path), "matches": ROWS})
    path = f"/pools/{pool}/disqualify/Ada%20Fox"
    form = admin.get(f"{path}?all=1").text
    assert any(one.get("name") == "all" and "checked" in one for one in Page(form).all("input"))
    fields = {"token": token(admin, path), "all": "1", "reason": "another's account"}
    confirm(admin, path, fields, "count for nobody", "2 other players would move")
    board = site.perform("GET", f"/pools/{pool}/players/Bo")
    assert board["matches"] == 1
    match = site.perform("GET", f"/pools/{pool}/matches/2026-10-01 Ada Fox - Bo")
    assert not any(one["counted"] for team in match["teams"] for one in team["players"])


def test_teams_link_to_their_result_and_to_everybody(site: Any, anybody: httpx.Client) -> None:
    """The link shows the same teams to visitors without a key; a result is one click away."""
    with site.visitor("judge") as judge:
        path = "/pools/arena/balance"
        names = ["ada-fox", "bo-otter", "cleo_77", "eda-fox"]
        made = judge.post(path, data={"token": token(judge, path), "player": names})
        links = [one for one in Page(made.text).links if "players-1=" in one]
        played, link = (next(one for one in links if part in one) for part in ("/post?", "/teams?"))
        filled = Page(judge.get(played).text)
        typed = [one.get("value") for one in filled.all("input") if one.get("list") == "names"]
        assert set(names) <= set(typed)
    shown = anybody.get(link)
    assert shown.status_code == 200
    text = Page(shown.text).text
    assert all(name in text for name in names)
    assert "team 1 wins" in text
    assert "These teams played" not in text
    assert anybody.get("/pools/arena/teams").headers["location"] == path
    twice = anybody.get("/pools/arena/teams?players-1=a&players-2=a")
    assert "team 1 wins" not in twice.text


def test_offers_no_result_for_teams_it_cannot_rate(admin: httpx.Client, site: Any) -> None:
    """A pool of duels makes fair teams of two, but takes no match of them."""
    pool = new_pool(admin, site, "Doubles")
    one, two = f"/pools/{pool}/teams?players-1=a&players-2=b", "&players-1=c&players-2=d"
    assert "These teams played" in admin.get(one).text
    assert "These teams played" not in admin.get(one + two).text


def test_rows_that_are_too_many_for_a_field_are_kept_as_a_file_is(admin: httpx.Client) -> None:
    path = "/pools/arena/upload"
    rows = ROWS + "\n" * 200_000 + "2026-10-15,Cy,Dan,1,0\n"
    shown = admin.post(path, data={"token": token(admin, path), "matches": rows}).text
    assert "Pasted rows" in shown
    assert "2026-10-15" not in shown
    assert hidden(shown)["held"]
