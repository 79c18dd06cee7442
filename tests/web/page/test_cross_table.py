"""Who beat whom: a table that can be heard, with every name only text."""

from __future__ import annotations

import csv
import io
import re

import httpx
import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.web.page.tournaments import (
    MOST_IN_CROSS_TABLE,
    Cell,
    cross_lines,
    head_to_head,
)
from web.page.invented import HOSTILE
from web.page.markup import Page


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
