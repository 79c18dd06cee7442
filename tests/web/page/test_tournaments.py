"""Standings with tie-breaks and downloads, and who beat whom."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import httpx
import numpy as np
import pytest

import equipoise as eq
from equipoise.data.games import Games
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.web.page.tournaments import (
    MOST_IN_CROSS_TABLE,
    Cell,
    cross_lines,
    head_to_head,
)
from web.page.invented import HOSTILE
from web.page.markup import Page
from web.page.test_forms_at_work import PGN, token

#: A round robin of four; the third of the last day is after the tournament.
RESULTS = [
    ("ana", "bo", 1.0, 0.0, "2026-10-01"),
    ("cy", "dan", 0.5, 0.5, "2026-10-01"),
    ("ana", "cy", 0.5, 0.5, "2026-10-02"),
    ("bo", "dan", 0.0, 1.0, "2026-10-02"),
    ("ana", "dan", 0.0, 1.0, "2026-10-03"),
    ("bo", "cy", 1.0, 0.0, "2026-10-03"),
    ("bo", "ana", 1.0, 0.0, "2026-11-05"),
]


@pytest.fixture(scope="module")
def pool(site: Any) -> str:
    """Return a public pool with the round robin and a later game."""
    matches = [
        MatchRequest(
            f"g{at}",
            [TeamRequest([one], score=points), TeamRequest([other], score=others)],
            time=f"{day}T18:00:00Z",
        )
        for at, (one, other, points, others, day) in enumerate(RESULTS)
    ]
    request = PoolRequest(system="elo", public=True, times="datetime")
    return str(site.new_pool("cup", request, matches))


def rows_of(answer: httpx.Response) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_standings_of_a_pool_are_complete(anybody: httpx.Client, site: Any, pool: str) -> None:
    """They are those of the library; changes are those of the pool in these days alone."""
    here = f"/pools/{pool}/tournament?from=2026-10-01&until=2026-10-03"
    page = anybody.get(here)
    assert page.status_code == 200
    link = next(one for one in Page(page.text).links if "format=csv" in one)
    rows = rows_of(anybody.get(link))
    expected = eq.performance(
        eq.Games.from_arrays(
            [one[0] for one in RESULTS[:6]],
            [one[1] for one in RESULTS[:6]],
            [one[2] for one in RESULTS[:6]],
        ),
        tie_breaks=("direct-encounter", "sonneborn-berger", "wins"),
        by_points=True,
    ).table.to_dicts()
    names = ("place", "points", "sonneborn-berger", "wins")
    assert [(one["player"], *(float(one[name]) for name in names)) for one in rows] == [
        (one["player"], *(one[name.replace("-", "_")] for name in names)) for one in expected
    ]
    ana = next(one for one in rows if one["player"] == "ana")
    last = site.perform("GET", f"/pools/{pool}/matches/g4")
    after = next(p for team in last["teams"] for p in team["players"] if p["player"] == "ana")
    assert float(ana["rating_after"]) == after["rating"]
    assert float(ana["change"]) == after["rating"] - 1500.0


def test_days_without_games_and_wrong_days_are_explained(anybody: httpx.Client, pool: str) -> None:
    here = f"/pools/{pool}/tournament"
    first = Page(anybody.get(here).text)
    typed = {one.get("name"): one.get("value") for one in first.all("input")}
    assert (typed["from"], typed["until"]) == ("2026-11-01", "2026-11-05")
    assert anybody.get(f"{here}?from=2025-01-01&until=2025-01-02").status_code == 404
    for query in ("from=soon&until=2026-10-01", "from=2026-10-02&until=2026-10-01"):
        assert anybody.get(f"{here}?{query}").status_code == 422
    assert anybody.get(f"{here}?tie_breaks=luck").status_code == 422


def test_standings_of_a_file_are_shown_and_downloaded(anybody: httpx.Client) -> None:
    """Without scripts the preview keeps the file; a formula in a name is only text."""
    fields = {"token": token(anybody, "/tournament"), "tie_breaks": "BH, WON", "confidence": "90"}
    file = {"file": ("open.pgn", PGN.encode(), "application/x-chess-pgn")}
    shown = anybody.post("/tournament", data=fields, files=file)
    assert shown.status_code == 200
    page = Page(shown.text)
    assert {"Standings", "open.pgn", "Ana", "Bo", "Cy", "Di"} <= set(page.texts)
    assert "90\N{NARROW NO-BREAK SPACE}% error bar" in shown.text
    kept = {one["name"]: one["value"] for one in page.all("input") if one.get("type") == "hidden"}
    assert kept["name"] == "open.pgn"
    again = {**fields, "do": "csv", "held": kept["held"], "name": kept["name"]}
    answer = anybody.post("/tournament", data=again)
    assert 'filename="tournament-open.csv"' in answer.headers["content-disposition"]
    rows = rows_of(answer)
    assert [*rows[0]][:6] == ["place", "player", "points", "games", "buchholz", "wins"]
    assert len(rows) == 4
    games = {"games": "white,black,result\n=1+1,bo,1-0\n", "do": "csv"}
    assert rows_of(anybody.post("/tournament", data=games))[0]["player"] == "'=1+1"


def test_fide_changes_of_a_file_need_a_factor_and_ratings(anybody: httpx.Client) -> None:
    games = "white,black,result,white_elo,black_elo\nana,bo,1-0,1500,1400\n"
    fields = {"games": games, "do": "csv", "k_factor": "20"}
    rows = rows_of(anybody.post("/tournament", data=fields))
    assert [one["player"] for one in rows] == ["ana", "bo"]
    assert [round(float(one["change"]), 9) for one in rows] == [7.2, -7.2]
    assert [float(one["rating_after"]) for one in rows] == [1507.2, 1392.8]


def games(players: list[str]) -> str:
    """Return a round of everybody against everybody, as a table."""
    out = io.StringIO()
    write = csv.writer(out)
    write.writerow(["white", "black", "result"])
    results = ("1-0", "0-1", "1/2-1/2")
    for at, white in enumerate(players):
        for other, black in enumerate(players[:at]):
            write.writerow([white, black, results[(at + other) % 3]])
    return out.getvalue()


def rated(client: httpx.Client, players: list[str]) -> str:
    answer = client.post("/tournament", data={"games": games(players), "format": "csv"})
    assert answer.status_code == 200, answer.text
    return answer.text


def test_points_of_a_pairing_are_summed_for_both() -> None:
    """Whoever was white, and however many games a row stands for; by hand."""
    games = Games.from_arrays(
        ["ana", "bo", "ana", "cy"],
        ["bo", "ana", "cy", "bo"],
        [1.0, 0.5, 0.0, 2.5],
        weight=[1.0, 1.0, 1.0, 4.0],
    )
    points, played = head_to_head(games, ["cy", "ana", "bo", "di"])
    assert points.tolist() == [
        [0.0, 1.0, 2.5, 0.0],
        [0.0, 0.0, 1.5, 0.0],
        [1.5, 0.5, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
    assert np.array_equal(points + points.T, played)
    assert np.array_equal(points.sum(axis=1)[[1, 2, 0]], games.scored())


def test_points_are_coloured_by_their_share() -> None:
    """None, less than half, half, more, all; where nobody met there is no cell."""
    points = np.array([[0, 1, 0.5, 1.5], [0, 0, 0.5, 0], [0, 0.5, 0, 0], [0.5, 0, 0, 0]], float)
    found = cross_lines(["a", "b", "c", "d"], points, points + points.T)
    assert found[0].cells == [
        None,
        Cell("1", "1", 4),
        Cell("\N{VULGAR FRACTION ONE HALF}", "\N{VULGAR FRACTION ONE HALF}", 4),
        Cell("1\N{VULGAR FRACTION ONE HALF}", "2", 3),
    ]
    assert [cell and cell.share for cell in found[3].cells] == [1, None, None, None]
    assert [cell and cell.share for cell in found[1].cells] == [0, None, 2, None]
    assert [cell and cell.single for cell in found[1].cells] == [True, None, True, None]


def test_every_line_and_column_has_a_heading(anybody: httpx.Client) -> None:
    page = rated(anybody, ["ana", "bo", "cy", "di", "eva"])
    table = page[page.index('<table class="cross">') :].partition("</table>")[0]
    heads = re.findall(r'<th scope="col" title="([^"]*)">', table)
    rows = re.findall(r'<th scope="row">.*?title="([^"]*)"', table)
    assert heads == rows
    assert sorted(rows) == ["ana", "bo", "cy", "di", "eva"]
    assert [line.count("share-") for line in table.split("</tr>")[1:-1]] == [4] * 5


def test_hostile_names_are_only_ever_text(anybody: httpx.Client) -> None:
    """Above their columns, before their lines, and in the standings."""
    page = Page(rated(anybody, ["ana", *HOSTILE, "bo", "cy"]))
    heads = [head.get("title") for head in page.all("th")]
    titles = [text.get("title") for text in page.all("bdi")]
    for name in HOSTILE:
        assert name.strip() in heads
        assert titles.count(name.strip()) == 3
    assert not any(page.scripts)
    assert not page.all("img")


@pytest.mark.parametrize("players", [MOST_IN_CROSS_TABLE, MOST_IN_CROSS_TABLE + 1])
def test_explains_why_a_table_is_left_out(anybody: httpx.Client, players: int) -> None:
    """Above 40 players."""
    text = rated(anybody, [f"player {at}" for at in range(players)])
    assert ('<table class="cross">' in text) == (players <= MOST_IN_CROSS_TABLE)
    assert ("Not shown: the table is limited to 40 players, and there are 41." in text) == (
        players > MOST_IN_CROSS_TABLE
    )
