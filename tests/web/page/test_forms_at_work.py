"""Forms without scripts: teams are made, tournaments rated, matches posted and amended."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import httpx

from web.page.invented import DAY, START
from web.page.markup import Page, confirmation

_PGN = """[Event "Open"]\n[White "{}"]\n[Black "{}"]\n[Result "{}"]\n\n1. e4 {}\n\n"""
GAMES = [("Ana", "Bo", "1-0"), ("Bo", "Cy", "1-0"), ("Cy", "Ana", "1/2-1/2"), ("Cy", "Di", "0-1")]
PGN = "".join(_PGN.format(*game, game[2]) for game in [*GAMES, ("Di", "Ana", "0-1")])


def token(client: httpx.Client, path: str) -> str:
    """Return what a form of a page carries."""
    return Page(client.get(path).text).field("token")


def test_pasted_players_become_rows_and_rows_become_teams(anybody: httpx.Client) -> None:
    paste = "ada-fox + bo-otter + dag_77\ncleo_77 + eda-fox\nfinn-otter\ngus_77\nhana-fox\n"
    paste += "ivolynx\njun-otter"
    rows = Page(anybody.post("/pools/arena/balance", data={"paste": paste, "do": "rows"}).text)
    assert rows.field("player") == "ada-fox"
    answer = anybody.post("/pools/arena/balance", data={"paste": paste})
    assert answer.status_code == 200
    teams = re.findall(r'<section class="card team-\d.*?</section>', answer.text, re.DOTALL)
    assert len(teams) == 2
    for party in (("ada-fox", "bo-otter", "dag_77"), ("cleo_77", "eda-fox")):
        held = [sum(f">{one}<" in team for one in party) for team in teams]
        assert sorted(held) == [0, len(party)]
    assert "Constraints and their costs" in answer.text
    assert "Next best" in answer.text


def test_the_page_offers_objectives_and_rules(anybody: httpx.Client) -> None:
    """By default chances are compared; rules hold with them if they are ticked."""
    fields = {"player": ["ada-fox", "bo-otter", "cleo_77", "eda-fox", "finn-otter"]}
    by_chance = anybody.post("/pools/arena/balance", data=fields | {"top_two": "1"})
    assert by_chance.status_code == 200
    text = " ".join(Page(by_chance.text).text.split())
    assert "The win probabilities of the teams differ by" in text
    assert "the top two in different teams" in text
    assert "the top player in a smaller team" not in text
    by_mean = anybody.post("/pools/arena/balance", data=fields | {"objective": "mean"})
    text = " ".join(Page(by_mean.text).text.split())
    assert "The mean effective ratings of the teams differ by" in text
    assert "a comparison of mean ratings ignores this" in text


def test_players_who_are_apart_are_named_whatever_their_names(anybody: httpx.Client) -> None:
    """An id may hold what separates ids elsewhere."""
    fields = {"player": ["a;b", "c", "ada-fox", "bo-otter"], "avoid": ["a;b"], "avoided": ["c"]}
    answer = anybody.post("/pools/arena/balance", data=fields)
    assert answer.status_code == 200
    kept = re.findall(r'<th scope="row" class="wrap">(.*?)</th>', answer.text)
    assert "<bdi>a;b</bdi> and <bdi>c</bdi> in different teams" in kept


def test_a_lobby_that_cannot_be_split_keeps_what_was_typed(anybody: httpx.Client) -> None:
    fields = {
        "player": ["ada-fox", "ada-fox", "<b>new</b>"],
        "party": ["", "", ""],
        "team": ["", "x", ""],
        "avoid": ["ada-fox"],
        "avoided": ["nobody"],
        "teams": "1",
    }
    answer = anybody.post("/pools/arena/balance", data=fields)
    assert answer.status_code == 422
    page = Page(answer.text)
    assert "4 problems:" in page.text
    assert "<b>new</b>" in [one.get("value") for one in page.all("input")]


def test_sweeps_are_said_where_there_is_no_equilibrium(anybody: httpx.Client) -> None:
    games = "white,black,result\nana,<b>bo</b>,1-0\n<b>bo</b>,cy,1/2-1/2\nana,cy,1-0\n"
    answer = anybody.post("/tournament", data={"games": games})
    assert answer.status_code == 200
    page = Page(answer.text)
    assert "Sweeps" in page.texts
    assert "won every point against" in page.text
    assert "<b>bo</b>" in page.texts


def test_a_file_that_is_no_tournament_is_refused_with_reasons(anybody: httpx.Client) -> None:
    zipped = anybody.post("/tournament", files={"file": ("a.zip", b"PK\x03\x04....", "x/y")})
    assert zipped.status_code == 422
    assert "zip" in zipped.text
    assert anybody.post("/tournament", data={}).status_code == 422
    assert anybody.post("/tournament", data={"games": "a,b\n1,2\n"}).status_code == 422


def test_the_example_is_rebalanced_and_methods_compared(anybody: httpx.Client) -> None:
    text = re.search(r"<textarea[^>]*>(.*?)</textarea>", anybody.get("/rebalance").text, re.DOTALL)
    assert text is not None
    import html

    request = html.unescape(text[1])
    for method in ("", "greedy"):
        answer = anybody.post(
            "/rebalance", data={"request": request, "method": method, "compare": "1"}
        )
        assert answer.status_code == 200
        assert "Evenness" in answer.text
        assert "All methods" in answer.text
        assert ("Placement of the parties" in answer.text) == (method == "greedy")
    marked = anybody.post("/rebalance", data={"request": "\ufeff" + request})
    assert marked.status_code == 200
    assert anybody.post("/rebalance", data={"request": "[" * 5000}).status_code == 422
    wrong = {"request": request, "method": "magic"}
    assert anybody.post("/rebalance", data=wrong).status_code == 422


def test_a_match_is_previewed_then_posted(site: Any) -> None:
    with site.visitor("writer") as writer:
        path = "/pools/arena/post"
        match = {
            "match": "by hand <1>",
            "time": START + 81 * DAY,
            "performance_ceiling": 2000.0,
            "teams": [
                {"players": [{"player": "ada-fox", "performance": 20.0}], "rank": 1},
                {"players": [{"player": "newcomer", "performance": 18.0}], "rank": 2},
            ],
        }
        fields = {"json": json.dumps(match), "token": token(writer, path)}
        preview = writer.post(path, data=fields)
        assert preview.status_code == 200, preview.text
        assert "Preview of the ratings" in preview.text
        assert "team-glicko2 does not use performance_ceiling" in Page(preview.text).text
        assert writer.get("/pools/arena/players/newcomer").status_code == 404
        seen = confirmation(preview.text)
        match["teams"][0]["rank"] = 3  # type: ignore[index]
        other = {**fields, "json": json.dumps(match), "do": seen}
        assert "Preview of the ratings" in writer.post(path, data=other).text
        done = writer.post(path, data={**fields, "do": seen})
        assert done.status_code == 303
        assert "by hand <1>" in Page(writer.get(done.headers["location"]).text).text
        again = writer.post(path, data={**other, "do": ""})
        assert again.status_code == 409


def test_a_match_is_voided_after_its_difference_was_seen(site: Any) -> None:
    with site.visitor("judge") as judge:
        before = judge.get("/pools/arena/leaderboard").text
        path = "/pools/arena/void/m0399"
        fields = {"reason": "<b>cheated</b>", "token": token(judge, path)}
        preview = judge.post(path, data=fields)
        assert preview.status_code == 200
        assert "Preview of the changes" in preview.text
        assert judge.get("/pools/arena/leaderboard").text == before
        do(judge, path, fields, preview)
        entry = Page(judge.get("/pools/arena/amendments").text)
        assert "<b>cheated</b>" in entry.texts
        assert judge.get("/pools/arena/leaderboard").text != before
        assert judge.post(path, data=fields).status_code == 409
        back = "/pools/arena/restore/m0399"
        confirm(judge, back, fields)
        assert board(judge.get("/pools/arena/leaderboard").text) == board(before)


def test_places_are_corrected_and_a_player_is_disqualified(site: Any) -> None:
    """And reinstated: each is shown before it is done."""
    with site.visitor("judge") as judge:
        path = "/pools/arena/correct/m0398"
        fields: dict[str, Any] = {"how": "places", "rank": ["1", "1"]}
        fields["token"] = token(judge, path)
        confirm(judge, path, fields)
        assert "corrected" in judge.get("/pools/arena/matches/m0398").text
        for ranks in (["1"], ["1", "x"]):
            assert judge.post(path, data={**fields, "rank": ranks}).status_code == 422
        assert judge.post(path, data={**fields, "how": "json", "json": "{"}).status_code == 422
        path = "/pools/arena/disqualify/odd-fox"
        fields = {"since": "2026-09-20", "reason": "", "token": fields["token"]}
        kept = judge.post(path, data={**fields, "effect": "keep"})
        assert "Effect keep" in Page(kept.text).text
        assert "No other player would move" in Page(kept.text).text
        fields["effect"] = "void"
        played = re.search(
            r"/pools/arena/matches/m\d+", judge.get("/pools/arena/players/odd-fox").text
        )
        assert played is not None
        assert "This match changed no rating" not in judge.get(played[0]).text
        assert "Effect void" in Page(confirm(judge, path, fields).text).text
        assert "disqualified" in Page(judge.get("/pools/arena/players/odd-fox").text).text
        assert "This match changed no rating" in judge.get(played[0]).text
        confirm(judge, "/pools/arena/reinstate/odd-fox", fields)
        wrong = {**fields, "since": "soon"}
        assert judge.post("/pools/arena/disqualify/odd-fox", data=wrong).status_code == 422


def test_a_player_is_renamed_and_merged(site: Any) -> None:
    """The form previews the change; then addresses with the earlier id lead to the present one."""
    with site.visitor("judge") as judge:
        path = "/pools/arena/rename/odd-fox"
        fields = {"to": "odd-vixen", "reason": "new name", "token": token(judge, path)}
        done = confirm(judge, path, fields)
        assert "odd-fox renamed to odd-vixen" in " ".join(Page(done.text).text.split())
        assert "<small><bdi>odd-vixen</bdi></small>" in done.text
        for old, new in (
            ("players/odd-fox?around=m0001", "players/odd-vixen?around=m0001"),
            ("players/?id=odd-fox", "players/odd-vixen"),
            ("course/odd-fox", "course/odd-vixen"),
            ("badge.svg?player=odd-fox", "badge.svg?player=odd-vixen"),
            ("compare?first=ada-fox&second=odd-fox", "compare?first=ada-fox&second=odd-vixen"),
        ):
            moved = judge.get(f"/pools/arena/{old}")
            assert (moved.status_code, moved.headers["location"]) == (303, f"/pools/arena/{new}")
        assert judge.get("/pools/arena/players/odd-vixen").status_code == 200
        fields["to"] = "odd-fox"
        confirm(judge, "/pools/arena/rename/odd-vixen", fields)


def do(
    client: httpx.Client, path: str, fields: dict[str, Any], preview: httpx.Response
) -> httpx.Response:
    """Do what was shown, and wait until the pool is replayed."""
    done = client.post(path, data={**fields, "do": confirmation(preview.text)})
    assert done.status_code == 303, done.text
    for _ in range(6000):
        entry = client.get(done.headers["location"])
        if "refresh" not in entry.headers:
            return entry
        time.sleep(0.05)
    raise AssertionError("the pool was not replayed")


def confirm(client: httpx.Client, path: str, fields: dict[str, Any], *words: str) -> httpx.Response:
    """Send a form, check its preview, do what was shown, and wait for the replay."""
    preview = client.post(path, data=fields)
    text = Page(preview.text).text
    assert preview.status_code == 200, text
    assert [one for one in words if one not in text] == []
    return do(client, path, fields, preview)


def board(text: str) -> list[str]:
    """Return players and ratings of a leaderboard."""
    return re.findall(r'title="[^"]*"><bdi>[^<]*|class="rating">[^<]*', text)
